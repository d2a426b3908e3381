//! What counts as an entry of something: statements about it whose signature holds, and its digests.

#![allow(clippy::unwrap_used, reason = "test code")]

mod redaction_support;
mod signing_support;

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_engine::log::FolderAppender;
use runseal_testkit::cli::{Bench, Ran};

use signing_support::{bench, keygen, new_log, ok, sealed_as};

/// A log with the signed run r1 in it, and a checkpoint.
fn logged_run(bench: &Bench) {
    new_log(bench);
    sealed_as(bench, "r1");
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    ok(bench.run(&["log", "append", "log", "out/r1", "--key", "log.key"]));
    ok(bench.run(&["log", "prove", "log", "out/r1"]));
}

fn refused(ran: &Ran, code: i32, message: &str) {
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(message), "{said}");
}

#[test]
fn run_beside_somebody_elses_statement_is_not_logged() {
    let (_folder, bench) = bench();
    logged_run(&bench);
    sealed_as(&bench, "r4");
    let (theirs, ours) = ("out/r1.intoto.jsonl", "out/r4.intoto.jsonl");
    fs::copy(bench.path(theirs), bench.path(ours)).unwrap();
    let proof = "out/r1.tlog-proof";
    refused(
        &bench.run(&["verify", "out/r4", "--log", "log"]),
        1,
        "not among its 1 entries",
    );
    refused(
        &bench.run(&["verify", "out/r4", "--log", proof]),
        1,
        "the proof is not of this",
    );
    refused(
        &bench.run(&["log", "verify", proof, "out/r4"]),
        1,
        r#""ok":false"#,
    );
    refused(
        &bench.run(&["log", "prove", "log", "out/r4"]),
        1,
        "NOT_LOGGED",
    );
    assert!(!bench.path("out/r4.tlog-proof").exists());
    // Handing over r4 under r1's name hides nothing.
    refused(
        &bench.run(&["log", "audit", "log", "--have", "out/r4"]),
        1,
        "gap: 1 of 1 entries",
    );
    refused(
        &bench.run(&["log", "append", "log", "out/r4"]),
        2,
        "SIGNATURES: the statement is about something else",
    );
    // A statement about it that nobody signed.
    let text = fs::read_to_string(bench.path(theirs)).unwrap();
    let (before, rest) = text.split_once(r#""sig":""#).unwrap();
    let forged = match rest.strip_prefix('A') {
        Some(rest) => format!("{before}\"sig\":\"B{rest}"),
        None => format!("{before}\"sig\":\"A{}", &rest[1..]),
    };
    fs::write(bench.path(theirs), forged).unwrap();
    refused(
        &bench.run(&["log", "append", "log", "out/r1"]),
        2,
        "SIGNATURES: the statement's signature does not hold",
    );
    ok(bench.run(&["log", "verify", proof]));
}

#[test]
fn run_logged_before_it_was_signed_is_found_afterwards() {
    let (_folder, bench) = bench();
    logged_run(&bench);
    sealed_as(&bench, "r2");
    let append = ["log", "append", "log", "out/r2", "--key", "log.key"];
    ok(bench.run(&[&append[..], &["--unsigned"]].concat()));
    ok(bench.run(&["sign", "out/r2", "--key", "ada"]));
    ok(bench.run(&["log", "audit", "log", "--have", "out/r1", "out/r2"]));
    let said = ok(bench.run(&["verify", "out/r2", "--log", "log"]));
    assert!(said.contains("logged: entry 1 of 2"), "{said}");
    ok(bench.run(&["log", "prove", "log", "out/r2"]));
}

#[test]
fn append_waits_for_whoever_appends() {
    let (_folder, bench) = bench();
    logged_run(&bench);
    let other = FolderAppender::open(&bench.path("log")).unwrap();
    let waiting = thread::scope(|scope| {
        let waiting = scope.spawn(|| bench.run(&["log", "append", "log", "out/r1"]));
        thread::sleep(Duration::from_millis(500));
        drop(other);
        waiting.join().unwrap()
    });
    ok(waiting);
}

#[test]
fn damaged_log_gives_no_proof_and_is_told_from_none() {
    let (_folder, bench) = bench();
    logged_run(&bench);
    fs::remove_file(bench.path("out/r1.tlog-proof")).unwrap();
    let entries = fs::read(bench.path("log/entries")).unwrap();
    let mut changed = entries.clone();
    changed[20] ^= 1;
    fs::write(bench.path("log/entries"), changed).unwrap();
    for what in [&["out/r1"][..], &["--index", "0", "-o", "proof"]] {
        let ran = bench.run(&[&["log", "prove", "log"][..], what].concat());
        refused(&ran, 2, "LOG_DAMAGED: ");
    }
    for proof in ["out/r1.tlog-proof", "proof"] {
        assert!(!bench.path(proof).exists());
    }
    fs::write(bench.path("log/entries"), entries).unwrap();
    ok(bench.run(&["log", "prove", "log", "out/r1"]));
    for file in ["checkpoint", "head"] {
        fs::write(bench.path(&format!("log/{file}")), "gone").unwrap();
        refused(
            &bench.run(&["log", "prove", "log", "out/r1"]),
            2,
            &format!("LOG_CUT: `{file}` of the log is damaged"),
        );
    }
    fs::remove_file(bench.path("log/head")).unwrap();
    refused(&bench.run(&["log", "audit", "log"]), 2, "LOG_CUT: ");
}

#[test]
fn cosignature_from_the_future_is_told() {
    let (_folder, bench) = bench();
    logged_run(&bench);
    keygen(&bench, "w.key", "ed25519", "pem");
    let vkey = ok(bench.run(&[
        "log",
        "init",
        "other",
        "--origin",
        "example.com/runs",
        "--key",
        "log.key",
    ]));
    let vkey = vkey.lines().nth(1).unwrap().to_owned();
    ok(bench.run(&["log", "checkpoint", "log", "-o", "now.txt"]));
    let cosign = ["log", "cosign", "now.txt", "--log-key", &vkey, "--as", "w"];
    let mut command = bench.command(&[&cosign[..], &["--key", "w.key", "--last", "seen"]].concat());
    command
        .env("SOURCE_DATE_EPOCH", "4102444800")
        .stdin(Stdio::null());
    let ran = Ran::from(command.output().unwrap());
    let witness = ran.stderr.rsplit(' ').next().unwrap().trim().to_owned();
    bench.write("cosigned.txt", ok(ran));
    bench.write(
        "policy",
        format!("log {vkey}\nwitness w {witness}\nquorum w\n"),
    );
    ok(bench.run(&["log", "checkpoint", "log", "--merge", "cosigned.txt"]));
    let asked = ["--log", "log", "--log-policy", "policy"];
    let said = ok(bench.run(&[&["verify", "out/r1"][..], &asked].concat()));
    let told =
        "as of 2100-01-01T00:00:00.000Z by w, which is in the future by this machine's clock";
    assert!(said.contains(told), "{said}");
    ok(bench.run(&["log", "prove", "log", "out/r1"]));
    let ran = bench.run(&[
        "log",
        "verify",
        "out/r1.tlog-proof",
        "out/r1",
        "--log-policy",
        "policy",
    ]);
    assert!(ran.stderr.contains("in the future"), "{}", ran.stderr);
}

#[test]
fn line_of_a_ledger_about_a_redactable_pack_is_not_logged() {
    let (_folder, bench) = bench();
    ok(bench.run(&["log", "init", "log", "--origin", "example.com/packs"]));
    redaction_support::pack(&bench, &["--ledger", "ledger.jsonl", "--log", "log"]);
    let entries = fs::read_to_string(bench.path("log/entries")).unwrap();
    assert_eq!(entries.lines().count(), 1, "{entries}");
    assert!(!entries.contains("ledger-line-sha256"), "{entries}");
    assert!(bench.path("ledger.jsonl").exists());
}
