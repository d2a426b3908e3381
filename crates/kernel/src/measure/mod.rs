//! Measurement with reasons (000 §2.4, §6.2): detectors read the intent and return findings; counts and scores are
//! computed from the findings, never the other way round.
//!
//! Four kinds: unresolved references, contradictions, schema gaps, open choices. Each detector is one folder, one file a family. All work
//! on the same tagged texts, in time close to linear in the length of the intent.

mod choice;
mod closed;
mod contradiction;
mod gap;
mod grammar;
mod reference;
mod score;

use crate::lexicon::{Tagged, tag};
use crate::text::lex::Lowered;
use gap::signals;

pub use gap::Element;
pub use score::{Density, Entropy};

pub(crate) use contradiction::render_points;

pub(crate) use closed::{DECIDED, DECIDED_REST, element_label, is_decision, quoted};

/// Where a text stands in the intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The goal.
    Goal,
    /// The constraint with this 0-based number, in normalized order.
    Constraint(usize),
}

/// A span of the intent: byte offsets into the normalized goal or constraint, always on character boundaries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The goal or a constraint.
    pub origin: Origin,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The words of the span, as written; long ones are clipped around what matters.
    pub quote: String,
}

/// The kinds of findings, in the order questions prefer them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Two constraints that cannot both hold (C).
    Contradiction,
    /// An unresolved reference (P).
    Placeholder,
    /// Something this kind of goal needs and nobody gave (G).
    Gap,
    /// A choice left open (H).
    Choice,
}

/// One reason to ask.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What kind of reason.
    pub kind: FindingKind,
    /// One place; two for a contradiction; the goal for a gap.
    pub places: Vec<Place>,
    /// The sentence the finding stands in (placeholders and choices), clipped.
    pub sentence: Option<Place>,
    /// The element a gap misses.
    pub element: Option<Element>,
    /// What a contradiction is about, where a detector knows.
    pub topic: Option<&'static str>,
    /// Answers the text itself offers, sorted.
    pub options: Vec<String>,
}

/// The findings of an intent and what is concrete in it.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// All findings, in order of place.
    pub findings: Vec<Finding>,
    /// Entropy: how much is open.
    pub entropy: Entropy,
    /// Density: how much is said.
    pub density: Density,
    /// The classes of the words of each constraint, for the headings of an instruction.
    pub(crate) classes: Vec<u64>,
}

/// Findings of one kind that one text can give: more would fill the memory and ask no better.
pub(crate) const MAX_PER_TEXT: usize = 1000;

/// Longest quotation in a question, in bytes.
pub(crate) const QUOTE_LIMIT: usize = 300;

/// Clips `text[start..end]` to [`QUOTE_LIMIT`] around `focus`, on character boundaries and without line ends.
pub(crate) fn clip(text: &str, start: usize, end: usize, focus: usize) -> String {
    let (mut from, mut to) = (start, end);
    if to - from > QUOTE_LIMIT {
        from = focus.saturating_sub(QUOTE_LIMIT / 2).max(start);
        to = (from + QUOTE_LIMIT).min(end);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        while !text.is_char_boundary(to) {
            to -= 1;
        }
    }
    let cut = text[from..to].trim();
    if cut.contains('\n') {
        cut.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        cut.to_owned()
    }
}

/// A tagged text with its origin.
pub(crate) struct Source<'a> {
    pub origin: Origin,
    pub tagged: Tagged<'a>,
}

impl<'a> Source<'a> {
    fn new(origin: Origin, text: &'a Lowered<'a>) -> Self {
        Self {
            origin,
            tagged: tag(text),
        }
    }

    /// The place of a byte span.
    pub fn place(&self, start: usize, end: usize) -> Place {
        Place {
            origin: self.origin,
            start,
            end,
            quote: clip(self.tagged.lexed.text, start, end, start),
        }
    }

    /// The place of a byte span of several sentences, without a closing mark.
    pub fn span_place(&self, start: usize, end: usize) -> Place {
        let text = self.tagged.lexed.text;
        let end = start
            + text[start..end]
                .trim_end_matches(['.', ';', '\n', ' '])
                .len();
        self.place(start, end)
    }

    /// The place of the sentence that holds token `i`, without its closing mark.
    pub fn sentence_place(&self, i: usize) -> Place {
        let lexed = &self.tagged.lexed;
        let (start, mut end) = lexed.span(lexed.sentence_of(i));
        while end > start
            && lexed.text.as_bytes()[end - 1].is_ascii()
            && matches!(lexed.text.as_bytes()[end - 1], b'.' | b';' | b'\n' | b' ')
        {
            end -= 1;
        }
        let focus = lexed.tokens.get(i).map_or(start, |t| t.start);
        Place {
            origin: self.origin,
            start,
            end,
            quote: clip(lexed.text, start, end, focus),
        }
    }
}

/// How many placeholders and open choices a text has by itself.
pub(crate) fn count_open(text: &str) -> usize {
    let text = Lowered::new(text);
    let source = Source::new(Origin::Constraint(0), &text);
    let mut findings = Vec::new();
    let sources = [];
    let known = reference::Known::new(&source, &sources);
    reference::find_references(&source, &known, &mut findings);
    choice::find_choices(&source, &known, &mut findings);
    findings.len()
}

/// Measures a goal with its constraints (normalized texts).
pub fn measure(goal: &str, constraints: &[String]) -> Measurement {
    let closed = closed::Closed::new(constraints);
    let goal = Lowered::new(goal);
    let goal_source = Source::new(Origin::Goal, &goal);
    let texts: Vec<Lowered<'_>> = constraints.iter().map(|c| Lowered::new(c)).collect();
    let sources_where = |decided: bool| -> Vec<Source<'_>> {
        let mut sources = Vec::with_capacity(texts.len());
        for (at, (constraint, text)) in constraints.iter().zip(&texts).enumerate() {
            if is_decision(constraint) == decided {
                sources.push(Source::new(Origin::Constraint(at), text));
            }
        }
        sources
    };
    let sources = sources_where(false);
    let mut findings = Vec::new();
    let known = reference::Known::new(&goal_source, &sources);
    for source in std::iter::once(&goal_source).chain(&sources) {
        reference::find_references(source, &known, &mut findings);
        choice::find_choices(source, &known, &mut findings);
    }
    contradiction::find_contradictions(&sources, &mut findings);
    let decisions = sources_where(true);
    let profile = gap::find_gaps(&goal_source, &sources, &decisions, &closed, &mut findings);
    findings.retain(|f| !closed.covers(f));
    let entropy = Entropy::from_findings(&findings);
    let density = Density::from_profile(&profile, constraints.len());
    let mut classes = vec![0; constraints.len()];
    for source in &sources {
        if let Origin::Constraint(at) = source.origin {
            classes[at] = source.tagged.topics();
        }
    }
    Measurement {
        findings,
        entropy,
        density,
        classes,
    }
}
