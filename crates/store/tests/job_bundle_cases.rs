//! The bundles of the conformance data, verified one by one.

use crate::conformance::{Json, data_folder, read_lines};
use crate::recipe::prepare;
use runseal_core::formats::Format;
use runseal_core::verify::{Level, Outcome, Surface, exit_code};
use runseal_store::job::verify::verify_job_bundle;
use runseal_survey::VerifyOptions;

#[test]
fn conformance_bundles_get_the_expected_verdict() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let bundles = data.join("bundles");
    let mut wrong = Vec::new();
    let cases = read_lines(&data.join("cases.jsonl"));
    for case in &cases {
        let scratch = tempfile::tempdir().unwrap();
        let target = prepare(case, &bundles, scratch.path());
        let found = verify_job_bundle(&target, VerifyOptions::default());
        let expect = &case["expect"];
        let exit = exit_code(Surface::Format(Format::JobBundle), found.outcome());
        let mut differences = Vec::new();
        if expect["ok"] != found.report.is_valid() {
            differences.push(format!("ok {}", found.report.is_valid()));
        }
        if expect["exit"] != exit {
            differences.push(format!("exit {exit}"));
        }
        if Json::from(found.check()) != expect["check"] {
            differences.push(format!("check {:?}", found.check()));
        }
        if let Some(facts) = case.get("facts") {
            let summary = found.summary.expect("a valid bundle has a summary");
            assert_eq!(
                Json::from(summary.bundle_id.to_string()),
                facts["bundle_id"]
            );
            assert_eq!(
                Json::from(summary.root_hash.to_string()),
                facts["root_hash"]
            );
            assert_eq!(Json::from(summary.artifact_count), facts["artifacts"]);
        }
        if let Some(faults) = case.get("faults").filter(|_| expect["check"] != 2) {
            let mut checks: Vec<u32> = found
                .report
                .findings()
                .iter()
                .map(|finding| finding.rule_id[2..].parse().unwrap())
                .collect();
            checks.sort_unstable();
            checks.dedup();
            if Json::from(checks.clone()) != *faults {
                differences.push(format!("faults {checks:?}, expected {faults}"));
            }
        }
        if !differences.is_empty() {
            let findings = found.report.findings();
            wrong.push(format!(
                "{}: {} {findings:?}",
                case["name"],
                differences.join(", ")
            ));
        }
    }
    assert!(cases.len() > 250);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn valid_conformance_bundles_are_valid_in_strict_mode() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let options = VerifyOptions {
        level: Level::Form,
        ..VerifyOptions::default()
    };
    let mut wrong = Vec::new();
    for case in read_lines(&data.join("cases.jsonl")) {
        if case["expect"]["ok"] == true && case.get("recipe").is_none() {
            let name = case["name"].as_str().unwrap();
            let found = verify_job_bundle(&data.join("bundles").join(name), options);
            if found.outcome() != Outcome::Valid {
                wrong.push(format!("{name}: {:?}", found.report.findings()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
