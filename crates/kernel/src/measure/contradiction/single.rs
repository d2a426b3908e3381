//! One or several: `the result is one single PDF` against `each chapter becomes a PDF of its own`.
//!
//! A statement says of a noun that there is one of it (*a single, one and the same, all … in one, shared by all*) or that there
//! are more (*of its own, a separate, both, one per, several*). Strong words meet over the noun alone, weak ones want
//! another shared word. A subject (`a single sheet holds the totals`) says nothing about how many there are.

use super::super::Source;
use super::relation::common;
use super::statement::Statement;
use super::synonym::canonical;
use super::units::numeral;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// How many of a noun a statement speaks of.
#[derive(Clone, Copy, Debug)]
struct Count {
    statement: u32,
    noun: u64,
    one: bool,
    /// The words leave no other reading.
    strong: bool,
}

/// Finds nouns of which there is one, and more than one.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Count> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        read(&sources[s.source], s, n as u32, &mut all);
    }
    all.sort_by_key(|c| (c.noun, c.one, c.statement));
    for (n, a) in all.iter().enumerate() {
        let rest = all[n + 1..].iter().take_while(|b| b.noun == a.noun);
        for b in rest.take(CANDIDATES).filter(|b| b.one != a.one) {
            let (i, j) = (a.statement as usize, b.statement as usize);
            let (s, o) = (&statements[i], &statements[j]);
            if s.source != o.source && !pairs.has(i, j) && meet(s, o, a, b) {
                pairs.add(i, j, "one or several");
            }
        }
    }
}

fn meet(s: &Statement, o: &Statement, a: &Count, b: &Count) -> bool {
    let differ = |x: &[u64], y: &[u64]| !x.is_empty() && !y.is_empty() && common(x, y) == 0;
    let weight = s.shared_weight(o, &[a.noun, b.noun]);
    !s.conditional
        && !o.conditional
        && s.negative == o.negative
        && !differ(&s.scopes, &o.scopes)
        && !differ(&s.labels, &o.labels)
        && !differ(&s.fronted, &o.fronted)
        && !differ(&s.heading, &o.heading)
        && (a.strong && b.strong || weight >= 2 && !s.apart_in_name(o))
}

/// The noun of the phrase from `from` on: its last word.
fn noun_from(source: &Source<'_>, s: &Statement, from: usize) -> Option<u64> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let inside = |&k: &usize| {
        lexed.tokens[k].kind == TokenKind::Word
            && !t.is(
                k,
                class::STOP | class::MODAL | class::NEG | class::CONDITION,
            )
            && !super::grammar::is_preposition(lexed.word(k))
            && !super::grammar::is_verb(lexed.tokens[k].key)
    };
    (from..(from + 3).min(s.range.1))
        .take_while(inside)
        .last()
        .filter(|&k| !t.is(k, class::TIME_UNIT | class::PERSON) && !is_vague(lexed.word(k)))
        .map(|k| canonical(lexed.tokens[k].key))
}

/// Nouns that are counted in passing.
fn is_vague(word: &str) -> bool {
    any_of!(word, "time" "times" "day" "way" "step" "go" "place" "case" "point" "click" "line" "row" "word" "thing" "kind" "part" "hand" "side" "tap"
        "request" "call" "run" "value" "entry" "person" "move")
}

fn read(source: &Source<'_>, s: &Statement, n: u32, out: &mut Vec<Count>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = |k: usize| if k < s.range.1 { lexed.word(k) } else { "" };
    let verb = s.finite.unwrap_or(s.range.0);
    let says = |words: &[&str]| (s.range.0..s.range.1).any(|k| words.contains(&lexed.word(k)));
    let mut push = |noun: Option<u64>, one: bool, strong: bool| {
        if let Some(noun) = noun {
            out.push(Count {
                statement: n,
                noun,
                one,
                strong,
            });
        }
    };
    let all = says(&[
        "all",
        "whole",
        "everything",
        "every",
        "everybody",
        "everyone",
        "entire",
        "complete",
    ]);
    let shares = says(&["each", "per", "own", "separate"]);
    for k in s.range.0..s.range.1 {
        if lexed.tokens[k].quoted {
            continue;
        }
        let prev = if k > s.range.0 { lexed.word(k - 1) } else { "" };
        match lexed.word(k) {
            // `one single PDF`, `has a single push button`
            "single" if any_of!(prev, "one" "a" "the") && k > verb && !shares => {
                push(noun_from(source, s, k + 1), true, true);
            }
            // `one and the same key encrypts …`
            "one" if word(k + 1) == "and" && word(k + 3) == "same" => {
                push(noun_from(source, s, k + 4), true, true);
                push(
                    lexed.tokens.get(k + 4).map(|t| canonical(t.key)),
                    true,
                    true,
                );
            }
            // `the only copy is …`
            "only" if prev == "the" && !shares => push(noun_from(source, s, k + 1), true, true),
            // `no table is shared`
            "shared" if s.negative && any_of!(prev, "is" "are" "be") && k >= s.range.0 + 2 => {
                push(Some(canonical(lexed.tokens[k - 2].key)), false, true);
            }
            // `all services live in one repository`, `share one database`
            "one" | "same" | "common" | "shared"
                if (all || any_of!(prev, "share" "shares" "only" "exactly" "just"))
                    && !shares
                    && !any_of!(word(k + 1), "of" "at" "after" "by") =>
            {
                push(
                    noun_from(source, s, k + 1),
                    true,
                    all && prev == "in" || any_of!(prev, "only" "exactly" "just"),
                );
            }
            // `a PDF file of its own`
            "own" if any_of!(prev, "its" "their" "his" "her") => {
                if k >= s.range.0 + 3 && word(k - 2) == "of" {
                    let from = (k - 5).max(s.range.0);
                    let at = (from..k - 2).rev().find(|&i| {
                        !t.is(i, class::STOP) && lexed.tokens[i].kind == TokenKind::Word
                    });
                    let noun = at.map(|i| canonical(lexed.tokens[i].key));
                    // `a PDF file of its own`: the PDF, too.
                    let first = at
                        .filter(|&i| i > s.range.0 && !t.is(i - 1, class::STOP))
                        .map(|i| canonical(lexed.tokens[i - 1].key));
                    push(noun, false, true);
                    push(first, false, true);
                } else if says(&["each", "every", "all", "both"]) {
                    push(noun_from(source, s, k + 1), false, true);
                }
            }
            "separate" | "individual" | "distinct" => {
                push(noun_from(source, s, k + 1), false, true)
            }
            // `both buttons`
            "both" => push(noun_from(source, s, k + 1), false, true),
            // `one sheet per month`, `a key for each client`
            "per" if k >= s.range.0 + 2 && any_of!(lexed.word(k - 2), "one" "a" "an") => {
                push(Some(canonical(lexed.tokens[k - 1].key)), false, false);
            }
            "each"
                if prev == "for"
                    && k >= s.range.0 + 3
                    && any_of!(lexed.word(k - 3), "one" "a" "an") =>
            {
                push(Some(canonical(lexed.tokens[k - 2].key)), false, false);
            }
            w if any_of!(w, "several" "multiple" "different")
                || numeral(w).is_some_and(|v| (2.0..=12.0).contains(&v))
                    && !t.is(k + 1, class::TIME_UNIT) =>
            {
                let noun = noun_from(source, s, k + 1);
                push(
                    noun.filter(|_| !any_of!(prev, "than" "least" "most" "to")),
                    false,
                    false,
                );
            }
            _ => {}
        }
    }
}
