//! What a model is asked, and what counts of its words.

use std::collections::BTreeSet;

use runseal_core::canon::{ReadOptions, Value, parse_document};

use super::plan::Plan;
use super::{Heard, MOST_FINDINGS, list_of};
use crate::context::{Assessed, is_decision};
use crate::find::Origin;
use crate::intent::Intent;
use crate::measure::locate;
use crate::rules::Kind;
use crate::text::one_line;

/// What every question begins with: the task, and the form of the answer.
pub const PROMPT: &str = include_str!("prompt.md");

/// The most bytes of decisions that a question repeats.
const MOST_DECIDED: usize = 16_000;
/// The longest text that takes the place of a quote that several texts contain.
const LONGEST_WHOLE: usize = 300;

/// The question about one chunk of a plan: goal, constraints with their numbers, and decisions.
pub fn question(intent: &Intent, plan: &Plan, chunk: &[usize]) -> Value {
    let numbered = chunk.iter().map(|at| {
        Value::object([
            ("n", Value::from(*at as u64 + 1)),
            (
                "text",
                Value::from(text_of(intent, plan, *at as u64 + 1).unwrap_or_default()),
            ),
        ])
    });
    let mut value = Value::object([
        ("goal", Value::from(intent.goal())),
        ("constraints", Value::array(numbered)),
    ]);
    let mut bytes = 0;
    let decided = intent.constraints().iter().filter(|text| is_decision(text));
    let decided = decided.take_while(|text| {
        bytes += text.len();
        bytes <= MOST_DECIDED
    });
    let decided: Vec<Value> = decided.map(|text| Value::from(text.as_str())).collect();
    if !decided.is_empty() {
        value.insert("decided", Value::array(decided));
    }
    value
}

/// The goal for 0, else the constraint with this number.
fn text_of<'i>(intent: &'i Intent, plan: &Plan, number: u64) -> Option<&'i str> {
    let Some(at) = number.checked_sub(1) else {
        return Some(intent.goal());
    };
    let at = plan.order.get(usize::try_from(at).ok()?)?;
    intent.constraints().get(*at).map(String::as_str)
}

/// Reads the words of a model: JSON, perhaps in a fence or after a remark. One bad finding costs none of the others.
///
/// # Errors
/// When there is no answer of the demanded form in them.
pub fn parse_words(words: &str, intent: &Intent, plan: &Plan) -> Result<Heard, String> {
    let value = find_json(words)?;
    let items = list_of(&value)?;
    let mut heard = Heard::default();
    for (at, item) in items.iter().enumerate() {
        let place = format!("findings[{at}]");
        if at == MOST_FINDINGS {
            let more = items.len() - at;
            heard
                .left_out
                .push(format!("{more} findings beyond {MOST_FINDINGS}"));
            break;
        }
        match Assessed::parse(item, &place) {
            Ok(mut assessed) => {
                pin_quotes(&mut assessed, item.get("pair"), intent, plan);
                heard.take(assessed, &place, intent);
            }
            Err(fault) => heard.left_out.push(fault),
        }
    }
    Ok(heard)
}

fn find_json(words: &str) -> Result<Value, String> {
    // Some models think aloud first.
    let words = words.rsplit("</think>").next().unwrap_or(words).trim();
    let braced = words.find('{').zip(words.rfind('}'));
    let braced = braced.and_then(|(from, to)| words.get(from..=to));
    let mut fault = String::new();
    for text in [Some(words), braced].into_iter().flatten() {
        match parse_document(text.as_bytes(), &ReadOptions::TEXT) {
            Ok(document) => return Ok(document.root().to_value()),
            Err(error) => fault = format!("it is not JSON: {} at {}", error.kind, error.position),
        }
    }
    Err(fault)
}

/// A quote that several texts contain is replaced by the whole of the numbered one, so that the finding is about that.
fn pin_quotes(assessed: &mut Assessed, pair: Option<&Value>, intent: &Intent, plan: &Plan) {
    let Some(Value::Array(numbers)) = pair else {
        return;
    };
    for (quote, number) in assessed.quotes.iter_mut().zip(numbers) {
        let number = match number {
            Value::Number(number) => number.get().to_exact_i64(),
            _ => None,
        };
        let number = number.and_then(|number| u64::try_from(number).ok());
        let text = number.and_then(|number| text_of(intent, plan, number));
        let Some(text) = text.filter(|text| text.contains(quote.as_str())) else {
            continue;
        };
        let goal = std::iter::once(intent.goal());
        let all = goal.chain(intent.constraints().iter().map(String::as_str));
        let is_shared = all.filter(|other| other.contains(quote.as_str())).count() > 1;
        if is_shared && text.len() <= LONGEST_WHOLE {
            *quote = text.to_owned();
        }
    }
}

impl Heard {
    /// Takes a finding whose quotes are in the intent and say something; tells why another one is left out.
    fn take(&mut self, assessed: Assessed, place: &str, intent: &Intent) {
        let (goal, constraints) = (intent.goal(), intent.constraints());
        let missing = assessed.quotes.iter().find(|quote| {
            let alone = Assessed {
                quotes: vec![(*quote).clone()],
                ..assessed.clone()
            };
            locate(goal, constraints, &alone).is_none()
        });
        if let Some(quote) = missing {
            let quote = one_line(quote);
            self.invented += 1;
            self.left_out.push(format!(
                "{place} quotes “{quote}”, which the intent does not contain"
            ));
        } else if matches!(assessed.quotes.as_slice(), [one, other] if one == other) {
            self.left_out
                .push(format!("{place} quotes the same words twice"));
        } else {
            self.counted.push(assessed);
        }
    }
}

/// Whether two findings are about the same: the quotes of one are those of the other, or within them.
fn is_same(one: &Assessed, other: &Assessed) -> bool {
    let touches = |(a, b): (&String, &String)| a.contains(b.as_str()) || b.contains(a.as_str());
    one.kind == other.kind
        && one.quotes.len() == other.quotes.len()
        && (one.quotes.iter().zip(&other.quotes).all(touches)
            || one
                .quotes
                .iter()
                .zip(other.quotes.iter().rev())
                .all(touches))
}

/// Leaves out what was found twice, what the intent has already, and what a rule finds too. Returns what is new, and
/// how many findings were not.
pub fn merge_findings(intent: &Intent, found: Vec<Assessed>) -> (Vec<Assessed>, usize) {
    let all = found.len();
    let (goal, constraints) = (intent.goal(), intent.constraints());
    let measured = crate::measure::measure(goal, constraints, intent.declared());
    let origins = |places: &[crate::find::Place]| -> BTreeSet<Origin> {
        places.iter().map(|place| place.origin).collect()
    };
    let waived = measured.waived.iter().map(|(finding, _)| finding);
    let by_rules: Vec<(Kind, BTreeSet<Origin>)> = measured
        .open
        .iter()
        .chain(&measured.notes)
        .chain(waived)
        .filter(|finding| finding.message.is_none() && finding.kind() == Kind::Contradiction)
        .map(|finding| (finding.kind(), origins(&finding.places)))
        .collect();
    let mut new: Vec<Assessed> = Vec::new();
    for assessed in found {
        let mut known = intent.declared().assessed.iter().chain(&new);
        let is_by_rule = locate(goal, constraints, &assessed)
            .is_some_and(|located| by_rules.contains(&(located.kind(), origins(&located.places))));
        if !is_by_rule && !known.any(|other| is_same(other, &assessed)) {
            new.push(assessed);
        }
    }
    let repeated = all - new.len();
    (new, repeated)
}
