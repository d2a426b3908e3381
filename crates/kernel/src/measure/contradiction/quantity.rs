//! The quantities of a sentence: value, dimension, and the bound they stand under.

use super::super::Source;
use super::limit::{Limit, in_case, in_condition, read_limit, retention as retention_of};
use super::spans::{begins, push_offsets, span_behind};
use super::statement::{Statement, is_label};
use super::synonym::canonical;
use super::units::{bytes, clock, half_day, is_count, number, numeral, scaled, seconds};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dimension {
    /// Seconds.
    Time,
    /// Seconds between two times.
    Period,
    /// Seconds until something is deleted.
    Retention,
    /// Bytes.
    Size,
    /// Minutes since midnight.
    Clock,
    /// A count of the things with this key, or another unit.
    Of(u64),
    /// Seconds after the event with this key; before it they are negative.
    After(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Upper,
    Lower,
    /// A time something takes or waits.
    Takes,
    Value,
    /// `exactly 4`: no other value is possible.
    Exact,
}

impl Bound {
    /// The bound of the time between two of what this bounds the rate of: at most ten a minute are at least six
    /// seconds apart.
    fn of_period(self) -> Self {
        match self {
            Self::Upper => Self::Lower,
            Self::Lower => Self::Upper,
            Self::Takes | Self::Value | Self::Exact => self,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Quantity {
    pub statement: u32,
    pub dimension: Dimension,
    pub bound: Bound,
    pub value: f64,
    /// The thing counted, where the period was made from a rate: `500 pictures in 24 hours`.
    pub counted: Option<u64>,
    /// Keys of the words of the quantity and of its cue: not part of the subject.
    pub own: Vec<u64>,
}

pub(super) fn read_quantities(source: &Source<'_>, s: &Statement, n: u32, out: &mut Vec<Quantity>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut i = s.range.0;
    while i < s.range.1 {
        let at = i;
        i += 1;
        let token = lexed.tokens[at];
        if token.quoted {
            continue;
        }
        let word = lexed.word(at);
        // hourly, daily, …
        if t.is(at, class::FREQUENCY) {
            let value = match word {
                "hourly" => 3600.0,
                "daily" | "nightly" => 86_400.0,
                "weekly" => 604_800.0,
                "monthly" => 2_592_000.0,
                "quarterly" => 7_776_000.0,
                "yearly" | "annually" => 31_536_000.0,
                _ => 0.0,
            };
            // `Daily report` names the thing; `reported daily` says when.
            if at > s.range.0 {
                out.push(Quantity {
                    statement: n,
                    dimension: Dimension::Period,
                    bound: Bound::Value,
                    value,
                    own: vec![token.key],
                    counted: None,
                });
            }
            continue;
        }
        // `on the day the loan is due`: no time after it.
        if any_of!(word, "day" "date")
            && (at.saturating_sub(3).max(s.range.0)..at).any(|k| lexed.word(k) == "on")
        {
            let from = if word == "date" {
                at.saturating_sub(3)
            } else {
                at - 1
            };
            push_offsets(source, s, n, (at, from), (Bound::Value, 0.0), out);
            continue;
        }
        // every night, each Sunday
        if matches!(word, "every" | "each")
            || word == "per" && at > s.range.0 && lexed.word(at - 1) == "once"
        {
            let next = lexed.word(at + 1);
            let value = seconds(next).or(match next {
                "morning" | "evening" | "noon" | "midnight" => Some(86_400.0),
                "monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday"
                | "sunday" | "weekend" => Some(604_800.0),
                _ => None,
            });
            if let Some(value) = value {
                let own = vec![token.key, lexed.tokens[at + 1].key];
                // `wiped every evening`: gone after a day.
                if (s.range.0..at).any(|k| any_of!(lexed.word(k), "wiped" "deleted" "erased" "purged" "cleared" "removed" "emptied")) {
                    out.push(Quantity { statement: n, dimension: Dimension::Retention, bound: Bound::Value, value, own: own.clone(), counted: None });
                }
                // `at most once per day`: no shorter period.
                let capped = word == "per"
                    && (at.saturating_sub(5).max(s.range.0)..at)
                        .any(|k| any_of!(lexed.word(k), "most" "maximum" "than"));
                out.push(Quantity {
                    statement: n,
                    dimension: Dimension::Period,
                    bound: if capped { Bound::Lower } else { Bound::Value },
                    value,
                    own,
                    counted: None,
                });
                i += 1;
            }
            continue;
        }
        if let Some(value) = clock(word).or_else(|| half_day(lexed, at)) {
            // `from 23:00 to 05:00` is a window (`windows`).
            let joined = |k: usize| any_of!(lexed.raw(k), "to" "until" "till" "and" "-" "–");
            let window = (at + 1..(at + 3).min(s.range.1))
                .any(|k| joined(k) && clock(lexed.word(k + 1)).is_some())
                || at >= s.range.0 + 2 && joined(at - 1) && clock(lexed.word(at - 2)).is_some();
            if window {
                continue;
            }
            let negated = (at.saturating_sub(5).max(s.range.0)..at).any(|k| t.is(k, class::NEG));
            let bound = match (
                if at > s.range.0 {
                    lexed.word(at - 1)
                } else {
                    ""
                },
                negated,
            ) {
                ("before" | "by" | "until", false) | ("after", true) => Bound::Upper,
                ("at", false) if (s.range.0..at).any(|k| any_of!(lexed.word(k), "close" "closes" "closed" "end" "ends" "deadline")) => Bound::Upper,
                ("than", _) if at >= s.range.0 + 2 => match lexed.word(at - 2) {
                    "earlier" | "before" | "sooner" if negated => Bound::Lower,
                    "later" if negated => Bound::Upper,
                    "later" => Bound::Lower,
                    "earlier" => Bound::Upper,
                    _ => continue,
                },
                ("before", true) | ("after" | "from", false) => Bound::Lower,
                // What begins at four is not done by three.
                ("at" | "for", false) if begins(source, s, at) => Bound::Takes,
                ("at", false) => Bound::Value,
                _ => continue,
            };
            out.push(Quantity {
                statement: n,
                dimension: Dimension::Clock,
                bound,
                value,
                own: vec![token.key],
                counted: None,
            });
            continue;
        }
        let value = if token.kind == TokenKind::Number {
            number(word)
        } else {
            numeral(word)
        };
        let Some(mut value) = value else { continue };
        if is_label(source, s.range, at) {
            continue;
        }
        let next = lexed.word(at + 1);
        let prev = if at > s.range.0 {
            lexed.word(at - 1)
        } else {
            ""
        };
        if token.kind == TokenKind::Word
            && matches!(word, "a" | "an")
            && !any_of!(prev, "once" "twice" "times" "for" "within" "after" "every" "than" "takes" "take" "lasts" "last" "needs" "waits" "wait" "least" "most")
        {
            continue;
        }
        // `half a day`
        let next = if word == "half" && matches!(next, "a" | "an") {
            lexed.word(at + 2)
        } else {
            next
        };
        // `more than one`: not one itself.
        if matches!(prev, "than")
            && at >= s.range.0 + 2
            && lexed.word(at - 2) == "more"
            && !(at >= s.range.0 + 3 && any_of!(lexed.word(at - 3), "no" "not" "never"))
        {
            value += if value <= 20.0 { 0.5 } else { 0.0 };
        }
        let unit_at =
            if any_of!(next, "million" "thousand" "hundred" "k") && !t.is(at + 2, class::STOP) {
                value *= match next {
                    "million" => 1e6,
                    "hundred" => 100.0,
                    _ => 1e3,
                };
                at + 2
            } else {
                at + 1
            };
        let unit_at =
            unit_at + usize::from(word == "half" && matches!(lexed.word(at + 1), "a" | "an"));
        // `55 °C`
        let unit_at = unit_at + usize::from(lexed.raw(unit_at) == "°");
        let unit_at = unit_at
            + usize::from(any_of!(lexed.word(unit_at),
                "working" "business" "full" "calendar" "whole" "more" "consecutive"));
        let unit_at = if prev == "between"
            && lexed.word(at + 1) == "and"
            && number(lexed.word(at + 2)).is_some()
        {
            at + 3 + usize::from(lexed.raw(at + 3) == "°")
        } else {
            unit_at
        };
        let unit = lexed.word(unit_at);
        let mut own = vec![token.key];
        if let Some(u) = lexed.tokens.get(unit_at) {
            own.push(canonical(u.key));
        }
        let limit = read_limit(t, s, at);
        if limit.case {
            continue;
        }
        // `between 2 and 8 °C`
        let two = if at >= s.range.0 + 3 {
            lexed.word(at - 3)
        } else {
            ""
        };
        let limit = match (prev, two) {
            ("between", _) if lexed.word(at + 1) == "and" => Limit {
                bound: Bound::Lower,
                ..limit
            },
            ("and", "between") => Limit {
                bound: Bound::Upper,
                ..limit
            },
            _ => limit,
        };
        let (bound, retention) = (limit.bound, limit.retention);
        let mut bound = if any_of!(word, "several" "multiple" "many") {
            Bound::Lower
        } else if matches!(prev, "exactly" | "precisely") {
            Bound::Exact
        } else {
            bound
        };
        // `a machine that does not boot within 10 minutes`: a case, no demand.
        if bound == Bound::Upper
            && (in_case(t, s, at)
                || s.limited
                    && at < s.range.0 + 12
                    && (s.range.0..at).any(|k| lexed.word(k) == "not"))
        {
            continue;
        }
        // `abort when errors exceed 10 percent for 30 s`: no demand either.
        if matches!(bound, Bound::Value | Bound::Takes) && in_condition(t, s, at) {
            continue;
        }
        own.extend(limit.keys);
        let wanted = matches!(prev, "last" | "past" | "previous");
        let every = matches!(prev, "every" | "each")
            || matches!(prev, "once" | "twice" | "times") && matches!(word, "a" | "an" | "one")
            || matches!(prev, "per");
        let dimension = if lexed.is_symbol(unit_at, "%") || unit == "percent" {
            Dimension::Of(crate::text::lex::fnv("percent"))
        } else if let Some(k) = seconds(unit) {
            if unit_at >= s.range.1 || lexed.tokens[unit_at].kind != TokenKind::Word {
                continue;
            }
            value *= k;
            let kept = retention_of(t, s, at, unit_at);
            if every {
                // `purged every 24 hours`
                if retention_of(t, s, at, unit_at) == Some(Bound::Upper) {
                    out.push(Quantity {
                        statement: n,
                        dimension: Dimension::Retention,
                        bound: Bound::Upper,
                        value,
                        own: own.clone(),
                        counted: None,
                    });
                }
                Dimension::Period
            } else if retention || wanted || kept.is_some() {
                if let (Bound::Value | Bound::Takes, Some(Bound::Upper)) = (bound, kept) {
                    bound = Bound::Upper;
                }
                Dimension::Retention
            } else {
                let side = lexed.word(unit_at + 1);
                // `repeated three times, 10 seconds apart`: the pause, not the time of the thing.
                if side == "apart" {
                    continue;
                }
                if any_of!(side, "before" "after") && bound != Bound::Takes {
                    let sign = if side == "before" { -1.0 } else { 1.0 };
                    push_offsets(source, s, n, (at, unit_at), (bound, sign * value), out);
                }
                if side == "before" && bound != Bound::Takes {
                    continue;
                }
                // `at most a day old`: made anew that often.
                let aged = side == "old"
                    || prev == "than" && at >= s.range.0 + 2 && lexed.word(at - 2) == "older";
                if aged && bound == Bound::Upper {
                    out.push(Quantity {
                        statement: n,
                        dimension: Dimension::Period,
                        bound,
                        value,
                        own: own.clone(),
                        counted: None,
                    });
                    continue;
                }
                Dimension::Time
            }
        } else if let Some(k) = bytes(unit) {
            value *= k;
            Dimension::Size
        } else if lexed.raw(unit_at.wrapping_sub(1)) == "°"
            || any_of!(unit, "degrees" "degree" "celsius")
        {
            Dimension::Of(crate::text::lex::fnv("degree"))
        } else if let Some((family, k)) = scaled(unit) {
            value *= k;
            // `runs at 100 Hz`: every 10 ms.
            if family == "hz" && value > 0.0 && value < 1e4 {
                out.push(Quantity {
                    statement: n,
                    dimension: Dimension::Period,
                    bound: bound.of_period(),
                    value: 1.0 / value,
                    own: vec![token.key],
                    counted: None,
                });
            }
            Dimension::Of(crate::text::lex::fnv(family))
        } else if any_of!(unit, "per" "a" "an")
            && let Some(span) = seconds(lexed.word(unit_at + 1))
            && value > 0.0
        {
            // `limited to 100 per minute`
            out.push(Quantity {
                statement: n,
                dimension: Dimension::Period,
                bound: bound.of_period(),
                value: span / value,
                own: vec![token.key],
                counted: s.head,
            });
            continue;
        } else if token.kind == TokenKind::Number || bound != Bound::Value || is_count(word) {
            // The thing counted: the next noun.
            let Some(noun) = (unit_at..(unit_at + 3).min(s.range.1))
                .find(|&k| lexed.tokens[k].kind == TokenKind::Word && !t.is(k, class::STOP))
            else {
                continue;
            };
            if (unit_at..noun).any(|k| lexed.tokens[k].kind == TokenKind::Symbol) {
                continue;
            }
            // `retried ten times`: ten retries.
            if lexed.word(noun) == "times"
                && let Some(act) = s.act
            {
                out.push(Quantity {
                    statement: n,
                    dimension: Dimension::Of(act),
                    bound,
                    value,
                    own: own.clone(),
                    counted: None,
                });
            }
            // `six samples a minute`: also a period.
            if let Some(unit) = span_behind(source, s, noun)
                && value > 0.0
            {
                let flipped = bound.of_period();
                out.push(Quantity {
                    statement: n,
                    dimension: Dimension::Period,
                    bound: flipped,
                    value: unit / value,
                    // The thing counted is what both are about.
                    own: vec![token.key],
                    counted: Some(canonical(lexed.tokens[noun].key)),
                });
            }
            Dimension::Of(canonical(lexed.tokens[noun].key))
        } else {
            continue;
        };
        // `at most once a minute`: no shorter period than a minute.
        let rate = matches!(prev, "once" | "twice" | "times");
        if dimension == Dimension::Period && prev == "twice" {
            value /= 2.0;
        }
        // `four times an hour`
        if dimension == Dimension::Period && prev == "times" && at >= s.range.0 + 2 {
            let count = lexed.word(at - 2);
            match number(count).or_else(|| numeral(count)) {
                Some(times) if times > 0.0 => value /= times,
                _ => continue,
            }
        }
        out.push(Quantity {
            statement: n,
            dimension,
            bound: match (dimension, bound) {
                (Dimension::Period, Bound::Upper) if rate => Bound::Lower,
                (Dimension::Period, Bound::Lower) if rate => Bound::Upper,
                // What is wanted of the last 30 days must be there that long.
                (Dimension::Retention, _) if wanted => Bound::Lower,
                (Dimension::Retention | Dimension::Period, Bound::Takes) => Bound::Value,
                (_, bound) => bound,
            },
            value,
            counted: None,
            own,
        });
    }
}
