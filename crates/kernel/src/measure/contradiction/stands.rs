//! Where statements stand: on which side of which family of opposites or topic, and by which words.

use super::super::Source;
use super::cues::topics;
use super::patterns::find_cues;
use super::statement::Statement;
use super::synonym::canonical;
use super::{kinds, named};
use crate::lexicon::{Cue, Scope, Side, Tagged, class, families};
use crate::text::lex::TokenKind;
use std::sync::OnceLock;

/// A statement's stand in a family.
pub(super) struct Stand {
    pub family: u16,
    pub side: Side,
    pub statement: u32,
    /// Where the cue begins.
    pub at: usize,
    /// Behind its last word.
    pub to: usize,
    /// The cue holds a negation.
    pub denies: bool,
    /// Key of the word behind the cue, 0 where none.
    pub next: u64,
    /// Keys of the cue's words: they are the predicate, not the subject.
    pub cue: Vec<u64>,
}

/// Name, scope and whether a negated cue changes sides, of a family or a topic of composed cues.
pub(super) fn traits(id: u16) -> (&'static str, Scope, bool) {
    let id = usize::from(id);
    match families().get(id) {
        Some(family) => (family.name, family.scope, family.flips),
        None => {
            let topic = topics()[id - families().len()];
            (topic.name, topic.scope, false)
        }
    }
}

/// Whether the id is a topic of claims.
pub(super) fn is_claim(id: u16) -> bool {
    usize::from(id)
        .checked_sub(families().len())
        .is_some_and(|n| topics()[n].claim)
}

/// An item of a list of names (`quiz: id, opens_at, locked`) says nothing about its subject.
fn is_listed(t: &Tagged<'_>, range: (usize, usize), from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    let commas = (range.0..range.1).filter(|&i| lexed.raw(i) == ",").count();
    let colon = (range.0..from).any(|i| matches!(lexed.raw(i), ":" | "("));
    let before = from > range.0 && matches!(lexed.raw(from - 1), "," | "(" | ":");
    let after = to >= range.1 || any_of!(lexed.raw(to), "," ")" "." ";");
    if colon && before && after && commas >= 2 {
        return true;
    }
    // `rooms with name, size and price per hour`: fields, in a fragment.
    let led = (range.0..from)
        .rev()
        .find(|&i| any_of!(lexed.word(i), "with" "has" "have" "fields" "columns" "holds"));
    let plain = |i: usize| {
        lexed.is_symbol(i, ",")
            || any_of!(lexed.word(i), "and" "or")
            || lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP | class::MODAL)
    };
    !t.is(from, class::STOP | class::NEG)
        && led.is_some_and(|led| {
            (led + 1..from).any(|i| lexed.is_symbol(i, ",")) && (led + 1..from).all(plain)
                || (led + 1..from).all(plain)
                    && lexed.is_symbol(to, ",")
                    && commas >= 2
                    && to < range.1
        })
}

/// The families whose cues are classes of words instead of phrases.
#[derive(Clone, Copy)]
struct Special {
    library: Option<u16>,
    database: Option<u16>,
    cloud: Option<u16>,
    hand: Option<u16>,
    limits: Option<u16>,
    network: Option<u16>,
}

fn named_family(name: &str) -> Option<u16> {
    let at = families().iter().position(|f| f.name == name);
    at.map(|at| at as u16)
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
        limits: named_family("limits"),
        network: named_family("network access"),
    })
}

/// The number of the family a topic belongs to: its own, or that of the family it adds cues to.
fn family_of(topic: u16) -> u16 {
    static ALL: OnceLock<Vec<u16>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let own = |at: usize| (families().len() + at) as u16;
        let number = |(at, topic): (usize, &&super::cues::Topic)| {
            let joined = families().iter().position(|f| f.name == topic.name);
            joined
                .filter(|_| topic.joins)
                .map_or(own(at), |found| found as u16)
        };
        topics().iter().enumerate().map(number).collect()
    });
    all[usize::from(topic)]
}

/// `A review is visible to all`: the subject, no act of reviewing.
fn is_subject(source: &Source<'_>, s: &Statement, tokens: &[usize]) -> bool {
    let lexed = &source.tagged.lexed;
    tokens[0] < s.verb_at
        && tokens.last().is_some_and(|&last| last > s.verb_at)
        && any_of!(lexed.word(tokens[0]), "review" "reviews" "release" "releases" "vote" "votes" "check" "checks" "signature" "signatures")
        && s.head == Some(canonical(lexed.tokens[tokens[0]].key))
        && !(s.range.0..s.range.1)
            .any(|i| any_of!(lexed.word(i), "before" "until" "must" "needed" "required"))
}

/// The stands of all statements.
pub(super) fn read_stands(sources: &[Source<'_>], statements: &[Statement]) -> Vec<Stand> {
    let Special {
        library,
        database,
        cloud,
        hand,
        limits,
        network,
    } = special();
    let mut out = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        let start = out.len();
        let t = &sources[s.source].tagged;
        let lexed = &t.lexed;
        // `The operator can stop it by hand`: a person may, none must.
        let by_choice = |at: usize| {
            any_of!(lexed.word(at), "by" "hand" "manually" "manual")
                && (s.range.0..at).any(|i| any_of!(lexed.word(i), "can" "may" "could"))
                && !(s.range.0..s.range.1).any(|i| lexed.word(i) == "only")
        };
        // `up to 6 seats at once`: at the same time, not without delay.
        let together = |at: usize| {
            lexed.word(at) == "at"
                && lexed.word(at + 1) == "once"
                && (at.saturating_sub(4).max(s.range.0)..at).any(|i| {
                    lexed.tokens[i].kind == TokenKind::Number
                        || t.is(i, class::NUMERAL)
                        || any_of!(lexed.word(i), "both" "several" "many" "two" "than")
                })
        };
        for found in find_cues(&sources[s.source], s.range) {
            if together(found.tokens[0])
                && traits(family_of(found.topic)).0 != "one after the other"
            {
                continue;
            }
            if found.side == Side::B
                && any_of!(topics()[usize::from(found.topic)].name, "who acts" "approval")
                && (by_choice(found.tokens[0]) || is_subject(&sources[s.source], s, &found.tokens))
            {
                continue;
            }
            let end = found.tokens.last().map_or(0, |i| i + 1);
            if is_listed(t, s.range, found.tokens[0], end) {
                continue;
            }
            let cue = found.tokens.iter().map(|&i| canonical(lexed.tokens[i].key));
            out.push(Stand {
                family: family_of(found.topic),
                side: found.side,
                statement: n as u32,
                at: found.tokens[0],
                denies: found.tokens.iter().any(|&i| t.is(i, class::NEG)),
                to: found.tokens.last().map_or(0, |i| i + 1),
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
                to,
                denies: false,
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
            // `the delete command`, `two locks`: a thing of that name.
            let named = hit.to - hit.from == 1
                && (any_of!(lexed.word(hit.to), "button" "buttons" "command" "commands" "icon" "menu" "dialog" "permission" "permissions"
                    "right" "rights")
                    || hit.from > s.range.0
                        && lexed.word(hit.from).ends_with('s')
                        && t.is(hit.from - 1, class::NUMERAL));
            let chosen = families()[usize::from(family)].name == "who acts"
                && side == Side::A
                && by_choice(hit.from);
            if chosen
                || named
                || together(hit.from)
                || inside
                || describes
                || is_listed(t, s.range, hit.from, hit.to)
            {
                continue;
            }
            let negated = (hit.from.saturating_sub(3).max(s.range.0)..hit.from)
                .any(|i| t.is(i, class::NEG) && lexed.word(i + 1) != "two");
            // `No process in the container may run as root`
            let negated = negated
                || (families()[usize::from(family)].flips
                    && any_of!(lexed.word(s.range.0), "no" "nobody" "none")
                    || scope != Scope::Near && lexed.word(s.range.0) == "nothing")
                    && lexed.word(s.range.0 + 1) != "two"
                    && !(s.range.0..hit.from).any(|i| lexed.tokens[i].kind == TokenKind::Symbol)
                    && hit.from > s.range.0;
            // `Nobody approves a request of their own`: denied of one's own only.
            if negated
                && (hit.to..s.range.1)
                    .any(|i| any_of!(lexed.word(i), "own" "themselves" "himself" "herself"))
            {
                continue;
            }
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
        if let Some(family) = library {
            for (at, side) in named::find_parts(&sources[s.source], s.range) {
                push(family, side, at, at + 1);
            }
        }
        if let Some(family) = network {
            for at in named::find_addresses(&sources[s.source], s.range) {
                push(family, Side::B, at, at + 1);
            }
        }
        let ruled_out = kinds::denied_kinds(&sources[s.source], s.range);
        for &(family, from, to) in &ruled_out {
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
        // The noun that is denied is no use of it.
        if !ruled_out.is_empty() {
            let used = |x: &Stand| {
                let denied = |&(family, from, to): &(u16, usize, usize)| {
                    x.family == family && from <= x.at && x.at < to
                };
                x.side == Side::A || !ruled_out.iter().any(denied)
            };
            let own: Vec<Stand> = out.drain(start..).filter(used).collect();
            out.extend(own);
        }
    }
    out
}
