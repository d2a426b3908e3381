//! Compares the artifacts that a redacted copy of a job bundle shows with the manifest.
//!
//! Copies rename artifacts, so an artifact is found by its digest.

use std::collections::{BTreeMap, BTreeSet};

use super::redactable::MANIFEST;
use crate::canon::Value;
use crate::formats::redacted::RedactedView;
use crate::formats::redacted::commit::has_marker;
use crate::verify::Finding;

/// The faults of what `copy` shows.
pub(super) fn judge_shown(copy: &RedactedView) -> Vec<Finding> {
    let manifest = copy
        .shown
        .get(MANIFEST)
        .and_then(|file| file.document.as_ref());
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
