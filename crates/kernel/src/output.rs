//! Outputs: for every leaf an instruction that a person or an agent can work from (000 §2.3).

use crate::lexicon::class;
use crate::measure::{DECIDED, FindingKind};
use crate::tree::TreeNode;
use runseal_core::canon::{NoCanonicalForm, Value};
use runseal_core::digest::ContentHash;
use runseal_core::ids::OutputId;
use runseal_core::path::SafePath;

/// One output of a bundle.
#[derive(Clone, Debug)]
pub struct Output {
    /// Derived from content, path and type.
    pub id: OutputId,
    /// Where it belongs.
    pub path: SafePath,
    /// The text.
    pub content: String,
    /// SHA-256 of the text's bytes.
    pub content_hash: ContentHash,
    /// The constraints it was made from, sorted.
    pub source_constraints: Vec<String>,
    /// 0 to 100, from entropy and density.
    pub confidence: u8,
}

impl Output {
    /// The output as it stands in a bundle.
    pub fn to_value(&self) -> Value {
        Value::object([
            ("id", Value::from(self.id.as_str())),
            ("type", Value::from("instruction")),
            ("path", Value::from(self.path.as_str())),
            ("content", Value::from(self.content.as_str())),
            ("content_hash", Value::from(self.content_hash.to_string())),
            (
                "source_constraints",
                Value::array(self.source_constraints.iter().map(String::as_str)),
            ),
            ("confidence", Value::from(self.confidence)),
        ])
    }
}

/// What went wrong while making outputs.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path is not relative and normalized (000 §6.1).
    #[error("INVALID_PATH: {0}")]
    Path(String),
    /// No canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
}

/// Checks an output path with the messages of 000 §6.1.
pub fn check_output_path(path: &str) -> Result<SafePath, OutputError> {
    if path.starts_with('/') {
        return Err(OutputError::Path(format!(
            "Absolute paths not allowed in bundle: {path}"
        )));
    }
    if path.contains("..") {
        return Err(OutputError::Path(format!(
            "Parent directory references not allowed: {path}"
        )));
    }
    SafePath::parse(path).map_err(|e| OutputError::Path(format!("{e}: {path}")))
}

/// Half from what is said, half from what is not left open; integer arithmetic only.
pub(crate) fn confidence(entropy: u8, density: u8) -> u8 {
    ((u16::from(density) + (100 - u16::from(entropy.min(100)))) / 2).min(100) as u8
}

/// Makes the instruction of a leaf.
pub fn make_output(leaf: &TreeNode) -> Result<Output, OutputError> {
    let path = check_output_path(&format!("context/{}.md", leaf.id.as_str()))?;
    let content = render_instruction(leaf);
    let id = OutputId::derive(&Value::object([
        ("content", content.as_str()),
        ("path", path.as_str()),
        ("type", "instruction"),
    ]))?;
    let content_hash = ContentHash::of(content.as_bytes());
    let (entropy, density) = (
        leaf.measured.entropy.entropy_score,
        leaf.measured.density.density_score,
    );
    Ok(Output {
        id,
        path,
        content,
        content_hash,
        source_constraints: leaf.constraints.clone(),
        confidence: confidence(entropy, density),
    })
}

/// What a constraint governs, for the headings of an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Topic {
    People,
    Failure,
    Technology,
    Data,
    Result,
    Other,
}

const TOPICS: [(Topic, &str); 6] = [
    (Topic::People, "Who it is for"),
    (Topic::Technology, "Technology"),
    (Topic::Data, "Data"),
    (Topic::Result, "Result"),
    (Topic::Failure, "When something goes wrong"),
    (Topic::Other, "Further constraints"),
];

/// The first topic that a word of the constraint names; failure before the rest, because it is the easiest to miss.
fn topic_of(seen: u64) -> Topic {
    let order = [
        (class::FAILURE, Topic::Failure),
        (class::TECH, Topic::Technology),
        (class::PERSON, Topic::People),
        (class::FORMAT | class::DATA, Topic::Data),
        (class::OUTPUT, Topic::Result),
    ];
    order
        .iter()
        .find(|(c, _)| seen & c != 0)
        .map_or(Topic::Other, |(_, t)| *t)
}

fn render_instruction(leaf: &TreeNode) -> String {
    let mut out = String::with_capacity(512);
    out.push_str("# Goal\n\n");
    out.push_str(&leaf.goal);
    out.push('\n');
    let plain: Vec<(&String, Topic)> = leaf
        .constraints
        .iter()
        .zip(&leaf.measured.classes)
        .filter(|(c, _)| !crate::measure::is_decision(c))
        .map(|(c, seen)| (c, topic_of(*seen)))
        .collect();
    for (topic, title) in TOPICS {
        if plain.iter().any(|(_, t)| *t == topic) {
            heading(&mut out, title);
            for (constraint, _) in plain.iter().filter(|(_, t)| *t == topic) {
                item(&mut out, constraint);
            }
        }
    }
    let decisions: Vec<&str> = leaf
        .constraints
        .iter()
        .filter_map(|c| c.strip_prefix(DECIDED))
        .map(str::trim_start)
        .collect();
    if !decisions.is_empty() {
        heading(&mut out, "Decisions");
        for decision in decisions {
            item(&mut out, decision);
        }
    }
    if !leaf.questions.is_empty() {
        heading(&mut out, "Open questions");
        for question in &leaf.questions {
            item(&mut out, &question.text);
        }
    }
    heading(&mut out, "Metrics");
    let (e, d) = (&leaf.measured.entropy, &leaf.measured.density);
    let count = |kind| {
        leaf.measured
            .findings
            .iter()
            .filter(|f| f.kind == kind)
            .count()
    };
    for line in [
        format!("Entropy: {}/100", e.entropy_score),
        format!("Density: {}/100", d.density_score),
        format!("Unresolved references: {}", e.unresolved_refs),
        format!("Missing elements: {}", e.schema_gaps),
        format!("Contradictions: {}", e.contradiction_count),
        format!("Open choices: {}", count(FindingKind::Choice)),
    ] {
        item(&mut out, &line);
    }
    out
}

fn heading(out: &mut String, title: &str) {
    out.push_str("\n## ");
    out.push_str(title);
    out.push_str("\n\n");
}

/// A list item; further lines are indented so that they stay in it.
fn item(out: &mut String, text: &str) {
    out.push_str("- ");
    for (i, line) in text.lines().enumerate() {
        if i > 0 {
            out.push_str("\n  ");
        }
        out.push_str(line);
    }
    out.push('\n');
}
