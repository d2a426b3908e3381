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

/// What a member must be, so that an id can be derived from it.
type Fits = fn(&Node<'_>) -> bool;

fn is_text(node: &Node<'_>) -> bool {
    node.is_string()
}

const NODE: [(&str, Fits); 3] = [
    ("constraints", |node| node.kind() == Kind::Array),
    ("goal", is_text),
    ("parent_id", |node| node.is_string() || node.is_null()),
];
const QUESTION: [(&str, Fits); 3] = [
    ("expected_answer_type", is_text),
    ("text", is_text),
    ("why_needed", is_text),
];
const OUTPUT: [(&str, Fits); 3] = [("content", is_text), ("path", is_text), ("type", is_text)];

/// Returns an object with these members of `node`; `None` if one is missing or mistyped.
fn subset(node: Node<'_>, members: &[(&'static str, Fits)]) -> Option<Value> {
    let member = |(name, fits): &(&'static str, Fits)| {
        let node = node.get(name).filter(fits)?;
        Some((*name, node.to_value()))
    };
    let members: Option<Vec<_>> = members.iter().map(member).collect();
    members.map(Value::object)
}

/// Compares the member `name` with `expected`, which is `None` if it cannot be computed.
fn compare(part: &Part<'_>, name: &str, expected: Option<String>, findings: &mut Findings) {
    let both = expected.zip(part.text(name));
    let Some((expected, actual)) = findings.need(both) else {
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
    for (node, _) in nodes(view.root, findings) {
        let id = subset(node.node, &NODE).and_then(|content| NodeId::derive(&content).ok());
        compare(&node, "id", id.map(|id| id.to_string()), findings);
    }
    for question in questions(view.root, findings) {
        let content = subset(question.node, &QUESTION);
        let id = content.and_then(|content| QuestionId::derive(&content).ok());
        compare(&question, "id", id.map(|id| id.to_string()), findings);
    }
    for output in outputs(view.root, findings) {
        let content = subset(output.node, &OUTPUT);
        let id = content.and_then(|content| OutputId::derive(&content).ok());
        compare(&output, "id", id.map(|id| id.to_string()), findings);
        check_content_hash(&output, findings);
    }
    check_stats(view, &read_tree(view), findings);
}

/// Checks `content_hash`: `sha256:` and the hash of the content's bytes. Other producers write bare
/// digits, of the same bytes or of the content as a canonical JSON string; both are accepted.
fn check_content_hash(output: &Part<'_>, findings: &mut Findings) {
    let content = output.node.get("content").filter(Node::is_string);
    let both = content.zip(output.text("content_hash"));
    let Some((content, stated)) = findings.need(both) else {
        return;
    };
    // Text with half a surrogate pair has no bytes.
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
    /// Whether the root, every list of children and every child is there with its type.
    is_readable: bool,
    /// Whether every leaf has an id.
    is_named: bool,
}

fn read_tree(view: &BundleView<'_>) -> Tree {
    let terminal = terminal_nodes(view);
    let mut tree = Tree {
        nodes: 0,
        depth: 0,
        leaves: BTreeSet::new(),
        unresolved: Vec::new(),
        is_readable: true,
        is_named: true,
    };
    match top(view.root).member("root_node") {
        Some(root) => descend(&root, 0, &terminal, &mut tree),
        None => tree.is_readable = false,
    }
    tree
}

/// Whether some of the tree is not given: a child stands for itself by an id that no terminal node has.
pub(super) fn is_given_in_part(view: &BundleView<'_>) -> bool {
    !read_tree(view).unresolved.is_empty()
}

/// The terminal nodes that have an id, by id; several where one is listed twice.
fn terminal_nodes<'a>(view: &BundleView<'a>) -> BTreeMap<String, Vec<Part<'a>>> {
    let mut found: BTreeMap<String, Vec<Part<'a>>> = BTreeMap::new();
    for node in top(view.root).elements("terminal_nodes") {
        if let Some(id) = node.text("id") {
            found.entry(id).or_default().push(node);
        }
    }
    found
}

/// Recursion depth is bounded by the reader's limit on brackets: a child given as an id is a leaf.
fn descend(
    node: &Part<'_>,
    depth: usize,
    terminal: &BTreeMap<String, Vec<Part<'_>>>,
    tree: &mut Tree,
) {
    tree.nodes += 1;
    tree.depth = tree.depth.max(depth);
    let Some(children) = node.list("children") else {
        tree.is_readable = false;
        return;
    };
    if children.is_empty() {
        let id = node.text("id");
        tree.is_named &= id.is_some();
        tree.leaves.extend(id);
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
    let count = |name: &str| Some(bundle.list(name)?.len() as f64);
    let average = |group: &str, score: &str| {
        let nodes = bundle.list("terminal_nodes")?;
        let value = |node: &Part<'_>| Some(node.node.get(group)?.get(score)?.as_number()?.to_f64());
        let values: Vec<f64> = nodes.iter().map(value).collect::<Option<_>>()?;
        Some(if values.is_empty() {
            0.0
        } else {
            (values.iter().sum::<f64>() / values.len() as f64 + 0.5).floor()
        })
    };
    let of_tree = |number: usize| tree.is_readable.then_some(number as f64);
    let expected = [
        ("total_nodes", of_tree(tree.nodes)),
        ("max_depth", of_tree(tree.depth)),
        ("terminal_nodes", count("terminal_nodes")),
        ("total_outputs", count("outputs")),
        ("unresolved_count", count("unresolved_questions")),
        ("avg_terminal_entropy", average("entropy", "entropy_score")),
        ("avg_terminal_density", average("density", "density_score")),
    ];
    let stats = bundle.member("stats");
    for (name, expected) in expected {
        if !tree.unresolved.is_empty() && ["total_nodes", "max_depth"].contains(&name) {
            continue;
        }
        let stated = stats.as_ref().and_then(|stats| stats.member(name));
        let stated = stated.and_then(Part::number);
        let Some((expected, (place, number))) = findings.need(expected.zip(stated)) else {
            continue;
        };
        if number.to_f64() != expected {
            findings.add_difference(
                place,
                &format!("{name} is not that of the bundle"),
                expected.to_string(),
                number.text().to_owned(),
            );
        }
    }
}

pub(super) fn check_leaves(view: &BundleView<'_>, findings: &mut Findings) {
    let tree = read_tree(view);
    // Below a child that is not given there may be leaves that are not visible here.
    let is_known = findings.need((tree.is_readable && tree.is_named).then_some(()));
    let is_known = is_known.is_some() && tree.unresolved.is_empty();
    let mut terminal: BTreeMap<String, Part<'_>> = BTreeMap::new();
    let listed = findings.need(top(view.root).list("terminal_nodes"));
    let mut lists_all = listed.is_some();
    for node in listed.unwrap_or_default() {
        let Some(id) = findings.need(node.text("id")) else {
            lists_all = false;
            continue;
        };
        let shown = id.escape_debug().to_string();
        if is_known && !tree.leaves.contains(&id) {
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
    for id in tree.leaves.iter().filter(|_| lists_all) {
        if !terminal.contains_key(id) {
            let shown = id.escape_debug();
            findings.add(
                JsonPath::ROOT.then("terminal_nodes"),
                format!("the leaf `{shown}` is missing"),
            );
        }
    }
    let in_tree = nodes(view.root, findings)
        .into_iter()
        .filter(|(node, place)| *place == Where::Tree && is_leaf(node));
    for (leaf, _) in in_tree {
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

/// Whether it has no children. What has no list of children may be no leaf.
pub(super) fn is_leaf(node: &Part<'_>) -> bool {
    node.list("children").is_some_and(|list| list.is_empty())
}

/// BS22: the nodes are a tree. Each names its parent, and none occurs twice or below itself.
pub(super) fn check_tree(view: &BundleView<'_>, findings: &mut Findings) {
    let terminal = terminal_nodes(view);
    let mut walk = TreeWalk {
        terminal: &terminal,
        seen: BTreeMap::new(),
    };
    let root = top(view.root).member("root_node");
    let root = root.filter(|root| root.node.kind() == Kind::Object);
    if let Some(root) = findings.need(root) {
        walk.check_node(&root, &Some(None), findings);
    }
    for node in top(view.root).needed("terminal_nodes", findings) {
        if !node.needed("children", findings).is_empty() {
            findings.add(
                node.place.then("children"),
                "a terminal node must not have children",
            );
        }
    }
}

/// The id of the node above, or null; `None` if that node has no id to compare with.
type Parent = Option<Option<String>>;

struct TreeWalk<'t, 'a> {
    terminal: &'t BTreeMap<String, Vec<Part<'a>>>,
    seen: BTreeMap<String, JsonPath>,
}

impl TreeWalk<'_, '_> {
    /// Recursion depth is bounded by the reader's limit on brackets.
    fn check_node(&mut self, node: &Part<'_>, parent: &Parent, findings: &mut Findings) {
        let given_as_id = node.node.as_lossy_str();
        let is_given = given_as_id.is_none();
        let id = match given_as_id {
            Some(id) => Some(id.into_owned()),
            None => findings.need(node.text("id")),
        };
        if let Some(id) = &id {
            if let Some(first) = self.seen.get(id) {
                let shown = id.escape_debug();
                let message = format!("node `{shown}` is already in the tree, at {first}");
                findings.add(&node.place, message);
                return;
            }
            self.seen.insert(id.clone(), node.place.clone());
        }
        if is_given {
            check_parent(node, parent, findings);
            for child in node.needed("children", findings) {
                self.check_node(&child, &id.clone().map(Some), findings);
            }
        } else {
            let terminal = id.and_then(|id| self.terminal.get(&id));
            for terminal in terminal.into_iter().flatten() {
                check_parent(terminal, parent, findings);
            }
        }
    }
}

fn check_parent(node: &Part<'_>, parent: &Parent, findings: &mut Findings) {
    let is_text_or_null = |node: &Node<'_>| node.is_string() || node.is_null();
    let named = node.node.get("parent_id").filter(is_text_or_null);
    let Some((named, parent)) = findings.need(named.zip(parent.as_ref())) else {
        return;
    };
    if named.as_lossy_str().as_deref() != parent.as_deref() {
        findings.add_difference(
            node.place.then("parent_id"),
            "parent_id is not the id of the node above",
            parent.as_deref().unwrap_or("null"),
            named.as_lossy_str().unwrap_or("null".into()),
        );
    }
}

/// BS23: the whole tree is given, and branch ids are derived like the other ids.
pub(super) fn check_whole_tree(view: &BundleView<'_>, findings: &mut Findings) {
    let tree = read_tree(view);
    findings.need(tree.is_readable.then_some(()));
    for (place, id) in &tree.unresolved {
        findings.add(
            place,
            format!("no terminal node has the id `{}`", id.escape_debug()),
        );
    }
    for (branch, question) in branches(view.root, findings) {
        let answer = branch.node.get("answer").filter(Node::is_string);
        let content = answer.zip(question).map(|(answer, question)| {
            let members = [
                ("answer", answer.to_value()),
                ("question_id", Value::from(question)),
            ];
            Value::object(members)
        });
        let id = content.and_then(|content| BranchId::derive(&content).ok());
        compare(&branch, "branch_id", id.map(|id| id.to_string()), findings);
    }
}
