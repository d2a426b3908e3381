//! Numbers that exclude each other: bounds, periods, retention times and plain values of one dimension.

use super::super::Source;
use super::statement::{Statement, is_label};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::{Cue, Tagged, class};
use crate::text::lex::{Lexed, TokenKind};

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Dimension {
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Upper,
    Lower,
    /// A time something takes or waits.
    Takes,
    Value,
    /// `exactly 4`: no other value is possible.
    Exact,
}

#[derive(Clone, Debug)]
struct Quantity {
    statement: u32,
    dimension: Dimension,
    bound: Bound,
    value: f64,
    /// The thing counted, where the period was made from a rate: `500 pictures in 24 hours`.
    counted: Option<u64>,
    /// Keys of the words of the quantity and of its cue: not part of the subject.
    own: Vec<u64>,
}

/// Finds quantities that exclude each other.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Quantity> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        read_quantities(&sources[s.source], s, n as u32, &mut all);
    }
    if all.len() < 2 {
        return;
    }
    all_against_limit(sources, statements, &all, pairs);
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
                if s.source != o.source && !s.apart(o) && excluded(s, o, a, b) {
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
        .filter(|(_, s)| s.universal && !s.conditional)
    {
        let t = &sources[s.source].tagged;
        for &(limit, noun) in &limits {
            let o = &statements[limit.statement as usize];
            let every = (s.range.0..s.range.1.saturating_sub(1)).any(|i| {
                matches!(t.lexed.word(i), "every" | "all") && t.lexed.tokens[i + 1].key == noun
            });
            if every
                && s.source != o.source
                && !s.negative
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
    let part = a.dimension == Dimension::Period && s.narrowed != o.narrowed;
    let rated = |q: &Quantity, st: &Statement| {
        q.counted
            .is_some_and(|k| st.content.binary_search(&k).is_ok())
    };
    // A rate against a cap of the same thing.
    let coverage = if rated(a, o) && b.counted.is_none() || rated(b, s) && a.counted.is_none() {
        100
    } else {
        coverage
    };
    let conditional = part || !s.may_meet(o);
    if a.bound == Exact || b.bound == Exact {
        return weight >= 2 && coverage >= 50 && !conditional && differs(a.value, b.value);
    }
    let (low, high) = match (a.bound, b.bound) {
        (Upper, Lower | Takes | Value) => (b, a),
        (Lower | Takes | Value, Upper) => (a, b),
        (Upper, Upper) if a.dimension == Dimension::Clock => {
            // Two deadlines of one thing.
            return weight >= 2 && coverage >= 50 && !conditional && differs(a.value, b.value);
        }
        (Upper, Upper) if matches!(a.dimension, Dimension::Of(_) | Dimension::Size) => {
            // Two different capacities of one thing.
            return weight >= 2 && coverage >= 50 && !conditional && differs(a.value, b.value);
        }
        (Lower, Value) => (a, b),
        (Value, Lower) => (b, a),
        (Value | Takes, Value | Takes) => {
            // Two values of one attribute.
            let close = match a.dimension {
                Dimension::Retention => weight >= 2 && coverage >= 60,
                Dimension::Clock => {
                    same && weight >= 2
                        && coverage >= 50
                        && s.content.len().max(o.content.len()) <= 5
                }
                Dimension::Of(_) if same => weight >= 2 && coverage >= 50,
                Dimension::Period => {
                    weight >= 4 && coverage >= 60
                        || weight >= 2 && (coverage >= 75 || same && coverage >= 50)
                }
                _ => {
                    weight >= 4 && coverage >= 60
                        || same && coverage >= 50 && s.content.len().max(o.content.len()) <= 6
                }
            };
            return close && !conditional && differs(a.value, b.value);
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
        _ if low.dimension == Dimension::Retention => weight >= 2,
        _ => weight >= 2 && coverage >= 50,
    };
    over && enough && (!conditional || bound_pair && weight >= 4)
}

fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.001 * a.abs().max(b.abs())
}

fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" | "nanosecond" => 1e-9,
        "us" | "µs" | "microsecond" | "microseconds" => 1e-6,
        "ms" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "min" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" | "night" | "nights" => 86_400.0,
        "week" | "weeks" => 604_800.0,
        "fortnight" => 1_209_600.0,
        "month" | "months" => 2_592_000.0,
        "quarter" | "quarters" => 7_776_000.0,
        "year" | "years" => 31_536_000.0,
        _ => return None,
    })
}

fn bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "b" | "byte" | "bytes" => 1.0,
        "kb" | "kib" | "kilobyte" | "kilobytes" => 1024.0,
        "mb" | "mib" | "megabyte" | "megabytes" => 1_048_576.0,
        "gb" | "gib" | "gigabyte" | "gigabytes" => 1_073_741_824.0,
        "tb" | "tib" | "terabyte" | "terabytes" => 1_099_511_627_776.0,
        _ => return None,
    })
}

/// Physical units that come in steps: a family and how many of its base unit.
fn scaled(unit: &str) -> Option<(&'static str, f64)> {
    Some(match unit {
        "hz" => ("hz", 1.0),
        "khz" => ("hz", 1e3),
        "mhz" => ("hz", 1e6),
        "ghz" => ("hz", 1e9),
        "w" | "watt" | "watts" => ("w", 1.0),
        "kw" => ("w", 1e3),
        "g" => ("g", 1.0),
        "kg" => ("g", 1e3),
        "t" | "tonne" | "tonnes" | "ton" => ("g", 1e6),
        "mm" => ("m", 1e-3),
        "cm" => ("m", 1e-2),
        "m" | "metre" | "metres" | "meter" | "meters" => ("m", 1.0),
        "km" => ("m", 1e3),
        "cent" | "cents" => ("euro", 0.01),
        "euro" | "euros" | "eur" => ("euro", 1.0),
        _ => return None,
    })
}

fn numeral(word: &str) -> Option<f64> {
    Some(match word {
        "a" | "an" | "one" => 1.0,
        "single" => 1.0,
        "two" | "several" | "multiple" | "many" => 2.0,
        "three" => 3.0,
        "four" => 4.0,
        "five" => 5.0,
        "six" => 6.0,
        "seven" => 7.0,
        "eight" => 8.0,
        "nine" => 9.0,
        "ten" => 10.0,
        "twelve" => 12.0,
        "fifteen" => 15.0,
        "twenty" => 20.0,
        "thirty" => 30.0,
        "forty" => 40.0,
        "fifty" => 50.0,
        "sixty" => 60.0,
        "half" => 0.5,
        "hundred" => 100.0,
        _ => return None,
    })
}

/// `04:00` as minutes since midnight.
fn clock(text: &str) -> Option<f64> {
    let (h, m) = text.split_once(':')?;
    let (h, m): (u32, u32) = (h.parse().ok()?, m.parse().ok()?);
    (h < 25 && m < 60).then(|| f64::from(h * 60 + m))
}

/// `6 a.m.`, `10 pm`, `noon` as minutes since midnight.
fn half_day(lexed: &Lexed<'_>, at: usize) -> Option<f64> {
    match lexed.word(at) {
        "noon" => return Some(720.0),
        "midnight" => return Some(1440.0),
        _ => {}
    }
    let hour = number(lexed.word(at)).filter(|h| (1.0..=12.0).contains(h))?;
    match lexed.word(at + 1) {
        "am" | "a.m" => Some(hour % 12.0 * 60.0),
        "pm" | "p.m" => Some((hour % 12.0 + 12.0) * 60.0),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    if text.contains(':') {
        return None;
    }
    let plain: String = text.chars().filter(|c| *c != ',').collect();
    plain.parse().ok()
}

fn read_quantities(source: &Source<'_>, s: &Statement, n: u32, out: &mut Vec<Quantity>) {
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
                out.push(Quantity {
                    statement: n,
                    dimension: Dimension::Period,
                    bound: Bound::Value,
                    value,
                    own,
                    counted: None,
                });
                i += 1;
            }
            continue;
        }
        if let Some(value) = clock(word).or_else(|| half_day(lexed, at)) {
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
            && !any_of!(prev, "once" "twice" "times" "for" "within" "after" "every")
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
        let unit = lexed.word(unit_at);
        let mut own = vec![token.key];
        if let Some(u) = lexed.tokens.get(unit_at) {
            own.push(canonical(u.key));
        }
        let (bound, cue_keys, retention) = bound_before(t, s, at);
        let bound = if any_of!(word, "several" "multiple" "many") {
            Bound::Lower
        } else if matches!(prev, "exactly" | "precisely") {
            Bound::Exact
        } else {
            bound
        };
        // `a machine that does not boot within 10 minutes`: a case, no demand.
        if bound == Bound::Upper
            && s.limited
            && at < s.range.0 + 12
            && (s.range.0..at).any(|k| lexed.word(k) == "not")
        {
            continue;
        }
        own.extend(cue_keys);
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
            if every {
                Dimension::Period
            } else if retention || wanted {
                Dimension::Retention
            } else {
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
            Dimension::Of(crate::text::lex::fnv(family))
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
            // `six samples a minute`: also a period.
            if let Some(unit) = span_behind(source, s, noun)
                && value > 0.0
            {
                let flipped = match bound {
                    Bound::Upper => Bound::Lower,
                    Bound::Lower => Bound::Upper,
                    other => other,
                };
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

/// `a minute`, `per day`, `in 24 hours` behind the thing counted: the seconds of it.
fn span_behind(source: &Source<'_>, s: &Statement, noun: usize) -> Option<f64> {
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

/// Number words that count what follows.
fn is_count(word: &str) -> bool {
    any_of!(word, "single" "two" "three" "four" "five" "six" "seven" "eight" "nine" "ten" "several" "multiple" "many" "one")
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
        let near = at.saturating_sub(hit.to) <= 2;
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
    for k in at + 1..(at + 4).min(s.range.1) {
        let (one, two, three) = (lexed.word(k), lexed.word(k + 1), lexed.word(k + 2));
        match (one, two, three) {
            ("at", "most", _) | ("at", "the", "most") | ("or", "less" | "fewer", _) => {
                bound = Bound::Upper;
            }
            ("at", "least", _) | ("at", "the", "least") | ("or", "more", _) => {
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
