//! PK17: the proposal that was executed is that of this pack's bundle.
//!
//! Readers are shown bundle.json as the goal; evidence.json has the proposal that a replay
//! executes, and patch.json what it wrote. Whoever replaces one of them must also change what the
//! others say about it.

use std::collections::BTreeSet;

use super::PackView;
use super::agreement::{flag, given_list, place, text, texts};
use crate::canon::{JsonPath, Node};
use crate::formats::evidence::PROPOSAL;
use crate::formats::proposal::{ProposalView, SourceBundle, verify_proposal};
use crate::verify::{Findings, Gate, Place};

const RUN: &str = "run.json";
const EVIDENCE: &str = "evidence.json";
const PATCH: &str = "patch.json";

pub(super) fn has_proposal(view: &PackView<'_>) -> Gate {
    match proposal_of(view) {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the evidence does not include its proposal"),
    }
}

fn proposal_of<'a>(view: &'a PackView<'_>) -> Option<Node<'a>> {
    view.document(EVIDENCE)?.get(PROPOSAL)
}

/// PK17.
pub(super) fn check_proposal(view: &PackView<'_>, findings: &mut Findings) {
    let Some(proposal) = proposal_of(view) else {
        return;
    };
    check_source(view, proposal, findings);
    let stated = view.document(EVIDENCE);
    let stated = stated.and_then(|evidence| text(evidence, "proposal_id"));
    let both = findings.need(text(proposal, "id").zip(stated));
    if both.is_some_and(|(id, stated)| id != stated) {
        findings.add(
            place(EVIDENCE, &["proposal_id"]),
            "the proposal has another id",
        );
    }
    check_patch(view, proposal, findings);
    check_approval(view, proposal, findings);
}

/// Checks that the proposal is valid and derived from bundle.json.
fn check_source(view: &PackView<'_>, proposal: Node<'_>, findings: &mut Findings) {
    let bundle = view.document("bundle.json");
    let bundle = bundle.and_then(|bundle| {
        Some(SourceBundle {
            id: text(bundle, "id")?.into_owned(),
            hash: view.bundle_hash()?,
        })
    });
    let report = verify_proposal(&ProposalView::new(proposal, bundle.as_ref()), view.level);
    for finding in report.findings() {
        let place = finding.path().map(|path| format!(" at {path}"));
        let (rule, place) = (finding.rule_id, place.unwrap_or_default());
        let fault = format!("{rule}{place}: {}", finding.message);
        findings.add(
            Place::file(EVIDENCE).at(JsonPath::ROOT.then(PROPOSAL)),
            fault,
        );
    }
}

/// Checks that the patch has exactly the files that the proposal writes and deletes.
fn check_patch(view: &PackView<'_>, proposal: Node<'_>, findings: &mut Findings) {
    let Some(patch) = view.document(PATCH) else {
        return;
    };
    // What an action or an operation lacks may be the path that the other side has.
    let entries = |list: Option<Vec<Node<'_>>>, (op, path): (&str, &str)| {
        let mut entries = BTreeSet::new();
        for node in list? {
            let op = match text(node, op)?.as_ref() {
                "create" | "create_file" => "create",
                "modify" | "modify_file" => "modify",
                "delete" | "delete_file" => "delete",
                _ => continue,
            };
            let content = match node.get("content") {
                Some(content) => Some(content.as_lossy_str()?.into_owned()),
                None if op == "delete" => None,
                None => return None,
            };
            entries.insert((op, text(node, path)?.into_owned(), content));
        }
        Some(entries)
    };
    let planned = entries(given_list(proposal, "actions"), ("type", "target"));
    let patched = entries(given_list(patch, "operations"), ("op", "path"));
    let Some((planned, patched)) = findings.need(planned.zip(patched)) else {
        return;
    };
    for (_, path, _) in planned.symmetric_difference(&patched) {
        let path = path.escape_debug();
        findings.add(
            place(PATCH, &["operations"]),
            format!("the proposal does something else with `{path}`"),
        );
    }
}

/// Checks that a run that needs a person's approval is accepted only with the reason for an
/// approval.
fn check_approval(view: &PackView<'_>, proposal: Node<'_>, findings: &mut Findings) {
    let decision = view.document(RUN).and_then(|run| run.get("decision"));
    let Some(decision) = decision.filter(|_| view.lists_files()) else {
        return;
    };
    let asked = flag(proposal, "requires_approval").zip(flag(decision, "accepted"));
    if findings.need(asked) != Some((true, true)) {
        return;
    }
    let reasons = findings.need(texts(decision.get("reasons")));
    if reasons.is_some_and(|reasons| reasons.iter().all(|reason| reason != APPROVED)) {
        findings.add(
            place(RUN, &["decision", "accepted"]),
            "the proposal needs approval, but no reason says that it was approved",
        );
    }
}

/// The reason that records an approval.
pub const APPROVED: &str = "accept: approved by the caller";
