//! What goes with a withheld value, what a copy says of it, and what may not go at all.

use std::fs;
use std::process::Stdio;

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::skip::need_isolation;

use crate::redaction_support::{INPUT, OUTPUT, handed_over, pack, redact, seal};
use crate::signing_support::{bench, keygen, ok, trust_ada};

/// Records a command as `out/r1`, redactable, in the folder `work`; whether commands can be isolated.
fn record(bench: &Bench, code: i32, arguments: &[&str]) -> bool {
    if !need_isolation() {
        return false;
    }
    let options = [
        "record",
        "--redactable",
        "--out",
        "../out",
        "--run-id",
        "r1",
    ];
    let mut command = bench.command(&[&options[..], arguments].concat());
    command.current_dir(bench.path("work")).stdin(Stdio::null());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    true
}

#[test]
fn copy_of_a_failed_run_says_that_it_failed() {
    let (_folder, bench) = bench();
    bench.write("work/a.txt", "a");
    if !record(
        &bench,
        1,
        &[
            "--keep-failed",
            "--",
            "sh",
            "-c",
            "echo PIN4711 >&2; exit 3",
        ],
    ) {
        return;
    }
    for place in ["exit_status", "failed", "signal"] {
        let place = format!("RUN_OUTPUT.json#/{place}");
        let ran = redact(&bench, "r1", &[&place], "copy");
        assert!(ran.stderr.starts_with("STAYS: "), "{}", ran.stderr);
    }
    ok(redact(&bench, "r1", &["logs/stderr.txt"], "copy"));
    let said = bench.run(&["verify", "copy", "--format", "json"]);
    assert!(
        said.stdout.contains(r#""failed; redacted "#),
        "{}",
        said.stdout
    );
    let said = bench.run(&["verify", "copy"]);
    assert!(said.stdout.contains("failed; redacted "), "{}", said.stdout);
}

#[test]
fn what_a_command_was_given_is_withheld_wherever_it_was_written() {
    let (_folder, bench) = bench();
    bench.write("work/a.txt", "a");
    let command = [
        "--param",
        "pin=PIN4711",
        "--",
        "sh",
        "-c",
        "true",
        "ARG4711",
    ];
    if !record(&bench, 0, &command) {
        return;
    }
    let said = ok(redact(
        &bench,
        "r1",
        &["RUN_INPUT.json#/parameters/*"],
        "copy",
    ));
    for place in [
        "RUN_INPUT.json#/environment/RUNSEAL_PARAM_pin",
        "RUN_ENVIRONMENT.json#/variables/RUNSEAL_PARAM_pin",
    ] {
        assert!(said.contains(place), "{said}");
    }
    assert!(!handed_over(&bench, "copy").contains("PIN4711"));
    ok(redact(&bench, "r1", &["RUN_INPUT.json#/argv"], "other"));
    assert!(!handed_over(&bench, "other").contains("ARG4711"));
    ok(bench.run(&["verify", "other", "--strict"]));
    // And from the other side.
    ok(redact(
        &bench,
        "r1",
        &["ENGINE_MANIFEST.json#/execution"],
        "third",
    ));
    assert!(!handed_over(&bench, "third").contains("ARG4711"));
}

#[test]
fn size_goes_with_its_digest() {
    let (_folder, bench) = bench();
    bench.write("work/flag.json", r#"{"flag":false}"#);
    if record(&bench, 0, &["--", "cat", "flag.json"]) {
        let drops = [
            "inputs/flag.json#/flag",
            "logs/stdout.txt",
            "engine/flag.json#/flag",
        ];
        let drops: Vec<_> = drops
            .into_iter()
            .filter(|drop| {
                bench
                    .path(&format!("out/r1/{}", drop.split('#').next().unwrap()))
                    .exists()
            })
            .collect();
        ok(redact(&bench, "r1", &drops, "copy"));
        let text = handed_over(&bench, "copy");
        assert!(!text.contains(r#""bytes":14,"#), "{text}");
    }
    if pack(&bench, &[]) {
        let match_pin = ["redact", "pack", "--match", "PIN4711", "-o", "shared"];
        ok(bench.run(&match_pin));
        let text = handed_over(&bench, "shared");
        for size in [
            r#""size_bytes":7,"target":"hello.txt"#,
            r#""total_bytes":3"#,
            r#""total_output_bytes":3"#,
        ] {
            assert!(!text.contains(size), "{size}: {text}");
        }
    }
}

#[test]
fn shown_places_that_hold_a_withheld_text_are_reported() {
    let (_folder, bench) = bench();
    let artifacts = [("log.txt", "so Mallory said\n"), ("b.txt", "nothing")];
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    let ran = redact(&bench, "r1", &["RUN_INPUT.json#/context/name"], "copy");
    for place in ["RUN_OUTPUT.json#/outputs/answer", "artifacts/log.txt"] {
        let warning = format!("warning: `{place}` is shown, but contains a text");
        assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    }
    assert_eq!(
        ran.stderr.matches("contains a text").count(),
        2,
        "{}",
        ran.stderr
    );
    ok(ran);
    // Nothing is said if nothing is shown.
    let ran = bench.run(&["redact", "out/r1", "--match", "Mallory", "-o", "other"]);
    assert!(!ran.stderr.contains("contains a text"), "{}", ran.stderr);
    ok(ran);
}

#[test]
fn withheld_text_is_found_in_other_spellings_or_could_not_be_searched() {
    let (_folder, bench) = bench();
    // `Mallory` in base64, hex, percent and JSON escapes, over two lines, streamed; and packed.
    let artifacts = [
        ("a64.txt", "token: TWFsbG9yeSB3YXMgaGVyZQ=="),
        ("hex.txt", "4d616c6c6f7279"),
        ("url.txt", "https://example.com/?n=%4dallory"),
        ("esc.txt", r#"{"n":"\u004dallory"}"#),
        ("lines.txt", "Mall\nory"),
        (
            "sse.txt",
            "data: {\"t\":\"Mal\"}\n\ndata: {\"t\":\"lory\"}\n\n",
        ),
        ("none.txt", "nobody"),
        ("x.zip", "PK\u{3}\u{4}rest"),
    ];
    let output = OUTPUT.replace("the name is Mallory", "nobody");
    seal(&bench, "r1", INPUT, &output, &artifacts);
    let ran = redact(&bench, "r1", &["RUN_INPUT.json#/context/name"], "copy");
    for (name, _) in &artifacts[..6] {
        let warning = format!("warning: `artifacts/{name}` is shown, but contains a text");
        assert!(ran.stderr.contains(&warning), "{name}: {}", ran.stderr);
    }
    let warning = "warning: `artifacts/x.zip` is shown and could not be searched";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert!(!ran.stderr.contains("none.txt"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Mallory"), "{}", ran.stderr);
    ok(ran);
    let said = ok(bench.run(&["redact", "out/r1", "--match", "Mallory", "-o", "other"]));
    for (name, _) in &artifacts[..6] {
        assert!(said.contains(&format!("artifacts/{name}")), "{said}");
        assert!(!bench.path(&format!("other/artifacts/{name}")).exists());
    }
    assert!(bench.path("other/artifacts/none.txt").exists());
    ok(bench.run(&["verify", "other", "--strict"]));
}

#[test]
fn signature_that_holds_a_withheld_text_is_left_behind() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[]);
    keygen(&bench, "ada", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    let beside = bench.path("out/r1.intoto.jsonl");
    let good = fs::read_to_string(&beside).unwrap();
    // A note beside the signature, and a payload that says the name.
    let noted = good.replacen('{', r#"{"note":"Mallory","#, 1);
    let statement = r#"{"_type":"x","predicate":{"who":"Mallory"}}"#;
    let payload = runseal_trust::encoding::encode_base64(statement.as_bytes());
    let other = format!(
        r#"{{"payload":"{payload}","payloadType":"application/vnd.in-toto+json","signatures":[{{"sig":"AAAA"}}]}}"#
    );
    fs::write(&beside, format!("{noted}{other}\n{good}")).unwrap();
    let ran = redact(&bench, "r1", &["RUN_INPUT.json#/context/name"], "copy");
    assert_eq!(
        ran.stderr.matches("it was left behind").count(),
        2,
        "{}",
        ran.stderr
    );
    ok(ran);
    let kept = fs::read_to_string(bench.path("copy.intoto.jsonl")).unwrap();
    assert_eq!(kept, good);
}

#[test]
fn short_value_that_is_written_again_is_reported() {
    let (_folder, bench) = bench();
    let input = r#"{"context":{"consent":"No","pin":4711},"prompt":"x"}"#;
    let output = OUTPUT.replace("the name is Mallory", "No");
    let artifacts = [
        ("a.txt", "No\n"),
        ("b.txt", "Norway"),
        ("c.txt", "pin=4711"),
    ];
    seal(&bench, "r1", input, &output, &artifacts);
    let drops = ["RUN_INPUT.json#/context/*"];
    let ran = redact(&bench, "r1", &drops, "copy");
    for place in [
        "RUN_OUTPUT.json#/outputs/answer",
        "artifacts/a.txt",
        "artifacts/c.txt",
    ] {
        let warning = format!("warning: `{place}` is shown, but contains a text");
        assert!(ran.stderr.contains(&warning), "{place}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("b.txt"), "{}", ran.stderr);
    ok(ran);
}

#[test]
fn list_of_what_is_withheld_is_signed_with_the_copy() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[]);
    keygen(&bench, "ada", "ed25519", "pem");
    trust_ada(&bench, "ada.pub");
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    ok(redact(
        &bench,
        "r1",
        &["RUN_INPUT.json#/context/name"],
        "copy",
    ));
    let unsigned = "the list of what is withheld is not signed";
    let trusted = ["verify", "copy", "--trust", "trust.toml"];
    let said = ok(bench.run(&trusted));
    assert!(said.contains(unsigned), "{said}");
    let path = bench.path("copy/REDACTED.json");
    let list = fs::read_to_string(&path).unwrap();
    let mut rights = fs::metadata(&path).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "a file of a test")]
    rights.set_readonly(false);
    fs::set_permissions(&path, rights).unwrap();
    let changed = list.replace("\"personal\"", "\"agreed with the maker\"");
    // The bundle's signer said nothing of it.
    fs::write(&path, &changed).unwrap();
    assert!(ok(bench.run(&trusted)).contains(unsigned));
    fs::write(&path, &list).unwrap();
    fs::remove_file(bench.path("copy.intoto.jsonl")).unwrap();
    ok(bench.run(&["sign", "copy", "--key", "ada"]));
    let said = ok(bench.run(&trusted));
    assert!(
        !said.contains(unsigned) && said.contains("over REDACTION.json, REDACTED.json"),
        "{said}"
    );
    fs::write(&path, &changed).unwrap();
    let ran = bench.run(&trusted);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("NOT trusted"), "{}", ran.stdout);
    fs::write(&path, &list).unwrap();
    // A copy with more in it has another list.
    ok(bench.run(&[
        "redact",
        "out/r1",
        "--disclose",
        "RUN_INPUT.json#/context/name",
        "-o",
        "name.json",
    ]));
    let ran = bench.run(&["unredact", "copy", "--with", "name.json", "-o", "more"]);
    assert!(ran.stderr.contains("it was left behind"), "{}", ran.stderr);
    ok(ran);
    assert!(!bench.path("more.intoto.jsonl").exists());
}
