//! Bounds on one quantity that exclude each other: *at most 25 seconds* and *at least 40 seconds*.

use super::Source;
use super::pairs::{Pairs, Statements};
use super::statement::{Statement, content_key, count_in};
use crate::rules::{Class, Dimension, Matcher, RuleSet};
use crate::text::token::{TokenKind, key_of};

/// How a number bounds a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    AtMost,
    AtLeast,
    Exactly,
    /// A number without a bounding word.
    Plain,
}

/// A number and what it bounds.
#[derive(Clone, Copy, Debug)]
struct Bound {
    side: Side,
    value: f64,
    /// A dimension of the unit table, or the counted noun.
    of: Measured,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    Unit(Dimension),
    Noun(u64),
}

pub(super) fn find(rules: &'static RuleSet, statements: &Statements<'_, '_>, out: &mut Pairs) {
    let bounds: Vec<Vec<Bound>> = statements
        .all
        .iter()
        .map(|statement| read_bounds(rules, &statements.sources[statement.source], statement))
        .collect();
    for rule in rules.of_matcher(Matcher::Bound) {
        for (number, statement) in statements.all.iter().enumerate() {
            if bounds[number].is_empty() {
                continue;
            }
            let found = statements
                .candidates(number, &statement.keys)
                .find(|(other, with)| {
                    let pairs = bounds[number]
                        .iter()
                        .flat_map(|a| bounds[*other].iter().map(move |b| (*a, *b)));
                    pairs
                        .filter(|(a, b)| exclude(*a, *b))
                        .any(|(a, b)| same_quantity(rules, statement, with, a, b))
                });
            if let Some((other, _)) = found {
                out.add(statements, rule, number, other);
            }
        }
    }
}

fn exclude(a: Bound, b: Bound) -> bool {
    if a.of != b.of {
        return false;
    }
    match (a.side, b.side) {
        (Side::AtLeast, Side::AtMost) => a.value > b.value,
        (Side::AtMost, Side::AtLeast) => a.value < b.value,
        (Side::Exactly, Side::AtMost) | (Side::AtLeast, Side::Exactly) => a.value > b.value,
        (Side::Exactly, Side::AtLeast) | (Side::AtMost, Side::Exactly) => a.value < b.value,
        (Side::Exactly | Side::Plain, Side::Exactly | Side::Plain) => a.value != b.value,
        (Side::Plain, Side::AtMost) | (Side::AtLeast, Side::Plain) => a.value > b.value,
        (Side::Plain, Side::AtLeast) | (Side::AtMost, Side::Plain) => a.value < b.value,
        _ => false,
    }
}

/// Whether two statements are about the same quantity in the same case. Numbers without a bounding
/// word have to share more words.
fn same_quantity(rules: &RuleSet, one: &Statement, other: &Statement, a: Bound, b: Bound) -> bool {
    if (one.classes | other.classes) & (Class::EXCEPTION | Class::RATE) != 0 {
        return false;
    }
    let shared = count_in(&one.keys, &other.keys);
    let fewer = one.keys.len().min(other.keys.len());
    if shared >= 3 && (a.side == Side::Exactly || b.side == Side::Exactly) {
        return true;
    }
    if (one.classes | other.classes) & Class::LIMITS != 0 {
        return false;
    }
    let same_subject = one.subject == other.subject && !one.subject.is_empty();
    let same_case = one.condition == other.condition;
    let plain = [a, b]
        .iter()
        .filter(|bound| bound.side == Side::Plain)
        .count();
    // A time without a bounding word is often an interval or an age.
    let unit = matches!(a.of, Measured::Unit(dimension) if Some(dimension) != rules.lexicon.unit(key_of(b"s")).map(|unit| unit.dimension));
    let enough = match plain {
        0 => same_subject && shared >= 1 || shared >= 2 && shared * 2 >= fewer,
        1 if unit => shared >= 2 && shared * 2 >= fewer,
        _ => shared >= 4 && shared * 3 >= fewer * 2,
    };
    same_case && enough
}

fn read_bounds(rules: &RuleSet, source: &Source<'_>, statement: &Statement) -> Vec<Bound> {
    let mut out = Vec::new();
    for (at, &i) in statement.body.iter().enumerate() {
        let Some((value, attached)) = number_at(rules, source, i) else {
            continue;
        };
        let next = statement.body.get(at + 1).copied();
        let of = match attached
            .or_else(|| next.and_then(|j| rules.lexicon.unit(source.text.tokens[j].key)))
        {
            Some(unit) => Some((value * unit.factor, Measured::Unit(unit.dimension))),
            None => next
                .and_then(|j| content_key(source, j))
                .map(|key| (value, Measured::Noun(key))),
        };
        let Some((value, of)) = of else { continue };
        out.push(Bound {
            side: side_of(source, &statement.body, at),
            value,
            of,
        });
    }
    out
}

/// Returns the number of a token, and the unit that is written with it: `64KB`, `$500`, `04:00`.
fn number_at(
    rules: &RuleSet,
    source: &Source<'_>,
    i: usize,
) -> Option<(f64, Option<crate::rules::Unit>)> {
    let token = source.text.tokens[i];
    let word = source.text.lower_word(i);
    match token.kind {
        TokenKind::Sign => None,
        TokenKind::Word => rules.lexicon.number(token.key).map(|value| (value, None)),
        TokenKind::Number => {
            if let Some((hours, minutes)) = word.split_once(':') {
                let clock =
                    hours.parse::<f64>().ok()? * 60.0 + minutes.get(..2)?.parse::<f64>().ok()?;
                return Some((clock, rules.lexicon.unit(key_of(b"o'clock"))));
            }
            let digits = word
                .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
                .unwrap_or(word.len());
            let value = word[..digits]
                .replace(',', "")
                .trim_end_matches('.')
                .parse::<f64>()
                .ok()?;
            let suffix = word[digits..].trim_start_matches('-');
            let unit = if suffix.is_empty() {
                currency_before(rules, source, i)
            } else {
                rules.lexicon.unit(key_of(suffix.as_bytes()))
            };
            let percent = source
                .text
                .is_sign(i + 1, '%')
                .then(|| rules.lexicon.unit(key_of(b"percent")))
                .flatten();
            (suffix.is_empty() || unit.is_some()).then_some((value, unit.or(percent)))
        }
    }
}

fn currency_before(rules: &RuleSet, source: &Source<'_>, i: usize) -> Option<crate::rules::Unit> {
    let before = source.text.tokens.get(i.checked_sub(1)?)?;
    (before.kind == TokenKind::Sign)
        .then(|| rules.lexicon.unit(before.key))
        .flatten()
}

/// The most words from a word such as *least* to its number.
const SIDE_REACH: usize = 5;

/// Returns the side that the words before the number state; a denial in the same clause reverses
/// it.
fn side_of(source: &Source<'_>, body: &[usize], at: usize) -> Side {
    let clause = body[..at]
        .iter()
        .rposition(|&i| source.text.tokens[i].kind == TokenKind::Sign)
        .map_or(0, |sign| sign + 1);
    let near = clause.max(at.saturating_sub(SIDE_REACH));
    let denied = body[clause..at]
        .iter()
        .any(|&i| source.classes[i] & (Class::NEGATION | Class::NO) != 0);
    let side = body[near..at].iter().rev().find_map(|&i| {
        let class = source.classes[i];
        let sides = [
            (Class::UPPER, Side::AtMost),
            (Class::LOWER, Side::AtLeast),
            (Class::EXACT, Side::Exactly),
        ];
        sides
            .into_iter()
            .find(|(bit, _)| class & bit != 0)
            .map(|(_, side)| side)
    });
    match (side, denied) {
        (Some(Side::AtMost), true) => Side::AtLeast,
        (Some(Side::AtLeast), true) => Side::AtMost,
        (Some(side), _) => side,
        (None, _) => Side::Plain,
    }
}
