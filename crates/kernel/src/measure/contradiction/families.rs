//! Families of opposites: stateless and stateful, offline and upload, required and optional (see `lexicon/phrases`).

use super::super::Source;
use super::cues::{TOPICS, find_cues};
use super::kinds;
use super::statement::{Statement, common, without};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::{Cue, Scope, Side, Tagged, class, families};
use crate::text::lex::{TokenKind, fnv};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// A statement's stand in a family.
struct Stand {
    family: u16,
    side: Side,
    statement: u32,
    /// Where the cue begins.
    at: usize,
    /// Key of the word behind the cue, 0 where none.
    next: u64,
    /// Keys of the cue's words: they are the predicate, not the subject.
    cue: Vec<u64>,
}

/// Name, scope and whether a negated cue changes sides, of a family or a topic of composed cues.
fn traits(id: u16) -> (&'static str, Scope, bool) {
    let id = usize::from(id);
    match families().get(id) {
        Some(family) => (family.name, family.scope, family.flips),
        None => (TOPICS[id - families().len()].name, Scope::Shared, false),
    }
}

/// Finds statements on opposite sides of a family.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut stands = read_stands(sources, statements);
    // By family and side; the order of statements stays.
    stands.sort_by_key(|stand| (stand.family, stand.statement, stand.side));
    // `lock and unlock a quiz`: a statement on both sides stands nowhere.
    let both: BTreeSet<(u16, u32)> = stands
        .windows(2)
        .filter(|w| (w[0].family, w[0].statement) == (w[1].family, w[1].statement))
        .filter(|w| {
            let (_, scope, flips) = traits(w[0].family);
            let composed = usize::from(w[0].family) >= families().len();
            let wide = matches!(scope, Scope::Near | Scope::Close) && flips || composed;
            w[0].side != w[1].side && (wide || w[0].at.abs_diff(w[1].at) == 2)
        })
        .map(|w| (w[0].family, w[0].statement))
        .collect();
    stands.retain(|stand| !both.contains(&(stand.family, stand.statement)));
    stands.sort_by_key(|stand| (stand.family, stand.side));
    let mut rest = stands.as_slice();
    while let Some(first) = rest.first() {
        let (name, scope, _) = traits(first.family);
        let (group, after) =
            rest.split_at(rest.partition_point(|stand| stand.family == first.family));
        rest = after;
        let (a, b) = group.split_at(group.partition_point(|stand| stand.side == Side::A));
        if a.is_empty() || b.is_empty() {
            continue;
        }
        if scope == Scope::Whole {
            for x in a.iter().take(CANDIDATES) {
                for y in b.iter().take(CANDIDATES) {
                    let (s, o) = (
                        &statements[x.statement as usize],
                        &statements[y.statement as usize],
                    );
                    let mut cue = x.cue.clone();
                    cue.extend(&y.cue);
                    if s.source != o.source && is_whole(sources, s, o, &cue, name) {
                        pairs.add(x.statement as usize, y.statement as usize, name);
                    }
                }
            }
            continue;
        }
        // Index side B by subject word.
        let mut by_key: Vec<(u64, u32)> = b
            .iter()
            .enumerate()
            .flat_map(|(n, y)| {
                statements[y.statement as usize]
                    .content
                    .iter()
                    .map(move |k| (*k, n as u32))
            })
            .collect();
        by_key.sort_unstable();
        for x in a {
            let s = &statements[x.statement as usize];
            let mut tried: Vec<u32> = Vec::new();
            for key in s
                .content
                .iter()
                .filter(|k| !x.cue.contains(k) || s.head == Some(**k))
            {
                let from = by_key.partition_point(|e| e.0 < *key);
                for &(_, n) in by_key[from..]
                    .iter()
                    .take_while(|e| e.0 == *key)
                    .take(CANDIDATES)
                {
                    if tried.contains(&n) || tried.len() > CANDIDATES * 4 {
                        continue;
                    }
                    tried.push(n);
                    let y = &b[n as usize];
                    let o = &statements[y.statement as usize];
                    if s.source != o.source && opposed(s, o, x, y, scope, name) {
                        pairs.add(x.statement as usize, y.statement as usize, name);
                    }
                }
            }
        }
    }
}

fn opposed(s: &Statement, o: &Statement, x: &Stand, y: &Stand, scope: Scope, name: &str) -> bool {
    let mut cue = x.cue.clone();
    cue.extend(&y.cue);
    // `local time`: a cue that holds the subject of both does not take it away.
    if s.subject == o.subject {
        cue.retain(|k| Some(*k) != s.subject);
    }
    let ordering = |stand: &Stand| {
        stand
            .cue
            .iter()
            .any(|k| *k == fnv("before") || *k == fnv("after"))
    };
    let timing = any_of!(name, "timing" "when it is answered") || ordering(x) || ordering(y);
    if !timing && s.apart_in_time(o) {
        return false;
    }
    if s.apart(o)
        || s.foreign(o) && s.shared_weight(o, &cue) < 4
        || !s.may_meet(o)
            && (s.conditional
                || !(name == "whether it may change"
                    || name == "approval"
                    || name == "write access"))
    {
        return false;
    }
    let clocks = s.clocked && o.clocked;
    if clocks || s.at_number && o.at_number {
        return false;
    }
    let weight = s.subject_weight(o, &cue);
    match scope {
        Scope::Close => {
            weight >= 4 && s.coverage(o, &cue) >= 75
                || weight >= 2 && s.coverage(o, &cue) == 100
                || s.same_subject(o) && s.coverage(o, &cue) >= 50
                || weight >= 2
                    && (s.emphatic || o.emphatic)
                    && !(s.limited || o.limited)
                    && s.coverage(o, &cue) >= 50
        }
        Scope::Near => {
            let coverage = s.coverage(o, &cue);
            let same = s.same_subject(o);
            // `the free plan`, `the paid plan`: the opposites tell two things apart.
            let qualifiers = x.next != 0 && x.next == y.next;
            !qualifiers
                && (weight >= 4 && coverage >= 50
                    || weight >= 2 && coverage >= 66
                    || same && coverage >= 50)
        }
        _ if name == "who acts" => weight >= 4 || weight >= 2 && s.coverage(o, &cue) >= 50,
        _ => weight >= 2 && (weight >= 4 || s.coverage(o, &cue) >= 25),
    }
}

/// A statement about the whole, or both about the same part.
fn is_whole(sources: &[Source<'_>], s: &Statement, o: &Statement, cue: &[u64], name: &str) -> bool {
    if name != "who wins" && (s.conditional || o.conditional)
        || s.apart_in_people(o)
        || s.apart_in_name(o)
        || begins_later(&sources[s.source], s)
    {
        return false;
    }
    let tests = |st: &Statement| {
        let t = &sources[st.source].tagged;
        (st.range.0..st.range.1).any(|i| {
            any_of!(t.lexed.word(i),
                "test" "tests" "ci" "build" "documentation" "docs" "example" "examples"
                "development")
                || t.is(i, class::TEST_TOOL)
        })
    };
    // `without libraries in the chart itself`
    let part = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0..st.range.1).any(|i| lexed.word(i) == "itself")
    };
    if tests(s) != tests(o) || part(s) {
        return false;
    }
    let mut main = s.main.clone();
    main.retain(|k| !s.generic.contains(k));
    main.sort_unstable();
    // `No login is needed to see the results` says nothing about correcting them.
    let acts = |a: &[u64], b: &[u64]| !a.is_empty() && !b.is_empty() && common(a, b) == 0;
    if name == "accounts" && acts(&without(&s.content, cue), &without(&o.content, cue)) {
        return false;
    }
    common(&main, &o.content) >= 1 || governs_whole(&sources[s.source], s, name)
}

/// `works offline once the area has been downloaded`: holds from some point on.
fn begins_later(source: &Source<'_>, s: &Statement) -> bool {
    (s.range.0 + 1..s.range.1)
        .any(|i| any_of!(source.tagged.lexed.word(i), "once" "after" "until" "when" "while"))
}

/// The subject before the cue is the whole (`the app`, `it`) or not named at all (`Must run offline`).
fn governs_whole(source: &Source<'_>, s: &Statement, name: &str) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let subject = (s.range.0..s.range.1).take_while(|&i| {
        !t.is(
            i,
            class::MODAL | class::NEG | class::UNIVERSAL | class::USE_VERB,
        ) && lexed.tokens[i].kind != TokenKind::Symbol
            && !any_of!(lexed.word(i),
                "is" "are" "works" "work" "has" "have" "stays" "stay" "keeps" "needs")
    });
    let words: Vec<usize> = subject
        .filter(|&i| lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP))
        .collect();
    words.is_empty()
        || words.iter().any(|&i| {
            t.is(
                i,
                if name == "storage" {
                    class::WHOLE
                } else {
                    class::WHOLE | class::TECH | class::PERSON | class::LANGUAGE | class::DATA
                },
            )
        })
        || words.len() <= 2 && name != "storage"
}

/// An item of a list of names (`quiz: id, opens_at, locked`) says nothing about its subject.
fn is_listed(t: &Tagged<'_>, range: (usize, usize), from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    let colon = (range.0..from).any(|i| matches!(lexed.raw(i), ":" | "("));
    let before = from > range.0 && matches!(lexed.raw(from - 1), "," | "(" | ":");
    let after = to >= range.1 || any_of!(lexed.raw(to), "," ")" "." ";");
    colon && before && after && (range.0..range.1).filter(|&i| lexed.raw(i) == ",").count() >= 2
}

/// The families whose cues are classes of words instead of phrases.
#[derive(Clone, Copy)]
struct Special {
    library: Option<u16>,
    database: Option<u16>,
    cloud: Option<u16>,
    hand: Option<u16>,
    limits: Option<u16>,
}

/// Found once: the markers stand in the long lists of phrases.
fn special() -> Special {
    static SPECIAL: OnceLock<Special> = OnceLock::new();
    let find = |marker: &str| {
        let holds = |list: &str| list.split('|').any(|phrase| phrase == marker);
        families()
            .iter()
            .position(|f| holds(f.a) || holds(f.b))
            .map(|at| at as u16)
    };
    *SPECIAL.get_or_init(|| Special {
        library: find("@library"),
        database: find("@database"),
        cloud: find("@cloud"),
        hand: find("@by-person"),
        limits: families()
            .iter()
            .position(|f| f.name == "limits")
            .map(|at| at as u16),
    })
}

fn read_stands(sources: &[Source<'_>], statements: &[Statement]) -> Vec<Stand> {
    let Special {
        library,
        database,
        cloud,
        hand,
        limits,
    } = special();
    let mut out = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        let t = &sources[s.source].tagged;
        let lexed = &t.lexed;
        for found in find_cues(&sources[s.source], s.range) {
            let cue = found.tokens.iter().map(|&i| canonical(lexed.tokens[i].key));
            out.push(Stand {
                family: families().len() as u16 + found.topic,
                side: found.side,
                statement: n as u32,
                at: found.tokens[0],
                next: 0,
                cue: cue.collect(),
            });
        }
        let mut push = |family: u16, side: Side, from: usize, to: usize| {
            let cue: Vec<u64> = lexed.tokens[from..to]
                .iter()
                .map(|t| canonical(t.key))
                .collect();
            out.push(Stand {
                family,
                side,
                statement: n as u32,
                at: from,
                next: lexed
                    .tokens
                    .get(to)
                    .filter(|t| t.kind == TokenKind::Word)
                    .map_or(0, |t| t.key),
                cue,
            });
        };
        for hit in t.hits_in(s.range) {
            let Cue::Family(family, side) = hit.cue else {
                continue;
            };
            // `charge` inside `free of charge` is no cue of its own.
            let inside = t.hits_in(s.range).iter().any(|wide| {
                matches!(wide.cue, Cue::Family(f, _) if f == family)
                    && wide.from <= hit.from
                    && hit.to <= wide.to
                    && wide.to - wide.from > hit.to - hit.from
            });
            // `a locked card is unlocked`: before the noun of the subject a cue describes it.
            let scope = families()[usize::from(family)].scope;
            let describes = scope != Scope::Whole
                && hit.to - hit.from < 2
                && hit.to < s.verb_at
                && lexed.tokens[hit.to].kind == TokenKind::Word
                && !t.is(hit.to, class::STOP | class::NEG);
            if inside || describes || is_listed(t, s.range, hit.from, hit.to) {
                continue;
            }
            let negated =
                (hit.from.saturating_sub(3).max(s.range.0)..hit.from).any(|i| t.is(i, class::NEG));
            // `No process in the container may run as root`
            let negated = negated
                || families()[usize::from(family)].flips
                    && any_of!(lexed.word(s.range.0), "no" "nobody" "none")
                    && !(s.range.0..hit.from).any(|i| lexed.tokens[i].kind == TokenKind::Symbol)
                    && hit.from > s.range.0;
            let side = match (negated, families()[usize::from(family)].flips) {
                (false, _) => side,
                (true, true) if side == Side::A => Side::B,
                (true, true) => Side::A,
                // A negated cue of a family that does not flip says nothing.
                (true, false) => continue,
            };
            push(family, side, hit.from, hit.to);
        }
        // A bound is a limit, however it is worded.
        if let Some(family) = limits && (s.range.0..s.range.1).any(|i| {
            lexed.word(i) == "at" && (lexed.word(i + 1) == "most" || lexed.word(i + 2) == "most")
                || any_of!(lexed.word(i), "maximum" "max" "limit" "limited" "cap" "capped" "quota")
                    && (i..(i + 5).min(s.range.1))
                        .any(|k| lexed.tokens[k].kind == TokenKind::Number)
        }) {
            push(family, Side::B, s.range.0, s.range.0);
        }
        for (family, from, to) in kinds::denied_kinds(&sources[s.source], s.range) {
            push(family, Side::A, from, to);
        }
        for i in s.range.0..s.range.1 {
            if lexed.tokens[i].quoted
                || (i.saturating_sub(3).max(s.range.0)..i).any(|k| t.is(k, class::NEG))
            {
                continue;
            }
            for (class, family) in [
                (class::LIBRARY, library),
                (class::DATABASE, database),
                (class::CLOUD, cloud),
            ] {
                if let Some(family) = family
                    && t.is(i, class)
                    && !t.is(i, class::TEST_TOOL)
                    && (lexed.tokens[i].upper
                        || i > s.range.0
                            && any_of!(lexed.word(i - 1), "use" "uses" "using" "with" "via")
                        || any_of!(lexed.word(i + 1), "package" "library" "module" "framework" "gem" "crate"))
                {
                    push(family, Side::B, i, i + 1);
                }
            }
            // `the blake3 crate`, `the npm package left-pad`
            if let Some(family) = library
                && any_of!(lexed.word(i), "crate" "gem" "package" "library")
                && i > s.range.0 + 1
                && any_of!(lexed.word(i - 2), "the" "use" "uses" "and" "with")
                && !t.is(i - 1, class::STOP | class::UNIVERSAL)
                && !any_of!(lexed.word(i - 1), "standard" "own" "new" "same" "core" "shared" "static" "client" "existing" "our" "debian" "python" "release" "c")
            {
                push(family, Side::B, i - 1, i + 1);
            }
            // `opened by the caretaker`, `an operator has to start it`
            let by = lexed.word(i) == "by"
                && (t.is(i + 1, class::PERSON)
                    || t.is(i + 2, class::PERSON) && t.is(i + 1, class::STOP));
            let has_to = t.is(i, class::PERSON)
                && (lexed.word(i + 1) == "must"
                    || any_of!(lexed.word(i + 1), "has" "have") && lexed.word(i + 2) == "to");
            if let Some(family) = hand
                && (by || has_to)
                && !t.is(i, class::THING)
            {
                push(family, Side::A, i, i + 1);
            }
        }
    }
    out
}
