//! Signing, trusting and the three answers of `verify`, from the command line: intact, signed,
//! trusted; and what bad keys, policies and signature files give.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::skip::{need_program, skip_even_in_ci};
use serde_json::Value;

use crate::signing_support::{
    TimeAuthority, bench, keygen, ok, openssl, sealed, sealed_as, time_authority, trust_ada,
};

fn verify_json(bench: &Bench, more: &[&str]) -> (Option<i32>, Value) {
    let mut arguments = vec!["verify", "out/r1", "--format", "json"];
    arguments.extend(more);
    let ran = bench.run(&arguments);
    let answer: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    (ran.code, answer["results"][0].clone())
}

/// A sealed run, ada's key, and a policy that trusts her for everything.
fn signed_by_ada() -> (tempfile::TempDir, Bench) {
    let (folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "ada", "ed25519", "pem");
    trust_ada(&bench, "ada.pub");
    let printed = ok(bench.run(&[
        "sign",
        "out/r1",
        "--key",
        "ada",
        "--as",
        "Ada L.",
        "--meaning",
        "author",
    ]));
    assert_eq!(printed, "out/r1.intoto.jsonl\n");
    (folder, bench)
}

#[test]
fn verify_unsigned_says_so_and_is_a_fault_only_where_demanded() {
    let (_folder, bench) = bench();
    sealed(&bench);
    let plain = bench.run(&["verify", "out/r1"]);
    assert_eq!(plain.code, Some(0));
    assert!(
        plain
            .stdout
            .contains("out/r1 (run bundle): intact, unsigned"),
        "{}",
        plain.stdout
    );
    let (code, result) = verify_json(&bench, &[]);
    assert_eq!(
        (code, &result["signed"], &result["ok"]),
        (Some(0), &"unsigned".into(), &true.into())
    );
    assert_eq!(result.get("trusted"), None);
    let (code, result) = verify_json(&bench, &["--require-signed"]);
    assert_eq!((code, &result["ok"]), (Some(1), &false.into()));
    assert_eq!(result["violations"][0]["rule_id"], "SIGNED");
    let human = bench.run(&["verify", "out/r1", "--require-signed"]);
    assert!(
        human
            .stdout
            .starts_with("REFUSED  out/r1 (run bundle): intact, unsigned"),
        "{}",
        human.stdout
    );
}

#[test]
fn verify_signed_and_trusted_says_by_whom_and_which_line() {
    let (_folder, bench) = signed_by_ada();
    let (code, result) = verify_json(&bench, &["--require-signed", "--trust", "trust.toml"]);
    assert_eq!(code, Some(0), "{result}");
    assert_eq!(result["signed"], "signed");
    assert_eq!(result["trusted"], true);
    assert_eq!(result["signatures"][0]["name"], "ada");
    assert_eq!(result["signatures"][0]["known"], true);
    assert_eq!(result["signatures"][0]["meaning"], "author");
    assert_eq!(result["signatures"][0]["over"][0], "SHA256SUMS.txt");
    let line = usize::try_from(result["trust"]["line"].as_u64().unwrap()).unwrap();
    let policy = bench.read("trust.toml");
    assert_eq!(policy.lines().nth(line - 1).unwrap(), "[[rule]]");
    // Without a policy the name is the signer's own word, and told as that.
    let human = bench.run(&["verify", "out/r1"]);
    assert!(
        human
            .stdout
            .contains("signed by Ada L. (by their own word)"),
        "{}",
        human.stdout
    );
    assert!(
        human.stdout.contains("trusted: not asked"),
        "{}",
        human.stdout
    );
}

#[test]
fn folder_that_is_named_by_a_dot_has_the_signatures_beside_it() {
    let (_folder, bench) = signed_by_ada();
    let mut verify = bench.command(&["verify", ".", "--require-signed"]);
    verify.current_dir(bench.path("out/r1"));
    let said = ok(verify.output().unwrap().into());
    assert!(said.contains("signed"), "{said}");
    fs::remove_file(bench.path("out/r1.intoto.jsonl")).unwrap();
    let mut sign = bench.command(&["sign", ".", "--key", "../../ada"]);
    sign.current_dir(bench.path("out/r1"));
    ok(sign.output().unwrap().into());
    assert!(bench.path("out/r1.intoto.jsonl").is_file());
}

#[test]
fn verify_tells_the_four_ways_of_not_being_signed_apart() {
    let (_folder, bench) = signed_by_ada();
    let trusted = ["--trust", "trust.toml"];
    // By an unknown key.
    keygen(&bench, "eve", "ed25519", "pem");
    let honest = bench.read("out/r1.intoto.jsonl");
    fs::remove_file(bench.path("out/r1.intoto.jsonl")).unwrap();
    let (code, result) = verify_json(&bench, &trusted);
    assert_eq!((code, &result["signed"]), (Some(1), &"unsigned".into()));
    ok(bench.run(&["sign", "out/r1", "--key", "eve", "--as", "ada"]));
    let (code, result) = verify_json(&bench, &trusted);
    assert_eq!((code, &result["signed"]), (Some(1), &"unknown-key".into()));
    // Broken.
    bench.write(
        "out/r1.intoto.jsonl",
        honest.replace("\"sig\":\"", "\"sig\":\"AAAA"),
    );
    let (code, result) = verify_json(&bench, &trusted);
    assert_eq!((code, &result["signed"]), (Some(1), &"broken".into()));
    // Over something else.
    sealed_as(&bench, "r2");
    bench.write("out/r2.intoto.jsonl", &honest);
    let ran = bench.run(&["verify", "out/r2", "--trust", "trust.toml"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("signature over something else"),
        "{}",
        ran.stdout
    );
    // Nothing of that changes what the rules say.
    assert!(
        ran.stdout.contains("(run bundle): intact,"),
        "{}",
        ran.stdout
    );
    assert_eq!(bench.run(&["verify", "out/r2"]).code, Some(0));
}

#[test]
fn bundle_changed_after_signing_is_neither_intact_nor_trusted() {
    let (_folder, bench) = signed_by_ada();
    let output = bench.read("out/r1/RUN_OUTPUT.json");
    bench.write("out/r1/RUN_OUTPUT.json", output.replace("440", "441"));
    let (code, result) = verify_json(&bench, &["--trust", "trust.toml"]);
    assert_eq!((code, &result["trusted"]), (Some(1), &false.into()));
    assert!(
        result["trust"]["reason"]
            .as_str()
            .unwrap()
            .contains("not intact"),
        "{result}"
    );
    // A forger who also mends the sums has changed what was signed.
    let sums: String = bench
        .read("out/r1/SHA256SUMS.txt")
        .lines()
        .map(|line| {
            let (_, name) = line.split_once("  ").unwrap();
            let bytes = fs::read(bench.path(&format!("out/r1/{name}"))).unwrap();
            format!("{}  {name}\n", runseal_core::digest::Digest::of(&bytes))
        })
        .collect();
    bench.write("out/r1/SHA256SUMS.txt", sums);
    let (_, result) = verify_json(&bench, &["--trust", "trust.toml"]);
    assert_eq!(result["signed"], "other-subject");
}

#[test]
fn sarif_junit_inspect_and_page_have_the_three_answers() {
    let (_folder, bench) = signed_by_ada();
    let trust = ["--trust", "trust.toml"];
    let run = |format: &str| {
        let ran = bench.run(&["verify", "out/r1", "--format", format, trust[0], trust[1]]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let sarif: Value = serde_json::from_str(&run("sarif")).unwrap();
    let properties = &sarif["runs"][0]["artifacts"][0]["properties"];
    assert_eq!(properties["intact"], true);
    assert_eq!(properties["signed"], "signed");
    assert_eq!(properties["trusted"], true);
    let junit = run("junit");
    assert!(
        junit.contains("<property name=\"signed\" value=\"signed\"/>"),
        "{junit}"
    );
    assert!(
        junit.contains("<property name=\"trusted\" value=\"true\"/>"),
        "{junit}"
    );
    roxmltree::Document::parse(&junit).unwrap();
    let inspected = ok(bench.run(&["inspect", "out/r1", trust[0], trust[1]]));
    assert!(
        inspected.contains("Signed: signed by ada as author"),
        "{inspected}"
    );
    assert!(
        inspected.contains("trusted: signed by ada (1 of 1 needed)"),
        "{inspected}"
    );
    ok(bench.run(&["report", "out/r1", "-o", "page.html", trust[0], trust[1]]));
    let page = bench.read("page.html");
    assert!(
        page.contains("id=\"verdict\">A run bundle: intact, signed, trusted. Outcome: completed<"),
        "no answers on the page"
    );
    // And refused, where the policy has somebody else.
    keygen(&bench, "bob", "ecdsa-p256", "pem");
    ok(bench.run(&["trust", "init", "other.toml"]));
    ok(bench.run(&[
        "trust",
        "add",
        "other.toml",
        "bob",
        "--key",
        "bob.pub",
        "--accept",
    ]));
    for format in ["sarif", "junit"] {
        let ran = bench.run(&[
            "verify",
            "out/r1",
            "--format",
            format,
            "--trust",
            "other.toml",
        ]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stdout.contains("TRUST"), "{}", ran.stdout);
        assert!(
            ran.stdout.contains("signed by an unknown key"),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn every_kind_of_thing_can_be_signed_and_an_archive_has_its_bundles_signature() {
    let (_folder, bench) = signed_by_ada();
    let tar = Command::new("tar")
        .args(["-cf", "r1.tar", "-C", "out", "r1"])
        .current_dir(bench.path(""))
        .status()
        .unwrap();
    assert!(tar.success());
    let signature = bench.read("out/r1.intoto.jsonl");
    bench.write("r1.tar.intoto.jsonl", signature);
    ok(bench.run(&["verify", "r1.tar", "--trust", "trust.toml"]));
    fs::remove_file(bench.path("r1.tar.intoto.jsonl")).unwrap();
    ok(bench.run(&["sign", "r1.tar", "--key", "ada"]));
    ok(bench.run(&["verify", "r1.tar", "--trust", "trust.toml"]));
    // A document.
    let intent = runseal_testkit::project_root().join("examples/intents/clear.json");
    ok(bench.run(&["transform", intent.to_str().unwrap(), "-o", "bundle.json"]));
    ok(bench.run(&["sign", "bundle.json", "--key", "ada"]));
    ok(bench.run(&["verify", "bundle.json", "--trust", "trust.toml"]));
    let mut text = bench.read("bundle.json");
    text.insert(text.len() - 1, ' ');
    bench.write("bundle.json", text);
    let ran = bench.run(&["verify", "bundle.json", "--trust", "trust.toml"]);
    assert_eq!(ran.code, Some(1), "a byte more is another document");
    // A folder without a manifest of digests: an engine.
    let engine = runseal_testkit::project_root().join("examples/engines/dice");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(&engine)
        .arg(bench.path("dice"))
        .status()
        .unwrap();
    assert!(copied.success());
    ok(bench.run(&["sign", "dice/", "--key", "ada"]));
    ok(bench.run(&["verify", "dice", "--trust", "trust.toml"]));
    bench.write("dice/more.txt", "x");
    let ran = bench.run(&["verify", "dice", "--trust", "trust.toml"]);
    assert!(
        ran.stdout.contains("signature over something else"),
        "{}",
        ran.stdout
    );
    // What no digest covers is not signed.
    std::os::unix::fs::symlink("/etc/passwd", bench.path("dice/link")).unwrap();
    let ran = bench.run(&["verify", "dice", "--trust", "trust.toml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let ran = bench.run(&["sign", "dice", "--key", "ada", "-o", "x.jsonl"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!bench.path("x.jsonl").exists());
    fs::remove_file(bench.path("dice/link")).unwrap();
    // The folder's digest is what coreutils say.
    fs::remove_file(bench.path("dice/more.txt")).unwrap();
    let sums =
        "find . -type f | cut -c3- | LC_ALL=C sort | xargs -r sha256sum | sha256sum | cut -c1-64";
    let sums = Command::new("sh")
        .args(["-c", sums])
        .current_dir(bench.path("dice"))
        .output()
        .unwrap();
    let expected = String::from_utf8(sums.stdout)
        .unwrap()
        .trim_end()
        .to_owned();
    let line: Value = serde_json::from_str(bench.read("dice.intoto.jsonl").trim_end()).unwrap();
    let payload =
        runseal_trust::encoding::decode_base64(line["payload"].as_str().unwrap()).unwrap();
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(statement["subject"][0]["digest"]["dirHash1"], expected);
}

#[test]
fn signature_files_below_a_folder_are_passed_over() {
    let (_folder, bench) = signed_by_ada();
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", "sigstore"]));
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", "ssh"]));
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", "minisign"]));
    let ran = bench.run(&["verify", "out", "--trust", "trust.toml", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["checked"], 1, "{answer}");
    assert_eq!(
        answer["results"][0]["signatures"].as_array().unwrap().len(),
        4
    );
}

#[test]
fn second_signature_follows_the_first_and_thresholds_count_people() {
    let (_folder, bench) = signed_by_ada();
    keygen(&bench, "bob", "ecdsa-p256", "openssh");
    ok(bench.run(&["trust", "add", "trust.toml", "bob", "--key", "bob.pub"]));
    let policy = bench.read("trust.toml").replace(
        "\nsigners = [\"ada\"]",
        "\nsigners = [\"ada\", \"bob\"]\nthreshold = 2\nformats = [\"run-bundle\"]",
    );
    bench.write("trust.toml", policy);
    let explained = bench.run(&["trust", "explain", "trust.toml", "out/r1"]);
    assert_eq!(explained.code, Some(1));
    assert!(
        explained.stdout.contains("1 of 2 needed signatures"),
        "{}",
        explained.stdout
    );
    ok(bench.run(&["sign", "out/r1", "--key", "bob", "--meaning", "reviewer"]));
    let explained = bench.run(&["trust", "explain", "trust.toml", "out/r1"]);
    assert_eq!(explained.code, Some(0), "{}", explained.stdout);
    assert!(
        explained.stdout.contains("counts, by `bob`"),
        "{}",
        explained.stdout
    );
    let (_, result) = verify_json(&bench, &[]);
    assert!(result["signatures"][1].get("detail").is_none(), "{result}");
    // Without the first, the second says that something is missing.
    let lines = bench.read("out/r1.intoto.jsonl");
    bench.write("out/r1.intoto.jsonl", lines.lines().nth(1).unwrap());
    let (_, result) = verify_json(&bench, &[]);
    assert!(
        result["signatures"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("not here"),
        "{result}"
    );
}

#[test]
fn time_of_an_authority_is_shown_beside_the_makers_and_can_be_demanded() {
    let (_folder, bench) = signed_by_ada();
    time_authority(&bench);
    let policy = bench.read("trust.toml") + "timestamp = true\n";
    bench.write("trust.toml", policy);
    ok(bench.run(&[
        "trust",
        "add",
        "trust.toml",
        "--timestamp-roots",
        "tsa/ca.pem",
    ]));
    let (code, result) = verify_json(&bench, &["--trust", "trust.toml"]);
    assert_eq!(code, Some(1));
    assert!(
        result["trust"]["reason"]
            .as_str()
            .unwrap()
            .contains("no timestamp"),
        "{result}"
    );
    ok(bench.run(&[
        "sign",
        "out/r1",
        "--key",
        "ada",
        "--tsa-cmd",
        TimeAuthority::COMMAND,
    ]));
    let ran = bench.run(&["verify", "out/r1", "--trust", "trust.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("by CN=Test TSA"), "{}", ran.stdout);
    assert!(
        ran.stdout
            .contains("time: sealed 2023-11-14T22:13:20Z by the maker's clock"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("days before it was stamped"),
        "{}",
        ran.stdout
    );
}

#[test]
fn request_carried_over_an_air_gap_comes_back_as_a_token() {
    let (_folder, bench) = signed_by_ada();
    let authority = time_authority(&bench);
    fs::remove_file(bench.path("out/r1.intoto.jsonl")).unwrap();
    ok(bench.run(&[
        "sign",
        "out/r1",
        "--key",
        "ada",
        "--timestamp-request",
        "q.tsq",
    ]));
    authority.reply(&bench, "q.tsq", "r.tsr");
    ok(bench.run(&["sign", "out/r1", "--timestamp", "r.tsr"]));
    ok(bench.run(&[
        "trust",
        "add",
        "trust.toml",
        "--timestamp-roots",
        "tsa/ca.pem",
    ]));
    let (_, result) = verify_json(&bench, &["--trust", "trust.toml"]);
    assert_eq!(
        result["signatures"][0]["times"][0]["believed"], true,
        "{result}"
    );
    // Over other data: the token fits no other signature, and put there by hand is not believed.
    sealed_as(&bench, "r2");
    ok(bench.run(&["sign", "out/r2", "--key", "ada"]));
    let before = bench.read("out/r2.intoto.jsonl");
    let ran = bench.run(&["sign", "out/r2", "--timestamp", "r.tsr"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .starts_with("TIMESTAMP: the token is not over any of the signatures"),
        "{}",
        ran.stderr
    );
    assert_eq!(bench.read("out/r2.intoto.jsonl"), before);
    let stamped: Value =
        serde_json::from_str(bench.read("out/r1.intoto.jsonl").trim_end()).unwrap();
    let mut moved: Value = serde_json::from_str(before.trim_end()).unwrap();
    moved["signatures"][0]["timestamps"] = stamped["signatures"][0]["timestamps"].clone();
    bench.write("out/r2.intoto.jsonl", moved.to_string());
    let ran = bench.run(&["verify", "out/r2", "--trust", "trust.toml"]);
    assert!(
        ran.stdout
            .contains("not believed: the token is not over this signature"),
        "{}",
        ran.stdout
    );
}

#[test]
fn token_of_an_unknown_authority_or_for_another_purpose_is_not_believed() {
    let (_folder, bench) = signed_by_ada();
    time_authority(&bench);
    let stamp = |bench: &Bench| {
        let _ = fs::remove_file(bench.path("out/r1.intoto.jsonl"));
        ok(bench.run(&[
            "sign",
            "out/r1",
            "--key",
            "ada",
            "--tsa-cmd",
            TimeAuthority::COMMAND,
        ]));
    };
    stamp(&bench);
    let fault = |bench: &Bench, policy: &str| {
        let (_, result) = verify_json(bench, &["--trust", policy]);
        result["signatures"][0]["times"][0]["fault"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        fault(&bench, "trust.toml").contains("no root"),
        "{}",
        fault(&bench, "trust.toml")
    );
    // Another root of the same name.
    let honest = bench.read("trust.toml");
    let ca = fs::read(bench.path("tsa/ca.pem")).unwrap();
    let key = ["req", "-x509", "-newkey", "rsa:2048", "-nodes"];
    let files = ["-keyout", "k", "-out", "other-ca.pem"];
    let named = ["-subj", "/CN=Test TSA root", "-days", "3650", "-sha256"];
    openssl(&bench, &[&key[..], &files, &named].concat());
    ok(bench.run(&[
        "trust",
        "add",
        "trust.toml",
        "--timestamp-roots",
        "other-ca.pem",
    ]));
    assert!(fault(&bench, "trust.toml").contains("no root of the policy vouches for"));
    // The right root, and every byte of the token flipped: refused, or it says the same.
    bench.write("trust.toml", &honest);
    fs::write(bench.path("ca2.pem"), &ca).unwrap();
    ok(bench.run(&["trust", "add", "trust.toml", "--timestamp-roots", "ca2.pem"]));
    assert_eq!(fault(&bench, "trust.toml"), "");
    let line: Value = serde_json::from_str(bench.read("out/r1.intoto.jsonl").trim_end()).unwrap();
    let envelope = runseal_trust::dsse::Envelope::parse(line.to_string().as_bytes()).unwrap();
    let anchors =
        runseal_trust::timestamp::Anchors::parse(std::str::from_utf8(&ca).unwrap()).unwrap();
    let (sig, der) = (
        &envelope.signatures[0].sig,
        &envelope.signatures[0].timestamps[0],
    );
    let judge = |der: &[u8]| {
        let token = runseal_trust::timestamp::Token::parse(der).ok()?;
        let mut budget = runseal_trust::budget::Budget::of_unit();
        let authority = token.verify(sig, &anchors, &mut budget).ok()?;
        Some((authority, token.claimed_time()))
    };
    let honest = judge(der).unwrap();
    let mut unchanged = 0;
    for at in 0..der.len() {
        let mut flipped = der.clone();
        flipped[at] ^= 1;
        if let Some(found) = judge(&flipped) {
            assert_eq!(found, honest, "byte {at} of the token says something else");
            unchanged += 1;
        }
    }
    println!(
        "token: {} bytes, {unchanged} of them signed by nobody",
        der.len()
    );
    // A certificate for something else.
    let config = bench
        .read("tsa/tsa.cnf")
        .replace("tsa/tsa.pem", "tsa/other.pem");
    bench.write("tsa/tsa.cnf", config);
    let reply = Command::new("openssl")
        .args([
            "ts",
            "-reply",
            "-config",
            "tsa/tsa.cnf",
            "-queryfile",
            "tsa/q.tsq",
            "-out",
            "x.tsr",
        ])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    assert!(!reply.status.success() || judge(&fs::read(bench.path("x.tsr")).unwrap()).is_none());
}

#[test]
fn policy_changes_reach_an_old_verifier_through_the_chain() {
    let (_folder, bench) = signed_by_ada();
    keygen(&bench, "bob", "ecdsa-p256", "pem");
    let first = bench.read("trust.toml") + "\n[root]\nsigners = [\"ada\"]\nthreshold = 1\n";
    bench.write("trust.toml", &first);
    // The next version trusts bob and no longer ada.
    ok(bench.run(&["trust", "init", "next.toml"]));
    ok(bench.run(&[
        "trust",
        "add",
        "next.toml",
        "bob",
        "--key",
        "bob.pub",
        "--accept",
    ]));
    let next = bench
        .read("next.toml")
        .replace("version = 1\n", "version = 2\n")
        + "\n[root]\nsigners = [\"bob\"]\n";
    bench.write("next.toml", &next);
    let half = bench.run(&["trust", "rotate", "trust.toml", "next.toml", "--key", "ada"]);
    assert_eq!(half.code, Some(1), "{}{}", half.stdout, half.stderr);
    assert!(
        half.stdout.contains("\"complete\":false"),
        "{}",
        half.stdout
    );
    // Half signed is believed by nobody.
    let ran = bench.run(&["verify", "out/r1", "--trust", "trust.toml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("CHAIN: "), "{}", ran.stderr);
    ok(bench.run(&["trust", "rotate", "trust.toml", "next.toml", "--key", "bob"]));
    ok(bench.run(&["trust", "check", "trust.toml"]));
    let (code, result) = verify_json(&bench, &["--trust", "trust.toml"]);
    assert_eq!(
        (code, &result["signed"]),
        (Some(1), &"unknown-key".into()),
        "ada was rotated out"
    );
    assert_eq!(result["trust"]["policy"], "trust.toml version 2");
    ok(bench.run(&["sign", "out/r1", "--key", "bob"]));
    assert_eq!(verify_json(&bench, &["--trust", "trust.toml"]).0, Some(0));
}

#[test]
fn name_in_a_signature_cannot_write_to_the_terminal() {
    use runseal_trust::keys::PrivateKey;
    use runseal_trust::predicate::{Facts, RUN_PREDICATE, Signing, Verification, run_predicate};
    use runseal_trust::statement::{Statement, Target};
    let (_folder, bench) = signed_by_ada();
    let key = PrivateKey::parse(bench.read("ada").as_bytes(), None).unwrap();
    let sums = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
    let signing = Signing {
        name: Some("eve\u{1b}[2J\nok       trusted by everybody".to_owned()),
        meaning: Some("\u{1b}]0;x\u{7}".to_owned()),
        ..Signing::default()
    };
    let public = runseal_trust::keys::Signer::public_key(&key).clone();
    let statement = Statement {
        subjects: Target::of_file("r1", "SHA256SUMS.txt", sums).subjects(),
        predicate_type: RUN_PREDICATE.to_owned(),
        predicate: run_predicate(
            &Facts::default(),
            &Verification::default(),
            &signing,
            &public,
        ),
    };
    let payload = statement.to_bytes().unwrap();
    let envelope = runseal_trust::dsse::Envelope::sign(runseal_trust::dsse::IN_TOTO, payload, &key);
    bench.write("out/r1.intoto.jsonl", envelope.unwrap().to_line());
    for arguments in [
        ["verify", "out/r1"].as_slice(),
        &["inspect", "out/r1"],
        &["trust", "explain", "trust.toml", "out/r1"],
        &["verify", "out/r1", "--format", "junit"],
        &["verify", "out/r1", "--format", "json"],
    ] {
        let said = bench.run(arguments).stdout;
        assert!(
            !said.contains('\u{1b}') && !said.contains('\u{7}'),
            "{arguments:?}"
        );
        assert!(
            !said.contains("\nok       trusted"),
            "{arguments:?}: {said}"
        );
    }
}

fn refused(ran: &Ran, start: &str) {
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("\nhint: ") || ran.stderr.lines().count() == 1,
        "{}",
        ran.stderr
    );
}

#[test]
fn bad_input_is_reported_clearly_and_nothing_is_written() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "key", "ed25519", "pem");
    let sign = |more: &[&str]| {
        let mut arguments = vec!["sign", "out/r1"];
        arguments.extend(more);
        let ran = bench.run(&arguments);
        assert!(!bench.path("out/r1.intoto.jsonl").exists(), "{more:?}");
        ran
    };
    let rsa = Command::new("openssl")
        .args(["genrsa", "-out", "rsa.pem", "2048"])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    assert!(rsa.status.success());
    refused(&sign(&["--key", "rsa.pem"]), "KEY: the key is RSA");
    refused(&sign(&["--key", "none.pem"]), "NOT_FOUND: ");
    bench.write("empty", "");
    refused(&sign(&["--key", "empty"]), "KEY: not a private key");
    refused(
        &sign(&["--key", "key.pub"]),
        "AGENT: no SSH agent is running",
    );
    refused(
        &sign(&["--key", "cmd:false", "--public-key", "key.pub"]),
        "SIGN: the command failed",
    );
    refused(
        &sign(&["--key", "key", "--tsa-cmd", "echo no"]),
        "TIMESTAMP: ",
    );
    let usage = sign(&[]);
    assert_eq!(usage.code, Some(64), "{}", usage.stderr);
    // The clock.
    let mut early = bench.command(&["sign", "out/r1", "--key", "key"]);
    let early: Ran = early
        .env("SOURCE_DATE_EPOCH", "-1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    refused(&early, "CLOCK: the clock is set before 1970");
    // What does not verify.
    sealed_as(&bench, "r2");
    fs::remove_file(bench.path("out/r2/RUN_META.json")).unwrap();
    let invalid = bench.run(&["sign", "out/r2", "--key", "key"]);
    assert_eq!(invalid.code, Some(1), "{}", invalid.stderr);
    assert!(
        invalid.stderr.starts_with("INVALID: "),
        "{}",
        invalid.stderr
    );
    assert!(!bench.path("out/r2.intoto.jsonl").exists());
    ok(bench.run(&["sign", "out/r2", "--key", "key", "--even-if-invalid"]));
    // A key that others can read is used, with a warning.
    fs::set_permissions(bench.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
    let ran = bench.run(&["sign", "out/r1", "--key", "key"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr
            .starts_with("warning: others can read the key `key` (mode 644)"),
        "{}",
        ran.stderr
    );
}

#[test]
fn signature_files_beyond_the_bounds_are_broken_not_absent() {
    let (_folder, bench) = bench();
    sealed(&bench);
    let state = |bench: &Bench| verify_json(bench, &["--require-signed"]);
    let large = fs::File::create(bench.path("out/r1.intoto.jsonl")).unwrap();
    large.set_len(1 << 30).unwrap();
    let (code, result) = state(&bench);
    assert_eq!((code, &result["signed"]), (Some(1), &"broken".into()));
    let many = format!(
        r#"{{"payload":"","payloadType":"x","signatures":[{}]}}"#,
        vec![r#"{"sig":"AA=="}"#; 100_000].join(",")
    );
    bench.write("out/r1.intoto.jsonl", many);
    let (code, result) = state(&bench);
    assert_eq!((code, &result["signed"]), (Some(1), &"broken".into()));
    assert!(
        result["signatures"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("more than 64"),
        "{result}"
    );
    let lines = "{\"payload\":\"\",\"payloadType\":\"x\",\"signatures\":[]}\n".repeat(100_000);
    bench.write("out/r1.intoto.jsonl", lines);
    let (_, result) = state(&bench);
    assert_eq!(result["signed"], "broken");
    fs::write(bench.path("out/r1.intoto.jsonl"), [0xff, 0xfe]).unwrap();
    assert_eq!(state(&bench).1["signed"], "broken");
    bench.write("out/r1.intoto.jsonl", "{");
    assert_eq!(state(&bench).1["signed"], "broken");
    fs::remove_file(bench.path("out/r1.intoto.jsonl")).unwrap();
    fs::create_dir(bench.path("out/r1.intoto.jsonl")).unwrap();
    assert_eq!(state(&bench).1["signed"], "broken");
}

#[test]
fn policy_with_a_fault_is_refused_with_its_line() {
    let (_folder, bench) = signed_by_ada();
    let policy = bench.read("trust.toml");
    bench.write(
        "bad.toml",
        policy.replace("name = \"ada\"", "name = \"ada\"\ncolour = 1"),
    );
    let check = bench.run(&["trust", "check", "bad.toml"]);
    assert_eq!(check.code, Some(1));
    assert!(
        check.stderr.starts_with("POLICY: unknown field `colour`"),
        "{}",
        check.stderr
    );
    assert!(check.stderr.contains("bad.toml:"), "{}", check.stderr);
    let verify = bench.run(&["verify", "out/r1", "--trust", "bad.toml"]);
    assert_eq!((verify.code, verify.stdout.as_str()), (Some(2), ""));
    let before = bench.read("trust.toml");
    let twice = bench.run(&["trust", "add", "trust.toml", "eve", "--key", "ada.pub"]);
    refused(&twice, "POLICY: the key already belongs to `ada`");
    assert_eq!(bench.read("trust.toml"), before);
    refused(&bench.run(&["trust", "init", "trust.toml"]), "WRITE: ");
    assert_eq!(bench.run(&["trust", "check", "none.toml"]).code, Some(2));
}

#[test]
fn verify_of_a_signed_bundle_opens_no_socket() {
    if !need_program("strace") {
        return;
    }
    let (_folder, bench) = signed_by_ada();
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", "sigstore"]));
    let traced = Command::new("strace")
        .args([
            "-f",
            "-e",
            "trace=%network",
            "-o",
            "trace.txt",
            env!("CARGO_BIN_EXE_runseal"),
        ])
        .args(["verify", "out/r1", "--trust", "trust.toml"])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    if !traced.status.success() && !bench.path("trace.txt").exists() {
        skip_even_in_ci("strace may not trace here");
        return;
    }
    assert!(
        traced.status.success(),
        "{}",
        String::from_utf8_lossy(&traced.stdout)
    );
    let trace = bench.read("trace.txt");
    assert!(!trace.contains("socket("), "{trace}");
    assert!(trace.contains("exited with 0"), "{trace}");
}

#[test]
fn keys_made_are_readable_by_their_owner_alone_and_never_overwritten() {
    let (_folder, bench) = bench();
    bench.write("phrase", "correct horse\n");
    for (at, format) in ["pem", "openssh", "minisign", "hex", "raw"]
        .iter()
        .enumerate()
    {
        let name = format!("key{at}");
        ok(bench.run(&["keygen", "-o", &name, "--format", format]));
        let mode = fs::metadata(bench.path(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{format}");
        refused(&bench.run(&["keygen", "-o", &name]), "EXISTS: ");
    }
    let usage = bench.run(&[
        "keygen",
        "-o",
        "x",
        "--format",
        "raw",
        "--passphrase-file",
        "phrase",
    ]);
    assert_eq!(usage.code, Some(64));
    let usage = bench.run(&[
        "keygen",
        "-o",
        "x",
        "--format",
        "minisign",
        "--type",
        "ecdsa-p256",
    ]);
    assert_eq!(usage.code, Some(64));
    let asked = bench.run(&["keygen", "-o", "x", "--encrypt"]);
    refused(&asked, "PASSPHRASE: there is no terminal");
    assert!(!bench.path("x").exists());
}

#[test]
fn receipt_with_a_signature_of_its_own_is_not_shown_as_unsigned() {
    let (_folder, bench) = bench();
    let vectors = runseal_testkit::project_root().join("vectors/receipt");
    let vectors = vectors.canonicalize().unwrap();
    let list = |case: &str| {
        let receipt = fs::read_to_string(vectors.join(case).join("input.json")).unwrap();
        format!("[{}]", receipt.trim_end())
    };
    bench.write("signed-list.json", list("ok-signed"));
    bench.write(
        "broken-list.json",
        list("rc5-content-changed-after-signing"),
    );
    let vector = |case: &str| vectors.join(case).join("input.json");
    let broken = "rc5-content-changed-after-signing";
    for (path, word, answer) in [
        (vector("ok-signed"), "unknown-key", "By a key it carries"),
        (vector("ok-unsigned"), "unsigned", "Unsigned"),
        (vector(broken), "broken", "Broken"),
        (
            bench.path("signed-list.json"),
            "unknown-key",
            "By a key it carries",
        ),
        (bench.path("broken-list.json"), "broken", "Broken"),
    ] {
        let path = path.to_str().unwrap();
        let shown = ok(bench.run(&["inspect", path]));
        assert!(shown.contains(answer), "{path}: {shown}");
        let json = bench.run(&["verify", path, "--format", "json"]);
        let json: Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!(json["results"][0]["signed"], word, "{path}: {json}");
    }
    // It is not what --require-signed asks for, and that is said.
    let path = vector("ok-signed");
    let json = ["--require-signed", "--format", "json"];
    let refused = bench.run(&[&["verify", path.to_str().unwrap()], &json[..]].concat());
    assert_eq!(refused.code, Some(1));
    let said = "it only has one that is part of it";
    assert!(refused.stdout.contains(said), "{}", refused.stdout);
}

#[test]
fn signatures_of_a_unit_in_an_archive_are_found_in_it_and_beside_it() {
    let (_folder, bench) = signed_by_ada();
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--form", "ssh"]));
    let tar = |name: &str, what: &[&str]| {
        let mut tar = Command::new("tar");
        tar.args(["-cf", name]).args(what);
        assert!(tar.current_dir(bench.path("")).status().unwrap().success());
    };
    // Beside the archive: for all of it, and for what is named in it.
    tar("r1.tar", &["-C", "out", "r1"]);
    ok(bench.run(&["sign", "r1.tar", "--key", "ada"]));
    // In the archive, with and without something else that could be evidence.
    tar("both.tar", &["out/r1", "out/r1.intoto.jsonl"]);
    tar("plain.tar", &["out/r1", "out/r1.sig"]);
    for (path, printed) in [
        ("r1.tar!/r1", "r1.tar!/r1"),
        ("both.tar", "both.tar!/out/r1"),
        ("both.tar!/out/r1", "both.tar!/out/r1"),
        ("plain.tar", "plain.tar"),
        ("plain.tar!/out/r1", "plain.tar!/out/r1"),
    ] {
        for more in [&[][..], &["--trust", "trust.toml"]] {
            let arguments = [&["verify", path, "--format", "json"], more].concat();
            let answer: Value = serde_json::from_str(&ok(bench.run(&arguments))).unwrap();
            let result = &answer["results"][0];
            assert_eq!(result["path"], printed);
            assert_eq!(result["signed"], "signed", "{path}: {result}");
        }
        let shown = ok(bench.run(&["inspect", printed, "--trust", "trust.toml"]));
        assert!(shown.contains("✓ Trusted"), "{shown}");
    }
    // An archive that was changed is signed no more, by whichever name.
    fs::rename(
        bench.path("r1.tar.intoto.jsonl"),
        bench.path("other.tar.intoto.jsonl"),
    )
    .unwrap();
    bench.write("out/r1/RUN_OUTPUT.json", "{}");
    tar("other.tar", &["-C", "out", "r1"]);
    let ran = bench.run(&["verify", "other.tar!/r1", "--trust", "trust.toml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("NOT trusted"), "{}", ran.stdout);
}

#[test]
fn archive_of_a_bundle_and_its_signature_is_that_bundle_for_every_command() {
    let (_folder, bench) = signed_by_ada();
    let tar = |name: &str, what: &[&str]| {
        let mut tar = Command::new("tar");
        tar.args(["-czf", name]).args(what);
        assert!(tar.current_dir(bench.path("")).status().unwrap().success());
    };
    tar("one.tgz", &["-C", "out", "r1", "r1.intoto.jsonl"]);
    let trusted = ["--trust", "trust.toml"];
    let shown = ok(bench.run(&[&["inspect", "one.tgz"][..], &trusted].concat()));
    assert!(shown.contains("✓ Trusted"), "{shown}");
    ok(bench.run(&[&["report", "one.tgz", "-o", "one.html"][..], &trusted].concat()));
    let verdict = "id=\"verdict\">A run bundle: intact, signed, trusted.";
    assert!(bench.read("one.html").contains(verdict));
    ok(bench.run(&["diff", "one.tgz", "out/r1"]));
    ok(bench.run(&["export", "slsa", "one.tgz"]));
    ok(bench.run(&["sign", "one.tgz", "--key", "ada"]));
    let both = ok(bench.run(&["inspect", "one.tgz", "--format", "json"]));
    let both: Value = serde_json::from_str(&both).unwrap();
    assert_eq!(both["signatures"].as_array().unwrap().len(), 2, "{both}");
    // Packs, and documents.
    let pack = runseal_testkit::project_root().join("vectors/pack/ok-executed/input");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(pack)
        .arg(bench.path("pack"))
        .status();
    assert!(copied.unwrap().success());
    ok(bench.run(&["sign", "pack", "--key", "ada"]));
    tar("pack.tgz", &["pack", "pack.intoto.jsonl"]);
    ok(bench.run(&["pack", "verify", "pack.tgz"]));
    let intent = runseal_testkit::project_root().join("examples/intents/clear.json");
    ok(bench.run(&["transform", intent.to_str().unwrap(), "-o", "b.json"]));
    ok(bench.run(&["sign", "b.json", "--key", "ada"]));
    tar("b.tgz", &["b.json", "b.json.intoto.jsonl"]);
    for archive in ["pack.tgz", "b.tgz"] {
        let shown = ok(bench.run(&[&["inspect", archive][..], &trusted].concat()));
        assert!(shown.contains("✓ Trusted"), "{archive}: {shown}");
    }
}

#[test]
fn folder_around_a_signed_bundle_is_shown_as_signed_and_not_signed_itself() {
    let (_folder, bench) = signed_by_ada();
    let shown = ok(bench.run(&["inspect", "out", "--trust", "trust.toml"]));
    assert!(shown.starts_with("out/r1"), "{shown}");
    assert!(shown.contains("✓ Trusted"), "{shown}");
    let told = ok(bench.run(&["trust", "explain", "trust.toml", "out"]));
    assert!(told.starts_with("out/r1: "), "{told}");
    for arguments in [
        &["sign", "out", "--key", "ada"][..],
        &["export", "slsa", "out"],
        &["export", "ro-crate", "out", "-o", "crate"],
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        refused(&ran, "NOT_ITSELF: this is a folder around `out/r1`");
    }
    assert!(!bench.path("out.intoto.jsonl").exists());
}

#[test]
fn site_index_tells_a_name_that_only_the_signer_gives_from_a_known_one() {
    let (_folder, bench) = signed_by_ada();
    sealed_as(&bench, "r2");
    keygen(&bench, "mallory", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r2", "--key", "mallory", "--as", "Ada L."]));
    ok(bench.run(&["report", "-r", "out", "-o", "site"]));
    let index = bench.read("site/index.html");
    let signers: Vec<_> = index
        .split("data-signer=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(signers.len(), 2);
    assert_ne!(signers[0], signers[1], "two keys are two signers");
    for signer in &signers {
        assert!(
            signer.starts_with("Ada L. (by their own word), key "),
            "{signer}"
        );
    }
    ok(bench.run(&[
        "report",
        "-r",
        "out",
        "-o",
        "known",
        "--trust",
        "trust.toml",
    ]));
    let index = bench.read("known/index.html");
    assert!(index.contains("data-signer=\"ada\""), "{index}");
}

#[test]
fn sign_refuses_what_the_signature_would_not_say() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "ada", "ed25519", "pem");
    for (options, told) in [
        (&["--form", "ssh", "--as", "Ada"][..], "what --as gives"),
        (
            &["--form", "ssh", "--meaning", "approver"],
            "what --meaning gives",
        ),
        (&["--form", "ssh", "--predicate", "slsa"], "no predicate"),
        (
            &["--form", "minisign", "--predicate", "slsa"],
            "no predicate",
        ),
        (&["--predicate", "slsa", "--as", "Ada"], "what --as gives"),
        (
            &[
                "--predicate",
                "agent-action",
                "--duration-ms",
                "1",
                "--meaning",
                "x",
            ],
            "what --meaning gives",
        ),
        (&["--duration-ms", "5"], "--duration-ms goes with"),
        (
            &["--timestamp-request", "-"],
            "--timestamp-request names a file",
        ),
    ] {
        let ran = bench.run(&[&["sign", "out/r1", "--key", "ada"][..], options].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(64), ""),
            "{options:?}"
        );
        assert!(ran.stderr.contains(told), "{options:?}: {}", ran.stderr);
    }
    for name in ["out/r1.sig", "out/r1.minisig", "out/r1.intoto.jsonl", "-"] {
        assert!(!bench.path(name).exists(), "{name}");
    }
    let comment = ["--form", "minisign", "--as", "Ada", "--meaning", "author"];
    ok(bench.run(&[&["sign", "out/r1", "--key", "ada"][..], &comment[..]].concat()));
    let signature = bench.read("out/r1.minisig");
    assert!(signature.contains("by Ada as author"), "{signature}");
}
