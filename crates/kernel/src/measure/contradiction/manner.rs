//! One thing in two manners: written in two ways, sorted by two keys, open to all and behind a gate.

use super::super::Source;
use super::concept::concept_at;
use super::grammar::is_boundary;
use super::relation::common;
use super::statement::{Index, Statement, mark};
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};

/// What a statement says about the manner of its subject.
#[derive(Debug)]
struct Manner {
    statement: u32,
    /// The kind of manner: a verb of writing, or `sorted`.
    verb: u64,
    /// Telling words of it, sorted.
    value: Vec<u64>,
}

/// Finds things that are to be done in two manners.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    let mut all: Vec<Manner> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        if s.marks & mark::MANNER == 0 {
            continue;
        }
        let source = &sources[s.source];
        all.extend(read_writing(source, s, n as u32));
        all.extend(read_order(source, s, n as u32));
    }
    all.sort_by_key(|m| (m.verb, m.statement));
    for (i, a) in all.iter().enumerate() {
        let s = &statements[a.statement as usize];
        for b in all[i + 1..]
            .iter()
            .take_while(|b| b.verb == a.verb)
            .take(CANDIDATES)
        {
            let o = &statements[b.statement as usize];
            if s.source != o.source
                && s.same_subject(o)
                && s.same_condition(o)
                && !s.apart(o)
                && common(&a.value, &b.value) == 0
                && s.phrase.iter().all(|k| o.content.binary_search(k).is_ok())
            {
                pairs.add(a.statement as usize, b.statement as usize, "how it is done");
            }
        }
    }
    gates(sources, statements, index, pairs);
}

/// `Hours are written as whole minutes`: the verb and what follows it.
fn read_writing(source: &Source<'_>, s: &Statement, n: u32) -> Option<Manner> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    if s.negative {
        return None;
    }
    let at = (s.range.0 + 1..s.range.1).find(|&i| {
        any_of!(lexed.word(i), "written" "given" "expressed" "formatted" "rounded" "spelled" "spelt" "abbreviated" "shown" "displayed" "named" "numbered" "addressed")
            && any_of!(lexed.word(i + 1), "as" "with" "in" "to")
    })?;
    let end = (at + 1..s.range.1)
        .find(|&i| is_boundary(source, i) || any_of!(lexed.word(i), "before" "after" "at" "on"))
        .unwrap_or(s.range.1);
    let place = (at..end).any(|i| {
        any_of!(lexed.word(i), "column" "file" "table" "log" "line" "row" "database" "field" "report" "list" "page" "header" "footer" "order" "case" "box" "bar" "corner" "map" "red" "green" "bold" "grey" "colour")
    });
    let shown = any_of!(lexed.word(at), "shown" "displayed" "given");
    let mut value: Vec<u64> = (at + 1..end)
        .filter(|&i| {
            lexed.tokens[i].kind == TokenKind::Number
                || lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP)
        })
        .map(|i| concept_at(source, i).key)
        .collect();
    value.sort_unstable();
    // What is shown `with a photo` and `in a frame` is one thing; as and with numbers are two.
    let plain = !shown || lexed.word(at + 1) == "as";
    (!place && plain && !value.is_empty()).then(|| Manner {
        statement: n,
        verb: lexed.tokens[at].key,
        value,
    })
}

/// `sorted by date`, `cheapest first`, `in alphabetical order`.
fn read_order(source: &Source<'_>, s: &Statement, n: u32) -> Option<Manner> {
    let lexed = &source.tagged.lexed;
    let mut value = Vec::new();
    for i in s.range.0..s.range.1 {
        let (word, next) = (lexed.word(i), lexed.word(i + 1));
        if word == "then" {
            return None;
        }
        if any_of!(word, "sorted" "ordered" "listed" "ranked" "arranged") && next == "by"
            || word == "order" && any_of!(next, "of" "by")
        {
            let key = (i + 2..(i + 5).min(s.range.1)).find(|&k| {
                !source.tagged.is(k, class::STOP) && lexed.tokens[k].kind == TokenKind::Word
            });
            value.extend(key.map(|k| concept_at(source, k).key));
        }
        if word.len() > 4 && word.ends_with("est") && next == "first" {
            value.push(lexed.tokens[i].key);
        }
        if any_of!(word, "alphabetical" "alphabetically" "chronological" "chronologically") {
            value.push(lexed.tokens[i].key);
        }
    }
    value.sort_unstable();
    (!value.is_empty() && !s.negative).then(|| Manner {
        statement: n,
        verb: fnv("sorted"),
        value,
    })
}

/// `can be switched off by anyone` against `switching it off requires the key`.
fn gates(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements.iter().enumerate() {
        if s.marks & mark::EVERYONE == 0 {
            continue;
        }
        let lexed = &sources[s.source].tagged.lexed;
        let open = (s.range.0..s.range.1)
            .any(|k| any_of!(lexed.word(k), "anyone" "anybody" "everyone" "everybody"));
        if !open || s.negative || s.conditional {
            continue;
        }
        let words: Vec<u64> = s
            .content
            .iter()
            .copied()
            .filter(|k| !s.generic.contains(k))
            .collect();
        let Some(&rarest) = words.iter().min_by_key(|k| (index.of(**k).len(), **k)) else {
            continue;
        };
        for &(_, j) in index.of(rarest).iter().take(CANDIDATES) {
            let o = &statements[j as usize];
            let other = &sources[o.source].tagged.lexed;
            let gate = (o.range.0..o.range.1).any(|k| {
                any_of!(other.word(k), "requires" "require" "required" "needs" "needed" "only" "reserved" "restricted")
                    || any_of!(other.word(k), "is" "are") && other.word(k + 1) == "for"
                    || other.word(k) == "limited" && other.word(k + 1) == "to"
            });
            let both = common(&words, &o.content);
            let enough = both == words.len() || both >= 1 && s.same_subject(o);
            if o.source != s.source
                && gate
                && enough
                && !o.conditional
                && !o.negative
                && !s.apart_in_name(o)
            {
                pairs.add(i, j as usize, "who may");
            }
        }
    }
}
