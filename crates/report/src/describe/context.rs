//! The context bundle: its goal, tree, outputs and open questions.

use runseal_core::canon::{Dialect, Kind, Node, canonical_digest};

use super::members::{list_at, string_at, table_at, text_at, text_of, words_block};
use super::picture::{Mark, Picture, TreeNode};
use super::{About, Block, Body, Description, Words};
use crate::exhibit::Exhibit;
use crate::limits::{CELL, CONTENTS};
use crate::reveal::cut;

/// The most nodes of a tree that are drawn.
const DRAWN: usize = 60;
/// The most constraints of a node that are compared with its parent's, to see what was added.
const COMPARED: usize = 10_000;
/// The most levels of a tree that are drawn.
const DEEPEST: usize = 64;

pub(super) fn describe_context<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    add_context(description, "", root);
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
    add_outputs(description, root);
}

/// The goal, constraints, questions and tree of a context bundle.
pub(super) fn add_context<'a>(description: &mut Description<'a>, file: &str, root: Node<'a>) {
    let goal = text_at(root, "root_node.goal");
    if let Some(goal) = &goal {
        let block = words_block("The goal", goal.clone());
        let about = About::place(file, "/root_node/goal");
        description.asked.push(block.about(about));
    }
    description.headline = goal;
    let constraints = list_at(root, "root_node.constraints");
    if !constraints.is_empty() {
        let block = Block::new("What it has to keep to", Body::List(constraints.lines()));
        let about = About::place(file, "/root_node/constraints");
        description.asked.push(block.about(about));
    }
    let columns = [
        ("text", "question"),
        ("why_needed", "why it is needed"),
        ("expected_answer_type", "answer"),
        ("priority", "priority"),
        ("id", "id"),
    ];
    let questions = table_at(
        "Open questions",
        (file, root),
        "unresolved_questions",
        &columns,
    );
    description.asked.extend(questions);
    if let Some(node) = root.get("root_node") {
        let mut left = DRAWN;
        let place = (file.to_owned(), "/root_node".to_owned());
        let tree = tree_of(node, None, place, &mut left, 0);
        let block = Block::new("How it was taken apart", Body::Picture(Picture::Tree(tree)));
        description.done.push(block);
    }
}

/// What the bundle would have written.
fn add_outputs<'a>(description: &mut Description<'a>, root: Node<'a>) {
    let columns = [
        ("path", "path"),
        ("type", "type"),
        ("confidence", "confidence"),
        ("content_hash", "content hash"),
    ];
    let outputs = table_at("Outputs", ("", root), "outputs", &columns);
    description.came_out.extend(outputs);
    let outputs = list_at(root, "outputs");
    for (at, output) in outputs.iter().enumerate().take(CONTENTS) {
        let (Some(path), Some(content)) = (text_at(output, "path"), string_at(output, "content"))
        else {
            continue;
        };
        let words = if path.ends_with(".md") {
            Words::Markdown(content)
        } else {
            Words::Plain(content)
        };
        let block =
            Block::new(path, Body::Words(words)).about(About::place("", format!("/outputs/{at}")));
        description.came_out.push(block);
    }
}

fn tree_of(
    node: Node<'_>,
    parent: Option<Node<'_>>,
    (file, pointer): (String, String),
    left: &mut usize,
    depth: usize,
) -> TreeNode {
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
    for (at, child) in list_at(node, "children").iter().enumerate() {
        if *left == 0 || depth >= DEEPEST {
            break;
        }
        let place = (file.clone(), format!("{pointer}/children/{at}"));
        children.push(match child.kind() {
            Kind::Object => tree_of(child, Some(node), place, left, depth + 1),
            _ => TreeNode {
                title: text_of(child),
                detail: "given by its id".to_owned(),
                mark: Mark::Plain,
                about: vec![About::place(place.0, place.1)],
                children: Vec::new(),
            },
        });
    }
    // Only its own members: what is wrong in a child is marked at the child.
    let own = ["goal", "status", "constraints", "id", "entropy", "density"];
    let own = own
        .iter()
        .map(|member| About::place(&*file, format!("{pointer}/{member}")));
    TreeNode {
        title: title_of(node, parent),
        detail,
        mark: match status.as_str() {
            _ if questions > 0 => Mark::Open,
            "terminal" => Mark::Good,
            "blocked" => Mark::Open,
            _ => Mark::Plain,
        },
        about: own.collect(),
        children,
    }
}

/// A node's goal; if it equals its parent's, the added constraints.
fn title_of(node: Node<'_>, parent: Option<Node<'_>>) -> String {
    let goal = text_at(node, "goal").unwrap_or_else(|| "a node without a goal".to_owned());
    let Some(parent) = parent.filter(|parent| text_at(*parent, "goal").as_ref() == Some(&goal))
    else {
        return goal;
    };
    let (known, own) = (list_at(parent, "constraints"), list_at(node, "constraints"));
    if known.len().max(own.len()) > COMPARED {
        return goal;
    }
    let known: std::collections::BTreeSet<_> = known.iter().map(text_of).collect();
    let added = own.iter().map(text_of).filter(|text| !known.contains(text));
    let added: Vec<_> = added.collect();
    if added.is_empty() {
        goal
    } else {
        cut(&format!("+ {}", added.join(" + ")), CELL).into_owned()
    }
}
