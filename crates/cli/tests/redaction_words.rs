//! What `redact` is given, and what it says: bad input, plans, profiles, tokens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use runseal_testkit::cli::Ran;
use runseal_testkit::folders::files_of;

use crate::redaction_support::{INPUT, OUTPUT, redact, seal};
use crate::signing_support::{ask_script, bench, keygen, ok, trust_python};

#[test]
fn bad_input_is_reported_and_nothing_is_written() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[("a.txt", "one")]);
    let refused = |ran: Ran, code: i32, message: &str| {
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert!(!bench.path("copy").exists());
    };
    refused(
        redact(&bench, "r1", &["RUN_INPUT.json#/context/nobody"], "copy"),
        1,
        "FITS_NOTHING: ",
    );
    refused(
        redact(&bench, "r1", &["nothing/**"], "copy"),
        1,
        "FITS_NOTHING: ",
    );
    for stays in [
        "RUN_META.json",
        "RUN_META.json#/run_id",
        "RUN_OUTPUT.json#/engine",
        "RUN_*",
    ] {
        refused(redact(&bench, "r1", &[stays], "copy"), 1, "STAYS: ");
    }
    refused(
        bench.run(&["redact", "out/r1", "-o", "copy"]),
        64,
        "nothing to withhold",
    );
    refused(
        bench.run(&["redact", "out/r1", "--match", "(", "-o", "copy"]),
        64,
        "is not a pattern",
    );
    bench.write("bad.seed", "0".repeat(64));
    let with = |seed: &str| {
        bench.run(&[
            "redact",
            "out/r1",
            "--seed",
            seed,
            "--drop",
            "artifacts/a.txt",
            "-o",
            "copy",
        ])
    };
    refused(
        with("bad.seed"),
        2,
        "SEED: the seed belongs to another bundle",
    );
    bench.write("none.seed", "hello");
    refused(with("none.seed"), 2, "SEED: ");
    refused(with("nowhere"), 2, "NOT_FOUND: ");
    // A bundle that was sealed without.
    bench.write("input.json", INPUT);
    let arguments = [
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "out",
        "--run-id",
        "plain",
    ];
    ok(bench.run(&arguments));
    refused(
        redact(&bench, "plain", &["RUN_INPUT.json"], "copy"),
        2,
        "NOT_REDACTABLE: ",
    );
    // What could be done instead, and what that would prove.
    refused(
        redact(&bench, "plain", &["RUN_INPUT.json"], "copy"),
        2,
        "the new seal proves what it contains from now on",
    );
    // A copy is not redacted again, and nothing is overwritten.
    ok(redact(&bench, "r1", &["artifacts/a.txt"], "done"));
    let seed = "out/r1.seed";
    refused(
        bench.run(&[
            "redact",
            "done",
            "--seed",
            seed,
            "--drop",
            "RUN_INPUT.json",
            "-o",
            "copy",
        ]),
        2,
        "REDACTED: ",
    );
    let ran = redact(&bench, "r1", &["RUN_INPUT.json"], "done");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("EXISTS: "), "{}", ran.stderr);
    // What looks redacted is not sealed.
    bench.write("input.json", r#"{"a":{"runseal.redacted":"x"}}"#);
    let ran = bench.run(&[
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "out",
        "--run-id",
        "m",
        "--redactable",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!bench.path("out/m").exists() && !bench.path("out/m.seed").exists());
    // Predicates that state digests are not signed.
    keygen(&bench, "key", "ed25519", "pem");
    let ran = bench.run(&["sign", "out/r1", "--key", "key", "--predicate", "slsa"]);
    assert_eq!(ran.code, Some(64), "{}", ran.stderr);
}

#[test]
fn plan_profile_patterns_and_default_id() {
    let (_folder, bench) = bench();
    let input =
        r#"{"users":[{"mail":"a@example.com","n":1},{"mail":"b@example.com","n":2}],"x":1}"#;
    seal(
        &bench,
        "r1",
        input,
        OUTPUT,
        &[("mail.txt", "from c@example.com\n"), ("a.txt", "one")],
    );
    bench.write(
        "privacy.toml",
        "runseal-redaction = 1\n[[drop]]\nmatch = '[a-z]+@example\\.com'\nreason = \"addresses\"\n[[drop]]\nplace = \"RUN_INPUT.json#/users/*/n\"\nreason = \"counts\"\n",
    );
    let plan = ok(bench.run(&["redact", "out/r1", "--profile", "privacy.toml", "--plan"]));
    for place in [
        "RUN_INPUT.json#/users/0/mail",
        "RUN_INPUT.json#/users/1/n",
        "artifacts/mail.txt",
        "RB7",
    ] {
        assert!(plan.contains(place), "{place}: {plan}");
    }
    assert!(!plan.contains("artifacts/a.txt"), "{plan}");
    ok(bench.run(&[
        "redact",
        "out/r1",
        "--profile",
        "privacy.toml",
        "-o",
        "copy",
    ]));
    for (_, bytes) in files_of(&bench.path("copy")) {
        assert!(!String::from_utf8_lossy(&bytes).contains("@example.com"));
    }
    bench.write("bad.toml", "runseal-redaction = 1\nunknown = 1\n");
    let ran = bench.run(&["redact", "out/r1", "--profile", "bad.toml", "--plan"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    // The id that is made by default holds no digits of the input's hash.
    let arguments = [
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "ids",
    ];
    let run = |more: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(more);
        let mut command = bench.command(&all);
        command
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .stdin(Stdio::null());
        ok(command.output().unwrap().into())
    };
    let plain = run(&[]);
    bench.write("my.seed", "7".repeat(64));
    let blinded = run(&["--redactable", "--seed", "my.seed"]);
    let id = |said: &str| said.split("run_20231114T221320Z_").nth(1).unwrap()[..8].to_owned();
    assert_ne!(id(&plain), id(&blinded));
    // The same seed gives the same bytes.
    let first = files_of(&bench.path(&format!("ids/run_20231114T221320Z_{}", id(&blinded))));
    fs::rename(bench.path("ids"), bench.path("before")).unwrap();
    assert_eq!(run(&["--redactable", "--seed", "my.seed"]), blinded);
    let second = files_of(&bench.path(&format!("ids/run_20231114T221320Z_{}", id(&blinded))));
    let bytes = |files: Vec<(PathBuf, Vec<u8>)>| {
        files
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(first), bytes(second));
}

#[test]
fn what_is_there_is_not_replaced_and_nothing_is_left_over() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[("a.txt", "one")]);
    keygen(&bench, "key", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "key"]));
    bench.write("there", "mine");
    bench.write("folder/x", "mine");
    bench.write("stale.intoto.jsonl", "mine");
    let name = "RUN_INPUT.json#/context/name";
    let token = ["--drop", name, "--sd-jwt", "RUN_INPUT.json", "--key", "key"];
    for (what, out) in [
        (&token[..], "there"),
        (&token, "folder"),
        (&["--disclose", name], "there"),
        (&["--disclose", name], "folder"),
        (&["--drop", name], "stale"),
    ] {
        let ran = bench.run(&[&["redact", "out/r1", "-o", out][..], what].concat());
        assert_eq!(ran.code, Some(2), "{out}: {}", ran.stderr);
        assert!(ran.stderr.contains("EXISTS: "), "{out}: {}", ran.stderr);
        assert!(!bench.path(&format!("{out}.disclosures")).exists());
    }
    assert_eq!(fs::read_to_string(bench.path("there")).unwrap(), "mine");
    assert!(!bench.path("stale").exists());
}

#[test]
fn places_are_reported_by_their_own_names() {
    let (_folder, bench) = bench();
    let input = r#"{"a~b":"secret word","argv":["x","y","z"],"price":4711}"#;
    seal(&bench, "r1", input, OUTPUT, &[("a#b.txt", "one")]);
    // A value has one pointer.
    for place in ["RUN_INPUT.json#/argv/02", "RUN_INPUT.json#/a~b"] {
        let ran = redact(&bench, "r1", &[place], "copy");
        assert!(ran.stderr.starts_with("FITS_NOTHING: "), "{}", ran.stderr);
    }
    ok(redact(
        &bench,
        "r1",
        &["RUN_INPUT.json#/a~0b", "artifacts/a#b.txt"],
        "copy",
    ));
    assert!(!bench.path("copy/artifacts").exists());
    ok(bench.run(&["redact", "out/r1", "--match", "^47", "-o", "numbers"]));
    let shown = fs::read_to_string(bench.path("numbers/RUN_INPUT.json")).unwrap();
    assert!(!shown.contains("4711"), "{shown}");
    let starts = |arguments: &[&str], code: i32, message: &str| {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
        assert!(!bench.path("none").exists());
    };
    let drop = ["--drop", "RUN_INPUT.json", "-o", "none"];
    let with = |first: &[&'static str]| [first, &drop[..]].concat();
    starts(&with(&["redact", "nosuch"]), 2, "nosuch");
    starts(
        &with(&["redact", "out/r1", "--seed", "gone"]),
        2,
        "--seed FILE names",
    );
    keygen(&bench, "key", "ed25519", "pem");
    let token = [
        "redact",
        "out/r1",
        "--sd-jwt",
        "RUN_INPUT.json",
        "--key",
        "key",
    ];
    starts(&with(&token), 2, "it is withheld as a whole");
    // Disclosures.
    let city = "RUN_INPUT.json#/price";
    ok(bench.run(&["redact", "out/r1", "--disclose", city, "-o", "price.json"]));
    let unredact =
        |copy: &'static str, with: &'static str| ["unredact", copy, "--with", with, "-o", "none"];
    starts(&unredact("out/r1", "price.json"), 2, "NOT_REDACTED: ");
    let price = fs::read_to_string(bench.path("price.json")).unwrap();
    bench.write(
        "climbing.json",
        price.replace("RUN_INPUT.json", "../../etc/passwd"),
    );
    let climbing = "DISCLOSURE: the disclosure cannot be used: `../../etc/passwd`: no such file";
    starts(&unredact("numbers", "climbing.json"), 1, climbing);
    let path = bench.path("numbers/SEALING_SPEC.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, "changed").unwrap();
    starts(
        &unredact("numbers", "price.json"),
        2,
        "CHANGED: `SEALING_SPEC.md` differs from what was sealed",
    );
}

#[test]
fn sd_jwt_of_a_document_is_read_by_another_implementation() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[]);
    let python = trust_python("sd-jwt");
    for (kind, algorithm) in [("ed25519", "EdDSA"), ("ecdsa-p256", "ES256")] {
        keygen(&bench, kind, kind, "pem");
        let token = format!("{kind}.sdjwt");
        ok(bench.run(&[
            "redact",
            "out/r1",
            "--drop",
            "RUN_INPUT.json#/context/name",
            "--sd-jwt",
            "RUN_INPUT.json",
            "--key",
            kind,
            "-o",
            &token,
        ]));
        let text = fs::read_to_string(bench.path(&token)).unwrap();
        assert!(
            text.ends_with('~') && text.matches('.').count() == 2,
            "{text}"
        );
        let beside = bench.path(&format!("{token}.disclosures"));
        let mode = fs::metadata(&beside).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let kept = fs::read_to_string(beside).unwrap();
        let (place, disclosure) = kept.trim().split_once(' ').unwrap();
        assert_eq!(place, "RUN_INPUT.json#/context/name");
        let Some(python) = &python else { continue };
        let (public, folder) = (format!("{kind}.pub"), bench.path(""));
        let check = |token: String| {
            let script = (folder.as_path(), "sd_jwt_check.py");
            ask_script(python, script, &[&public, algorithm], token.as_bytes())
        };
        let claims = check(text.clone()).unwrap();
        assert!(
            claims.contains("Ulm") && !claims.contains("Mallory"),
            "{claims}"
        );
        let disclosed = check(format!("{text}{disclosure}~")).unwrap();
        assert!(disclosed.contains("Mallory"), "{disclosed}");
        let forged = text.replacen('.', ".e30", 1);
        assert_eq!(check(forged), None);
    }
}
