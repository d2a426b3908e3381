//! What counts as an entry of something: statements about it whose signature holds, and its digests.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_store::log::FolderAppender;
use runseal_testkit::cli::{Bench, Ran};

use crate::signing_support::{bench, keygen, new_log, ok, sealed_as};

/// A log with the signed run r1 in it, and a checkpoint; gives the log's key.
fn logged_run(bench: &Bench) -> String {
    let vkey = new_log(bench);
    sealed_as(bench, "r1");
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    ok(bench.run(&["log", "append", "log", "out/r1", "--key", "log.key"]));
    ok(bench.run(&["log", "prove", "log", "out/r1"]));
    vkey
}

fn refused(ran: &Ran, code: i32, message: &str) {
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(message), "{said}");
}

#[test]
fn run_beside_somebody_elses_statement_is_not_logged() {
    let (_folder, bench) = bench();
    let vkey = logged_run(&bench);
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
        "the proof is of something else",
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
        "SIGNATURES: the statement's signature is broken",
    );
    ok(bench.run(&["log", "verify", proof, "--log-key", &vkey]));
}

#[test]
fn run_logged_before_it_was_signed_is_found_afterwards() {
    let (_folder, bench) = bench();
    let vkey = logged_run(&bench);
    sealed_as(&bench, "r2");
    let append = ["log", "append", "log", "out/r2", "--key", "log.key"];
    ok(bench.run(&[&append[..], &["--unsigned"]].concat()));
    ok(bench.run(&["sign", "out/r2", "--key", "ada"]));
    ok(bench.run(&["log", "audit", "log", "--have", "out/r1", "out/r2"]));
    let said = ok(bench.run(&["verify", "out/r2", "--log", "log", "--log-key", &vkey]));
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
fn damaged_log_gives_no_proof_and_differs_from_a_missing_one() {
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
fn cosignature_from_the_future_is_reported() {
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
    crate::redaction_support::pack(&bench, &["--ledger", "ledger.jsonl", "--log", "log"]);
    let entries = fs::read_to_string(bench.path("log/entries")).unwrap();
    assert_eq!(entries.lines().count(), 1, "{entries}");
    assert!(!entries.contains("ledger-line-sha256"), "{entries}");
    assert!(bench.path("ledger.jsonl").exists());
}

#[test]
fn proof_without_a_key_does_not_count_as_logged() {
    let (_folder, bench) = bench();
    let vkey = logged_run(&bench);
    // Anybody can make a log of one entry, under any name, and sign it with a key of their own.
    keygen(&bench, "mallory", "ed25519", "pem");
    let init = ["log", "init", "theirs", "--origin", "example.com/runs"];
    ok(bench.run(&[&init[..], &["--key", "mallory"]].concat()));
    ok(bench.run(&["log", "append", "theirs", "out/r1", "--key", "mallory"]));
    ok(bench.run(&["log", "prove", "theirs", "out/r1", "-o", "forged"]));
    for asked in ["theirs", "forged", "log", "out/r1.tlog-proof"] {
        let ran = bench.run(&["verify", "out/r1", "--log", asked]);
        refused(
            &ran,
            1,
            "NOT logged: entry 0 of 1 in `example.com/runs`, not checked",
        );
        let json = ["verify", "out/r1", "--log", asked, "--format", "json"];
        refused(&bench.run(&json), 1, r#""logged":false"#);
    }
    for proof in ["forged", "out/r1.tlog-proof"] {
        let ran = bench.run(&["log", "verify", proof, "out/r1"]);
        refused(&ran, 1, "who signed the checkpoint was not checked");
    }
    for asked in ["theirs", "forged"] {
        let ran = bench.run(&["verify", "out/r1", "--log", asked, "--log-key", &vkey]);
        refused(&ran, 1, "no log of the policy signed it");
    }
    ok(bench.run(&["verify", "out/r1", "--log", "log", "--log-key", &vkey]));
}

/// A statement by ada that names the lists of these runs, in this order.
fn statement_about(bench: &Bench, runs: &[&str]) -> Vec<u8> {
    use runseal_trust::dsse::{Envelope, IN_TOTO};
    use runseal_trust::keys::PrivateKey;
    use runseal_trust::statement::{Statement, Target};
    let subjects = runs.iter().flat_map(|run| {
        let sums = fs::read(bench.path(&format!("out/{run}/SHA256SUMS.txt"))).unwrap();
        Target::of_file(run, "SHA256SUMS.txt", sums).subjects()
    });
    let statement = Statement {
        subjects: subjects.collect(),
        predicate_type: "https://example.com/p/v1".to_owned(),
        predicate: runseal_core::canon::Value::Null,
    };
    let key = fs::read(bench.path("ada")).unwrap();
    let key = PrivateKey::parse(&key, None).unwrap();
    let envelope = Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &key).unwrap();
    envelope.to_line()
}

#[test]
fn statement_about_several_runs_is_an_entry_of_none_but_its_own() {
    let (_folder, bench) = bench();
    let vkey = new_log(&bench);
    let runs = ["g1", "g2", "g3"];
    for run in runs {
        sealed_as(&bench, run);
    }
    let both = statement_about(&bench, &runs);
    for run in runs {
        fs::write(bench.path(&format!("out/{run}.intoto.jsonl")), &both).unwrap();
    }
    refused(
        &bench.run(&["log", "append", "log", "out/g1"]),
        2,
        "SIGNATURES: the statement names more than this, but an entry is about one thing",
    );
    // A log whose keeper appends it all the same.
    let envelope = runseal_trust::dsse::Envelope::parse(&both).unwrap();
    let entry = runseal_trust::log::LogEntry::of_envelope(&envelope).unwrap();
    let mut appender = FolderAppender::open(&bench.path("log")).unwrap();
    appender.append_all(&[&entry.to_bytes().unwrap()]).unwrap();
    drop(appender);
    ok(bench.run(&["log", "checkpoint", "log", "--key", "log.key"]));
    for run in ["out/g2", "out/g3"] {
        let ran = bench.run(&["verify", run, "--log", "log", "--log-key", &vkey]);
        refused(&ran, 1, "NOT logged: not among its 1 entries");
    }
    let audit = [
        "log",
        "audit",
        "log",
        "--log-key",
        &vkey,
        "--have",
        "out/g1",
    ];
    refused(&bench.run(&audit), 1, "gap: 1 of 1 entries");
}

#[test]
fn entry_with_the_commitment_of_another_run_does_not_count_for_the_first() {
    use runseal_core::digest::Digest;
    use runseal_trust::dsse::{Envelope, IN_TOTO};
    use runseal_trust::keys::PrivateKey;
    use runseal_trust::statement::{Statement, Target};
    let (_folder, bench) = bench();
    let vkey = new_log(&bench);
    for run in ["a", "b"] {
        let (input, output) = (
            crate::redaction_support::INPUT,
            crate::redaction_support::OUTPUT,
        );
        crate::redaction_support::seal(&bench, run, input, output, &[]);
    }
    let drop = ["RUN_INPUT.json#/context/name"];
    ok(crate::redaction_support::redact(&bench, "b", &drop, "copy"));
    ok(bench.run(&["sign", "out/a", "--key", "ada"]));
    // What she signed, with the commitment of the other run in place of its own.
    let line = bench.read("out/a.intoto.jsonl");
    let mut statement = {
        let envelope = Envelope::parse(line.trim_end().as_bytes()).unwrap();
        Statement::parse(&envelope.payload).unwrap()
    };
    let sums = fs::read(bench.path("out/a/SHA256SUMS.txt")).unwrap();
    let mut target = Target::of_file("a", "SHA256SUMS.txt", sums);
    let commitment = fs::read(bench.path("out/b/REDACTION.json")).unwrap();
    target.redaction = Some(("REDACTION.json".to_owned(), Digest::of(&commitment)));
    statement.subjects = target.subjects();
    let key = PrivateKey::parse(bench.read("ada").as_bytes(), None).unwrap();
    let envelope = Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &key).unwrap();
    for path in ["out/a.intoto.jsonl", "copy.intoto.jsonl"] {
        bench.write(path, envelope.to_line());
    }
    ok(bench.run(&["log", "append", "log", "copy", "--key", "log.key"]));
    let ran = bench.run(&["verify", "out/a", "--log", "log", "--log-key", &vkey]);
    refused(&ran, 1, "NOT logged: not among its 1 entries");
    refused(
        &bench.run(&["log", "append", "log", "out/a"]),
        2,
        "SIGNATURES: the statement names more than this",
    );
}

#[test]
fn redactable_bundles_and_their_copies_are_logged_by_what_was_signed() {
    let (_folder, bench) = bench();
    let vkey = new_log(&bench);
    let (input, output) = (
        crate::redaction_support::INPUT,
        crate::redaction_support::OUTPUT,
    );
    crate::redaction_support::seal(&bench, "r1", input, output, &[]);
    crate::redaction_support::pack(&bench, &[]);
    bench.write("docs/note.md", "PIN4711\nsecond line\n");
    bench.write("plan.json", r#"{"run_id":"j","idempotency_key":"j","steps":[{"op":"READ_SECTION","refs":{"section_id":"docs/note.md"},"constraints":{"slice":"lines[0:1]"}}]}"#);
    ok(bench.run(&["job", "init"]));
    ok(bench.run(&["job", "index", "docs"]));
    let posted = ok(bench.run(&["job", "post", "plan.json"]));
    let job = posted.split("\"job_id\":\"").nth(1).unwrap();
    let job = job.split('"').next().unwrap();
    ok(bench.run(&["job", "work"]));
    ok(bench.run(&["job", "build", "j", job, "-o", "job", "--redactable"]));
    let drop = ["RUN_INPUT.json#/context/name"];
    for path in ["out/r1", "pack", "job"] {
        ok(bench.run(&["sign", path, "--key", "ada"]));
        ok(bench.run(&["log", "append", "log", path, "--key", "log.key"]));
    }
    ok(crate::redaction_support::redact(
        &bench, "r1", &drop, "copy",
    ));
    ok(bench.run(&["redact", "pack", "--match", "PIN4711", "-o", "copy2"]));
    for path in ["out/r1", "pack", "job", "copy", "copy2"] {
        ok(bench.run(&["verify", path, "--log", "log", "--log-key", &vkey]));
    }
}
