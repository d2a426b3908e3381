//! Dates and days of the week: `switched off on 31 March` against `runs from April to June`, `closed on Mondays` against `each
//! Monday at 14:00`.
//!
//! A date ends something (*by, until, closes on*), begins it (*from, after, starts on*) or is when it happens. Days of the week are the
//! only ones (*only*), excluded (*closed, no, not*) or when something happens. Dates of different years, or with a year in one
//! statement only, are not compared.

use super::super::Source;
use super::statement::Statement;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// What happens at a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Ends,
    Begins,
    Happens,
}

#[derive(Clone, Copy, Debug)]
struct Date {
    statement: u32,
    role: Role,
    /// Days since the beginning of the year, 31 a month: the first and the last that is meant.
    from: f64,
    to: f64,
    year: u32,
}

/// Finds dates and days of the week that exclude each other.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut dates: Vec<Date> = Vec::new();
    let mut weeks: Vec<Week> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        read_dates(&sources[s.source], s, n as u32, &mut dates);
        weeks.extend(read_week(&sources[s.source], s, n as u32));
    }
    for (n, a) in dates.iter().enumerate() {
        for b in dates[n + 1..].iter().take(CANDIDATES) {
            let (i, j) = (a.statement as usize, b.statement as usize);
            let (s, o) = (&statements[i], &statements[j]);
            if s.source != o.source
                && a.year == b.year
                && about_one(s, o)
                && (past_end(sources, (s, a), (o, b)) || past_end(sources, (o, b), (s, a)))
            {
                pairs.add(i, j, "the date");
            }
        }
    }
    for (n, a) in weeks.iter().enumerate() {
        for b in weeks[n + 1..].iter().take(CANDIDATES) {
            let (i, j) = (a.statement as usize, b.statement as usize);
            let (s, o) = (&statements[i], &statements[j]);
            if s.source != o.source && week_clash(a, b) && shares_more(sources, s, o) {
                pairs.add(i, j, "the day");
            }
        }
    }
}

/// About one thing, and neither about a part of it.
fn about_one(s: &Statement, o: &Statement) -> bool {
    let narrower = |a: &Statement, b: &Statement| {
        a.head.is_some() && a.head == b.head && a.phrase.len() > b.phrase.len()
    };
    s.subject_weight(o, &[]) >= 2
        && !s.apart(o)
        && (!narrower(s, o) && !narrower(o, s) || s.emphatic || o.emphatic)
        && !(s.conditional || o.conditional)
        && !(s.past || o.past)
        || s.same_subject(o) && (s.emphatic || o.emphatic) && !s.apart_in_people(o)
}

/// What ends at a date goes on or begins after it.
fn past_end(
    sources: &[Source<'_>],
    (s, a): (&Statement, &Date),
    (o, b): (&Statement, &Date),
) -> bool {
    match (a.role, b.role) {
        // `answers until the end of June`, `answers with 410 from July on`: one after the other.
        (Role::Ends, Role::Begins) => {
            let says = |st: &Statement, words: &[&str]| {
                let lexed = &sources[st.source].tagged.lexed;
                (st.range.0..st.range.1).any(|k| words.contains(&lexed.word(k)))
            };
            let follows = says(s, &["until", "till"]) && says(o, &["from", "since", "after"]);
            b.from >= a.to && !o.negative && !follows
        }
        (Role::Ends, Role::Happens) => b.from > a.to && !o.negative,
        (Role::Ends, Role::Ends) => s.same_subject(o) && a.to != b.to && !s.negative && !o.negative,
        (Role::Begins, Role::Happens) => b.to < a.from && !o.negative && s.same_subject(o),
        // `goes live on 1 March`, `requires the test, which begins on 15 April`
        (Role::Happens, Role::Begins) => {
            let t = &sources[o.source].tagged;
            b.from > a.to
                && (o.range.0..o.range.1)
                    .any(|k| any_of!(t.lexed.word(k), "requires" "require" "needs" "presupposes" "depends"))
        }
        _ => false,
    }
}

fn month(word: &str) -> Option<f64> {
    Some(match word {
        "january" => 0.0,
        "february" => 1.0,
        "march" => 2.0,
        "april" => 3.0,
        "may" => 4.0,
        "june" => 5.0,
        "july" => 6.0,
        "august" => 7.0,
        "september" => 8.0,
        "october" => 9.0,
        "november" => 10.0,
        "december" => 11.0,
        _ => return None,
    })
}

/// `31`, `31st`
fn day(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if digits.is_empty() || word.len() - digits.len() > 2 {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    (1.0..=31.0).contains(&value).then_some(value)
}

fn read_dates(source: &Source<'_>, s: &Statement, n: u32, out: &mut Vec<Date>) {
    let lexed = &source.tagged.lexed;
    let word = |k: usize| {
        if k >= s.range.0 && k < s.range.1 {
            lexed.word(k)
        } else {
            ""
        }
    };
    let mut last: Option<usize> = None;
    for k in s.range.0..s.range.1 {
        // `may` is a month where it is written with a capital inside the sentence.
        let token = lexed.tokens[k];
        if !token.upper || token.quoted || k == s.range.0 {
            continue;
        }
        let Some(m) = month(lexed.word(k)) else {
            continue;
        };
        let of = usize::from(word(k.wrapping_sub(1)) == "of");
        let before = day(word(k.wrapping_sub(1 + of)));
        let after = day(word(k + 1));
        let part = word(k.wrapping_sub(2));
        let (from, to, at) = match (before, after) {
            (Some(d), _) => (d, d, k - 1 - of),
            (None, Some(d)) => (d, d, k),
            _ if of == 1 && part == "end" => (
                31.0,
                31.0,
                k - 2 - usize::from(word(k.wrapping_sub(3)) == "the"),
            ),
            _ if of == 1 && any_of!(part, "beginning" "start") => (1.0, 1.0, k - 2),
            _ => (1.0, 31.0, k),
        };
        let year = (k + 1..k + 3)
            .find_map(|i| {
                word(i)
                    .parse::<u32>()
                    .ok()
                    .filter(|y| (1990..2100).contains(y))
            })
            .unwrap_or(0);
        let next = (k + 1..k + 5).any(|i| any_of!(word(i), "following" "next"));
        let shift = m * 31.0 + if next { 372.0 } else { 0.0 };
        let (from, to) = (from + shift, to + shift);
        // `from April to June`: one span.
        let at = if word(at.wrapping_sub(1)) == "the" {
            at - 1
        } else {
            at
        };
        let prev = word(at.wrapping_sub(1));
        if any_of!(prev, "to" "and" "till" "until" "through")
            && last.is_some_and(|l| at - l <= 3)
            && let Some(span) = out.last_mut().filter(|d| d.statement == n)
        {
            span.to = to;
            span.role = Role::Happens;
            last = Some(k);
            continue;
        }
        last = Some(k);
        out.push(Date {
            statement: n,
            role: role(source, s, at),
            from,
            to,
            year,
        });
    }
}

/// What the words before the date at `at` say about it.
fn role(source: &Source<'_>, s: &Statement, at: usize) -> Role {
    let lexed = &source.tagged.lexed;
    let prev = if at > s.range.0 {
        lexed.word(at - 1)
    } else {
        ""
    };
    let negated =
        (at.saturating_sub(4).max(s.range.0)..at).any(|k| source.tagged.is(k, class::NEG));
    match (prev, negated) {
        ("by" | "before" | "until" | "till", false) | ("after", true) => return Role::Ends,
        ("from" | "after" | "since", false) | ("before" | "until" | "till", true) => {
            return Role::Begins;
        }
        ("than", _) => {
            let later = lexed.word(at.wrapping_sub(2)) == "later";
            return if later == negated {
                Role::Ends
            } else {
                Role::Begins
            };
        }
        _ => {}
    }
    let near = at.saturating_sub(6).max(s.range.0)..at;
    let off = |k: usize| {
        any_of!(lexed.word(k), "switched" "turned" "shut")
            && any_of!(lexed.word(k + 1), "off" "down")
    };
    if near.clone().any(|k| {
        off(k)
            || any_of!(lexed.word(k), "ends" "end" "ended" "closes" "close" "closed" "expires" "expire" "lapse" "lapses" "finished" "finishes" "deadline"
                "due" "removed" "retired" "stops" "over" "discontinued" "completed")
    }) {
        Role::Ends
    } else if near.clone().any(|k| {
        any_of!(lexed.word(k), "starts" "start" "begins" "begin" "opens" "open" "launches" "launched" "available" "earliest")
    }) {
        Role::Begins
    } else {
        Role::Happens
    }
}

/// The days of the week a statement speaks of.
#[derive(Clone, Copy, Debug)]
struct Week {
    statement: u32,
    /// Monday is the lowest bit.
    days: u8,
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Happens,
    Never,
    Only,
}

fn week_clash(a: &Week, b: &Week) -> bool {
    match (a.says, b.says) {
        (Says::Never, Says::Happens) | (Says::Happens, Says::Never) => a.days & b.days != 0,
        (Says::Only, Says::Happens) => b.days & !a.days != 0,
        (Says::Happens, Says::Only) => a.days & !b.days != 0,
        (Says::Only, Says::Only) => a.days & b.days == 0,
        _ => false,
    }
}

fn weekday(word: &str) -> Option<u8> {
    Some(match word.trim_end_matches('s') {
        "monday" => 1,
        "tuesday" | "tue" => 2,
        "wednesday" => 4,
        "thursday" => 8,
        "friday" => 16,
        "saturday" => 32,
        "sunday" => 64,
        "weekday" => 31,
        "weekend" => 96,
        _ => return None,
    })
}

fn read_week(source: &Source<'_>, s: &Statement, n: u32) -> Option<Week> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut days = 0;
    let mut last: Option<(usize, u8)> = None;
    for k in s.range.0..s.range.1 {
        if lexed.tokens[k].quoted || !t.is(k, class::WEEKDAY) {
            continue;
        }
        let Some(bits) = weekday(lexed.word(k)) else {
            continue;
        };
        // `Monday to Friday`
        match last {
            Some((at, first))
                if k == at + 2
                    && any_of!(lexed.raw(k - 1), "to" "-" "–" "till" "until" "through") =>
            {
                let mut bit = first;
                while bit != 0 && bit != bits && bit < 128 {
                    days |= bit;
                    bit = bit.checked_shl(1).unwrap_or(0);
                }
            }
            _ => {}
        }
        days |= bits;
        last = Some((k, bits));
    }
    let excepted = (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "except" "unless" "but" "outside" "besides" "if" "when" "instead" "before" "after" "until" "holiday" "holidays")
    });
    if days == 0 || excepted {
        return None;
    }
    let shut = s.negative
        || (s.range.0..s.range.1)
            .any(|k| any_of!(lexed.word(k), "closed" "shut" "off" "rest" "rests" "suspended" "no" "nobody" "nothing"));
    let only =
        (s.range.0..s.range.1).any(|k| any_of!(lexed.word(k), "only" "exclusively" "solely"));
    let says = match (shut, only) {
        (true, false) if !s.clocked => Says::Never,
        (false, true) => Says::Only,
        (false, false) => Says::Happens,
        _ => return None,
    };
    Some(Week {
        statement: n,
        days,
        says,
    })
}

/// Nothing goes on in a closed house.
fn is_closed(sources: &[Source<'_>], s: &Statement) -> bool {
    (s.range.0..s.range.1).any(|k| any_of!(sources[s.source].tagged.lexed.word(k), "closed" "shut"))
}

/// They share a telling word beside the days.
fn shares_more(sources: &[Source<'_>], s: &Statement, o: &Statement) -> bool {
    let mut days: Vec<u64> = Vec::new();
    for st in [s, o] {
        let t = &sources[st.source].tagged;
        days.extend(
            (st.range.0..st.range.1)
                .filter(|&k| t.is(k, class::WEEKDAY) && t.lexed.tokens[k].kind == TokenKind::Word)
                .map(|k| t.lexed.tokens[k].key),
        );
    }
    s.shared_weight(o, &days) >= 2
        && !(s.apart_in_people(o)
            || !(is_closed(sources, s) || is_closed(sources, o)) && s.apart(o))
        && (!s.foreign(o) || s.shared_weight(o, &days) >= 4 || s.emphatic || o.emphatic)
        && s.may_meet(o)
        && !super::acts::compound(s, o)
}
