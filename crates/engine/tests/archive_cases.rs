//! Every bundle of the conformance data gives the same findings as a folder and in each archive.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code: a failure is meant to stop the test"
)]

mod conformance;
mod packing;
mod recipe;

use std::path::Path;

use conformance::{data_folder, read_lines};
use packing::{KINDS, pack};
use runseal_core::verify::{Checked, Strictness, Verdict};
use runseal_engine::survey::{SurveyOptions, Tally, survey_paths};

/// What verifying one path gave, without the path.
fn looked_at(path: &Path, strictness: Strictness) -> Vec<(Option<String>, Verdict)> {
    let options = SurveyOptions {
        strictness,
        ..SurveyOptions::default()
    };
    let survey = survey_paths(&[path.to_owned()], options, &Tally::default());
    let told = |result: &Checked| (result.format.map(|f| f.to_string()), result.verdict.clone());
    survey.results().iter().map(told).collect()
}

fn check_same(name: &str, folder: &Path) -> usize {
    let mut packed = 0;
    for strictness in [Strictness::Default, Strictness::Strict] {
        let expected = looked_at(folder, strictness);
        for (kind, inner) in KINDS.iter().zip(["", "run", "", "run"]) {
            let place = tempfile::tempdir().unwrap();
            if let Some(archive) = pack(folder, place.path(), kind, inner) {
                assert_eq!(
                    looked_at(&archive, strictness),
                    expected,
                    "{name} as {kind}"
                );
                packed += 1;
            }
        }
    }
    packed
}

#[test]
fn job_bundles_give_the_same_findings_in_every_archive() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let bundles = data.join("bundles");
    let mut packed = 0;
    for case in read_lines(&data.join("cases.jsonl")) {
        let scratch = tempfile::tempdir().unwrap();
        let target = recipe::prepare(&case, &bundles, scratch.path());
        if target.is_dir() && !target.is_symlink() {
            packed += check_same(case["name"].as_str().unwrap(), &target);
        }
    }
    assert!(packed > 1000, "{packed}");
    println!("{packed} archives");
}
