//! Every bundle of the conformance data gives the same findings as a folder and in each archive.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code: a failure is meant to stop the test"
)]

mod conformance;
mod pack_recipe;
mod packing;
mod recipe;

use std::fs;
use std::path::Path;

use conformance::{data_folder, read_lines};
use packing::{KINDS, pack};
use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_core::verify::{Checked, Level, Verdict};
use runseal_engine::survey::{SurveyOptions, Tally, survey_paths};
use runseal_testkit::{for_each_line, text};

/// What verifying one path gave, without the path.
fn looked_at(path: &Path, level: Level) -> Vec<(Option<String>, Verdict)> {
    let options = SurveyOptions {
        level,
        ..SurveyOptions::default()
    };
    let survey = survey_paths(&[path.to_owned()], options, &Tally::default());
    let told = |result: &Checked| (result.format.map(|f| f.to_string()), result.verdict.clone());
    survey.results().iter().map(told).collect()
}

/// Compares every archive of the folder with the folder; gives their number.
fn check_same(name: &str, folder: &Path) -> usize {
    let mut packed = 0;
    for (level, kinds) in [(Level::Document, KINDS.as_slice()), (Level::Form, &["zip"])] {
        let expected = looked_at(folder, level);
        for (kind, inner) in kinds.iter().zip(["", "run", "", "run"]) {
            let place = tempfile::tempdir().unwrap();
            if let Some(archive) = pack(folder, place.path(), kind, inner) {
                let found = looked_at(&archive, level);
                // A folder that is nothing known may hold what an archive must not.
                if matches!(expected.as_slice(), [(None, Verdict::NotChecked(_))]) {
                    assert_ne!(found[0].1, Verdict::Valid, "{name} as {kind}");
                } else {
                    assert_eq!(found, expected, "{name} as {kind}");
                }
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

#[test]
fn packs_give_the_same_findings_in_every_archive() {
    let Some(data) = data_folder("kernel") else {
        return;
    };
    let mut packed = 0;
    for_each_line(&data.join("packs.jsonl"), |case| {
        let place = tempfile::tempdir().unwrap();
        let pack = pack_recipe::prepare(case, &data.join("packs"), place.path());
        if pack.is_dir() && !pack.is_symlink() {
            packed += check_same(&text(case, "name").unwrap(), &pack);
        }
    });
    assert!(packed > 1000, "{packed}");
    println!("{packed} archives");
}

#[test]
fn documents_give_the_same_findings_in_every_archive_and_their_expected_verdict() {
    let Some(data) = data_folder("kernel") else {
        return;
    };
    let names = ["bundle", "proposal", "patch", "model_io", "runner"];
    for name in names {
        let mut count = 0;
        for_each_line(&data.join(format!("{name}.jsonl")), |case| {
            // Documents of 100 MB and those with limits of their own are other tests' matter.
            if case.get("expand").is_some() || case.get("options").is_some() {
                return;
            }
            let bytes = match case.get("document") {
                Some(document) => canonical_bytes(document, Dialect::Kernel).unwrap(),
                None => text(case, "raw").unwrap().into_bytes(),
            };
            let place = tempfile::tempdir().unwrap();
            let folder = place.path().join("folder");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(format!("{name}.json")), bytes).unwrap();
            let named = text(case, "name").unwrap();
            let found = looked_at(&folder, Level::Document);
            let ok = case.get("expect").unwrap().get("ok").unwrap().as_bool();
            let valid = found.iter().all(|(_, verdict)| *verdict == Verdict::Valid);
            assert_eq!(Some(valid), ok, "{named}");
            count += check_same(&named, &folder);
        });
        assert!(count > 250, "{count} of {name}");
    }
}
