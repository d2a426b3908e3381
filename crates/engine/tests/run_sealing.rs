//! Sealing, running and replaying: what is accepted, what is rejected, and that nothing is left
//! behind. Tests that execute an engine need isolation and say so where there is none.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    dead_code,
    reason = "test code"
)]

mod run_support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use run_support::{
    Bench, COUPLING, Files, INPUT, MANIFEST, OUTPUT, rejected, request, seal, set, value,
};
use runseal_core::digest::Digest;
use runseal_engine::directory::{DirectorySource, RootLink};
use runseal_engine::run::command::policy;
use runseal_engine::run::replay::{Replay, ReplayOptions, Verdict, replay_run};
use runseal_engine::run::seal::{SealError, Sealed, seal_output, seal_run};
use runseal_engine::run::staging::StagingError;
use runseal_sandbox::{Limits, Sandbox};

fn sandbox() -> Option<Sandbox> {
    match Sandbox::probe() {
        Ok(sandbox) => Some(sandbox),
        Err(missing) => {
            let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(
                !in_ci,
                "CI must offer isolation: {missing}; {}",
                missing.hint()
            );
            println!("skipped: {missing}");
            None
        }
    }
}

fn limits() -> Limits {
    Limits {
        wall_time: Duration::from_secs(20),
        ..policy()
    }
}

/// Runs the bench's engine and seals the run as `run_id`.
fn run_as(
    bench: &Bench,
    sandbox: &Sandbox,
    run_id: &str,
    upstream: &[PathBuf],
) -> Result<Sealed, SealError> {
    let engine = bench.engine();
    let out = bench.out();
    let request = request(&engine, INPUT, &out, upstream, Some(run_id));
    seal_run(request, sandbox, &limits())
}

fn run(bench: &Bench, sandbox: &Sandbox) -> Result<Sealed, SealError> {
    run_as(bench, sandbox, "r1", &[])
}

fn messages<T: std::fmt::Debug>(result: &Result<T, SealError>) -> String {
    match result {
        Err(SealError::Rejected(findings)) => findings
            .iter()
            .map(|f| format!("{} {:?} {}\n", f.rule_id, f.path, f.message))
            .collect(),
        other => panic!("not rejected: {other:?}"),
    }
}

// Contracts.

#[test]
fn contracts_each_missing_one_is_named() {
    for name in [
        "ENGINE_MANIFEST.json",
        "INPUT_SCHEMA.json",
        "OUTPUT_SCHEMA.json",
        "COUPLING_RULES.json",
        "SEALING_SPEC.md",
    ] {
        let bench = Bench::new();
        fs::remove_file(bench.path("engine").join(name)).unwrap();
        assert_eq!(bench.contract_faults(), set(&[("EN1", name)]));
    }
}

#[test]
fn contracts_are_found_where_the_manifest_points_and_in_the_two_folders() {
    let bench = Bench::new();
    let move_to = |from: &str, to: &str| {
        let text = fs::read(bench.path("engine").join(from)).unwrap();
        fs::remove_file(bench.path("engine").join(from)).unwrap();
        bench.write(&format!("engine/{to}"), text);
    };
    move_to("INPUT_SCHEMA.json", "a/in.json");
    move_to("OUTPUT_SCHEMA.json", "out.json");
    move_to("COUPLING_RULES.json", "MANIFEST/COUPLING_RULES.json");
    move_to("SEALING_SPEC.md", "SEALING/SEALING_SPEC.md");
    let pointing = MANIFEST.replace(
        "\"execution\"",
        "\"io\":{\"input_schema_file\":\"./a/in.json\",\"output_schema_file\":\"out.json\"},\"execution\"",
    );
    fs::remove_file(bench.path("engine/ENGINE_MANIFEST.json")).unwrap();
    bench.write("engine/MANIFEST/ENGINE_MANIFEST.json", &pointing);
    assert_eq!(bench.contract_faults(), set(&[]));
    // The root comes first.
    bench.write("engine/INPUT_SCHEMA.json", "{");
    assert_eq!(
        bench.contract_faults(),
        set(&[("EN2", "INPUT_SCHEMA.json")])
    );
}

#[test]
fn contracts_pointer_or_link_out_of_the_folder_is_refused() {
    let bench = Bench::new();
    bench.write("secret.json", "{}");
    fs::remove_file(bench.path("engine/INPUT_SCHEMA.json")).unwrap();
    let pointing = MANIFEST.replace(
        "\"execution\"",
        "\"io\":{\"input_schema_file\":\"../secret.json\"},\"execution\"",
    );
    bench.write("engine/ENGINE_MANIFEST.json", &pointing);
    assert_eq!(
        bench.contract_faults(),
        set(&[("EN1", "INPUT_SCHEMA.json")])
    );
    bench.write("engine/ENGINE_MANIFEST.json", MANIFEST);
    std::os::unix::fs::symlink("../secret.json", bench.path("engine/INPUT_SCHEMA.json")).unwrap();
    assert_eq!(
        bench.contract_faults(),
        set(&[("EN1", "INPUT_SCHEMA.json")])
    );
}

#[test]
fn contracts_each_broken_one_has_its_finding() {
    let manifest = "ENGINE_MANIFEST.json";
    let coupling = "COUPLING_RULES.json";
    for (name, text, rule) in [
        (manifest, "{".to_owned(), "EN2"),
        (manifest, "[]".to_owned(), "EN2"),
        (manifest, MANIFEST.replace("\"ECHO\"", "5"), "EN3"),
        (manifest, MANIFEST.replace("\"ECHO\"", "\"a/b\""), "EN3"),
        (manifest, MANIFEST.replace("\"ECHO\"", "\"..\""), "EN3"),
        (manifest, MANIFEST.replace("\"1.2.0\"", "\"\""), "EN3"),
        (
            manifest,
            MANIFEST.replace("[\"sh\",\"engine.sh\"]", "[]"),
            "EN4",
        ),
        (
            manifest,
            MANIFEST.replace("[\"sh\",\"engine.sh\"]", "\"sh\""),
            "EN4",
        ),
        (
            manifest,
            MANIFEST.replace("\"sh\"", "\"no-such-program\""),
            "EN4",
        ),
        (manifest, MANIFEST.replace("\"sh\"", "\"bin/none\""), "EN4"),
        (
            manifest,
            MANIFEST.replace(
                "\"execution\":{",
                "\"execution\":{\"limits\":{\"timeout_seconds\":0},",
            ),
            "EN8",
        ),
        (
            manifest,
            MANIFEST.replace(
                "\"execution\":{",
                "\"execution\":{\"limits\":{\"speed\":1},",
            ),
            "EN8",
        ),
        (
            manifest,
            MANIFEST.replace(
                "\"execution\"",
                "\"compatibility\":{\"replay_versions\":[\"one\"]},\"execution\"",
            ),
            "EN7",
        ),
        (
            manifest,
            MANIFEST.replace("\"execution\"", "\"n\":9007199254740993,\"execution\""),
            "EN2",
        ),
        (
            "INPUT_SCHEMA.json",
            "{\"type\":\"strin\"}".to_owned(),
            "EN5",
        ),
        (
            "INPUT_SCHEMA.json",
            "{\"$ref\":\"https://example.com/x\"}".to_owned(),
            "EN5",
        ),
        (
            "INPUT_SCHEMA.json",
            "{\"properties\":{\"context\":{\"x_forbidden_fields\":\"x\"}}}".to_owned(),
            "EN5",
        ),
        ("OUTPUT_SCHEMA.json", "5".to_owned(), "EN5"),
        ("OUTPUT_SCHEMA.json", "1e400".to_owned(), "EN2"),
        (coupling, "{}".to_owned(), "EN6"),
        (coupling, COUPLING.replace("CORE_ONLY", "DIRECT"), "EN6"),
        (coupling, COUPLING.replace("[\"ECHO\"]", "\"ECHO\""), "EN6"),
        (
            coupling,
            COUPLING.replace(
                "[\"ECHO\"]",
                "[{\"engine_code\":\"ECHO\",\"via\":\"DIRECT\"}]",
            ),
            "EN6",
        ),
    ] {
        let bench = Bench::new();
        bench.write(&format!("engine/{name}"), &text);
        let found: BTreeSet<_> = bench.contract_faults();
        assert!(
            found.contains(&(rule.to_owned(), name.to_owned())),
            "{text}: {found:?}"
        );
        assert!(
            found.iter().all(|(_, path)| path == name),
            "{text}: {found:?}"
        );
    }
}

// Sealing an output that was produced elsewhere.

#[test]
fn seal_input_that_breaks_its_schema_is_rejected_with_every_pointer() {
    let bench = Bench::new();
    bench.write(
        "engine/INPUT_SCHEMA.json",
        r#"{"required":["b"],"properties":{"inputs":{"properties":{"a":{"type":"string"}}}}}"#,
    );
    let result = seal(&bench, INPUT, OUTPUT);
    let text = messages(&result);
    assert!(
        text.contains("/inputs/a:") && text.contains("\"b\" is a required property"),
        "{text}"
    );
    assert_eq!(rejected(result), set(&[("RB3", "RUN_INPUT.json")]));
    assert!(bench.is_clean());
}

#[test]
fn seal_schema_sees_the_stripped_input() {
    let bench = Bench::new();
    let closed =
        r#"{"properties":{"context":{"properties":{"site":{}},"additionalProperties":false}}}"#;
    bench.write("engine/INPUT_SCHEMA.json", closed);
    assert!(
        seal(&bench, INPUT, OUTPUT).is_ok(),
        "user_id is gone before the schema looks"
    );
}

#[test]
fn seal_stripped_values_are_nowhere_in_the_bundle() {
    let bench = Bench::new();
    bench.write(
        "engine/INPUT_SCHEMA.json",
        r#"{"properties":{"context":{"x_forbidden_fields":["Nick"]}}}"#,
    );
    let input = r#"{"context":{"User_ID":"SECRET1","a":[{"nick":"SECRET2","permissions":{"phone":"SECRET3"}}]}}"#;
    let files = Files::read(&seal(&bench, input, OUTPUT).unwrap().path);
    assert_eq!(
        files.text("RUN_CONTEXT_STRIPPED.json"),
        r#"{"stripped":["/context/User_ID","/context/a/0/nick","/context/a/0/permissions"]}"#
    );
    for (name, bytes) in &files.0 {
        assert!(!String::from_utf8_lossy(bytes).contains("SECRET"), "{name}");
    }
}

#[test]
fn seal_output_that_lies_or_leaks_is_rejected() {
    let output = "RUN_OUTPUT.json";
    let hex = Digest::of(b"x").to_string();
    for (from, to, rules) in [
        (
            "\"outputs\"",
            format!("\"inputs_hash\":\"{hex}\",\"outputs\""),
            vec!["RB7"],
        ),
        (
            "\"outputs\"",
            format!("\"outputs_hash\":\"{hex}\",\"outputs\""),
            vec!["RB7"],
        ),
        (
            "\"outputs\"",
            "\"inputs_hash\":null,\"outputs\"".to_owned(),
            vec!["RB7"],
        ),
        (
            "\"outputs\"",
            "\"outputs_hash\":null,\"outputs\"".to_owned(),
            vec!["RB7"],
        ),
        (
            "42",
            "[{\"x\":{\"Billing_Tier\":1}}]".to_owned(),
            vec!["RB8"],
        ),
        ("\"ECHO\"", "\"OTHER\"".to_owned(), vec!["RB10"]),
        ("\"1.2.0\"", "\"1.2.1\"".to_owned(), vec!["RB10"]),
        ("\"engine_code\":\"ECHO\",", String::new(), vec!["RB4"]),
        ("\"RAW_TRUTH\"", "\"TRUTH\"".to_owned(), vec!["RB4"]),
        ("\"semantics\":\"RAW_TRUTH\",", String::new(), vec!["RB4"]),
        ("42", "9007199254740993".to_owned(), vec!["RB4"]),
        ("42", "1e400".to_owned(), vec!["RB4"]),
        ("42", "\"\\ud800\"".to_owned(), vec!["RB4"]),
        ("42", "1,\"value\":2".to_owned(), vec!["RB4"]),
    ] {
        let bench = Bench::new();
        let found = rejected(seal(&bench, INPUT, &OUTPUT.replacen(from, &to, 1)));
        let expected: Vec<_> = rules.iter().map(|rule| (*rule, output)).collect();
        assert_eq!(found, set(&expected), "{to}");
        assert!(bench.is_clean(), "{to}");
    }
    for printed in ["", "no json", "[]", "{} {}", "{}\n{}"] {
        let bench = Bench::new();
        let found = rejected(seal(&bench, INPUT, printed));
        assert!(
            found.contains(&("RB4".to_owned(), output.to_owned())),
            "{printed}"
        );
        assert!(bench.is_clean());
    }
}

#[test]
fn seal_right_hashes_of_the_engine_are_accepted() {
    let bench = Bench::new();
    let first = Files::read(&seal(&bench, INPUT, OUTPUT).unwrap().path);
    let bench = Bench::new();
    let again = Files::read(
        &seal(&bench, INPUT, &first.text("RUN_OUTPUT.json"))
            .unwrap()
            .path,
    );
    assert_eq!(first.0, again.0);
}

#[test]
fn seal_output_schema_sees_the_stored_document() {
    let bench = Bench::new();
    bench.write("engine/OUTPUT_SCHEMA.json", r#"{"required":["inputs_hash","outputs_hash"],"properties":{"outputs":{"required":["z"]}}}"#);
    let result = seal(&bench, INPUT, OUTPUT);
    assert!(messages(&result).contains("/outputs:"));
    assert_eq!(rejected(result), set(&[("RB4", "RUN_OUTPUT.json")]));
    assert!(bench.is_clean());
}

#[test]
fn seal_integers_that_jcs_would_change_are_refused_in_the_input() {
    let bench = Bench::new();
    let found = rejected(seal(&bench, r#"{"a":[9007199254740993]}"#, OUTPUT));
    assert_eq!(found, set(&[("RB3", "RUN_INPUT.json")]));
    assert!(seal(&bench, r#"{"a":[9007199254740992,1.5]}"#, OUTPUT).is_ok());
}

#[test]
fn seal_target_that_exists_is_never_touched() {
    let bench = Bench::new();
    let first = seal(&bench, INPUT, OUTPUT).unwrap();
    let before = Files::read(&first.path).0;
    let again = seal(&bench, INPUT, OUTPUT);
    assert!(
        matches!(again, Err(SealError::Staging(StagingError::Exists(_)))),
        "{again:?}"
    );
    assert_eq!(Files::read(&first.path).0, before);
    assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 1);
}

#[test]
fn seal_default_run_id_is_time_and_inputs_hash() {
    let bench = Bench::new();
    let engine = bench.engine();
    let out = bench.out();
    let sealed = seal_output(
        request(&engine, INPUT, &out, &[], None),
        OUTPUT.as_bytes(),
        None,
    )
    .unwrap();
    let hash = Digest::of(br#"{"context":{"site":"x"},"inputs":{"a":1}}"#).hex_prefix(8);
    assert_eq!(
        sealed.run_id.as_str(),
        format!("run_20231114T221320Z_{hash}")
    );
}

#[test]
fn seal_parameters_given_apart_are_an_input() {
    let bench = Bench::new();
    let engine = bench.engine();
    let out = bench.out();
    let mut request = request(&engine, INPUT, &out, &[], Some("r1"));
    request.parameters = Some(value("{ \"b\": 1.0 }"));
    let files = Files::read(&seal_output(request, OUTPUT.as_bytes(), None).unwrap().path);
    assert_eq!(files.text("RUN_PARAMETERS.json"), r#"{"b":1}"#);
    assert!(
        files
            .text("ARTIFACT_INDEX.json")
            .contains(r#""relative_path":"RUN_PARAMETERS.json","role":"INPUT""#)
    );
}

#[test]
fn seal_artifacts_that_cannot_be_sealed_are_named() {
    for (name, text, path) in [
        ("x.json", "{", "artifacts/x.json"),
        ("x.json", "9007199254740993", "artifacts/x.json"),
    ] {
        let bench = Bench::new();
        bench.write(&format!("art/{name}"), text);
        let engine = bench.engine();
        let out = bench.out();
        let request = request(&engine, INPUT, &out, &[], Some("r1"));
        let found = rejected(seal_output(
            request,
            OUTPUT.as_bytes(),
            Some(&bench.path("art")),
        ));
        assert_eq!(found, set(&[("RB5", path)]));
        assert!(bench.is_clean());
    }
}

#[test]
fn seal_upstream_is_taken_only_by_the_rules() {
    let bench = Bench::new();
    let upstream = [seal(&bench, INPUT, OUTPUT).unwrap().path];
    let attempt = |bench: &Bench, input: &str| {
        let engine = bench.engine();
        let out = bench.out();
        seal_output(
            request(&engine, input, &out, &upstream, Some("r2")),
            OUTPUT.as_bytes(),
            None,
        )
    };
    let shown = upstream[0].display().to_string();
    bench.write(
        "engine/COUPLING_RULES.json",
        COUPLING.replace("[\"ECHO\"]", "[]"),
    );
    assert_eq!(rejected(attempt(&bench, INPUT)), set(&[("RB9", &shown)]));
    bench.write("engine/COUPLING_RULES.json", COUPLING);
    // An input that claims something else.
    let claims = r#"{"input_artifact_index":[]}"#;
    assert_eq!(
        rejected(attempt(&bench, claims)),
        set(&[("RB9", "RUN_INPUT.json")])
    );
    // A schema that has no room for the list.
    bench.write(
        "engine/INPUT_SCHEMA.json",
        r#"{"properties":{"inputs":{},"context":{}},"additionalProperties":false}"#,
    );
    let sealed = attempt(&bench, INPUT).unwrap();
    let files = Files::read(&sealed.path);
    assert!(
        !files
            .text("RUN_INPUT.json")
            .contains("input_artifact_index")
    );
    assert!(
        files
            .text("RUN_OUTPUT.json")
            .contains("input_artifact_index")
    );
    assert_eq!(files.found_strictly(), set(&[]));
    // One that was tampered with.
    let bad = bench.path("bad");
    fs::create_dir(&bad).unwrap();
    for (name, bytes) in Files::read(&upstream[0]).0 {
        fs::write(bad.join(name), bytes).unwrap();
    }
    fs::write(bad.join("SEALING_SPEC.md"), "other").unwrap();
    let engine = bench.engine();
    let out = bench.out();
    let tampered = [bad.clone()];
    let result = seal_output(
        request(&engine, INPUT, &out, &tampered, Some("r3")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(messages(&result).contains("does not verify"));
    assert_eq!(
        rejected(result),
        set(&[("RB9", &bad.display().to_string())])
    );
    // The same run twice.
    let twice = [upstream[0].clone(), upstream[0].clone()];
    let result = seal_output(
        request(&engine, INPUT, &out, &twice, Some("r3")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(messages(&result).contains("given twice"));
    // Not there at all.
    let none = [bench.path("none")];
    let result = seal_output(
        request(&engine, INPUT, &out, &none, Some("r3")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(matches!(result, Err(SealError::Read(_))));
    assert!(!bench.out().join("r3").exists());
}

#[test]
fn seal_upstream_claim_without_upstream_is_rejected() {
    let bench = Bench::new();
    let hex = Digest::of(b"x");
    let claims = format!(
        r#"{{"input_artifact_index":[{{"engine_code":"ECHO","artifact_name":"x","sha256":"{hex}"}}]}}"#
    );
    assert_eq!(
        rejected(seal(&bench, &claims, OUTPUT)),
        set(&[("RB9", "RUN_INPUT.json")])
    );
}

// Running an engine.

#[test]
fn run_engine_gets_its_input_and_is_sealed_with_its_artifacts() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    bench.script(&format!(
        "cat > \"$RUNSEAL_ARTIFACTS/seen.txt\"\nmkdir \"$RUNSEAL_ARTIFACTS/d\"\npwd > \"$RUNSEAL_ARTIFACTS/d/pwd.txt\"\n\
         printf '{{ \"b\": 1.0 }}' > \"$RUNSEAL_ARTIFACTS/b.json\"\nif touch x 2>/dev/null; then exit 9; fi\ncat <<'X'\n{OUTPUT}\nX\n"
    ));
    let files = Files::read(&run(&bench, &sandbox).unwrap().path);
    assert_eq!(
        files.text("artifacts/seen.txt"),
        r#"{"context":{"site":"x"},"inputs":{"a":1}}"#
    );
    assert_eq!(files.text("artifacts/d/pwd.txt"), "/engine\n");
    assert_eq!(files.text("artifacts/b.json"), r#"{"b":1}"#);
    assert!(
        files
            .text("RUN_META.json")
            .contains("\"engine_executable_sha256\":\"")
    );
    assert_eq!(files.found_strictly(), set(&[]));
}

#[test]
fn run_engine_that_misbehaves_is_rejected_and_leaves_nothing() {
    let Some(sandbox) = sandbox() else { return };
    let ok = format!("cat <<'X'\n{OUTPUT}\nX\n");
    for (script, rule, said) in [
        (
            "echo no >&2; exit 3".to_owned(),
            "RUN",
            "exit status 3; it said: no",
        ),
        ("kill -SEGV $$".to_owned(), "RUN", "signal 11"),
        ("sleep 100".to_owned(), "RUN", "longer than 1 s"),
        ("cat /dev/zero".to_owned(), "RUN", "printed more than"),
        ("echo hello".to_owned(), "RB4", "not one JSON document"),
        (":".to_owned(), "RB4", "not one JSON document"),
        (format!("{ok}{ok}"), "RB4", "not one JSON document"),
        (format!("{ok}exit 1"), "RUN", "exit status 1"),
        (
            format!("ln -s /etc/passwd $RUNSEAL_ARTIFACTS/link\n{ok}"),
            "RB2",
            "artifacts/link",
        ),
        (
            format!("mkfifo $RUNSEAL_ARTIFACTS/pipe\n{ok}"),
            "RB2",
            "artifacts/pipe",
        ),
        (
            format!("echo 1 > $RUNSEAL_ARTIFACTS/../x\n{ok}"),
            "RB2",
            "artifacts/../x",
        ),
        (
            format!("echo 1 > \"$RUNSEAL_ARTIFACTS/a\nb\"\n{ok}"),
            "RB2",
            "a\\\\nb",
        ),
        (
            format!("echo 1 > '/work/artifacts/a\\b'\n{ok}"),
            "RB2",
            "unsafe",
        ),
        (
            format!("rmdir $RUNSEAL_ARTIFACTS; ln -s / $RUNSEAL_ARTIFACTS\n{ok}"),
            "RB2",
            "artifacts",
        ),
        (
            format!("echo '{{' > $RUNSEAL_ARTIFACTS/x.json\n{ok}"),
            "RB5",
            "artifacts/x.json",
        ),
        (
            format!("echo '{{\"a\":{{\"ROLE\":1}}}}' > $RUNSEAL_ARTIFACTS/x.json\n{ok}"),
            "RB8",
            "/a/ROLE",
        ),
        (
            "exec 3<>/dev/tcp/127.0.0.1/80 || exit 4".to_owned(),
            "RUN",
            "exit status",
        ),
        (
            OUTPUT
                .replace("42", "{\"phone\":1}")
                .replace("RAW", "\nRAW")
                .lines()
                .map(|l| format!("printf '%s' '{l}'\n"))
                .collect(),
            "RB8",
            "/outputs/value/phone",
        ),
    ] {
        let bench = Bench::new();
        bench.write(
            "engine/ENGINE_MANIFEST.json",
            MANIFEST.replace(
                "\"execution\":{",
                "\"execution\":{\"limits\":{\"timeout_seconds\":1,\"stdout_bytes\":100000},",
            ),
        );
        bench.script(&script);
        let result = run(&bench, &sandbox);
        let text = messages(&result);
        assert!(
            text.contains(rule) && text.contains(said),
            "{script}: {text}"
        );
        assert!(bench.is_clean(), "{script}");
    }
}

#[test]
fn run_twice_at_the_same_time_is_the_same_byte_by_byte() {
    let Some(sandbox) = sandbox() else { return };
    let (a, b) = (Bench::new(), Bench::new());
    let first = Files::read(&run(&a, &sandbox).unwrap().path);
    let second = Files::read(&run(&b, &sandbox).unwrap().path);
    assert_eq!(first.0, second.0);
}

#[test]
fn run_engine_sees_upstream_and_parameters_read_only() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    bench.write("art/x.csv", "1,2\n");
    let engine = bench.engine();
    let out = bench.out();
    let first = request(&engine, INPUT, &out, &[], Some("first"));
    let upstream = [
        seal_output(first, OUTPUT.as_bytes(), Some(&bench.path("art")))
            .unwrap()
            .path,
    ];
    bench.script(&format!(
        "cat >/dev/null\ncd \"$RUNSEAL_UPSTREAM\"\nfind . -type f | sort > \"$RUNSEAL_ARTIFACTS/list.txt\"\n\
         cat ECHO/first/artifacts/x.csv > \"$RUNSEAL_ARTIFACTS/copy.csv\"\n\
         if touch new 2>/dev/null; then exit 9; fi\ncat \"$RUNSEAL_PARAMETERS\" > \"$RUNSEAL_ARTIFACTS/p.txt\"\n\
         cat <<'X'\n{OUTPUT}\nX\n"
    ));
    let engine = bench.engine();
    let mut second = request(&engine, INPUT, &out, &upstream, Some("second"));
    second.parameters = Some(value("{ \"b\": 1.0 }"));
    let sealed = seal_run(second, &sandbox, &limits()).unwrap();
    let files = Files::read(&sealed.path);
    assert_eq!(
        files.text("artifacts/list.txt"),
        "./ECHO/first/RUN_OUTPUT.json\n./ECHO/first/artifacts/x.csv\n"
    );
    assert_eq!(files.text("artifacts/copy.csv"), "1,2\n");
    assert_eq!(files.text("artifacts/p.txt"), r#"{"b":1}"#);
    assert_eq!(files.found_strictly(), set(&[]));
    // And again from the bundle alone.
    let replayed = replay(&bench, &sealed.path, 1);
    assert_eq!(replayed.verdict(), Verdict::Reproduced, "{replayed:?}");
}

// Replay.

fn replay(bench: &Bench, bundle: &std::path::Path, times: u32) -> Replay {
    let engine = bench.engine();
    let source = DirectorySource::open(bundle, RootLink::Follow).unwrap();
    let policy = limits();
    let options = ReplayOptions {
        times,
        policy: &policy,
    };
    replay_run(&source, &engine, options, || Ok(Sandbox::probe().unwrap())).unwrap()
}

#[test]
fn replay_of_the_same_engine_reproduces() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    let sealed = run(&bench, &sandbox).unwrap();
    let found = replay(&bench, &sealed.path, 3);
    assert_eq!(
        (found.verdict(), found.runs.len()),
        (Verdict::Reproduced, 3)
    );
    assert_eq!(found.outputs_hash, sealed.outputs_hash);
}

#[test]
fn replay_that_differs_names_field_and_artifact() {
    if sandbox().is_none() {
        return;
    }
    let bench = Bench::new();
    bench
        .write("art/same.txt", "same")
        .write("art/gone.txt", "x")
        .write("art/other.txt", "x");
    let engine = bench.engine();
    let out = bench.out();
    let request = request(&engine, INPUT, &out, &[], Some("r1"));
    // Sealed elsewhere, so the engine's files are not recorded; its contracts are.
    let output = OUTPUT.replace("42", "[1,{\"a~/b\":2}]");
    let sealed = seal_output(request, output.as_bytes(), Some(&bench.path("art"))).unwrap();
    let now = OUTPUT.replace("42", "[1,{\"a~/b\":3},4]");
    bench.script(&format!(
        "printf same > $RUNSEAL_ARTIFACTS/same.txt; printf y > $RUNSEAL_ARTIFACTS/other.txt; printf z > $RUNSEAL_ARTIFACTS/new.txt\ncat <<'X'\n{now}\nX\n"
    ));
    let found = replay(&bench, &sealed.path, 1);
    assert_eq!(found.verdict(), Verdict::Diverged);
    let run = &found.runs[0];
    assert_eq!(run.same_artifacts, 1);
    let places: Vec<_> = run
        .divergences
        .iter()
        .map(|d| (d.path.as_str(), d.pointer.as_deref()))
        .collect();
    assert_eq!(
        places,
        [
            ("RUN_OUTPUT.json", Some("/outputs/value/1/a~0~1b")),
            ("RUN_OUTPUT.json", Some("/outputs/value/2")),
            ("RUN_OUTPUT.json", Some("/outputs_hash")),
            ("artifacts/gone.txt", None),
            ("artifacts/new.txt", None),
            ("artifacts/other.txt", None),
        ]
    );
    assert_eq!(
        (
            run.divergences[0].sealed.as_str(),
            run.divergences[0].now.as_str()
        ),
        ("2", "3")
    );
    assert_eq!(
        (
            run.divergences[1].sealed.as_str(),
            run.divergences[1].now.as_str()
        ),
        ("nothing", "4")
    );
}

#[test]
fn replay_of_an_engine_that_now_fails_diverges() {
    if sandbox().is_none() {
        return;
    }
    let bench = Bench::new();
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    for (script, said) in [("exit 5", "exit status 5"), ("echo {", "not one JSON")] {
        bench.script(script);
        let found = replay(&bench, &sealed.path, 1);
        assert_eq!(found.verdict(), Verdict::Diverged);
        assert!(found.runs[0].divergences[0].now.contains(said));
    }
}

/// The verdict where no sandbox may be asked for.
fn verdict_without_running(bench: &Bench, bundle: &std::path::Path) -> Verdict {
    let engine = bench.engine();
    let source = DirectorySource::open(bundle, RootLink::Follow).unwrap();
    let policy = limits();
    let options = ReplayOptions {
        times: 1,
        policy: &policy,
    };
    let never = || Err(SealError::Rejected(Vec::new()));
    match replay_run(&source, &engine, options, never) {
        Ok(replay) => replay.verdict(),
        // It went on to run, so every rule held.
        Err(SealError::Rejected(_)) => Verdict::Reproduced,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn replay_rules_that_do_not_hold_are_named_by_number() {
    let bench = Bench::new();
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    let files = Files::read(&sealed.path);
    let check = |files: Files| {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in &files.0 {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        verdict_without_running(&bench, folder.path())
    };
    let not = |rule| Verdict::NotReplayable { rule };
    assert_eq!(check(files.clone()), Verdict::Reproduced);
    assert_eq!(check(files.clone().remove("SEALING_SPEC.md")), not(1));
    let closed = r#"{"required":["zzz"]}"#;
    assert_eq!(
        check(files.clone().put("INPUT_SCHEMA.json", closed).relist()),
        not(2)
    );
    assert_eq!(
        check(files.clone().put("OUTPUT_SCHEMA.json", closed).relist()),
        not(3)
    );
    assert_eq!(
        check(files.clone().put("RUN_CONTEXT_STRIPPED.json", "{}")),
        not(4)
    );
    assert_eq!(check(files.clone().put("extra", "")), not(4));
    // Valid by itself, but not this engine's contract.
    assert_eq!(
        check(files.clone().put("SEALING_SPEC.md", "other").relist()),
        not(5)
    );
    assert_eq!(
        check(
            files
                .clone()
                .put("SEALING_SPEC.md", "other")
                .reindex()
                .resum()
        ),
        not(5)
    );
    let no_time = files
        .member("RUN_META.json", &["sealed_at"], None)
        .reindex()
        .resum();
    assert_eq!(check(no_time), not(6));
}

#[test]
fn replay_rule_6_asks_for_the_same_engine_or_a_permitted_version() {
    let not = |rule| Verdict::NotReplayable { rule };
    let bench = Bench::new();
    let compatible = MANIFEST.replace(
        "\"execution\"",
        "\"compatibility\":{\"replay_versions\":[\"^1.2\"]},\"execution\"",
    );
    let newer = |manifest: &str, version: &str| manifest.replace("1.2.0", version);
    // Absent means identical only; rule 5 sees the other manifest first.
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    assert_eq!(
        verdict_without_running(&bench, &sealed.path),
        Verdict::Reproduced
    );
    bench.write("engine/ENGINE_MANIFEST.json", newer(MANIFEST, "1.3.0"));
    let engine = bench.engine();
    let source = DirectorySource::open(&sealed.path, RootLink::Follow).unwrap();
    let policy = limits();
    let options = ReplayOptions {
        times: 1,
        policy: &policy,
    };
    let found = replay_run(&source, &engine, options, || {
        Err(SealError::Rejected(Vec::new()))
    })
    .unwrap();
    assert!(
        !found.rules[4].is_empty() && !found.rules[5].is_empty(),
        "{found:?}"
    );
    // The replaying engine's own list permits nothing.
    bench.write("engine/ENGINE_MANIFEST.json", newer(&compatible, "1.3.0"));
    assert_eq!(verdict_without_running(&bench, &sealed.path), not(5));
    // Sealed with a list.
    let bench = Bench::new();
    bench.write("engine/ENGINE_MANIFEST.json", &compatible);
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    for (version, verdict) in [
        ("1.2.0", Verdict::Reproduced),
        ("1.9.0", Verdict::Reproduced),
        ("1.1.9", not(5)),
        ("2.0.0", not(5)),
    ] {
        bench.write("engine/ENGINE_MANIFEST.json", newer(&compatible, version));
        assert_eq!(
            verdict_without_running(&bench, &sealed.path),
            verdict,
            "{version}"
        );
    }
    // The manifest alone may differ.
    bench.write("engine/ENGINE_MANIFEST.json", newer(&compatible, "1.9.0"));
    bench.write("engine/SEALING_SPEC.md", "other");
    assert_eq!(verdict_without_running(&bench, &sealed.path), not(5));
}

#[test]
fn replay_rule_6_sees_another_executable() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    let sealed = run(&bench, &sandbox).unwrap();
    assert_eq!(
        replay(&bench, &sealed.path, 1).verdict(),
        Verdict::Reproduced
    );
    bench.script(&format!("# changed\ncat <<'X'\n{OUTPUT}\nX\n"));
    let verdict = verdict_without_running(&bench, &sealed.path);
    assert_eq!(verdict, Verdict::NotReplayable { rule: 6 });
}
