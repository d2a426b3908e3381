//! RB14: the model calls of a recorded command.

use std::collections::BTreeSet;

use super::facts::{Doc, EntryFact, RunBundleView};
use super::layout::{MODEL_BODIES_FOLDER, MODEL_IO};
use super::recorded::MODEL_IO_MEMBER;
use super::rules_recorded::is_recorded_view;
use crate::formats::model_io::bodies::parse_body_file;
use crate::formats::model_io::{ModelIoView, verify_model_io};
use crate::verify::{Findings, Gate, Level};

/// Applies to recorded commands with any sign that models were called.
pub(super) fn has_calls(view: &RunBundleView<'_>) -> Gate {
    let listed = view
        .input
        .root()
        .and_then(|input| input.get(MODEL_IO_MEMBER));
    let has_any = listed.is_some() || !matches!(view.model_io, Doc::Absent) || has_bodies(view);
    if has_any && is_recorded_view(view) {
        Gate::Ready
    } else {
        Gate::NotApplicable("the bundle has no model calls")
    }
}

fn body_name(path: &str) -> Option<&str> {
    path.strip_prefix(MODEL_BODIES_FOLDER)?.strip_prefix('/')
}

fn has_bodies(view: &RunBundleView<'_>) -> bool {
    let mut paths = view.facts.entries.iter();
    paths.any(|(path, _)| body_name(path).is_some())
}

pub(super) fn check_calls(view: &RunBundleView<'_>, findings: &mut Findings) {
    let root = match view.model_io {
        Doc::Read(root) => root,
        Doc::Absent => {
            findings.add(MODEL_IO, "the file is missing");
            return;
        }
        Doc::Broken(reason) => {
            findings.add(MODEL_IO, format!("it cannot be read: {reason}"));
            return;
        }
    };
    let input = view.input.root();
    if input.is_some_and(|input| input.get(MODEL_IO_MEMBER).is_none()) {
        findings.add(MODEL_IO, "RUN_INPUT.json does not list it");
    }
    let calls = ModelIoView {
        root,
        bodies: view.bodies,
    };
    let report = verify_model_io(&calls, Level::Integrity);
    for finding in report.findings() {
        let place = finding.path().map(|path| format!(" at {path}"));
        let place = place.unwrap_or_default();
        let message = format!("{}{place}: {}", finding.rule_id, finding.message);
        findings.add(MODEL_IO, message);
    }
    let list = root.get("interactions");
    let interactions = list.iter().flat_map(|list| list.items());
    let named: BTreeSet<String> = interactions
        .flat_map(|interaction| [interaction.get("request"), interaction.get("response")])
        .filter_map(|part| Some(parse_body_file(part?)?.sha256.to_string()))
        .collect();
    for (path, entry) in view.facts.entries.iter() {
        let name = body_name(path).filter(|_| matches!(entry, EntryFact::File(_)));
        if name.is_some_and(|name| !named.contains(name)) {
            findings.add(path, "model_io.json does not refer to this body");
        }
    }
}
