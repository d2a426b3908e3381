//! Content: BS2, BS8, and in strict mode BS20 and BS21.

use std::collections::{BTreeMap, BTreeSet};

use super::BundleView;
use super::walk::{Part, branches, nodes, outputs, questions, top};
use crate::canon::{
    Dialect, Kind, Node, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use crate::digest::ContentHash;
use crate::ids::{BranchId, BundleId, NodeId, OutputId, QuestionId};
use crate::verify::Findings;

pub(super) fn check_transformed(view: &BundleView<'_>, findings: &mut Findings) {
    let (Some(expected), Ok(actual)) = (
        view.transformed,
        canonical_digest(view.root, Dialect::Kernel),
    ) else {
        findings.add("$", "the bundle has no hash to compare");
        return;
    };
    if expected != actual {
        findings.add_difference(
            "$",
            "the intent gives another bundle",
            expected.to_string(),
            actual.to_string(),
        );
    }
}

pub(super) fn check_canonical(view: &BundleView<'_>, findings: &mut Findings) {
    let canonical = match canonical_bytes(view.root, Dialect::Kernel) {
        Ok(canonical) => canonical,
        Err(error) => {
            findings.add("$", format!("there is no canonical form: {error}"));
            return;
        }
    };
    let again = parse_document(&canonical, &ReadOptions::TEXT)
        .ok()
        .and_then(|document| canonical_bytes(document.root(), Dialect::Kernel).ok());
    if again.is_none_or(|again| again != canonical) {
        findings.add("$", "canonicalizing the canonical form changes it");
    }
}

/// An object of some members of `node`; absent ones are left out.
fn subset(node: Node<'_>, names: &[&'static str]) -> Value {
    let members = names
        .iter()
        .filter_map(|name| Some((*name, node.get(name)?.to_value())));
    Value::object(members)
}

/// Compares the member `name` with what it should be; `None` where it cannot be computed.
fn compare(part: &Part<'_>, name: &str, expected: Option<String>, findings: &mut Findings) {
    let (Some(expected), Some(actual)) = (expected, part.text(name)) else {
        return;
    };
    if expected != actual {
        let place = format!("{}.{name}", part.place);
        findings.add_difference(
            place,
            &format!("{name} is not that of the content"),
            expected,
            actual,
        );
    }
}

pub(super) fn check_derived(view: &BundleView<'_>, findings: &mut Findings) {
    let bundle = top(view.root);
    let mut content = view.root.to_value();
    if let Value::Object(members) = &mut content {
        members.remove(&"id".into());
    }
    let id = BundleId::derive(&content).ok().map(|id| id.to_string());
    compare(&bundle, "id", id, findings);
    for (node, _) in nodes(view.root) {
        let content = subset(node.node, &["constraints", "goal", "parent_id"]);
        let id = NodeId::derive(&content).ok().map(|id| id.to_string());
        compare(&node, "id", id, findings);
    }
    for question in questions(view.root) {
        let content = subset(
            question.node,
            &["expected_answer_type", "text", "why_needed"],
        );
        let id = QuestionId::derive(&content).ok().map(|id| id.to_string());
        compare(&question, "id", id, findings);
    }
    for output in outputs(view.root) {
        let content = subset(output.node, &["content", "path", "type"]);
        let id = OutputId::derive(&content).ok().map(|id| id.to_string());
        compare(&output, "id", id, findings);
        let hash = output.node.get("content").and_then(|node| node.as_str());
        let hash = hash.map(|text| ContentHash::of(text.as_bytes()).to_string());
        compare(&output, "content_hash", hash, findings);
    }
    for (branch, question) in branches(view.root) {
        let answer = branch.node.get("answer").map(|node| node.to_value());
        let (Some(answer), Some(question)) = (answer, question) else {
            continue;
        };
        let content = Value::object([("answer", answer), ("question_id", Value::from(question))]);
        let id = BranchId::derive(&content).ok().map(|id| id.to_string());
        compare(&branch, "branch_id", id, findings);
    }
    check_stats(view, findings);
}

/// The tree with id children resolved through terminal_nodes.
struct Tree {
    nodes: usize,
    depth: usize,
    leaves: BTreeSet<String>,
    unresolved: Vec<(String, String)>,
}

fn read_tree(view: &BundleView<'_>) -> Tree {
    let terminal = terminal_ids(view);
    let mut tree = Tree {
        nodes: 0,
        depth: 0,
        leaves: BTreeSet::new(),
        unresolved: Vec::new(),
    };
    if let Some(root) = top(view.root).member("root_node") {
        descend(&root, 0, &terminal, &mut tree);
    }
    tree
}

fn terminal_ids<'a>(view: &BundleView<'a>) -> BTreeMap<String, Part<'a>> {
    let list = top(view.root).elements("terminal_nodes").into_iter();
    list.filter_map(|node| Some((node.text("id")?, node)))
        .collect()
}

/// Depth is bounded by the reader's limit on brackets: an id child is a leaf of what is given.
fn descend(node: &Part<'_>, depth: usize, terminal: &BTreeMap<String, Part<'_>>, tree: &mut Tree) {
    tree.nodes += 1;
    tree.depth = tree.depth.max(depth);
    let children = node.elements("children");
    if children.is_empty() {
        tree.leaves.extend(node.text("id"));
        return;
    }
    for child in children {
        match child.node.as_lossy_str() {
            None => descend(&child, depth + 1, terminal, tree),
            Some(id) => {
                tree.nodes += 1;
                tree.depth = tree.depth.max(depth + 1);
                if terminal.contains_key(id.as_ref()) {
                    tree.leaves.insert(id.into_owned());
                } else {
                    tree.unresolved.push((child.place, id.into_owned()));
                }
            }
        }
    }
}

fn check_stats(view: &BundleView<'_>, findings: &mut Findings) {
    let bundle = top(view.root);
    let Some(stats) = bundle
        .member("stats")
        .filter(|stats| stats.node.kind() == Kind::Object)
    else {
        return;
    };
    let tree = read_tree(view);
    let terminal = bundle.elements("terminal_nodes");
    let average = |group: &str, score: &str| {
        let values: Vec<f64> = terminal
            .iter()
            .filter_map(|node| Some(node.node.get(group)?.get(score)?.as_number()?.to_f64()))
            .collect();
        if values.is_empty() {
            0.0
        } else {
            (values.iter().sum::<f64>() / values.len() as f64 + 0.5).floor()
        }
    };
    let expected = [
        ("total_nodes", tree.nodes as f64),
        ("terminal_nodes", terminal.len() as f64),
        ("max_depth", tree.depth as f64),
        ("total_outputs", bundle.elements("outputs").len() as f64),
        (
            "unresolved_count",
            bundle.elements("unresolved_questions").len() as f64,
        ),
        ("avg_terminal_entropy", average("entropy", "entropy_score")),
        ("avg_terminal_density", average("density", "density_score")),
    ];
    for (name, expected) in expected {
        let Some(number) = stats.node.get(name).and_then(|node| node.as_number()) else {
            continue;
        };
        if number.to_f64() != expected {
            findings.add_difference(
                format!("$.stats.{name}"),
                &format!("{name} is not what the bundle holds"),
                expected.to_string(),
                number.text().to_owned(),
            );
        }
    }
}

pub(super) fn check_leaves(view: &BundleView<'_>, findings: &mut Findings) {
    let tree = read_tree(view);
    for (place, id) in &tree.unresolved {
        findings.add(
            place.clone(),
            format!("no terminal node has the id `{}`", id.escape_debug()),
        );
    }
    let terminal = terminal_ids(view);
    for (id, node) in &terminal {
        if !tree.leaves.contains(id) {
            let shown = id.escape_debug();
            findings.add(
                node.place.clone(),
                format!("`{shown}` is no leaf of the tree"),
            );
        }
    }
    for id in &tree.leaves {
        if !terminal.contains_key(id) {
            let shown = id.escape_debug();
            findings.add("$.terminal_nodes", format!("the leaf `{shown}` is missing"));
        }
    }
    let whole = nodes(view.root)
        .into_iter()
        .filter(|(node, _)| node.place.starts_with("$.root_node"));
    for (leaf, _) in whole.filter(|(node, _)| node.elements("children").is_empty()) {
        let Some(listed) = leaf.text("id").and_then(|id| terminal.get(&id).cloned()) else {
            continue;
        };
        let form = |node| canonical_digest(node, Dialect::Kernel).ok();
        if form(listed.node) != form(leaf.node) {
            findings.add(
                listed.place,
                "the terminal node differs from the leaf in the tree",
            );
        }
    }
}
