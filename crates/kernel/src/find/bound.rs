//! Bounds of one quantity that exclude each other: *at most 25 seconds* and *at least 40 seconds*.

use super::Source;
use super::pairs::{Pairs, Statements};
use super::statement::{Statement, content_key, count_in};
use crate::rules::{Class, Dimension, Matcher, RuleSet};
use crate::text::token::{TokenKind, key_of};

/// What a number says of the quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    AtMost,
    AtLeast,
    Exactly,
}

/// A number with what it bounds.
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

const NOT: u64 = key_of(b"not");

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
            let found = statements.candidates(number, &statement.keys).find(|(other, with)| {
                let excluded = bounds[number].iter().any(|a| bounds[*other].iter().any(|b| exclude(*a, *b)));
                excluded && same_quantity(statement, with)
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
        (Side::Exactly, Side::Exactly) => a.value != b.value,
        _ => false,
    }
}

/// Whether two statements are about the same quantity in the same case.
fn same_quantity(one: &Statement, other: &Statement) -> bool {
    if (one.classes | other.classes) & (Class::EXCEPTION | Class::RATE) != 0 {
        return false;
    }
    let shared = count_in(&one.keys, &other.keys);
    let fewer = one.keys.len().min(other.keys.len());
    let same_subject = one.subject == other.subject && !one.subject.is_empty();
    let same_case = one.condition.is_empty() && other.condition.is_empty()
        || count_in(&one.condition, &other.condition) == one.condition.len().max(other.condition.len());
    same_case && (same_subject && shared >= 1 || shared >= 2 && shared * 2 >= fewer)
}

fn read_bounds(rules: &RuleSet, source: &Source<'_>, statement: &Statement) -> Vec<Bound> {
    let mut out = Vec::new();
    for (at, &i) in statement.body.iter().enumerate() {
        let Some((value, attached)) = number_at(rules, source, i) else { continue };
        let next = statement.body.get(at + 1).copied();
        let of = match attached.or_else(|| next.and_then(|j| rules.lexicon.unit(source.text.tokens[j].key))) {
            Some(unit) => Some((value * unit.factor, Measured::Unit(unit.dimension))),
            None => next.and_then(|j| content_key(source, j)).map(|key| (value, Measured::Noun(key))),
        };
        let Some((value, of)) = of else { continue };
        if let Some(side) = side_of(source, &statement.body, at) {
            out.push(Bound { side, value, of });
        }
    }
    out
}

/// The number of a token, and the unit that is written with it: `64KB`, `$500`, `04:00`.
fn number_at(rules: &RuleSet, source: &Source<'_>, i: usize) -> Option<(f64, Option<crate::rules::Unit>)> {
    let token = source.text.tokens[i];
    let word = source.text.lower_word(i);
    match token.kind {
        TokenKind::Sign => None,
        TokenKind::Word => rules.lexicon.number(token.key).map(|value| (value, None)),
        TokenKind::Number => {
            if let Some((hours, minutes)) = word.split_once(':') {
                let clock = hours.parse::<f64>().ok()? * 60.0 + minutes.get(..2)?.parse::<f64>().ok()?;
                return Some((clock, rules.lexicon.unit(key_of(b"o'clock"))));
            }
            let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(word.len());
            let value = word[..digits].replace(',', "").trim_end_matches('.').parse::<f64>().ok()?;
            let suffix = word[digits..].trim_start_matches('-');
            let unit = if suffix.is_empty() { currency_before(rules, source, i) } else { rules.lexicon.unit(key_of(suffix.as_bytes())) };
            let percent = source.text.is_sign(i + 1, '%').then(|| rules.lexicon.unit(key_of(b"percent"))).flatten();
            (suffix.is_empty() || unit.is_some()).then_some((value, unit.or(percent)))
        }
    }
}

fn currency_before(rules: &RuleSet, source: &Source<'_>, i: usize) -> Option<crate::rules::Unit> {
    let before = source.text.tokens.get(i.checked_sub(1)?)?;
    (before.kind == TokenKind::Sign).then(|| rules.lexicon.unit(before.key)).flatten()
}

/// Which side the words before the number, or right behind its unit, give; a denial turns it round.
fn side_of(source: &Source<'_>, body: &[usize], at: usize) -> Option<Side> {
    let mut side = None;
    let mut denied = false;
    for &i in body[at.saturating_sub(6)..at].iter() {
        let class = source.classes[i];
        let is_sign = source.text.tokens[i].kind == TokenKind::Sign;
        if is_sign {
            side = None;
            denied = false;
        }
        if class & (Class::NEGATION | Class::NO) != 0 || source.text.tokens[i].key == NOT {
            denied = true;
        }
        let own = if class & Class::UPPER != 0 {
            Some(Side::AtMost)
        } else if class & Class::LOWER != 0 {
            Some(Side::AtLeast)
        } else if class & Class::EXACT != 0 {
            Some(Side::Exactly)
        } else {
            None
        };
        if let Some(own) = own {
            side = Some(match (own, denied) {
                (Side::AtMost, true) => Side::AtLeast,
                (Side::AtLeast, true) => Side::AtMost,
                (own, _) => own,
            });
            denied = false;
        }
    }
    side
}
