//! Every bundle of the conformance data has the same findings as a folder and in each archive.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::conformance::{data_folder, read_lines};
use crate::packing::{KINDS, pack};
use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_core::verify::{Finding, Level, UnitResult, Verdict};
use runseal_fs::survey::{Tally, VerifyOptions, survey_paths};
use runseal_testkit::{for_each_line, text};

/// Verifies one path. Returns formats and verdicts, without the path.
fn verify(path: &Path, level: Level) -> Vec<(Option<String>, Verdict)> {
    let options = VerifyOptions {
        level,
        ..VerifyOptions::default()
    };
    let survey = survey_paths(&[path.to_owned()], options, &Tally::default());
    let summarize =
        |result: &UnitResult| (result.format.map(|f| f.to_string()), result.verdict.clone());
    survey.results().iter().map(summarize).collect()
}

/// Removes findings about names of entries, which a folder may have and an archive must not,
/// because unpackers disagree on them. Returns whether there were any.
fn without_name_findings(
    found: Vec<(Option<String>, Verdict)>,
) -> (Vec<(Option<String>, Verdict)>, bool) {
    let mut had_any = false;
    let mut kept = Vec::new();
    for (format, mut verdict) in found {
        let mut is_sound = false;
        if let Verdict::Invalid { findings, not_run } = &mut verdict {
            let before = findings.len();
            findings.retain(|finding| !matches!(finding.rule_id, "AR1" | "AR2"));
            had_any |= findings.len() < before;
            is_sound = findings.len() < before && findings.is_empty() && not_run.is_empty();
        }
        match (is_sound, format.as_deref()) {
            (true, Some("archive")) => {}
            (true, _) => kept.push((format, Verdict::Valid)),
            (false, _) => kept.push((format, verdict)),
        }
    }
    (kept, had_any)
}

/// Returns whether some name below the folder is changed by some unpacker, or equals another one on
/// some system.
fn has_unportable_names(folder: &Path) -> bool {
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        let mut lower = BTreeSet::new();
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let Some(text) = name.to_str() else {
                return true;
            };
            let is_odd = text.chars().any(|c| c == '\\' || c.is_ascii_control());
            if is_odd || !lower.insert(text.to_lowercase()) {
                return true;
            }
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    false
}

/// Compares every archive of the folder with the folder. Returns their number.
fn check_same(name: &str, folder: &Path) -> usize {
    let mut packed = 0;
    let is_unportable = has_unportable_names(folder);
    for (level, kinds) in [(Level::Document, KINDS.as_slice()), (Level::Form, &["zip"])] {
        let expected = verify(folder, level);
        for (kind, inner) in kinds.iter().zip(["", "run", "", "run"]) {
            let place = tempfile::tempdir().unwrap();
            if let Some(archive) = pack(folder, place.path(), kind, inner) {
                let (found, has_name_findings) = without_name_findings(verify(&archive, level));
                assert_eq!(has_name_findings, is_unportable, "{name} as {kind}");
                // A folder of an unknown format may contain what an archive must not.
                if matches!(expected.as_slice(), [(None, Verdict::NotChecked(_))]) {
                    let is_valid = |(_, verdict): &(_, Verdict)| *verdict == Verdict::Valid;
                    assert!(!found.iter().any(is_valid), "{name} as {kind}");
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
        let target = crate::recipe::prepare(&case, &bundles, scratch.path());
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
        let pack = crate::pack_recipe::prepare(case, &data.join("packs"), place.path());
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
            // Documents of 100 MB and those with their own limits are covered by other tests.
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
            let found = verify(&folder, Level::Document);
            let ok = case.get("expect").unwrap().get("ok").unwrap().as_bool();
            let valid = found.iter().all(|(_, verdict)| *verdict == Verdict::Valid);
            assert_eq!(Some(valid), ok, "{named}");
            count += check_same(&named, &folder);
        });
        assert!(count > 250, "{count} of {name}");
    }
}

/// Packs an archive of `count` documents with many findings each.
fn pack_wrong_documents(path: &Path, count: usize) {
    let interactions = vec!["{\"i\":7}"; 200].join(",");
    let document = format!(
        r#"{{"adapter_id":"a","interactions":[{interactions}],"mode":"record","model_id":"m","model_io_schema_version":"1.1.0"}}"#
    );
    let mut tar = tar::Builder::new(fs::File::create(path).unwrap());
    for at in 0..count {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(document.len() as u64);
        let name = format!("calls/{at:04}.json");
        tar.append_data(&mut header, name, document.as_bytes())
            .unwrap();
    }
    tar.finish().unwrap();
}

#[test]
fn archive_with_too_many_findings_is_judged_up_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.tar");
    let findings_of = |count: usize| {
        pack_wrong_documents(&path, count);
        let found = verify(&path, Level::Document);
        let is_reported = found.iter().any(|(format, verdict)| {
            let Verdict::Invalid { findings, .. } = verdict else {
                return false;
            };
            let states_limit = |finding: &Finding| {
                finding.rule_id == "AR7" && finding.message.contains("more than 100000 findings")
            };
            format.as_deref() == Some("archive") && findings.iter().any(states_limit)
        });
        (found.len(), is_reported)
    };
    let (units, is_reported) = findings_of(20);
    assert_eq!((units, is_reported), (20, false));
    let (units, is_reported) = findings_of(1000);
    assert!(is_reported && (100..900).contains(&units), "{units}");
}
