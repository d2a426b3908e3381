//! Outputs: an instruction for every leaf that a person or an agent can work from (000 §2.3).

use crate::context::{Declared, is_decision};
use crate::intent::{EscapingPath, check_path_stays};
use crate::text::{one_line, strings};
use crate::tree::TreeNode;
use runseal_core::canon::{NoCanonicalForm, Value};
use runseal_core::digest::ContentHash;
use runseal_core::ids::OutputId;
use runseal_core::path::{SafePath, UnsafePath};

/// One output of a bundle.
#[derive(Clone, Debug)]
pub struct Output {
    /// Derived from content, path and type.
    pub id: OutputId,
    /// The path in the bundle.
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
    /// Returns the output as JSON for a bundle.
    pub fn to_value(&self) -> Value {
        Value::object([
            ("id", Value::from(self.id.as_str())),
            ("type", Value::from("instruction")),
            ("path", Value::from(self.path.as_str())),
            ("content", Value::from(self.content.as_str())),
            ("content_hash", Value::from(self.content_hash.to_string())),
            ("source_constraints", strings(&self.source_constraints)),
            ("confidence", Value::from(self.confidence)),
        ])
    }
}

/// Why an output cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path leaves the folder (000 §6.1).
    #[error("INVALID_PATH: {0}")]
    Escaping(#[from] EscapingPath),
    /// The path is not normalized.
    #[error("INVALID_PATH: {0}: {1}")]
    Path(UnsafePath, String),
    /// It has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
}

/// Checks an output path with the messages of 000 §6.1.
fn check_output_path(path: &str) -> Result<SafePath, OutputError> {
    check_path_stays(path)?;
    SafePath::parse(path).map_err(|error| OutputError::Path(error, path.to_owned()))
}

/// Averages how much is said and how little is left open; integer arithmetic only.
pub(crate) fn confidence(entropy: u8, density: u8) -> u8 {
    ((u16::from(density) + (100 - u16::from(entropy.min(100)))) / 2).min(100) as u8
}

/// Makes the instruction for a leaf.
pub fn make_output(leaf: &TreeNode, declared: &Declared) -> Result<Output, OutputError> {
    let path = check_output_path(&format!("context/{}.md", leaf.id.as_str()))?;
    let content = render_instruction(leaf, declared);
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

/// Renders the goal, every constraint as written, and what was decided, accepted and left open.
fn render_instruction(leaf: &TreeNode, declared: &Declared) -> String {
    let mut out = String::with_capacity(512);
    out.push_str("# Goal\n\n");
    out.push_str(&leaf.goal);
    out.push('\n');
    let (decided, plain): (Vec<&String>, Vec<&String>) = leaf
        .constraints
        .iter()
        .partition(|constraint| is_decision(constraint));
    section(
        &mut out,
        "Constraints",
        plain.into_iter().map(String::as_str),
    );
    section(
        &mut out,
        "Decisions",
        decided.into_iter().map(String::as_str),
    );
    let accepted: Vec<String> = leaf
        .measured
        .waived
        .iter()
        .map(|(finding, at)| {
            let reason = declared
                .waivers
                .get(*at)
                .map_or("", |waiver| waiver.reason.as_str());
            format!(
                "{} “{}”: {}",
                finding.rule.id,
                finding.quote(0),
                one_line(reason)
            )
        })
        .collect();
    section(
        &mut out,
        "Accepted findings",
        accepted.iter().map(String::as_str),
    );
    section(
        &mut out,
        "Open questions",
        leaf.questions.iter().map(|question| question.text.as_str()),
    );
    let (e, d) = (&leaf.measured.entropy, &leaf.measured.density);
    let metrics = [
        format!("Entropy: {}/100", e.entropy_score),
        format!("Density: {}/100", d.density_score),
        format!("Placeholders: {}", e.unresolved_refs),
        format!("Missing elements: {}", e.schema_gaps),
        format!("Contradictions: {}", e.contradiction_count),
        format!("Open choices: {}", e.branching_factor),
    ];
    section(&mut out, "Metrics", metrics.iter().map(String::as_str));
    out
}

/// Writes a heading with a list; nothing if the list is empty.
fn section<'a>(out: &mut String, title: &str, items: impl Iterator<Item = &'a str>) {
    for (at, text) in items.enumerate() {
        if at == 0 {
            out.push_str("\n## ");
            out.push_str(title);
            out.push_str("\n\n");
        }
        item(out, text);
    }
}

/// Writes a list item. A text of several lines is put in a fence, so that it is verbatim and cannot
/// pass for a heading.
fn item(out: &mut String, text: &str) {
    if !text.contains('\n') {
        out.push_str("- ");
        out.push_str(text);
        out.push('\n');
        return;
    }
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    for line in ["-\n\n", &fence, "\n", text, "\n", &fence, "\n\n"] {
        out.push_str(line);
    }
}
