//! The summary of a context bundle: the same bytes for the same bundle.

use super::walk::{Part, top};
use crate::canon::{Dialect, NoCanonicalForm, Node, Value, canonical_digest};

/// Summarizes a bundle: artifact_count, artifact_paths, bundle_hash, outcome, question_ids,
/// schema_version, terminal_node_ids, terminal_nodes_count, unresolved_questions_count. A missing
/// member counts as empty; the outcome of an error is REFUSE (rulings).
pub fn summarize_bundle(root: Node<'_>) -> Result<Value, NoCanonicalForm> {
    let bundle = top(root);
    let hash = canonical_digest(root, Dialect::Kernel)?;
    let outcome = match bundle.text("status").as_deref() {
        Some("complete") => "BUNDLE",
        Some("incomplete") => "CLARIFY",
        _ => "REFUSE",
    };
    let count = |name| bundle.elements(name).len();
    Ok(Value::object([
        ("artifact_count", Value::from(count("outputs"))),
        ("artifact_paths", sorted(&bundle, "outputs", "path")),
        ("bundle_hash", Value::from(hash.to_string())),
        ("outcome", Value::from(outcome)),
        ("question_ids", ids_by_priority(&bundle)),
        ("schema_version", Value::from(bundle.text("schema_version"))),
        ("terminal_node_ids", sorted(&bundle, "terminal_nodes", "id")),
        ("terminal_nodes_count", Value::from(count("terminal_nodes"))),
        (
            "unresolved_questions_count",
            Value::from(count("unresolved_questions")),
        ),
    ]))
}

/// The ids of the questions in the order of 000 §4.2: priority descending, then id. A question
/// without a numeric priority comes last.
fn ids_by_priority(bundle: &Part<'_>) -> Value {
    let questions = bundle.elements("unresolved_questions").into_iter();
    let mut ids: Vec<(f64, Node<'_>)> = questions
        .filter_map(|question| {
            let id = question.node.get("id").filter(Node::is_string)?;
            let priority = question
                .node
                .get("priority")
                .and_then(|node| node.as_number());
            let priority = priority.map_or(f64::NEG_INFINITY, |number| number.to_f64());
            Some((priority, id))
        })
        .collect();
    ids.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.compare_utf16(&b.1)));
    Value::array(ids.iter().map(|(_, id)| id.to_value()))
}

fn sorted(bundle: &Part<'_>, list: &str, member: &str) -> Value {
    let elements = bundle.elements(list).into_iter();
    let mut texts: Vec<Node<'_>> = elements
        .filter_map(|element| element.node.get(member).filter(Node::is_string))
        .collect();
    texts.sort_by(|a, b| a.compare_utf16(b));
    Value::array(texts.iter().map(Node::to_value))
}
