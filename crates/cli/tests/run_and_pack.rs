//! `run`, `proposal` and `pack` as a user meets them.
//!
//! Where this machine offers no isolation the tests that execute say `SKIPPED:`, unless CI=true.

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use runseal_testkit::skip::{need_isolation, need_program};

const CLEAR: &str = "examples/intents/clear.json";

struct Place {
    _folder: tempfile::TempDir,
    bench: Bench,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    Place {
        _folder: folder,
        bench,
    }
}

/// A place to run in, where this machine can isolate what runs.
fn isolated() -> Option<Place> {
    need_isolation().then(place)
}

/// The clear example with work added.
fn intent_with(extras: &str) -> String {
    let bytes = std::fs::read(project_root().join(CLEAR)).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    let mut intent = document.root().to_value();
    let extras = parse_document(extras.as_bytes(), &ReadOptions::default()).unwrap();
    intent.insert(
        "context",
        Value::object([("proposal", extras.root().to_value())]),
    );
    String::from_utf8(canonical_bytes(&intent, Dialect::Kernel).unwrap()).unwrap()
}

fn member(json: &str, path: &[&str]) -> String {
    let document = parse_document(json.as_bytes(), &ReadOptions::default()).unwrap();
    let mut at = document.root();
    for name in path {
        at = match name.parse::<usize>() {
            Ok(index) => at.items().nth(index).unwrap(),
            Err(_) => at.get(name).unwrap(),
        };
    }
    String::from_utf8(canonical_bytes(at, Dialect::Kernel).unwrap()).unwrap()
}

const DEV: [&str; 4] = ["--mode", "execute-sandbox", "--policy", "dev"];

fn run_dev(bench: &Bench, extras: &str, more: &[&str]) -> Ran {
    bench.write("intent.json", intent_with(extras));
    let mut arguments = vec!["run", "intent.json"];
    arguments.extend(DEV);
    arguments.extend(more);
    bench.run(&arguments)
}

/// The pack holds under every rule.
fn assert_strict(bench: &Bench, pack: &str) {
    let verified = bench.run(&["pack", "verify", pack, "--strict"]);
    let said = format!("{pack}: {}{}", verified.stdout, verified.stderr);
    assert_eq!(verified.code, Some(0), "{said}");
}

/// Puts the clear example where the commands find it.
fn write_clear(bench: &Bench) {
    let clear = std::fs::read(project_root().join(CLEAR)).unwrap();
    bench.write("intent.json", clear);
}

#[test]
fn run_of_the_example_gives_a_pack_that_passes_strict() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    write_clear(&bench);
    let arguments = [
        "run",
        "intent.json",
        "--mode",
        "execute-sandbox",
        "--pack",
        "out/p",
    ];
    let ran = bench.run(&arguments);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(bench.read("out/p/run.json"), ran.stdout);
    assert_strict(&bench, "out/p");
    for (verb, file) in [
        ("patch", "patch"),
        ("evidence", "evidence"),
        ("runner", "runner"),
        ("bundle", "bundle"),
    ] {
        let file = format!("out/p/{file}.json");
        assert_eq!(
            bench.run(&[verb, "verify", &file, "--strict"]).code,
            Some(0),
            "{file}"
        );
    }
    assert_eq!(
        bench.run(&["ledger", "verify", "out/p/ledger.jsonl"]).code,
        Some(0)
    );
}

#[test]
fn run_that_only_writes_the_bundle_down_is_for_review() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    let decide = |extras: &str, more: &[&str]| {
        let ran = run_dev(&bench, extras, more);
        let accepted = member(&ran.stdout, &["decision", "accepted"]) == "true";
        assert_eq!(ran.code, Some(i32::from(!accepted)), "{}", ran.stderr);
        (accepted, member(&ran.stdout, &["decision", "reasons"]))
    };
    let (accepted, reasons) = decide("{}", &[]);
    assert!(!accepted);
    assert!(
        reasons.contains("\"review: nothing was required but"),
        "{reasons}"
    );
    let (_, outputs) = decide("{}", &["--pack", "p"]);
    assert_eq!(outputs, reasons);
    let path = member(&bench.read("p/bundle.json"), &["outputs", "0", "path"]);

    // Looking at the text once more is not the goal's outcome either; nor does approving make it so.
    let validated = format!(r#"{{"commands":[{{"command":{path},"type":"validate"}}]}}"#);
    let looked_at = format!(r#"{{"tests":[{{"type":"file_exists","target":{path}}}]}}"#);
    let optional = r#"{"commands":[{"command":"true","required":false}]}"#;
    for extras in [validated.as_str(), looked_at.as_str(), optional] {
        assert_eq!(
            decide(extras, &["--approve"]),
            (false, reasons.clone()),
            "{extras}"
        );
    }

    let made = r#"{"commands":["echo made > made.txt"]}"#;
    let tested = r#"{"tests":[{"type":"command_success","target":"true"}]}"#;
    for extras in [made, tested] {
        assert!(decide(extras, &[]).0, "{extras}");
    }
}

#[test]
fn run_with_fixed_time_and_id_gives_the_same_bytes() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    let extras = r#"{"commands":["echo made > made.txt; echo said"]}"#;
    bench.write("intent.json", intent_with(extras));
    for pack in ["a", "b"] {
        let ran = bench
            .command(&["run", "intent.json", "--run-id", "r1", "--pack", pack])
            .args(DEV)
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    for file in std::fs::read_dir(bench.path("a")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert_eq!(
            bench.read(&format!("a/{name}")),
            bench.read(&format!("b/{name}")),
            "{name}"
        );
    }
}

#[test]
fn proposal_with_all_kinds_of_work_runs_and_its_evidence_is_complete() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    let extras = r#"{
        "files":[{"path":"in.txt","content":"b\na\n"},{"path":"sorted.txt","content":"x","op":"modify"},
                 {"path":"scratch.txt","op":"delete"}],
        "commands":["sort in.txt > sorted.txt; touch scratch.txt; echo '{}' > r.json",
                    {"command":"json:r.json","type":"validate"},
                    {"command":"absent:scratch.txt","type":"validate"}],
        "tests":[{"type":"file_exists","target":"r.json"},
                 {"type":"command_success","target":"test -f r.json"},
                 {"type":"content_match","target":"sorted.txt","expected":"x"},
                 {"type":"file_exists","target":"scratch.txt","expected":"false"}]}"#;
    let ran = run_dev(&bench, extras, &["--pack", "p"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let evidence = bench.read("p/evidence.json");
    assert_eq!(member(&evidence, &["status"]), "\"complete\"");
    assert_strict(&bench, "p");
}

#[test]
fn proposal_made_elsewhere_runs_after_it_is_verified() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    write_clear(&bench);
    assert_eq!(
        bench
            .run(&["transform", "intent.json", "-o", "bundle.json"])
            .code,
        Some(0)
    );
    let made = bench.run(&["proposal", "generate", "bundle.json", "-o", "proposal.json"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let verify = [
        "proposal",
        "verify",
        "proposal.json",
        "--bundle",
        "bundle.json",
        "--strict",
    ];
    assert_eq!(bench.run(&verify).code, Some(0));
    let run = [
        "run",
        "intent.json",
        "--mode",
        "execute-sandbox",
        "--proposal",
        "proposal.json",
    ];
    assert_eq!(bench.run(&run).code, Some(1), "it only restates the bundle");

    // Another bundle's proposal, and one that leaves its folder, are refused with their place.
    let good = bench.read("proposal.json");
    let hash = member(&good, &["source_bundle_hash"]);
    let other = format!("\"sha256:{}\"", "0".repeat(64));
    bench.write("proposal.json", good.replace(&hash, &other));
    let ran = bench.run(&run);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("RUN_E003: PR2"), "{}", ran.stderr);
    let target = member(&good, &["actions", "0", "target"]);
    bench.write("proposal.json", good.replace(&target, "\"../escaped.md\""));
    let ran = bench.run(&run);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("RUN_E003: action "),
        "{}",
        ran.stderr
    );
}

#[test]
fn failing_command_gives_a_rejected_run_with_the_reason() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    let ran = run_dev(
        &bench,
        r#"{"commands":["echo no >&2; exit 3","true"]}"#,
        &["--pack", "p"],
    );
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(member(&ran.stdout, &["decision", "accepted"]), "false");
    assert_eq!(member(&ran.stdout, &["execution", "exit_code"]), "3");
    let reasons = member(&ran.stdout, &["decision", "reasons"]);
    assert!(reasons.contains("with exit code 3"), "{reasons}");
    let evidence = bench.read("p/evidence.json");
    assert_eq!(member(&evidence, &["status"]), "\"partial\"");
    assert_eq!(
        member(&evidence, &["action_results", "2", "status"]),
        "\"skipped\""
    );
    assert_strict(&bench, "p");
}

#[test]
fn policy_is_enforced_and_its_violation_is_in_the_evidence() {
    let Some(Place { _folder, bench }) = isolated() else {
        return;
    };
    let cases = [
        (
            "default",
            r#"{"commands":["sh -c true"]}"#,
            "allowed_commands",
        ),
        ("strict", r#"{"commands":["npx x"]}"#, "allowed_commands"),
        (
            "default",
            r#"{"commands":["node a.js; sh"]}"#,
            "needs a shell",
        ),
        (
            "dev",
            r#"{"commands":["ln -s /etc/passwd link"]}"#,
            "not a file with a safe name",
        ),
        (
            "dev",
            r#"{"commands":["mkfifo pipe"]}"#,
            "not a file with a safe name",
        ),
        (
            "dev",
            r#"{"commands":["i=0; while [ $i -lt 1001 ]; do : > f$i; i=$((i+1)); done"]}"#,
            "max_output_files",
        ),
        (
            "dev",
            r#"{"commands":["head -c 104857601 /dev/zero > big"]}"#,
            "max_total_output_bytes",
        ),
    ];
    for (number, (policy, extras, expected)) in cases.into_iter().enumerate() {
        bench.write("intent.json", intent_with(extras));
        let pack = format!("p{number}");
        let mode = [
            "--mode",
            "execute-sandbox",
            "--policy",
            policy,
            "--pack",
            &pack,
        ];
        let mut arguments = vec!["run", "intent.json"];
        arguments.extend(mode);
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(1), "{extras} {}", ran.stderr);
        let evidence = bench.read(&format!("{pack}/evidence.json"));
        let error = member(&evidence, &["action_results", "1", "error"]);
        assert!(error.starts_with("\"POLICY_VIOLATION: PL6: "), "{error}");
        assert!(error.contains(expected), "{error}");
        assert_strict(&bench, &pack);
    }
}

#[test]
fn write_outside_the_write_roots_fails_the_action() {
    if !need_isolation() || !need_program("/usr/bin/node") {
        return;
    }
    let Place { _folder, bench } = place();
    let script = "node -e 'fs.writeFileSync(\\\"../stray\\\", \\\"\\\")'";
    let extras = format!(r#"{{"commands":["{script}"]}}"#);
    bench.write("intent.json", intent_with(&extras));
    let ran = bench.run(&["run", "intent.json", "--mode", "execute-sandbox"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let reasons = member(&ran.stdout, &["decision", "reasons"]);
    assert!(
        reasons.contains("`stray` is outside allowed_write_roots"),
        "{reasons}"
    );
}

#[test]
fn models_are_recorded_and_replayed_under_dev_only() {
    if !need_isolation() || !need_program("/usr/bin/curl") {
        return;
    }
    let Place { _folder, bench } = place();
    let ask = |prompt: &str| {
        let call = "curl -s --fail-with-body --unix-socket $RUNSEAL_MODEL_IO http://model/";
        format!(r#"{{"commands":["{call} -d '{{\"prompt\":\"{prompt}\"}}' > said.json"]}}"#)
    };
    let record = [
        "--model-mode",
        "record",
        "--model-io",
        "m.json",
        "--model-cmd",
        "tr a-z A-Z",
    ];
    let mut with_pack = record.to_vec();
    with_pack.extend(["--pack", "p"]);
    let ran = run_dev(&bench, &ask("hello"), &with_pack);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(member(&ran.stdout, &["model_mode"]), "\"record\"");
    assert_eq!(bench.read("p/model_io.json"), bench.read("m.json"));
    let said = member(
        &bench.read("m.json"),
        &["interactions", "0", "response_content"],
    );
    assert_eq!(said, "\"HELLO\"");
    assert_eq!(bench.run(&["model-io", "verify", "m.json"]).code, Some(0));
    assert_strict(&bench, "p");

    let replay = ["--model-mode", "replay", "--model-io", "m.json"];
    assert_eq!(run_dev(&bench, &ask("hello"), &replay).code, Some(0));
    let missed = run_dev(&bench, &ask("other"), &replay);
    assert_eq!(missed.code, Some(1));
    let reasons = member(&missed.stdout, &["decision", "reasons"]);
    assert!(reasons.contains("MODEL_IO_MISS"), "{reasons}");
    assert!(
        reasons.contains("the nearest recorded one is interaction 0"),
        "{reasons}"
    );

    bench.write("intent.json", intent_with(&ask("hello")));
    let mut forbidden = vec!["run", "intent.json"];
    forbidden.extend(replay);
    let ran = bench.run(&forbidden);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("RUN_E004: POLICY_VIOLATION: PL4:"),
        "{}",
        ran.stderr
    );
    let ran = bench.run(&[
        "run",
        "intent.json",
        "--policy",
        "dev",
        "--model-mode",
        "replay",
    ]);
    assert!(
        ran.stderr.starts_with("RUN_E004: POLICY_VIOLATION: PL5:"),
        "{}",
        ran.stderr
    );
}

#[test]
fn run_without_isolation_is_recorded_as_such() {
    let Place { _folder, bench } = place();
    let ran = run_dev(
        &bench,
        r#"{"commands":["echo made > made.txt"]}"#,
        &["--sandbox", "none", "--pack", "p"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let runner = bench.read("p/runner.json");
    assert_eq!(member(&runner, &["sandbox", "isolation_level"]), "\"none\"");
    assert_eq!(member(&runner, &["sandbox", "network_blocked"]), "false");
    assert_strict(&bench, "p");
}

#[test]
fn outcomes_without_execution_give_packs_too() {
    let Place { _folder, bench } = place();
    let intents = [
        (r#"{"goal":""}"#, "REFUSE", 1),
        (
            r#"{"goal":"Do the [TBD] thing","constraints":[]}"#,
            "CLARIFY",
            1,
        ),
    ];
    for (number, (intent, kind, code)) in intents.into_iter().enumerate() {
        bench.write("intent.json", intent);
        let pack = format!("p{number}");
        let ran = bench.run(&["run", "intent.json", "--pack", &pack, "--ledger", "l.jsonl"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(
            member(&ran.stdout, &["kernel_result_kind"]),
            format!("\"{kind}\"")
        );
        let verified = bench.run(&["pack", "verify", &pack, "--strict"]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    }
    assert_eq!(bench.run(&["ledger", "verify", "l.jsonl"]).code, Some(0));
    assert_eq!(bench.read("l.jsonl").lines().count(), 2);
}

#[test]
fn harness_errors_have_their_codes() {
    let Place { _folder, bench } = place();
    let run = |arguments: &[&str], code: &str| {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.starts_with(code), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    };
    run(&["run", "missing.json"], "RUN_E001: ");
    bench.write("broken.json", "{");
    run(&["run", "broken.json"], "RUN_E002: ");
    bench.write(
        "intent.json",
        intent_with(r#"{"files":[{"path":"../x","content":""}]}"#),
    );
    // A plan that leaves its folder is refused, which is a result and not an error.
    for mode in ["plan-only", "execute-sandbox"] {
        let ran = bench.run(&["run", "intent.json", "--mode", mode]);
        assert_eq!(ran.code, Some(1), "{mode}: {}", ran.stderr);
        assert!(
            ran.stdout.contains("INVALID_PATH"),
            "{mode}: {}",
            ran.stdout
        );
    }
    bench.write("full/file", "x");
    bench.write("intent.json", intent_with("{}"));
    run(&["run", "intent.json", "--pack", "full"], "RUN_E007: ");
    assert_eq!(bench.read("full/file"), "x");
}

#[test]
fn pack_that_cannot_be_read_is_exit_two_with_the_verdict() {
    let Place { _folder, bench } = place();
    bench.write("file", "{}");
    std::os::unix::fs::symlink("file", bench.path("link")).unwrap();
    for name in ["missing", "file", "link"] {
        let ran = bench.run(&["pack", "verify", name]);
        assert_eq!(ran.code, Some(2), "{name}");
        assert_eq!(member(&ran.stdout, &["ok"]), "false");
        assert_eq!(
            member(&ran.stdout, &["violations", "0", "rule_id"]),
            "\"IO\""
        );
        assert_eq!(
            member(&ran.stdout, &["violations", "0", "path"]),
            format!("\"{name}\"")
        );
    }
    assert_eq!(bench.run(&["pack", "verify"]).code, Some(3));
    assert_eq!(bench.run(&["pack", "verify", "a", "b"]).code, Some(3));
}

#[test]
fn run_refuses_options_that_would_change_nothing() {
    let Place { _folder, bench } = place();
    bench.write("intent.json", intent_with("{}"));
    let recording = ["--model-mode", "replay", "--model-io", "nope"];
    let execute = ["--mode", "execute-sandbox"];
    for (options, told) in [
        (&["--proposal", "nope"][..], "--proposal has no use"),
        (&["--approve"], "--approve has no use"),
        (&["--model-io", "nope"], "--model-io goes with --model-mode"),
        (
            &[&execute[..], &["--model-io", "nope"]].concat(),
            "--model-io goes with --model-mode",
        ),
        (
            &[&["--policy", "dev"][..], &recording[..]].concat(),
            "a model mode has no use",
        ),
    ] {
        let ran = bench.run(&[&["run", "intent.json"][..], options].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(64), ""),
            "{options:?}"
        );
        assert!(ran.stderr.contains(told), "{options:?}: {}", ran.stderr);
    }
    // What the policy forbids is reported first.
    let ran = bench.run(&[&["run", "intent.json"][..], &recording[..]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
