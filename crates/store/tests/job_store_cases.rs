//! The job database of the conformance data: gates, builds and their hashes.

use std::fs;

use crate::conformance::{data_folder, read_lines};
use runseal_core::digest::Digest;
use runseal_core::verify::{Level, Outcome};
use runseal_store::job::build::{BuildError, build_job_bundle};
use runseal_store::job::verify::verify_job_bundle;
use runseal_store::store::sqlite::SqliteReader;
use runseal_store::store::{JobId, JobRunId};
use runseal_survey::VerifyOptions;

#[test]
fn conformance_jobs_pass_their_gates_and_build_their_bundles() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let store = SqliteReader::open(&data.join("cassette.db")).unwrap();
    let cases = read_lines(&data.join("cassette.jsonl"));
    assert!(cases.len() >= 20);
    for case in &cases {
        let note = case["note"].as_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("bundle");
        let (run, job) = (
            &JobRunId::new(case["run_id"].as_str().unwrap()),
            &JobId::new(case["job_id"].as_str().unwrap()),
        );
        let built = build_job_bundle(&store, &data.join("repo"), (run, job), &target, None);
        if case["gate"] == false {
            assert!(
                matches!(built, Err(BuildError::Incomplete(_))),
                "{note}: {built:?}"
            );
            assert!(!target.exists());
            continue;
        }
        if case["build"] == false {
            let Err(BuildError::Unbundled(reasons)) = built else {
                panic!("{note}: {built:?}")
            };
            let reasons = reasons.join("\n");
            let code = match case["build_error"].as_str().unwrap() {
                "slice-all" | "slice-invalid" => "SLICE",
                "unknown-symbol" => "UNKNOWN_SYMBOL",
                "unknown-section" => "UNKNOWN_SECTION",
                "source-changed" => "SOURCE_CHANGED",
                other => panic!("unknown reason {other}"),
            };
            assert!(
                reasons.contains(code) && reasons.contains("step `"),
                "{note}: {reasons}"
            );
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{note}");
            continue;
        }
        let summary = built.unwrap().0;
        assert_eq!(summary.bundle_id.to_string(), case["bundle_id"], "{note}");
        assert_eq!(summary.root_hash.to_string(), case["root_hash"], "{note}");
        assert_eq!(
            summary.artifact_count as u64,
            case["artifacts"].as_u64().unwrap(),
            "{note}"
        );
        let manifest = fs::read(target.join("bundle.json")).unwrap();
        assert_eq!(
            Digest::of(&manifest).to_string(),
            case["bundle_json_sha256"],
            "{note}"
        );
        let options = VerifyOptions {
            level: Level::Form,
            ..VerifyOptions::default()
        };
        let found = verify_job_bundle(&target, options);
        assert_eq!(
            found.outcome(),
            Outcome::Valid,
            "{note}: {:?}",
            found.report.findings()
        );
    }
}
