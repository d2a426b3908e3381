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
    (class::CHANNEL, "the way it is sent"),
    (class::COLOUR, "the colour"),
    (class::SYSTEM_UNIT, "the unit"),
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
                    .filter(|&i| {
                        (t.is(i, set)
                            || set == class::FORMAT && is_word(&sources[s.source], i)
                            || set == class::CHANNEL
                                && t.lexed.word(i) == "text"
                                && any_of!(t.lexed.word(i + 1), "message" "messages"))
                            && !t.lexed.tokens[i].quoted
                            && (set != class::COLOUR || !describes(&sources[s.source], i))
                    })
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
                    && !denies(&sources[o.source], o)
                    && !o.conditional
                    && members[*j].iter().any(|k| *k != members[i][0])
            });
            for (j, _) in others.take(CANDIDATES) {
                pairs.add(i, j, topic);
            }
        }
        for (i, s) in statements.iter().enumerate() {
            if members[i].is_empty() || s.conditional || denies(&sources[s.source], s) {
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
                        || denies(&sources[other.source], other)
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
                    // What is read from one format may be written in another.
                    let flows = flows_in(&sources[s.source], s, set)
                        != flows_in(&sources[other.source], other, set);
                    if common(&members[i], &members[j as usize]) > 0 && !beyond
                        || flows
                        || s.apart(other)
                        || s.foreign(other)
                        || set == class::FORMAT && super::acts::compound(s, other)
                    {
                        continue;
                    }
                    let mut ignore = members[i].clone();
                    ignore.extend(&members[j as usize]);
                    let coverage = s.coverage(other, &ignore);
                    let weight = s.subject_weight(other, &ignore);
                    // Two encodings or two ways to write names meet nowhere by accident.
                    let least = if beyond || set & (class::NAMING | class::ENCODING) != 0 {
                        25
                    } else {
                        50
                    };
                    // What goes out by mail may go out by phone as well.
                    if set == class::CHANNEL && !beyond {
                        continue;
                    }
                    // `A German text is optional` beside `every line has an English text`.
                    let besides = |st: &Statement| {
                        let lexed = &sources[st.source].tagged.lexed;
                        (st.range.0..st.range.1).any(|i| {
                            any_of!(lexed.word(i), "optional" "optionally" "additional" "additionally" "also" "too")
                        })
                    };
                    if !beyond && (besides(s) || besides(other)) {
                        continue;
                    }
                    let exclusive = beyond
                        || is_exclusive(&sources[s.source], s)
                        || is_exclusive(&sources[other.source], other);
                    let alike = s.same_subject(other) || s.head.is_none() || other.head.is_none();
                    let single = members[i].len() == 1 && members[j as usize].len() == 1;
                    if exclusive
                        && weight >= 2
                        && (coverage >= least
                            || coverage >= 25 && set == class::FORMAT && s.same_subject(other))
                        || single && alike && weight >= 4 && coverage >= 80
                        || single
                            && alike
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
    // `no other data store is used`
    let no_other = set == class::DATABASE
        && (s.range.0..s.range.1).any(|i| {
            t.lexed.word(i) == "no"
                && t.lexed.word(i + 1) == "other"
                && (i + 2..(i + 7).min(s.range.1)).any(
                    |k| any_of!(t.lexed.word(k), "used" "allowed" "permitted" "needed" "involved"),
                )
        });
    no_other || (s.range.0..s.range.1).all(|i| {
        t.is(i, set | class::STOP | class::UNIVERSAL | class::NEG | class::WHOLE)
            || t.lexed.tokens[i].kind == crate::text::lex::TokenKind::Symbol
            || any_of!(t.lexed.word(i), "app's" "site's" "language" "languages" "format" "formats" "currency" "database" "supported" "available" "offered" "used" "accepted" "texts" "wording" "everywhere")
    })
}

/// `German only`, `in English, no other language`: one member and no other.
fn is_only(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "only" "exclusively" "solely")
            || any_of!(lexed.word(i), "no" "nothing" "none" "not")
                && any_of!(lexed.word(i + 1), "other" "others" "else" "but")
            || lexed.word(i) == "any" && lexed.word(i + 1) == "other"
    })
}

/// Negated, and not only by `nothing else` or `no other`.
fn denies(source: &Source<'_>, s: &Statement) -> bool {
    let t = &source.tagged;
    s.negative
        && (s.range.0..s.range.1).any(|i| {
            t.is(i, class::NEG)
                && !any_of!(t.lexed.word(i + 1), "other" "others" "else" "but")
                && i < s.range.0 + 12
        })
}

/// `taken from a CSV file`
fn flows_in(source: &Source<'_>, s: &Statement, set: u64) -> bool {
    let t = &source.tagged;
    set == class::FORMAT
        && (s.range.0..s.range.1)
            .find(|&i| t.is(i, set))
            .is_some_and(|i| {
                (i.saturating_sub(3).max(s.range.0)..i).any(|k| t.lexed.word(k) == "from")
            })
}

/// `a red cross`: the colour of something else.
fn describes(source: &Source<'_>, i: usize) -> bool {
    let t = &source.tagged;
    t.lexed.tokens.get(i + 1).is_some_and(|n| {
        n.kind == crate::text::lex::TokenKind::Word
            && !t.is(
                i + 1,
                class::STOP | class::NEG | class::UNIVERSAL | class::CONDITION,
            )
            && !any_of!(t.lexed.word(i + 1), "ink" "colour" "color" "paint" "letters" "light")
    })
}

/// A document of the program Word.
fn is_word(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    lexed.word(i) == "text" && any_of!(lexed.word(i + 1), "file" "files")
        || lexed.raw(i) == "Word"
            && any_of!(lexed.word(i + 1), "document" "documents" "file" "files" "format")
}

/// How a version is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    This,
    /// `3.11 or newer`, `at least 3.11`, `from 3.11 on`.
    Least,
    /// `3.8 and nothing newer`, `up to 3.8`.
    Most,
    /// Has to run there: what came later cannot be used.
    Runs,
    /// What is older is turned down.
    Refused,
}

/// `3.11` against `3.8`, part by part.
fn compare_versions(a: &str, b: &str) -> std::cmp::Ordering {
    let parts = |v: &str| -> [u32; 3] {
        let mut out = [0; 3];
        for (slot, part) in out.iter_mut().zip(v.split('.')) {
            *slot = part.parse().unwrap_or(0);
        }
        out
    };
    parts(a).cmp(&parts(b))
}

/// Two versions of one product: `has to run on Python 3.7`, `Python 3.11 is the minimum`.
fn versions(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<(u64, u32, &str, Reach, bool)> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        let t = &sources[s.source].tagged;
        let lexed = &t.lexed;
        for i in s.range.0..s.range.1.saturating_sub(1) {
            let named = t.is(
                i,
                class::LANGUAGE | class::DATABASE | class::LIBRARY | class::SYSTEM,
            ) && (lexed.tokens[i].upper || lexed.raw(i) == "iOS")
                && lexed.tokens[i + 1].kind == crate::text::lex::TokenKind::Number
                && !t.is(i + 2, class::TIME_UNIT | class::SIZE_UNIT);
            // A product that is not known: `WordPress 5.9`.
            let strange = !named
                && lexed.tokens[i].upper
                && lexed.tokens[i + 1].kind == crate::text::lex::TokenKind::Number
                && lexed.word(i + 1).contains('.')
                && !t.is(i, class::STOP);
            if !named && !strange {
                continue;
            }
            let near = (i.saturating_sub(4).max(s.range.0), (i + 7).min(s.range.1));
            let said = |words: &[&str]| (near.0..near.1).any(|k| words.contains(&lexed.word(k)));
            let reach = if said(&["nothing", "most", "older"])
                || said(&["up"]) && i > s.range.0 && lexed.word(i - 1) == "to"
            {
                Reach::Most
            } else if said(&[
                "newer",
                "later",
                "higher",
                "onwards",
                "upwards",
                "least",
                "minimum",
                "above",
                "requires",
                "exists",
                "introduced",
            ]) || lexed.raw(i + 2) == "+"
                || lexed.word(i + 2) == "on"
                || lexed.word(i + 2) == "and" && lexed.word(i + 3) == "up"
            {
                Reach::Least
            } else {
                Reach::This
            };
            // `must go on running under PHP 7.4`: nothing newer may be used. `Devices below Android 12 are refused`: from 12 on.
            let reach = match reach {
                Reach::This if said(&["below", "before", "under"]) && (s.range.0..s.range.1).any(|k| any_of!(lexed.word(k), "refused" "rejected" "unsupported" "excluded" "dropped" "not" "no")) => {
                    Reach::Refused
                }
                Reach::This if said(&["from"]) && any_of!(lexed.word(i.wrapping_sub(1)), "from" "since") => Reach::Least,
                Reach::This | Reach::Least
                    if any_of!(lexed.word(i.wrapping_sub(1)), "support" "supports" "supporting")
                        || any_of!(lexed.word(i.wrapping_sub(1)), "on" "under" "with" "in" "to")
                        && (i.saturating_sub(5).max(s.range.0)..i).any(|k| any_of!(lexed.word(k), "run" "runs" "running" "work" "works" "compile" "compiles" "compilable" "build" "builds" "stay" "stays" "executable" "usable")) =>
                {
                    Reach::Runs
                }
                other => other,
            };
            let moves = (s.range.0..s.range.1).any(|k| {
                any_of!(lexed.word(k), "old" "new" "upgrade" "upgraded" "migrate" "currently" "until" "previous" "legacy" "tests" "tested" "both" "matrix" "documentation" "docs")
                    || reach == Reach::This && any_of!(lexed.word(k), "from" "or" "later" "newer")
            });
            if !moves {
                all.push((
                    lexed.tokens[i].key,
                    n as u32,
                    lexed.word(i + 1),
                    reach,
                    named,
                ));
            }
        }
    }
    all.sort_unstable();
    for pair in all.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let short = a.2.len().min(b.2.len());
        // `Python 3` and `Python 3.12` agree.
        let differ = a.2[..short] != b.2[..short];
        let order = compare_versions(a.2, b.2);
        let excluded = match (a.3, b.3) {
            (Reach::This, Reach::This) => true,
            // `from Android 8 on`, `below Android 12 refused`
            (Reach::Least | Reach::This | Reach::Runs, Reach::Refused) => order.is_lt(),
            (Reach::Refused, Reach::Least | Reach::This | Reach::Runs) => order.is_gt(),
            (Reach::Runs, Reach::This | Reach::Least) => order.is_lt(),
            (Reach::This | Reach::Least, Reach::Runs) => order.is_gt(),
            (Reach::Runs, Reach::Runs) => false,
            (Reach::Refused, _) | (_, Reach::Refused) => false,
            (Reach::Least, Reach::Least) | (Reach::Most, Reach::Most) => false,
            (Reach::Least, _) | (_, Reach::Most) => order.is_gt(),
            (_, Reach::Least) | (Reach::Most, _) => order.is_lt(),
        };
        let (s, o) = (&statements[a.1 as usize], &statements[b.1 as usize]);
        let loose = |r: Reach| matches!(r, Reach::Least | Reach::Runs | Reach::Refused);
        let least = loose(a.3) || loose(b.3);
        let known = a.4 || least;
        if a.0 == b.0
            && differ
            && excluded
            && known
            && !s.apart_in_name(o)
            && (least || !s.foreign(o))
        {
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
            "nothing" "whole" "single" "never" "without" "plain")
    })
}
