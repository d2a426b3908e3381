//! What copies show is judged by the rules of what they are copies of, whatever little is withheld.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use runseal_core::canon::Value;
use runseal_core::formats::redacted::documents::{FileKind, REDACTION, REDACTION_SALT};
use runseal_core::formats::redacted::{RULES, RedactedView};
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_core::verify::{Level, run_rules};
use runseal_redact::{DropKind, render_copy};

use crate::redaction_tables::{Files, bytes, plan, seal};

/// What sealing for redaction makes, or copies do without.
const LISTS: [&str; 4] = [
    REDACTION,
    REDACTION_SALT,
    "ARTIFACT_INDEX.json",
    "SHA256SUMS.txt",
];

/// The files of a vector.
fn vector(name: &str) -> Files {
    fn read(folder: &Path, above: &str, files: &mut Files) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let name = format!("{above}{name}");
            if path.is_dir() {
                read(&path, &format!("{name}/"), files);
            } else if !LISTS.contains(&name.as_str()) {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut files = Files::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    let folder = Path::new(folder).join(name).join("input");
    read(&folder, "", &mut files);
    files
}

/// The value at `steps`, to be changed.
fn at<'a>(value: &'a mut Value, steps: &str) -> &'a mut Value {
    steps
        .split('/')
        .skip(1)
        .fold(value, |value, step| match value {
            Value::Object(members) => members.get_mut(&step.into()).unwrap(),
            Value::Array(elements) => &mut elements[step.parse::<usize>().unwrap()],
            _ => panic!("nothing is below {steps}"),
        })
}

/// The files with another value at a place.
fn forge(files: &Files, file: &str, pointer: &str, value: impl Into<Value>) -> Files {
    let mut document = FileKind::Json.read(&files[file]).unwrap();
    *at(&mut document, pointer) = value.into();
    let mut files = files.clone();
    files.insert(file.to_owned(), bytes(&document));
    files
}

/// What is found in a copy, without `dropped`, of a bundle that was sealed as it is.
fn find(format: &str, files: &Files, dropped: &str) -> Vec<String> {
    let original = seal(format, files);
    let plan = plan(&original, DropKind::Place(dropped.to_owned())).unwrap();
    let contents = render_copy(&original, &plan).unwrap();
    let mut copy: BTreeMap<String, Vec<u8>> = contents.documents;
    let copied = contents.copied.into_iter();
    copy.extend(copied.map(|file| (file.to, files[&file.from].clone())));
    let copy = copy.into_iter();
    let source = MemorySource::new(copy.map(|(path, content)| {
        let path = SafePath::parse(&path).unwrap();
        (path, content)
    }));
    let view = RedactedView::collect(&source).unwrap();
    let report = run_rules(&RULES, &view, Level::Integrity);
    let findings = report.findings().iter();
    findings
        .map(|finding| format!("{} {}", finding.rule_id, finding.message))
        .collect()
}

#[test]
fn copy_of_a_pack_with_failed_results_beside_an_accepted_run_is_not_intact() {
    let honest = vector("pack/ok-executed");
    let action = forge(
        &honest,
        "evidence.json",
        "/action_results/0/status",
        "failure",
    );
    let test = forge(&honest, "evidence.json", "/test_results/0/passed", false);
    for (dropped, forgeries) in [
        ("runner.json#/platform", &[&action, &test][..]),
        // With it go all results of tests.
        ("run.json#/intent/path", &[&action]),
        ("evidence.json#/executor_id", &[&action]),
    ] {
        let found = find("pack", &honest, dropped);
        assert_eq!(found, [""; 0], "{dropped}");
        for forged in forgeries {
            let found = find("pack", forged, dropped);
            let is_told = |found: &String| found.contains("beside an accepted run");
            assert!(found.iter().any(is_told), "{dropped}: {found:?}");
        }
    }
}

#[test]
fn copy_of_a_job_bundle_with_a_manifest_that_contradicts_itself_is_not_intact() {
    let honest = vector("job-bundle/ok-symbols");
    let artifact = honest.keys().find(|path| path.starts_with("artifacts/"));
    let artifact = artifact.unwrap().clone();
    let manifest = |pointer: &str, value: Value| forge(&honest, "bundle.json", pointer, value);
    let mut steps = FileKind::Json.read(&honest["bundle.json"]).unwrap();
    let Value::Array(steps) = at(&mut steps, "/steps") else {
        panic!("there are no steps");
    };
    steps.reverse();
    let nothing = Value::array(Vec::<Value>::new());
    let root = "bundle.json#/hashes/root_hash";
    assert_eq!(find("job-bundle", &honest, root), [""; 0]);
    assert_eq!(find("job-bundle", &honest, &artifact), [""; 0]);
    for (rule, forged, dropped) in [
        ("JB11", manifest("/plan_hash", "0".repeat(64).into()), root),
        ("JB2", manifest("/steps/0/op", "DELETE".into()), root),
        ("JB2", manifest("/steps/0/op", "DELETE".into()), &artifact),
        ("JB2", manifest("/bundle_version", "9.9".into()), &artifact),
        ("JB3", manifest("/steps", Value::Array(steps.clone())), root),
        ("JB14", manifest("/inputs/slices", nothing), root),
    ] {
        let found = find("job-bundle", &forged, dropped);
        let told = format!("RD7 {rule}: ");
        let is_told = |found: &String| found.starts_with(&told);
        assert!(found.iter().any(is_told), "{rule} {dropped}: {found:?}");
    }
}

#[test]
fn copy_with_calls_to_models_that_contradict_themselves_is_not_intact() {
    let honest = vector("run-bundle/ok-recorded-models");
    for dropped in [
        "logs/stderr.txt",
        "model_io.json#/interactions/0/request/body",
    ] {
        let found = find("run-bundle", &honest, dropped);
        assert_eq!(found, [""; 0], "{dropped}");
    }
    let call = "/interactions/1";
    for (member, rule) in [("response_content", "MI7"), ("request/path", "MI13")] {
        let forged = forge(
            &honest,
            "model_io.json",
            &format!("{call}/{member}"),
            "/yes",
        );
        for dropped in [
            "logs/stderr.txt",
            "model_io.json#/interactions/0/request/body",
        ] {
            let found = find("run-bundle", &forged, dropped);
            let told = format!("RD7 RB14: {rule} ");
            let is_told = |found: &String| found.starts_with(&told);
            assert!(found.iter().any(is_told), "{rule} {dropped}: {found:?}");
        }
    }
}
