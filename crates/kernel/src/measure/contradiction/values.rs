//! One of a set: responses are JSON only and always XML, written in Go and written in Rust.

use super::super::Source;
use super::relation::common;
use super::statement::{Index, Statement};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;

/// Sets of which a subject has one member.
const SETS: &[(u64, &str)] = &[
    (class::FORMAT, "the format"),
    (class::LANGUAGE, "the programming language"),
    (class::DATABASE, "the database"),
    (class::TONGUE, "the language"),
    (class::ENCODING, "the encoding"),
    (class::SYSTEM, "the operating system"),
    (class::CLOUD, "the provider"),
    (class::NAMING, "how names are written"),
    (class::CURRENCY, "the currency"),
    (class::WEEKDAY, "the day"),
];

/// Finds statements that give one subject two members of a set.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    versions(sources, statements, pairs);
    ports(sources, statements, index, pairs);
    let present = sources
        .iter()
        .flat_map(|s| &s.tagged.classes)
        .fold(0, |all, c| all | c);
    for &(set, topic) in SETS.iter().filter(|s| present & s.0 != 0) {
        let members: Vec<Vec<u64>> = statements
            .iter()
            .map(|s| {
                let t = &sources[s.source].tagged;
                let mut keys: Vec<u64> = (s.range.0..s.range.1)
                    .filter(|&i| t.is(i, set) && !t.lexed.tokens[i].quoted)
                    .map(|i| canonical(t.lexed.tokens[i].key))
                    .collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            })
            .collect();
        // `Android only`: nothing but the member, so it holds for the whole.
        for (i, s) in statements.iter().enumerate().filter(|(i, s)| {
            members[*i].len() == 1
                && is_only(&sources[s.source], s)
                && speaks_of_whole(&sources[s.source], s, set)
        }) {
            let others = statements.iter().enumerate().filter(|(j, o)| {
                o.source != s.source
                    && !members[*j].is_empty()
                    && !o.negative
                    && !o.conditional
                    && !members[*j].contains(&members[i][0])
            });
            for (j, _) in others.take(CANDIDATES) {
                pairs.add(i, j, topic);
            }
        }
        for (i, s) in statements.iter().enumerate() {
            if members[i].is_empty() || s.conditional || s.negative {
                continue;
            }
            let mut tried: Vec<u32> = Vec::new();
            for key in s.content.iter().filter(|k| !members[i].contains(k)) {
                for &(_, j) in index.of(*key).iter().take(CANDIDATES) {
                    let other = &statements[j as usize];
                    if j as usize <= i
                        || other.source == s.source
                        || members[j as usize].is_empty()
                        || other.conditional
                        || other.negative
                        || tried.contains(&j)
                    {
                        continue;
                    }
                    tried.push(j);
                    let more =
                        |a: usize, b: usize| members[b].iter().any(|k| !members[a].contains(k));
                    let beyond = members[i].len() == 1
                        && is_only(&sources[s.source], s)
                        && more(i, j as usize)
                        || members[j as usize].len() == 1
                            && is_only(&sources[other.source], other)
                            && more(j as usize, i);
                    if common(&members[i], &members[j as usize]) > 0 && !beyond
                        || s.apart(other)
                        || s.foreign(other)
                    {
                        continue;
                    }
                    let mut ignore = members[i].clone();
                    ignore.extend(&members[j as usize]);
                    let coverage = s.coverage(other, &ignore);
                    let weight = s.subject_weight(other, &ignore);
                    // Two encodings or two ways to write names meet nowhere by accident.
                    let least = if set & (class::NAMING | class::ENCODING) != 0 {
                        25
                    } else {
                        50
                    };
                    let exclusive = is_exclusive(&sources[s.source], s)
                        || is_exclusive(&sources[other.source], other);
                    let single = members[i].len() == 1 && members[j as usize].len() == 1;
                    if exclusive && weight >= 2 && coverage >= least
                        || single && weight >= 4 && coverage >= 80
                        || single
                            && weight >= 2
                            && coverage == 100
                            && s.content.len() <= 5
                            && other.content.len() <= 5
                    {
                        pairs.add(i, j as usize, topic);
                    }
                }
            }
        }
    }
}

/// Nothing but the member and words for the whole: `the app's only language is Norwegian`.
fn speaks_of_whole(source: &Source<'_>, s: &Statement, set: u64) -> bool {
    let t = &source.tagged;
    (s.range.0..s.range.1).all(|i| {
        t.is(i, set | class::STOP | class::UNIVERSAL | class::NEG | class::WHOLE)
            || t.lexed.tokens[i].kind == crate::text::lex::TokenKind::Symbol
            || any_of!(t.lexed.word(i), "app's" "site's" "language" "languages" "format" "formats" "currency" "database" "supported" "available" "offered" "used" "accepted")
    })
}

/// `German only`, `in English, no other language`: one member and no other.
fn is_only(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "only" "exclusively" "solely")
            || lexed.word(i) == "no" && lexed.word(i + 1) == "other"
    })
}

/// Two versions of one product: `has to run on Python 3.7`, `Python 3.11 is the minimum`.
fn versions(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<(u64, u32, &str)> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        let t = &sources[s.source].tagged;
        let lexed = &t.lexed;
        let moves = (s.range.0..s.range.1).any(|i| {
            any_of!(lexed.word(i), "from" "old" "new" "upgrade" "upgraded" "migrate" "currently" "until" "previous" "legacy" "later" "newer" "tests" "tested" "both" "matrix" "or")
        });
        if moves {
            continue;
        }
        for i in s.range.0..s.range.1.saturating_sub(1) {
            if t.is(i, class::LANGUAGE | class::DATABASE | class::LIBRARY)
                && lexed.tokens[i].upper
                && lexed.tokens[i + 1].kind == crate::text::lex::TokenKind::Number
                && !t.is(i + 2, class::TIME_UNIT | class::SIZE_UNIT)
            {
                all.push((lexed.tokens[i].key, n as u32, lexed.word(i + 1)));
            }
        }
    }
    all.sort_unstable();
    for pair in all.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let short = a.2.len().min(b.2.len());
        // `Python 3` and `Python 3.12` agree.
        let (s, o) = (&statements[a.1 as usize], &statements[b.1 as usize]);
        if a.0 == b.0 && a.2[..short] != b.2[..short] && !(s.foreign(o) || s.apart_in_name(o)) {
            pairs.add(a.1 as usize, b.1 as usize, "the version");
        }
    }
}

/// `listens on port 443 only` against `port 8080 stays open`.
fn ports(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements.iter().enumerate() {
        let lexed = &sources[s.source].tagged.lexed;
        let at = (s.range.0 + 1..s.range.1).find(|&k| {
            lexed.tokens[k].kind == crate::text::lex::TokenKind::Number
                && lexed.word(k + 1) == "only"
                && lexed.tokens[k - 1].kind == crate::text::lex::TokenKind::Word
        });
        let Some(at) = at else { continue };
        let noun = canonical(lexed.tokens[at - 1].key);
        for &(_, j) in index.of(noun).iter().take(CANDIDATES) {
            let o = &statements[j as usize];
            let words = &sources[o.source].tagged.lexed;
            let other = (o.range.0..o.range.1).any(|k| {
                canonical(words.tokens[k].key) == noun
                    && words
                        .tokens
                        .get(k + 1)
                        .is_some_and(|n| n.kind == crate::text::lex::TokenKind::Number)
                    && words.word(k + 1) != lexed.word(at)
            });
            if other && o.source != s.source && !o.negative && !o.conditional {
                pairs.add(i, j as usize, "the only one");
            }
        }
    }
}

fn is_exclusive(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i),
            "only" "always" "all" "every" "exclusively" "solely" "must" "entire" "entirely"
            "nothing" "whole")
    })
}
