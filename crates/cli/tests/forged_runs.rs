//! Run bundles whose hashes are all right and whose statements are not: what is shown, what is verified and what is
//! replayed has to be the same run.

use std::fs;

use crate::forge_support::Forged;
use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::MARKER;

fn listed(path: &str, bytes: &[u8]) -> Value {
    let mut entry = Value::object([
        ("path", path),
        ("mode", "644"),
        ("sha256", &Digest::of(bytes).to_string()),
        ("stored", &format!("engine/{path}")),
    ]);
    entry.insert("bytes", bytes.len() as u64);
    entry
}

/// An engine that prints an answer that was written for it, in the clothes of a recorded command.
#[test]
fn engine_with_the_code_of_recorded_commands_is_not_taken_for_one() {
    let Some(forged) = Forged::of_engine() else {
        return;
    };
    fs::remove_dir_all(forged.path("engine")).unwrap();
    fs::remove_dir_all(forged.path("artifacts")).unwrap();
    forged.open_schemas();
    forged.edit("ENGINE_MANIFEST.json", |manifest| {
        manifest.insert("engine_code", "RECORDED_COMMAND");
        let command = Value::array(["sh", "engine.sh", "answer.txt"]);
        manifest.insert("execution", Value::object([("command", command)]));
    });
    let mut input = Value::object([("argv", Value::array(["python3", "train.py"]))]);
    for list in ["files", "inputs", "links"] {
        input.insert(list, Value::Array(Vec::new()));
    }
    forged.put("RUN_INPUT.json", &input);
    forged.edit("RUN_OUTPUT.json", |output| {
        let engine = [
            ("engine_code", "RECORDED_COMMAND"),
            ("engine_version", "1.0.0"),
        ];
        *output = Value::object([("engine", Value::object(engine))]);
        output.insert("semantics", "RAW_TRUTH");
        output.insert("exit_status", 0_u64);
        output.insert("failed", false);
    });
    let script = b"cat >/dev/null; cat \"$1\"\n";
    let answer = fs::read(forged.path("RUN_OUTPUT.json")).unwrap();
    forged.write("engine/engine.sh", script);
    forged.write("engine/answer.txt", &answer);
    forged.edit("RUN_ENVIRONMENT.json", |environment| {
        let files = [listed("answer.txt", &answer), listed("engine.sh", script)];
        environment.insert("engine_files", Value::array(files));
    });
    forged.edit("RUN_META.json", |meta| {
        meta.insert("engine_code", "RECORDED_COMMAND");
        if let Value::Object(members) = meta {
            members.remove(&"engine_executable_sha256".into());
        }
    });
    forged.seal();
    assert_eq!(forged.broken_rules(""), ["RB10"]);
    assert_eq!(forged.broken_rules(" --lenient"), ["RB10"]);
    let replayed = forged.run("replay x");
    assert!(
        replayed.stdout.contains("NOT REPLAYABLE"),
        "{}",
        replayed.stdout
    );
    let shown = forged.run("inspect x").stdout;
    assert!(
        shown.contains("\n  Run of RECORDED_COMMAND 1.0.0\n"),
        "{shown}"
    );
    assert!(!shown.contains("Succeeded"), "{shown}");
    // Without the code it is what it is: the run of an engine, shown with the command that a replay executes.
    for name in ["ENGINE_MANIFEST.json", "RUN_META.json"] {
        forged.edit(name, |value| {
            value.insert("engine_code", "MINE");
        });
    }
    forged.edit("RUN_OUTPUT.json", |output| {
        let engine = [("engine_code", "MINE"), ("engine_version", "1.0.0")];
        output.insert("engine", Value::object(engine));
    });
    forged.seal();
    assert_eq!(forged.broken_rules(""), [""; 0]);
    let shown = forged.run("inspect x").stdout;
    assert!(shown.contains("\n  Run of MINE 1.0.0\n"), "{shown}");
    assert!(shown.contains("sh engine.sh answer.txt"), "{shown}");
    let page = forged.page();
    assert!(!page.contains("exit status 0") && !page.contains("Succeeded"));
}

#[test]
fn mark_of_recorded_commands_without_their_code_is_a_finding() {
    let Some(forged) = Forged::recorded(&["sh", "-c", "echo ok"]) else {
        return;
    };
    for name in ["ENGINE_MANIFEST.json", "RUN_META.json"] {
        forged.edit(name, |value| {
            value.insert("engine_code", "MINE");
        });
    }
    forged.open_schemas();
    forged.edit("RUN_OUTPUT.json", |output| {
        let engine = [("engine_code", "MINE"), ("engine_version", "1.0.0")];
        output.insert("engine", Value::object(engine));
    });
    forged.seal();
    assert!(
        forged
            .broken_rules(" --lenient")
            .contains(&"RB10".to_owned())
    );
}

#[test]
fn role_of_the_index_never_makes_a_file_an_output_or_a_log() {
    let Some(mut forged) = Forged::recorded(&["sh", "-c", "echo measured 3"]) else {
        return;
    };
    forged.write("x/stdout.txt", "measured 42\n");
    forged.write("outputs/result.csv", "accuracy\n0.99\n");
    forged.roles = [
        ("logs/stdout.txt", "META"),
        ("outputs/result.csv", "ARTIFACT"),
        ("x/stdout.txt", "LOG"),
    ]
    .into();
    forged.seal();
    assert_eq!(forged.broken_rules(" --lenient"), ["RB11"]);
    // Without the role that contradicts its path, only the form is wrong.
    forged.roles.remove("logs/stdout.txt");
    forged.seal();
    assert_eq!(forged.broken_rules(""), [""; 0]);
    assert_eq!(forged.broken_rules(" --strict"), ["RB19"]);
    let page = forged.page();
    assert!(page.contains("measured 3") && !page.contains("measured 42"));
    assert!(page.contains("Not part of the run") && !page.contains("0.99"));
    let shown = forged.run("inspect x").stdout;
    let (before, others) = shown.split_once("Not part of the run").unwrap();
    assert!(!before.contains("outputs/result.csv"), "{before}");
    assert!(others.contains("outputs/result.csv"), "{others}");
    let replayed = forged.run("replay x");
    assert_eq!(replayed.code, Some(0), "{}", replayed.stdout);
    for said in [
        "x: REPRODUCED, without 2 files that are not part of the run\n",
        "not part of the run: x/stdout.txt",
        "not part of the run: outputs/result.csv",
    ] {
        assert!(replayed.stdout.contains(said), "{}", replayed.stdout);
    }
    let replayed = forged.run("replay x --format json").stdout;
    assert!(
        replayed.contains(r#""unused_files":["outputs/result.csv","x/stdout.txt"]"#),
        "{replayed}"
    );
}

#[test]
fn documents_of_other_kinds_of_runs_are_not_shown_as_this_runs() {
    let Some(forged) = Forged::recorded(&["sh", "-c", "echo ok"]) else {
        return;
    };
    forged.write("RUN_PARAMETERS.json", r#"{"learning_rate":"0.125"}"#);
    forged.write("RUN_CONTEXT_STRIPPED.json", r#"{"stripped":["/bias"]}"#);
    forged.seal();
    assert_eq!(forged.broken_rules(" --strict"), ["RB19"]);
    let page = forged.page();
    assert!(!page.contains("learning_rate") && !page.contains("/bias"));
    let replayed = forged.run("replay x").stdout;
    assert!(
        replayed.contains("not part of the run: RUN_PARAMETERS.json"),
        "{replayed}"
    );
}

#[test]
fn logs_and_conversations_are_those_of_recorded_commands_only() {
    let Some(forged) = Forged::of_engine() else {
        return;
    };
    forged.write("stdin.bin", "typed by nobody\n");
    forged.write(
        "model_io.json",
        r#"{"interactions":[{"prompt":"said by nobody"}]}"#,
    );
    forged.write("inputs/data.csv", "given by nobody\n");
    forged.seal();
    // Of an engine nothing lists files in `inputs/`, so they do not belong there at all.
    assert_eq!(forged.broken_rules(""), ["RB13"]);
    fs::remove_dir_all(forged.path("inputs")).unwrap();
    forged.seal();
    assert_eq!(forged.broken_rules(""), [""; 0]);
    assert_eq!(forged.broken_rules(" --strict"), ["RB19"]);
    let page = forged.page();
    assert!(!page.contains("typed by nobody") && !page.contains("said by nobody"));
}

#[test]
fn members_that_a_replay_does_not_compare_are_findings() {
    let Some(forged) = Forged::recorded(&["sh", "-c", "echo ok"]) else {
        return;
    };
    forged.open_schemas();
    let marker = || Value::object([(MARKER, "0")]);
    let (input, output) = (
        forged.read("RUN_INPUT.json"),
        forged.read("RUN_OUTPUT.json"),
    );
    let cases: [(&str, &str, Value); 8] = [
        ("RUN_OUTPUT.json", "accuracy", Value::from("0.99")),
        ("RUN_INPUT.json", "approved_by", Value::from("the board")),
        ("RUN_OUTPUT.json", "outputs", marker()),
        ("RUN_OUTPUT.json", "folders", marker()),
        ("RUN_OUTPUT.json", "stdout", Value::Null),
        ("RUN_OUTPUT.json", "exit_status", Value::from(256_u64)),
        ("RUN_INPUT.json", "argv", Value::from("echo ok")),
        ("RUN_INPUT.json", "links", Value::Null),
    ];
    for (name, member, value) in cases {
        forged.put("RUN_INPUT.json", &input);
        forged.put("RUN_OUTPUT.json", &output);
        forged.edit(name, |document| {
            document.insert(member, value);
        });
        forged.seal();
        let broken = forged.broken_rules("");
        assert!(
            broken.contains(&"RB18".to_owned()),
            "{name} {member}: {broken:?}"
        );
    }
}

#[test]
fn variable_of_a_parameter_that_there_is_not_is_a_finding() {
    let Some(forged) = Forged::recorded(&["sh", "-c", "echo ok"]) else {
        return;
    };
    for (name, member) in [
        ("RUN_INPUT.json", "environment"),
        ("RUN_ENVIRONMENT.json", "variables"),
    ] {
        forged.edit(name, |document| {
            let mut variables = document.get(member).unwrap().clone();
            variables.insert("RUNSEAL_PARAM_seed", "7");
            document.insert(member, variables);
        });
    }
    forged.seal();
    assert_eq!(forged.broken_rules(""), ["RB15"]);
}

#[test]
fn gaps_that_every_recording_has_cannot_be_left_out() {
    let Some(forged) = Forged::recorded(&["sh", "-c", "echo ok"]) else {
        return;
    };
    let environment = forged.read("RUN_ENVIRONMENT.json");
    forged.edit("RUN_ENVIRONMENT.json", |environment| {
        let mut observation = environment.get("observation").unwrap().clone();
        observation.insert("gaps", Value::Array(Vec::new()));
        environment.insert("observation", observation);
    });
    forged.seal();
    assert_eq!(forged.broken_rules(""), ["RB15"]);
    forged.put("RUN_ENVIRONMENT.json", &environment);
    forged.edit("RUN_ENVIRONMENT.json", |environment| {
        environment.insert("sandbox", Value::object([("level", "none")]));
    });
    forged.seal();
    assert_eq!(forged.broken_rules(""), ["RB15"]);
}

#[test]
fn folder_without_files_is_a_finding_in_folders_and_archives() {
    let Some(forged) = Forged::recorded(&["sh", "-c", "mkdir left; echo ok"]) else {
        return;
    };
    // What a command left empty is a name in a document, not a folder of the bundle.
    assert_eq!(forged.broken_rules(" --strict"), [""; 0]);
    fs::create_dir_all(forged.path("artifacts/APPROVED")).unwrap();
    assert_eq!(forged.broken_rules(""), ["RB20"]);
    let packed = std::process::Command::new("tar")
        .args(["-cf", "x.tar", "x"])
        .current_dir(forged.bench.path(""))
        .status();
    assert!(packed.unwrap().success());
    let verified = forged.run("verify x.tar");
    assert_eq!(verified.code, Some(1), "{}", verified.stdout);
    assert!(verified.stdout.contains("RB20"), "{}", verified.stdout);
}
