//! Which part of its subject, and which case, a statement speaks of: `photos of minors`, `a broken file`, `during the
//! exam`, `with the door closed`.
//!
//! Two statements about one noun that each narrow it in a way of their own are about two things; a statement that begins
//! with a case, or with something that has gone wrong, holds in that case only. What the case is worth against a
//! statement without exception is decided in `relation`.

use super::super::Source;
use super::grammar::is_preposition;
use super::naming::telling;
use super::statement::Statement;
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Fills what the names of a statement (`naming`) leave open; the head and the verb are known.
pub(super) fn read_part(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let lexed = &source.tagged.lexed;
    // `A nightly job purges rows that are …`: the verb found is not that of the subject.
    let mistaken = s.finite.is_some_and(|v| {
        v < s.verb_at && (lexed.word(v).ends_with('s') || lexed.word(v - 1).ends_with('s'))
    });
    if let Some(head) = s.head.filter(|_| !mistaken) {
        s.narrow = telling(source, range.0, s.verb_at);
        s.narrow.retain(|k| *k != head);
        // `children under six`, `our own records`
        for i in range.0..s.verb_at {
            let number = source.tagged.is(i, class::NUMERAL) && i > range.0 + 1;
            if lexed.word(i) == "own" || number {
                s.narrow.push(lexed.tokens[i].key);
            }
        }
    }
    read_post(source, range, s);
    read_exception(source, range, s);
    read_occasion(source, range, s);
    read_odd_subject(source, range, s);
}

/// `Uploads by singers`, `shifts that were never filled`: what stands behind the noun of the subject.
fn read_post(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    if s.head.is_none() {
        return;
    }
    let verb = s.finite.map_or(s.verb_at, |v| v.min(s.verb_at));
    if let Some(at) = (range.0 + 1..verb).find(|&i| is_preposition(lexed.word(i))) {
        s.post = (lexed.tokens[at].key, telling(source, at + 1, verb));
    }
    // The verb found first is that of the relative clause; the clause goes on to the next.
    let relative = s.verb_at > range.0 && any_of!(lexed.word(s.verb_at - 1), "that" "which" "who");
    if relative {
        let end = (s.verb_at + 1..(s.verb_at + 8).min(range.1)).find(|&i| {
            t.is(i, class::MODAL)
                || any_of!(lexed.word(i), "is" "are" "was" "were" "has" "have" "gets" "stays")
        });
        if let Some(end) = end {
            s.narrow.extend(telling(source, s.verb_at, end));
        }
    }
}

/// `except typo fixes in the help pages`, `apart from members`: what a statement leaves to others.
fn read_exception(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let lexed = &source.tagged.lexed;
    let at = (range.0 + 1..range.1).find(|&i| match lexed.word(i) {
        "except" | "excluding" | "excepting" => true,
        "apart" => lexed.word(i + 1) == "from",
        "other" => lexed.word(i + 1) == "than",
        "exception" => lexed.word(i + 1) == "of",
        _ => false,
    });
    if let Some(at) = at {
        let end = (at + 1..range.1)
            .find(|&i| any_of!(lexed.raw(i), "," ";" "." ")"))
            .unwrap_or(range.1);
        s.except = telling(source, at + 1, end);
    }
}

/// `On the public page …`, `With the cage door open …`, `During a fire alarm …`: the case a sentence begins with.
fn read_occasion(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let first = lexed.word(range.0);
    // `Below 70 °C it is switched on again`
    let sized = any_of!(first, "below" "above" "over" "under" "beyond")
        && lexed
            .tokens
            .get(range.0 + 1)
            .is_some_and(|n| n.kind == TokenKind::Number);
    s.limited |= sized;
    let case = any_of!(first, "during" "after" "before" "with" "without" "outside" "under");
    if !case && !any_of!(first, "in" "on" "at" "for") {
        return;
    }
    // `For each photo …`, `before it answers …`: no case among others.
    let second = lexed.word(range.0 + 1);
    let lacks = any_of!(first, "with" "without");
    if !lacks && any_of!(second, "each" "every" "all" "any" "it" "they") {
        return;
    }
    let Some(end) = occasion_end(source, range) else {
        return;
    };
    let counted = (range.0..end).any(|i| {
        t.is(i, class::TIME_UNIT | class::WEEKDAY | class::NUMERAL)
            || lexed.tokens[i].kind == TokenKind::Number
    });
    if counted {
        return;
    }
    s.fronted = telling(source, range.0 + 1, end);
    if case {
        s.phased = any_of!(first, "after" "before");
        s.limited = true;
        s.limit = telling_beside(source, range.0 + 1, end);
    }
}

/// The telling words of `from..to` without general ones, if there are others.
fn telling_beside(source: &Source<'_>, from: usize, to: usize) -> Vec<u64> {
    let t = &source.tagged;
    let heavy: Vec<u64> = (from..to)
        .filter(|&i| !t.is(i, class::GENERIC))
        .flat_map(|i| telling(source, i, i + 1))
        .collect();
    if heavy.is_empty() {
        return telling(source, from, to);
    }
    let mut heavy = heavy;
    heavy.sort_unstable();
    heavy.dedup();
    heavy
}

/// Where the phrase that a sentence begins with ends: at a comma, before the article of the subject, behind a name.
fn occasion_end(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let second = range.0 + 1;
    let is_name = |i: usize| {
        lexed.tokens[i].upper && lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP)
    };
    if second >= range.1 {
        return None;
    }
    let behind_name = (second..range.1).find(|&i| !is_name(i)).unwrap_or(range.1);
    let stop = (second..(range.0 + 12).min(range.1)).find(|&i| {
        lexed.is_symbol(i, ",")
            || i > second
                && !is_preposition(lexed.word(i - 1))
                && any_of!(lexed.word(i), "the" "a" "an" "all" "every" "each" "no" "its" "their" "our" "it" "they" "nothing"
                    "nobody" "everyone" "only" "both" "none")
            || t.is(i, class::MODAL)
            || lexed.word(second) == "it" && i > second
    });
    // `At moving in the protocol is signed`: the last article before the verb.
    let stop = stop.or_else(|| {
        let verb = (second..(range.0 + 12).min(range.1))
            .find(|&i| any_of!(lexed.word(i), "is" "are" "has" "have"))?;
        (second + 1..verb)
            .rev()
            .find(|&i| any_of!(lexed.word(i), "the" "a" "an"))
    });
    match stop {
        Some(end) if !t.is(end, class::MODAL) => Some(end),
        _ if behind_name > second => Some(behind_name),
        Some(end) => Some(end),
        None => None,
    }
}

/// `A full disk stops …`, `a denied action is …`, `unknown dates are …`: holds where something has gone wrong.
fn read_odd_subject(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let lexed = &source.tagged.lexed;
    let article = any_of!(lexed.word(range.0), "a" "an" "any" "each" "every");
    let at = range.0 + usize::from(article);
    if at >= s.verb_at || s.limited {
        return;
    }
    let word = lexed.word(at);
    let full = word == "full"
        && any_of!(lexed.word(at + 1), "disk" "queue" "buffer" "card" "mailbox" "inbox" "folder" "storage" "tank" "partition"
            "volume" "memory" "drive" "log");
    if full
        || is_wrong(word) && at + 1 < s.verb_at
        || article && is_mishap(word) && (at + 1 == s.verb_at || is_preposition(lexed.word(at + 1)))
    {
        s.limited = true;
        s.limit = telling(source, at, at + 1);
    }
}

/// A state in which a thing is not as it should be.
fn is_wrong(word: &str) -> bool {
    any_of!(word, "failed" "failing" "broken" "invalid" "missing" "unknown" "unreachable" "unavailable" "malformed" "corrupt"
        "corrupted" "damaged" "unreadable" "unparsable" "wrong" "bad" "illegal" "unexpected" "unsupported" "unauthorised"
        "unauthorized" "stale" "lost" "duplicate" "expired" "faulty" "defective" "absent" "incomplete" "inconsistent"
        "implausible" "rejected" "refused" "denied" "declined" "aborted" "undeliverable" "undelivered" "interrupted"
        "jammed" "stuck" "overdue" "empty" "unpaid" "unrecognised" "unrecognized" "unmatched" "orphaned" "garbled"
        "illegible" "mistyped" "misspelt" "crashed" "dropped" "second" "repeated")
}

/// An event in which something goes wrong.
fn is_mishap(word: &str) -> bool {
    any_of!(word, "timeout" "outage" "crash" "mismatch" "conflict" "jam" "failure" "error" "violation" "breakdown" "overflow"
        "collision" "disconnect" "disconnection" "bounce" "fault" "defect" "leak" "typo")
}
