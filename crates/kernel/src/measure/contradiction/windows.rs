//! Times of day against windows: `valves stay closed between 10:00 and 18:00`, `watered at 13:00`.
//!
//! A window is forbidden (*closed, off, not …*) or the only one allowed (*only, allowed*). What happens at a time inside a
//! forbidden window, or outside the only one, contradicts it, if both are about the same thing. Single deadlines are
//! the work of `bounds`.

use super::super::Source;
use super::statement::Statement;
use super::units::{clock, half_day, number};
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

const DAY: f64 = 1440.0;

/// What a statement says about times of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// Happens at these times.
    Happens,
    /// Never happens then.
    Never,
    /// Happens then and at no other time.
    Only,
}

#[derive(Debug)]
struct Times {
    statement: u32,
    says: Says,
    /// Minutes since midnight; a window over midnight ends after 1440. A point has no length.
    spans: Vec<(f64, f64)>,
    /// Happens at every hour of every day.
    always: bool,
}

/// Finds times that a window of another statement excludes.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let all: Vec<Times> = statements
        .iter()
        .enumerate()
        .filter_map(|(n, s)| read(&sources[s.source], s, n as u32))
        .collect();
    for window in all
        .iter()
        .filter(|w| w.says != Says::Happens)
        .take(CANDIDATES)
    {
        for other in all
            .iter()
            .filter(|o| o.says != Says::Never)
            .take(CANDIDATES)
        {
            let (s, o) = (
                &statements[window.statement as usize],
                &statements[other.statement as usize],
            );
            let about = s.subject_weight(o, &[]) >= 2 || s.same_act(o);
            if s.source != o.source
                && about
                && !s.apart(o)
                && !(s.foreign(o) && s.shared_weight(o, &[]) < 4 && !s.same_act(o))
                && s.may_meet(o)
                && match other.always {
                    true => !is_mixed(&sources[s.source], s),
                    false => days(&sources[s.source], s) == days(&sources[o.source], o),
                }
                && clash(window, other)
            {
                pairs.add(
                    window.statement as usize,
                    other.statement as usize,
                    "the time of day",
                );
            }
        }
    }
}

fn clash(window: &Times, other: &Times) -> bool {
    let inside = |x: &(f64, f64), w: &(f64, f64)| {
        // The same time today and tomorrow, as a window may end after midnight.
        [0.0, DAY].iter().any(|d| x.0 + d >= w.0 && x.1 + d <= w.1)
    };
    let overlaps = |x: &(f64, f64), w: &(f64, f64)| {
        [-DAY, 0.0, DAY].iter().any(|d| {
            let (from, to) = (x.0 + d, x.1 + d);
            if from == to {
                from > w.0 && from < w.1
            } else {
                from < w.1 && to > w.0
            }
        })
    };
    match window.says {
        Says::Only => other
            .spans
            .iter()
            .any(|x| !window.spans.iter().any(|w| inside(x, w))),
        Says::Never => {
            other.says == Says::Happens
                && other
                    .spans
                    .iter()
                    .any(|x| window.spans.iter().any(|w| overlaps(x, w)))
        }
        Says::Happens => false,
    }
}

/// Days of the week named, as bits of their first letters: statements of different days do not meet.
fn days(source: &Source<'_>, s: &Statement) -> u64 {
    let t = &source.tagged;
    (s.range.0..s.range.1)
        .filter(|&i| {
            t.is(i, class::WEEKDAY)
                || any_of!(t.lexed.word(i), "weekend" "weekends" "weekdays" "holidays" "summer" "winter")
        })
        .fold(0, |sum: u64, i| sum.wrapping_add(t.lexed.tokens[i].key))
}

fn read(source: &Source<'_>, s: &Statement, n: u32) -> Option<Times> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    // `always locked except from 15:00 to 17:00`: the window is the exception.
    if (s.range.0..s.range.1).any(|i| lexed.word(i) == "except") {
        return None;
    }
    let numbered = (s.range.0..s.range.1).any(|i| {
        lexed.tokens[i].kind == TokenKind::Number || any_of!(lexed.word(i), "noon" "midnight")
    });
    if is_always(source, s) {
        return Some(Times {
            statement: n,
            says: Says::Happens,
            spans: vec![(0.0, DAY)],
            always: true,
        });
    }
    if !numbered {
        return None;
    }
    let mut spans = Vec::new();
    let mut last: Option<(f64, usize)> = None;
    let mut until = false;
    for i in s.range.0..s.range.1 {
        let Some(at) = time_at(source, s, i) else {
            continue;
        };
        let prev = if i > s.range.0 { lexed.raw(i - 1) } else { "" };
        let prev = if any_of!(prev, "about" "the") && i > s.range.0 + 1 {
            lexed.raw(i - 2)
        } else {
            prev
        };
        match last {
            // `between 10:00 and 18:00`, `from 22:00 to 05:00`, `10:00-18:00`
            Some((from, k))
                if i - k <= 4
                    && any_of!(prev, "and" "to" "until" "till" "-" "–")
                    && (prev != "and" || opened(source, s, k)) =>
            {
                spans.push((from, after(from, at)));
                last = None;
                continue;
            }
            // `go out at 22:00 and stay off until 05:00`, `does not start again before 08:00`
            Some((from, _)) if any_of!(prev, "until" "till" "before") => {
                spans.retain(|x: &(f64, f64)| *x != (from, from));
                spans.push((from, after(from, at)));
                until = true;
                last = None;
                continue;
            }
            _ => {}
        }
        if any_of!(prev, "at" "and" ",") {
            spans.push((at, at));
        }
        last = Some((at, i));
    }
    // `always locked except from 15:00 to 17:00`: the other way round.
    let excepted = (s.range.0..s.range.1)
        .any(|i| any_of!(lexed.word(i), "except" "outside" "apart" "unless" "excluding"));
    if spans.is_empty() || excepted {
        return None;
    }
    let shut = (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i),
            "closed" "off" "out" "shut" "shuts" "down" "silent" "quiet" "mute" "muted" "forbidden" "banned" "blocked"
            "prohibited" "stopped" "locked" "rest" "rests" "idle" "dark" "unavailable" "suspended" "paused" "asleep"
            "sleeps" "disabled" "ban")
            || t.is(i, class::NEG)
    });
    let only = (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "only" "exclusively" "solely" "allowed" "permitted" "restricted" "limited")
    });
    let long = spans.iter().any(|x| x.1 > x.0);
    let says = match (shut, only, long) {
        (true, false, true) => Says::Never,
        (false, true, true) => Says::Only,
        (false, false, _) => Says::Happens,
        // `goes off at 22:00` switches; it says nothing about the time itself.
        _ => return None,
    };
    (says != Says::Happens || !until).then_some(Times {
        statement: n,
        says,
        spans,
        always: false,
    })
}

/// `open from 05:30 to 23:00 and locked in between`: two states.
fn is_mixed(source: &Source<'_>, s: &Statement) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    // `answers in English only`: not the time.
    let other = |k: usize| {
        let near = k.saturating_sub(4).max(s.range.0)..(k + 3).min(s.range.1);
        lexed.word(k) == "only"
            && !near.into_iter().any(|i| {
                time_at(source, s, i).is_some()
                    || t.is(i, class::WEEKDAY)
                    || any_of!(lexed.word(i), "days" "hours")
            })
    };
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "open" "opens" "locked" "unlocked")
            || lexed.word(k) == "on"
                && !t.is(k + 1, class::WEEKDAY)
                && lexed.word(k + 1) != "working"
            || other(k)
    })
}

/// `around the clock`, `at any hour`, `day and night`: no hour is left out.
fn is_always(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    !s.negative
        && (s.range.0..s.range.1).any(|k| {
            let (one, two, three) = (lexed.word(k), lexed.word(k + 1), lexed.word(k + 2));
            matches!(
                (one, two, three),
                ("the", "clock", _)
                    | ("at" | "in", "any" | "every" | "all", "hour" | "hours")
                    | ("day", "and" | "or", "night")
                    | ("without", "a" | "any", "break" | "interruption" | "pause")
                    | ("24", "hours", "a")
                    | ("every", "hour", "of")
            ) || any_of!(one, "non-stop" "nonstop" "uninterrupted" "uninterruptedly" "24/7")
                || one == "without" && two == "interruption"
                || one == "24" && lexed.raw(k + 1) == "/" && three == "7"
        })
}

/// The end of a window that may go over midnight.
fn after(from: f64, to: f64) -> f64 {
    if to <= from { to + DAY } else { to }
}

/// `between` or `from` stands before the time at `k`.
fn opened(source: &Source<'_>, s: &Statement, k: usize) -> bool {
    k > s.range.0 && any_of!(source.tagged.lexed.word(k - 1), "between" "from")
}

/// The time of day at `i`: `13:00`, `6 a.m.`, and a bare hour inside `between 7 and 11 o'clock`.
fn time_at(source: &Source<'_>, s: &Statement, i: usize) -> Option<f64> {
    let lexed = &source.tagged.lexed;
    if lexed.tokens[i].quoted {
        return None;
    }
    let word = lexed.word(i);
    if let Some(at) = clock(word).or_else(|| half_day(lexed, i)) {
        return Some(at);
    }
    let hour = number(word).filter(|h| (0.0..=24.0).contains(h) && h.fract() == 0.0)?;
    let near = i.saturating_sub(4).max(s.range.0)..(i + 7).min(s.range.1);
    let named = near.clone().any(|k| any_of!(lexed.word(k), "o'clock" "hours" "morning" "afternoon" "evening" "a.m" "p.m" "am" "pm"));
    let window = near
        .clone()
        .any(|k| any_of!(lexed.word(k), "between" "from"));
    let late = near
        .clone()
        .any(|k| any_of!(lexed.word(k), "afternoon" "evening" "pm" "p.m"));
    (named && window).then_some((hour + if late && hour < 12.0 { 12.0 } else { 0.0 }) * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(says: Says, spans: &[(f64, f64)]) -> Times {
        Times {
            statement: 0,
            says,
            spans: spans.to_vec(),
            always: false,
        }
    }

    #[test]
    fn clash_of_a_window_over_midnight_is_seen_on_both_sides() {
        let night = times(Says::Only, &[(1320.0, 1800.0)]);
        assert!(clash(&night, &times(Says::Happens, &[(720.0, 720.0)])));
        assert!(!clash(&night, &times(Says::Happens, &[(300.0, 300.0)])));
        assert!(!clash(&night, &times(Says::Happens, &[(1380.0, 1380.0)])));
    }

    #[test]
    fn clash_at_the_edge_of_a_forbidden_window_is_none() {
        let closed = times(Says::Never, &[(600.0, 1080.0)]);
        assert!(!clash(&closed, &times(Says::Happens, &[(1080.0, 1080.0)])));
        assert!(clash(&closed, &times(Says::Happens, &[(780.0, 780.0)])));
    }
}
