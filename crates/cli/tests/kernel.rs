//! `transform`, `clarify`, `bundle verify` and `bundle summarize` as a user meets them.

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn example(name: &str) -> String {
    let path = project_root().join("examples/intents").join(name);
    path.to_string_lossy().into_owned()
}

#[test]
fn transform_clear_example_is_complete_and_the_same_twice() {
    let (_folder, bench) = bench();
    let intent = example("clear.json");
    let first = bench.run(&["transform", &intent]);
    assert_eq!(
        (first.code, first.stderr.as_str()),
        (Some(0), ""),
        "{first:?}"
    );
    assert_eq!(first.stdout, bench.run(&["transform", &intent]).stdout);
    bench.write("bundle.json", &first.stdout);
    let ran = bench.run(&[
        "bundle",
        "verify",
        "bundle.json",
        "--strict",
        "--intent",
        &intent,
    ]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "{\"ok\":true}\n"),
        "{ran:?}"
    );
    let ran = bench.run(&["bundle", "summarize", "bundle.json"]);
    assert!(ran.stdout.contains("\"outcome\":\"BUNDLE\""), "{ran:?}");
}

#[test]
fn summarize_lists_questions_by_priority_then_id() {
    let (_folder, bench) = bench();
    bench.write(
        "bundle.json",
        r#"{"unresolved_questions":[{"id":"q_c","priority":62},{"id":"q_d"},{"id":"q_b","priority":95},
            {"id":"q_a","priority":62}]}"#,
    );
    let summary = bench.run(&["bundle", "summarize", "bundle.json"]).stdout;
    let expected = r#""question_ids":["q_b","q_a","q_c","q_d"]"#;
    assert!(summary.contains(expected), "{summary}");
}

#[test]
fn transform_leaves_are_terminal_and_the_version_names_the_rules() {
    let (_folder, bench) = bench();
    let ran = bench.run(&["transform", &example("vague.json")]);
    assert!(ran.stdout.contains("\"status\":\"terminal\""), "{ran:?}");
    assert!(!ran.stdout.contains("\"status\":\"blocked\""), "{ran:?}");
    let (_, rest) = ran.stdout.split_once("\"kernel_version\":\"").unwrap();
    let (version, _) = rest.split_once('"').unwrap();
    let (_, build) = version.split_once('+').unwrap();
    assert!(
        build.len() == 8 && build.bytes().all(|b| b.is_ascii_hexdigit()),
        "{version}"
    );
}

#[test]
fn transform_vague_example_asks_and_answers_close_it() {
    let (_folder, bench) = bench();
    let intent = example("vague.json");
    let ran = bench.run(&["transform", &intent]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("[insert name]"), "{ran:?}");
    let ran = bench.run_with(
        &["clarify", &intent, "-o", "answered.json"],
        "2\nMs Chen\nSQLite\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = bench.run(&["transform", "answered.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn clarify_quit_and_end_of_input_write_nothing() {
    let (_folder, bench) = bench();
    for input in ["q\n", "", "1\n"] {
        let ran = bench.run_with(
            &["clarify", &example("vague.json"), "-o", "answered.json"],
            input,
        );
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(!bench.path("answered.json").exists(), "{ran:?}");
    }
}

#[test]
fn transform_answers_file_is_applied_and_checked() {
    let (_folder, bench) = bench();
    let intent = r#"{"goal":"Fix the crash in export.py","constraints":["Ask <name> first"],"context":{"profile":"none"}}"#;
    bench.write("intent.json", intent);
    let ran = bench.run(&["transform", "intent.json"]);
    let from = ran.stderr.find("[q_").unwrap() + 1;
    let id = ran.stderr[from..from + 18].to_owned();
    bench.write("answers.json", format!("{{\"{id}\":\"Ana\"}}"));
    let ran = bench.run(&["transform", "intent.json", "--answers", "answers.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Ask Ana first"), "{ran:?}");
    for bad in ["[]", "{\"q_1\":\"Ana\"}", "{\"q_0123456789abcdef\":[]}"] {
        bench.write("answers.json", bad);
        let ran = bench.run(&["transform", "intent.json", "--answers", "answers.json"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
}

#[test]
fn transform_refused_and_unreadable_intents_have_their_exits() {
    let (_folder, bench) = bench();
    let ran = bench.run_with(&["transform", "-"], r#"{"goal":" "}"#);
    let message = "EMPTY_GOAL: Intent goal cannot be empty\n";
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(1), message),
        "{ran:?}"
    );
    let ran = bench.run_with(&["transform", "-", "--result"], r#"{"goal":" "}"#);
    let expected = "{\"bundle\":null,\"decision\":{\"accepted\":false,\"reason\":\"Intent goal cannot be \
                    empty\"},\"kernel_result_kind\":\"REFUSE\"}\n";
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(1), expected),
        "{ran:?}"
    );
    for text in [
        "",
        "not json",
        "{\"goal\":\"x\"",
        "{\"goal\":\"x\",\"goal\":\"y\"}",
    ] {
        let ran = bench.run_with(&["transform", "-"], text);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
    assert_eq!(bench.run(&["transform", "missing.json"]).code, Some(2));
}

#[test]
fn bundle_verify_has_the_exits_of_its_document() {
    let (_folder, bench) = bench();
    assert_eq!(
        bench.run(&["bundle", "verify", "missing.json"]).code,
        Some(1)
    );
    assert_eq!(
        bench.run_with(&["bundle", "verify", "-"], "{").code,
        Some(2)
    );
    let ran = bench.run_with(&["bundle", "verify", "-"], "{}");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("\"rule_id\":\"SCHEMA\""), "{ran:?}");
    // Another intent gives another bundle: BS2 alone.
    let bundle = bench.run(&["transform", &example("clear.json")]).stdout;
    bench.write("bundle.json", bundle);
    let ran = bench.run(&[
        "bundle",
        "verify",
        "bundle.json",
        "--intent",
        &example("vague.json"),
    ]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("\"rule_id\":\"BS2\""), "{ran:?}");
}

#[test]
fn summarize_takes_context_bundles_alone() {
    let (_folder, bench) = bench();
    let proposal = project_root().join("vectors/proposal/ok-generated/input.json");
    let proposal = std::fs::read_to_string(proposal).unwrap();
    for other in ["[]", "\"x\"", "{}", "[{\"root_node\":{}}]", &proposal] {
        bench.write("bundle.json", other);
        let ran = bench.run(&["bundle", "summarize", "bundle.json"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{other}");
        assert!(ran.stderr.contains("it is not a context bundle"), "{ran:?}");
    }
}

#[test]
fn proposal_of_a_bundle_whose_ids_are_wrong_is_made_with_a_warning() {
    let (_folder, bench) = bench();
    let changed = project_root().join("vectors/context-bundle/bs20-content-changed/input.json");
    let bundle = std::fs::read(changed).unwrap();
    bench.write("bundle.json", bundle);
    let ran = bench.run(&["proposal", "generate", "bundle.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = "warning: ids or hashes in `bundle.json` are not those of its content";
    assert!(ran.stderr.starts_with(told), "{ran:?}");
    let bundle = bench.run(&["transform", &example("clear.json")]).stdout;
    bench.write("bundle.json", bundle);
    let ran = bench.run(&["proposal", "generate", "bundle.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
}
