//! Findings: matchers search the texts of an intent, each with the data of its rules.
//!
//! Matchers of one text (`words`, `bracket`, `choice`) look at sentences; matchers of pairs
//! (`denied`, `bound`, `exclusive`, `opposite`, `restated`) look at statements that share a rare word, never at
//! all pairs. Everything is close to linear in the length of the intent. A finding quotes the text
//! that it is about, so that it can be answered, waived or doubted without looking anything up.

mod bound;
mod bracket;
mod choice;
mod denied;
mod exclusive;
mod missing;
mod opposite;
mod pairs;
mod quantity;
mod restated;
mod slots;
mod statement;
mod words;

use crate::context::is_decision;
use crate::rules::pattern::Pattern;
use crate::rules::{Class, Kind, Rule, RuleSet, Severity, rule_set};
use crate::text::one_line;
use crate::text::token::{Sentence, Text, TokenKind, key_of};

pub(crate) use missing::{Naming, Wanted};

/// Which text of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The goal.
    Goal,
    /// The constraint with this index, in normalized order.
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
    /// The words of the span on one line, clipped if long.
    pub quote: String,
}

/// One reason for a question or a remark.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// The place that it is about; two for a contradiction.
    pub places: Vec<Place>,
    /// The context of the first place: the whole text if it is short, else the sentence.
    pub sentence: Place,
    /// Answers that the text or the assessor offers.
    pub options: Vec<String>,
    /// The elements of the profile that are not named.
    pub missing: Vec<&'static str>,
    /// The message of an assessor; `None` for a rule, whose data has it.
    pub message: Option<String>,
}

impl Finding {
    /// Makes a finding at one or more places; the first one is also its context.
    pub(crate) fn new(rule: &'static Rule, places: Vec<Place>) -> Self {
        let (options, missing) = (Vec::new(), Vec::new());
        let sentence = places[0].clone();
        Self {
            rule,
            places,
            sentence,
            options,
            missing,
            message: None,
        }
    }

    /// The kind of its rule.
    pub fn kind(&self) -> Kind {
        self.rule.kind
    }

    /// Whether it becomes a question.
    pub fn asks(&self) -> bool {
        self.rule.severity == Severity::Ask
    }

    /// Returns the quote of a place, by index.
    pub fn quote(&self, at: usize) -> &str {
        self.places.get(at).map_or("", |place| place.quote.as_str())
    }
}

/// The last words of a match, which may begin a clause: *comes once we know*.
const LEFT_BEHIND: usize = 3;

/// Words that begin a question as a subject.
const QUESTION: [u64; 5] = [
    key_of(b"whether"),
    key_of(b"who"),
    key_of(b"which"),
    key_of(b"whose"),
    key_of(b"that"),
];

/// The most findings in one text: more would take memory and help no one.
const MAX_PER_TEXT: usize = 200;

/// The longest quotation, in bytes.
pub(crate) const QUOTE_LIMIT: usize = 300;

/// Clips `text[start..end]` to [`QUOTE_LIMIT`] around `focus`, on character boundaries and on one line.
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
    one_line(&text[from..to])
}

/// A text of the intent, with what is known about its words.
pub(crate) struct Source<'t> {
    pub origin: Origin,
    pub text: Text<'t>,
    /// The classes of each token.
    pub classes: Vec<u32>,
    /// The key to compare each token by.
    pub canonical: Vec<u64>,
}

impl<'t> Source<'t> {
    pub fn new(origin: Origin, raw: &'t str, rules: &RuleSet) -> Self {
        let text = Text::new(raw);
        let mut classes = Vec::with_capacity(text.tokens.len());
        let mut canonical = Vec::with_capacity(text.tokens.len());
        for token in &text.tokens {
            let (class, key) = match token.kind {
                TokenKind::Word => rules.lexicon.look_up(&text.lower[token.span()], token.key),
                _ => (0, token.key),
            };
            classes.push(class);
            canonical.push(key);
        }
        Source {
            origin,
            text,
            classes,
            canonical,
        }
    }

    /// Returns the place of the tokens `from..to`.
    pub fn place(&self, from: usize, to: usize) -> Place {
        let (start, end) = self.text.span(from, to);
        self.place_of(start, end, start)
    }

    fn place_of(&self, start: usize, end: usize, focus: usize) -> Place {
        Place {
            origin: self.origin,
            start,
            end,
            quote: clip(self.text.raw, start, end, focus),
        }
    }

    /// Returns the whole text if it is short, else the sentence, clipped around `at`.
    pub fn around(&self, sentence: Sentence, at: usize) -> Place {
        let raw = self.text.raw;
        if raw.len() <= QUOTE_LIMIT {
            return self.place_of(0, raw.len(), 0);
        }
        let (start, end) = self.text.span(sentence.from, sentence.to);
        let focus = self
            .text
            .tokens
            .get(at)
            .map_or(start, |token| token.start as usize);
        self.place_of(start, end.max(start), focus)
    }

    /// Makes a finding about the tokens `from..to`.
    pub fn finding(
        &self,
        rule: &'static Rule,
        sentence: Sentence,
        from: usize,
        to: usize,
    ) -> Finding {
        let mut finding = Finding::new(rule, vec![self.place(from, to)]);
        finding.sentence = self.around(sentence, from);
        finding
    }

    /// Whether any word of the sentence has one of the classes.
    pub fn has_class(&self, sentence: Sentence, class: u32) -> bool {
        let mut classes = self.classes[sentence.from..sentence.to].iter();
        classes.any(|own| own & class != 0)
    }
}

/// Whether the rule's exceptions cancel a finding about the tokens `from..to`.
pub(crate) fn is_lifted(
    rule: &Rule,
    source: &Source<'_>,
    sentence: Sentence,
    from: usize,
    to: usize,
) -> bool {
    let text = &source.text;
    rule.unless
        .iter()
        .any(|pattern| pattern.overlaps(text, sentence, from, to))
        || rule
            .unless_sentence
            .iter()
            .any(|pattern| pattern.find_in(text, sentence).is_some())
}

/// Whether the clause in which a match begins is one that the rule and the pattern look at.
pub(crate) fn is_in_place(
    rule: &Rule,
    pattern: &Pattern,
    source: &Source<'_>,
    sentence: Sentence,
    (at, end): (usize, usize),
) -> bool {
    let text = &source.text;
    let clause = (sentence.from..at)
        .rev()
        .find(|&i| text.is_sign(i, ',') || text.is_sign(i, ':'))
        .map_or(sentence.from, |sign| sign + 1);
    let before = |class: u32| (clause..at).any(|i| source.classes[i] & class != 0);
    // *Whether it has a lid is open*: a question as the subject is the point.
    let asks = clause == sentence.from && QUESTION.contains(&text.tokens[clause].key);
    let depends = Class::CONDITION | Class::RELATIVE;
    // What a gap skipped is no other clause.
    let mut skipped = at + 1..end.saturating_sub(LEFT_BEHIND).max(at + 1);
    let leaves = skipped.any(|i| source.classes[i] & depends != 0);
    !(rule.main_clause && (leaves || !asks && before(depends))
        || pattern.is_bare && before(depends | Class::VERB))
}

/// Finds everything that the rules describe, except what assessors found: text by text, then pairs,
/// then the gap. Also returns what the intent names.
pub(crate) fn find_all(
    goal: &str,
    constraints: &[String],
    wanted: &Wanted,
) -> (Vec<Finding>, Naming) {
    let rules = rule_set();
    let mut sources = vec![Source::new(Origin::Goal, goal, rules)];
    for (at, constraint) in constraints.iter().enumerate() {
        if !is_decision(constraint) {
            sources.push(Source::new(Origin::Constraint(at), constraint, rules));
        }
    }
    let mut findings = Vec::new();
    let known = bracket::KnownNames::new(&sources);
    for source in &sources {
        let mut own = Vec::new();
        words::find(rules, source, &known, &mut own);
        bracket::find(rules, source, &known, &mut own);
        choice::find(rules, source, &mut own);
        remove_overlaps(&mut own);
        findings.append(&mut own);
    }
    pairs::find(rules, &sources[1..], &mut findings);
    let naming = missing::find(rules, &sources, constraints, wanted, &mut findings);
    (findings, naming)
}

/// Keeps one of several findings that overlap: by severity, then kind, then position. So a sentence
/// leaves at most one choice open, and none if the same words are a placeholder.
fn remove_overlaps(findings: &mut Vec<Finding>) {
    let start = |finding: &Finding| finding.places.first().map_or(0, |place| place.start);
    findings.sort_by_cached_key(|finding| {
        let rule = finding.rule;
        (rule.severity, finding.kind(), start(finding), &rule.id)
    });
    let mut taken = std::collections::BTreeMap::<usize, usize>::new();
    findings.retain(|finding| {
        let Some(place) = finding.places.first() else {
            return true;
        };
        let (start, end) = (place.start, place.end.max(place.start + 1));
        let overlaps = taken
            .range(..end)
            .next_back()
            .is_some_and(|(_, to)| *to > start);
        if !overlaps {
            taken.insert(start, end);
        }
        !overlaps
    });
    findings.truncate(MAX_PER_TEXT);
}
