//! Said and denied: the same words once with and once without a negation, and a thing forbidden here and used there.

use super::super::Source;
use super::statement::{Index, Statement};
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Finds pairs of opposite polarity.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], index: &Index, pairs: &mut Pairs<'_, '_>) {
    for (i, s) in statements.iter().enumerate() {
        if s.negative && !s.conditional {
            denied(statements, index, i, pairs);
        }
        forbidden(sources, statements, index, i, pairs);
    }
}

/// All words of the denial (but at most one of five) stand in a positive statement.
fn denied(statements: &[Statement], index: &Index, i: usize, pairs: &mut Pairs<'_, '_>) {
    let s = &statements[i];
    let mut words = s.main.clone();
    words.sort_unstable();
    words.dedup();
    if words.len() < 2 || words.iter().all(|k| s.generic.contains(k)) {
        return;
    }
    // The two rarest words are enough to meet every candidate: at most one word may be missing.
    let mut rare: Vec<(usize, u64)> = words.iter().map(|k| (index.of(*k).len(), *k)).collect();
    rare.sort_unstable();
    for (_, key) in rare.into_iter().take(2) {
        for &(_, j) in index.of(key).iter().take(CANDIDATES) {
            let other = &statements[j as usize];
            if other.negative || other.source == s.source {
                continue;
            }
            let held = words.iter().filter(|k| other.content.binary_search(k).is_ok()).count();
            let enough = held == words.len() || (words.len() >= 5 && held + 1 == words.len());
            let firm = !other.conditional || s.absolute && held == words.len();
            if enough && firm && !s.apart(other) {
                pairs.add(i, j as usize, "whether it happens at all");
            }
        }
    }
}

/// `No cookies are set`, `must not use sudo`, `cookies are forbidden` against a statement that uses the thing.
fn forbidden(sources: &[Source<'_>], statements: &[Statement], index: &Index, i: usize, pairs: &mut Pairs<'_, '_>) {
    let s = &statements[i];
    let Some(thing) = forbidden_thing(&sources[s.source], s) else { return };
    let Some(&rarest) = thing.iter().min_by_key(|k| (index.of(**k).len(), **k)) else { return };
    for &(_, j) in index.of(rarest).iter().take(CANDIDATES) {
        let other = &statements[j as usize];
        if other.negative || other.conditional || other.source == s.source || s.apart(other) {
            continue;
        }
        if thing.iter().all(|k| other.content.binary_search(k).is_ok()) && is_used(&sources[other.source], other, &thing) {
            pairs.add(i, j as usize, "whether it may be used");
        }
    }
}

/// The noun phrase that a statement rules out for the whole.
fn forbidden_thing(source: &Source<'_>, s: &Statement) -> Option<Vec<u64>> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for i in s.range.0..s.range.1 {
        if lexed.tokens[i].quoted {
            continue;
        }
        let clause_start = i == s.range.0 || matches!(lexed.raw(i - 1), "," | ":" | "-" | "–");
        let after_use = |k: usize| matches!(lexed.word(k), "use" | "uses" | "using" | "contain" | "depend" | "rely" | "require" | "set" | "need");
        let from = match lexed.word(i) {
            "no" if clause_start => i + 1,
            "without" if clause_start || i > 0 && matches!(lexed.word(i - 1), "work" | "works" | "run" | "runs" | "operate" | "function" | "functions" | "do" | "done" | "made" | "built") => i + 1,
            "not" | "never" | "don't" if after_use(i + 1) && !s.conditional => i + 2 + usize::from(lexed.word(i + 2) == "on"),
            "avoid" if clause_start => i + 1,
            _ => continue,
        };
        let mut thing = Vec::new();
        let mut k = from;
        while k < s.range.1 && thing.len() < 3 && lexed.tokens[k].kind == TokenKind::Word {
            if t.is(k, class::STOP | class::NEG) && !t.is(k, class::UNIVERSAL) {
                break;
            }
            if matches!(lexed.word(k), "new" | "additional" | "further" | "other" | "more" | "extra" | "longer" | "client-side" | "external" | "server-side") {
                // `no new packages` leaves the old ones.
                return None;
            }
            if !t.is(k, class::UNIVERSAL) {
                thing.push(lexed.tokens[k].key);
            }
            k += 1;
        }
        // `No street at all: …` names a case.
        let case = lexed.is_symbol(k, ":") || matches!(lexed.raw(k), "->" | "=>" | "→") || matches!(lexed.word(k), "gives" | "means" | "at" | "shows" | "than" | "found" | "after");
        if thing.is_empty() || case || thing.iter().all(|x| s.generic.contains(x)) {
            return None;
        }
        thing.sort_unstable();
        thing.dedup();
        return Some(thing);
    }
    None
}

/// The thing is put to use: behind a verb or preposition of use, or as the subject.
fn is_used(source: &Source<'_>, other: &Statement, thing: &[u64]) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    (other.range.0..other.range.1).any(|i| {
        thing.contains(&lexed.tokens[i].key) && !lexed.tokens[i].quoted && {
            let near = i.saturating_sub(4).max(other.range.0)..i;
            let used = near.clone().any(|k| matches!(lexed.word(k), "use" | "uses" | "used" | "using" | "with" | "in" | "via" | "by" | "through" | "set" | "sets" | "as" | "needs" | "requires" | "send" | "sends" | "store" | "stores" | "every" | "each" | "all" | "from" | "to" | "show" | "shows" | "print" | "prints" | "write" | "writes" | "keep" | "keeps" | "add" | "adds" | "make" | "makes" | "open" | "opens" | "into"));
            let narrowed = (i..(i + 3).min(other.range.1)).any(|k| t.is(k, class::NEG)) || near.clone().any(|k| t.is(k, class::NEG));
            (used || i <= other.range.0 + 2) && !narrowed
        }
    })
}
