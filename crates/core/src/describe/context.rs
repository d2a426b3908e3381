//! The context bundle: its tree, outputs and open questions.

use super::members::{list_at, table, text_at, text_of};
use super::picture::{Mark, Picture, TreeNode};
use super::{Description, Documents};
use crate::canon::{Dialect, Kind, Node, canonical_digest};

/// Nodes of a tree that are drawn.
const DRAWN: usize = 200;

pub(crate) fn describe_context(description: &mut Description, documents: &Documents<'_>) {
    let Some(root) = documents.get("") else {
        return;
    };
    add_context(description, *root);
}

pub(super) fn add_context(description: &mut Description, root: Node<'_>) {
    description.headline = text_at(root, "root_node.goal");
    description.add_facts(
        root,
        &[
            ("id", "bundle id"),
            ("status", "status"),
            ("schema_version", "schema version"),
            ("kernel_version", "made by kernel"),
            ("source_intent_hash", "intent hash"),
        ],
    );
    if let Ok(digest) = canonical_digest(root, Dialect::Kernel) {
        description.add_fact("bundle hash", format!("sha256:{digest}"));
    }
    let sections = [
        table(
            "Constraints",
            &list_at(root, "root_node.constraints"),
            &[("", "constraint")],
        ),
        table(
            "Open questions",
            &list_at(root, "unresolved_questions"),
            &[
                ("text", "question"),
                ("why_needed", "why it is needed"),
                ("expected_answer_type", "answer"),
                ("priority", "priority"),
                ("id", "id"),
            ],
        ),
        table(
            "Outputs",
            &list_at(root, "outputs"),
            &[
                ("path", "path"),
                ("type", "type"),
                ("confidence", "confidence"),
                ("content_hash", "content hash"),
            ],
        ),
    ];
    description.sections.extend(sections.into_iter().flatten());
    if let Some(node) = root.get("root_node") {
        let mut left = DRAWN;
        let tree = tree_of(node, None, &mut left);
        description
            .pictures
            .push(("Decomposition".to_owned(), Picture::Tree(tree)));
    }
}

fn tree_of(node: Node<'_>, parent: Option<Node<'_>>, left: &mut usize) -> TreeNode {
    *left = left.saturating_sub(1);
    let score = |path| text_at(node, path).unwrap_or_else(|| "?".to_owned());
    let questions = list_at(node, "unresolved_questions").len();
    let status = text_at(node, "status").unwrap_or_default();
    let mut detail = format!(
        "{status} · entropy {} · density {}",
        score("entropy.entropy_score"),
        score("density.density_score")
    );
    if questions > 0 {
        detail.push_str(&format!(" · {questions} open"));
    }
    let mut children = Vec::new();
    for child in list_at(node, "children") {
        if *left == 0 {
            break;
        }
        children.push(match child.kind() {
            Kind::Object => tree_of(child, Some(node), left),
            _ => TreeNode {
                title: text_of(child),
                detail: "given by its id".to_owned(),
                mark: Mark::Plain,
                children: Vec::new(),
            },
        });
    }
    TreeNode {
        title: title_of(node, parent),
        detail,
        mark: match status.as_str() {
            _ if questions > 0 => Mark::Open,
            "terminal" => Mark::Good,
            "blocked" => Mark::Open,
            _ => Mark::Plain,
        },
        children,
    }
}

/// A node's goal; where that is its parent's, what was added to the constraints.
fn title_of(node: Node<'_>, parent: Option<Node<'_>>) -> String {
    let goal = text_at(node, "goal").unwrap_or_else(|| "a node without a goal".to_owned());
    let Some(parent) = parent.filter(|parent| text_at(*parent, "goal").as_ref() == Some(&goal))
    else {
        return goal;
    };
    let constraints = |node| list_at(node, "constraints").into_iter().map(text_of);
    let known: Vec<_> = constraints(parent).collect();
    let added: Vec<_> = constraints(node)
        .filter(|text| !known.contains(text))
        .collect();
    match added.is_empty() {
        true => goal,
        false => format!("+ {}", added.join(" + ")),
    }
}
