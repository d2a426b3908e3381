//! SCHEMA: fields and types, at every level.

use super::BundleView;
use super::walk::{Part, top};
use crate::canon::JsonPath;
use crate::canon::Kind;
use crate::verify::Findings;

/// What a field must be.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    TextOrNull,
    Number,
    Object,
    List,
    /// One of these words.
    Word(&'static [&'static str]),
}

const NODE_STATUS: &[&str] = &["pending", "expanding", "terminal", "blocked"];
const OUTPUT_TYPE: &[&str] = &["file", "command", "config", "instruction", "schema"];
const ANSWER_TYPE: &[&str] = &["boolean", "choice", "text", "number", "list", "structured"];

const BUNDLE: &[(&str, Shape)] = &[
    ("id", Shape::Text),
    ("kernel_version", Shape::Text),
    ("source_intent_hash", Shape::Text),
    ("status", Shape::Text),
    ("root_node", Shape::Object),
    ("terminal_nodes", Shape::List),
    ("outputs", Shape::List),
    ("unresolved_questions", Shape::List),
    ("stats", Shape::Object),
];
const NODE: &[(&str, Shape)] = &[
    ("id", Shape::Text),
    ("parent_id", Shape::TextOrNull),
    ("status", Shape::Word(NODE_STATUS)),
    ("goal", Shape::Text),
    ("constraints", Shape::List),
    ("entropy", Shape::Object),
    ("density", Shape::Object),
    ("children", Shape::List),
    ("unresolved_questions", Shape::List),
];
const ENTROPY: &[(&str, Shape)] = &[
    ("unresolved_refs", Shape::Number),
    ("schema_gaps", Shape::Number),
    ("contradiction_count", Shape::Number),
    ("branching_factor", Shape::Number),
    ("entropy_score", Shape::Number),
];
const DENSITY: &[(&str, Shape)] = &[
    ("concrete_constraints", Shape::Number),
    ("specified_outputs", Shape::Number),
    ("constraint_depth", Shape::Number),
    ("density_score", Shape::Number),
];
const QUESTION: &[(&str, Shape)] = &[
    ("id", Shape::Text),
    ("text", Shape::Text),
    ("expected_answer_type", Shape::Word(ANSWER_TYPE)),
    ("why_needed", Shape::Text),
    ("information_gain", Shape::Number),
    ("priority", Shape::Number),
];
const BRANCH: &[(&str, Shape)] = &[
    ("branch_id", Shape::Text),
    ("answer", Shape::Text),
    ("added_constraints", Shape::List),
];
const OUTPUT: &[(&str, Shape)] = &[
    ("id", Shape::Text),
    ("type", Shape::Word(OUTPUT_TYPE)),
    ("path", Shape::Text),
    ("content", Shape::Text),
    ("content_hash", Shape::Text),
    ("source_constraints", Shape::List),
    ("confidence", Shape::Number),
];
const STATS: &[(&str, Shape)] = &[
    ("total_nodes", Shape::Number),
    ("terminal_nodes", Shape::Number),
    ("max_depth", Shape::Number),
    ("total_outputs", Shape::Number),
    ("unresolved_count", Shape::Number),
    ("avg_terminal_entropy", Shape::Number),
    ("avg_terminal_density", Shape::Number),
];

pub(super) fn check_schema(view: &BundleView<'_>, findings: &mut Findings) {
    let bundle = top(view.root);
    if !is_object(&bundle, "a context bundle", findings) {
        return;
    }
    // A version that is present but not a string is reported by BS1 alone (rulings).
    if bundle.node.get("schema_version").is_none() {
        findings.add(
            JsonPath::ROOT.then("schema_version"),
            "`schema_version` is missing",
        );
    }
    check_fields(&bundle, BUNDLE, findings);
    if let Some(root) = bundle.member("root_node") {
        check_node(&root, findings);
    }
    for node in bundle.elements("terminal_nodes") {
        if is_object(&node, "a terminal node", findings) {
            check_node(&node, findings);
        }
    }
    for output in bundle.elements("outputs") {
        if is_object(&output, "an output", findings) {
            check_fields(&output, OUTPUT, findings);
            check_texts(&output, "source_constraints", findings);
        }
    }
    check_questions(&bundle, findings);
    if let Some(stats) = bundle.member("stats") {
        check_fields(&stats, STATS, findings);
    }
}

/// Checks the members of an object. A value of another kind is already reported.
fn check_fields(part: &Part<'_>, fields: &[(&str, Shape)], findings: &mut Findings) {
    if part.node.kind() != Kind::Object {
        return;
    }
    for (name, shape) in fields {
        let place = part.place.then(*name);
        let Some(node) = part.node.get(name) else {
            findings.add(place, format!("`{name}` is missing"));
            continue;
        };
        let kind = node.kind();
        let (fits, wanted) = match shape {
            Shape::Text => (kind == Kind::String, "a string"),
            Shape::TextOrNull => (
                matches!(kind, Kind::String | Kind::Null),
                "a string or null",
            ),
            Shape::Number => (kind == Kind::Number, "a number"),
            Shape::Object => (kind == Kind::Object, "an object"),
            Shape::List => (kind == Kind::Array, "a list"),
            Shape::Word(words) => {
                if let Some(word) = node.as_lossy_str()
                    && !words.contains(&word.as_ref())
                {
                    let known = words.join(", ");
                    findings.add(place, format!("{name} is one of {known}, not `{word}`"));
                    continue;
                }
                (kind == Kind::String, "a string")
            }
        };
        if !fits {
            findings.add(
                place,
                format!("{name} is {wanted}, not {}", kind.with_article()),
            );
        }
    }
}

fn is_object(part: &Part<'_>, what: &str, findings: &mut Findings) -> bool {
    let kind = part.node.kind();
    if kind != Kind::Object {
        findings.add(
            part.place.clone(),
            format!("{what} is an object, not {}", kind.with_article()),
        );
    }
    kind == Kind::Object
}

fn check_texts(part: &Part<'_>, name: &str, findings: &mut Findings) {
    for element in part.elements(name) {
        if !element.node.is_string() {
            let found = element.node.kind().with_article();
            findings.add(
                element.place,
                format!("an element of {name} is a string, not {found}"),
            );
        }
    }
}

fn check_questions(part: &Part<'_>, findings: &mut Findings) {
    for question in part.elements("unresolved_questions") {
        check_question(&question, findings);
    }
}

fn check_question(question: &Part<'_>, findings: &mut Findings) {
    if !is_object(question, "a question", findings) {
        return;
    }
    check_fields(question, QUESTION, findings);
    check_optional_list(question, "options", findings);
    check_texts(question, "options", findings);
}

/// An optional member that is absent or null is fine.
fn check_optional_list(part: &Part<'_>, name: &str, findings: &mut Findings) {
    if let Some(member) = part.member(name)
        && !matches!(member.node.kind(), Kind::Array | Kind::Null)
    {
        let found = member.node.kind().with_article();
        findings.add(member.place, format!("{name} is a list, not {found}"));
    }
}

/// Recursion depth is bounded by the reader's limit on brackets.
fn check_node(node: &Part<'_>, findings: &mut Findings) {
    if node.node.kind() != Kind::Object {
        return;
    }
    check_fields(node, NODE, findings);
    check_texts(node, "constraints", findings);
    for (name, fields) in [("entropy", ENTROPY), ("density", DENSITY)] {
        if let Some(measurement) = node.member(name) {
            check_fields(&measurement, fields, findings);
        }
    }
    check_questions(node, findings);
    for child in node.elements("children") {
        match child.node.kind() {
            Kind::Object => check_node(&child, findings),
            Kind::String => {}
            kind => findings.add(
                child.place,
                format!("a child is a node or an id, not {}", kind.with_article()),
            ),
        }
    }
    let Some(split) = node
        .member("splitting_question")
        .filter(|split| !split.node.is_null())
    else {
        return;
    };
    if !is_object(&split, "a splitting question", findings) {
        return;
    }
    check_fields(
        &split,
        &[("question", Shape::Object), ("branches", Shape::List)],
        findings,
    );
    if let Some(question) = split
        .member("question")
        .filter(|q| q.node.kind() == Kind::Object)
    {
        check_question(&question, findings);
    }
    for branch in split.elements("branches") {
        if is_object(&branch, "a branch", findings) {
            check_fields(&branch, BRANCH, findings);
            check_texts(&branch, "added_constraints", findings);
        }
    }
}
