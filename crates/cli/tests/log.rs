//! `runseal log`: what it proves, to an implementation of somebody else's too, and what it refuses.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::skip::skip;

use crate::signing_support::{ask_script, bench, keygen, new_log, ok, sealed_as, trust_tools};

/// A log with `count` signed runs in it, checkpointed after each; its verifier key.
fn filled(bench: &Bench, count: usize) -> String {
    let vkey = new_log(bench);
    for at in 0..count {
        let id = format!("r{at}");
        sealed_as(bench, &id);
        let path = format!("out/{id}");
        ok(bench.run(&["sign", &path, "--key", "ada"]));
        ok(bench.run(&["log", "append", "log", &path, "--key", "log.key"]));
        let checkpoint = format!("at{}.txt", at + 1);
        ok(bench.run(&["log", "checkpoint", "log", "-o", &checkpoint]));
    }
    vkey
}

/// Whether the independent implementation accepts a proof.
fn python_accepts(bench: &Bench, arguments: &[&str]) -> bool {
    let python = trust_tools().join("venv/bin/python");
    let python = match python.is_file() {
        true => python,
        false => "python3".into(),
    };
    let script = (bench.path(""), "rfc6962_check.py");
    let said = ask_script(&python, (&script.0, script.1), arguments, b"");
    said.as_deref() == Some("holds\n")
}

fn refused(ran: &Ran, code: i32, message: &str) {
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn proofs_are_accepted_by_an_implementation_written_from_the_rfc() {
    let (_folder, bench) = bench();
    let vkey = filled(&bench, 6);
    let has_ed25519 = trust_tools().join("venv/bin/python").is_file();
    let mut signed = vec![];
    if has_ed25519 {
        signed.push(vkey.as_str());
    } else {
        skip("ed25519 for Python is missing; .ci/trust-tools installs it");
    }
    for at in 0..6 {
        let path = format!("out/r{at}");
        ok(bench.run(&["log", "prove", "log", &path]));
        let proof = format!("{path}.tlog-proof");
        let mut arguments = vec![proof.as_str(), "log/entries"];
        arguments.extend(&signed);
        assert!(python_accepts(&bench, &arguments), "{proof}");
        let verified = ok(bench.run(&["log", "verify", &proof, &path, "--log-key", &vkey]));
        assert!(verified.contains(r#""ok":true"#), "{verified}");
        // It does not prove another run, nor does a proof of another entry.
        let other = format!("out/r{}", (at + 1) % 6);
        let ran = bench.run(&["log", "verify", &proof, &other, "--log-key", &vkey]);
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        let text = fs::read_to_string(bench.path(&proof)).unwrap();
        let moved = text.replace(
            &format!("index {at}\n"),
            &format!("index {}\n", (at + 1) % 6),
        );
        bench.write("moved", &moved);
        assert_eq!(bench.run(&["log", "verify", "moved"]).code, Some(1));
        assert!(!python_accepts(&bench, &["moved", "log/entries"]));
    }
    for old in 1..=6 {
        let since = format!("at{old}.txt");
        let proof = ok(bench.run(&["log", "prove", "log", "--since", &since]));
        bench.write("grown", &proof);
        assert!(python_accepts(
            &bench,
            &["--since", &since, "grown", "log/entries"]
        ));
        ok(bench.run(&[
            "log",
            "verify",
            "grown",
            "--since",
            &since,
            "--log-key",
            &vkey,
        ]));
        let other = format!("at{}.txt", old % 6 + 1);
        let ran = bench.run(&["log", "verify", "grown", "--since", &other]);
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    }
}

#[test]
fn verify_says_whether_something_is_logged_and_as_of_when() {
    let (_folder, bench) = bench();
    let vkey = filled(&bench, 2);
    let verify = |more: &[&str]| {
        let mut arguments = vec!["verify"];
        arguments.extend(more);
        bench.run(&arguments)
    };
    let said = ok(verify(&["out/r1", "--log", "log", "--log-key", &vkey]));
    assert!(
        said.contains("logged: entry 1 of 2 in `example.com/runs`"),
        "{said}"
    );
    ok(bench.run(&["log", "prove", "log", "out/r0"]));
    let said = ok(verify(&[
        "out/r0",
        "--log",
        "out/r0.tlog-proof",
        "--log-key",
        &vkey,
        "--format",
        "json",
    ]));
    assert!(said.contains(r#""logged":true"#), "{said}");
    let ran = verify(&["out/r1", "--log", "out/r0.tlog-proof", "--log-key", &vkey]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("NOT logged"), "{}", ran.stdout);
    // A run that was sealed and signed but never logged.
    sealed_as(&bench, "hidden");
    ok(bench.run(&["sign", "out/hidden", "--key", "ada"]));
    let ran = verify(&["out/hidden", "--log", "log", "--log-key", &vkey]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("not among its 2 entries"),
        "{}",
        ran.stdout
    );
    // A log that somebody else signs.
    keygen(&bench, "other.key", "ed25519", "pem");
    let made = ok(bench.run(&[
        "log",
        "init",
        "other",
        "--origin",
        "example.com/runs",
        "--key",
        "other.key",
    ]));
    let other = made.lines().nth(1).unwrap();
    let ran = verify(&["out/r1", "--log", "log", "--log-key", other]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    // What nobody signed is logged by its digests.
    sealed_as(&bench, "plain");
    refused(
        &bench.run(&["log", "append", "log", "out/plain"]),
        2,
        "UNSIGNED: nobody signed it",
    );
    ok(bench.run(&[
        "log",
        "append",
        "log",
        "out/plain",
        "--unsigned",
        "--key",
        "log.key",
    ]));
    let said = ok(verify(&["out/plain", "--log", "log", "--log-key", &vkey]));
    assert!(said.contains("logged: entry 2 of 3"), "{said}");
}

#[test]
fn witnesses_cosign_what_only_grows_and_policies_count_them() {
    let (_folder, bench) = bench();
    let vkey = filled(&bench, 3);
    let mut policy = format!("log {vkey}\n");
    for name in ["w1", "w2", "w3"] {
        keygen(&bench, &format!("{name}.key"), "ed25519", "pem");
        let (key, last) = (format!("{name}.key"), format!("{name}.seen"));
        let cosign = |checkpoint: &str, more: &[&str]| {
            let mut arguments = vec![
                "log",
                "cosign",
                checkpoint,
                "--log-key",
                &vkey,
                "--as",
                name,
                "--key",
                &key,
                "--last",
                &last,
            ];
            arguments.extend(more);
            let mut command = bench.command(&arguments);
            command
                .env("SOURCE_DATE_EPOCH", "1700000000")
                .stdin(Stdio::null());
            Ran::from(command.output().unwrap())
        };
        ok(cosign("at2.txt", &[]));
        // Newer ones need a proof, older ones are a rollback.
        assert_eq!(cosign("at3.txt", &[]).code, Some(64));
        refused(&cosign("at1.txt", &[]), 1, "LOG_FORKED");
        let proof = ok(bench.run(&["log", "prove", "log", "--since", "at2.txt"]));
        bench.write("proof", &proof);
        let ran = cosign("at3.txt", &["--proof", "proof"]);
        let witness = ran.stderr.rsplit(' ').next().unwrap().trim().to_owned();
        bench.write(&format!("{name}.txt"), ok(ran));
        policy.push_str(&format!("witness {name} {witness}\n"));
    }
    bench.write(
        "policy",
        format!("{policy}group two 2 w1 w2 w3\nquorum two\n"),
    );
    ok(bench.run(&["log", "prove", "log", "out/r0"]));
    let ran = bench.run(&["verify", "out/r0", "--log", "log", "--log-policy", "policy"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("quorum `two`"), "{}", ran.stdout);
    ok(bench.run(&[
        "log",
        "checkpoint",
        "log",
        "--merge",
        "w1.txt",
        "--merge",
        "w3.txt",
    ]));
    let said = ok(bench.run(&["verify", "out/r0", "--log", "log", "--log-policy", "policy"]));
    assert!(
        said.contains("as of 2023-11-14T22:13:20.000Z by w1, w3"),
        "{said}"
    );
    let ran = bench.run(&["log", "checkpoint", "log", "--merge", "at1.txt"]);
    refused(&ran, 2, "it is of another state");
}

#[test]
fn audit_names_gaps_forks_rollbacks_and_changed_entries() {
    let (_folder, bench) = bench();
    let vkey = filled(&bench, 4);
    let audit = |more: &[&str]| {
        let mut arguments = vec!["log", "audit", "log", "--log-key", &vkey];
        arguments.extend(more);
        bench.run(&arguments)
    };
    ok(audit(&["at1.txt", "at2.txt", "at4.txt"]));
    ok(audit(&["--have", "out/r0", "out/r1", "out/r2", "out/r3"]));
    // Ninety of a hundred: what is left out shows.
    let ran = audit(&["--have", "out/r0", "out/r2", "out/r3"]);
    refused(&ran, 1, "gap: 1 of 4 entries");
    assert!(ran.stdout.contains(r#""missing":[1]"#), "{}", ran.stdout);
    // A second history under the same name and key: a fork.
    ok(bench.run(&["log", "init", "fork", "--origin", "example.com/runs"]));
    for id in ["r3", "r0"] {
        ok(bench.run(&[
            "log",
            "append",
            "fork",
            &format!("out/{id}"),
            "--key",
            "log.key",
        ]));
    }
    ok(bench.run(&["log", "checkpoint", "fork", "-o", "fork.txt"]));
    refused(
        &audit(&["fork.txt"]),
        1,
        "fork: fork.txt and the log have different roots at 2 entries",
    );
    let ran = bench.run(&["log", "prove", "log", "--since", "fork.txt"]);
    refused(&ran, 1, "LOG_FORKED");
    // The log replaced by a shorter one: a rollback, and nothing more is signed.
    for file in ["entries", "leaves", "nodes", "head"] {
        fs::copy(
            bench.path(&format!("fork/{file}")),
            bench.path(&format!("log/{file}")),
        )
        .unwrap();
    }
    refused(
        &audit(&["at4.txt"]),
        1,
        "rollback: at4.txt has 4 entries, the log only 2",
    );
    let ran = bench.run(&["log", "append", "log", "out/r1", "--key", "log.key"]);
    refused(&ran, 2, "LOG_FORKED");
    let ran = bench.run(&["log", "prove", "log", "--since", "at4.txt"]);
    assert_ne!(ran.code, Some(0));
    // An entry changed in place.
    let entries = fs::read(bench.path("fork/entries")).unwrap();
    let mut changed = entries.clone();
    changed[20] ^= 1;
    fs::write(bench.path("fork/entries"), &changed).unwrap();
    let ran = bench.run(&["log", "audit", "fork"]);
    refused(&ran, 1, "entry 0 differs from the one that was logged");
}

#[test]
fn bad_logs_and_checkpoints_are_reported_and_nothing_is_written() {
    let (_folder, bench) = bench();
    filled(&bench, 2);
    refused(
        &bench.run(&["log", "append", "nowhere", "out/r0"]),
        2,
        "LOG: it is not a log",
    );
    refused(
        &bench.run(&["log", "init", "log", "--origin", "x"]),
        2,
        "WRITE: ",
    );
    refused(
        &bench.run(&["log", "init", "new", "--origin", "a b"]),
        2,
        "must not contain white space",
    );
    assert!(!bench.path("new").exists());
    keygen(&bench, "curve", "ecdsa-p256", "pem");
    let ran = bench.run(&["log", "init", "new", "--origin", "x", "--key", "curve"]);
    refused(&ran, 2, "KEY: ");
    assert!(!bench.path("new").exists());
    // A checkpoint of more entries than the log has, in the log's own place.
    let newest = fs::read(bench.path("log/checkpoint")).unwrap();
    let text = String::from_utf8(newest.clone()).unwrap();
    fs::write(
        bench.path("log/checkpoint"),
        text.replacen("\n2\n", "\n9\n", 1),
    )
    .unwrap();
    let before = fs::read(bench.path("log/entries")).unwrap();
    refused(
        &bench.run(&["log", "append", "log", "out/r1"]),
        2,
        "LOG_FORKED",
    );
    refused(
        &bench.run(&["log", "prove", "log", "out/r0"]),
        2,
        "LOG_FORKED",
    );
    assert_eq!(fs::read(bench.path("log/entries")).unwrap(), before);
    fs::write(bench.path("log/checkpoint"), newest).unwrap();
    // A log that is cut in the middle.
    let leaves = fs::read(bench.path("log/leaves")).unwrap();
    fs::write(bench.path("log/leaves"), &leaves[..50]).unwrap();
    for arguments in [
        &["log", "append", "log", "out/r1"][..],
        &["log", "prove", "log", "out/r0"],
        &["log", "audit", "log"],
        &["verify", "out/r0", "--log", "log"],
    ] {
        let ran = bench.run(arguments);
        assert!(
            ran.stderr.contains("LOG_CUT: "),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!([Some(2), Some(3)].contains(&ran.code));
    }
    // Entries are appended once.
    fs::write(bench.path("log/leaves"), leaves).unwrap();
    let said = ok(bench.run(&["log", "append", "log", "out/r0", "out/r1"]));
    assert!(said.contains(r#""appended":0"#), "{said}");
}

#[test]
fn run_appends_its_pack_to_a_log() {
    let (_folder, bench) = bench();
    bench.write(
        "intent.json",
        r#"{"goal":"Write a file","constraints":["The file is named a.txt"]}"#,
    );
    let ran = bench.run(&["run", "intent.json", "--pack", "pack", "--log", "nowhere"]);
    refused(&ran, 2, "LOG: ");
    assert!(!bench.path("pack").exists());
    let vkey = new_log(&bench);
    let ran = bench.run(&["run", "intent.json", "--pack", "pack", "--log", "log"]);
    assert!([Some(0), Some(1)].contains(&ran.code), "{}", ran.stderr);
    ok(bench.run(&["log", "checkpoint", "log", "--key", "log.key"]));
    let said = ok(bench.run(&["verify", "pack", "--log", "log", "--log-key", &vkey]));
    assert!(said.contains("logged: entry 0 of 1"), "{said}");
}

#[test]
fn log_of_a_killed_appender_has_whole_batches_and_goes_on() {
    let (_folder, bench) = bench();
    let vkey = filled(&bench, 1);
    sealed_as(&bench, "plain");
    // Many small logs of one signed statement each, killed at any moment.
    let many: Vec<_> = (0..12).map(|at| format!("k{at}")).collect();
    for id in &many {
        sealed_as(&bench, id);
        ok(bench.run(&["sign", &format!("out/{id}"), "--key", "ada"]));
    }
    for (round, id) in many.iter().enumerate() {
        let path = format!("out/{id}");
        let mut child = bench
            .command(&["log", "append", "log", &path, "--key", "log.key"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(3 * round as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever was reached, the log is whole, and its own checkpoint is of it.
        ok(bench.run(&["log", "audit", "log", "at1.txt", "--log-key", &vkey]));
    }
    let mut arguments = vec!["log".to_owned(), "append".to_owned(), "log".to_owned()];
    arguments.extend(many.iter().map(|id| format!("out/{id}")));
    arguments.extend(["--key".to_owned(), "log.key".to_owned()]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let said = ok(bench.run(&arguments));
    assert!(said.contains(r#""size":13"#), "{said}");
    ok(bench.run(&["log", "audit", "log", "at1.txt", "--log-key", &vkey]));
}

#[test]
fn log_on_a_server_proves_the_same_bytes_as_one_in_a_folder() {
    let Some(server) = runseal_testkit::postgres::shared() else {
        return;
    };
    let url = server.new_database();
    let (_folder, bench) = bench();
    let vkey = filled(&bench, 3);
    let origin = ["--origin", "example.com/runs", "--key", "log.key"];
    let made = ok(bench.run(&[["log", "init", &url].as_slice(), &origin].concat()));
    let secret = runseal_testkit::postgres::PASSWORD;
    let (place, key) = made.trim_end().split_once('\n').unwrap();
    assert!(place.starts_with("postgres://") && place.ends_with("#example.com/runs"));
    assert_eq!(key, vkey);
    let appended = |log: &str, more: &[&str]| {
        let paths = ["out/r0", "out/r1", "out/r2"];
        ok(bench.run(&[["log", "append", log].as_slice(), &paths, more].concat()))
    };
    let first = appended(&url, &["--key", "log.key"]);
    assert!(first.contains(r#""appended":3"#), "{first}");
    // Said again, nothing is appended again; and a folder's log answers the same.
    assert_eq!(appended(&url, &[]), appended("log", &[]));
    for at in 0..3 {
        let path = format!("out/r{at}");
        let prove = |log: &str| ok(bench.run(&["log", "prove", log, &path, "-o", "-"]));
        assert_eq!(prove(&url), prove("log"));
    }
    let grown = |log: &str| ok(bench.run(&["log", "prove", log, "--since", "at1.txt"]));
    assert_eq!(grown(&url), grown("log"));
    let verified = bench.run(&["verify", "out/r1", "--log", &url, "--log-key", &vkey]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    assert!(
        verified
            .stdout
            .contains("entry 1 of 3 in `example.com/runs`")
    );
    let audited = |log: &str| {
        let kept = ["at1.txt", "at3.txt", "--have", "out/r0", "out/r2"];
        let ran = bench.run(&[["log", "audit", log].as_slice(), &kept].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(audited(&url), audited("log"));
    // One that is not logged, a wrong password, a second log: told without the password.
    sealed_as(&bench, "r9");
    let missing = bench.run(&["verify", "out/r9", "--log", &url]);
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);
    let denied = bench.run(&["verify", "out/r1", "--log", &url.replace(secret, "Wr0ng")]);
    refused(&denied, 2, "refuses the name or the password");
    let again = bench.run(&[["log", "init", &url].as_slice(), &origin].concat());
    refused(&again, 2, "a log with this name exists");
    let other = ["--origin", "example.com/other"];
    ok(bench.run(&[["log", "init", &url].as_slice(), &other].concat()));
    let several = bench.run(&["log", "audit", &url]);
    refused(&several, 2, "there are several logs");
    for ran in [&verified, &missing, &denied, &again, &several] {
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(secret) && !text.contains("Wr0ng"), "{text}");
        }
    }
    ok(bench.run(&["log", "audit", &format!("{url}#example.com/runs")]));
}

#[test]
fn checkpoint_output_named_by_a_dash_is_printed() {
    let (_folder, bench) = bench();
    filled(&bench, 1);
    let printed = ok(bench.run(&["log", "checkpoint", "log", "-o", "-"]));
    assert_eq!(printed, bench.read("at1.txt"));
    assert!(!bench.path("-").exists());
}
