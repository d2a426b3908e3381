//! Runs the examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use runseal_testkit::isolation::sandbox;
use runseal_testkit::project_root;

/// Runs an example that cargo built next to this test.
fn example(name: &str, arguments: &[&Path]) -> Output {
    let here = std::env::current_exe().unwrap();
    let built: PathBuf = here.parent().unwrap().with_file_name("examples").join(name);
    Command::new(built).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn verify_example_tells_valid_from_broken() {
    let vectors = project_root().join("vectors/context-bundle");
    let good = example("verify", &[&vectors.join("ok-complete")]);
    assert_eq!(good.status.code(), Some(0), "{}", stdout(&good));
    let bad = example("verify", &[&vectors.join("bs20-content-changed")]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("BS20"), "{}", stdout(&bad));
    assert_eq!(example("verify", &[]).status.code(), Some(3));
}

#[test]
fn describing_example_makes_a_valid_bundle() {
    let folder = tempfile::tempdir().unwrap();
    let made = example("describe_a_run", &[folder.path()]);
    assert!(made.status.success(), "{made:?}");
    let text = stdout(&made);
    let report = runseal::verify_path(text.lines().next().unwrap());
    assert!(report.is_valid(), "{report}");
}

#[test]
fn sealing_example_reproduces() {
    if sandbox().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let engine = project_root().join("examples/engines/resonance-sweep");
    // An engine gets its input in canonical form.
    let input = folder.path().join("input.json");
    let text = fs::read(engine.join("input.json")).unwrap();
    fs::write(&input, runseal::canon(&text).unwrap()).unwrap();
    let (output, artifacts) = (
        folder.path().join("output.json"),
        folder.path().join("made"),
    );
    fs::create_dir(&artifacts).unwrap();
    let ran = Command::new("sh")
        .args(["engine.sh", "sweep.awk"])
        .current_dir(&engine)
        .env("RUNSEAL_ARTIFACTS", &artifacts)
        .stdin(fs::File::open(&input).unwrap())
        .stdout(fs::File::create(&output).unwrap())
        .status();
    assert!(ran.unwrap().success());
    let out = folder.path().join("out");
    let done = example(
        "seal_and_replay",
        &[&engine, &input, &output, &out, &artifacts],
    );
    assert!(done.status.success(), "{done:?}");
    assert!(stdout(&done).contains("REPRODUCED"), "{}", stdout(&done));
}
