//! The bound a number stands under, and how long things are kept: the words around a number.

use super::quantity::Bound;
use super::statement::Statement;
use super::synonym::canonical;
use crate::lexicon::{Cue, Tagged, class};
use crate::text::lex::fnv;
use crate::text::stem::stem;
use std::sync::OnceLock;

/// What is said about a number by the words around it.
pub(super) struct Limit {
    pub bound: Bound,
    /// Keys of the words that say so.
    pub keys: Vec<u64>,
    /// A word for keeping or deleting stands before it.
    pub retention: bool,
    /// Said with a comparative (`larger than 5 MB`) that nothing denies: a case unless it is refused.
    pub case: bool,
}

/// Verbs of keeping and of deleting, and words that turn down.
const KEEPS: &str = "keep store save retain hold preserve archive available remain stay exist accessible retrievable restore recover \
    look playback download hand show visible display lit";
const DROPS: &str = "delete erase purge wipe remove discard destroy shred drop overwrite vanish disappear forget expire lapse \
    anonymise anonymize clear replace gone thrown throw prune evict";
const REFUSES: &str = "refuse reject decline deny block forbid prohibit disallow ban bounce abort fail invalid impossible unacceptable";

/// Stems of the words of a list, sorted.
fn stems(list: &str) -> Vec<u64> {
    let mut out: Vec<u64> = list
        .split_ascii_whitespace()
        .map(|w| fnv(stem(w)))
        .collect();
    out.sort_unstable();
    out
}

fn is_one(cell: &'static OnceLock<Vec<u64>>, list: &'static str, key: u64) -> bool {
    cell.get_or_init(|| stems(list)).binary_search(&key).is_ok()
}

fn keeps(key: u64) -> bool {
    static CELL: OnceLock<Vec<u64>> = OnceLock::new();
    is_one(&CELL, KEEPS, key)
}

fn drops(key: u64) -> bool {
    static CELL: OnceLock<Vec<u64>> = OnceLock::new();
    is_one(&CELL, DROPS, key)
}

fn refuses(key: u64) -> bool {
    static CELL: OnceLock<Vec<u64>> = OnceLock::new();
    is_one(&CELL, REFUSES, key)
}

/// The time at `at` says how long something stays: until it is deleted (an upper bound), or as long as it is kept (a
/// lower one).
pub(super) fn retention(t: &Tagged<'_>, s: &Statement, at: usize, unit: usize) -> Option<Bound> {
    let lexed = &t.lexed;
    let word = |k: usize| if k >= s.range.0 { lexed.word(k) } else { "" };
    let prev = word(at.wrapping_sub(1));
    let two = word(at.wrapping_sub(2));
    let next = lexed.word(unit + 1);
    let denied = |k: usize| (k.saturating_sub(3).max(s.range.0)..k).any(|i| t.is(i, class::NEG));
    let any = |f: fn(u64) -> bool| {
        (s.range.0..s.range.1)
            .any(|k| f(lexed.tokens[k].key) && !denied(k) && lexed.word(k + 1) != "back")
    };
    let gone = any_of!(prev, "after" "within" "than" "every")
        || any_of!(two, "after" "within")
        || any_of!(next, "after" "later" "old");
    // `goes out after 2 seconds`, `the cart is emptied`
    let ends = (s.range.0 + 1..s.range.1).any(|k| {
        lexed.word(k) == "emptied"
            || any_of!(lexed.word(k), "out" "off" "away")
                && any_of!(lexed.word(k - 1), "goes" "go" "switched" "turned" "switches" "turns" "dies" "fades" "fade")
    });
    if gone && (ends && prev == "after" || any(drops)) {
        return Some(Bound::Upper);
    }
    let during = any_of!(prev, "for" "last" "past" "previous" "least" "another" "these" "full")
        || any_of!(two, "for" "last" "past" "least");
    (during && any(keeps)).then_some(Bound::Lower)
}

/// What the words around the number at `at` say; `unit` is where its unit stands.
pub(super) fn read_limit(t: &Tagged<'_>, s: &Statement, at: usize) -> Limit {
    let lexed = &t.lexed;
    let (bound, keys, retention) = bound_before(t, s, at);
    let mut out = Limit {
        bound,
        keys,
        retention,
        case: false,
    };
    // `time out after 5 seconds`, `is cut off after an hour`
    let cut = (at.saturating_sub(4).max(s.range.0)..at).any(|k| {
        any_of!(lexed.word(k), "timeout" "aborted" "cancelled" "interrupted" "terminated" "killed")
            || any_of!(lexed.word(k), "time" "times" "cut" "timed")
                && any_of!(lexed.word(k + 1), "out" "off")
    });
    if cut && any_of!(lexed.word(at.wrapping_sub(1)), "after" "is" "of") {
        out.bound = Bound::Upper;
        return out;
    }
    // `not be larger than`, `nothing over`, `never above`, `No photo may exceed`
    let from = at.saturating_sub(3).max(s.range.0);
    let compared = (from..at).rev().find_map(|k| {
        let word = lexed.word(k);
        if any_of!(word, "larger" "bigger" "longer" "more" "higher" "greater" "heavier" "later" "older" "over" "above" "beyond" "exceed" "exceeds" "exceeding" "exceeded" "taller" "wider" "deeper" "faster" "hotter" "warmer" "louder") {
            Some((k, true))
        } else if any_of!(word, "smaller" "less" "fewer" "shorter" "lower" "earlier" "sooner" "under" "below" "lighter" "colder" "slower" "before") {
            Some((k, false))
        } else {
            None
        }
    });
    let Some((k, above)) = compared else {
        return out;
    };
    if lexed.tokens[k + 1..at]
        .iter()
        .any(|n| n.kind != crate::text::lex::TokenKind::Word)
    {
        return out;
    }
    let negated = (k.saturating_sub(6).max(s.range.0)..k)
        .any(|i| t.is(i, class::NEG) && !any_of!(lexed.word(i), "without"));
    let refused = (s.range.0..s.range.1).any(|i| refuses(lexed.tokens[i].key))
        || (at..s.range.1).any(|i| {
            any_of!(lexed.word(i), "not" "never") && any_of!(lexed.word(i + 1), "accepted" "allowed" "permitted" "taken" "possible" "be" "admitted" "supported" "uploaded")
        });
    if negated || refused {
        out.bound = if above { Bound::Upper } else { Bound::Lower };
        out.keys
            .extend(lexed.tokens[k..at].iter().map(|n| canonical(n.key)));
    } else if in_condition(t, s, k) {
        out.case = true;
    } else if lexed.word(at - 1) == "than" && above {
        out.case = k < s.verb_at && !(s.range.0..s.range.1).any(|i| drops(lexed.tokens[i].key));
    }
    out
}

/// `abort when errors exceed 10 percent`: the clause of token `k` begins with a condition.
pub(super) fn in_condition(t: &Tagged<'_>, s: &Statement, k: usize) -> bool {
    (s.range.0..k)
        .rev()
        .take_while(|&i| !matches!(t.lexed.raw(i), "," | ":" | "-"))
        .any(|i| any_of!(t.lexed.word(i), "if" "when" "whenever" "unless"))
}

/// The number at `at` belongs to a case: `a machine that does not boot within 10 minutes`.
pub(super) fn in_case(t: &Tagged<'_>, s: &Statement, at: usize) -> bool {
    (s.range.0..at).any(|i| {
        any_of!(t.lexed.word(i), "that" "which" "who")
            && (i + 1..(i + 4).min(at)).any(|k| t.is(k, class::NEG))
    })
}

/// The bound a number stands under: the last cue in the five words before it.
fn bound_before(t: &Tagged<'_>, s: &Statement, at: usize) -> (Bound, Vec<u64>, bool) {
    let lexed = &t.lexed;
    let mut bound = Bound::Value;
    let mut keys = Vec::new();
    let mut retention = false;
    // In `that take longer than 3 seconds` the number is a condition, not a demand.
    for hit in t.hits_in((at.saturating_sub(5).max(s.range.0), at)) {
        if hit.to > at + 1 {
            continue;
        }
        // `under load for 25 minutes`, `over MQTT every 15 seconds` bound nothing.
        let loose = any_of!(lexed.word(hit.from), "under" "below" "within" "over")
            && hit.to - hit.from == 1;
        let near = at.saturating_sub(hit.to) <= if loose { 1 } else { 2 };
        let b = match hit.cue {
            Cue::Upper if near => Bound::Upper,
            Cue::Lower if near => Bound::Lower,
            Cue::Takes if near && bound == Bound::Value => Bound::Takes,
            Cue::Retention => {
                retention = true;
                keys.extend(
                    lexed.tokens[hit.from..hit.to.min(at)]
                        .iter()
                        .map(|t| canonical(t.key)),
                );
                continue;
            }
            _ => continue,
        };
        bound = b;
        keys.extend(
            lexed.tokens[hit.from..hit.to.min(at)]
                .iter()
                .map(|t| canonical(t.key)),
        );
    }
    // `10 or more`, `5 or fewer`
    let (or, more) = (lexed.word(at + 1), lexed.word(at + 2));
    if or == "or" {
        match more {
            "more" => bound = Bound::Lower,
            "fewer" | "less" => bound = Bound::Upper,
            _ => {}
        }
    }
    // `2.5 kg at the most`, `30 minutes or less`, `10 or more`: behind the unit.
    for k in at + 1..(at + 6).min(s.range.1) {
        let (one, two, three) = (lexed.word(k), lexed.word(k + 1), lexed.word(k + 2));
        // `at least 2 and at most 8`: the bound of the next number.
        if one == "and" {
            break;
        }
        match (one, two, three) {
            ("at", "most", _) | ("at", "the", "most" | "latest") | ("or", "less" | "fewer", _) => {
                bound = Bound::Upper;
            }
            ("at", "least", _) | ("at", "the", "least" | "earliest") | ("or", "more", _) => {
                bound = Bound::Lower;
            }
            _ => {}
        }
        if any_of!(one, "maximum" "max" "tops") {
            bound = Bound::Upper;
        }
        if matches!(lexed.raw(k), "," | ".") {
            break;
        }
    }
    for (k, sign) in [(at.wrapping_sub(1), lexed.raw(at.wrapping_sub(1)))] {
        if k < at && k >= s.range.0 {
            match sign {
                "<" | "<=" | "≤" => bound = Bound::Upper,
                ">" | ">=" | "≥" => bound = Bound::Lower,
                _ => {}
            }
        }
    }
    // `Maximum upload size is 10 MB`: the subject says which bound it is.
    if bound == Bound::Value {
        for k in s.range.0..at {
            if any_of!(lexed.word(k), "maximum" "max" "limit" "highest" "largest" "longest") {
                bound = Bound::Upper;
            } else if any_of!(lexed.word(k), "minimum" "min" "smallest" "shortest") {
                bound = Bound::Lower;
            }
        }
    }
    (bound, keys, retention)
}
