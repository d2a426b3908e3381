//! Numbers and times of day that tell two statements apart: `up to 1,000`, `from 1,001 on`; `4 per boat`, `48 in 12 boats`;
//! two windows of one day. Rules of `cases`.

use super::cases::Seen;
use super::units::{clock, number, numeral};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A number that bounds a case, with what is counted: the key of its unit, 0 where none.
fn size_at(x: &Seen<'_>, at: usize) -> Option<(f64, u64)> {
    let lexed = &x.source.tagged.lexed;
    // `from call 1,001 on`: the noun may stand before its number.
    let noun = (at..(at + 3).min(x.s.range.1))
        .take_while(|&i| !x.number(i))
        .find_map(|i| x.telling(i));
    let i =
        (at..(at + 3).min(x.s.range.1)).find(|&i| x.number(i) || numeral(x.word(i)).is_some())?;
    if lexed.word(i).contains(':') {
        return None;
    }
    let value = number(lexed.word(i)).or_else(|| numeral(lexed.word(i)))?;
    let unit = noun.or_else(|| x.telling(i + 1)).or_else(|| {
        lexed
            .tokens
            .get(i + 1)
            .filter(|t| t.kind == TokenKind::Symbol)
            .map(|t| t.key)
    });
    Some((value, unit.unwrap_or(0)))
}

/// `free for up to 1,000 calls`, `from call 1,001 on each costs`.
pub(super) fn sizes(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    // `Parcels up to 30 kg go …`, `parcels from 31 kg on go …`: which ones, not how much.
    let which = |x: &Seen<'_>| {
        x.s.finite
            .is_some_and(|verb| (x.s.range.0 + 1..verb).any(|i| x.number(i)))
    };
    if any_of!(topic, "limits" "whether it is kept")
        || topic == "numbers that exclude each other" && !(which(a) && which(b))
    {
        return false;
    }
    let under = |x: &Seen<'_>| {
        x.span().find_map(|i| match x.word(i) {
            "up" if x.word(i + 1) == "to" => size_at(x, i + 2),
            "below" | "under" | "until" => size_at(x, i + 1),
            "less" | "fewer" | "smaller" | "cheaper" | "shorter" | "younger" | "lighter"
                if x.word(i + 1) == "than" && !x.is(i.saturating_sub(1), class::NEG) =>
            {
                size_at(x, i + 2)
            }
            "first" if x.number(i + 1) || numeral(x.word(i + 1)).is_some() => size_at(x, i + 1),
            _ => None,
        })
    };
    let over = |x: &Seen<'_>| {
        x.span().find_map(|i| match x.word(i) {
            "from" | "above" | "over" | "beyond" | "exceeding" | "exceeds" | "exceed" => {
                size_at(x, i + 1)
            }
            "more" | "larger" | "bigger" | "longer" | "heavier" | "older" | "greater"
            | "higher"
                if x.word(i + 1) == "than" && !x.is(i.saturating_sub(1), class::NEG) =>
            {
                size_at(x, i + 2)
            }
            _ => None,
        })
    };
    matches!((under(a), over(b)), (Some((low, x)), Some((high, y))) if high >= low && (x == y || x == 0 || y == 0))
}

/// `Cows with fewer than 14 days of data`: an amount that tells which ones.
pub(super) fn subject_amount(a: &Seen<'_>, _: &Seen<'_>, topic: &str) -> bool {
    topic == "numbers that exclude each other"
        && a.s.finite.is_some_and(|verb| {
            (a.s.range.0..verb).any(|i| {
                any_of!(a.word(i), "with" "having")
                    && any_of!(a.word(i + 1), "fewer" "less" "under" "below")
            })
        })
}

/// `from 20:00 to 06:00`, `between 8:00 and 18:00`: minutes, ending behind midnight where it goes over.
fn hours_of(x: &Seen<'_>) -> Option<(f64, f64)> {
    let time = |i: usize| x.number(i).then(|| clock(x.word(i))).flatten();
    x.span().find_map(|i| {
        let from = time(i)?;
        let to = any_of!(x.word(i + 1), "to" "and" "until" "till" "-" "–")
            .then(|| time(i + 2))
            .flatten()?;
        Some((from, if to <= from { to + 1440.0 } else { to }))
    })
}

/// Two windows of the day that do not meet.
pub(super) fn hours(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if topic == "numbers that exclude each other" || !(a.s.clocked && b.s.clocked) {
        return false;
    }
    let (Some(x), Some(y)) = (hours_of(a), hours_of(b)) else {
        return false;
    };
    [-1440.0, 0.0, 1440.0]
        .iter()
        .all(|d| x.0 + d >= y.1 || x.1 + d <= y.0)
}

/// `4 people per boat`, `12 boats for 48 people`: a share against the sum.
pub(super) fn shares(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    topic == "numbers that exclude each other"
        && a.span().any(|i| {
            a.word(i) == "per"
                && !a.is(i + 1, class::TIME_UNIT)
                && a.telling(i + 1).is_some_and(|key| {
                    b.span().any(|k| {
                        b.telling(k) == Some(key)
                            && k > 0
                            && (b.number(k - 1) && b.word(k - 1) != "1"
                                || b.is(k - 1, class::NUMERAL)
                                    && !any_of!(b.word(k - 1), "one" "a")
                                || b.word(k - 1) == "all")
                    })
                })
        })
}

/// `not more than one message per second`, `at most 5 times`: how fast and how often.
pub(super) fn rates(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let rate = |x: &Seen<'_>| {
        x.span().any(|i| {
            any_of!(x.word(i), "per" "a")
                && x.is(i + 1, class::TIME_UNIT)
                && i > 0
                && x.telling(i - 1).is_some()
        })
    };
    // `one sheet per class`: for each of them.
    let share = |x: &Seen<'_>| {
        x.span().any(|i| {
            x.word(i) == "per"
                && !x.is(i + 1, class::TIME_UNIT)
                && i >= 2
                && any_of!(x.word(i - 2), "one" "a" "1")
        })
    };
    topic == "how many times" && (rate(a) && !rate(b) || share(a) && b.has(|w| w == "twice"))
}

/// `The import runs before 04:00`, `the report must not start before 05:00`: two things have two times.
pub(super) fn clocks(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    topic == "numbers that exclude each other" && a.s.clocked && b.s.clocked && a.s.foreign(b.s)
}

/// `The first request after a start`, `after warm-up`: the first of them and the rest.
pub(super) fn first_time(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let begins =
        |x: &Seen<'_>, is: fn(&str) -> bool| (x.s.range.0..x.s.range.0 + 2).any(|i| is(x.word(i)));
    any_of!(topic, "numbers that exclude each other" "whether it happens at all")
        && begins(a, |w| any_of!(w, "first" "initial"))
        && begins(
            b,
            |w| any_of!(w, "after" "later" "following" "subsequent" "further" "once" "then" "next"),
        )
}
