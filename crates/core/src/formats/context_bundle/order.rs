//! Orders: BS3, BS4, BS5, BS6, BS11. One finding per list.

use crate::canon::JsonPath;
use std::cmp::Ordering;

use super::BundleView;
use super::walk::{Part, Where, nodes, outputs, questions, top};
use crate::canon::Node;
use crate::verify::Findings;

/// Adds a finding at `place` if an element sorts before its predecessor.
fn check_sorted<T>(
    place: JsonPath,
    list: &[T],
    order: impl Fn(&T, &T) -> Ordering,
    findings: &mut Findings,
) {
    let misplaced = list
        .windows(2)
        .position(|pair| order(&pair[0], &pair[1]) == Ordering::Greater);
    if let Some(at) = misplaced {
        let message = format!(
            "not in order: element {} belongs before element {at}",
            at + 1
        );
        findings.add(place, message);
    }
}

fn by_text(a: &Node<'_>, b: &Node<'_>) -> Ordering {
    a.compare_utf16(b)
}

/// The member `key`, if it is a string.
fn string<'a>(part: &Part<'a>, key: &str) -> Option<Node<'a>> {
    part.node.get(key).filter(Node::is_string)
}

/// The strings of a list; SCHEMA reports other elements.
fn texts<'a>(part: &Part<'a>, name: &str) -> Vec<Node<'a>> {
    let elements = part.elements(name).into_iter();
    elements
        .map(|element| element.node)
        .filter(Node::is_string)
        .collect()
}

/// The member `key` of each element that has it.
fn keyed<'a>(part: &Part<'a>, name: &str, key: &str) -> Vec<Node<'a>> {
    let elements = part.elements(name).into_iter();
    elements
        .filter_map(|element| string(&element, key))
        .collect()
}

pub(super) fn check_outputs(view: &BundleView<'_>, findings: &mut Findings) {
    let paths = keyed(&top(view.root), "outputs", "path");
    check_sorted(JsonPath::ROOT.then("outputs"), &paths, by_text, findings);
}

pub(super) fn check_constraints(view: &BundleView<'_>, findings: &mut Findings) {
    for (node, _) in nodes(view.root) {
        let place = node.place.then("constraints");
        check_sorted(place, &texts(&node, "constraints"), by_text, findings);
    }
    for output in outputs(view.root) {
        let place = output.place.then("source_constraints");
        check_sorted(
            place,
            &texts(&output, "source_constraints"),
            by_text,
            findings,
        );
    }
}

/// Checks that priority descends, then id ascends (000 §4.3); SCHEMA reports questions that lack
/// either.
fn check_question_list(part: &Part<'_>, findings: &mut Findings) {
    let list: Vec<(f64, Node<'_>)> = part
        .elements("unresolved_questions")
        .into_iter()
        .filter_map(|question| {
            let priority = question.node.get("priority")?.as_number()?.to_f64();
            Some((priority, string(&question, "id")?))
        })
        .collect();
    let order = |a: &(f64, Node<'_>), b: &(f64, Node<'_>)| {
        let by_priority = b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal);
        by_priority.then_with(|| a.1.compare_utf16(&b.1))
    };
    check_sorted(
        part.place.then("unresolved_questions"),
        &list,
        order,
        findings,
    );
}

pub(super) fn check_questions(view: &BundleView<'_>, findings: &mut Findings) {
    check_question_list(&top(view.root), findings);
    for node in top(view.root).elements("terminal_nodes") {
        check_question_list(&node, findings);
    }
}

pub(super) fn check_terminal_nodes(view: &BundleView<'_>, findings: &mut Findings) {
    let ids = keyed(&top(view.root), "terminal_nodes", "id");
    check_sorted(
        JsonPath::ROOT.then("terminal_nodes"),
        &ids,
        by_text,
        findings,
    );
}

pub(super) fn check_inner_lists(view: &BundleView<'_>, findings: &mut Findings) {
    for (node, place) in nodes(view.root) {
        let ids: Vec<Node<'_>> = node
            .elements("children")
            .into_iter()
            .filter_map(|child| {
                if child.node.is_string() {
                    Some(child.node)
                } else {
                    string(&child, "id")
                }
            })
            .collect();
        check_sorted(node.place.then("children"), &ids, by_text, findings);
        if place == Where::Tree {
            check_question_list(&node, findings);
        }
        if let Some(split) = node.member("splitting_question") {
            let ids = keyed(&split, "branches", "branch_id");
            check_sorted(split.place.then("branches"), &ids, by_text, findings);
        }
    }
    for question in questions(view.root) {
        let place = question.place.then("options");
        check_sorted(place, &texts(&question, "options"), by_text, findings);
    }
}
