//! The bundles of the conformance data, verified one by one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a failure is meant to stop the test"
)]

mod conformance;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use conformance::{Json, data_folder, read_lines};
use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Strictness, Surface, exit_code};
use runseal_engine::job::verify::{VerifyOptions, verify_job_bundle};

/// Carries out a case's recipe and says what to verify.
fn prepare(case: &Json, bundles: &Path, scratch: &Path) -> PathBuf {
    let name = case["name"].as_str().unwrap();
    let Some(recipe) = case.get("recipe") else {
        return bundles.join(name);
    };
    let bundle = match recipe.get("place_at").and_then(Json::as_str) {
        Some(place) => PathBuf::from(place),
        None => scratch.join("bundle"),
    };
    let _ = fs::remove_dir_all(&bundle);
    fs::create_dir_all(&bundle).unwrap();
    if let Some(base) = recipe["base"].as_str() {
        copy_folder(&bundles.join(base), &bundle);
    }
    for action in recipe
        .get("do")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let at = |key: &str| {
            action
                .get(key)
                .and_then(Json::as_str)
                .map(|path| bundle.join(path))
        };
        if let Some(path) = at("write") {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bytes = match action.get("hex").and_then(Json::as_str) {
                Some(hex) => conformance::decode_hex(hex),
                None => action["text"].as_str().unwrap().as_bytes().to_vec(),
            };
            fs::write(path, bytes).unwrap();
        } else if let Some(path) = at("delete") {
            if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
            .unwrap();
        } else if let Some(path) = at("mkdir") {
            fs::create_dir_all(path).unwrap();
        } else if let Some(path) = at("rename") {
            let to = at("to").unwrap();
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::rename(path, to).unwrap();
        } else if let Some(path) = at("symlink") {
            symlink(action["to"].as_str().unwrap(), path).unwrap();
        } else if let Some(path) = at("repeat") {
            let times = usize::try_from(action["times"].as_u64().unwrap()).unwrap();
            fs::write(path, action["text"].as_str().unwrap().repeat(times)).unwrap();
        } else {
            panic!("{name}: unknown action {action}");
        }
    }
    match recipe.get("target").and_then(Json::as_str) {
        Some(target) => bundle.join(target),
        None => bundle,
    }
}

/// The conformance data is read-only; a copy must not be.
fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

#[test]
fn cases_of_the_conformance_data_give_their_verdicts() {
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
        let mut told = Vec::new();
        if expect["ok"] != found.report.is_valid() {
            told.push(format!("ok {}", found.report.is_valid()));
        }
        if expect["exit"] != exit {
            told.push(format!("exit {exit}"));
        }
        if Json::from(found.check()) != expect["check"] {
            told.push(format!("check {:?}", found.check()));
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
                told.push(format!("faults {checks:?}, expected {faults}"));
            }
        }
        if !told.is_empty() {
            let findings = found.report.findings();
            wrong.push(format!(
                "{}: {} {findings:?}",
                case["name"],
                told.join(", ")
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
fn valid_cases_of_the_conformance_data_hold_in_strict_mode() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let options = VerifyOptions {
        strictness: Strictness::Strict,
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
