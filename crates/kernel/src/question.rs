//! Questions: one for each open finding, about exactly that finding (000 §6.2).
//!
//! The text quotes the finding, so that a person can answer without looking it up. Priorities put
//! what blocks most first: contradictions, placeholders, gaps, choices. A round asks a bounded
//! number of questions of a bounded size; one more question covers the rest.

use crate::text::strings;
use std::collections::BTreeSet;

use runseal_core::canon::{NoCanonicalForm, Value, compare_utf16};
use runseal_core::ids::QuestionId;

use crate::find::Finding;
use crate::rules::{Kind, rule_set};

/// The option of every contradiction that keeps both sides.
pub const BOTH_HOLD: &str = "Both hold";

/// A question and the finding it is about.
#[derive(Clone, Debug)]
pub struct Question {
    /// Derived from text, type and reason.
    pub id: QuestionId,
    /// The question.
    pub text: String,
    /// `choice` if there are two or more options, else `text`.
    pub expected_answer_type: &'static str,
    /// Why the answer matters.
    pub why_needed: String,
    /// How much an answer settles, 0 to 100.
    pub information_gain: u8,
    /// Higher is asked first.
    pub priority: u8,
    /// The answers to choose from, sorted; may be empty.
    pub options: Vec<String>,
    /// The finding it is about; `None` for the question about everything not asked singly.
    pub finding: Option<Finding>,
}

/// The most questions in one round.
pub const MAX_QUESTIONS: usize = 50;
/// The most bytes of questions in one round.
pub const MAX_QUESTION_BYTES: usize = 64 << 10;

/// Returns how much an answer settles, and the priority.
fn weights(kind: Kind) -> (u8, u8) {
    match kind {
        Kind::Contradiction => (90, 95),
        Kind::Placeholder => (75, 85),
        Kind::Gap => (70, 78),
        Kind::Choice => (60, 62),
    }
}

impl Question {
    fn new(
        text: String,
        why_needed: String,
        (information_gain, priority): (u8, u8),
        mut options: Vec<String>,
        finding: Option<Finding>,
    ) -> Result<Self, NoCanonicalForm> {
        options.sort_by(|a, b| compare_utf16(a, b));
        options.dedup();
        let expected_answer_type = if options.len() >= 2 { "choice" } else { "text" };
        let id = QuestionId::derive(&Value::object([
            ("expected_answer_type", expected_answer_type),
            ("text", text.as_str()),
            ("why_needed", why_needed.as_str()),
        ]))?;
        Ok(Question {
            id,
            text,
            expected_answer_type,
            why_needed,
            information_gain,
            priority,
            options,
            finding,
        })
    }

    /// Its approximate size in a bundle, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
            + self.why_needed.len()
            + self.options.iter().map(String::len).sum::<usize>()
            + 128
    }

    /// Returns the question as JSON for a bundle.
    pub fn to_value(&self) -> Value {
        let mut value = Value::object([
            ("id", Value::from(self.id.as_str())),
            ("text", Value::from(self.text.as_str())),
            (
                "expected_answer_type",
                Value::from(self.expected_answer_type),
            ),
            ("why_needed", Value::from(self.why_needed.as_str())),
            ("information_gain", Value::from(self.information_gain)),
            ("priority", Value::from(self.priority)),
        ]);
        if !self.options.is_empty() {
            value.insert("options", strings(&self.options));
        }
        value
    }
}

/// Derives the questions for findings, by descending priority, then by id; without duplicates.
pub fn derive_questions(findings: &[Finding]) -> Result<Vec<Question>, NoCanonicalForm> {
    let mut out: Vec<Question> = Vec::new();
    let mut seen: BTreeSet<QuestionId> = BTreeSet::new();
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|finding| finding.kind());
    let (mut left, mut bytes) = (0usize, 0usize);
    for finding in ordered {
        if out.len() >= MAX_QUESTIONS || bytes > MAX_QUESTION_BYTES {
            left += 1;
            continue;
        }
        let question = derive_question(finding)?;
        if seen.insert(question.id.clone()) {
            bytes += question.size();
            out.push(question);
        }
    }
    if left > 0 {
        let text = format!(
            "At least {left} further points are open beside these: how should all of them be settled?"
        );
        let reason = "So many points are open that they cannot be asked one by one.".to_owned();
        out.push(Question::new(text, reason, (100, 100), Vec::new(), None)?);
    }
    out.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.id.cmp(&b.id)));
    Ok(out)
}

/// Returns the message of a finding: the rule's, with words of the text filled in.
pub fn message_of(finding: &Finding) -> String {
    if let Some(message) = &finding.message {
        let quotes: Vec<String> = finding
            .places
            .iter()
            .map(|place| format!("“{}”", place.quote))
            .collect();
        return format!("{}: {message}", quotes.join(" and "));
    }
    let rules = rule_set();
    let questions: Vec<&str> = finding
        .missing
        .iter()
        .filter_map(|name| rules.elements.iter().find(|element| element.name == *name))
        .map(|element| element.question.as_str())
        .collect();
    // One pass: words of the text that look like a name in braces are not replaced again.
    let mut out = String::new();
    let mut rest = finding.rule.message.as_str();
    while let Some((before, tail)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = tail.split_once('}') else {
            break;
        };
        match name {
            "quote" => out.push_str(finding.quote(0)),
            "other" => out.push_str(finding.quote(1)),
            "sentence" => out.push_str(&finding.sentence.quote),
            "missing" => out.push_str(&finding.missing.join(", ")),
            "questions" => out.push_str(&questions.join(" ")),
            _ => {}
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn derive_question(finding: &Finding) -> Result<Question, NoCanonicalForm> {
    let mut options = finding.options.clone();
    if finding.kind() == Kind::Contradiction {
        options = finding
            .places
            .iter()
            .map(|place| place.quote.clone())
            .collect();
        options.push(BOTH_HOLD.to_owned());
    }
    Question::new(
        message_of(finding),
        finding.rule.reason.clone(),
        weights(finding.kind()),
        options,
        Some(finding.clone()),
    )
}
