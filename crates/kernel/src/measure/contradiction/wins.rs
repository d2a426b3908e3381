//! Who wins: where two sources differ, one is taken. Two statements that let two different ones win contradict each other.
//!
//! The winner is what stands before `wins`, `prevails`, `takes precedence`, `is authoritative`, `is taken` (the last only
//! where the sentence speaks of a difference), or behind `in favour of`.

use super::super::Source;
use super::relation::common;
use super::statement::{Statement, is_filler};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Who wins in a statement.
struct Winner {
    statement: usize,
    /// Telling words of the winner, sorted.
    who: Vec<u64>,
    /// The others that are named, sorted.
    rest: Vec<u64>,
}

/// Finds contests with two winners.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Winner> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        all.extend(read(&sources[s.source], s, n));
    }
    let own = |a: &[u64], b: &[u64]| a.iter().any(|k| b.binary_search(k).is_err());
    for (i, a) in all.iter().enumerate() {
        let s = &statements[a.statement];
        for b in all[i + 1..].iter().take(CANDIDATES) {
            let o = &statements[b.statement];
            // What one lets win is beaten in the other, or each winner has a word of its own.
            let beaten = common(&a.who, &b.rest) >= 1 || common(&b.who, &a.rest) >= 1;
            let others = own(&a.who, &b.who) && own(&b.who, &a.who);
            if s.source != o.source
                && others
                && (beaten || common(&a.who, &b.who) >= 1 || common(&a.rest, &b.rest) >= 1)
                && !s.apart_in_people(o)
            {
                pairs.add(a.statement, b.statement, "who wins");
            }
        }
    }
}

fn read(source: &Source<'_>, s: &Statement, n: usize) -> Option<Winner> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = s.range;
    if s.negative {
        return None;
    }
    let contest = (start..end).any(|i| {
        any_of!(lexed.word(i), "conflict" "conflicts" "differ" "differs" "difference" "differences" "contradict" "disagree" "disagrees" "discrepancy" "clash" "collision" "diverge" "deviate" "deviates")
            || lexed.word(i) == "both"
    });
    let at = (start + 1..end).find(|&i| {
        let next = lexed.word(i + 1);
        any_of!(lexed.word(i), "wins" "win" "prevails" "prevail" "overrides" "outranks" "trumps" "supersedes")
            || any_of!(lexed.word(i), "takes" "has" "take" "have") && any_of!(next, "precedence" "priority")
            || any_of!(lexed.word(i), "is" "are") && any_of!(next, "authoritative" "decisive" "leading" "binding")
            || contest
                && (any_of!(lexed.word(i), "is" "are") && any_of!(next, "taken" "kept" "used" "valid" "right" "trusted" "correct")
                    || any_of!(lexed.word(i), "counts" "applies" "stays"))
    })?;
    // Back to the start of its clause.
    let from = (start..at)
        .rev()
        .find(|&i| {
            lexed.tokens[i].kind == TokenKind::Symbol
                || any_of!(lexed.word(i), "conflict" "difference" "conflicts" "differ" "differs" "discrepancy" "disagree" "doubt" "collision" "clash")
        })
        .map_or(start, |i| i + 1);
    let keys = |from: usize, to: usize| -> Vec<u64> {
        let mut out: Vec<u64> = (from..to)
            .filter(|&i| {
                lexed.tokens[i].kind == TokenKind::Word
                    && !t.is(
                        i,
                        class::STOP
                            | class::NEG
                            | class::UNIVERSAL
                            | class::CONDITION
                            | class::NUMERAL,
                    )
                    && !is_filler(lexed.word(i))
                    && !any_of!(lexed.word(i), "value" "version" "copy" "entry" "case" "one")
            })
            .map(|i| canonical(lexed.tokens[i].key))
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    };
    let who = keys(from, at);
    let mut rest = keys(start, from);
    rest.extend(keys(at + 1, end));
    rest.sort_unstable();
    (!who.is_empty()).then_some(Winner {
        statement: n,
        who,
        rest,
    })
}
