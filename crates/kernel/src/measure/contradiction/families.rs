//! Families of opposites: stateless and stateful, offline and upload, required and optional (see `lexicon/phrases`).

use super::super::Source;
use super::acts::{compound, different_acts};
use super::claims;
use super::relation::{common, without};
use super::stands::{Stand, is_claim, read_stands, traits};
use super::statement::Statement;
use super::{CANDIDATES, Pairs};
use crate::lexicon::{Scope, Side, class, families};
use crate::text::lex::{TokenKind, fnv};
use std::collections::BTreeSet;

/// Finds statements on opposite sides of a family.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut stands = read_stands(sources, statements);
    // By family and side; the order of statements stays.
    stands.sort_by_key(|stand| (stand.family, stand.statement, stand.side));
    // `lock and unlock a quiz`: a statement on both sides stands nowhere.
    keep_denials(&mut stands);
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
        if is_claim(first.family) && a.len() * b.len() <= CANDIDATES * CANDIDATES {
            for x in a {
                for y in b {
                    let (i, j) = (x.statement as usize, y.statement as usize);
                    let (s, o) = (&statements[i], &statements[j]);
                    if s.source != o.source && claims::opposed(sources, (s, x), (o, y), name) {
                        pairs.add(i, j, name);
                    }
                }
            }
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
                    let meets = |(s, x), (o, y)| match is_claim(first.family) {
                        true => claims::opposed(sources, (s, x), (o, y), name),
                        false => opposed(s, o, x, y, scope, name),
                    };
                    if s.source != o.source && meets((s, x), (o, y)) {
                        pairs.add(x.statement as usize, y.statement as usize, name);
                    }
                }
            }
        }
    }
}

/// A claim on both sides of its topic, denied on one of them, stands there: `the identity of … is not linked`.
fn keep_denials(stands: &mut Vec<Stand>) {
    let mut denied: Vec<(u16, u32, bool, bool)> = Vec::new();
    for stand in stands.iter().filter(|x| x.denies && is_claim(x.family)) {
        let (a, b) = (stand.side == Side::A, stand.side == Side::B);
        match denied.last_mut() {
            Some(last) if (last.0, last.1) == (stand.family, stand.statement) => {
                last.2 |= a;
                last.3 |= b;
            }
            _ => denied.push((stand.family, stand.statement, a, b)),
        }
    }
    stands.retain(|stand| {
        let at = denied.binary_search_by_key(&(stand.family, stand.statement), |d| (d.0, d.1));
        at.map_or(true, |at| match (denied[at].2, denied[at].3) {
            (true, false) => stand.side == Side::A,
            (false, true) => stand.side == Side::B,
            _ => true,
        })
    });
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
    // `at once when they are submitted`: when it begins to count, not a case among others.
    let set_off = any_of!(name, "when it happens" "whether it waits" "whether it is kept" "how fast it appears")
        && (s.triggered || !s.conditional)
        && (o.triggered || !o.conditional)
        && !(s.limited || o.limited);
    if s.apart(o)
        || s.foreign(o) && s.shared_weight(o, &cue) < 4
        || !set_off
            && !s.may_meet(o)
            && (s.conditional
                || !(name == "whether it may change"
                    || name == "approval"
                    || name == "write access"))
    {
        return false;
    }
    // `kept for a year`, `deleted after 30 days`: the numbers decide (`bounds`).
    if any_of!(name, "whether it is kept" "how long it is valid" "opposite statements")
        && s.timed
        && o.timed
    {
        return false;
    }
    let scheduled = any_of!(name,
        "timing" "when it is answered" "when it happens" "how fast it appears" "speed of delivery" "how often"
        "used again" "how many times" "whether it waits");
    if scheduled && (different_acts(s, o) || compound(s, o)) {
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
