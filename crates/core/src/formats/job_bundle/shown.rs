//! The rules of a job bundle on what a redacted copy shows of one.
//!
//! Copies call artifacts by other names, so an artifact is found by its digest. The rules about the manifest are asked of
//! what it shows.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::BundleFacts;
use super::manifest::Manifest;
use super::redactable::{MANIFEST, REDACTABLE};
use super::rules::{BundleView, ManifestState, RULES};
use crate::canon::{Dialect, JsonPath, Value, canonical_bytes};
use crate::formats::redacted::RedactedView;
use crate::formats::redacted::commit::has_marker;
use crate::verify::{Finding, Level, run_rules};

/// The rule about the fields of the manifest: what it finds has its place there.
const FIELDS: &str = "JB2";
/// Rules about files, which have other names in a copy.
const OF_FILES: [&str; 2] = ["JB4", "JB5"];

/// The faults of what `copy` shows.
pub(super) fn judge_shown(copy: &RedactedView) -> Vec<Finding> {
    let manifest = copy
        .shown
        .get(MANIFEST)
        .and_then(|file| file.document.as_ref());
    let mut found = manifest.map_or_else(Vec::new, |manifest| judge_manifest(copy, manifest));
    found.extend(judge_artifacts(copy, manifest));
    found
}

/// What the rules about the manifest find that nothing in the withheld places could put right.
fn judge_manifest(copy: &RedactedView, manifest: &Value) -> Vec<Finding> {
    let mut manifest = manifest.clone();
    // Copies do without these.
    manifest.insert("provenance", Value::object::<Value>([]));
    manifest.insert("bundle_id", "0".repeat(64));
    let Ok(text) = canonical_bytes(&manifest, Dialect::Job) else {
        return vec![at(MANIFEST, "JB8", "the manifest has no canonical form")];
    };
    let Ok(manifest) = Manifest::parse(&text) else {
        return vec![at(MANIFEST, "JB1", "it is not a manifest")];
    };
    let view = BundleView {
        manifest: ManifestState::Read(&manifest),
        facts: &BundleFacts::empty(),
        form: false,
    };
    let places = copy.places();
    let unchecked = REDACTABLE.unchecked(&places);
    let withheld = places.iter().filter(|(file, _)| *file == MANIFEST);
    let withheld = withheld.filter_map(|(_, pointer)| JsonPath::from_pointer((*pointer)?));
    let withheld: Vec<String> = withheld.map(|path| path.to_string()).collect();
    // At a withheld place, below it, or about what holds it.
    let is_withheld = |finding: &Finding| {
        let found = finding.path().unwrap_or("$");
        let is_below = |above: &str, below: &str| {
            let rest = below.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let mut withheld = withheld.iter();
        withheld.any(|place| is_below(place, found) || is_below(found, place))
    };
    let report = run_rules(&RULES, &view, Level::Integrity);
    let findings = report
        .findings()
        .iter()
        .filter(|finding| match finding.rule_id {
            FIELDS => !is_withheld(finding),
            rule => !OF_FILES.contains(&rule) && !unchecked.contains(&rule),
        });
    let findings = findings.map(|finding| Finding {
        place: finding.place.clone().within(MANIFEST),
        ..finding.clone()
    });
    findings.collect()
}

/// The artifacts against the manifest.
fn judge_artifacts(copy: &RedactedView, manifest: Option<&Value>) -> Vec<Finding> {
    let Some(listed) = manifest.and_then(|manifest| manifest.get("artifacts")) else {
        return vec![at(MANIFEST, "JB2", "`artifacts` is missing")];
    };
    let Value::Array(entries) = listed else {
        return if has_marker(listed) {
            Vec::new()
        } else {
            vec![at(MANIFEST, "JB2", "`artifacts` is not a list")]
        };
    };
    let digest = |entry: &Value| {
        let text = entry.get("sha256").and_then(Value::as_str)?;
        Some(text.strip_prefix("sha256:").unwrap_or(text).to_owned())
    };
    let sizes: BTreeMap<String, Option<&Value>> = entries
        .iter()
        .filter_map(|entry| Some((digest(entry)?, entry.get("bytes"))))
        .collect();
    let is_open = entries
        .iter()
        .any(|entry| entry.get("sha256").is_none_or(has_marker));
    let mut found = Vec::new();
    let mut shown = BTreeSet::new();
    for (path, file) in &copy.shown {
        let Some((sha256, bytes)) = file.content.filter(|_| path.starts_with("artifacts/")) else {
            continue;
        };
        let sha256 = sha256.to_string();
        match sizes.get(&sha256) {
            None if is_open => {}
            None => found.push(at(
                path,
                "JB4",
                "bundle.json declares no artifact with this content",
            )),
            Some(Some(Value::Number(said)))
                if said.get().to_exact_i64() != i64::try_from(bytes).ok() =>
            {
                found.push(at(
                    path,
                    "JB5",
                    "its size is not the one that bundle.json declares",
                ));
            }
            Some(_) => {}
        }
        shown.insert(sha256);
    }
    let withholds_artifacts = copy
        .touched()
        .iter()
        .any(|path| path.starts_with("artifacts/"));
    if !withholds_artifacts && sizes.keys().any(|declared| !shown.contains(declared)) {
        found.push(at(
            MANIFEST,
            "JB4",
            "it declares an artifact that is missing",
        ));
    }
    found
}

fn at(path: &str, rule: &'static str, message: &str) -> Finding {
    Finding {
        place: path.into(),
        ..Finding::about_whole(rule, message)
    }
}
