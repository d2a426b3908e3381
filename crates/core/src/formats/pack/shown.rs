//! The rules of a pack, applied to what a redacted copy of one shows.

use std::collections::BTreeMap;

use super::redactable::REDACTABLE;
use super::{MANIFEST, PackFiles, PackView, verify_pack};
use crate::canon::Value;
use crate::formats::redacted::RedactedView;
use crate::formats::redacted::commit::read_marker;
use crate::formats::redacted::documents::find_value;
use crate::source::EntryKind;
use crate::verify::{Finding, Level};

const RUN: &str = "run.json";
/// The rule about the decision, which every copy shows.
const DECISION: &str = "RS8";

/// The faults of what `copy` shows: of the decision, and of everything else if nothing is withheld.
pub(super) fn judge_shown(copy: &RedactedView) -> Vec<Finding> {
    let Ok(redaction) = &copy.redaction else {
        return Vec::new();
    };
    let withheld = copy.touched();
    let unchecked = REDACTABLE.unchecked(&[]);
    let entries = redaction.files.iter();
    let entries = entries.map(|file| (file.path.clone(), EntryKind::File));
    let bytes: BTreeMap<&'static str, Vec<u8>> = MANIFEST
        .iter()
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
    let report = verify_pack(&view);
    let run = copy.shown.get(RUN).and_then(|file| file.document.as_ref());
    let execution = run.and_then(|run| run.get("execution"));
    let code = execution.and_then(|execution| execution.get("exit_code"));
    let hides_code = execution.is_some_and(|it| read_marker(it).is_some())
        || code.is_some_and(|it| read_marker(it).is_some());
    let mut found: Vec<Finding> = report
        .findings()
        .iter()
        // Most rules read several documents. Every copy shows the decision.
        .filter(|finding| match finding.rule_id {
            DECISION => true,
            rule => withheld.is_empty() && !unchecked.contains(&rule),
        })
        .filter(|finding| finding.rule_id != DECISION || !hides_code)
        .cloned()
        .collect();
    let accepted = run.and_then(|run| find_value(run, "/decision/accepted"));
    if !matches!(accepted, Some(Value::Bool(_))) {
        found.push(Finding {
            place: RUN.into(),
            ..Finding::about_whole(DECISION, "`decision.accepted` is not a boolean")
        });
    }
    found
}
