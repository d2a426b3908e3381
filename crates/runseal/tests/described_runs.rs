//! Runs that a program describes itself: what is sealed, and what is refused.

use std::fs;
use std::path::Path;

use runseal::{Level, Recorder, ReplayOptions, SealOptions, Verdict, Verify};

fn begin() -> Recorder {
    Recorder::begin_as("TRAINING", "1.0", &["python3".into(), "train.py".into()]).unwrap()
}

fn read(bundle: &Path, name: &str) -> String {
    fs::read_to_string(bundle.join(name)).unwrap()
}

#[test]
fn described_run_is_an_ordinary_run_bundle() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data.json");
    fs::write(&data, "{ \"b\": 1,\n \"a\": 2 }").unwrap();
    let mut run = begin();
    run.param("rate", 0.1).unwrap();
    run.param("layers", runseal::Parameter::Json("[64, 32]".into()))
        .unwrap();
    run.metric("loss", 0.5, Some(1)).unwrap();
    run.metric("loss", 0.25, Some(2)).unwrap();
    run.input(&data).unwrap();
    // A file is kept as it was when it was named.
    fs::write(&data, "changed").unwrap();
    run.artifact_bytes("tables/loss.csv", b"step,loss\n1,0.5\n")
        .unwrap();
    let out = folder.path().join("runs");
    let sealed = run
        .seal_with(&out, &SealOptions::new().run_id("first"))
        .unwrap();

    assert_eq!(sealed.path(), out.join("first"));
    let report = Verify::new().level(Level::Form).paths(&[sealed.path()]);
    assert!(report.is_valid(), "{report}");
    let input = read(sealed.path(), "RUN_INPUT.json");
    assert!(
        input.contains(r#""parameters":{"layers":[64,32],"rate":0.1}"#),
        "{input}"
    );
    assert!(input.contains(r#""path":"data.json""#), "{input}");
    let output = read(sealed.path(), "RUN_OUTPUT.json");
    assert!(output.contains(r#""metrics":{"loss":0.25}"#), "{output}");
    assert!(output.contains(r#"{"step":1,"value":0.5}"#), "{output}");
    let kept = read(sealed.path(), "exact/engine/data.json.bytes");
    assert_eq!(kept, "{ \"b\": 1,\n \"a\": 2 }");
    let environment = read(sealed.path(), "RUN_ENVIRONMENT.json");
    assert!(
        environment.contains(r#""level":"declared""#),
        "{environment}"
    );
    assert!(
        environment.contains("nothing was observed"),
        "{environment}"
    );

    // It does not say how to run it again, and replay does not pretend to.
    let replay = runseal::replay(sealed.path(), &ReplayOptions::new()).unwrap();
    assert_eq!(replay.verdict(), Verdict::NotReplayable { rule: 6 });

    // A changed byte is found.
    let path = sealed.path().join("artifacts/tables/loss.csv");
    let mut rights = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o644);
    fs::set_permissions(&path, rights).unwrap();
    fs::write(&path, "step,loss\n1,0.1\n").unwrap();
    assert!(!runseal::verify_path(sealed.path()).is_valid());
}

#[test]
fn failed_run_is_shown_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = begin();
    run.failed("ValueError: no data");
    let sealed = run.seal(folder.path()).unwrap();
    assert!(runseal::verify_path(sealed.path()).is_valid());
    let shown = runseal::inspect(sealed.path()).unwrap().to_string();
    assert!(shown.contains("Failed"), "{shown}");
    assert!(read(sealed.path(), "RUN_OUTPUT.json").contains("ValueError: no data"));
}

#[test]
fn run_that_cannot_be_sealed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = begin()
        .input(folder.path().join("nothing.csv"))
        .unwrap_err();
    assert_eq!(missing.code(), "NOT_FOUND");
    assert_eq!(
        begin().metric("loss", f64::NAN, None).unwrap_err().code(),
        "NUMBER"
    );
    assert_eq!(
        begin().artifact_bytes("../up", b"").unwrap_err().code(),
        "NAME"
    );
    assert_eq!(Recorder::begin("", "1").unwrap_err().code(), "NAME");
    assert_eq!(
        Recorder::begin("RECORDED_COMMAND", "1").unwrap_err().code(),
        "NAME"
    );
    let mut twice = begin();
    twice.artifact_bytes("a", b"1").unwrap();
    assert_eq!(twice.artifact_bytes("a", b"2").unwrap_err().code(), "NAME");

    // A member that document 004 forbids in JSON artifacts.
    let mut forbidden = begin();
    forbidden
        .artifact_bytes("x.json", br#"{"user_email":"a@b"}"#)
        .unwrap();
    let refused = forbidden.seal(folder.path().join("out")).unwrap_err();
    assert_eq!(refused.code(), "REJECTED");
    assert_eq!(refused.findings()[0].rule_id, "RB8");
    let options = SealOptions::new().run_id("no/path");
    assert_eq!(
        begin()
            .seal_with(folder.path(), &options)
            .unwrap_err()
            .code(),
        "RUN_ID"
    );
    assert!(!folder.path().join("out").exists());

    // An id that is taken.
    let options = SealOptions::new().run_id("one");
    begin().seal_with(folder.path(), &options).unwrap();
    let taken = begin().seal_with(folder.path(), &options).unwrap_err();
    assert!(taken.to_string().contains("one"), "{taken}");
}

#[test]
fn described_run_can_be_redactable() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = begin();
    run.param("name", "Ada").unwrap();
    let sealed = run
        .seal_with(folder.path(), &SealOptions::new().redactable())
        .unwrap();
    assert!(sealed.seed().unwrap().exists());
    assert!(runseal::verify_path(sealed.path()).is_valid());
}
