//! Answers: a person's answer to a question becomes part of the intent.
//!
//! A blank is filled in. Every other answer adds a constraint that begins with `Decided:` and
//! quotes what it decides; what the author wrote stays. The one exception is a contradiction: the
//! constraint that was not chosen is replaced by the decision, which quotes it, unless both hold.
//! Decisions are never asked about again, so every answered finding is gone in the next round.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::{DECIDED, DECIDED_REST, is_decision, quoted};
use crate::find::{Finding, Origin, Place};
use crate::intent::{Intent, Refusal};
use crate::measure::{count_open, measure};
use crate::question::{BOTH_HOLD, Question, derive_questions};
use crate::rules::Kind;
use crate::text::one_line;
use crate::transform::KernelError;
use runseal_core::ids::QuestionId;

/// The most rounds of answers.
const MAX_ROUNDS: usize = 32;

/// Answers by question.
pub type Answers = BTreeMap<QuestionId, String>;

/// Applies answers until none is for an open question. Blank answers are ignored.
pub fn apply_answers(intent: &Intent, answers: &Answers) -> Result<Intent, KernelError> {
    let mut current = intent.clone();
    for _ in 0..MAX_ROUNDS {
        let measured = measure(current.goal(), current.constraints(), current.declared());
        let questions = derive_questions(&measured.open)?;
        let given: Vec<(&Question, &str)> = questions
            .iter()
            .filter_map(|question| {
                answers
                    .get(&question.id)
                    .map(|answer| (question, answer.as_str()))
            })
            .filter(|(_, answer)| !answer.trim().is_empty())
            .collect();
        if given.is_empty() {
            break;
        }
        let next = answer_round(&current, &given)?;
        if next.hash() == current.hash() {
            break;
        }
        current = next;
    }
    Ok(current)
}

/// Applies one round of answers.
pub fn answer_round(intent: &Intent, given: &[(&Question, &str)]) -> Result<Intent, Refusal> {
    let mut edits = Edits::default();
    for (question, answer) in given {
        edits.add(intent, question.finding.as_ref(), &one_line(answer));
    }
    let (goal, constraints) = edits.apply(intent);
    intent.with_texts(&goal, &constraints)
}

/// Returns the constraint that records an answer, for answers and for branches of the tree.
pub(crate) fn decision_of(finding: &Finding, answer: &str) -> String {
    format!("{DECIDED}{}: {answer}", quoted(&finding.sentence.quote))
}

#[derive(Default)]
struct Edits {
    /// Blanks to fill, by text: start, end and answer.
    fills: BTreeMap<Origin, Vec<(usize, usize, String)>>,
    /// Constraints replaced by a decision.
    replaced: BTreeSet<usize>,
    added: Vec<String>,
}

impl Edits {
    fn add(&mut self, intent: &Intent, finding: Option<&Finding>, answer: &str) {
        let Some(finding) = finding else {
            self.added.push(format!("{DECIDED_REST}{answer}"));
            return;
        };
        match finding.kind() {
            Kind::Gap if finding.message.is_none() => {
                self.added
                    .push(format!("{DECIDED}{}: {answer}", finding.missing.join(", ")));
            }
            Kind::Contradiction => self.settle(intent, finding, answer),
            _ if finding.rule.fills && self.fill(intent, finding, answer) => {}
            _ => self.added.push(decision_of(finding, answer)),
        }
    }

    /// Fills the blank with the answer, unless the text would raise as many questions as before.
    fn fill(&mut self, intent: &Intent, finding: &Finding, answer: &str) -> bool {
        let Some(place) = finding.places.first() else {
            return false;
        };
        let text = text_of(intent, place.origin);
        let Some(blank) = text.get(place.start..place.end) else {
            return false;
        };
        let filled = format!("{}{answer}{}", &text[..place.start], &text[place.end..]);
        if is_decision(&filled) || blank == answer || count_open(&filled) >= count_open(text) {
            return false;
        }
        self.fills.entry(place.origin).or_default().push((
            place.start,
            place.end,
            answer.to_owned(),
        ));
        true
    }

    /// Settles a contradiction: the side that was not chosen is dropped if it is a whole
    /// constraint.
    fn settle(&mut self, intent: &Intent, finding: &Finding, answer: &str) {
        let [a, b] = finding.places.as_slice() else {
            return;
        };
        let (one, other) = (quoted(&a.quote), quoted(&b.quote));
        let kept = match (answer == a.quote, answer == b.quote) {
            (true, false) => Some((a, b)),
            (false, true) => Some((b, a)),
            _ => None,
        };
        let decision = match kept {
            Some((kept, dropped)) => {
                self.replace(intent, dropped);
                format!(
                    "{DECIDED}{}, not {}",
                    quoted(&kept.quote),
                    quoted(&dropped.quote)
                )
            }
            None if answer.eq_ignore_ascii_case(BOTH_HOLD) => {
                format!("{DECIDED}both hold: {one} and {other}")
            }
            None => format!("{DECIDED}about {one} and {other}: {answer}"),
        };
        self.added.push(decision);
    }

    /// Drops a side if it is a whole constraint; one that is a part stays, next to the decision.
    fn replace(&mut self, intent: &Intent, place: &Place) {
        if let Origin::Constraint(at) = place.origin
            && one_line(text_of(intent, place.origin)) == place.quote
        {
            self.replaced.insert(at);
        }
    }

    fn apply(mut self, intent: &Intent) -> (String, Vec<String>) {
        let goal = match self.fills.remove(&Origin::Goal) {
            Some(fills) => fill_in(intent.goal(), fills),
            None => intent.goal().to_owned(),
        };
        let mut constraints = Vec::with_capacity(intent.constraints().len() + self.added.len());
        for (at, constraint) in intent.constraints().iter().enumerate() {
            if self.replaced.contains(&at) {
                continue;
            }
            constraints.push(match self.fills.remove(&Origin::Constraint(at)) {
                Some(fills) => fill_in(constraint, fills),
                None => constraint.clone(),
            });
        }
        constraints.append(&mut self.added);
        (goal, constraints)
    }
}

fn text_of(intent: &Intent, origin: Origin) -> &str {
    match origin {
        Origin::Goal => intent.goal(),
        Origin::Constraint(at) => intent.constraints().get(at).map_or("", String::as_str),
    }
}

/// Fills blanks from left to right; a blank that overlaps one already filled is skipped.
fn fill_in(text: &str, mut fills: Vec<(usize, usize, String)>) -> String {
    fills.sort();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, with) in fills {
        if start < at || text.get(start..end).is_none() {
            continue;
        }
        out.push_str(&text[at..start]);
        out.push_str(&with);
        at = end;
    }
    out.push_str(&text[at..]);
    out
}
