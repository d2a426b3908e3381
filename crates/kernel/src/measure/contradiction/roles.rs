//! Who acts, for whom, how and on which occasion, where that tells two statements apart: `never deleted by the tool`, `the
//! administrator deletes them`; `compulsory for companies`, `blank for private persons`. Rules of `cases`.

use super::cases::{Seen, phrase_end};
use super::grammar::is_verb;
use super::naming::telling;
use super::narrowing::is_valued;
use crate::lexicon::class;

/// Topics of a state that something is in.
fn is_state(topic: &str) -> bool {
    any_of!(topic, "locked or open" "up or down" "running or stopped" "on or off" "whether it moves")
}

/// `Every worker sees when the irrigation starts`: what is seen is not done.
pub(super) fn reported(a: &Seen<'_>, _: &Seen<'_>, topic: &str) -> bool {
    any_of!(topic, "the only one" "who may" "permission")
        && a.span().any(|i| {
            any_of!(a.word(i), "sees" "see" "knows" "know" "learns" "learn" "hears" "hear" "notices" "notice" "told" "shows" "show"
                "informed" "notified")
                && any_of!(a.word(i + 1), "when" "how" "whether" "that" "who" "what" "which" "if" "where")
        })
}

/// `Files are never deleted by the tool`, `the administrator deletes files`: denied of one who acts.
pub(super) fn agents(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if is_valued(topic) || !a.s.negative {
        return false;
    }
    let by = a
        .span()
        .find(|&i| a.word(i) == "by" && any_of!(a.word(i + 1), "the" "a" "an" "our"));
    let Some(by) = by else { return false };
    let mine = telling(a.source, by + 2, phrase_end(a, by + 2));
    let theirs = match b.span().find(|&i| b.word(i) == "by") {
        Some(by) => telling(b.source, by + 1, phrase_end(b, by + 1)),
        None if !b.s.passive => b.s.phrase.clone(),
        None => return false,
    };
    let people = b.s.persons.iter().any(|p| theirs.contains(p));
    people
        && !mine.is_empty()
        && mine.iter().all(|k| !b.knows(*k))
        && theirs.iter().all(|k| !a.knows(*k))
}

/// `Offers are never confirmed by mail`, `orders are confirmed by mail`: of two things, one.
pub(super) fn subjects(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let own = |x: &Seen<'_>, y: &Seen<'_>| {
        x.s.head
            .is_some_and(|h| !y.knows(h) && !x.s.generic.contains(&h))
    };
    any_of!(topic, "mail" "paper" "sound" "cookies" "paper or screen" "protection of stored data")
        && a.s.passive
        && b.s.passive
        && own(a, b)
        && own(b, a)
        && a.s.act == b.s.act
}

/// `compulsory for companies`, `blank for private persons`; `obligatory for reports`, `praise can be sent without`.
pub(super) fn beneficiaries(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if is_valued(topic) || topic == "accounts" {
        return false;
    }
    let whom = |x: &Seen<'_>, y: &Seen<'_>| {
        x.span().any(|i| {
            let end = phrase_end(x, i + 1);
            let timed = (i + 1..end).any(|k| {
                x.number(k) || x.is(k, class::TIME_UNIT | class::NUMERAL | class::UNIVERSAL)
            });
            let words = telling(x.source, i + 1, end);
            x.word(i) == "for"
                && i > 0
                && !is_verb(x.source.tagged.lexed.tokens[i - 1].key)
                && !timed
                && !words.is_empty()
                && words.iter().all(|k| !y.knows(*k))
        })
    };
    whom(a, b) && whom(b, a)
}

/// `The valve opens at 3 bar`, `the gate opens within 3 seconds`: at a number, or how fast.
pub(super) fn occasions(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let fast = a
        .span()
        .any(|i| a.word(i) == "within" && (i + 2..i + 4).any(|k| a.is(k, class::TIME_UNIT)));
    is_state(topic) && (fast || a.s.at_number && !b.s.at_number) && !b.s.emphatic
}

/// `Nobody can book twice`: once is not denied; `cookies are not used for tracking`: for other ends they are.
pub(super) fn partial_denial(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if is_valued(topic) || !a.s.negative || b.s.negative {
        return false;
    }
    let twice = a.has(|w| w == "twice")
        && !b.has(|w| any_of!(w, "twice" "again" "several" "often" "many" "times" "two"));
    let ends = a.span().any(|i| {
        any_of!(a.word(i), "used" "evaluated" "analysed" "kept" "collected")
            && a.word(i + 1) == "for"
            && !(i + 2..phrase_end(a, i + 2)).any(|k| a.is(k, class::TIME_UNIT) || a.number(k))
            && !a.foreign(b, i + 2, phrase_end(a, i + 2)).is_empty()
    });
    twice && any_of!(topic, "permission" "who may") || ends && !b.s.emphatic
}

/// `must not repeat a POST after a timeout`, `must repeat requests that end in 503`: each in a case of its own.
pub(super) fn two_cases(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if is_valued(topic) || !a.s.negative || b.s.negative {
        return false;
    }
    let after = a.span().any(|i| {
        any_of!(a.word(i), "after" "on" "upon" "during")
            && a.word(i.saturating_sub(1)) != "based"
            && a.s.finite.is_some_and(|v| i > v)
            && !(i + 1..phrase_end(a, i + 1)).any(|k| a.number(k) || a.is(k, class::TIME_UNIT))
            && !a.foreign(b, i + 1, phrase_end(a, i + 1)).is_empty()
    });
    let relative = b.span().any(|i| {
        any_of!(b.word(i), "that" "which" "who" "whose")
            && b.s.finite.is_some_and(|v| i > v)
            && !b.foreign(a, i + 1, (i + 6).min(b.s.range.1)).is_empty()
    });
    after && relative
}

/// `every 15 seconds`, `deleted after 24 hours`: how often, and how long they are kept.
pub(super) fn lifetimes(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let kept = |x: &Seen<'_>| {
        x.has(|w| any_of!(w, "deleted" "removed" "purged" "kept" "erased" "deletes" "expires" "expire" "stored" "retained"))
    };
    let often = |x: &Seen<'_>| x.has(|w| any_of!(w, "every" "per" "hourly" "daily"));
    topic == "numbers that exclude each other" && kept(a) && !often(a) && often(b) && !kept(b)
}

/// `Deleted recipes stay in the trash`, `members can delete recipes`: what becomes of them afterwards.
pub(super) fn afterwards(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    any_of!(topic, "whether it is kept" "whether it is removed" "whether it happens at all" "opposite statements")
        && (a.s.range.0..a.s.verb_at.min(a.s.range.0 + 3)).any(|i| {
            a.word(i).ends_with("ed")
                && a.telling(i + 1).is_some()
                && a.telling(i).is_some_and(|k| {
                    b.span()
                        .any(|j| b.telling(j) == Some(k) && !b.word(j).ends_with("ed"))
                })
        })
        && b.has(|w| any_of!(w, "can" "may"))
        && !b.s.negative
}

/// `Between 22:00 and 06:00 a card does not open the door`: holds at that time.
pub(super) fn windowed(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let from = a.s.range.0;
    !is_valued(topic)
        && any_of!(a.word(from), "between" "from" "before" "after" "until")
        && a.number(from + 1)
        && a.word(from + 1).contains(':')
        && !b.s.clocked
        && !b.s.emphatic
        && !b.s.unexcepted
}

/// `The text part contains no images`: that part, unless it is all that is built.
pub(super) fn one_container(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    any_of!(topic, "pictures" "paper" "sound" "mail" "cookies" "tracking")
        && a.span().any(|i| a.is(i, class::NEG))
        && !a.s.passive
        && a.has(|w| any_of!(w, "contain" "contains" "have" "has" "show" "shows" "carry" "carries"))
        && (a.s.range.0..a.s.verb_at)
            .all(|i| !a.is(i, class::WHOLE | class::TECH | class::SOFTWARE))
        && a.s.head.is_some_and(|h| !b.knows(h))
}
