//! Numbers that exclude each other: bounds, periods, retention times and plain values of one dimension.

use super::super::Source;
use super::acts::{alike_acts, compound, different_acts, has_plain_act, is_end};
use super::quantity::{Bound, Dimension, Quantity, read_quantities};
use super::relation::common;
use super::statement::Statement;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::fnv;

/// Finds quantities that exclude each other.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Quantity> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        // `Vitest for 100 and 101 steps`: what is tried, no demand.
        let t = &sources[s.source].tagged;
        let tries = s.finite.is_none()
            && (s.range.0..(s.range.0 + 3).min(s.range.1)).any(|i| {
                t.is(i, class::TEST_TOOL) || any_of!(t.lexed.word(i), "test" "tests" "tested")
            });
        if tries {
            continue;
        }
        read_quantities(&sources[s.source], s, n as u32, &mut all);
    }
    if all.len() < 2 {
        return;
    }
    all_against_limit(sources, statements, &all, pairs);
    super::schedule::find(statements, &all, pairs);
    // (dimension, word) to quantities: only those that share a word are compared.
    let mut index: Vec<(Dimension, u64, u32)> = Vec::new();
    for (q, quantity) in all.iter().enumerate() {
        for key in &statements[quantity.statement as usize].content {
            index.push((quantity.dimension, *key, q as u32));
        }
    }
    index.sort_unstable();
    for (n, a) in all.iter().enumerate() {
        let s = &statements[a.statement as usize];
        for key in s
            .content
            .iter()
            .filter(|k| !a.own.contains(k) || a.dimension == Dimension::Of(**k))
        {
            let from = index.partition_point(|e| (e.0, e.1) < (a.dimension, *key));
            let same = index[from..]
                .iter()
                .take_while(|e| e.0 == a.dimension && e.1 == *key);
            for &(_, _, m) in same.take(CANDIDATES).filter(|e| e.2 as usize > n) {
                let b = &all[m as usize];
                let o = &statements[b.statement as usize];
                if s.source != o.source
                    && (!s.apart(o) && excluded(s, o, a, b) || part_exceeds(s, o, a, b))
                {
                    pairs.add(
                        a.statement as usize,
                        b.statement as usize,
                        "numbers that exclude each other",
                    );
                }
            }
        }
    }
}

/// `every match is shown` against `at most 50 matches are shown`.
fn all_against_limit(
    sources: &[Source<'_>],
    statements: &[Statement],
    all: &[Quantity],
    pairs: &mut Pairs<'_, '_>,
) {
    let limits: Vec<(&Quantity, u64)> = all
        .iter()
        .filter(|q| q.bound == Bound::Upper)
        .filter_map(|q| match q.dimension {
            Dimension::Of(noun) => Some((q, noun)),
            _ => None,
        })
        .take(CANDIDATES)
        .collect();
    if limits.is_empty() {
        return;
    }
    for (n, s) in statements
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.conditional)
    {
        let t = &sources[s.source].tagged;
        for &(limit, noun) in &limits {
            let o = &statements[limit.statement as usize];
            let every = (s.range.0..s.range.1.saturating_sub(1)).any(|i| {
                matches!(t.lexed.word(i), "every" | "all") && t.lexed.tokens[i + 1].key == noun
                    // `the complete list in one response`
                    || any_of!(t.lexed.word(i), "complete" "whole" "full" "entire")
                        && any_of!(t.lexed.word(i + 1), "list" "set" "table" "catalogue" "collection" "result" "history")
                        && s.content.binary_search(&noun).is_ok()
            });
            if every
                && s.source != o.source
                && !(s.negative || s.measured)
                && s.shared_weight(o, &[]) >= 4
                && !s.apart(o)
            {
                pairs.add(
                    n,
                    limit.statement as usize,
                    "numbers that exclude each other",
                );
            }
        }
    }
}

fn excluded(s: &Statement, o: &Statement, a: &Quantity, b: &Quantity) -> bool {
    use Bound::{Exact, Lower, Takes, Upper, Value};
    let mut own = a.own.clone();
    own.extend(&b.own);
    let same = s.same_subject(o);
    // A statement that says nothing but its number is about the thing counted.
    let bare = |st: &Statement| st.content.iter().all(|k| own.contains(k));
    let (weight, coverage) = if matches!(a.dimension, Dimension::Of(_)) && (bare(s) || bare(o)) {
        (2, 100)
    } else {
        (s.subject_weight(o, &own), s.coverage(o, &own))
    };
    // `Partners have 100 requests a second` leaves `10 requests a second` to the others.
    let part = a.dimension == Dimension::Period
        && s.narrowed != o.narrowed
        && (weight < 4 || !s.persons.is_empty() || !o.persons.is_empty());
    let rated = |q: &Quantity, st: &Statement| {
        q.counted
            .is_some_and(|k| st.content.binary_search(&k).is_ok())
    };
    // A rate against a cap of the same thing.
    let capped = matches!((a.bound, b.bound), (Lower, Value) | (Value, Lower))
        && a.counted.is_some()
        && a.counted == b.counted;
    let coverage =
        if rated(a, o) && b.counted.is_none() || rated(b, s) && a.counted.is_none() || capped {
            100
        } else {
            coverage
        };
    let conditional = part || !s.may_meet(o);
    // `starts at 20 percent`, `stops at 80 percent`
    let bounds = matches!((a.bound, b.bound), (Upper, Lower) | (Lower, Upper));
    let acts = s.act.is_some() && o.act.is_some() && s.act != o.act;
    if s.at_number && o.at_number && (acts || bounds) {
        return false;
    }
    if a.dimension == Dimension::Clock {
        // `job at 01:30`, `the job stops at 04:30`; `the run ends before 03:00`, `the copy starts at 03:15`.
        let stops = |st: &Statement| st.act.is_some_and(is_end);
        if a.bound == Value && b.bound == Value && stops(s) != stops(o)
            || s.foreign(o) && weight < 4
        {
            return false;
        }
    }
    if a.dimension == Dimension::Retention {
        let about = weight >= 2
            && (weight >= 4 || !s.foreign(o) || a.bound == Lower || b.bound == Lower)
            && !narrower(s, o);
        // `data older than a year is removed`: the rule itself, no case.
        let aged = |st: &Statement| {
            !st.conditional || st.limited && st.limit.len() == 1 && st.condition.is_empty()
        };
        return (!conditional || aged(s) && aged(o)) && about && kept_apart(a, b, coverage >= 60);
    }
    // Two acts have two times.
    let plain = |q: &Quantity| q.bound == Value || q.dimension != Dimension::Time;
    if matches!(
        a.dimension,
        Dimension::Period | Dimension::Time | Dimension::Clock
    ) && !(a.dimension == Dimension::Clock && a.bound == b.bound)
        && a.counted.is_none()
        && b.counted.is_none()
        && ((plain(a) || plain(b)) && different_acts(s, o) || compound(s, o))
    {
        return false;
    }
    if a.bound == Exact || b.bound == Exact {
        let about = same || a.dimension != Dimension::Time;
        return about && weight >= 2 && coverage >= 50 && !conditional && differs(a.value, b.value);
    }
    let (low, high) = match (a.bound, b.bound) {
        (Upper, Lower | Takes | Value) => (b, a),
        (Lower | Takes | Value, Upper) => (a, b),
        (Upper, Upper) if a.dimension == Dimension::Clock => {
            // Two deadlines of one thing.
            return weight >= 2 && coverage >= 50 && !conditional && differs(a.value, b.value);
        }
        (Upper, Upper) if matches!(a.dimension, Dimension::Of(_) | Dimension::Size) => {
            // Two different capacities of one thing; `abort when errors exceed 10 percent` is none.
            return weight >= 2
                && coverage >= 50
                && !conditional
                && s.condition.is_empty() == o.condition.is_empty()
                && differs(a.value, b.value);
        }
        (Upper, Upper) if matches!(a.dimension, Dimension::Time | Dimension::After(_)) => {
            return same && coverage >= 50 && !conditional && differs(a.value, b.value);
        }
        (Lower, Value) => (a, b),
        (Value, Lower) => (b, a),
        (Value | Takes, Value | Takes) => {
            // Two values of one attribute.
            let close = match a.dimension {
                // Two reminders may go out at two times before one event.
                Dimension::After(_) => false,
                Dimension::Clock => {
                    same && weight >= 2
                        && coverage >= 50
                        && s.content.len().max(o.content.len()) <= 5
                        && (alike_acts(s, o)
                            || coverage >= 75
                            || s.act.is_some()
                                && o.act.is_some()
                                && (has_plain_act(s) || has_plain_act(o)))
                }
                Dimension::Of(_) if same => weight >= 2 && coverage >= 50,
                Dimension::Period => {
                    weight >= 4 && coverage >= 60
                        || weight >= 2 && (coverage >= 75 || same && coverage >= 50)
                        || weight >= 2 && s.same_act(o)
                }
                _ => {
                    weight >= 4 && coverage >= 60
                        || same && coverage >= 50 && s.content.len().max(o.content.len()) <= 6
                }
            };
            // `18 pt on the poster`, `11 pt in the booklet`
            let placed = !s.landmarks.is_empty()
                && !o.landmarks.is_empty()
                && common(&s.landmarks, &o.landmarks) == 0
                && matches!(a.dimension, Dimension::Of(_) | Dimension::Size);
            return close && !placed && !conditional && differs(a.value, b.value);
        }
        _ => return false,
    };
    let over = low.value > high.value;
    let bound_pair = matches!((low.bound, high.bound), (Lower, Upper));
    let enough = match (low.bound, high.bound) {
        (Lower, Upper) => weight >= 2,
        (Takes, Upper) => weight >= 2,
        (Value, Upper) => match low.dimension {
            Dimension::Size => weight >= 2,
            Dimension::Period => weight >= 2,
            Dimension::Time => weight >= 4 && coverage >= 60,
            _ => weight >= 2 && coverage >= 50,
        },
        _ => weight >= 2 && coverage >= 50,
    };
    over && enough && (!conditional || bound_pair && weight >= 4)
}

/// A part is larger than the whole may be: `the image must not exceed 256 KB`, `a table in the image takes 400 KB`.
fn part_exceeds(s: &Statement, o: &Statement, a: &Quantity, b: &Quantity) -> bool {
    let (whole, limit, piece, size) = match (a.bound, b.bound) {
        (Bound::Upper, Bound::Value | Bound::Takes) => (s, a, o, b),
        (Bound::Value | Bound::Takes, Bound::Upper) => (o, b, s, a),
        _ => return false,
    };
    let measured = match size.dimension {
        Dimension::Size => true,
        Dimension::Time => {
            size.bound == Bound::Takes && whole.content.len() <= 6 && has_plain_act(whole)
        }
        Dimension::Of(unit) => unit == fnv("g") || unit == fnv("w"),
        _ => false,
    };
    let inside = |k: u64| piece.content.binary_search(&k).is_ok();
    size.value > limit.value
        && measured
        && whole.head != piece.head
        && whole.head.is_some_and(inside)
        && (!whole.apart(piece) || whole.head.is_some_and(|h| piece.of.contains(&h)))
        && !whole.conditional
        && (piece.limited || !piece.conditional)
}

/// How long a thing is kept against when it is deleted.
fn kept_apart(a: &Quantity, b: &Quantity, close: bool) -> bool {
    use Bound::{Lower, Upper};
    match (a.bound, b.bound) {
        (Lower, Lower) => false,
        (Upper, Lower) => b.value > a.value,
        (Lower, Upper) => a.value > b.value,
        (Lower, _) => a.value > b.value,
        (_, Lower) => b.value > a.value,
        (Upper, Upper) => close && differs(a.value, b.value),
        (Upper, _) => b.value > a.value || close && differs(a.value, b.value),
        (_, Upper) => a.value > b.value || close && differs(a.value, b.value),
        _ => close && differs(a.value, b.value),
    }
}

/// `Orders`, `Cancelled orders`: the second is an exception, unless the first leaves none.
fn narrower(s: &Statement, o: &Statement) -> bool {
    let part = |a: &Statement, b: &Statement| {
        !b.emphatic
            && a.head.is_some()
            && a.head == b.head
            && a.phrase.len() > b.phrase.len()
            && a.phrase.iter().any(|k| b.content.binary_search(k).is_err())
    };
    part(s, o) || part(o, s)
}

fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.001 * a.abs().max(b.abs())
}
