//! Questions: one for each finding, about exactly that finding (000 §6.2).
//!
//! The text quotes the finding, so that a person can answer without looking it up. Priorities put what blocks most
//! first: contradictions, placeholders, missing elements, open choices.

use crate::measure::{DECIDED_REST, Element, Finding, FindingKind, clip};
use runseal_core::canon::{NoCanonicalForm, Value};
use runseal_core::ids::QuestionId;
use std::collections::BTreeSet;

/// What kind of answer a question expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerType {
    /// One of the options.
    Choice,
    /// Yes or no.
    Boolean,
    /// A number.
    Number,
    /// Several things.
    List,
    /// Any text.
    Text,
}

impl AnswerType {
    /// The name in the bundle.
    pub fn name(self) -> &'static str {
        match self {
            AnswerType::Choice => "choice",
            AnswerType::Boolean => "boolean",
            AnswerType::Number => "number",
            AnswerType::List => "list",
            AnswerType::Text => "text",
        }
    }
}

/// A question with the finding it asks about; `None` for the question about all that was not asked singly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Derived from text, type and reason.
    pub id: QuestionId,
    /// The question.
    pub text: String,
    /// What to answer with.
    pub expected_answer_type: AnswerType,
    /// Why it matters.
    pub why_needed: &'static str,
    /// How much an answer settles, 0 to 100.
    pub information_gain: u8,
    /// Higher is asked first.
    pub priority: u8,
    /// Answers on offer, sorted; may be empty.
    pub options: Vec<String>,
    /// What it asks about.
    pub finding: Option<Finding>,
}

/// Most questions of one round; what is beyond is asked for in one question more.
pub const MAX_QUESTIONS: usize = 50;

/// The longest goal quoted in a question about a missing element.
const GOAL_QUOTE: usize = 120;

impl Question {
    fn new(
        text: String,
        expected: AnswerType,
        why_needed: &'static str,
        (information_gain, priority): (u8, u8),
        options: Vec<String>,
        finding: Option<Finding>,
    ) -> Result<Self, NoCanonicalForm> {
        let id = QuestionId::derive(&Value::object([
            ("expected_answer_type", expected.name()),
            ("text", text.as_str()),
            ("why_needed", why_needed),
        ]))?;
        Ok(Question {
            id,
            text,
            expected_answer_type: expected,
            why_needed,
            information_gain,
            priority,
            options,
            finding,
        })
    }

    /// The question as it stands in a bundle.
    pub fn to_value(&self) -> Value {
        let mut value = Value::object([
            ("id", Value::from(self.id.as_str())),
            ("text", Value::from(self.text.as_str())),
            (
                "expected_answer_type",
                Value::from(self.expected_answer_type.name()),
            ),
            ("why_needed", Value::from(self.why_needed)),
            ("information_gain", Value::from(self.information_gain)),
            ("priority", Value::from(self.priority)),
        ]);
        if !self.options.is_empty() {
            value.insert(
                "options",
                Value::array(self.options.iter().map(String::as_str)),
            );
        }
        value
    }
}

/// The questions for findings: by priority descending, then id; no repeats.
pub fn derive_questions(findings: &[Finding]) -> Result<Vec<Question>, NoCanonicalForm> {
    let mut out: Vec<Question> = Vec::new();
    let mut seen: BTreeSet<QuestionId> = BTreeSet::new();
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|f| f.kind);
    let mut left = 0usize;
    for finding in ordered {
        if out.len() >= MAX_QUESTIONS {
            left += 1;
            continue;
        }
        let question = derive_question(finding)?;
        if seen.insert(question.id.clone()) {
            out.push(question);
        }
    }
    if left > 0 {
        out.push(Question::new(
            format!(
                "{left} further points are open beside these: how should all of them be settled?"
            ),
            AnswerType::Text,
            "So many points are open that they cannot be asked one by one.",
            (100, 100),
            Vec::new(),
            None,
        )?);
    }
    out.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.id.cmp(&b.id)));
    Ok(out)
}

/// How the answer to the question about everything else is recorded.
pub(crate) fn rest_decision(answer: &str) -> String {
    format!("{DECIDED_REST} {answer}")
}

fn derive_question(finding: &Finding) -> Result<Question, NoCanonicalForm> {
    let quote = |i: usize| finding.places.get(i).map_or("", |p| p.quote.as_str());
    let sentence = finding.sentence.as_ref().map_or("", |p| p.quote.as_str());
    let own = Some(finding.clone());
    match finding.kind {
        FindingKind::Contradiction => Question::new(
            match finding.topic {
                Some(topic) => format!(
                    "“{}” and “{}” cannot both hold ({topic}): which one is right?",
                    quote(0),
                    quote(1),
                ),
                None => format!(
                    "“{}” and “{}” seem to exclude each other: which one is right?",
                    quote(0),
                    quote(1),
                ),
            },
            AnswerType::Choice,
            "Whatever is built would break one of the two.",
            (90, 95),
            finding.options.clone(),
            own,
        ),
        FindingKind::Placeholder => {
            let text = if sentence.is_empty() || sentence == quote(0) {
                format!("“{}” is still open: what should stand there?", quote(0))
            } else {
                format!(
                    "“{sentence}” leaves “{}” open: what should stand there?",
                    quote(0)
                )
            };
            let number = is_number_blank(quote(0), sentence);
            let expected = if number {
                AnswerType::Number
            } else {
                AnswerType::Text
            };
            Question::new(
                text,
                expected,
                "Nobody can fill in a value that is not given.",
                (75, 85),
                Vec::new(),
                own,
            )
        }
        FindingKind::Gap => {
            let element = finding.element.unwrap_or(Element::Output);
            let goal = finding.places.first().map_or(String::new(), |p| {
                clip(
                    &p.quote,
                    0,
                    p.quote.len().min(floor(&p.quote, GOAL_QUOTE)),
                    0,
                )
            });
            let (question, why, weights, expected) = gap_texts(element);
            Question::new(
                format!("{question} (goal: “{goal}”)"),
                expected,
                why,
                weights,
                Vec::new(),
                own,
            )
        }
        FindingKind::Choice => {
            let closed = finding.options.len() >= 2;
            let text = format!("“{}” leaves a choice open: what is it to be?", quote(0));
            let expected = if closed {
                AnswerType::Choice
            } else {
                AnswerType::Text
            };
            let weights = if closed { (60, 62) } else { (50, 58) };
            Question::new(
                text,
                expected,
                "A choice that is left open is made by accident.",
                weights,
                finding.options.clone(),
                own,
            )
        }
    }
}

/// The largest character boundary up to `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `<N> days`, `XX percent`: a number is wanted.
fn is_number_blank(quote: &str, sentence: &str) -> bool {
    let bare = quote
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let named = any_of!(bare.as_str(), "n" "x" "xx" "xxx" "nn" "number" "amount" "count");
    let unit = sentence.split_once(quote).is_some_and(|(_, after)| {
        let word = after.split_whitespace().next().unwrap_or("");
        crate::lexicon::classes_of(&word.to_lowercase()) & crate::lexicon::class::TIME_UNIT != 0
    });
    named || unit
}

fn gap_texts(element: Element) -> (&'static str, &'static str, (u8, u8), AnswerType) {
    match element {
        Element::Technology => (
            "Which technology is to be used: language, platform, products?",
            "The technology decides what can be built, by whom and where it runs.",
            (70, 78),
            AnswerType::Text,
        ),
        Element::Data => (
            "Which data does it work on: where from, which fields and formats, how much?",
            "Without the data nobody can design or test it.",
            (70, 76),
            AnswerType::Text,
        ),
        Element::Users => (
            "Who are the users: which people or programs use the result, and how?",
            "Who uses it decides what it must offer and how it must look.",
            (65, 74),
            AnswerType::List,
        ),
        Element::FailureHandling => (
            "What is the failure handling: what happens on bad input, missing data or an outage?",
            "What nobody decides about failures is decided when they happen.",
            (60, 70),
            AnswerType::Text,
        ),
        Element::Output => (
            "Which output is expected: what is delivered, in which form and where?",
            "Without a named output nobody can tell whether it is done.",
            (65, 72),
            AnswerType::Text,
        ),
        Element::SuccessMeasure => (
            "Which success measure applies: which number tells that the goal is reached?",
            "Better is no goal until it can be measured.",
            (65, 73),
            AnswerType::Text,
        ),
    }
}
