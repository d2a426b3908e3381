//! The project's own job bundle vectors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::conformance::{Json, read_lines};
use runseal_core::verify::Level;
use runseal_store::job::verify::verify_job_bundle;
use runseal_survey::VerifyOptions;

fn rules(bundle: &Path, level: Level) -> BTreeSet<String> {
    let options = VerifyOptions {
        level,
        ..VerifyOptions::default()
    };
    let found = verify_job_bundle(bundle, options);
    let rules: BTreeSet<_> = found
        .report
        .findings()
        .iter()
        .map(|finding| finding.rule_id.to_owned())
        .collect();
    assert_eq!(
        found.report.is_valid(),
        rules.is_empty(),
        "findings and verdict agree"
    );
    rules
}

#[test]
fn job_bundle_vectors_violate_exactly_their_rules() {
    let cases = read_lines(&runseal_testkit::project_root().join("vectors/job/bundles.jsonl"));
    assert!(cases.len() >= 40);
    let expected = |rules: &Json| -> BTreeSet<String> {
        let rules = rules.as_array().unwrap().iter();
        rules
            .map(|rule| rule.as_str().unwrap().to_owned())
            .collect()
    };
    for case in &cases {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in case["files"].as_object().unwrap() {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.as_str().unwrap()).unwrap();
        }
        let name = &case["name"];
        let found = rules(folder.path(), Level::Document);
        assert_eq!(found, expected(&case["default"]), "{name} by default");
        if !case["strict"].is_null() {
            let found = rules(folder.path(), Level::Form);
            assert_eq!(found, expected(&case["strict"]), "{name} in strict mode");
        }
    }
}
