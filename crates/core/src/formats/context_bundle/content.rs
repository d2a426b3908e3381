//! BS2, BS8, and what can be recomputed from the content: BS20-BS23.

use std::collections::{BTreeMap, BTreeSet};

use super::BundleView;
use super::walk::{Part, Where, branches, nodes, outputs, questions, top};
use crate::canon::{
    Dialect, JsonPath, Kind, Node, ReadOptions, Value, canonical_bytes, canonical_digest,
    compare_canonical, parse_document,
};
use crate::digest::ContentHash;
use crate::ids::{BranchId, BundleId, NodeId, OutputId, QuestionId};
use crate::verify::Findings;

pub(super) fn check_transformed(view: &BundleView<'_>, findings: &mut Findings) {
    let (Some(expected), Ok(actual)) = (
        view.transformed,
        canonical_digest(view.root, Dialect::Kernel),
    ) else {
        findings.add(JsonPath::ROOT, "the bundle has no hash to compare");
        return;
    };
    if expected != actual {
        findings.add_difference(
            JsonPath::ROOT,
            "transforming the intent gives another bundle",
            expected.to_string(),
            actual.to_string(),
        );
    }
}

pub(super) fn check_canonical(view: &BundleView<'_>, findings: &mut Findings) {
    let canonical = match canonical_bytes(view.root, Dialect::Kernel) {
        Ok(canonical) => canonical,
        Err(error) => {
            findings.add(
                JsonPath::ROOT,
                format!("there is no canonical form: {error}"),
            );
            return;
        }
    };
    let is_stable = parse_document(&canonical, &ReadOptions::TEXT).is_ok_and(|again| {
        compare_canonical(again.root(), Dialect::Kernel, &canonical)
            .is_ok_and(|(_, differs_at)| differs_at.is_none())
    });
    if !is_stable {
        findings.add(
            JsonPath::ROOT,
            "canonicalizing the canonical form changes it",
        );
    }
}

/// Returns an object with these members of `node`; absent ones are left out.
fn subset(node: Node<'_>, names: &[&'static str]) -> Value {
    let members = names
        .iter()
        .filter_map(|name| Some((*name, node.get(name)?.to_value())));
    Value::object(members)
}

/// Compares the member `name` with `expected`, which is `None` if it cannot be computed.
fn compare(part: &Part<'_>, name: &str, expected: Option<String>, findings: &mut Findings) {
    let (Some(expected), Some(actual)) = (expected, part.text(name)) else {
        return;
    };
    if expected != actual {
        let place = part.place.then(name);
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
        check_content_hash(&output, findings);
    }
    check_stats(view, &read_tree(view), findings);
}

/// Checks `content_hash`: `sha256:` and the hash of the content's bytes. Other producers write bare
/// digits, of the same bytes or of the content as a canonical JSON string; both are accepted.
fn check_content_hash(output: &Part<'_>, findings: &mut Findings) {
    let (Some(content), Some(stated)) = (output.node.get("content"), output.text("content_hash"))
    else {
        return;
    };
    let Some(text) = content.as_str() else { return };
    let hash = ContentHash::of(text.as_bytes());
    let of_string = || canonical_digest(content, Dialect::Kernel).ok();
    let is_right = stated == hash.to_string()
        || stated == hash.digest().to_string()
        || of_string().is_some_and(|digest| stated == digest.to_string());
    if !is_right {
        findings.add_difference(
            output.place.then("content_hash"),
            "content_hash is not that of the content",
            hash.to_string(),
            stated,
        );
    }
}

/// The tree with children given as ids resolved through terminal_nodes.
struct Tree {
    nodes: usize,
    depth: usize,
    leaves: BTreeSet<String>,
    unresolved: Vec<(JsonPath, String)>,
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

/// Recursion depth is bounded by the reader's limit on brackets: a child given as an id is a leaf.
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

/// Checks the stats. The number and depth of nodes are known only if the whole tree is given.
fn check_stats(view: &BundleView<'_>, tree: &Tree, findings: &mut Findings) {
    let bundle = top(view.root);
    let Some(stats) = bundle
        .member("stats")
        .filter(|stats| stats.node.kind() == Kind::Object)
    else {
        return;
    };
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
    let needs_tree = ["total_nodes", "max_depth"];
    for (name, expected) in expected {
        if !tree.unresolved.is_empty() && needs_tree.contains(&name) {
            continue;
        }
        let Some(number) = stats.node.get(name).and_then(|node| node.as_number()) else {
            continue;
        };
        if number.to_f64() != expected {
            findings.add_difference(
                stats.place.then(name),
                &format!("{name} is not that of the bundle"),
                expected.to_string(),
                number.text().to_owned(),
            );
        }
    }
}

pub(super) fn check_leaves(view: &BundleView<'_>, findings: &mut Findings) {
    let tree = read_tree(view);
    let mut terminal: BTreeMap<String, Part<'_>> = BTreeMap::new();
    for node in top(view.root).elements("terminal_nodes") {
        let Some(id) = node.text("id") else { continue };
        let shown = id.escape_debug().to_string();
        // Below a child that is not given there may be leaves that are not visible here.
        if !tree.leaves.contains(&id) && tree.unresolved.is_empty() {
            let message = format!("`{shown}` is not a leaf of the tree");
            findings.add(&node.place, message);
        }
        if let Some(first) = terminal.get(&id) {
            let message = format!("`{shown}` is already at {}", first.place);
            findings.add(&node.place, message);
            continue;
        }
        terminal.insert(id, node);
    }
    for id in &tree.leaves {
        if !terminal.contains_key(id) {
            let shown = id.escape_debug();
            findings.add(
                JsonPath::ROOT.then("terminal_nodes"),
                format!("the leaf `{shown}` is missing"),
            );
        }
    }
    let in_tree = nodes(view.root)
        .into_iter()
        .filter(|(_, place)| *place == Where::Tree);
    for (leaf, _) in in_tree.filter(|(node, _)| node.elements("children").is_empty()) {
        let Some(listed) = leaf.text("id").and_then(|id| terminal.get(&id)) else {
            continue;
        };
        let form = |node| canonical_digest(node, Dialect::Kernel).ok();
        if form(listed.node) != form(leaf.node) {
            findings.add(
                &listed.place,
                "the terminal node differs from the leaf in the tree",
            );
        }
    }
}

/// BS22: the nodes are a tree. Each names its parent, and none occurs twice or below itself.
pub(super) fn check_tree(view: &BundleView<'_>, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    if let Some(root) = top(view.root).member("root_node") {
        check_node(&root, None, &mut seen, findings);
    }
    for node in top(view.root).elements("terminal_nodes") {
        if !node.elements("children").is_empty() {
            findings.add(
                node.place.then("children"),
                "a terminal node must not have children",
            );
        }
    }
}

/// Recursion depth is bounded by the reader's limit on brackets.
fn check_node(
    node: &Part<'_>,
    parent: Option<&str>,
    seen: &mut BTreeMap<String, JsonPath>,
    findings: &mut Findings,
) {
    let id = match node.node.as_lossy_str() {
        Some(id) => Some(id.into_owned()),
        None => node.text("id"),
    };
    if let Some(id) = &id {
        if let Some(first) = seen.get(id) {
            let shown = id.escape_debug();
            let message = format!("node `{shown}` is already in the tree, at {first}");
            findings.add(&node.place, message);
            return;
        }
        seen.insert(id.clone(), node.place.clone());
    }
    let named = node.node.get("parent_id");
    let is_text_or_null = |node: &Node<'_>| node.is_string() || node.is_null();
    if let Some(named) = named.filter(is_text_or_null)
        && named.as_lossy_str().as_deref() != parent
    {
        findings.add_difference(
            node.place.then("parent_id"),
            "parent_id is not the id of the node above",
            parent.unwrap_or("null"),
            named.as_lossy_str().unwrap_or("null".into()),
        );
    }
    for child in node.elements("children") {
        check_node(&child, id.as_deref(), seen, findings);
    }
}

/// BS23: the whole tree is given, and branch ids are derived like the other ids.
pub(super) fn check_whole_tree(view: &BundleView<'_>, findings: &mut Findings) {
    let tree = read_tree(view);
    for (place, id) in &tree.unresolved {
        findings.add(
            place,
            format!("no terminal node has the id `{}`", id.escape_debug()),
        );
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
}
