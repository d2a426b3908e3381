//! Said and denied, word by word: a sentence is read for what each negation in it covers, and another sentence about
//! the same thing that asserts the covered words contradicts it.
//!
//! A negation covers the words behind it up to the end of its clause (`not`, `never`, `cannot`), or the noun phrase
//! behind it (`without`, a `no` inside the sentence). A word with a negative meaning (`excluded`, `anonymous`,
//! `non-refundable`) is a negation that covers itself; two negations cancel out. What stands outside is the frame: it
//! says what the denial is about.

use super::super::Source;
use super::claims::{is_act, is_light};
use super::concept::{Concept, concept_at};
use super::grammar::{is_boundary, is_preposition};
use super::relation::common;
use super::statement::{Statement, is_filler};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// One negation of a statement.
#[derive(Debug)]
struct Denial {
    statement: u32,
    /// Concepts that are denied, sorted.
    scope: Vec<u64>,
    /// Concepts of the same clause that are not denied, sorted.
    frame: Vec<u64>,
    /// Denies it of everything: `nothing is …`, `nobody …`.
    wild: bool,
    /// Leaves no exception: never, no, nothing.
    absolute: bool,
    /// Concepts behind a denied noun phrase, to the end of the clause: `no Wi-Fi in the car park`.
    tail: Vec<u64>,
    /// Denied of all that is built: `the application does not use cookies`.
    whole: bool,
    /// Denied of what lies between.
    between: bool,
    /// The denial is a word of negative meaning.
    lexical: bool,
    /// Holds up to some event only: `nothing is merged before all compile`, `hidden until somebody looked`.
    passing: bool,
}

/// What a statement asserts and denies.
#[derive(Debug, Default)]
struct Reading {
    asserted: Vec<u64>,
    denials: Vec<Denial>,
}

/// Finds statements that assert what another denies.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let readings: Vec<Reading> = statements
        .iter()
        .enumerate()
        .map(|(n, s)| read(&sources[s.source], s, n as u32))
        .collect();
    if readings.iter().all(|r| r.denials.is_empty()) {
        return;
    }
    let mut index: Vec<(u64, u32)> = readings
        .iter()
        .enumerate()
        .flat_map(|(n, r)| r.asserted.iter().map(move |k| (*k, n as u32)))
        .collect();
    index.sort_unstable();
    let of = |key: u64| {
        let from = index.partition_point(|e| e.0 < key);
        let to = from + index[from..].partition_point(|e| e.0 <= key);
        &index[from..to]
    };
    for denial in readings.iter().flat_map(|r| &r.denials) {
        let mut rare: Vec<(usize, u64)> = denial.scope.iter().map(|k| (of(*k).len(), *k)).collect();
        rare.sort_unstable();
        for key in rare.iter().take(2).map(|r| r.1) {
            for &(_, j) in of(key).iter().take(CANDIDATES) {
                let (s, o) = (
                    &statements[denial.statement as usize],
                    &statements[j as usize],
                );
                if s.source != o.source && clashes(sources, s, denial, o, &readings[j as usize]) {
                    pairs.add(
                        denial.statement as usize,
                        j as usize,
                        "whether it happens at all",
                    );
                }
            }
        }
    }
}

fn clashes(
    sources: &[Source<'_>],
    s: &Statement,
    denial: &Denial,
    o: &Statement,
    reading: &Reading,
) -> bool {
    let held = |k: &u64| reading.asserted.binary_search(k).is_ok();
    // What happens every night or after ten minutes happens by itself.
    let scheduled = o.timed || o.clocked;
    let automatic = fnv(stem("automatically"));
    let missing = denial
        .scope
        .iter()
        .filter(|k| !(held(k) || scheduled && **k == automatic))
        .count();
    // `left out of the description`, `left out of the analysis`: where to is no detail.
    let aimed = !o.landmarks.is_empty()
        && denial
            .scope
            .iter()
            .any(|k| !held(k) && s.landmarks.binary_search(k).is_ok());
    let mut enough = missing == 0 || denial.scope.len() >= 4 && missing == 1 && !aimed;
    // `No mails are sent for events`, `a mail goes out for every event`: the verb says little.
    if !enough && (denial.absolute || s.emphatic) && o.emphatic {
        let heavy = || denial.scope.iter().filter(|k| !light_verbs().contains(k));
        let lost = heavy().filter(|k| !held(k)).count();
        enough = heavy().count() >= 2
            && (lost == 0 || heavy().count() >= 4 && lost == 1)
            && acts_alike(&sources[o.source], o, denial);
    }
    if !enough || s.is_reverse_of(o) || s.apart(o) || s.apart_in_time(o) || s.apart_in_days(o) {
        return false;
    }
    let weigh = |keys: &[u64]| -> usize {
        let own = keys.iter().filter(|k| held(k));
        own.map(|k| if s.generic.contains(k) { 1 } else { 2 }).sum()
    };
    // `does not stop between floors`
    if denial.between
        && !(o.range.0..o.range.1).any(|k| sources[o.source].tagged.lexed.word(k) == "between")
    {
        return false;
    }
    if !denial.tail.is_empty() && !denial.tail.iter().any(held) {
        return false;
    }
    // `left out of the description`, `left out of the change analysis`
    if denial.lexical
        && !s.landmarks.is_empty()
        && !o.landmarks.is_empty()
        && common(&s.landmarks, &o.content) == 0
        && common(&o.landmarks, &s.content) == 0
    {
        return false;
    }
    let (frame, scope) = (weigh(&denial.frame), weigh(&denial.scope));
    // `Season tickets are …` says nothing about `tickets are …`.
    let narrower =
        |a: &Statement, b: &Statement| a.phrase.iter().any(|k| b.content.binary_search(k).is_err());
    // The subject of one stands in the other.
    let known = |a: &Statement, b: &Statement| {
        a.head
            .or(a.subject)
            .is_none_or(|k| b.content.binary_search(&k).is_ok())
    };
    let related = known(s, o) || known(o, s);
    let about = denial.wild && (denial.scope.len() >= 2 || !s.foreign(o))
        || denial.whole && denial.scope.iter().any(|k| !s.generic.contains(k))
        || (frame >= 2 || s.same_subject(o)) && !s.foreign(o) && related;
    let about = about || s.head.is_none() && o.head.is_none() && scope >= 4;
    let about = about && (!denial.lexical || s.same_subject(o) || frame >= 3);
    // What is hidden from all may be seen by moderators.
    let others = denial.lexical && !o.persons.is_empty() && common(&s.persons, &o.persons) == 0;
    let about = about && !others;
    let about = about && (s.head.is_none() || s.head != o.head || !narrower(s, o) || o.universal);
    // `A bike in repair cannot be booked` says nothing about other bikes.
    let about = about && (!s.is_part_of(o) || o.emphatic);
    let sworn = scope == 1 && frame >= 2 && s.same_subject(o) && o.universal;
    about && (scope >= 2 || sworn) && meets(s, denial, o)
}

/// Verbs of sending and giving: what matters is the thing.
fn light_verbs() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let words = "send go get write make give put receive come issue produce create enter";
        let keys = words.split(' ').map(|w| canonical(fnv(stem(w))));
        keys.collect()
    })
}

/// Every verb of `o` says little, or is a word of the denying statement.
fn acts_alike(source: &Source<'_>, o: &Statement, denial: &Denial) -> bool {
    let lexed = &source.tagged.lexed;
    (o.range.0..o.range.1)
        .filter(|&i| is_act(source, o, i) && !is_light(lexed.word(i)))
        .map(|i| canonical(lexed.tokens[i].key))
        .all(|k| {
            light_verbs().contains(&k) || denial.scope.contains(&k) || denial.frame.contains(&k)
        })
}

/// Conditions and parts do not keep the two apart.
fn meets(s: &Statement, denial: &Denial, o: &Statement) -> bool {
    let s_part = s.conditional || s.narrowed || denial.passing;
    let o_part = (o.conditional || o.narrowed) && !o.unexcepted;
    match (s_part, o_part) {
        (false, false) => true,
        (true, false) => {
            o.unexcepted && !s.is_case_beside(o)
                || s.head
                    .or(s.subject)
                    .is_some_and(|h| o.quantified.contains(&h))
                || s.same_condition(o)
                    && !s.narrowed
                    && (!denial.passing
                        || o.emphatic
                        || o.timed && o.measured && o.phases.is_empty())
                || !s.condition.is_empty() && common(&s.condition, &o.content) == s.condition.len()
        }
        (false, true) => denial.absolute || s.emphatic,
        (true, true) => {
            s.same_condition(o) && s.limit == o.limit
                || !s.narrowed
                    && !s.condition.is_empty()
                    && common(&s.condition, &o.content) == s.condition.len()
        }
    }
}

/// What can be said of an answer `No`.
pub(super) fn is_said_of(word: &str) -> bool {
    any_of!(word, "needs" "requires" "means" "is" "opens" "leads" "closes" "ends" "asks" "counts" "keeps" "returns" "shows" "stops")
}

/// How far the negation at `at` reaches: the tokens it covers, and whether that is a noun phrase only.
fn reach(source: &Source<'_>, range: (usize, usize), at: usize) -> Option<(usize, bool)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = lexed.word(at);
    let next = lexed.word(at + 1);
    // `no later than`, `not only`, `nothing but`, `not yet`
    if any_of!(next, "later" "more" "fewer" "less" "earlier" "longer" "sooner" "only" "but" "yet" "other" "new" "additional" "further" "matter" "else")
        || word == "no"
            && lexed
                .tokens
                .get(at + 1)
                .is_some_and(|n| n.kind != TokenKind::Word)
    {
        return None;
    }
    // `No needs a photo`: an answer; `Nothing is shown as "outside"`: a value.
    let answer = word == "no" && at == range.0 && is_said_of(next)
        || word == "nothing"
            && at == range.0
            && lexed.word(at + 3) == "as"
            && lexed
                .tokens
                .get(at + 4)
                .is_some_and(|n| n.quoted || n.kind != TokenKind::Word);
    if answer {
        return None;
    }
    // `at no time`, `under no circumstances`: never.
    let never = at > range.0
        && any_of!(lexed.word(at - 1), "at" "under" "in" "by" "on")
        && any_of!(next, "time" "circumstances" "circumstance" "case" "means" "account" "condition" "conditions" "way" "point" "moment" "event");
    let noun = word == "without"
        || word == "no"
            && !never
            && at > range.0
            && !any_of!(lexed.raw(at - 1), "," ":" "-" "–" "there");
    let ends = |i: usize| {
        lexed.tokens[i].kind == TokenKind::Symbol && !matches!(lexed.raw(i), "'" | "/")
            || any_of!(lexed.word(i), "but" "unless" "if" "when" "while" "until" "before" "after" "once" "because" "so" "and" "than" "except")
            || noun
                && any_of!(lexed.word(i), "in" "on" "at" "from" "by" "to" "of" "with" "or" "for")
    };
    let to = (at + 1..range.1).find(|&i| ends(i)).unwrap_or(range.1);
    Some((to, noun))
}

/// `until all compile`, `before the office has checked it`: an event behind which it is otherwise. A length of time or a
/// time of day is none.
fn passes(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    at + 1 < range.1
        && any_of!(t.lexed.word(at), "before" "until" "till")
        && !(at + 1..(at + 4).min(range.1)).any(|k| {
            t.lexed.tokens[k].kind == TokenKind::Number
                || t.is(k, class::TIME_UNIT | class::NUMERAL | class::WEEKDAY)
        })
}

/// What one negation covers: behind the token `from`, before the token `to`.
#[derive(Debug, Clone, Copy)]
struct Cover {
    from: usize,
    to: usize,
    /// A noun phrase only.
    noun: bool,
    /// Leaves no exception.
    absolute: bool,
    /// Denied of everything.
    wild: bool,
}

/// Every negation of a statement that denies something.
fn read_covers(source: &Source<'_>, s: &Statement) -> Vec<Cover> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut out: Vec<Cover> = Vec::new();
    for i in s.range.0..s.range.1 {
        if lexed.tokens[i].quoted || !t.is(i, class::NEG) {
            continue;
        }
        // `anything that is not a number`, `rows without a date are …` narrow; they deny nothing.
        let relative = (i.saturating_sub(3).max(s.range.0)..i)
            .any(|k| any_of!(lexed.word(k), "that" "which" "who" "whose" "if" "when" "where"));
        let narrows = lexed.word(i) == "without"
            && (i == s.range.0
                || s.finite.is_none_or(|v| i < v)
                || t.is(i - 1, class::TIME_UNIT)
                // `writes TBD for papers without a room`
                || i > s.range.0 + 1
                    && any_of!(lexed.word(i - 2), "for" "of" "to" "from" "about" "on" "all" "every" "any"));
        // `no task twice`, `no sub longer than 80 lines`: the denial is about a part.
        // `no teacher, class or room twice`: a comma of a list ends nothing.
        let listed = |k: usize| {
            lexed.is_symbol(k, ",")
                && (k + 1..(k + 5).min(s.range.1)).any(|n| any_of!(lexed.word(n), "or" "and" "nor"))
        };
        let part = (i + 1..(i + 8).min(s.range.1))
            .take_while(|&k| !is_boundary(source, k) || listed(k))
            .any(
                |k| any_of!(lexed.word(k), "twice" "than" "himself" "herself" "themselves" "he" "she" "own" "others" "another" "more" "unless" "same" "itself" "other's" "others'")
                    || lexed.word(k) == "other" && !any_of!(lexed.word(k - 1), "no" "any" "every" "all" "the"),
            );
        let relative = relative || part || (s.range.0..i).any(|k| lexed.word(k) == "otherwise");
        let case = (i..s.range.1).any(|k| lexed.is_symbol(k, ":"));
        if relative || narrows || case {
            continue;
        }
        // `never stops because of one bad row`: for that reason.
        if let Some((to, noun)) = reach(source, s.range, i)
            && !(lexed.word(to) == "because" && lexed.word(to + 1) == "of")
        {
            let word = lexed.word(i);
            // `API_TOKEN (set by Vault, no default)`: said of the thing before the bracket.
            let bracketed = (s.range.0..i)
                .rev()
                .find(|&k| matches!(lexed.raw(k), "(" | ")"))
                .is_some_and(|k| lexed.raw(k) == "(");
            let start =
                !bracketed && (i == s.range.0 || matches!(lexed.raw(i - 1), "," | ":" | "-" | "–"));
            let never = !noun && word == "no" && i == s.range.0 + 1;
            let wild =
                never || any_of!(word, "nothing" "nobody") || any_of!(word, "no" "none") && start;
            let absolute = wild || any_of!(word, "never" "no" "neither" "nor");
            let cover = |from, to| Cover {
                from,
                to,
                noun,
                absolute,
                wild,
            };
            // `neither changed nor removed`, `not changed or removed`: each is denied.
            let mut from = i;
            for k in i + 1..to {
                if any_of!(lexed.word(k), "or" "nor") {
                    out.push(cover(from, k));
                    from = k;
                }
            }
            out.push(cover(from, to));
        }
    }
    out
}

fn read(source: &Source<'_>, s: &Statement, n: u32) -> Reading {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut out = Reading::default();
    let scopes = read_covers(source, s);
    let mut words: Vec<(Concept, usize)> = Vec::new();
    for i in s.range.0..s.range.1 {
        let c = t.classes[i];
        // `at any time`, `in any way`
        let emphasis = i > s.range.0
            && any_of!(lexed.word(i - 1), "any" "all" "no")
            && any_of!(lexed.word(i), "time" "times" "way" "case" "point" "moment" "means");
        // What a program prints denies nothing, and a sentence that it prints says nothing.
        let near = |k: usize| lexed.tokens.get(k).is_some_and(|t| t.quoted);
        let sentence =
            near(i.wrapping_sub(1)) && near(i.wrapping_sub(2)) || near(i + 1) && near(i + 2);
        let printed = lexed.tokens[i].quoted && (sentence || concept_at(source, i).negative);
        let telling = !(emphasis || printed)
            && lexed.tokens[i].kind == TokenKind::Word
            && c & (class::STOP
                | class::NEG
                | class::UNIVERSAL
                | class::CONDITION
                | class::NUMERAL)
                == 0
            && !is_filler(lexed.word(i));
        if telling {
            words.push((concept_at(source, i), i));
        }
    }
    let verb = s.finite;
    // `reported posts`, `a post reported by three is …`: the participle describes, it asserts nothing.
    let describes = |i: usize| {
        let noun_next = lexed
            .tokens
            .get(i + 1)
            .is_some_and(|n| n.kind == TokenKind::Word)
            && i + 1 < s.range.1
            && t.classes[i + 1] & (class::STOP | class::NEG | class::CONDITION | class::UNIVERSAL)
                == 0
            && !is_preposition(lexed.word(i + 1))
            && !lexed.word(i + 1).ends_with("ly");
        let behind_verb = i > s.range.0
            && (t.is(i - 1, class::MODAL | class::NEG)
                || any_of!(lexed.word(i - 1), "is" "are" "be" "been" "was" "were" "gets" "get")
                || lexed.word(i - 1).ends_with("ly"));
        lexed.word(i).ends_with("ed")
            && !t.is(i, class::STOP)
            && (verb.is_some_and(|v| i < v) || noun_next && !behind_verb)
    };
    let inside = |at: usize, scope: &Cover| scope.from < at && at < scope.to;
    for (concept, at) in &words {
        let flips = scopes.iter().filter(|sc| inside(*at, sc)).count();
        // `sent once there is a connection`: a case, not a claim.
        let case = (s.range.0 + 1..*at).any(|k| {
            lexed.word(k) == "once" && !is_boundary(source, k - 1)
                || lexed.word(k) == "soon" && lexed.word(k + 1) == "as"
        });
        if concept.negative == (flips % 2 == 1) && !describes(*at) && !case {
            out.asserted.push(concept.key);
        }
    }
    out.asserted.sort_unstable();
    out.asserted.dedup();
    let mut push = |mut scope: Vec<u64>,
                    mut frame: Vec<u64>,
                    tail: Vec<u64>,
                    wild,
                    absolute,
                    lexical,
                    between,
                    whole,
                    passing| {
        scope.sort_unstable();
        scope.dedup();
        frame.sort_unstable();
        frame.dedup();
        if !scope.is_empty() {
            out.denials.push(Denial {
                statement: n,
                scope,
                frame,
                wild,
                absolute,
                tail,
                between,
                whole,
                lexical,
                passing,
            });
        }
    };
    for sc in &scopes {
        let covered: Vec<&(Concept, usize)> =
            words.iter().filter(|(_, at)| inside(*at, sc)).collect();
        if covered.iter().any(|(c, _)| c.negative) {
            continue;
        }
        // In `does not use cookies` the cookies are denied.
        let light = |at: usize| any_of!(lexed.word(at), "use" "uses" "used" "using" "need" "set" "contain" "require" "depend" "rely" "carry");
        let mut scope: Vec<u64> = covered
            .iter()
            .filter(|(_, at)| !light(*at))
            .map(|(c, _)| c.key)
            .collect();
        let frame: Vec<u64> = words
            .iter()
            .filter(|(_, at)| !inside(*at, sc))
            .map(|(c, _)| c.key)
            .collect();
        // `stores none of them`, `keeps nothing`: the verb before is denied.
        if any_of!(lexed.word(sc.from), "none" "nothing")
            && let Some((c, _)) = words.iter().find(|w| w.1 + 1 == sc.from)
            && verb.is_some_and(|v| v < sc.from)
        {
            scope = vec![c.key];
        }
        // `reads the file and never writes to it`: what stands before is meant.
        if (sc.from + 1..sc.to).any(|k| any_of!(lexed.word(k), "it" "them"))
            && let Some((c, _)) = words.iter().rev().find(|w| w.1 < sc.from)
            && lexed.word(sc.from - 1) == "and"
        {
            scope.push(c.key);
        }
        // `Remove nothing of the old gallery`: the verb is denied.
        if lexed.word(sc.from) == "nothing"
            && sc.from == s.range.0 + 1
            && let Some((c, _)) = words.iter().find(|w| w.1 == s.range.0)
        {
            scope.push(c.key);
        }
        // `Recording of sessions is not permitted`: what stands before is denied.
        let forbidden =
            any_of!(lexed.word(sc.from), "forbidden" "prohibited" "banned" "disallowed");
        let permitted = (sc.from..sc.to).any(|k| is_filler(lexed.word(k)));
        // `MongoDB must not be used anywhere`: neither.
        let unused = covered.first().is_some_and(|w| {
            any_of!(lexed.word(w.1), "used" "needed" "required" "installed")
                && any_of!(lexed.word(w.1 - 1), "be" "is" "are" "not" "never")
        }) && covered
            .iter()
            .skip(1)
            .all(|w| t.is(w.1, class::GENERIC | class::WHOLE));
        if unused {
            scope.clear();
        }
        if scope.is_empty()
            && (permitted && lexed.word(sc.from) != "without" || forbidden || unused)
        {
            scope = words
                .iter()
                .filter(|w| w.1 < sc.from)
                .map(|w| w.0.key)
                .collect();
        }
        let close = (sc.to..s.range.1)
            .find(|&k| is_boundary(source, k))
            .unwrap_or(s.range.1);
        let tail = words
            .iter()
            .filter(|(_, at)| sc.noun && *at >= sc.to && *at < close)
            .map(|(c, _)| c.key)
            .collect();
        let whole = !(s.range.0..s.range.1).any(|k| lexed.word(k) == "itself")
            && (s.range.0..sc.from + 2)
                .any(|k| light(k) || any_of!(lexed.word(k), "sets" "needs" "requires" "contains"))
            && (s.range.0..sc.from).all(|k| {
                t.is(k, class::STOP | class::WHOLE | class::UNIVERSAL)
                    || light(k)
                    || any_of!(lexed.word(k), "sets" "needs" "requires" "contains")
                    || lexed.tokens[k].kind == TokenKind::Symbol
            });
        let whole = whole || unused && scope.len() == 1;
        let between = (sc.from..sc.to).any(|k| lexed.word(k) == "between");
        let passing = passes(source, s.range, sc.to);
        push(
            scope,
            frame,
            tail,
            sc.wild,
            sc.absolute,
            false,
            between,
            whole,
            passing,
        );
    }
    for (concept, at) in words.iter().filter(|w| w.0.negative) {
        if scopes.iter().any(|sc| inside(*at, sc)) || describes(*at) || verb.is_none_or(|v| *at < v)
        {
            continue;
        }
        let frame = words
            .iter()
            .filter(|w| w.1 != *at)
            .map(|(c, _)| c.key)
            .collect();
        let passing = (*at + 1..s.range.1)
            .take_while(|&k| !lexed.is_symbol(k, ","))
            .any(|k| passes(source, s.range, k));
        push(
            vec![concept.key],
            frame,
            Vec::new(),
            false,
            false,
            true,
            false,
            false,
            passing,
        );
    }
    out
}
