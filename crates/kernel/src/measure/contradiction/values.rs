//! One of a set: responses are JSON only and always XML, written in Go and written in Rust.

use super::super::Source;
use super::statement::{Index, Statement, common};
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
    for &(set, topic) in SETS {
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
                    if common(&members[i], &members[j as usize]) > 0 || s.apart(other) {
                        continue;
                    }
                    let mut ignore = members[i].clone();
                    ignore.extend(&members[j as usize]);
                    let coverage = s.coverage(other, &ignore);
                    let weight = s.shared_weight(other, &ignore);
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

fn is_exclusive(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i),
            "only" "always" "all" "every" "exclusively" "solely" "must" "entire" "entirely"
            "nothing" "whole")
    })
}
