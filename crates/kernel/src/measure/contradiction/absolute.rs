//! Always against never: one statement says that something happens every time, another that it happens at no time,
//! and they name the same things, whatever their verbs are.

use super::super::Source;
use super::relation::common;
use super::statement::{Index, Statement};
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Verbs that say no more than that something happens.
const LIGHT: &str = "send go out make do get give take happen occur come carry leave keep run put have perform issue start \
    follow reach produce create appear provide arrive deliver place";

fn light() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let keys = LIGHT.split_ascii_whitespace();
        let mut keys: Vec<u64> = keys
            .map(|w| super::synonym::canonical(fnv(stem(w))))
            .collect();
        keys.sort_unstable();
        keys
    })
}

/// Finds statements that deny altogether what another says of every case.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements.iter().enumerate() {
        if !s.negative || s.conditional || !denies_altogether(&sources[s.source], s) {
            continue;
        }
        let mut words: Vec<u64> = s
            .main
            .iter()
            .copied()
            .filter(|k| light().binary_search(k).is_err() && *k != fnv("tim"))
            .collect();
        words.sort_unstable();
        words.dedup();
        let telling = words.iter().filter(|k| !s.generic.contains(k)).count();
        if words.len() < 2 || telling == 0 {
            continue;
        }
        let Some(&rarest) = words.iter().min_by_key(|k| (index.of(**k).len(), **k)) else {
            continue;
        };
        for &(_, j) in index.of(rarest).iter().take(CANDIDATES) {
            let o = &statements[j as usize];
            if o.source != s.source
                && !o.negative
                && common(&words, &o.content) == words.len()
                && holds_always(&sources[o.source], o)
                && !s.is_reverse_of(o)
                && !s.apart(o)
                && !s.apart_in_time(o)
                && !s.foreign(o)
            {
                pairs.add(i, j as usize, "always or never");
            }
        }
    }
}

/// `never`, `no … is`, `under no circumstances`, and nothing that makes it a part: `no two`, `no other`.
fn denies_altogether(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    let (start, end) = s.range;
    let part = (start..end).any(|k| {
        any_of!(lexed.word(k), "two" "twice" "than" "another" "other" "same" "more" "without" "both" "own" "new" "only" "alone" "else" "yet" "longer" "again")
            || lexed.tokens[k].kind == TokenKind::Number
    });
    let begins = |k: usize| k == start || lexed.tokens[k - 1].kind == TokenKind::Symbol;
    !part
        && (start..end).any(|k| {
            !lexed.tokens[k].quoted
                && (lexed.word(k) == "never"
                    || any_of!(lexed.word(k), "no" "none" "neither") && begins(k)
                    || lexed.word(k) == "no"
                        && any_of!(lexed.word(k + 1), "circumstances" "circumstance" "time" "case" "way")
                    || lexed.word(k) == "any" && any_of!(lexed.word(k + 1), "circumstances" "circumstance" "case")
                    || lexed.word(k) == "at" && lexed.word(k + 1) == "all"
                    || lexed.word(k) == "ever")
        })
}

/// `always`, `every`, `all`, `without exception`.
fn holds_always(source: &Source<'_>, o: &Statement) -> bool {
    let t = &source.tagged;
    (o.range.0..o.range.1).any(|k| {
        any_of!(t.lexed.word(k), "always" "every" "each" "all" "whenever" "throughout" "any" "both")
            && !t.is(k + 1, class::TIME_UNIT)
    })
}
