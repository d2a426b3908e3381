//! Findings of assessors: reads an answer, and writes what counts into the intent.
//!
//! A command of the user's answers in the form that [`parse_assessment`] reads. A model is asked with our own words
//! (`words`), about as many constraints at once as it can compare (`plan`).
//!
//! A finding counts only if all of its quotes are verbatim in the intent, so that an assessor can
//! point at the text but not add to it. What counts goes into `context.findings`, from which
//! `transform` makes questions: the assessor need not be asked again to get the same bundle.

mod plan;
mod words;

use runseal_core::canon::Value;

pub use plan::{Plan, plan_questions};
pub use words::{PROMPT, merge_findings, parse_words, question};

use crate::context::Assessed;
use crate::intent::{Intent, Refusal};
use crate::measure::has_quotes_of;

/// The most findings in one answer.
const MOST_FINDINGS: usize = 200;

/// An assessor's answer.
#[derive(Debug, Default)]
pub struct Assessment {
    /// Findings whose quotes are in the intent.
    pub counted: Vec<Assessed>,
    /// The others: their index in the answer, and the first quote that is not in the intent.
    pub invented: Vec<(usize, String)>,
}

/// What counts of the words of a model.
#[derive(Debug, Default)]
pub struct Heard {
    /// Findings whose quotes are in the intent.
    pub counted: Vec<Assessed>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// How many of those quoted words that are not in the intent.
    pub invented: usize,
}

/// Parses an answer: `{"findings": […]}`, or the array alone. The error says what is wrong and
/// where.
pub fn parse_assessment(answer: &Value, intent: &Intent) -> Result<Assessment, String> {
    let items = list_of(answer)?;
    if items.len() > MOST_FINDINGS {
        return Err(format!(
            "the answer has {} findings; the maximum is {MOST_FINDINGS}",
            items.len()
        ));
    }
    let mut assessment = Assessment::default();
    for (at, item) in items.iter().enumerate() {
        let assessed = Assessed::parse(item, &format!("findings[{at}]"))?;
        if has_quotes_of(intent.goal(), intent.constraints(), &assessed) {
            assessment.counted.push(assessed);
        } else {
            let alone = |quote: &&String| {
                let one = Assessed {
                    quotes: vec![(*quote).clone()],
                    ..assessed.clone()
                };
                !has_quotes_of(intent.goal(), intent.constraints(), &one)
            };
            let quote = assessed
                .quotes
                .iter()
                .find(alone)
                .cloned()
                .unwrap_or_default();
            assessment.invented.push((at, quote));
        }
    }
    Ok(assessment)
}

/// The findings of an answer.
fn list_of(answer: &Value) -> Result<&[Value], String> {
    let list = match answer {
        Value::Object(_) => answer
            .get("findings")
            .ok_or("the answer has no member `findings`")?,
        other => other,
    };
    match list {
        Value::Array(items) => Ok(items),
        _ => Err(
            "the answer must be a list of findings, or an object with one in `findings`".to_owned(),
        ),
    }
}

/// Adds findings to `context.findings` of an intent, without duplicates.
pub fn with_findings(intent: &Intent, found: &[Assessed]) -> Result<Intent, Refusal> {
    let mut all = intent.declared().assessed.clone();
    for assessed in found {
        if !all.contains(assessed) {
            all.push(assessed.clone());
        }
    }
    let mut context = intent.context().clone();
    context.insert("findings", Value::array(all.iter().map(Assessed::to_value)));
    intent.with_context(context)
}
