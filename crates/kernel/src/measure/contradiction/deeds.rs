//! Denied, and done in other words: `pupils never receive e-mails`, `the pupil is reminded by e-mail`.
//!
//! A denial is read as a class of deeds (`topics/deeds`) and the things it is denied of. A statement that does a deed of
//! that class, in whatever verb, to the same things contradicts it. `There is no X`, `has no X` deny that X is there:
//! whoever needs X contradicts them.
//!
//! `denial` compares words, this compares classes of verbs; so the things must be the same in full.

use super::super::Source;
use super::denial::{Cover, read_covers};
use super::grammar::{is_boundary, is_preposition};
use super::relation::common;
use super::statement::{Index, Statement, is_filler};
use super::synonym::canonical;
use super::topics::deeds::{CLASSES, KINDS, PRESENCE};
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// What is denied.
#[derive(Debug)]
struct Ban {
    /// Classes of deeds; none where the thing itself is denied.
    deeds: u32,
    /// What it is denied of; a statement that does it names all of this.
    core: Vec<u64>,
    /// Who does it not; for whom, where, and when it is not done.
    around: Vec<u64>,
    /// Leaves no exception.
    absolute: bool,
    /// Denied of everybody.
    wild: bool,
    /// The thing itself is denied: `has no camera`.
    absent: bool,
}

/// (stem, classes it denies, classes it does), sorted by stem.
fn table() -> &'static [(u64, u32, u32)] {
    static TABLE: OnceLock<Vec<(u64, u32, u32)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut list: Vec<(u64, u32, u32)> = Vec::new();
        for (n, c) in CLASSES.iter().enumerate() {
            let keys = |words: &'static str| words.split_ascii_whitespace().map(|w| fnv(stem(w)));
            list.extend(keys(c.denied).map(|k| (k, 1 << n, 0)));
            list.extend(keys(c.done).map(|k| (k, 0, 1 << n)));
        }
        list.sort_unstable();
        let mut out: Vec<(u64, u32, u32)> = Vec::with_capacity(list.len());
        for (key, denied, done) in list {
            match out.last_mut() {
                Some(last) if last.0 == key => {
                    last.1 |= denied;
                    last.2 |= done;
                }
                _ => out.push((key, denied, done)),
            }
        }
        out
    })
}

fn deeds(key: u64) -> (u32, u32) {
    let table = table();
    table
        .binary_search_by(|e| e.0.cmp(&key))
        .map_or((0, 0), |at| (table[at].1, table[at].2))
}

/// (kind, thing of that kind), sorted.
fn kinds() -> &'static [(u64, u64)] {
    static TABLE: OnceLock<Vec<(u64, u64)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let key = |w: &str| canonical(fnv(stem(w)));
        let mut out: Vec<(u64, u64)> = KINDS
            .iter()
            .flat_map(|(kind, list)| list.split(' ').map(move |w| (key(kind), key(w))))
            .collect();
        out.sort_unstable();
        out
    })
}

/// (canonical stem, classes it denies or does), sorted.
fn alike_table() -> &'static [(u64, u32)] {
    static TABLE: OnceLock<Vec<(u64, u32)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut list: Vec<(u64, u32)> = CLASSES
            .iter()
            .enumerate()
            .flat_map(|(n, c)| {
                let words = c.denied.split_ascii_whitespace();
                words.map(move |w| (canonical(fnv(stem(w))), 1 << n))
            })
            .collect();
        list.sort_unstable();
        list.dedup_by(|b, a| {
            a.0 == b.0 && {
                a.1 |= b.1;
                true
            }
        });
        list
    })
}

/// The classes of deeds that a canonical key names.
pub(super) fn deeds_of(key: u64) -> u32 {
    let table = alike_table();
    table
        .binary_search_by(|e| e.0.cmp(&key))
        .map_or(0, |at| table[at].1)
}

/// `Each till reduces the amount`: a word in -s before an article.
fn has_object(source: &Source<'_>, o: &Statement, i: usize) -> bool {
    let t = &source.tagged;
    i > o.range.0
        && (t.lexed.word(i).ends_with('s')
            || t.is(i - 1, class::PERSON) && t.lexed.word(i - 1).ends_with('s'))
        && any_of!(t.lexed.word(i + 1), "the" "a" "an" "its" "their" "all" "every" "each")
        && !t.is(i - 1, class::STOP | class::UNIVERSAL | class::NUMERAL)
}

/// The classes of deeds that a statement does.
pub(super) fn deeds_in(source: &Source<'_>, o: &Statement) -> u32 {
    let tokens = &source.tagged.lexed.tokens;
    (o.range.0..o.range.1)
        .filter(|&i| super::claims::is_act(source, o, i) || has_object(source, o, i))
        .fold(0, |sum, i| sum | deeds(tokens[i].key).1)
}

/// Finds statements that do what another denies.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (n, s) in statements.iter().enumerate() {
        let t = &sources[s.source].tagged;
        if s.past || !(s.range.0..s.range.1).any(|i| t.is(i, class::NEG)) {
            continue;
        }
        let before = n.checked_sub(1).map(|p| &statements[p]);
        let before = before.filter(|p| p.source == s.source);
        for mut cover in read_covers(&sources[s.source], s) {
            widen(&sources[s.source], s, &mut cover);
            let Some(ban) = read_ban(&sources[s.source], s, &cover, before) else {
                continue;
            };
            let mut rare: Vec<(usize, u64)> =
                ban.core.iter().map(|k| (index.of(*k).len(), *k)).collect();
            rare.extend(members(&ban.core).map(|k| (index.of(k).len(), k)));
            rare.retain(|r| r.0 > 0);
            rare.sort_unstable();
            for key in rare.iter().take(3).map(|r| r.1) {
                for &(_, j) in index.of(key).iter().take(CANDIDATES) {
                    let o = &statements[j as usize];
                    if o.source != s.source
                        && !pairs.has(n, j as usize)
                        && is_broken(sources, s, &ban, o)
                    {
                        pairs.add(n, j as usize, "whether it happens at all");
                    }
                }
            }
        }
    }
}

/// `have no way to enter readings`: what follows is denied.
fn widen(source: &Source<'_>, s: &Statement, cover: &mut Cover) {
    let lexed = &source.tagged.lexed;
    let right = any_of!(lexed.word(cover.from + 1), "way" "right" "rights" "permission" "means" "possibility" "chance" "need" "reason");
    if cover.noun && right && lexed.word(cover.from + 2) == "to" {
        let end = (cover.from + 3..s.range.1).find(|&i| is_boundary(source, i));
        cover.from += 2;
        cover.to = end.unwrap_or(s.range.1);
        cover.noun = false;
    }
}

/// The things that are of a kind in `core`.
fn members(core: &[u64]) -> impl Iterator<Item = u64> {
    core.iter().flat_map(|kind| {
        let from = kinds().partition_point(|e| e.0 < *kind);
        let list = kinds()[from..].iter().take_while(move |e| e.0 == *kind);
        list.map(|e| e.1)
    })
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

fn keys(source: &Source<'_>, list: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut out: Vec<u64> = list
        .filter(|&i| telling(source, i) && !source.tagged.is(i, class::TIME_UNIT))
        .filter(|&i| !any_of!(source.tagged.lexed.word(i), "single" "slightest" "particular" "part" "form" "kind" "longer" "way" "whatsoever"))
        .map(|i| canonical(source.tagged.lexed.tokens[i].key))
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Words that say that something is there.
fn is_being(word: &str) -> bool {
    any_of!(word, "has" "have" "holds" "hold" "contains" "contain" "carries" "carry" "knows" "offers" "possesses" "owns" "exist" "exists" "available" "present" "installed")
}

/// Verbs whose subject is what it happens to.
fn is_motion(word: &str) -> bool {
    any_of!(word, "reach" "reaches" "enter" "enters" "leave" "leaves" "appear" "appears" "arrive" "go" "vanish" "disappear" "stand" "stay" "change")
}

/// Verbs that say that somebody has something or must have it.
fn is_having(word: &str) -> bool {
    any_of!(word, "need" "needs" "require" "requires" "get" "gets" "receive" "receives" "wear" "wears")
}

/// Verbs that say no more than that there is something.
fn is_giving(word: &str) -> bool {
    any_of!(word, "sent" "send" "made" "issued" "given" "taken" "created" "provided" "charged" "asked" "required" "needed" "used" "held" "produced" "offered" "collected" "received")
}

fn read_ban(
    source: &Source<'_>,
    s: &Statement,
    cover: &Cover,
    before: Option<&Statement>,
) -> Option<Ban> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = s.range;
    let word = lexed.word(cover.from);
    // `not until`, `not without`, `not by colour alone`: not denied altogether.
    let partly = (cover.from + 1..=cover.to.min(end - 1))
        .any(|i| any_of!(lexed.word(i), "until" "before" "unless" "except" "without" "than" "alone" "only" "just" "merely" "solely" "yet" "always" "necessarily" "automatically" "directly" "immediately" "both" "twice" "again" "other" "same" "own" "more"))
        || word == "without" && !any_of!(lexed.word(cover.from + 1), "any" "a" "an");
    if partly {
        return None;
    }
    // `Entries are signed by nobody`
    if cover.from > start
        && lexed.word(cover.from - 1) == "by"
        && any_of!(word, "nobody" "none" "no")
    {
        let verb = (start..cover.from)
            .rev()
            .find(|&i| deeds(lexed.tokens[i].key).0 != 0)?;
        let core = keys(source, (start..cover.from).filter(|&i| i != verb));
        return (!core.is_empty()).then(|| Ban {
            deeds: deeds(lexed.tokens[verb].key).0,
            core,
            around: Vec::new(),
            absolute: true,
            wild: true,
            absent: false,
        });
    }
    let subject = any_of!(word, "no" "none" "nobody" "nothing" "neither") && !cover.noun
        || word == "not" && cover.from == start;
    let denies = |i: usize| deeds(lexed.tokens[i].key).0;
    let verb = if subject {
        let from = s.finite.unwrap_or(start).max(cover.from + 1);
        (from..cover.to).find(|&i| denies(i) != 0)
    } else if cover.noun {
        (cover.from > start && word == "no" && denies(cover.from - 1) != 0).then(|| cover.from - 1)
    } else {
        (cover.from + 1..(cover.from + 4).min(cover.to)).find(|&i| denies(i) != 0)
    };
    let close = (cover.to..end)
        .find(|&i| is_boundary(source, i) || any_of!(lexed.word(i), "and" "so"))
        .unwrap_or(end);
    let absolute = cover.absolute || s.unexcepted || subject;
    let wild =
        word == "nobody" || word == "none" || word == "no" && lexed.word(cover.from + 1) == "one";
    let Some(verb) = verb else {
        // `There is no X`, `has no X`, `no X is available`
        let there = word == "no"
            && (cover.from > start && is_being(lexed.word(cover.from - 1))
                || cover.from > start + 1 && lexed.word(cover.from - 2) == "there");
        let none = subject
            && (cover.from + 1..cover.to).any(
                |i| any_of!(lexed.word(i), "exist" "exists" "available" "present" "installed"),
            );
        if !there && !none {
            return None;
        }
        let inside = cover.from + 1..cover.to;
        let core = keys(source, inside.filter(|&i| !is_being(lexed.word(i))));
        let around = keys(source, (start..cover.from).chain(cover.to..close));
        return (!core.is_empty() && core.len() <= 3).then_some(Ban {
            deeds: 0,
            core,
            around,
            absolute: true,
            wild: false,
            absent: true,
        });
    };
    let preposition = (verb + 1..cover.to)
        .find(|&i| is_preposition(lexed.word(i)) && lexed.word(i) != "of")
        .unwrap_or(cover.to);
    let object = keys(
        source,
        (cover.from.max(start)..preposition).filter(|&i| i != verb),
    );
    let front = keys(source, start..cover.from);
    let tail = keys(source, preposition..close);
    let pronoun = (cover.from..cover.to).any(|i| any_of!(lexed.word(i), "it" "them"));
    let passive = verb > start
        && any_of!(lexed.word(verb - 1), "be" "is" "are" "been" "get" "gets" "never" "not")
        && !cover.noun
        && (lexed.word(verb).ends_with("ed") || stem(lexed.word(verb)) != lexed.word(verb))
        && (start..verb).any(|i| any_of!(lexed.word(i), "be" "is" "are" "been" "get" "gets"));
    // `must not ask customers for their birth date`
    let people = !object.is_empty()
        && object
            .iter()
            .all(|k| s.persons.iter().any(|p| canonical(*p) == *k));
    let (core, mut around) = if people && !subject && !passive && !tail.is_empty() {
        (tail, [front, object].concat())
    } else if subject {
        (object, tail)
    } else if object.is_empty() && pronoun {
        let head = before.and_then(|p| p.head.or(p.subject));
        (head.into_iter().collect(), [front, tail].concat())
    } else if passive || object.is_empty() || is_motion(lexed.word(verb)) {
        (front, [object, tail].concat())
    } else {
        (object, [front, tail].concat())
    };
    around.sort_unstable();
    (!core.is_empty()).then_some(Ban {
        deeds: denies(verb),
        core,
        around,
        absolute,
        wild,
        // `No deposit is taken`: there is none.
        absent: cover.noun && (is_being(lexed.word(verb)) || is_having(lexed.word(verb)))
            || subject && word == "no" && is_giving(lexed.word(verb)),
    })
}

/// Whether `o` does what the ban of `s` denies.
fn is_broken(sources: &[Source<'_>], s: &Statement, ban: &Ban, o: &Statement) -> bool {
    let source = &sources[o.source];
    let t = &source.tagged;
    let lexed = &t.lexed;
    if o.negative || o.past || o.complement || s.complement {
        return false;
    }
    let held = |k: &u64| o.content.binary_search(k).is_ok();
    let held = |k: &u64| held(k) || members(&[*k]).any(|m| held(&m));
    let missing = ban.core.iter().filter(|k| !held(k)).count();
    if missing > 0 && (ban.core.len() < 4 || missing > 1) {
        return false;
    }
    let general = |k: &u64| s.generic.contains(k);
    let weight: usize = ban
        .core
        .iter()
        .map(|k| if general(k) { 1 } else { 2 })
        .sum();
    // `All staff carry a badge`, `interns need none`
    let of_kind = |k: &u64| {
        o.quantified
            .iter()
            .any(|q| kinds().binary_search(&(*q, *k)).is_ok())
    };
    let beside = common(&ban.around, &o.content) + ban.around.iter().filter(|k| of_kind(k)).count();
    let strong = ban.core.len() + beside >= 2;
    if weight < 2 && beside == 0 {
        return false;
    }
    // What it is denied of stands in the other, or that one says nothing of it.
    // `It takes the motorway`: whatever was spoken of before.
    let pronoun = any_of!(lexed.word(o.range.0), "it" "they")
        || (o.range.0..o.finite.unwrap_or(o.range.0)).any(|i| any_of!(lexed.word(i), "it" "they"));
    let about = ban.around.is_empty()
        || beside > 0
        || ban.wild
        || pronoun && o.head.is_none()
        || weight >= 4 && (ban.absolute || o.passive) && !ban.absent;
    let sure = ban.absolute && (s.same_subject(o) || ban.around.is_empty() || pronoun);
    if !about || !strong && !sure {
        return false;
    }
    let people = s.apart_in_people(o) && !ban.wild && beside == 0;
    if people
        || s.apart_in_name(o)
        || s.apart_in_time(o)
        || s.apart_in_days(o)
        || !s.scopes.is_empty() && !o.scopes.is_empty() && common(&s.scopes, &o.scopes) == 0
        || !s.labels.is_empty() && !o.labels.is_empty() && common(&s.labels, &o.labels) == 0
        || !(s.may_meet(o) || ban.absolute && !s.conditional)
        || (o.narrowed || o.limited)
            && !ban.absolute
            && (o.narrow.is_empty() || common(&o.narrow, &s.content) < o.narrow.len())
    {
        return false;
    }
    let denied = |i: usize| (i.saturating_sub(4).max(o.range.0)..i).any(|k| t.is(k, class::NEG));
    // The thing itself is used: it stands there, not denied.
    let used = |i: usize| {
        let key = canonical(lexed.tokens[i].key);
        (key == ban.core[0] || members(&ban.core).any(|m| m == key))
            && !denied(i)
            && !lexed.tokens[i].quoted
    };
    let planned = |i: usize| any_of!(lexed.word(i), "new" "add" "future" "other" "another");
    let there = ban.deeds & (1 << PRESENCE) != 0 && beside > 0;
    if (ban.absent || there)
        && (o.range.0..o.range.1).any(used)
        && !(o.range.0..o.range.1).any(planned)
    {
        return true;
    }
    (o.range.0..o.range.1).any(|i| {
        let word = lexed.word(i);
        let content = |k: usize| {
            lexed.tokens.get(k).is_some_and(|n| n.kind == TokenKind::Word) && !t.is(k, class::STOP)
        };
        let describes = word.ends_with("ed")
            && o.finite.is_some_and(|v| i < v)
            && i + 1 < o.range.1
            && content(i + 1);
        // `with a note`, `the record`: a noun.
        let noun = i > o.range.0
            && any_of!(lexed.word(i - 1), "a" "an" "the" "this" "its" "their" "every" "each" "of" "in" "on" "at" "as" "with" "no")
            && !word.ends_with("ing");
        deeds(lexed.tokens[i].key).1 & ban.deeds != 0
            && !lexed.tokens[i].quoted
            && !denied(i)
            && !describes
            && !noun
            && !ban.core.contains(&canonical(lexed.tokens[i].key))
    })
}
