//! Engines and run bundles from the command line: the example engines from run to replay, what
//! is printed, and how each command ends on good and bad input.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use runseal_testkit::skip::{need_isolation, need_python};

const EPOCH: &str = "1700000000";

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn example(name: &str) -> String {
    let path = project_root().join("examples/engines").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Runs with the clock fixed.
fn at(bench: &Bench, epoch: &str, arguments: &[&str]) -> Ran {
    let mut command = bench.command(arguments);
    command.env("SOURCE_DATE_EPOCH", epoch).stdin(Stdio::null());
    command.output().unwrap().into()
}

fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(at) = waiting.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// An output of the resonance example that was produced elsewhere.
const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

/// Seals that output as run `r1`.
fn sealed(bench: &Bench) -> Ran {
    bench.write("output.json", OUTPUT);
    let engine = example("resonance-sweep");
    let input = format!("{engine}/input.json");
    at(
        bench,
        EPOCH,
        &[
            "seal",
            &engine,
            &input,
            "output.json",
            "--out",
            "out",
            "--run-id",
            "r1",
        ],
    )
}

#[test]
fn engine_that_writes_more_artifacts_than_allowed_seals_nothing() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let engine = example("resonance-sweep");
    let input = format!("{engine}/input.json");
    let run = ["engine", "run", &engine, &input, "--out", "out"];
    let ran = bench.run(&[&run[..], &["--artifact-bytes", "10"]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("more than 10 bytes"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert!(!bench.path("out").exists());
    // More than the kernel can hold it to: on disk, and the same bundle.
    let more = (runseal_sandbox::MOST_IN_MEMORY + 1).to_string();
    let ran = bench.run(&[&run[..], &["--artifact-bytes", &more]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn example_engines_run_verify_and_replay() {
    if !need_isolation() {
        return;
    }
    for name in ["resonance-sweep", "csv-statistics"] {
        if name == "csv-statistics" && !need_python() {
            continue;
        }
        let (_folder, bench) = bench();
        let engine = example(name);
        assert_eq!(
            bench.run(&["engine", "check", &engine]).stdout,
            "{\"ok\":true}\n"
        );
        let input = format!("{engine}/input.json");
        let ran = at(
            &bench,
            EPOCH,
            &["engine", "run", &engine, &input, "--out", "RUN_BUNDLE"],
        );
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.starts_with("{\"outputs_hash\":\"") && ran.stdout.ends_with("\"}\n"));
        let run_id = ran.stdout.split("\"run_id\":\"").nth(1).unwrap();
        let run_id = run_id.trim_end_matches("\"}\n");
        assert!(run_id.starts_with("run_20231114T221320Z_"), "{run_id}");
        assert!(
            ran.stdout
                .contains(&format!("\"path\":\"RUN_BUNDLE/{run_id}\""))
        );
        let bundle = format!("RUN_BUNDLE/{run_id}");
        let verified = bench.run(&["verify", &bundle, "--strict"]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        let sums = Command::new("sha256sum")
            .args(["--strict", "-c", "SHA256SUMS.txt"])
            .current_dir(bench.path(&bundle))
            .output()
            .unwrap();
        assert!(
            sums.status.success(),
            "{}",
            String::from_utf8_lossy(&sums.stdout)
        );
        let replayed = bench.run(&["replay", &bundle, "--engine", &engine, "--times", "2"]);
        assert_eq!(replayed.code, Some(0), "{}", replayed.stdout);
        assert!(replayed.stdout.contains("REPRODUCED"));
        // The same run sealed again, elsewhere, at the same time.
        let again = at(
            &bench,
            EPOCH,
            &["engine", "run", &engine, &input, "--out", "again"],
        );
        assert_eq!(again.code, Some(0));
        let other = bench.path(&format!("again/{run_id}"));
        assert_eq!(files_of(&bench.path(&bundle)), files_of(&other));
    }
}

#[test]
fn example_engine_that_is_not_deterministic_diverges_and_names_the_field() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let engine = example("dice");
    let input = format!("{engine}/input.json");
    let ran = bench.run(&[
        "engine", "run", &engine, &input, "--out", "out", "--run-id", "d",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let replayed = bench.run(&["replay", "out/d", "--engine", &engine]);
    assert_eq!(replayed.code, Some(1));
    assert!(
        replayed.stdout.contains("DIVERGED") && replayed.stdout.contains("/outputs/seed"),
        "{}",
        replayed.stdout
    );
    let json = bench.run(&["replay", "out/d", "--engine", &engine, "--format", "json"]);
    assert!(
        json.stdout.contains("\"pointer\":\"/outputs/seed\"")
            && json.stdout.contains("\"verdict\":\"DIVERGED\"")
    );
    // Another engine's folder is not the engine of the run.
    let other = bench.run(&["replay", "out/d", "--engine", &example("resonance-sweep")]);
    assert_eq!(other.code, Some(1));
    assert!(
        other.stdout.contains("NOT REPLAYABLE: replay rule 5"),
        "{}",
        other.stdout
    );
    assert!(
        other.stdout.contains("rule 6 DOES NOT HOLD"),
        "{}",
        other.stdout
    );
}

#[test]
fn example_engines_couple_through_a_verified_bundle() {
    if !need_isolation() || !need_python() {
        return;
    }
    let (_folder, bench) = bench();
    let (sweep, statistics) = (example("resonance-sweep"), example("csv-statistics"));
    let first = bench.run(&[
        "engine",
        "run",
        &sweep,
        &format!("{sweep}/input.json"),
        "--out",
        "out",
        "--run-id",
        "first",
    ]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let input = format!("{statistics}/upstream-input.json");
    let run = [
        "engine",
        "run",
        &statistics,
        &input,
        "--out",
        "out",
        "--run-id",
        "second",
        "--upstream",
        "out/first",
    ];
    let second = bench.run(&run);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert!(
        bench
            .read("out/second/RUN_OUTPUT.json")
            .contains("\"gain\":{\"count\":81")
    );
    assert_eq!(
        bench.run(&["verify", "out/second", "--strict"]).code,
        Some(0)
    );
    let replayed = bench.run(&["replay", "out/second", "--engine", &statistics]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.stdout);
    // The other way round is not allowed.
    let run = [
        "engine",
        "run",
        &sweep,
        &format!("{sweep}/input.json"),
        "--out",
        "out",
        "--run-id",
        "third",
        "--upstream",
        "out/second",
    ];
    let third = bench.run(&run);
    assert_eq!(third.code, Some(1));
    assert!(
        third.stdout.contains("\"rule_id\":\"RB9\"") && third.stderr.contains("CSV_STATISTICS")
    );
    assert!(!bench.path("out/third").exists());
}

#[test]
fn engine_without_execute_permission_is_reported() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    for (name, bytes) in files_of(Path::new(&example("dice"))) {
        bench.write(&format!("engine/{name}"), bytes);
    }
    let ran = bench.run(&[
        "engine",
        "run",
        "engine",
        "engine/input.json",
        "--out",
        "out",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("EXECUTE: ") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(!bench.path("out").exists());
}

#[test]
fn seal_prints_what_it_sealed_and_verifies_without_any_engine_run() {
    let (_folder, bench) = bench();
    let ran = sealed(&bench);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout
            .ends_with(",\"path\":\"out/r1\",\"run_id\":\"r1\"}\n"),
        "{}",
        ran.stdout
    );
    let verified = bench.run(&["verify", "out/r1", "--format", "json"]);
    assert_eq!(
        verified.stdout,
        "{\"checked\":1,\"invalid\":0,\"level\":\"integrity\",\"ok\":true,\"results\":[{\"format\":\"run-bundle\",\"ok\":true,\"path\":\"out/r1\",\"signed\":\"unsigned\",\"violations\":[]}],\"unchecked\":[\"form\"]}\n"
    );
    let again = sealed(&bench);
    assert_eq!(again.code, Some(2));
    assert!(
        again.stderr.starts_with("EXISTS: ") && again.stderr.contains("out/r1"),
        "{}",
        again.stderr
    );
}

#[test]
fn verify_tells_invalid_from_unreadable_and_takes_the_highest() {
    let (_folder, bench) = bench();
    assert_eq!(sealed(&bench).code, Some(0));
    for (name, bytes) in files_of(&bench.path("out/r1")) {
        bench.write(&format!("bad/{name}"), bytes);
    }
    bench.write("bad/RUN_INPUT.json", "{}");
    let bad = bench.run(&["verify", "bad", "--format", "json"]);
    assert_eq!(bad.code, Some(1));
    for rule in ["RB3", "RB5", "RB7"] {
        assert!(
            bad.stdout.contains(&format!("\"rule_id\":\"{rule}\"")),
            "{rule} {}",
            bad.stdout
        );
    }
    let human = bench.run(&["verify", "bad"]);
    assert!(
        human.stdout.contains("INVALID  bad (run bundle)"),
        "{}",
        human.stdout
    );
    assert_eq!(bench.run(&["verify", "none"]).code, Some(2));
    assert_eq!(
        bench.run(&["verify", "bad", "none", "out/r1"]).code,
        Some(2)
    );
    assert_eq!(bench.run(&["verify", "bad", "out/r1"]).code, Some(1));
    assert_eq!(bench.run(&["verify"]).code, Some(3));
    assert_eq!(bench.run(&["verify", "--nonsense", "bad"]).code, Some(3));
}

#[test]
fn bad_arguments_are_reported_and_leave_no_bundle() {
    let (_folder, bench) = bench();
    bench.write("output.json", OUTPUT);
    bench.write("broken.json", "{");
    bench.write("wrong.json", "{\"inputs\":{\"steps\":1}}");
    let engine = example("resonance-sweep");
    let input = format!("{engine}/input.json");
    let seal = |input: &str, output: &str, more: &[&str]| {
        let mut arguments = vec!["seal", &engine, input, output, "--out", "out"];
        arguments.extend(more);
        let ran = bench.run(&arguments);
        assert!(!bench.path("out").exists(), "{arguments:?}");
        ran
    };
    for id in ["a/b", "..", "../x", ".hidden", "", "-x", "a b"] {
        let ran = seal(&input, "output.json", &[&format!("--run-id={id}")]);
        assert_eq!(ran.code, Some(64), "{id}");
        assert!(
            ran.stderr.starts_with("RUN_ID: ") && ran.stderr.contains(id),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(seal("none.json", "output.json", &[]).code, Some(2));
    assert_eq!(seal("broken.json", "output.json", &[]).code, Some(2));
    assert_eq!(seal(&input, "none.json", &[]).code, Some(2));
    assert_eq!(seal(&input, "broken.json", &[]).code, Some(1));
    let wrong = seal("wrong.json", "output.json", &[]);
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stdout.starts_with("{\"ok\":false,\"violations\":[")
            && wrong.stdout.contains("/inputs/steps")
    );
    let epoch = at(
        &bench,
        "soon",
        &["seal", &engine, &input, "output.json", "--out", "out"],
    );
    assert_eq!(epoch.code, Some(64));
    assert!(
        epoch.stderr.starts_with("USAGE: SOURCE_DATE_EPOCH `soon`"),
        "{}",
        epoch.stderr
    );
    let missing = bench.run(&["engine", "check", "none"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(2), ""));
    bench.write("empty/x", "");
    let empty = bench.run(&["engine", "check", "empty"]);
    assert_eq!(empty.code, Some(1));
    assert_eq!(empty.stdout.matches("\"rule_id\":\"EN1\"").count(), 5);
    assert_eq!(
        bench
            .run(&["engine", "run", "empty", &input, "--out", "out"])
            .code,
        Some(1)
    );
    assert_eq!(
        bench.run(&["replay", "none", "--engine", &engine]).code,
        Some(2)
    );
    assert_eq!(
        bench.run(&["replay", "empty", "--engine", &engine]).code,
        Some(2)
    );
}

#[test]
fn replay_of_a_run_bundle_without_an_engine_is_a_usage_error() {
    let (_folder, bench) = bench();
    assert_eq!(sealed(&bench).code, Some(0));
    let ran = bench.run(&["replay", "out/r1"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("--engine DIR"), "{}", ran.stderr);
}

#[test]
fn sealed_bundle_shows_no_name_of_this_machine() {
    let (folder, bench) = bench();
    assert_eq!(sealed(&bench).code, Some(0));
    for (name, bytes) in files_of(&bench.path("out/r1")) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains(folder.path().to_str().unwrap()), "{name}");
        assert!(!text.contains(env!("CARGO_MANIFEST_DIR")), "{name}");
    }
}

/// The code blocks of docs/engines.md in the language `language`, in order.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(project_root().join("docs/engines.md")).unwrap();
    let opening = format!("```{language}\n");
    let parts = page.split(&opening).skip(1);
    parts
        .map(|part| part.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn engine_written_by_the_page_works() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let json = blocks("json");
    for (name, text) in [
        ("ENGINE_MANIFEST.json", &json[0]),
        ("INPUT_SCHEMA.json", &json[1]),
        ("OUTPUT_SCHEMA.json", &json[2]),
        ("COUPLING_RULES.json", &json[3]),
        ("engine.sh", &blocks("sh")[0]),
        ("SEALING_SPEC.md", &"# Sealing of ADDER\n".to_owned()),
    ] {
        bench.write(&format!("adder/{name}"), text);
    }
    bench.write("input.json", "{\"numbers\":[1,2,39]}");
    for command in [
        "engine check adder",
        "engine run adder input.json --out RUN_BUNDLE --run-id first",
        "verify RUN_BUNDLE/first",
        "replay RUN_BUNDLE/first --engine adder",
    ] {
        let ran = bench.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(
            ran.code,
            Some(0),
            "{command}: {} {}",
            ran.stdout,
            ran.stderr
        );
    }
    assert!(
        bench
            .read("RUN_BUNDLE/first/RUN_OUTPUT.json")
            .contains("\"outputs\":{\"sum\":42}")
    );
}

#[test]
fn engine_in_a_private_folder_runs() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    for (name, bytes) in files_of(Path::new(&example("dice"))) {
        let path = bench.write(&format!("engine/{name}"), bytes);
        let mode = if name == "engine.sh" { 0o700 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let private = fs::Permissions::from_mode(0o700);
    fs::set_permissions(bench.path("engine"), private).unwrap();
    let ran = bench.run(&[
        "engine",
        "run",
        "engine",
        "engine/input.json",
        "--out",
        "out",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Changes one member of a document of the bundle at `folder`, and puts sums and index right, as a forger would.
fn forge(folder: &Path, name: &str, edit: impl FnOnce(&mut serde_json::Value)) {
    let digest = |name: &str| {
        let bytes = fs::read(folder.join(name)).unwrap();
        runseal_core::digest::Digest::of(&bytes).to_string()
    };
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(path, text).unwrap();
    };
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let mut document = read(name);
    edit(&mut document);
    write(name, document.to_string());
    let mut index = read("ARTIFACT_INDEX.json");
    for entry in index["artifacts"].as_array_mut().unwrap() {
        entry["sha256"] = digest(entry["relative_path"].as_str().unwrap()).into();
    }
    write("ARTIFACT_INDEX.json", index.to_string());
    let sums = fs::read_to_string(folder.join("SHA256SUMS.txt")).unwrap();
    let line = |line: &str| {
        let (_, name) = line.split_once("  ").unwrap();
        format!("{}  {name}\n", digest(name))
    };
    write("SHA256SUMS.txt", sums.lines().map(line).collect());
}

#[test]
fn executable_hash_of_an_engine_is_compared_with_what_the_bundle_lists() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let engine = example("resonance-sweep");
    let input = format!("{engine}/input.json");
    let ran = bench.run(&[
        "engine", "run", &engine, &input, "--out", "out", "--run-id", "one",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(bench.run(&["verify", "out/one"]).code, Some(0));
    forge(&bench.path("out/one"), "RUN_META.json", |meta| {
        meta["engine_executable_sha256"] = "0".repeat(64).into();
    });
    let verified = bench.run(&["verify", "out/one"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("RB15"), "{verified:?}");
    let replayed = bench.run(&["replay", "out/one"]);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(replayed.stdout.contains("replay rule 6"), "{replayed:?}");
}

/// "Not run" is not a pass: a rule whose files are missing does not hold, and is not broken either.
#[test]
fn replay_rule_whose_files_are_missing_is_not_checked() {
    let vector = project_root().join("vectors/run-bundle/ok-sealed/input");
    for (file, rules) in [
        ("RUN_OUTPUT.json", &[3][..]),
        ("SHA256SUMS.txt", &[4]),
        ("RUN_META.json", &[5, 6]),
        ("RUN_INPUT.json", &[2]),
    ] {
        let (_folder, bench) = bench();
        for (name, bytes) in files_of(&vector) {
            if name != file {
                let path = bench.path("run").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
        let ran = bench.run(&["replay", "run"]);
        assert_eq!(ran.code, Some(1), "{file}: {ran:?}");
        for rule in rules {
            let says = format!("rule {rule} NOT CHECKED");
            let text = format!("{}{}", ran.stdout, ran.stderr);
            assert!(text.contains(&says), "{file}: {says}: {text}");
        }
    }
}

#[test]
fn receipts_that_do_not_form_a_chain_get_a_verdict() {
    let (_folder, bench) = bench();
    let receipt = project_root().join("vectors/receipt/ok-signed/input.json");
    fs::copy(&receipt, bench.path("a.json")).unwrap();
    fs::copy(&receipt, bench.path("b.json")).unwrap();
    let ran = bench.run(&["receipt", "verify", "a.json", "b.json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains(r#""ok":false"#), "{ran:?}");
    assert!(ran.stdout.contains(r#""rule_id":"RC3""#), "{ran:?}");
}
