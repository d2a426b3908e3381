//! What a number, a lifetime or a system of units leaves room for: an 8-bit counter and 9,999 drops, a token of ten minutes that
//! is still accepted in the evening, grams only and cups.
//!
//! A width counts where the statement speaks of a counter, number or field. A lifetime meets words for a later time (*the next day*)
//! behind *still*. A system of units is fixed by *only, all, always, stay* and broken by a unit of the other one.

use super::super::Source;
use super::amounts::{Amount, Unit};
use super::quantity::Bound;
use super::statement::Statement;
use super::synonym::canonical;
use super::units::{clock, number, seconds};
use super::{CANDIDATES, Pairs};
use crate::text::lex::TokenKind;

/// Finds values that do not fit what is said about their range.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    amounts: &[Amount],
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.conditional)
    {
        let source = &sources[s.source];
        let width = width_of(source, s);
        let metric = system_of(source, s).filter(|_| is_strict(source, s));
        if width.is_none() && metric.is_none() {
            continue;
        }
        for (j, o) in statements.iter().enumerate().take(CANDIDATES * 4) {
            if o.source == s.source || s.apart(o) {
                continue;
            }
            let other = &sources[o.source];
            if width.is_some_and(|most| outgrows(other, o, s, most)) {
                pairs.add(i, j, "how large a number may be");
            }
            let clash = metric.is_some_and(|m| system_of(other, o) == Some(!m));
            if clash && !o.negative && (s.shared_weight(o, &[]) >= 2 || is_measure(source, s)) {
                pairs.add(i, j, "the units");
            }
        }
    }
    let lives = amounts
        .iter()
        .filter(|a| a.unit == Unit::Time && matches!(a.bound, Bound::Value | Bound::Upper));
    for life in lives.take(CANDIDATES) {
        let s = &statements[life.statement as usize];
        if s.conditional || s.negative || !is_valid(&sources[s.source], s) {
            continue;
        }
        for (j, o) in statements.iter().enumerate().take(CANDIDATES * 4) {
            if o.source != s.source
                && !o.negative
                && !s.apart_in_people(o)
                && s.subject_weight(o, &[]) >= 2
                && later(&sources[o.source], o).is_some_and(|at| at > life.high)
            {
                pairs.add(life.statement as usize, j, "how long it is valid");
            }
        }
    }
}

/// The greatest value of an `8-bit counter`, a `uint16` or a `number of four digits`.
fn width_of(source: &Source<'_>, s: &Statement) -> Option<f64> {
    let lexed = &source.tagged.lexed;
    let says = |words: &[&str]| (s.range.0..s.range.1).any(|k| words.contains(&lexed.word(k)));
    // Most sentences have neither a number nor a type in them.
    let counted = |k: usize| {
        lexed.tokens[k].kind == TokenKind::Number
            || lexed.word(k).ends_with("digit")
            || any_of!(lexed.word(k + 1), "bit" "bits" "digit" "digits" "byte" "bytes")
            || lexed.word(k).bytes().any(|b| b.is_ascii_digit())
            || lexed.word(k).ends_with("int")
    };
    if !(s.range.0..s.range.1).any(counted) {
        return None;
    }
    let typed = says(&[
        "counter", "integer", "int", "number", "numbers", "field", "register", "variable", "id",
        "ids", "unsigned", "signed", "column", "index", "code", "codes", "counted", "numbered",
        "sequence",
    ]);
    for k in s.range.0..s.range.1 {
        match lexed.word(k) {
            "uint8" | "uint8_t" | "u8" => return Some(255.0),
            "int8" | "int8_t" | "i8" => return Some(127.0),
            "uint16" | "uint16_t" | "u16" => return Some(65_535.0),
            "int16" | "int16_t" | "i16" | "smallint" => return Some(32_767.0),
            "tinyint" => return Some(255.0),
            "two-digit" if typed => return Some(99.0),
            "three-digit" if typed => return Some(999.0),
            "four-digit" if typed => return Some(9_999.0),
            "five-digit" if typed => return Some(99_999.0),
            "six-digit" if typed => return Some(999_999.0),
            _ => {}
        }
        let unit = k + 1 + usize::from(lexed.raw(k + 1) == "-");
        let count = number(lexed.word(k)).or_else(|| super::units::numeral(lexed.word(k)));
        let Some(count) = count.filter(|c| (1.0..=32.0).contains(c) && typed) else {
            continue;
        };
        match lexed.word(unit) {
            "bit" | "bits" => {
                let sign = f64::from(u8::from(says(&["signed"])));
                return Some((count - sign).exp2() - 1.0);
            }
            "byte" | "bytes" if says(&["counter", "unsigned", "integer"]) => {
                return Some((count * 8.0).exp2() - 1.0);
            }
            "digit" | "digits" if count <= 12.0 => return Some(10f64.powf(count) - 1.0),
            _ => {}
        }
    }
    None
}

/// A number beyond `most` of what the other statement counts.
fn outgrows(source: &Source<'_>, o: &Statement, s: &Statement, most: f64) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    (o.range.0..o.range.1).any(|k| {
        let token = lexed.tokens[k];
        if token.kind != TokenKind::Number || token.quoted || clock(lexed.word(k)).is_some() {
            return false;
        }
        let Some(mut value) = number(lexed.word(k)) else {
            return false;
        };
        value *= match lexed.word(k + 1) {
            "million" => 1e6,
            "thousand" => 1e3,
            _ => 1.0,
        };
        let counted = (k + 1..(k + 4).min(o.range.1)).any(|i| {
            s.content
                .binary_search(&canonical(lexed.tokens[i].key))
                .is_ok()
                && !s.generic.contains(&canonical(lexed.tokens[i].key))
        });
        let named = s.head.is_some_and(|h| o.content.binary_search(&h).is_ok());
        value > most && (counted || named)
    })
}

/// Metric (true) or imperial (false) units as the form in which something is given: `in grams`.
fn system_of(source: &Source<'_>, s: &Statement) -> Option<bool> {
    let lexed = &source.tagged.lexed;
    let mut found = None;
    for k in s.range.0 + 1..s.range.1 {
        let metric = match lexed.word(k) {
            "grams" | "gram" | "kilograms" | "kilogram" | "kilos" | "millilitres" | "litres"
            | "metres" | "metre" | "millimetres" | "millimetre" | "centimetres" | "centimetre"
            | "kilometres" | "kilometre" | "celsius" | "metric" | "km" | "cm" | "mm" | "kg"
            | "meters" | "kilometers" => true,
            "cups" | "ounces" | "pounds" | "gallons" | "inches" | "inch" | "feet" | "yards"
            | "miles" | "fahrenheit" | "tablespoons" | "teaspoons" | "pints" | "imperial"
            | "mph" => false,
            _ => continue,
        };
        let form = (k.saturating_sub(4).max(s.range.0)..k)
            .any(|i| any_of!(lexed.word(i), "in" "to" "into" "as" "of" "and"))
            && !(k.saturating_sub(2).max(s.range.0)..k)
                .any(|i| lexed.tokens[i].kind == TokenKind::Number);
        if !form {
            continue;
        }
        if found.is_some_and(|m| m != metric) {
            return None;
        }
        found = Some(metric);
    }
    found
}

/// Leaves no other unit.
fn is_strict(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1)
        .any(|k| any_of!(lexed.word(k), "only" "all" "always" "every" "exclusively" "stay" "stays" "throughout" "must" "solely" "everywhere"))
}

/// About amounts as such: whatever is measured.
fn is_measure(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.finite.unwrap_or(s.range.1))
        .any(|k| any_of!(lexed.word(k), "amounts" "quantities" "measurements" "measures" "units" "values" "lengths" "distances" "weights" "dimensions" "temperatures" "sizes"))
}

/// Speaks of how long something holds.
fn is_valid(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| any_of!(lexed.word(k), "valid" "expires" "expire" "lapses" "good" "usable" "lifetime" "ends" "lives" "logged" "reserved" "works" "work" "active"))
}

/// `still accepted in the evening`, `still valid the next day`: how much later, in seconds.
fn later(source: &Source<'_>, o: &Statement) -> Option<f64> {
    let lexed = &source.tagged.lexed;
    let says = |words: &[&str]| (o.range.0..o.range.1).any(|k| words.contains(&lexed.word(k)));
    if !says(&["still", "even", "unchanged"]) {
        return None;
    }
    let hour = 3600.0;
    for k in o.range.0..o.range.1 {
        let next = lexed.word(k + 1);
        match lexed.word(k) {
            "evening" if says(&["morning", "morning's"]) => return Some(6.0 * hour),
            "tomorrow" | "overnight" => return Some(8.0 * hour),
            "next" | "following" if any_of!(next, "day" "morning" "evening") => {
                return Some(8.0 * hour);
            }
            "next" | "following" if any_of!(next, "week" "month" "year" "quarter") => {
                return seconds(next).map(|t| t * 0.8);
            }
            "weeks" | "months" | "years" | "days" | "hours" if any_of!(next, "later" "after" "afterwards") =>
            {
                return seconds(lexed.word(k)).map(|t| t * 2.0);
            }
            _ => {}
        }
    }
    None
}
