//! What comes first: `A before B` against `B before A`, `A only after B`, `no A until B`.
//!
//! A sentence with such a word is read as two events, the earlier and the later one. Two sentences contradict each other
//! when they put the same two events the other way round. Events are the same when the telling words of the shorter
//! one, verbs of finishing and happening aside, all stand in the other.

use super::super::Source;
use super::grammar::is_boundary;
use super::relation::common;
use super::statement::{Statement, is_filler};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Two events, the earlier one first.
struct Order {
    statement: usize,
    earlier: Vec<u64>,
    later: Vec<u64>,
}

/// Words that say that an event happens or ends, not which one it is.
const LIGHT: &str = "finish complete done end happen occur take place begin start run carry out make go come follow first earlier later \
    possible get become pass conclude over successfully actually due";

fn light() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let words = LIGHT.split_ascii_whitespace();
        let mut keys: Vec<u64> = words.map(|w| canonical(fnv(stem(w)))).collect();
        keys.sort_unstable();
        keys
    })
}

/// Finds events that are put in two orders.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Order> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        all.extend(read(&sources[s.source], s, n));
    }
    let same = |a: &[u64], b: &[u64]| {
        let both = common(a, b);
        both > 0 && both >= a.len().min(b.len())
    };
    for (i, a) in all.iter().enumerate() {
        let s = &statements[a.statement];
        for b in all[i + 1..].iter().take(CANDIDATES) {
            let o = &statements[b.statement];
            if s.source != o.source
                && same(&a.earlier, &b.later)
                && same(&a.later, &b.earlier)
                && !differ(&s.scopes, &o.scopes)
                && !differ(&s.labels, &o.labels)
                && !differ(&s.paths, &o.paths)
            {
                pairs.add(a.statement, b.statement, "which comes first");
            }
        }
    }
}

fn differ(a: &[u64], b: &[u64]) -> bool {
    !a.is_empty() && !b.is_empty() && common(a, b) == 0
}

fn read(source: &Source<'_>, s: &Statement, n: usize) -> Option<Order> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = s.range;
    let at = (start..end).find(|&i| {
        !lexed.tokens[i].quoted
            && (any_of!(lexed.word(i), "before" "after" "until" "prior" "once" "precedes" "follows")
                || lexed.word(i) == "followed" && lexed.word(i + 1) == "by"
                || lexed.word(i) == "then"
                    && i > start + 1
                    && (lexed.raw(i - 1) == "," || any_of!(lexed.word(i - 1), "and" "only"))
                    && (start..i).any(|k| lexed.word(k) == "first")
                || lexed.word(i) == "first" && i > start + 2 && lexed.word(i + 1) == "and"
                || lexed.word(i) == "soon" && lexed.word(i + 1) == "as")
    })?;
    let denied = |from: usize, to: usize| (from..to).any(|i| t.is(i, class::NEG));
    // (A, B): what stands before the word and behind it, or at the start behind it and behind the comma.
    let first = at <= start + 1;
    let comma = (at..end).find(|&i| lexed.is_symbol(i, ","));
    let (a, b) = if first {
        let comma = comma?;
        ((comma + 1, end), (at + 1, comma))
    } else {
        let close = (at + 1..end)
            .find(|&i| is_boundary(source, i) && !any_of!(lexed.word(i), "who" "that" "which"))
            .unwrap_or(end);
        ((start, at), (at + 1, close))
    };
    let not = denied(a.0, a.1);
    let a_first = match lexed.word(at) {
        // `no A before B`: A after B.
        "before" | "prior" => !not,
        "after" | "once" | "soon" if !not => false,
        "until" if not => false,
        "precedes" | "followed" | "then" | "first" if !not => true,
        "follows" if !not => false,
        _ => return None,
    };
    if denied(b.0, b.1) {
        return None;
    }
    let event = |(from, to): (usize, usize)| -> Vec<u64> {
        let mut out: Vec<u64> = (from..to)
            .filter(|&i| {
                lexed.tokens[i].kind == TokenKind::Word
                    && !t.is(
                        i,
                        class::STOP
                            | class::NEG
                            | class::UNIVERSAL
                            | class::CONDITION
                            | class::NUMERAL
                            | class::PERSON
                            | class::MODAL,
                    )
                    && (!t.is(i, class::TIME_UNIT) || lexed.word(i) == "minutes")
                    && !is_filler(lexed.word(i))
            })
            .map(|i| canonical(lexed.tokens[i].key))
            .filter(|k| light().binary_search(k).is_err())
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    };
    let (a, b) = (event(a), event(b));
    // What both events name tells them not apart.
    let own = |p: &[u64], q: &[u64]| -> Vec<u64> {
        let own = p.iter().copied().filter(|k| q.binary_search(k).is_err());
        own.collect()
    };
    let (a, b) = (own(&a, &b), own(&b, &a));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (earlier, later) = if a_first { (a, b) } else { (b, a) };
    Some(Order {
        statement: n,
        earlier,
        later,
    })
}
