//! What has to be settled: the open questions of the tree (BS24), the status of its leaves (BS25), and
//! the normalized form of goals and constraints (BS26).

use std::collections::{BTreeMap, BTreeSet};

use super::BundleView;
use super::content::{is_given_in_part, is_leaf};
use super::walk::{Part, Where, nodes, outputs, top};
use crate::canon::{Dialect, JsonPath, Node, canonical_digest};
use crate::digest::Digest;
use crate::normalize::{normalize_constraint, normalize_goal};
use crate::verify::Findings;

/// BS24: the bundle's questions are those of its nodes, each once. What cannot be read may ask a question, too: whether
/// a listed one is asked is only compared if all nodes and their questions are known.
pub(super) fn check_questions_of_nodes(view: &BundleView<'_>, findings: &mut Findings) {
    let mut asked: BTreeMap<String, (JsonPath, BTreeSet<Option<Digest>>)> = BTreeMap::new();
    let mut is_whole = !is_given_in_part(view);
    let form = |node: Node<'_>| canonical_digest(node, Dialect::Kernel).ok();
    for (node, _) in nodes(view.root, findings) {
        for question in node.needed("unresolved_questions", findings) {
            match findings.need(question.text("id")) {
                Some(id) => {
                    let entry = asked.entry(id);
                    let (_, forms) =
                        entry.or_insert_with(|| (question.place.clone(), BTreeSet::new()));
                    forms.insert(form(question.node));
                }
                None => is_whole = false,
            }
        }
    }
    is_whole &= !findings.is_incomplete();
    let Some(listed) = findings.need(top(view.root).list("unresolved_questions")) else {
        return;
    };
    let mut seen: BTreeMap<String, JsonPath> = BTreeMap::new();
    let mut lists_all = true;
    for question in listed {
        let Some(id) = findings.need(question.text("id")) else {
            lists_all = false;
            continue;
        };
        let shown = id.escape_debug();
        match asked.get(&id) {
            None if is_whole => {
                findings.add(&question.place, format!("no node asks `{shown}`"));
            }
            Some((place, forms)) if is_whole && !forms.contains(&form(question.node)) => findings
                .add(
                    &question.place,
                    format!("`{shown}` differs from the question at {place}"),
                ),
            _ => {}
        }
        if let Some(first) = seen.get(&id) {
            let message = format!("`{shown}` is already at {first}");
            findings.add(&question.place, message);
            continue;
        }
        seen.insert(id, question.place);
    }
    for (id, (place, _)) in asked.iter().filter(|_| lists_all) {
        if !seen.contains_key(id) {
            let shown = id.escape_debug();
            findings.add(
                JsonPath::ROOT.then("unresolved_questions"),
                format!("`{shown}`, which is asked at {place}, is missing"),
            );
        }
    }
}

/// BS25: in a complete bundle nothing is left to do, so every leaf is terminal.
pub(super) fn check_leaves_of_complete(view: &BundleView<'_>, findings: &mut Findings) {
    let status = findings.need(top(view.root).text("status"));
    if status.as_deref() != Some("complete") {
        return;
    }
    for (node, place) in nodes(view.root, findings) {
        let counts = match place {
            Where::Tree => is_leaf(&node),
            Where::Terminal => true,
            Where::BelowTerminal => false,
        };
        if !counts {
            continue;
        }
        let status = findings.need(node.text("status"));
        if let Some(status) = status.filter(|status| status != "terminal") {
            let shown = status.escape_debug();
            let message = format!("the bundle is complete, but this leaf is `{shown}`");
            findings.add(node.place.then("status"), message);
        }
    }
}

/// BS26: goals and constraints are what normalization gives.
pub(super) fn check_normalized(view: &BundleView<'_>, findings: &mut Findings) {
    let nodes: Vec<Part<'_>> = nodes(view.root, findings)
        .into_iter()
        .map(|(node, _)| node)
        .collect();
    for node in &nodes {
        let goal = node.member("goal").filter(|goal| goal.node.is_string());
        if let Some(goal) = findings.need(goal) {
            check_text(&goal, normalize_goal, findings);
        }
    }
    let nodes = nodes.into_iter().map(|node| (node, "constraints"));
    let outputs = outputs(view.root, findings).into_iter();
    let outputs = outputs.map(|output| (output, "source_constraints"));
    for (part, name) in nodes.chain(outputs) {
        let mut seen = BTreeSet::new();
        for constraint in part.needed(name, findings) {
            findings.need(constraint.node.is_string().then_some(()));
            let Some(text) = constraint.node.as_str() else {
                continue;
            };
            check_text(&constraint, normalize_constraint, findings);
            if !seen.insert(text) {
                findings.add(&constraint.place, "it is a duplicate");
            }
        }
    }
}

/// Checks a string; half a surrogate pair has no normalized form.
fn check_text(part: &Part<'_>, normalize: fn(&str) -> String, findings: &mut Findings) {
    let Some(text) = part.node.as_str() else {
        return;
    };
    let normalized = normalize(&text);
    if normalized.is_empty() {
        findings.add(&part.place, "it is empty or blank");
    } else if normalized != text {
        let (expected, actual) = (normalized.escape_debug(), text.escape_debug());
        findings.add_difference(
            &part.place,
            "it is not normalized",
            expected.to_string(),
            actual.to_string(),
        );
    }
}
