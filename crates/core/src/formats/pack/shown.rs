//! The rules of a pack on what a redacted copy shows of one.
//!
//! A document of which something is withheld is left out: the rules compare those that are shown whole, and pass over
//! what is not there. Of run.json, which says how the run ended, every copy shows enough for the rules about that.

use std::collections::BTreeMap;

use super::agreement::find_contradictions;
use super::redactable::REDACTABLE;
use super::{MANIFEST, PackFiles, PackView, verify_pack};
use crate::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use crate::formats::redacted::RedactedView;
use crate::formats::redacted::documents::{Redaction, find_value};
use crate::formats::run_bundle::reading::is_marker;
use crate::source::EntryKind;
use crate::verify::{Finding, Level};

const RUN: &str = "run.json";
const EVIDENCE: &str = "evidence.json";
/// The rule about the decision, which every copy shows.
const DECISION: &str = "RS8";
/// The rule that the decision agrees with the evidence.
const AGREEMENT: &str = "PK13";
/// Rules that look at each document, or each pair of them, by itself.
const OF_EACH: [&str; 2] = ["PK8", AGREEMENT];
/// Rules about parts of run.json alone.
const OF_RUN: [&str; 8] = ["PK1", "PK2", "RS1", "RS2", "RS4", "RS5", "RS6", DECISION];

/// What is wrong with what `copy` shows.
pub(super) fn judge_shown(copy: &RedactedView) -> Vec<Finding> {
    let Ok(redaction) = &copy.redaction else {
        return Vec::new();
    };
    let touched = copy.touched();
    let unchecked = REDACTABLE.unchecked(&copy.places());
    let is_whole = |name: &str| !touched.contains(name);
    let mut found = judge(copy, redaction, &is_whole);
    found.retain(|finding| match finding.rule_id {
        rule if OF_RUN.contains(&rule) => is_whole(RUN),
        rule => OF_EACH.contains(&rule) || !unchecked.contains(&rule),
    });
    if !is_whole(RUN) {
        let of_run = judge(copy, redaction, &|name| name == RUN);
        found.extend(of_run.into_iter().filter(|finding| {
            OF_RUN.contains(&finding.rule_id) && !unchecked.contains(&finding.rule_id)
        }));
    }
    if !is_whole(RUN) || !is_whole(EVIDENCE) {
        found.extend(judge_decision(copy));
    }
    let run = copy.shown.get(RUN).and_then(|file| file.document.as_ref());
    let accepted = run.and_then(|run| find_value(run, "/decision/accepted"));
    if !matches!(accepted, Some(Value::Bool(_))) {
        found.push(Finding {
            place: RUN.into(),
            ..Finding::about_whole(DECISION, "`decision.accepted` is not a boolean")
        });
    }
    found
}

/// What the rules find in the documents for which `is_read` says so.
fn judge(
    copy: &RedactedView,
    redaction: &Redaction,
    is_read: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    let entries = redaction.files.iter();
    let entries = entries.map(|file| (file.path.clone(), EntryKind::File));
    let bytes: BTreeMap<&'static str, Vec<u8>> = MANIFEST
        .iter()
        .filter(|name| is_read(name))
        .filter_map(|name| {
            let document = copy.shown.get(*name)?.document.as_ref()?;
            let kind = redaction.file(name)?.kind;
            Some((*name, kind.write(document).ok()?))
        })
        .collect();
    let files = PackFiles {
        entries: entries.collect(),
        bytes,
    };
    let view = PackView::new("", &files, Level::Integrity);
    verify_pack(&view).findings().to_vec()
}

/// The decision against what is shown of actions and tests, where a part of run.json or of the evidence is withheld.
fn judge_decision(copy: &RedactedView) -> Vec<Finding> {
    let text = |name: &str| {
        let document = copy.shown.get(name)?.document.as_ref()?;
        canonical_bytes(document, Dialect::Jcs).ok()
    };
    let (Some(run), Some(evidence)) = (text(RUN), text(EVIDENCE)) else {
        return Vec::new();
    };
    let options = ReadOptions::default();
    let (Ok(run), Ok(evidence)) = (
        parse_document(&run, &options),
        parse_document(&evidence, &options),
    ) else {
        return Vec::new();
    };
    let found = find_contradictions(run.root(), evidence.root(), &is_marker);
    let finding = |(place, message)| Finding {
        place,
        ..Finding::about_whole(AGREEMENT, message)
    };
    found.found.into_iter().map(finding).collect()
}
