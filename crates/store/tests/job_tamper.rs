//! Any edit of a sealed bundle is found.

use std::fs;
use std::path::PathBuf;

use crate::conformance::{Json, read_lines};
use crate::data::make_bundle;
use runseal_store::job::verify::verify_job_bundle;
use runseal_survey::VerifyOptions;

/// Returns the first vector, which is valid, as a folder; and its files.
fn valid_bundle() -> (tempfile::TempDir, Vec<PathBuf>) {
    let cases = read_lines(&runseal_testkit::project_root().join("vectors/job/bundles.jsonl"));
    let case: &Json = cases.iter().find(|case| case["name"] == "valid").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (path, text) in case["files"].as_object().unwrap() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.as_str().unwrap()).unwrap();
        files.push(path);
    }
    (folder, files)
}

#[test]
fn bundle_with_any_bit_flipped_is_invalid() {
    let (folder, files) = valid_bundle();
    let is_valid = || {
        verify_job_bundle(folder.path(), VerifyOptions::default())
            .report
            .is_valid()
    };
    assert!(is_valid());
    let mut edits = 0;
    for file in &files {
        let sealed = fs::read(file).unwrap();
        for at in 0..sealed.len() {
            let mut edited = sealed.clone();
            edited[at] ^= 1 << (at % 8);
            fs::write(file, &edited).unwrap();
            // White space around the manifest's text is not part of its content.
            let is_blank = at + 1 == sealed.len() && matches!(edited[at], b' ' | b'\t' | b'\r');
            assert!(!is_valid() || is_blank, "{} at {at}", file.display());
            edits += 1;
        }
        fs::write(file, &sealed).unwrap();
    }
    assert!(edits > 1000 && is_valid());
}

#[test]
fn bundle_cut_or_extended_anywhere_is_invalid() {
    let (folder, files) = valid_bundle();
    let is_valid = || {
        verify_job_bundle(folder.path(), VerifyOptions::default())
            .report
            .is_valid()
    };
    for file in &files {
        let sealed = fs::read(file).unwrap();
        let is_manifest = file.ends_with("bundle.json");
        for length in (0..sealed.len() - usize::from(is_manifest)).step_by(7) {
            fs::write(file, &sealed[..length]).unwrap();
            assert!(!is_valid(), "{} cut to {length}", file.display());
        }
        fs::write(file, [&sealed[..], b"x"].concat()).unwrap();
        assert!(!is_valid(), "{} with a byte more", file.display());
        fs::write(file, &sealed).unwrap();
    }
    assert!(is_valid());
}

/// The manifest is long enough to be read in parallel with the artifacts.
#[test]
fn bundle_with_many_artifacts_gets_the_same_verdict_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_bundle(folder, 300, 100);
    fs::remove_file(folder.join("sums")).unwrap();
    let findings = || {
        let found = [None, Some(1), Some(2), Some(3), Some(50)].map(|threads| {
            let options = VerifyOptions {
                threads,
                ..VerifyOptions::default()
            };
            let report = verify_job_bundle(folder, options).report;
            let ids = report.findings().iter().map(|found| found.rule_id);
            let places = report.findings().iter().map(|found| format!("{found:?}"));
            assert_eq!(report.is_valid(), report.findings().is_empty());
            (ids.collect::<Vec<_>>(), places.collect::<Vec<_>>())
        });
        let [first, others @ ..] = found;
        others.iter().for_each(|other| assert_eq!(first, *other));
        first.0
    };
    assert_eq!(findings(), [""; 0]);
    let mut files: Vec<PathBuf> = fs::read_dir(folder.join("artifacts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    fs::remove_file(&files[7]).unwrap();
    assert_eq!(findings(), ["JB4"]);
    std::os::unix::fs::symlink("elsewhere", &files[7]).unwrap();
    assert_eq!(findings(), ["JB10"]);
    let manifest = folder.join("bundle.json");
    let sealed = fs::read_to_string(&manifest).unwrap();
    fs::write(
        &manifest,
        sealed.replacen("\"run_id\":\"bench\"", "\"run_id\":\"other\"", 1),
    )
    .unwrap();
    assert_eq!(findings(), ["JB10", "JB8"]);
    fs::rename(&manifest, folder.join("moved.json")).unwrap();
    assert_eq!(findings(), ["JB1", "JB10"]);
    std::os::unix::fs::symlink("moved.json", &manifest).unwrap();
    assert_eq!(findings(), ["JB1", "JB10", "JB10"]);
}
