//! Ledgers of packs under a log: each line an entry, in order; and appenders that are killed at
//! any moment.

use std::time::Instant;

use runseal_core::digest::Digest;
use runseal_testkit::cli::Bench;

use crate::signing_support::{bench, keygen, ok};

/// The first `count` lines of a ledger, each with the hash of the one before.
fn ledger(count: usize) -> String {
    let mut text = String::new();
    let mut previous = "null".to_owned();
    for at in 0..count {
        let hash = Digest::of(at.to_string().as_bytes());
        let line = format!(
            r#"{{"accepted":true,"bundle_sha256":"sha256:{hash}","intent_sha256":"sha256:{hash}","mode":"none","policy":"default","previous":{previous},"result_kind":"BUNDLE","run_id":"run_{at}","timestamp":"2023-11-14T22:13:20.000Z"}}"#
        );
        previous = format!("\"sha256:{}\"", Digest::of(line.as_bytes()));
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A log; gives its key.
fn init(bench: &Bench) -> String {
    keygen(bench, "log.key", "ed25519", "pem");
    let init = ["log", "init", "log", "--origin", "example.com/packs"];
    let made = ok(bench.run(&[&init[..], &["--key", "log.key"]].concat()));
    made.lines().nth(1).unwrap().to_owned()
}

fn append(bench: &Bench) -> String {
    let arguments = ["log", "append", "log", "--ledger", "ledger.jsonl"];
    ok(bench.run(&[&arguments[..], &["--key", "log.key"]].concat()))
}

fn number(said: &str, member: &str) -> usize {
    let after = said.split(&format!("\"{member}\":")).nth(1).unwrap();
    let digits = after.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap()
}

/// Signs the log's state and keeps the checkpoint under this name.
fn checkpoint(bench: &Bench, to: &str) {
    let arguments = ["log", "checkpoint", "log", "--key", "log.key", "-o", to];
    ok(bench.run(&arguments));
}

#[test]
fn lines_of_a_ledger_are_entries_and_a_missing_or_changed_one_shows() {
    let (_folder, bench) = bench();
    init(&bench);
    bench.write("ledger.jsonl", ledger(3));
    let said = append(&bench);
    assert_eq!((number(&said, "appended"), number(&said, "size")), (3, 3));
    checkpoint(&bench, "at3.txt");
    // The ledger grew: its new lines alone are new entries.
    bench.write("ledger.jsonl", ledger(5));
    let said = append(&bench);
    assert_eq!((number(&said, "appended"), number(&said, "size")), (2, 5));
    let audit = ["log", "audit", "log", "at3.txt", "--ledger", "ledger.jsonl"];
    ok(bench.run(&audit));
    // A line that was never logged.
    bench.write("ledger.jsonl", ledger(6));
    let ran = bench.run(&audit);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("run `run_5` is not logged"),
        "{}",
        ran.stderr
    );
    // A ledger that was cut and written anew: its own chain holds, the log's does not.
    let forged = ledger(4).replace("\"run_3\"", "\"run_x\"");
    bench.write("ledger.jsonl", &forged);
    let ran = bench.run(&audit);
    assert!(
        ran.stderr.contains("run `run_x` is not logged"),
        "{}",
        ran.stderr
    );
    // One that is unsound itself is refused, and nothing is appended.
    bench.write("ledger.jsonl", ledger(5).replacen("run_1", "run_0", 1));
    let ran = bench.run(&["log", "append", "log", "--ledger", "ledger.jsonl"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("LEDGER: "), "{}", ran.stderr);
    bench.write("ledger.jsonl", ledger(5));
    assert_eq!(number(&append(&bench), "size"), 5);
}

#[test]
fn run_logs_its_pack_and_its_line_of_the_ledger() {
    let (_folder, bench) = bench();
    let vkey = init(&bench);
    bench.write(
        "intent.json",
        r#"{"goal":"Write a file","constraints":["The file is named a.txt"]}"#,
    );
    let arguments = [
        "run",
        "intent.json",
        "--pack",
        "pack",
        "--ledger",
        "ledger.jsonl",
    ];
    let ran = bench.run(&[&arguments[..], &["--log", "log"]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    ok(bench.run(&["log", "checkpoint", "log", "--key", "log.key"]));
    let audit = [
        "log",
        "audit",
        "log",
        "--ledger",
        "ledger.jsonl",
        "--have",
        "pack",
    ];
    let said = ok(bench.run(&audit));
    assert_eq!(number(&said, "entries"), 2);
    // Without the ledger there is a gap.
    let ran = bench.run(&["log", "audit", "log", "--have", "pack"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("gap: 1 of 2"), "{}", ran.stderr);
    // What nobody signed is proved and checked by its digests.
    ok(bench.run(&["log", "prove", "log", "pack"]));
    let verify = ["log", "verify", "pack.tlog-proof", "pack"];
    ok(bench.run(&[&verify[..], &["--log-key", &vkey]].concat()));
}

#[test]
fn append_killed_at_any_moment_leaves_whole_batches_and_no_fork() {
    const BATCH: usize = 300;
    const ROUNDS: usize = 40;
    let (_folder, bench) = bench();
    init(&bench);
    bench.write("ledger.jsonl", ledger(BATCH));
    let begun = Instant::now();
    append(&bench);
    let takes = begun.elapsed();
    let (mut size, mut cut) = (BATCH, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..ROUNDS {
        checkpoint(&bench, "kept.txt");
        bench.write("ledger.jsonl", ledger(size + BATCH));
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let after = takes.mul_f64((random % 1000) as f64 / 900.0);
        let arguments = ["log", "append", "log", "--ledger", "ledger.jsonl"];
        bench.kill_after(&[&arguments[..], &["--key", "log.key"]].concat(), after);
        // Every entry is whole, the log only added to what was kept, and the batch counts whole or
        // not at all.
        let said = ok(bench.run(&["log", "audit", "log", "kept.txt"]));
        let now = number(&said, "entries");
        assert!(
            now == size || now == size + BATCH,
            "round {round}: {now} after {size}"
        );
        cut += usize::from(now == size);
        size = now;
    }
    assert!(cut > 0, "no appender was killed at work");
    bench.write("ledger.jsonl", ledger(size + 1));
    assert_eq!(number(&append(&bench), "size"), size + 1);
    ok(bench.run(&[
        "log",
        "audit",
        "log",
        "kept.txt",
        "--ledger",
        "ledger.jsonl",
    ]));
}

#[test]
fn checkpoint_from_the_future_is_reported_and_nothing_is_written() {
    let (_folder, bench) = bench();
    init(&bench);
    bench.write("ledger.jsonl", ledger(3));
    append(&bench);
    runseal_testkit::folders::copy_folder(&bench.path("log"), &bench.path("old"));
    bench.write("ledger.jsonl", ledger(5));
    append(&bench);
    checkpoint(&bench, "at5.txt");
    // The log of before, as somebody puts it back: it never had the entries of the checkpoint.
    let ran = bench.run(&["log", "prove", "old", "--since", "at5.txt"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("from the log's future"),
        "{}",
        ran.stderr
    );
    let ran = bench.run(&["log", "audit", "old", "at5.txt"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains("rollback: at5.txt has 5 entries, the log only 3"),
        "{}",
        ran.stderr
    );
    // With the newer checkpoint beside it, nothing is appended: that would be a fork.
    std::fs::copy(bench.path("log/checkpoint"), bench.path("old/checkpoint")).unwrap();
    let before = runseal_testkit::folders::files_of(&bench.path("old"));
    let ran = bench.run(&["log", "append", "old", "--ledger", "ledger.jsonl"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("rolled back or changed"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        runseal_testkit::folders::files_of(&bench.path("old")),
        before
    );
}
