//! Counts against lists: `exactly four columns` and `the columns are time, lat, lon, ele and speed`.
//!
//! The noun counted must be the subject of the list; or the list holds members of the set that the noun names (`two languages`,
//! *German, French and Italian*). A list with `such as`, `for example` or `among others` is open.

use super::super::Source;
use super::amounts::{Amount, Unit};
use super::quantity::Bound;
use super::statement::Statement;
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Finds lists that are longer or shorter than the count of their noun.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    amounts: &[Amount],
    pairs: &mut Pairs<'_, '_>,
) {
    let counts = amounts.iter().filter(|a| {
        matches!(a.unit, Unit::Things(_))
            && (2.0..=40.0).contains(&a.low)
            && a.low == a.high
            && a.times == 1.0
    });
    for count in counts.take(CANDIDATES) {
        let Unit::Things(noun) = count.unit else {
            continue;
        };
        let s = &statements[count.statement as usize];
        let source = &sources[s.source];
        let set = set_of(source.tagged.lexed.word(count.unit_at));
        for (j, o) in statements.iter().enumerate().take(CANDIDATES * 4) {
            if o.source == s.source || s.conditional || o.conditional || s.apart_in_name(o) {
                continue;
            }
            let other = &sources[o.source];
            let items = match set {
                Some(set) => members(other, o, set),
                None => items(other, o, noun),
            };
            let Some(items) = items.map(|n| n as f64) else {
                continue;
            };
            let exact = count.bound == Bound::Exact
                || says_all(source, s, count.at)
                || count.bound == Bound::Value && set.is_none() && s.content.len() <= 4;
            let clash = match count.bound {
                Bound::Upper => items > count.low,
                Bound::Lower => items < count.low && set.is_none(),
                _ if set.is_some() => items > count.low && exact,
                _ => exact && items != count.low,
            };
            if clash {
                pairs.add(count.statement as usize, j, "how many there are");
            }
        }
    }
}

/// `exactly`, `only`, `just`, `the … are`: no more and no fewer.
fn says_all(source: &Source<'_>, s: &Statement, at: usize) -> bool {
    (at.saturating_sub(3).max(s.range.0)..at)
        .any(|k| any_of!(source.tagged.lexed.word(k), "exactly" "only" "just" "precisely" "always"))
}

/// The set whose members a noun counts.
fn set_of(word: &str) -> Option<u64> {
    Some(match word {
        "languages" => class::TONGUE,
        "currencies" => class::CURRENCY,
        "formats" => class::FORMAT,
        "colours" | "colors" => class::COLOUR,
        "databases" => class::DATABASE,
        "channels" => class::CHANNEL,
        _ => return None,
    })
}

/// Different members of a set in a statement.
fn members(source: &Source<'_>, s: &Statement, set: u64) -> Option<usize> {
    let t = &source.tagged;
    let mut keys: Vec<u64> = (s.range.0..s.range.1)
        .filter(|&k| t.is(k, set) && !t.lexed.tokens[k].quoted)
        .map(|k| canonical(t.lexed.tokens[k].key))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    (keys.len() >= 2 && !is_open(source, s) && !s.negative && s.persons.is_empty())
        .then_some(keys.len())
}

/// The items of `The columns are a, b and c` or `Columns: a, b, c`, where the subject is the noun.
fn items(source: &Source<'_>, s: &Statement, noun: u64) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let colon = (s.range.0 + 1..(s.range.0 + 8).min(s.range.1))
        .find(|&k| lexed.is_symbol(k, ":") || any_of!(lexed.word(k), "are" "namely" "include"))?;
    let last = (s.range.0..colon)
        .rev()
        .find(|&k| lexed.tokens[k].kind == TokenKind::Word && !t.is(k, class::STOP))?;
    // `the required fields are …`: some of them.
    let narrowed =
        (s.range.0..last).any(|k| !any_of!(lexed.word(k), "the" "our" "its" "these" "their" "all"));
    if narrowed
        || canonical(lexed.tokens[last].key) != noun
        || lexed.word(colon) == "include"
        || is_open(source, s)
    {
        return None;
    }
    let mut commas = 0;
    let mut closed = false;
    let mut run = 0;
    for k in colon + 1..s.range.1 {
        run += 1;
        if lexed.is_symbol(k, ",") {
            commas += 1;
            run = 0;
        } else if lexed.word(k) == "and" {
            commas += usize::from(!lexed.is_symbol(k - 1, ","));
            closed = true;
            run = 0;
        } else if run > 3
            || lexed.tokens[k].kind == TokenKind::Symbol
                && !any_of!(lexed.raw(k), "." "(" ")" "/" "-" "`")
        {
            return None;
        }
    }
    (commas >= 1 && (closed || commas >= 2)).then_some(commas + 1)
}

/// The list names examples only, or what comes in.
fn is_open(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "example" "e.g" "etc" "others" "like" "further" "more" "reads" "import" "imports" "input" "accepts")
            || lexed.word(k) == "such" && lexed.word(k + 1) == "as"
    })
}
