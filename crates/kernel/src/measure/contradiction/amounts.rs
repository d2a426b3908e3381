//! Amounts for sums and products: `six units of 20 minutes each`, `2 MB every day`, `aged 16 and over`.
//!
//! Reads every number with the unit or the thing it counts, the bound it stands under (`limit`), how often it is meant
//! (`each of the eight groups`), and the time it is counted in. `totals` compares them. It does not read times of day,
//! dates, versions or names of single things.

use super::super::Source;
use super::limit::{in_case, read_limit};
use super::quantity::Bound;
use super::statement::{Statement, is_label};
use super::synonym::canonical;
use super::units::{bytes, clock, joined, number, numeral, scaled, seconds};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};

/// What an amount is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// Seconds.
    Time,
    Bytes,
    /// A physical unit or a currency, by family.
    Known(&'static str),
    /// Years of a person's life.
    Age,
    /// Things, by the noun.
    Things(u64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub statement: u32,
    /// Where the number stands.
    pub at: usize,
    /// Where the unit or the thing counted stands.
    pub unit_at: usize,
    pub unit: Unit,
    /// The least and the greatest value: `5 to 10 MB`.
    pub low: f64,
    pub high: f64,
    pub bound: Bound,
    /// How often it is meant: `each of the eight groups gets …`; 1 where nothing is said.
    pub times: f64,
    /// What `times` counts.
    pub counted: u64,
    /// The time it is counted in, in seconds; 0 where nothing is said.
    pub per: f64,
}

/// Nouns for people and their places: what a room holds and what is sold are counted in one unit.
fn is_head_count(word: &str) -> bool {
    any_of!(word, "people" "person" "persons" "guests" "guest" "visitors" "seats" "seat" "places" "participants" "attendees" "passengers" "spectators"
        "listeners" "viewers" "tickets" "chairs" "diners" "bookings" "registrations" "heads" "players" "pupils" "students" "children" "users" "members")
}

/// All amounts of the statements.
pub(super) fn read_all(sources: &[Source<'_>], statements: &[Statement]) -> Vec<Amount> {
    let mut all = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        read_amounts(&sources[s.source], s, n as u32, &mut all);
    }
    all
}

/// The amounts of a statement.
fn read_amounts(source: &Source<'_>, s: &Statement, n: u32, out: &mut Vec<Amount>) {
    let from = out.len();
    for at in s.range.0..s.range.1 {
        if let Some(amount) = amount_at(source, s, n, at) {
            // `5 to 10 MB`: the second number closes the range.
            let open = out[from..].last().copied();
            if let Some(first) = open
                && first.unit_at == amount.unit_at
                && first.at < amount.at
            {
                let last = out.len() - 1;
                out[last].high = amount.high.max(first.high);
                out[last].low = amount.low.min(first.low);
                continue;
            }
            out.push(amount);
        }
    }
    multiply(source, s, &mut out[from..]);
}

fn value_at(source: &Source<'_>, s: &Statement, at: usize) -> Option<f64> {
    let lexed = &source.tagged.lexed;
    let token = lexed.tokens[at];
    let word = lexed.word(at);
    if token.quoted {
        return None;
    }
    match token.kind {
        TokenKind::Number
            if clock(word).is_none()
                && (!is_label(source, s.range, at)
                    || at > s.range.0 && any_of!(lexed.word(at - 1), "aged" "age")) =>
        {
            number(word)
        }
        TokenKind::Word if any_of!(word, "a" "an" "several" "multiple" "many") => None,
        TokenKind::Word => numeral(word),
        _ => None,
    }
}

fn amount_at(source: &Source<'_>, s: &Statement, n: u32, at: usize) -> Option<Amount> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    if let Some((value, unit)) = Some(lexed.word(at))
        .filter(|w| w.contains('-') && !lexed.tokens[at].quoted)
        .and_then(joined)
    {
        let (unit, k) = unit_of(unit)?;
        return Some(Amount {
            statement: n,
            at,
            unit_at: at,
            unit,
            low: value * k,
            high: value * k,
            bound: bound_of(source, s, at, at),
            times: 1.0,
            counted: 0,
            per: 0.0,
        });
    }
    // `half of the seats`, `a third of the places`
    let fraction = match lexed.word(at) {
        "half" => 50.0,
        "third" => 33.4,
        "quarter" => 25.0,
        _ => 0.0,
    };
    if fraction > 0.0 && lexed.word(at + 1) == "of" && !lexed.tokens[at].quoted {
        return Some(Amount {
            statement: n,
            at,
            unit_at: at,
            unit: Unit::Known("percent"),
            low: fraction,
            high: fraction,
            bound: bound_of(source, s, at, at),
            times: 1.0,
            counted: 0,
            per: 0.0,
        });
    }
    let mut value = value_at(source, s, at)?;
    let mut next = at + 1;
    if any_of!(lexed.word(next), "million" "thousand" "hundred") {
        value *= match lexed.word(next) {
            "million" => 1e6,
            "thousand" => 1e3,
            _ => 100.0,
        };
        next += 1;
    }
    // `5 to 10 MB`, `5-10 MB`: the unit of both.
    if any_of!(lexed.raw(next), "to" "-" "–" "and" "or")
        && next + 1 < s.range.1
        && value_at(source, s, next + 1).is_some()
    {
        next += 2;
    }
    let prev = if at > s.range.0 {
        lexed.word(at - 1)
    } else {
        ""
    };
    if lexed.raw(next) == "-" && !lexed.tokens[next].spaced {
        next += 1;
    }
    if lexed.raw(next) == "°" {
        next += 1;
    }
    let sign = lexed.raw(at.wrapping_sub(1));
    let age = any_of!(prev, "aged" "age")
        || any_of!(prev, "of" "from" "over" "under")
            && (at.saturating_sub(3).max(s.range.0)..at)
                .any(|k| any_of!(lexed.word(k), "age" "aged"))
        || any_of!(lexed.word(next), "year" "years")
            && (any_of!(lexed.word(next + 1), "old" "olds" "of")
                || any_of!(prev, "from" "over" "under" "least" "below")
                    && (s.range.0..s.range.1).any(|k| t.is(k, class::PERSON))
                    && !any_of!(lexed.word(next + 1), "ago" "back"));
    let (unit, k, unit_at) = if age {
        (Unit::Age, 1.0, next.min(s.range.1 - 1))
    } else if any_of!(sign, "€" "$" "£") {
        let family = match sign {
            "€" => "euro",
            "$" => "usd",
            _ => "gbp",
        };
        (Unit::Known(family), 1.0, at)
    } else if matches!(lexed.raw(next), "%" | "€" | "$") {
        let family = if lexed.raw(next) == "%" {
            "percent"
        } else {
            "euro"
        };
        (Unit::Known(family), 1.0, next)
    } else {
        thing_behind(source, s, next)?
    };
    // `0.6 m/s`, `50 km/h`
    let (unit, k) = match unit {
        Unit::Known(family)
            if lexed.raw(unit_at + 1) == "/" && seconds(lexed.word(unit_at + 2)).is_some() =>
        {
            let span = seconds(lexed.word(unit_at + 2)).unwrap_or(1.0);
            (
                Unit::Known(if family == "m" { "speed" } else { family }),
                k / span,
            )
        }
        other => (other, k),
    };
    Some(Amount {
        statement: n,
        at,
        unit_at,
        unit,
        low: value * k,
        high: value * k,
        bound: bound_of(source, s, at, unit_at),
        times: 1.0,
        counted: 0,
        per: span_of(source, s, unit_at).unwrap_or(0.0),
    })
}

/// The unit of a word and what one of it amounts to.
fn unit_of(word: &str) -> Option<(Unit, f64)> {
    if let Some(k) = seconds(word) {
        return Some((Unit::Time, k));
    }
    if let Some(k) = bytes(word) {
        return Some((Unit::Bytes, k));
    }
    if let Some((family, k)) = scaled(word) {
        return Some((Unit::Known(family), k));
    }
    Some(match word {
        "percent" => (Unit::Known("percent"), 1.0),
        "degree" | "degrees" | "celsius" | "°c" => (Unit::Known("degree"), 1.0),
        "character" | "characters" | "letter" | "letters" | "digit" | "digits" | "chars"
        | "signs" => (Unit::Known("character"), 1.0),
        "word" | "words" => (Unit::Known("word"), 1.0),
        "page" | "pages" => (Unit::Known("page"), 1.0),
        "bit" | "bits" => (Unit::Known("bit"), 1.0),
        _ => return None,
    })
}

/// The unit or the noun behind a number.
fn thing_behind(source: &Source<'_>, s: &Statement, from: usize) -> Option<(Unit, f64, usize)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = |k: usize| k < s.range.1 && lexed.tokens[k].kind == TokenKind::Word;
    // `two full pages`, `5 working days`: the unit may have an adjective.
    for k in from..from + 2 {
        if word(k)
            && let Some((unit, factor)) = unit_of(lexed.word(k))
        {
            return Some((unit, factor, k));
        }
        if !word(k) || t.is(k, class::STOP | class::MODAL) {
            break;
        }
    }
    let noun = |k: usize| {
        word(k)
            && !t.is(
                k,
                class::STOP | class::MODAL | class::NEG | class::CONDITION,
            )
            && !super::grammar::is_preposition(lexed.word(k))
    };
    if !noun(from) {
        return None;
    }
    // The first plural of the noun phrase, else the word itself.
    let plural = (from..from + 3)
        .take_while(|&k| noun(k))
        .find(|&k| lexed.word(k).ends_with('s') || lexed.word(k) == "people");
    let at = plural.unwrap_or(from);
    let key = if is_head_count(lexed.word(at)) {
        fnv("people")
    } else {
        canonical(lexed.tokens[at].key)
    };
    Some((Unit::Things(key), 1.0, at))
}

/// What the words around the number say, and `16 and over`, `not one more`, `from 12 years on`.
fn bound_of(source: &Source<'_>, s: &Statement, at: usize, unit_at: usize) -> Bound {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = |k: usize| {
        if k >= s.range.0 && k < s.range.1 {
            lexed.word(k)
        } else {
            ""
        }
    };
    for k in at + 1..(unit_at + 4).min(s.range.1) {
        match (word(k), word(k + 1), word(k + 2)) {
            (
                "and" | "or",
                "over" | "above" | "up" | "upwards" | "older" | "more" | "higher",
                _,
            ) => {
                return Bound::Lower;
            }
            ("and" | "or", "under" | "below" | "younger" | "less" | "fewer" | "lower", _) => {
                return Bound::Upper;
            }
            ("and" | "but", "not", "one") | ("and" | "but", "no", "more") => return Bound::Upper,
            ("only" | "maximum" | "tops", _, _) if k == unit_at + 1 => return Bound::Upper,
            ("minimum", _, _) if k == unit_at + 1 => return Bound::Lower,
            _ => {}
        }
        if lexed.tokens[k].kind == TokenKind::Symbol && lexed.raw(k) != "," {
            break;
        }
    }
    let limit = read_limit(t, s, at);
    if limit.case || in_case(t, s, at) {
        return Bound::Exact;
    }
    let prev = word(at.wrapping_sub(1));
    let two = word(at.wrapping_sub(2));
    match prev {
        "exactly" | "precisely" => Bound::Exact,
        "from" if limit.bound == Bound::Value => Bound::Lower,
        "of" if two == "age" && word(at.wrapping_sub(4)) == "from" => Bound::Lower,
        "over" | "above" if limit.bound == Bound::Value => Bound::Lower,
        // `fits on 2 pages`
        _ if limit.bound == Bound::Value
            && (at.saturating_sub(4).max(s.range.0)..at).any(
                |k| any_of!(lexed.word(k), "fit" "fits" "budget" "quota" "ceiling" "allowance"),
            ) =>
        {
            Bound::Upper
        }
        // `empty after six hours`, `is over after 20 minutes`
        "after" if ends_before(source, s, at) => Bound::Upper,
        // `only after the ten-minute warm-up`
        _ if (at.saturating_sub(4).max(s.range.0)..at)
            .any(|k| lexed.word(k) == "only" && any_of!(lexed.word(k + 1), "after" "once")) =>
        {
            Bound::Lower
        }
        _ => limit.bound,
    }
}

/// A word for the end of something stands before `after`.
fn ends_before(source: &Source<'_>, s: &Statement, at: usize) -> bool {
    let lexed = &source.tagged.lexed;
    (at.saturating_sub(5).max(s.range.0)..at).any(|k| {
        any_of!(lexed.word(k), "empty" "over" "dead" "flat" "exhausted" "ends" "end" "expires" "expired" "void" "invalid" "finished" "done" "drained" "lapses")
            || lexed.word(k) == "out" && any_of!(lexed.word(k.wrapping_sub(1)), "runs" "run")
    })
}

/// The time an amount is counted in: `2 MB every day`, `1,900 euros a month`, `5 MB per machine and month`.
fn span_of(source: &Source<'_>, s: &Statement, unit_at: usize) -> Option<f64> {
    let lexed = &source.tagged.lexed;
    for k in unit_at + 1..(unit_at + 8).min(s.range.1) {
        if lexed.tokens[k].kind == TokenKind::Symbol && lexed.raw(k) != "/" {
            return None;
        }
        let leads = any_of!(lexed.raw(k), "a" "an" "per" "each" "every" "/")
            || lexed.word(k) == "and" && (unit_at..k).any(|i| lexed.word(i) == "per");
        match lexed.word(k) {
            "daily" => return seconds("day"),
            "weekly" => return seconds("week"),
            "monthly" => return seconds("month"),
            "yearly" | "annually" => return seconds("year"),
            "hourly" => return seconds("hour"),
            _ => {}
        }
        if leads && let Some(span) = seconds(lexed.word(k + 1)) {
            return Some(span);
        }
    }
    None
}

/// `each of the eight groups gets two pages`, `six units of 20 minutes`, `two servos weigh 260 grams each`.
fn multiply(source: &Source<'_>, s: &Statement, amounts: &mut [Amount]) {
    let lexed = &source.tagged.lexed;
    // `each of the two players`, `both players`, `for every of the 4 rooms`
    let each = (s.range.0..s.range.1.saturating_sub(2))
        .find(|&k| any_of!(lexed.word(k), "each" "every") && lexed.word(k + 1) == "of");
    let both = (s.range.0..s.range.1).find(|&k| lexed.word(k) == "both");
    for n in 0..amounts.len() {
        let q = amounts[n];
        let counter = |c: &&Amount| {
            matches!(c.unit, Unit::Things(_)) && c.low > 1.0 && c.low == c.high && c.at < q.at
        };
        let before = amounts[..n].iter().rev().find(counter);
        let (from, to) = (q.unit_at + 1, (q.unit_at + 3).min(s.range.1));
        let shared_out = (from..to).any(|k| any_of!(lexed.word(k), "each" "apiece"));
        let noun = |c: &Amount| match c.unit {
            Unit::Things(noun) => (c.low, noun),
            _ => (c.low, 0),
        };
        let times = if let Some(k) = each.filter(|&k| k < q.at) {
            amounts[..n]
                .iter()
                .find(|c| counter(c) && c.at > k && c.at <= k + 3)
                .map(noun)
        } else if shared_out {
            before
                .map(noun)
                .or(both.filter(|&k| k < q.at).map(|_| (2.0, 0)))
        } else {
            // `six units of 20 minutes`
            before
                .filter(|c| c.unit_at + 2 == q.at && any_of!(lexed.word(c.unit_at + 1), "of" "at"))
                .map(noun)
        };
        if let Some((times, counted)) = times.filter(|t| t.0 > 1.0) {
            amounts[n].times = times;
            amounts[n].counted = counted;
        }
    }
}
