//! Orders: BS3, BS4, BS5, BS6, BS11. One finding per list.

use crate::canon::JsonPath;
use std::cmp::Ordering;

use super::BundleView;
use super::walk::{Part, Where, nodes, outputs, questions, split_of, top};
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
fn texts<'a>(part: &Part<'a>, name: &str, findings: &mut Findings) -> Vec<Node<'a>> {
    let elements = part.needed(name, findings).into_iter();
    elements
        .filter_map(|element| findings.need(Some(element.node).filter(Node::is_string)))
        .collect()
}

/// The member `key` of each element that has it.
fn keyed<'a>(part: &Part<'a>, name: &str, key: &str, findings: &mut Findings) -> Vec<Node<'a>> {
    let elements = part.needed(name, findings).into_iter();
    elements
        .filter_map(|element| findings.need(string(&element, key)))
        .collect()
}

pub(super) fn check_outputs(view: &BundleView<'_>, findings: &mut Findings) {
    let paths = keyed(&top(view.root), "outputs", "path", findings);
    check_sorted(JsonPath::ROOT.then("outputs"), &paths, by_text, findings);
}

pub(super) fn check_constraints(view: &BundleView<'_>, findings: &mut Findings) {
    let nodes = nodes(view.root, findings).into_iter();
    let nodes = nodes.map(|(node, _)| (node, "constraints"));
    let outputs = outputs(view.root, findings).into_iter();
    let outputs = outputs.map(|output| (output, "source_constraints"));
    for (part, name) in nodes.chain(outputs) {
        let texts = texts(&part, name, findings);
        check_sorted(part.place.then(name), &texts, by_text, findings);
    }
}

/// Checks that priority descends, then id ascends (000 §4.3); SCHEMA reports questions that lack
/// either.
fn check_question_list(part: &Part<'_>, findings: &mut Findings) {
    fn key<'a>(question: &Part<'a>) -> Option<(f64, Node<'a>)> {
        let priority = question.node.get("priority")?.as_number()?.to_f64();
        Some((priority, string(question, "id")?))
    }
    let questions = part.needed("unresolved_questions", findings).into_iter();
    let list: Vec<(f64, Node<'_>)> = questions
        .filter_map(|question| findings.need(key(&question)))
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
    for node in top(view.root).needed("terminal_nodes", findings) {
        check_question_list(&node, findings);
    }
}

pub(super) fn check_terminal_nodes(view: &BundleView<'_>, findings: &mut Findings) {
    let ids = keyed(&top(view.root), "terminal_nodes", "id", findings);
    check_sorted(
        JsonPath::ROOT.then("terminal_nodes"),
        &ids,
        by_text,
        findings,
    );
}

pub(super) fn check_inner_lists(view: &BundleView<'_>, findings: &mut Findings) {
    for (node, place) in nodes(view.root, findings) {
        fn id<'a>(child: &Part<'a>) -> Option<Node<'a>> {
            let whole = || string(child, "id");
            Some(child.node).filter(Node::is_string).or_else(whole)
        }
        let children = node.elements("children");
        let ids: Vec<Node<'_>> = children
            .iter()
            .filter_map(|child| findings.need(id(child)))
            .collect();
        check_sorted(node.place.then("children"), &ids, by_text, findings);
        if place != Where::Terminal {
            check_question_list(&node, findings);
        }
        if let Some(split) = split_of(&node) {
            let ids = keyed(&split, "branches", "branch_id", findings);
            check_sorted(split.place.then("branches"), &ids, by_text, findings);
        }
    }
    for question in questions(view.root, findings) {
        let options = question.member("options");
        if options.is_some_and(|options| !options.node.is_null()) {
            let texts = texts(&question, "options", findings);
            check_sorted(question.place.then("options"), &texts, by_text, findings);
        }
    }
}
