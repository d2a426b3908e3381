//! Replaying context bundles and packs from their intents; what is answered about what does not hold, and which
//! options fit what.

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let intent = project_root().join("examples/intents/clear.json");
    bench.write("intent.json", std::fs::read(intent).unwrap());
    bench.write("other.json", r#"{"goal":"Something else"}"#);
    bench.write("refused.json", r#"{"goal":""}"#);
    (folder, bench)
}

#[test]
fn replay_context_bundle_from_its_intent_is_derived_again_and_from_another_is_not() {
    let (_folder, bench) = bench();
    assert_eq!(
        bench
            .run(&["transform", "intent.json", "-o", "b.json"])
            .code,
        Some(0)
    );
    let same = bench.run(&["replay", "b.json", "--intent", "intent.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.starts_with("b.json: RE-DERIVED\n"), "{same:?}");
    let other = bench.run(&[
        "replay",
        "b.json",
        "--intent",
        "other.json",
        "--format",
        "json",
    ]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.stdout.contains(r#""verdict":"DIVERGED""#),
        "{other:?}"
    );
    assert!(
        other.stdout.contains("member `source_intent_hash` differs"),
        "{other:?}"
    );
    let without = bench.run(&["replay", "b.json"]);
    assert_eq!(without.code, Some(64));
    assert!(without.stderr.contains("--intent FILE"), "{without:?}");
}

#[test]
fn replay_pack_from_its_intent_compares_intent_hash_and_bundle() {
    let (_folder, bench) = bench();
    let made = bench.run(&[
        "run",
        "intent.json",
        "--mode",
        "plan-only",
        "--pack",
        "pack",
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let same = bench.run(&["replay", "pack", "--intent", "intent.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert_eq!(same.stdout.matches("  same ").count(), 2, "{same:?}");
    assert!(same.stdout.starts_with("pack: RE-DERIVED\n"), "{same:?}");
    assert!(
        same.stdout.contains("note: the run executed nothing"),
        "{same:?}"
    );
    let alone = bench.run(&["replay", "pack"]);
    assert_eq!(alone.code, Some(64), "{alone:?}");
    let other = bench.run(&["replay", "pack", "--intent", "other.json"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.stdout.contains("different: the intent's hash"),
        "{other:?}"
    );
    assert!(
        other.stdout.contains("different: the bundle's hash"),
        "{other:?}"
    );
}

/// The path of a vector's input.
fn vector(name: &str) -> String {
    let path = project_root().join("vectors").join(name).join("input");
    path.to_str().unwrap().to_owned()
}

#[test]
fn replay_refuses_options_that_do_not_fit_what_is_replayed() {
    let (_folder, bench) = bench();
    bench.run(&["transform", "intent.json", "-o", "b.json"]);
    let of_runs = [
        &["--engine", "nope"][..],
        &["--input", "nope"],
        &["--same-environment"],
        &["--times", "3"],
        &["--report", "x.html"],
        &["--timeout", "5"],
        &["--memory", "5"],
        &["--disk", "5"],
        &["--files", "5"],
        &["--processes", "5"],
        &["--sandbox", "none"],
        &["--fork-at", "1", "--fork-out", "q"],
    ];
    let intent = &["--intent", "intent.json"][..];
    let proposal = &["--proposal", "nope"][..];
    let run = vector("run-bundle/ok-recorded");
    let job = vector("job-bundle/ok-handbook");
    let mut cases: Vec<(&str, Vec<&[&str]>)> = vec![
        (run.as_str(), vec![intent, proposal]),
        (job.as_str(), vec![intent, proposal]),
        ("b.json", vec![proposal]),
    ];
    let pack = vector("pack/ok-executed");
    for path in [pack.as_str(), job.as_str(), "b.json"] {
        cases.push((path, of_runs.to_vec()));
    }
    for (path, options) in cases {
        for option in options {
            let ran = bench.run(&[&["replay", path][..], option].concat());
            assert_eq!(ran.code, Some(64), "{path} {option:?}: {ran:?}");
            let told = format!("USAGE: `{}` is for ", option[0]);
            assert!(ran.stderr.starts_with(&told), "{path}: {ran:?}");
            assert_eq!(ran.stdout, "", "{path} {option:?}");
        }
    }
    // Some fit run bundles, and not every one of them.
    let engine_run = vector("run-bundle/ok-sealed");
    let fork = ["--fork-at", "1", "--fork-out", "q"];
    let repeated = [&fork[..], &["--times", "2"]].concat();
    for (path, options, told) in [
        (&run, &fork[..], "asked no models"),
        (&run, &repeated[..], "--times"),
        (
            &engine_run,
            &["--input", "intent.json"][..],
            "all of its input",
        ),
    ] {
        let ran = bench.run(&[&["replay", path.as_str()][..], options].concat());
        assert_eq!(ran.code, Some(64), "{options:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{options:?}: {ran:?}");
    }
}

#[test]
fn replay_of_a_job_bundle_has_a_verdict_for_people_and_a_receipt_for_programs() {
    let (_folder, bench) = bench();
    let job = vector("job-bundle/ok-handbook");
    let told = bench.run(&["replay", &job]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let first = format!("{job}: REPRODUCED\n  same steps: ");
    assert!(told.stdout.starts_with(&first), "{told:?}");
    let receipt = bench.run(&["replay", &job, "--format", "json"]);
    assert_eq!(receipt.code, Some(0), "{receipt:?}");
    assert_eq!(receipt.stdout, bench.run(&["job", "replay", &job]).stdout);
    let hash = receipt.stdout.split("\"receipt_hash\":\"").nth(1).unwrap();
    let hash = hash.split('"').next().unwrap();
    assert!(told.stdout.contains(hash), "{told:?}");
}

#[test]
fn replay_of_what_does_not_hold_is_not_replayable_in_every_format() {
    let (_folder, bench) = bench();
    let copied = |name: &str, from: String| {
        let copy = std::process::Command::new("cp")
            .args(["-r", &from])
            .arg(bench.path(name))
            .status();
        assert!(copy.unwrap().success());
    };
    copied("pack", vector("pack/ok-executed"));
    copied("job", vector("job-bundle/ok-handbook"));
    bench.write("pack/more.txt", "x");
    let artifact = std::fs::read_dir(bench.path("job/artifacts")).unwrap();
    let artifact = artifact.map(|entry| entry.unwrap().path()).min().unwrap();
    std::fs::write(artifact, "changed\n").unwrap();
    bench.write("engine/ENGINE_MANIFEST.json", "{}");
    let run = vector("run-bundle/ok-sealed");
    for (path, more, title) in [
        ("pack", &[][..], "pack"),
        ("job", &[][..], "job bundle"),
        (run.as_str(), &["--engine", "engine"][..], "engine"),
    ] {
        let told = bench.run(&[&["replay", path][..], more].concat());
        assert_eq!(told.code, Some(1), "{told:?}");
        let first = format!(": NOT REPLAYABLE: the {title} is not valid\n");
        assert!(told.stdout.contains(&first), "{told:?}");
        assert!(!told.stdout.contains("{\"ok\""), "{told:?}");
        let json = bench.run(&[&["replay", path, "--format", "json"][..], more].concat());
        assert_eq!(json.code, Some(1), "{json:?}");
        let answer: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!(answer["verdict"], "NOT REPLAYABLE", "{answer}");
        assert_eq!(answer["ok"], false);
        assert!(!answer["violations"].as_array().unwrap().is_empty());
        assert_eq!(answer.get("check").is_some(), path == "job");
    }
}

#[test]
fn replay_refused_pack_compares_the_reason() {
    let (_folder, bench) = bench();
    bench.run(&[
        "run",
        "refused.json",
        "--mode",
        "plan-only",
        "--pack",
        "pack",
    ]);
    let same = bench.run(&["replay", "pack", "--intent", "refused.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let other = bench.run(&["replay", "pack", "--intent", "intent.json"]);
    assert_eq!(other.code, Some(1), "{other:?}");
}
