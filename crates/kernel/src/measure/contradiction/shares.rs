//! Shares of one whole: `70 percent exam and 30 percent project` leave nothing for `homework counts for 20 percent`.
//!
//! The shares of a statement are its percentages that stand in a list or behind a word of dividing up (*for, goes to, held back*). It
//! does not add what may overlap: `80 percent of the users are on phones`.

use super::super::Source;
use super::amounts::{Amount, Unit};
use super::quantity::Bound;
use super::relation::common;
use super::statement::Statement;
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// The percentages of a statement.
struct Shares {
    statement: usize,
    count: usize,
    sum: f64,
    first: Amount,
}

/// Finds shares of a whole that come to more than all of it.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    amounts: &[Amount],
    pairs: &mut Pairs<'_, '_>,
) {
    let mut all: Vec<Shares> = Vec::new();
    for a in amounts.iter().filter(|a| {
        a.unit == Unit::Known("percent")
            && matches!(a.bound, Bound::Value | Bound::Takes)
            && a.low == a.high
            && a.per == 0.0
    }) {
        match all.last_mut() {
            Some(last) if last.statement == a.statement as usize => {
                last.count += 1;
                last.sum += a.low;
            }
            _ => all.push(Shares {
                statement: a.statement as usize,
                count: 1,
                sum: a.low,
                first: *a,
            }),
        }
    }
    for a in all.iter().take(CANDIDATES) {
        let s = &statements[a.statement];
        if s.conditional {
            continue;
        }
        for (j, o) in statements.iter().enumerate().take(CANDIDATES * 4) {
            if o.source == s.source || o.conditional {
                continue;
            }
            let differ = |x: &[u64], y: &[u64]| !x.is_empty() && !y.is_empty() && common(x, y) == 0;
            if differ(&s.scopes, &o.scopes)
                || differ(&s.fronted, &o.fronted)
                || s.complement
                || o.complement
            {
                continue;
            }
            let b = all.iter().find(|b| b.statement == j);
            let adds_up =
                a.count >= 2 && (a.sum - 100.0).abs() > 0.5 && is_sum(&sources[o.source], o);
            let beyond = b.is_some_and(|b| {
                let weight = s.shared_weight(
                    o,
                    &[sources[s.source].tagged.lexed.tokens[a.first.unit_at].key],
                );
                // All is given away in one statement, and another gives away more.
                let full = a.count >= 2 && (a.sum - 100.0).abs() < 0.5 && b.count == 1;
                let same = of_what(&sources[s.source], s, &a.first)
                    .is_some_and(|x| of_what(&sources[o.source], o, &b.first) == Some(x));
                full && weight >= 2 && divides(&sources[o.source], o)
                    || a.count == 1
                        && b.count == 1
                        && same
                        && a.sum + b.sum > 100.5
                        && divides(&sources[s.source], s)
                        && divides(&sources[o.source], o)
                        && !s.same_subject_and_act(o)
            });
            if adds_up || beyond {
                pairs.add(a.statement, j, "shares of the whole");
            }
        }
    }
}

/// `the shares add up to 100`
fn is_sum(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "add" "adds" "sum" "sums" "total" "together" "make" "come")
            && (k + 1..(k + 6).min(s.range.1)).any(|i| lexed.word(i) == "100")
    })
}

/// Something is divided up: `for training`, `held back`, `counts for`, `goes to`.
fn divides(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "for" "to" "gets" "get" "held" "reserved" "reserve" "aside" "kept" "receives" "allotted" "allocated" "assigned" "belongs"
            "counts" "count" "make" "makes" "consists" "comes" "from" "spent" "goes" "go" "share" "weighs" "weight" "takes" "take" "uses")
    })
}

/// The whole behind `percent of the`.
fn of_what(source: &Source<'_>, s: &Statement, a: &Amount) -> Option<u64> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    if lexed.word(a.unit_at + 1) != "of" {
        return None;
    }
    (a.unit_at + 2..(a.unit_at + 6).min(s.range.1))
        .take_while(|&k| lexed.tokens[k].kind == TokenKind::Word)
        .find(|&k| !t.is(k, class::STOP | class::UNIVERSAL))
        .map(|k| canonical(lexed.tokens[k].key))
}
