//! Walks a context bundle: every node, question and output with its place.
//!
//! What is missing or mistyped is not walked, and [`Findings::need`] notes it: the rule that walks has
//! not seen everything.

use crate::canon::{JsonPath, Kind, Node, Number};
use crate::verify::Findings;

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

    /// The elements of the list `name`; `None` if it is not a list.
    pub fn list(&self, name: &str) -> Option<Vec<Part<'a>>> {
        let items = self.node.get(name)?.as_array()?;
        let part = |(at, node)| Part {
            node,
            place: self.place.then(name).then(at),
        };
        Some(items.enumerate().map(part).collect())
    }

    /// The elements of the list `name`; empty if it is not a list.
    pub fn elements(&self, name: &str) -> Vec<Part<'a>> {
        self.list(name).unwrap_or_default()
    }

    /// The elements of a list that must be there.
    pub fn needed(&self, name: &str, findings: &mut Findings) -> Vec<Part<'a>> {
        findings.need(self.list(name)).unwrap_or_default()
    }

    /// Its place and its number, if it is one.
    pub fn number(self) -> Option<(JsonPath, Number<'a>)> {
        let number = self.node.as_number()?;
        Some((self.place, number))
    }

    /// Whether it is an object, which an element of these lists must be.
    fn is_object(&self, findings: &mut Findings) -> bool {
        let object = (self.node.kind() == Kind::Object).then_some(());
        findings.need(object).is_some()
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

/// Whether a node is in the tree, in the flat list of terminal nodes, or below one of these, where none belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Tree,
    Terminal,
    BelowTerminal,
}

/// Every node that is an object: the root and all below it, then the terminal nodes and all below
/// them.
pub(super) fn nodes<'a>(root: Node<'a>, findings: &mut Findings) -> Vec<(Part<'a>, Where)> {
    let mut out = Vec::new();
    let top = top(root);
    if let Some(tree) = findings.need(top.member("root_node")) {
        collect(tree, Where::Tree, &mut out, findings);
    }
    for terminal in top.needed("terminal_nodes", findings) {
        collect(terminal, Where::Terminal, &mut out, findings);
    }
    out
}

/// Recursion depth is bounded by the reader's limit on brackets.
fn collect<'a>(
    part: Part<'a>,
    place: Where,
    out: &mut Vec<(Part<'a>, Where)>,
    findings: &mut Findings,
) {
    if !part.is_object(findings) {
        return;
    }
    let children = part.needed("children", findings);
    out.push((part, place));
    let below = match place {
        Where::Tree => Where::Tree,
        Where::Terminal | Where::BelowTerminal => Where::BelowTerminal,
    };
    for child in children.into_iter().filter(|child| !child.node.is_string()) {
        collect(child, below, out, findings);
    }
}

/// The question and branches that split a node, if it was split.
pub(super) fn split_of<'a>(node: &Part<'a>) -> Option<Part<'a>> {
    node.member("splitting_question")
        .filter(|split| !split.node.is_null())
}

/// Every question: of the bundle, of the nodes, and the splitting ones.
pub(super) fn questions<'a>(root: Node<'a>, findings: &mut Findings) -> Vec<Part<'a>> {
    let mut out = top(root).needed("unresolved_questions", findings);
    for (node, _) in nodes(root, findings) {
        out.extend(node.needed("unresolved_questions", findings));
        if let Some(split) = split_of(&node) {
            out.extend(findings.need(split.member("question")));
        }
    }
    out.retain(|question| question.is_object(findings));
    out
}

/// Every branch of every splitting question, with the question's id.
pub(super) fn branches<'a>(
    root: Node<'a>,
    findings: &mut Findings,
) -> Vec<(Part<'a>, Option<String>)> {
    let mut out = Vec::new();
    for (node, _) in nodes(root, findings) {
        if let Some(split) = split_of(&node) {
            let id = split.member("question").and_then(|q| q.text("id"));
            let mut list = split.needed("branches", findings);
            list.retain(|branch| branch.is_object(findings));
            out.extend(list.into_iter().map(|branch| (branch, id.clone())));
        }
    }
    out
}

/// Every output that is an object.
pub(super) fn outputs<'a>(root: Node<'a>, findings: &mut Findings) -> Vec<Part<'a>> {
    let mut out = top(root).needed("outputs", findings);
    out.retain(|output| output.is_object(findings));
    out
}
