//! Answers: what a person said about a question becomes part of the intent.
//!
//! A placeholder is replaced by its answer; a losing or doubtful sentence gives way to a recorded decision; a missing
//! element becomes a constraint of its own. Decisions quote what they decide, so nothing that was written is lost, and
//! are never asked about again: every answered finding is gone in the next round.

use crate::intent::{Intent, Refusal};
use crate::measure::{
    DECIDED, Element, Finding, FindingKind, Origin, Place, count_open, element_label, quoted,
};
use crate::question::{Question, derive_questions, rest_decision};
use crate::transform::KernelError;
use std::collections::BTreeMap;

/// Rounds of answers that are applied at most.
const MAX_ROUNDS: usize = 32;

/// Applies answers, question id to text, until none of them fits an open question. Blank answers count as none.
pub fn apply_answers(
    intent: &Intent,
    answers: &BTreeMap<String, String>,
) -> Result<Intent, KernelError> {
    let mut current = intent.clone();
    for _ in 0..MAX_ROUNDS {
        let measured = crate::measure::measure(current.goal(), current.constraints());
        let questions = derive_questions(&measured.findings)?;
        let given: Vec<(&Question, &str)> = questions
            .iter()
            .filter_map(|q| answers.get(q.id.as_str()).map(|a| (q, a.as_str())))
            .filter(|(_, a)| !a.trim().is_empty())
            .collect();
        if given.is_empty() {
            break;
        }
        let next = answer_round(&current, &given)?;
        if next == current {
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

/// The texts after choosing `option` for a finding, as a branch of the tree does.
pub(crate) fn choose(
    goal: &str,
    constraints: &[String],
    finding: &Finding,
    option: &str,
) -> (String, Vec<String>, Vec<String>) {
    let mut edits = Edits::default();
    edits.add_texts(goal, constraints, Some(finding), option);
    let added = edits.added.clone();
    let (goal, mut constraints) = edits.apply_texts(goal, constraints);
    constraints.sort_by(|a, b| runseal_core::canon::compare_utf16(a, b));
    constraints.dedup();
    (goal, constraints, added)
}

fn one_line(answer: &str) -> String {
    answer.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct Edits {
    /// Replacements by text; an empty replacement of a whole sentence removes it.
    spans: BTreeMap<Origin, Vec<(usize, usize, String)>>,
    added: Vec<String>,
}

impl Edits {
    fn add(&mut self, intent: &Intent, finding: Option<&Finding>, answer: &str) {
        self.add_texts(intent.goal(), intent.constraints(), finding, answer);
    }

    fn add_texts(
        &mut self,
        goal: &str,
        constraints: &[String],
        finding: Option<&Finding>,
        answer: &str,
    ) {
        let Some(finding) = finding else {
            self.added.push(rest_decision(answer));
            return;
        };
        match finding.kind {
            FindingKind::Gap => {
                let label = element_label(finding.element.unwrap_or(Element::Output));
                let plain = format!("{label}: {answer}");
                self.added.push(if count_open(&plain) == 0 {
                    plain
                } else {
                    format!("{DECIDED} {plain}")
                });
            }
            FindingKind::Contradiction => self.settle(goal, constraints, finding, answer),
            FindingKind::Choice => self.decide(goal, constraints, finding, answer),
            FindingKind::Placeholder => {
                let (Some(place), Some(sentence)) =
                    (finding.places.first(), finding.sentence.as_ref())
                else {
                    return;
                };
                let text = text_of(goal, constraints, place.origin);
                if place.end > text.len() || !is_blank(&text[place.start..place.end]) {
                    self.decide(goal, constraints, finding, answer);
                    return;
                }
                let before = &text[sentence.start.min(place.start)..place.start];
                let after = &text[place.end..sentence.end.max(place.end)];
                let filled = format!("{before}{answer}{after}");
                let was = format!("{before}{}{after}", &text[place.start..place.end]);
                if count_open(&filled) < count_open(&was) {
                    self.spans.entry(place.origin).or_default().push((
                        place.start,
                        place.end,
                        answer.to_owned(),
                    ));
                } else {
                    self.decide(goal, constraints, finding, answer);
                }
            }
        }
    }

    /// A contradiction: the sentence that was not chosen goes; with an answer of its own both go.
    fn settle(&mut self, goal: &str, constraints: &[String], finding: &Finding, answer: &str) {
        let [a, b] = finding.places.as_slice() else {
            return;
        };
        let (keep, drop) = match (same(answer, a), same(answer, b)) {
            (true, false) => (Some(a), vec![b]),
            (false, true) => (Some(b), vec![a]),
            _ => (None, vec![a, b]),
        };
        for place in &drop {
            self.remove(place);
        }
        self.added.push(match keep {
            Some(kept) => format!(
                "{DECIDED} {}, not {}",
                quoted(&whole(goal, constraints, kept)),
                quoted(&whole(goal, constraints, drop[0]))
            ),
            None => format!(
                "{DECIDED} {answer} (instead of {} and {})",
                quoted(&whole(goal, constraints, a)),
                quoted(&whole(goal, constraints, b))
            ),
        });
    }

    /// A decision takes the place of the sentence. In the goal the sentence stays and the decision quotes it.
    fn decide(&mut self, goal: &str, constraints: &[String], finding: &Finding, answer: &str) {
        let Some(place) = finding.places.first() else {
            return;
        };
        let sentence = finding.sentence.as_ref().unwrap_or(place);
        if place.origin == Origin::Goal {
            self.added
                .push(format!("{DECIDED} {}: {answer}", quoted(&place.quote)));
        } else {
            self.remove(sentence);
            self.added.push(format!(
                "{DECIDED} {}: {answer}",
                quoted(&whole(goal, constraints, sentence))
            ));
        }
    }

    fn remove(&mut self, place: &Place) {
        self.spans
            .entry(place.origin)
            .or_default()
            .push((place.start, place.end, String::new()));
    }

    fn apply(self, intent: &Intent) -> (String, Vec<String>) {
        self.apply_texts(intent.goal(), intent.constraints())
    }

    fn apply_texts(mut self, goal: &str, constraints: &[String]) -> (String, Vec<String>) {
        let new_goal = self
            .spans
            .remove(&Origin::Goal)
            .map_or_else(|| goal.to_owned(), |spans| rewrite(goal, spans));
        let mut out: Vec<String> = constraints
            .iter()
            .enumerate()
            .map(|(i, c)| match self.spans.remove(&Origin::Constraint(i)) {
                None => c.clone(),
                Some(spans) => rewrite(c, spans),
            })
            .filter(|c| c.chars().any(char::is_alphanumeric))
            .collect();
        out.append(&mut self.added);
        (new_goal, out)
    }
}

/// Signs and markers can be replaced in place; a phrase such as `will be provided later` cannot.
fn is_blank(quote: &str) -> bool {
    let bracketed = quote.starts_with(['[', '{', '<', '(', '%', '$', '#', '?', '_', '@', '…', '.']);
    bracketed || !quote.contains(' ') && !quote.ends_with([':', '='])
}

fn text_of<'t>(goal: &'t str, constraints: &'t [String], origin: Origin) -> &'t str {
    match origin {
        Origin::Goal => goal,
        Origin::Constraint(i) => constraints.get(i).map_or("", String::as_str),
    }
}

/// The whole text of a place on one line; its quote may be clipped.
fn whole(goal: &str, constraints: &[String], place: &Place) -> String {
    one_line(
        text_of(goal, constraints, place.origin)
            .get(place.start..place.end)
            .unwrap_or(&place.quote),
    )
}

fn same(answer: &str, place: &Place) -> bool {
    one_line(&place.quote) == answer
}

/// Applies edits from left to right; an edit inside a larger one is dropped.
fn rewrite(text: &str, mut spans: Vec<(usize, usize, String)>) -> String {
    spans.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, with) in spans {
        if start < at
            || end > text.len()
            || !text.is_char_boundary(start)
            || !text.is_char_boundary(end)
        {
            continue;
        }
        let mut end = end;
        if with.is_empty() {
            // The mark that closed the sentence goes with it.
            let rest = &text[end..];
            end += rest.len() - rest.trim_start_matches(['.', ';', ' ']).len();
        }
        out.push_str(&text[at..start]);
        out.push_str(&with);
        at = end;
    }
    out.push_str(&text[at..]);
    let trimmed = out.trim_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
    trimmed.to_owned()
}
