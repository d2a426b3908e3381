//! Walks a context bundle: every node, question and output with its place.

use crate::canon::{JsonPath, Kind, Node};

/// A part of the document and its JSON path.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    pub node: Node<'a>,
    pub place: JsonPath,
}

impl<'a> Part<'a> {
    /// The member `name`, if present.
    pub fn member(&self, name: &str) -> Option<Part<'a>> {
        let node = self.node.get(name)?;
        Some(Part {
            node,
            place: self.place.then(name),
        })
    }

    /// The elements of the list `name`; empty if it is not a list.
    pub fn elements(&self, name: &str) -> Vec<Part<'a>> {
        let Some(list) = self.node.get(name) else {
            return Vec::new();
        };
        let items = list.as_array().into_iter().flatten();
        let part = |(at, node)| Part {
            node,
            place: self.place.then(name).then(at),
        };
        items.enumerate().map(part).collect()
    }

    /// The text of the member `name`, with U+FFFD for lone surrogates.
    pub fn text(&self, name: &str) -> Option<String> {
        Some(self.node.get(name)?.as_lossy_str()?.into_owned())
    }
}

/// The whole document.
pub(super) fn top(root: Node<'_>) -> Part<'_> {
    Part {
        node: root,
        place: JsonPath::ROOT,
    }
}

/// Whether a node is in the tree or in the flat list of terminal nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Tree,
    Terminal,
}

/// Every tree node that is an object: the root and all below it, then the terminal nodes and all
/// below them.
pub(super) fn nodes(root: Node<'_>) -> Vec<(Part<'_>, Where)> {
    let mut out = Vec::new();
    let top = top(root);
    if let Some(tree) = top.member("root_node") {
        collect(tree, Where::Tree, &mut out);
    }
    for terminal in top.elements("terminal_nodes") {
        collect(terminal, Where::Terminal, &mut out);
    }
    out
}

/// Recursion depth is bounded by the reader's limit on brackets.
fn collect<'a>(part: Part<'a>, place: Where, out: &mut Vec<(Part<'a>, Where)>) {
    if part.node.kind() != Kind::Object {
        return;
    }
    let children = part.elements("children");
    out.push((part, place));
    for child in children {
        collect(child, Where::Tree, out);
    }
}

/// Every question: of the bundle, of the nodes, and the splitting ones.
pub(super) fn questions(root: Node<'_>) -> Vec<Part<'_>> {
    let mut out = top(root).elements("unresolved_questions");
    for (node, _) in nodes(root) {
        out.extend(node.elements("unresolved_questions"));
        if let Some(split) = node.member("splitting_question") {
            out.extend(split.member("question"));
        }
    }
    out.retain(|question| question.node.kind() == Kind::Object);
    out
}

/// Every branch of every splitting question.
pub(super) fn branches(root: Node<'_>) -> Vec<(Part<'_>, Option<String>)> {
    let mut out = Vec::new();
    for (node, _) in nodes(root) {
        if let Some(split) = node.member("splitting_question") {
            let id = split.member("question").and_then(|q| q.text("id"));
            let list = split.elements("branches");
            let objects = list.into_iter().filter(|b| b.node.kind() == Kind::Object);
            out.extend(objects.map(|branch| (branch, id.clone())));
        }
    }
    out
}

/// Every output that is an object.
pub(super) fn outputs(root: Node<'_>) -> Vec<Part<'_>> {
    let mut out = top(root).elements("outputs");
    out.retain(|output| output.node.kind() == Kind::Object);
    out
}
