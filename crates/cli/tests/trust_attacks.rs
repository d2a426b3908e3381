//! Ways to be trusted without the signature that was asked for, each tried as an outsider would.

use std::fs;
use std::process::Command;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::skip::skip;
use runseal_trust::dsse::{Envelope, IN_TOTO};
use runseal_trust::keys::PrivateKey;
use runseal_trust::statement::{Statement, Target};

use crate::signing_support::{bench, keygen, ok, sealed, sealed_as};

fn refused(ran: &Ran, message: &str) {
    assert_ne!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(message), "{said}");
}

/// Keys of these names, and a policy of them with these rules.
fn policy(bench: &Bench, names: &[&str], rules: &str) {
    let mut text = "runseal-trust = 1\nversion = 1\n".to_owned();
    for name in names {
        if !bench.path(name).exists() {
            keygen(bench, name, "ed25519", "pem");
        }
        let key = bench.read(&format!("{name}.pub"));
        text.push_str(&format!(
            "[[signer]]\nname = \"{name}\"\nkey = '''{key}'''\n"
        ));
    }
    bench.write("trust.toml", text + rules);
}

fn verify(bench: &Bench, path: &str) -> Ran {
    bench.run(&["verify", path, "--trust", "trust.toml"])
}

/// Signs a statement of this type about the run `out/r1`, as ada.
fn state(bench: &Bench, predicate_type: &str, predicate: &str) {
    let sums = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
    let predicate = parse_document(predicate.as_bytes(), &ReadOptions::default()).unwrap();
    let statement = Statement {
        subjects: Target::of_file("r1", "SHA256SUMS.txt", sums).subjects(),
        predicate_type: predicate_type.to_owned(),
        predicate: predicate.root().to_value(),
    };
    write_signed(bench, &statement, "out/r1.intoto.jsonl");
}

fn write_signed(bench: &Bench, statement: &Statement, file: &str) {
    let key = PrivateKey::parse(bench.read("ada").as_bytes(), None).unwrap();
    let envelope = Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &key).unwrap();
    bench.write(file, envelope.to_line());
}

const ADA: &str = "[[rule]]\nsigners = [\"ada\"]\n";

#[test]
fn signed_rejection_does_not_approve_whatever_the_rule_names() {
    let (_folder, bench) = bench();
    sealed(&bench);
    let summary = "https://slsa.dev/verification_summary/v1";
    let run = "https://runseal.dev/attestation/run/v1";
    let named = format!("{ADA}predicates = [\"{summary}\", \"{run}\"]\n");
    let valid = r#""verification":{"verdict":"valid"}"#;
    for rule in [ADA, &named] {
        policy(&bench, &["ada"], rule);
        for (kind, predicate, reason) in [
            (
                summary,
                r#"{"verificationResult":"FAILED"}"#.to_owned(),
                "is `FAILED`",
            ),
            (
                run,
                r#"{"format":"run-bundle","verification":{"verdict":"invalid"}}"#.to_owned(),
                "its verdict is `invalid`",
            ),
            (
                run,
                format!(r#"{{"format":"run-bundle","meaning":"rejected",{valid}}}"#),
                "its meaning is `rejected`",
            ),
            (
                run,
                r#"{"format":"run-bundle"}"#.to_owned(),
                "it states no verdict",
            ),
        ] {
            state(&bench, kind, &predicate);
            let ran = verify(&bench, "out/r1");
            refused(&ran, "signed as a rejection by ada");
            refused(&ran, reason);
            refused(&bench.run(&["verify", "out/r1", "--require-signed"]), "");
            let json = [
                "verify",
                "out/r1",
                "--trust",
                "trust.toml",
                "--format",
                "json",
            ];
            refused(&bench.run(&json), r#""signed":"rejected""#);
        }
        for other in [
            format!(r#"{{"format":"pack",{valid}}}"#),
            format!(r#"{{"format":"run-bundle","outcome":"accepted",{valid}}}"#),
        ] {
            state(&bench, run, &other);
            refused(&verify(&bench, "out/r1"), "signature over something else");
        }
        state(
            &bench,
            run,
            &format!(r#"{{"format":"run-bundle",{valid}}}"#),
        );
        ok(verify(&bench, "out/r1"));
    }
}

#[test]
fn predicate_counts_only_where_the_rule_names_it() {
    let (_folder, bench) = bench();
    sealed(&bench);
    let summary = "https://slsa.dev/verification_summary/v1";
    policy(&bench, &["ada"], ADA);
    state(&bench, summary, r#"{"verificationResult":"PASSED"}"#);
    refused(
        &verify(&bench, "out/r1"),
        "not among the `predicates` of the rule",
    );
    policy(
        &bench,
        &["ada"],
        &format!("{ADA}predicates = [\"{summary}\"]\n"),
    );
    ok(verify(&bench, "out/r1"));
    // Then our own and plain signatures have to be named too.
    fs::remove_file(bench.path("out/r1.intoto.jsonl")).unwrap();
    for form in ["dsse", "ssh"] {
        ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", form]));
        refused(&verify(&bench, "out/r1"), "among the `predicates`");
    }
    policy(
        &bench,
        &["ada"],
        &format!("{ADA}predicates = [\"plain\"]\n"),
    );
    ok(verify(&bench, "out/r1"));
    for fault in ["predicates = [\"slsa\"]", "meanings = [\"rejected\"]"] {
        policy(&bench, &["ada"], &format!("{ADA}{fault}\n"));
        assert_eq!(verify(&bench, "out/r1").code, Some(2), "{fault}");
    }
}

#[test]
fn file_of_a_signed_folder_is_not_signed_by_itself() {
    let (_folder, bench) = bench();
    bench.write("intent.json", crate::redaction_support::INTENT);
    bench.run(&["run", "intent.json", "--pack", "pack"]);
    let rules = format!("[[rule]]\nformats = [\"pack\"]\nsigners = [\"ada\"]\n{ADA}");
    policy(&bench, &["ada"], &rules);
    ok(bench.run(&["sign", "pack", "--key", "ada", "--meaning", "approver"]));
    ok(verify(&bench, "pack"));
    fs::copy(
        bench.path("pack.intoto.jsonl"),
        bench.path("alone.json.intoto.jsonl"),
    )
    .unwrap();
    let mut parts = 0;
    for entry in fs::read_dir(bench.path("pack")).unwrap() {
        let file = entry.unwrap().path();
        if !file.is_file() {
            continue;
        }
        fs::copy(&file, bench.path("alone.json")).unwrap();
        let ran = verify(&bench, "alone.json");
        assert_ne!(ran.code, Some(0), "{}: {}", file.display(), ran.stdout);
        parts += usize::from(ran.stdout.contains("it is part of a signed pack"));
        let signed = bench.run(&["verify", "alone.json", "--require-signed"]);
        assert_ne!(signed.code, Some(0), "{}", signed.stdout);
    }
    assert!(parts >= 3, "{parts} files of the pack are documents");
}

#[test]
fn signature_over_one_of_two_runs_in_an_archive_is_not_the_others() {
    let (_folder, bench) = bench();
    sealed_as(&bench, "r1");
    sealed_as(&bench, "r2");
    policy(&bench, &["ada"], ADA);
    let tar = ["-cf", "two.tar", "-C", "out", "r1", "r2"];
    let tar = Command::new("tar")
        .args(tar)
        .current_dir(bench.path(""))
        .status();
    assert!(tar.unwrap().success());
    // A statement about the archive, with what `sign` says of one run in it.
    let archive = fs::read(bench.path("two.tar")).unwrap();
    let said = r#"{"format":"run-bundle","verification":{"verdict":"valid"}}"#;
    let said = parse_document(said.as_bytes(), &ReadOptions::default()).unwrap();
    let statement = Statement {
        subjects: Target::of_file("two.tar", "two.tar", archive).subjects(),
        predicate_type: "https://runseal.dev/attestation/run/v1".to_owned(),
        predicate: said.root().to_value(),
    };
    write_signed(&bench, &statement, "two.tar.intoto.jsonl");
    let ran = verify(&bench, "two.tar");
    refused(&ran, "signature over something else");
    assert!(!ran.stdout.contains("\nok "), "{}", ran.stdout);
}

#[test]
fn redacted_copy_of_what_is_denied_is_denied() {
    let (_folder, bench) = bench();
    let (input, output) = (
        crate::redaction_support::INPUT,
        crate::redaction_support::OUTPUT,
    );
    crate::redaction_support::seal(&bench, "r1", input, output, &[]);
    policy(&bench, &["ada"], ADA);
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    let drop = ["RUN_INPUT.json#/context/name"];
    ok(crate::redaction_support::redact(
        &bench, "r1", &drop, "copy",
    ));
    ok(verify(&bench, "copy"));
    let sums = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
    let digest = runseal_core::digest::Digest::of(&sums);
    let denied = format!("{ADA}[deny]\ndigests = [\"sha256:{digest}\"]\n");
    policy(&bench, &["ada"], &denied);
    refused(&verify(&bench, "out/r1"), "is denied");
    refused(&verify(&bench, "copy"), "is denied");
    // And the other way round: the commitment that the copy shows.
    let commitment = fs::read(bench.path("copy/REDACTION.json")).unwrap();
    let digest = runseal_core::digest::Digest::of(&commitment);
    let denied = format!("{ADA}[deny]\ndigests = [\"sha256:{digest}\"]\n");
    policy(&bench, &["ada"], &denied);
    refused(&verify(&bench, "out/r1"), "is denied");
    refused(&verify(&bench, "copy"), "is denied");
}

#[test]
fn rule_for_a_path_holds_however_the_path_is_spelled() {
    let (_folder, bench) = bench();
    sealed(&bench);
    fs::rename(bench.path("out"), bench.path("prod")).unwrap();
    let strict = "[[rule]]\npaths = [\"prod/**\"]\nsigners = [\"ada\", \"bob\"]\nthreshold = 2\n";
    policy(&bench, &["ada", "bob"], &format!("{strict}{ADA}"));
    ok(bench.run(&["sign", "prod/r1", "--key", "ada"]));
    std::os::unix::fs::symlink("prod/r1", bench.path("link")).unwrap();
    let signature = bench.read("prod/r1.intoto.jsonl");
    bench.write("link.intoto.jsonl", &signature);
    let whole = bench.path("prod/r1").to_str().unwrap().to_owned();
    for path in [
        "prod/r1",
        "./prod/r1",
        "prod//r1",
        "prod/r1/",
        "prod/./r1",
        "prod/../prod/r1",
        "link",
        &whole,
        "prod",
        ".",
    ] {
        refused(&verify(&bench, path), "1 of 2 needed signatures");
    }
    // From another folder, with the policy named from there.
    let mut inside = bench.command(&["verify", "r1", "--trust", "../trust.toml"]);
    inside.current_dir(bench.path("prod"));
    refused(&inside.output().unwrap().into(), "1 of 2 needed signatures");
    // An archive is where it is; names inside choose no rule, and not a laxer one either.
    let tar = ["-cf", "a.tar", "prod/r1", "prod/r1.intoto.jsonl"];
    let tar = Command::new("tar")
        .args(tar)
        .current_dir(bench.path(""))
        .status();
    assert!(tar.unwrap().success());
    refused(&verify(&bench, "a.tar!/prod/r1"), "names select no rule");
    // A policy that is kept elsewhere is reported, not passed on to the next rule.
    bench.write("other/trust.toml", bench.read("trust.toml"));
    let ran = bench.run(&["verify", "prod/r1", "--trust", "other/trust.toml"]);
    refused(&ran, "it is not below the policy's folder");
    // What is elsewhere below the folder is for the next rule.
    fs::rename(bench.path("prod"), bench.path("test")).unwrap();
    ok(verify(&bench, "test/r1"));
}

#[test]
fn signer_whose_time_is_over_changes_no_policy() {
    let (_folder, bench) = bench();
    sealed(&bench);
    let root = "[root]\nsigners = [\"ada\", \"old\"]\n";
    policy(&bench, &["ada", "old", "new"], &format!("{ADA}{root}"));
    let current = bench.read("trust.toml");
    let next = current.replace("version = 1", "version = 2");
    for (member, reason) in [
        ("until = 2020-01-01", "`old` counted until 2020-01-01"),
        ("from = 2999-01-01", "`old` counts from 2999-01-01"),
    ] {
        let limited = current.replace("name = \"old\"\n", &format!("name = \"old\"\n{member}\n"));
        bench.write("trust.toml", &limited);
        // The next version drops the limit.
        bench.write("next.toml", &next);
        let rotate = ["trust", "rotate", "trust.toml", "next.toml", "--key", "old"];
        refused(&bench.run(&rotate), reason);
        ok(bench.run(&["sign", "out/r1", "--key", "old"]));
        refused(&verify(&bench, "out/r1"), reason);
        fs::remove_file(bench.path("trust.toml.chain")).unwrap();
        // Where the next version keeps it, nothing is written.
        bench.write("next.toml", limited.replace("version = 1", "version = 2"));
        refused(&bench.run(&rotate), "the key may not change the policy");
        assert!(!bench.path("trust.toml.chain").exists());
        let stranger = ["trust", "rotate", "trust.toml", "next.toml", "--key", "new"];
        refused(&bench.run(&stranger), "the key is not in the root");
        assert!(!bench.path("trust.toml.chain").exists());
        // Somebody whose time is not over changes it.
        ok(bench.run(&["trust", "rotate", "trust.toml", "next.toml", "--key", "ada"]));
        fs::remove_file(bench.path("trust.toml.chain")).unwrap();
    }
}

#[test]
fn small_archive_with_thousands_of_signatures_is_answered_within_its_budget() {
    let (_folder, bench) = bench();
    sealed(&bench);
    policy(&bench, &["ada", "b", "c", "d", "e", "f", "g"], ADA);
    ok(bench.run(&["sign", "out/r1", "--key", "b"]));
    let line = bench.read("out/r1.intoto.jsonl");
    let mut envelope = Envelope::parse(line.trim_end().as_bytes()).unwrap();
    let one = envelope.signatures[0].clone();
    let mut lines = Vec::new();
    for line in 0..1000u32 {
        envelope.signatures = (0..64u32)
            .map(|at| {
                let mut other = one.clone();
                other.keyid = None;
                other.sig[..4].copy_from_slice(&(line * 64 + at).to_be_bytes());
                other
            })
            .collect();
        lines.push(envelope.to_line());
    }
    bench.write("out/r1.intoto.jsonl", lines.join(&b'\n'));
    let ran = verify(&bench, "out/r1");
    assert_eq!(ran.code, Some(1));
    refused(
        &ran,
        "takes more than 1000 checks; the rest was not checked",
    );
    assert!(ran.stdout.lines().count() < 300, "{}", ran.stdout);
}

#[test]
fn allowed_signers_are_read_as_ssh_keygen_reads_them() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "ada", "ed25519", "openssh");
    let public = bench.read("ada.pub");
    let mut words = public.split_ascii_whitespace();
    let key = format!("{} {}", words.next().unwrap(), words.next().unwrap());
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", "ssh"]));
    let rule = "[[rule]]\nsigners = [\"ada\"]\n";
    for options in [
        "",
        "namespaces=\"runseal\"",
        "namespaces=\"git,run*\"",
        "namespaces=\"!git,*\"",
        "namespaces=\"!runseal,*\"",
        "namespaces=\"*,!run?eal\"",
        "namespaces=\"!git\"",
        "namespaces=\"Runseal\"",
        "NAMESPACES=\"runseal\"",
        "namespaces=runseal",
        "namespaces=\"git\",namespaces=\"runseal\"",
        "valid-before=\"20200101Z\"",
        "valid-after=\"29990101Z\"",
        "valid-after=\"20200101Z\",valid-before=\"29990101Z\"",
        "valid-after=\"29990101Z\",valid-before=\"20200101Z\"",
        "namespaces=\"runseal\",",
        "unheard-of",
    ] {
        let line = format!("ada {options} {key}\n");
        bench.write("allowed", &line);
        let lines = format!("allowed_signers = '''\n{line}'''\n");
        bench.write(
            "trust.toml",
            format!("runseal-trust = 1\nversion = 1\n{lines}{rule}"),
        );
        let ours = verify(&bench, "out/r1").code == Some(0);
        let sums = fs::File::open(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
        let theirs = Command::new("ssh-keygen")
            .args([
                "-Y", "verify", "-f", "allowed", "-I", "ada", "-n", "runseal",
            ])
            .args(["-s", "out/r1.sig"])
            .current_dir(bench.path(""))
            .stdin(sums)
            .output();
        let Ok(theirs) = theirs else {
            skip("ssh-keygen is missing");
            return;
        };
        assert_eq!(ours, theirs.status.success(), "{line}");
    }
}

#[test]
fn statement_of_ours_about_several_runs_counts_for_its_own_subject_alone() {
    let (_folder, bench) = bench();
    sealed_as(&bench, "r1");
    sealed_as(&bench, "r2");
    policy(&bench, &["ada"], ADA);
    let subjects = ["r1", "r2"].map(|run| {
        let sums = fs::read(bench.path(&format!("out/{run}/SHA256SUMS.txt"))).unwrap();
        Target::of_file(run, "SHA256SUMS.txt", sums).subjects()
    });
    let said = r#"{"format":"run-bundle","verification":{"verdict":"valid"}}"#;
    let said = parse_document(said.as_bytes(), &ReadOptions::default()).unwrap();
    let statement = Statement {
        subjects: subjects.concat(),
        predicate_type: "https://runseal.dev/attestation/run/v1".to_owned(),
        predicate: said.root().to_value(),
    };
    for run in ["r1", "r2"] {
        write_signed(&bench, &statement, &format!("out/{run}.intoto.jsonl"));
    }
    ok(verify(&bench, "out/r1"));
    refused(
        &verify(&bench, "out/r2"),
        "it names this next to its own subject",
    );
}

/// Builds a job bundle of a run that reads this text.
fn job_bundle(bench: &Bench, run: &str, text: &str, more: &[&str]) {
    bench.write("docs/note.md", text);
    let plan = format!(
        r#"{{"run_id":"{run}","intent":"Read the note","idempotency_key":"{run}","steps":[{{"op":"READ_SECTION","refs":{{"section_id":"docs/note.md"}},"constraints":{{"slice":"head(400000)"}}}}]}}"#
    );
    bench.write("plan.json", plan);
    ok(bench.run(&["job", "index", "docs"]));
    let posted = ok(bench.run(&["job", "post", "plan.json"]));
    let job = posted.split("\"job_id\":\"").nth(1).unwrap();
    let job = job.split('"').next().unwrap().to_owned();
    ok(bench.run(&["job", "work"]));
    let build = ["job", "build", run, &job, "-o", run];
    ok(bench.run(&[&build[..], more].concat()));
}

#[test]
fn commitment_that_a_job_could_read_unchanged_is_refused() {
    let (_folder, bench) = bench();
    policy(&bench, &["ada"], ADA);
    ok(bench.run(&["job", "init"]));
    // Somebody without a key makes a copy, and has Ada's job read its commitment.
    job_bundle(
        &bench,
        "theirs",
        "PIN4711 is free\nsays Ada\n",
        &["--redactable"],
    );
    ok(bench.run(&["redact", "theirs", "--match", "PIN4711", "-o", "forged"]));
    // A job ends what it reads with a line feed, and a commitment may end with one.
    let commitment = bench.read("forged/REDACTION.json") + "\n";
    bench.write("forged/REDACTION.json", &commitment);
    let ran = bench.run(&["verify", "forged"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("RD6"), "{}", ran.stdout);
}

#[test]
fn copy_is_judged_by_the_rule_for_what_it_was_made_from() {
    let (_folder, bench) = bench();
    let (input, output) = (
        crate::redaction_support::INPUT,
        crate::redaction_support::OUTPUT,
    );
    crate::redaction_support::seal(&bench, "r1", input, output, &[]);
    let strict =
        "[[rule]]\nformats = [\"run-bundle\"]\nsigners = [\"ada\", \"bob\"]\nthreshold = 2\n";
    policy(&bench, &["ada", "bob"], &format!("{strict}{ADA}"));
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    let drop = ["RUN_INPUT.json#/context/name"];
    ok(crate::redaction_support::redact(
        &bench, "r1", &drop, "copy",
    ));
    for path in ["out/r1", "copy"] {
        refused(&verify(&bench, path), "1 of 2 needed signatures");
    }
    // A rule that names copies decides about them where it comes first.
    let copies = "[[rule]]\nformats = [\"redacted-bundle\"]\nsigners = [\"ada\"]\n";
    policy(&bench, &["ada", "bob"], &format!("{copies}{strict}"));
    ok(verify(&bench, "copy"));
    refused(&verify(&bench, "out/r1"), "1 of 2 needed signatures");
}

#[test]
fn signature_on_a_copy_that_does_not_name_the_original_evades_no_denial() {
    let (_folder, bench) = bench();
    let (input, output) = (
        crate::redaction_support::INPUT,
        crate::redaction_support::OUTPUT,
    );
    crate::redaction_support::seal(&bench, "r1", input, output, &[]);
    let either = "[[rule]]\nsigners = [\"ada\", \"bob\"]\n";
    policy(&bench, &["ada", "bob"], either);
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    let drop = ["RUN_INPUT.json#/context/name"];
    ok(crate::redaction_support::redact(
        &bench, "r1", &drop, "copy",
    ));
    let first = bench.read("copy.intoto.jsonl");
    let sums = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
    let digest = runseal_core::digest::Digest::of(&sums);
    let other = runseal_core::digest::Digest::of(b"something else");
    let deny = |digest| format!("{either}[deny]\ndigests = [\"sha256:{digest}\"]\n");
    for (key, by_denied, by_other) in [
        ("ada", "is denied", None),
        (
            "bob",
            "does not name what the copy was made from",
            Some("does not name what the copy was made from"),
        ),
    ] {
        bench.write("copy.intoto.jsonl", &first);
        ok(bench.run(&["sign", "copy", "--key", key]));
        // The statement about the original is taken away.
        let both = bench.read("copy.intoto.jsonl");
        let alone = both.lines().nth(1).unwrap();
        bench.write("copy.intoto.jsonl", format!("{alone}\n"));
        policy(&bench, &["ada", "bob"], &deny(digest));
        refused(&verify(&bench, "copy"), by_denied);
        policy(&bench, &["ada", "bob"], &deny(other));
        let ran = verify(&bench, "copy");
        match by_other {
            Some(reason) => refused(&ran, reason),
            None => assert_eq!(ran.code, Some(0), "{}", ran.stdout),
        }
        policy(&bench, &["ada", "bob"], either);
        ok(verify(&bench, "copy"));
    }
}
