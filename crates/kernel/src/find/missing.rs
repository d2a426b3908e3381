//! What an intent names, and what its profile requires that is not named.

use super::{Finding, Origin, Place, Source, clip};
use crate::context::DECIDED;
use crate::rules::{Matcher, RuleSet, Severity};
use crate::text::token::TokenKind;

/// What an intent must name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Indexes into the rule set's elements.
    pub elements: Vec<usize>,
    /// Everything that is missing is asked only if goal and constraints have fewer words.
    pub below_words: Option<usize>,
    /// Without any of these, it is asked in an intent of any length.
    pub essential: Vec<usize>,
}

/// What an intent names, in numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Naming {
    /// The number of elements that are named.
    pub elements: usize,
    /// The number of constraints that name something concrete: a number, code, or a name.
    pub concrete: usize,
    /// The number of constraints that mention a result.
    pub outputs: usize,
    /// The number of words in goal and constraints.
    pub words: usize,
}

/// The element for results.
const OUTPUT: &str = "output";
/// The most bytes of the goal in the quote.
const GOAL_QUOTE: usize = 120;

pub(super) fn find(
    rules: &'static RuleSet,
    sources: &[Source<'_>],
    constraints: &[String],
    wanted: &Wanted,
    out: &mut Vec<Finding>,
) -> Naming {
    let mut named = vec![false; rules.elements.len()];
    let mut naming = Naming::default();
    for source in sources {
        let words = source
            .text
            .tokens
            .iter()
            .filter(|token| token.kind != TokenKind::Sign)
            .count();
        naming.words += words;
        let mut has_output = false;
        for (number, element) in rules.elements.iter().enumerate() {
            let hit = source
                .text
                .tokens
                .iter()
                .zip(&source.canonical)
                .any(|(token, canonical)| {
                    element.words.has(token.key) || element.words.has(*canonical)
                });
            named[number] |= hit;
            has_output |= hit && element.name == OUTPUT;
        }
        if source.origin != Origin::Goal {
            naming.concrete += usize::from(is_concrete(source));
            naming.outputs += usize::from(has_output);
        }
    }
    for decision in constraints.iter().filter_map(|c| c.strip_prefix(DECIDED)) {
        naming.words += decision.split_whitespace().count();
        let label = decision.split(": ").next().unwrap_or_default();
        for (number, element) in rules.elements.iter().enumerate() {
            named[number] |= label.split(',').any(|part| part.trim() == element.name);
        }
    }
    naming.elements = named.iter().filter(|named| **named).count();
    let thin = wanted.below_words.is_none_or(|least| naming.words < least);
    let missing: Vec<&'static str> = wanted
        .elements
        .iter()
        .filter(|number| !named[**number])
        .map(|number| rules.elements[*number].name.as_str())
        .collect();
    if missing.is_empty() {
        return naming;
    }
    let Some(goal) = sources.first() else {
        return naming;
    };
    // What a long intent leaves out is told and not asked: its author has said what matters. Only without any of what
    // is essential nobody could begin.
    let essential = &wanted.essential;
    let lacks = !essential.is_empty() && essential.iter().all(|number| !named[*number]);
    let severity = match thin || lacks {
        true => Severity::Ask,
        false => Severity::Note,
    };
    for rule in rules
        .of_matcher(Matcher::Missing)
        .filter(|rule| rule.severity == severity)
    {
        let raw = goal.text.raw;
        let mut end = raw.len().min(GOAL_QUOTE);
        while !raw.is_char_boundary(end) {
            end -= 1;
        }
        let place = Place {
            origin: Origin::Goal,
            start: 0,
            end,
            quote: clip(raw, 0, end, 0),
        };
        let mut finding = Finding::new(rule, vec![place]);
        finding.missing = missing.clone();
        out.push(finding);
    }
    naming
}

/// Whether it has a number, code in backticks, or a word with a capital or digit, the first letter
/// of the text aside.
fn is_concrete(source: &Source<'_>) -> bool {
    let text = &source.text;
    text.tokens
        .iter()
        .enumerate()
        .any(|(at, token)| match token.kind {
            TokenKind::Number => true,
            TokenKind::Sign => text.is_sign(at, '`'),
            TokenKind::Word => text
                .word(at)
                .bytes()
                .skip(usize::from(at == 0))
                .any(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
        })
}
