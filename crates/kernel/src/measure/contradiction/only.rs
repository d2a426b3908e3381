//! Only: `only F do P` (or `P by F only`, `P only F`) against a statement in which something else does P.
//!
//! The statement is cut into its focus (what `only` lets through) and its frame (what it is about). Another statement
//! that holds the whole frame and puts something else, or everything, in the place of the focus contradicts it.

use super::super::Source;
use super::concept::{Concept, concept_at};
use super::grammar::{is_boundary, is_preposition};
use super::statement::{Index, Statement, is_filler};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// The place that the focus takes in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Who or what does it, or to whom it is done: before the verb.
    Subject,
    /// Who does it, behind `by`.
    Agent,
    /// Behind this preposition.
    Behind(u64),
    /// Behind the verb.
    Object,
}

#[derive(Debug)]
struct Focus {
    slot: Slot,
    words: Vec<Concept>,
    frame: Vec<u64>,
    /// The focus are people.
    people: bool,
}

/// Finds statements that go beyond what another lets through.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements.iter().enumerate() {
        if !s.limiting {
            continue;
        }
        let source = &sources[s.source];
        let lexed = &source.tagged.lexed;
        if let Some(own) = read_own(source, s) {
            for &(_, j) in index.of(own).iter().take(CANDIDATES) {
                let o = &statements[j as usize];
                if o.source != s.source && reaches_others(sources, s, own, o) {
                    pairs.add(i, j as usize, "the only one");
                }
            }
        }
        let only = |k: usize| {
            !lexed.tokens[k].quoted
                && (any_of!(lexed.word(k), "only" "exclusively" "solely" "alone")
                    || lexed.word(k) == "no" && lexed.word(k + 1) == "other" && k > s.range.0
                    || any_of!(lexed.word(k + 1), "else" "besides")
                        && any_of!(lexed.word(k), "one" "nobody" "none" "nothing" "nowhere")
                    || lexed.word(k + 1) == "one" && any_of!(lexed.word(k + 2), "else" "besides"))
        };
        let worded = read_reserved(source, s).or_else(|| {
            let at = (s.range.0..s.range.1).find(|&k| only(k))?;
            read_focus(source, s, at)
        });
        let Some(focus) = worded else {
            continue;
        };
        // One word of the frame may be missing, so the two rarest meet every candidate.
        let mut rare: Vec<(usize, u64)> = focus
            .frame
            .iter()
            .map(|k| (index.of(*k).len(), *k))
            .collect();
        rare.sort_unstable();
        let keys = rare.iter().take(2).map(|r| r.1);
        for &(_, j) in keys.flat_map(|k| index.of(k).iter().take(CANDIDATES)) {
            let o = &statements[j as usize];
            if o.source != s.source && exceeds(&sources[o.source], s, &focus, o) {
                pairs.add(i, j as usize, "the only one");
            }
        }
    }
}

/// `only their own bids`, `their own bids only`: the bids.
fn read_own(source: &Source<'_>, s: &Statement) -> Option<u64> {
    let lexed = &source.tagged.lexed;
    let own = (s.range.0..s.range.1).find(|&k| lexed.word(k) == "own")?;
    let only = (own.saturating_sub(4).max(s.range.0)..(own + 4).min(s.range.1))
        .any(|k| any_of!(lexed.word(k), "only" "just" "nothing" "exclusively"));
    let thing = (own + 1..(own + 3).min(s.range.1)).find(|&k| telling(source, k))?;
    (only && !s.negative).then(|| canonical(lexed.tokens[thing].key))
}

/// The same people do it to what belongs to others: `see the bids of all other bidders`.
fn reaches_others(sources: &[Source<'_>], s: &Statement, own: u64, o: &Statement) -> bool {
    let lexed = &sources[o.source].tagged.lexed;
    let others = (o.range.0..o.range.1).any(|k| {
        any_of!(lexed.word(k), "other" "others" "others'" "other's" "another" "another's" "colleagues" "everyone's" "everybody's" "anyone's" "foreign")
            && k > o.finite.unwrap_or(o.range.0)
            || any_of!(lexed.word(k), "all" "every" "any")
                && (k + 1..(k + 3).min(o.range.1))
                    .any(|e| canonical(lexed.tokens[e].key) == own)
    });
    others
        && !o.negative
        && o.condition.is_empty()
        && o.content.binary_search(&own).is_ok()
        && s.same_subject(o)
        && !o.phrase.iter().any(|k| s.content.binary_search(k).is_err())
        && !(o.range.0..o.range.1).any(|k| any_of!(lexed.word(k), "own" "average" "number"))
        && !super::claims::strange_acts(sources, s, o, &[])
}

fn telling(source: &Source<'_>, i: usize) -> bool {
    let t = &source.tagged;
    t.lexed.tokens[i].kind == TokenKind::Word
        && !t.is(
            i,
            class::STOP | class::NEG | class::UNIVERSAL | class::CONDITION | class::NUMERAL,
        )
        && !is_filler(t.lexed.word(i))
}

fn concepts(source: &Source<'_>, from: usize, to: usize) -> Vec<Concept> {
    (from..to)
        .filter(|&i| telling(source, i))
        .map(|i| concept_at(source, i))
        .collect()
}

/// The concepts of some words, sorted.
fn keys_of(source: &Source<'_>, from: usize, to: usize) -> Vec<u64> {
    let mut keys: Vec<u64> = concepts(source, from, to)
        .into_iter()
        .map(|c| c.key)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The same said in other words: `reserved for F`, `nobody but F`, `F alone does`, `F is the only one who`.
fn read_reserved(source: &Source<'_>, s: &Statement) -> Option<Focus> {
    let lexed = &source.tagged.lexed;
    let (start, end) = s.range;
    let close = |from: usize| {
        let ends = |k: usize| {
            is_boundary(source, k) || is_preposition(lexed.word(k)) && lexed.word(k) != "of"
        };
        (from..end).find(|&k| ends(k)).unwrap_or(end)
    };
    for k in start..end {
        let (word, next, third) = (lexed.word(k), lexed.word(k + 1), lexed.word(k + 2));
        if lexed.tokens[k].quoted {
            continue;
        }
        // `reserved for F`, `restricted to F`, `the preserve of F`, `a matter for F`
        let reserved = any_of!(word, "reserved" "restricted" "limited" "confined" "exclusive" "entrusted")
            && any_of!(next, "for" "to")
            || any_of!(word, "preserve" "privilege" "prerogative") && next == "of";
        if reserved && k > start {
            return focus_of(source, s, Slot::Agent, k + 2, close(k + 2)).filter(|f| f.people);
        }
        // `a right of F only`
        let of = any_of!(word, "right" "task" "job" "duty" "matter") && any_of!(next, "of" "for");
        if of && (k..end).any(|i| any_of!(lexed.word(i), "only" "alone" "exclusively")) {
            return focus_of(source, s, Slot::Agent, k + 2, close(k + 2)).filter(|f| f.people);
        }
        // `Just F does`
        if k == start && word == "just" {
            let to = s.finite.or_else(|| {
                (k..end)
                    .find(|&i| source.tagged.is(i, class::PERSON))
                    .map(|i| i + 1)
            })?;
            return focus_of(source, s, Slot::Subject, k + 1, to).filter(|f| f.people);
        }
        // `nobody but F does`, `no one other than F does`; `by nobody except F`, `not by anyone other than F`
        let nobody = any_of!(word, "nobody" "anyone" "anybody" "none")
            || word == "one" && k > start && any_of!(lexed.word(k - 1), "no" "any");
        let but = any_of!(next, "but" "except" "besides" "save").then_some(k + 2);
        let other = (any_of!(next, "other") && third == "than"
            || next == "apart" && third == "from")
            .then_some(k + 3);
        if let Some(from) = but.or(other).filter(|_| nobody) {
            let to = (from..end).find(|&i| {
                source.tagged.is(i, class::MODAL)
                    || Some(i) == s.finite
                    || super::grammar::is_verb(lexed.tokens[i].key)
            });
            return focus_of(
                source,
                s,
                Slot::Agent,
                from,
                to.unwrap_or_else(|| close(from)),
            );
        }
        // `apart from F nobody does`
        if k == start
            && (word == "apart" && next == "from" || any_of!(word, "besides" "except"))
            && let Some(to) = (k..end).find(|&i| any_of!(lexed.word(i), "nobody" "no"))
        {
            return focus_of(source, s, Slot::Agent, k + 1, to);
        }
        // `F alone does`, `F is the only one who does`
        let verb = s.finite.is_some_and(|v| v == k + 1);
        if word == "alone"
            && k > start
            && (source.tagged.is(k + 1, class::MODAL)
                || verb
                || super::grammar::is_verb(lexed.tokens.get(k + 1).map_or(0, |t| t.key)))
        {
            return focus_of(source, s, Slot::Subject, start, k);
        }
        // `F is the only way to do P`
        if word == "the"
            && next == "only"
            && any_of!(third, "way" "means" "method" "route" "path" "channel" "possibility")
            && let Some(verb) = s.finite.filter(|v| *v < k)
        {
            let mut focus = focus_of(source, s, Slot::Agent, start, verb)?;
            focus.frame = keys_of(source, k + 3, end);
            focus.people = false;
            return (!focus.frame.is_empty()).then_some(focus);
        }
        if word == "the"
            && next == "only"
            && (any_of!(third, "one" "ones") || source.tagged.is(k + 2, class::PERSON))
            && let Some(verb) = s.finite.filter(|v| *v < k)
        {
            let mut focus = focus_of(source, s, Slot::Subject, start, verb)?;
            // What they may do stands in the relative clause.
            focus.frame = keys_of(source, k + 3, end);
            return (!focus.frame.is_empty()).then_some(focus);
        }
    }
    None
}

fn read_focus(source: &Source<'_>, s: &Statement, at: usize) -> Option<Focus> {
    let lexed = &source.tagged.lexed;
    let (start, end) = s.range;
    let verb = s.finite;
    let next = lexed.word(at + 1);
    let else_at = (at..(at + 3).min(end)).any(|k| any_of!(lexed.word(k), "else" "besides"))
        || lexed.word(at) == "no" && lexed.word(at + 1) == "other";
    // `can only be deleted by F`
    if next == "be"
        && let Some(by) = (at + 2..(at + 6).min(end)).find(|&k| lexed.word(k) == "by")
    {
        let ends = |k: usize| is_boundary(source, k) || is_preposition(lexed.word(k));
        let to = (by + 1..end).find(|&k| ends(k)).unwrap_or(end);
        return focus_of(source, s, Slot::Agent, by + 1, to).filter(|f| f.people);
    }
    // `only when`, `only after`: a condition, not a thing.
    if !else_at
        && any_of!(next, "if" "when" "after" "once" "until" "while" "during" "before" "as" "ever" "be" "one" "two")
        || at > start && any_of!(lexed.word(at - 1), "not" "the" "an" "read" "if")
    {
        return None;
    }
    // `by the head and by no one else`: what stands before `and`.
    if else_at {
        let close = (start..at)
            .rev()
            .find(|&k| lexed.word(k) == "and" || is_boundary(source, k))?;
        let Some(from) = (start..close)
            .rev()
            .find(|&k| is_preposition(lexed.word(k)) && lexed.word(k) != "of")
        else {
            // `The treasurer and no one else books payments`
            return focus_of(source, s, Slot::Subject, start, close).filter(|f| f.people);
        };
        let slot = if lexed.word(from) == "by" {
            Slot::Agent
        } else {
            Slot::Behind(lexed.tokens[from].key)
        };
        return focus_of(source, s, slot, from + 1, close);
    }
    let (slot, from, to) = if at == start || lexed.tokens[at - 1].kind == TokenKind::Symbol {
        let verb = verb.filter(|v| *v > at)?;
        (Slot::Subject, at + 1, verb)
    } else if at + 1 >= end
        || is_boundary(source, at + 1)
        || any_of!(next, "and" "or" "but" "so" "never")
    {
        // Back to the preposition or the verb.
        let from = (start..at).rev().find(|&k| {
            is_preposition(lexed.word(k)) && lexed.word(k) != "of"
                || Some(k) == verb
                || is_boundary(source, k)
        })?;
        let slot = match lexed.word(from) {
            "by" => Slot::Agent,
            word if is_preposition(word) => Slot::Behind(lexed.tokens[from].key),
            _ => Slot::Object,
        };
        (slot, from + 1, at)
    } else {
        let to = (at + 1..end)
            .find(|&k| is_boundary(source, k))
            .unwrap_or(end);
        let slot = match next {
            "by" => Slot::Agent,
            word if is_preposition(word) => Slot::Behind(lexed.tokens[at + 1].key),
            _ if verb.is_some_and(|v| v > at) && (start..at).all(|k| !telling(source, k)) => {
                Slot::Subject
            }
            _ => Slot::Object,
        };
        (slot, at + 1, to)
    };
    focus_of(source, s, slot, from, to)
}

fn focus_of(
    source: &Source<'_>,
    s: &Statement,
    slot: Slot,
    from: usize,
    to: usize,
) -> Option<Focus> {
    let (start, end) = s.range;
    let words = concepts(source, from, to);
    let mut frame: Vec<u64> = (start..end)
        .filter(|k| !(from..to).contains(k) && telling(source, *k))
        .filter(|&k| !is_right(source.tagged.lexed.word(k)))
        .take_while(|&k| k < to || !(to..k).any(|b| is_boundary(source, b)))
        .map(|k| concept_at(source, k).key)
        .collect();
    frame.sort_unstable();
    frame.dedup();
    let people = source.tagged.any((from, to), class::PERSON)
        || (from..to).any(|k| is_role(source.tagged.lexed.word(k)));
    // `is the only one who`: the frame is in the relative clause.
    let only_one = (to..end.min(to + 3)).any(|k| source.tagged.lexed.word(k) == "only");
    let slot = match slot {
        Slot::Behind(_) if people => Slot::Agent,
        slot => slot,
    };
    (!words.is_empty() && (!frame.is_empty() || only_one)).then_some(Focus {
        slot,
        words,
        frame,
        people,
    })
}

/// Words around a right: they say that it is one, not what it is.
fn is_right(word: &str) -> bool {
    any_of!(word, "person" "persons" "people" "right" "rights" "permission" "permissions" "access" "lie" "lies" "job" "task" "privilege" "matter" "reserved" "restricted" "limited" "confined" "preserve" "prerogative" "exclusive" "entrusted" "authority" "apart" "alone" "duty" "comes" "first" "else" "held" "holds" "owned" "owns" "copy")
}

/// Roles that no list of people knows: `actuary`, `head of administration`.
fn is_role(word: &str) -> bool {
    word.len() > 4 && (word.ends_with("ary") || word.ends_with("ist") || word.ends_with("ician"))
        || any_of!(word, "head" "heads" "lead" "leads" "deputy" "owner" "master")
}

fn exceeds(other: &Source<'_>, s: &Statement, focus: &Focus, o: &Statement) -> bool {
    let lexed = &other.tagged.lexed;
    if o.negative
        || o.conditional && !o.limited && !s.may_meet(o)
        || s.conditional && !s.limited && !focus.people
        || s.apart_in_name(o)
            && !(focus.slot == Slot::Subject && s.head.is_some() && s.head == o.head)
    {
        return false;
    }
    let words = concepts(other, o.range.0, o.range.1);
    let held = |key: u64| words.iter().any(|w| w.key == key);
    let missing = focus.frame.iter().filter(|k| !held(**k)).count();
    let telling_frame = focus.frame.iter().any(|k| !s.generic.contains(k));
    let everything = (o.range.0..o.range.1).any(|k| {
        lexed.word(k) == "around" && lexed.word(k + 2) == "clock" || any_of!(lexed.word(k), "anyone" "anybody" "everyone" "everybody" "everything" "anything" "anywhere" "everywhere" "24/7" "always")
            || focus.people
                && (any_of!(lexed.word(k), "whoever" "public")
                    || any_of!(lexed.word(k), "whole" "entire")
                        && any_of!(lexed.word(k + 1), "town" "world" "company" "club" "team" "school" "village" "city" "staff" "house" "family" "internet" "department")
                    || lexed.word(k) == "all"
                        && k > o.range.0
                        && any_of!(lexed.word(k - 1), "to" "by" "for")
                        && (k + 1 >= o.range.1 || is_boundary(other, k + 1)))
    });
    let enough =
        missing == 0 || missing == 1 && (focus.frame.len() >= 4 || everything && s.same_subject(o));
    if !enough || !telling_frame {
        return false;
    }
    // The same words in the focus: nothing else is let through.
    let named = focus.words.iter().all(|w| words.contains(w));
    let some = focus.words.iter().any(|w| held(w.key));
    let all_people = focus.people
        && (o.range.0..o.range.1).any(|k| {
            any_of!(lexed.word(k), "all" "every" "each" "any")
                && (k + 1..(k + 4).min(o.range.1))
                    .take_while(|&e| !is_boundary(other, e))
                    .any(|e| other.tagged.is(e, class::PERSON))
        });
    let Some(verb) = o.finite.or_else(|| subject_end(other, o)) else {
        return (everything || all_people) && !named;
    };
    // `The head nurse sees all …` is not `nurses see only …`.
    let other_one = s.head.is_some()
        && s.head == o.head
        && o.phrase.iter().any(|k| s.content.binary_search(k).is_err());
    if other_one && focus.slot != Slot::Subject {
        return false;
    }
    let foreign = |from: usize, to: usize| {
        concepts(other, from, to)
            .iter()
            .any(|w| !focus.words.contains(w) && !focus.frame.contains(&w.key))
    };
    let universal = (o.range.0..o.range.1).any(|k| {
        any_of!(lexed.word(k), "all" "every" "each" "any") && held_behind(other, k, focus)
    });
    if (universal || all_people) && !named || everything {
        return true;
    }
    match focus.slot {
        Slot::Subject | Slot::Agent => {
            let by = (verb..o.range.1).find(|&k| lexed.word(k) == "by");
            let (from, to) = match by {
                Some(by) if focus.slot == Slot::Agent || focus.people => (by + 1, o.range.1),
                _ => (o.range.0, verb),
            };
            !named
                && foreign(from, to)
                && (some
                    || focus.slot == Slot::Agent && (by.is_some() || !focus.people)
                    || other.tagged.any((from, to), class::PERSON))
        }
        Slot::Behind(preposition) => (verb..o.range.1).any(|k| {
            lexed.tokens[k].key == preposition && {
                let to = (k + 1..o.range.1)
                    .find(|&e| is_boundary(other, e) || is_preposition(lexed.word(e)))
                    .unwrap_or(o.range.1);
                let inside = concepts(other, k + 1, to);
                (focus.frame.len() >= 2
                    || s.same_subject(o) && any_of!(lexed.word(k + 1), "all" "every" "each" "any"))
                    && !inside.is_empty()
                    && !inside
                        .iter()
                        .any(|w| focus.words.contains(w) || focus.frame.contains(&w.key))
            }
        }),
        // `see upcoming bookings only`, `old bookings are visible`: the same noun with another word before it.
        Slot::Object => {
            missing == 0
                && focus.frame.len() >= 2
                && focus.words.len() >= 2
                && !some_but(&focus.words, &words)
                && focus.words.last().is_some_and(|noun| {
                    (o.range.0 + 1..o.range.1).any(|k| {
                        telling(other, k)
                            && concept_at(other, k).key == noun.key
                            && telling(other, k - 1)
                            && !focus.words.contains(&concept_at(other, k - 1))
                            && !focus.frame.contains(&concept_at(other, k - 1).key)
                    })
                })
        }
    }
}

/// A word before the last one of `focus` stands in `words`.
fn some_but(focus: &[Concept], words: &[Concept]) -> bool {
    focus[..focus.len() - 1].iter().any(|w| words.contains(w))
}

/// Behind the first word for people near the start: the subject of a verb that no list knows.
fn subject_end(source: &Source<'_>, o: &Statement) -> Option<usize> {
    (o.range.0..(o.range.0 + 4).min(o.range.1))
        .find(|&k| source.tagged.is(k, class::PERSON))
        .map(|k| k + 1)
}

/// `every part`: a word of the focus right behind the quantifier.
fn held_behind(other: &Source<'_>, at: usize, focus: &Focus) -> bool {
    (at + 1..at + 4)
        .take_while(|&k| k < other.tagged.lexed.tokens.len())
        .filter(|&k| telling(other, k))
        .any(|k| {
            focus
                .words
                .iter()
                .any(|w| w.key == concept_at(other, k).key)
        })
}
