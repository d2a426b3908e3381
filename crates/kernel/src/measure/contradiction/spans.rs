//! Time around a number: what it is counted in (`six a minute`), when something begins, time before or after an event.

use super::super::Source;
use super::quantity::{Bound, Dimension, Quantity};
use super::statement::Statement;
use super::synonym::canonical;
use super::units::{number, numeral, seconds};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// `a minute`, `per day`, `in 24 hours` behind the thing counted: the seconds of it.
pub(super) fn span_behind(source: &Source<'_>, s: &Statement, noun: usize) -> Option<f64> {
    let lexed = &source.tagged.lexed;
    for k in noun + 1..(noun + 7).min(s.range.1) {
        if lexed.tokens[k].kind == TokenKind::Symbol {
            return None;
        }
        if !any_of!(lexed.word(k), "a" "per" "an" "each" "every" "in" "within") {
            continue;
        }
        if let Some(unit) =
            seconds(lexed.word(k + 1)).filter(|_| !any_of!(lexed.word(k), "in" "within"))
        {
            return Some(unit);
        }
        let count = number(lexed.word(k + 1)).or_else(|| numeral(lexed.word(k + 1)));
        if let (Some(count), Some(unit)) = (count, seconds(lexed.word(k + 2))) {
            return Some(count * unit);
        }
    }
    None
}

/// `starts at`, `is launched at`: the time at `at` is when it begins.
pub(super) fn begins(source: &Source<'_>, s: &Statement, at: usize) -> bool {
    (at.saturating_sub(5).max(s.range.0)..at).any(|k| {
        any_of!(source.tagged.lexed.word(k),
            "starts" "start" "started" "begins" "begin" "beginning" "launched" "launches" "commences"
            "kicks" "triggered" "scheduled" "planned")
    })
}

/// `no later than 24 hours before the appointment`: one quantity for each word of the event.
pub(super) fn push_offsets(
    source: &Source<'_>,
    s: &Statement,
    n: u32,
    (at, unit): (usize, usize),
    (bound, value): (Bound, f64),
    out: &mut Vec<Quantity>,
) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    // Later and earlier speak of the time itself, at least and at most of the distance.
    let of_time = (at.saturating_sub(4).max(s.range.0)..(unit + 8).min(s.range.1))
        .any(|k| any_of!(lexed.word(k), "later" "earlier" "latest" "earliest" "sooner"));
    let bound = match bound {
        Bound::Upper if value < 0.0 && !of_time => Bound::Lower,
        Bound::Lower if value < 0.0 && !of_time => Bound::Upper,
        Bound::Takes => Bound::Value,
        other => other,
    };
    let event = (unit + 2..(unit + 7).min(s.range.1))
        .take_while(|&k| lexed.tokens[k].kind == TokenKind::Word)
        .filter(|&k| !t.is(k, class::STOP | class::MODAL));
    for k in event.take(2) {
        let key = canonical(lexed.tokens[k].key);
        out.push(Quantity {
            statement: n,
            dimension: Dimension::After(key),
            bound,
            value,
            counted: None,
            own: vec![lexed.tokens[at].key, lexed.tokens[unit].key],
        });
    }
}
