//! Claims about an act: who may do something to a thing and on which terms (with or without a login, free or paid,
//! with or without approval, required or not).
//!
//! Two claims on opposite sides of a topic contradict each other when they are about the same act on the same thing:
//! the people in them do not keep them apart where one speaks of everybody or nobody, and a condition that is part of
//! the claim itself (`readers who are signed in`) is no condition.

use super::super::Source;
use super::grammar::{is_preposition, is_verb};
use super::stands::Stand;
use super::statement::{Statement, is_filler};
use super::synonym::canonical;
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Whether the claims `x` of `s` and `y` of `o` exclude each other.
pub(super) fn opposed(
    sources: &[Source<'_>],
    (s, x): (&Statement, &Stand),
    (o, y): (&Statement, &Stand),
    name: &str,
) -> bool {
    let (a, b) = (&sources[s.source], &sources[o.source]);
    let mut cue = x.cue.clone();
    cue.extend(&y.cue);
    let differ = |p: &[u64], q: &[u64]| {
        let p: Vec<&u64> = p
            .iter()
            .filter(|k| !cue.contains(&canonical(**k)))
            .collect();
        let mut q = q
            .iter()
            .filter(|k| !cue.contains(&canonical(**k)))
            .peekable();
        !p.is_empty() && q.peek().is_some() && !q.any(|k| p.contains(&k))
    };
    // `Names of donors are published`, `donors remain anonymous`
    let names_of = |p: &Statement, q: &Statement| {
        p.owned && q.head.is_some_and(|h| p.of.contains(&h)) && !p.conditional && !q.conditional
    };
    if name == "names or none" && (names_of(s, o) || names_of(o, s)) {
        return true;
    }
    // `only with a number`, `without a number`: that is the claim.
    let with: &[u64] = if name == REQUIRED { &s.content } else { &cue };
    if differ(&s.labels, &o.labels)
        || differ(&s.scopes, &o.scopes)
        || s.complement
        || o.complement
        || s.apart_in_days(o)
        || s.apart_in_name_beside(o, with)
        || s.apart_in_time(o) && name != APPROVAL
    {
        return false;
    }
    // `automatically when it is paid`, `only when somebody presses the button`: two things that set it off.
    let set_off = name == APPROVAL && s.same_subject_and_act(o) && only_when(b, o);
    if !(is_free(a, s, x) && is_free(b, o, y) || s.may_meet(o) || set_off)
        || approved_already(a, s, name)
    {
        return false;
    }
    // `a post of their own`: said of one's own things.
    let own = |t: &Source<'_>, st: &Statement| {
        let lexed = &t.tagged.lexed;
        (st.range.0 + 1..st.range.1).any(|i| {
            any_of!(lexed.word(i), "another" "another's")
                || any_of!(lexed.word(i), "other" "other's" "others'")
                    && lexed.word(i - 1) == "each"
                || lexed.word(i) == "own"
                    && !(st.range.0..i).rev().take(2).any(|k| lexed.word(k) == "on")
        })
    };
    // `no insight into each other's books`, `every teacher opens every book`
    let others = apart_in_people(s, o, &cue) || s.persons.is_empty() || o.persons.is_empty();
    let all = (speaks_of_all(a, s) || speaks_of_all(b, o))
        && !others
        && !rank_differs(s, o)
        && name == "who sees it";
    if any_of!(name, "approval" "who acts" "who sees it") && (own(a, s) || own(b, o)) && !all
        || narrowed_apart(a, s, b, o)
    {
        return false;
    }
    let people = any_of!(name, "all or only some" "all of them or not");
    // `Donors are thanked by name`, `donors stay unnamed`: about the people themselves.
    let folk = name == "names or none"
        && s.head.is_some()
        && s.head == o.head
        && !(s.narrowed || o.narrowed);
    let wild = speaks_of_all(a, s) || speaks_of_all(b, o);
    // `Guests of pupils pay`, `pupils eat free`: other people are the subject.
    let lead = |st: &Statement| person_ahead(st).filter(|key| !cue.contains(key));
    let led = lead(s).zip(lead(o)).is_some_and(|(p, q)| p != q);
    // `Students see only their own grades`, `teachers see those of all students`
    let led = led || name == "who sees it" && other_people(s, o);
    if led && !(all_do(a, s) || all_do(b, o)) {
        return false;
    }
    if !wild && (led || apart_in_people(s, o, &cue) || rank_differs(s, o))
        || !people && is_special(s, o)
    {
        return false;
    }
    let (left, right) = (
        things(a, s, &cue, people || folk),
        things(b, o, &cue, people || folk),
    );
    let acts = |list: &[Thing]| -> Vec<u64> {
        list.iter()
            .filter(|t| t.act)
            .map(|t| act_class(t.key))
            .collect()
    };
    let (does, did) = (acts(&left), acts(&right));
    let neutral = |k: &u64| any_of!(name, "approval" "who acts") && approvals().contains(k);
    let does: Vec<u64> = does.into_iter().filter(|k| !neutral(k)).collect();
    let did: Vec<u64> = did.into_iter().filter(|k| !neutral(k)).collect();
    let strange = !does.is_empty() && !did.is_empty() && !does.iter().any(|k| did.contains(k));
    // `Customers can order`, `before an order is placed`: the act of one is a thing of the other.
    let named = does.iter().any(|k| o.content.binary_search(k).is_ok())
        || did.iter().any(|k| s.content.binary_search(k).is_ok());
    // Whoever acts on a thing by himself does not wait for a release of that thing, whatever the verbs are.
    let same_thing = any_of!(name, "approval" "who acts")
        && (s.head.is_some() && s.head == o.head
            || s.head
                .is_some_and(|k| right.iter().any(|t| t.key == k && !t.general))
            || o.head
                .is_some_and(|k| left.iter().any(|t| t.key == k && !t.general)));
    // Sorting or counting lets nothing through.
    let chore = does.iter().any(|k| chores().contains(k)) && !did.iter().any(|k| does.contains(k));
    let strange =
        strange && !named && !same_thing || chore && any_of!(name, "approval" "who acts") && !named;
    // What is left out belongs to what all is said of.
    if any_of!(name, "all or only some" "all of them or not") {
        let mine = |k: &u64| o.content.binary_search(k).is_ok();
        let (weight, count) = shared(&left, &right);
        let target = s.quantified.iter().any(|k| mine(k) && !cue.contains(k));
        let nobody = any_of!(a.tagged.lexed.word(s.range.0), "nobody" "none") && weight >= 4;
        let target = target || nobody || s.head.is_some() && s.head == o.head && s.emphatic;
        // `All complaints are answered`, `anonymous complaints are ignored`: nothing else is said.
        let bare = weight >= 2
            && left
                .iter()
                .all(|t| t.act || o.content.binary_search(&t.key).is_ok())
            && things_behind(b, o, y, &s.content) == 0
            && !y.denies;
        let enough = weight >= 4 && count * 100 >= left.len().min(right.len()) * 50;
        let enough = enough && name == PARTS;
        return target && (enough || bare) || s.quantified.len() <= 3 && left_out_of(b, s, y);
    }
    if name == REQUIRED && s.foreign(o) && strange_acts(sources, s, o, &[]) {
        return false;
    }
    if strange && any_of!(name, "accounts" "who sees it" "how many do it" "approval" "who acts") {
        return false;
    }
    // Who may change a thing says nothing about who sees it.
    if name == "who sees it" {
        let changes = |list: &[u64]| list.iter().any(|k| changing().contains(k));
        if changes(&did) != changes(&does) {
            return false;
        }
    }
    let (weight, count) = shared(&left, &right);
    let least = left.len().min(right.len());
    // That both speak of looking makes them one matter only where nothing else is said.
    if name == "who sees it" {
        let plain = |list: &[Thing]| list.iter().filter(|t| !t.act).count();
        let beside = |t: &&Thing| !t.act && right.iter().any(|q| q.key == t.key);
        if plain(&left) > 0 && plain(&right) > 0 && left.iter().filter(beside).count() == 0 {
            return false;
        }
    }
    // `No login`: said of the whole.
    if name == ACCOUNTS && left.iter().all(|t| t.whole) {
        return !apart_in_people(s, o, &cue);
    }
    let weight = if s.same_subject(o) && weight > 0 {
        weight.max(2)
    } else {
        weight
    };
    weight >= 2 && (weight >= 4 || count * 100 >= least * 25) || weight == 1 && count == least
}

/// Each does something, and they do nothing alike: `reading notes`, `writing a note`.
pub(super) fn strange_acts(
    sources: &[Source<'_>],
    s: &Statement,
    o: &Statement,
    cue: &[u64],
) -> bool {
    let acts = |st: &Statement| -> Vec<u64> {
        let list = things(&sources[st.source], st, cue, false);
        list.iter()
            .filter(|t| t.act)
            .map(|t| act_class(t.key))
            .collect()
    };
    let (does, did) = (acts(s), acts(o));
    !does.is_empty() && !did.is_empty() && !does.iter().any(|k| did.contains(k))
}

/// Names of topics that are treated in a way of their own.
pub(super) const ACCOUNTS: &str = "accounts";
/// See [`ACCOUNTS`].
pub(super) const PRICE: &str = "price";
/// See [`ACCOUNTS`].
pub(super) const APPROVAL: &str = "approval";
/// See [`ACCOUNTS`].
pub(super) const REQUIRED: &str = "whether it is required";

/// See [`ACCOUNTS`].
pub(super) const ALL: &str = "all of them or not";
/// See [`ACCOUNTS`].
pub(super) const PARTS: &str = "all or only some";

/// About different people, where those in the claim itself (`as a guest`) do not count.
fn apart_in_people(s: &Statement, o: &Statement, cue: &[u64]) -> bool {
    let beside = |st: &Statement| -> Vec<u64> {
        let keys = st.persons.iter().map(|k| canonical(*k));
        keys.filter(|k| !cue.contains(k)).collect()
    };
    let (p, q) = (beside(s), beside(o));
    !p.is_empty() && !q.is_empty() && !p.iter().any(|k| q.contains(k))
}

/// A telling word with its neighbours.
struct Thing {
    key: u64,
    /// Key of the telling word right before it, 0 where none.
    before: u64,
    /// The same right behind it.
    behind: u64,
    general: bool,
    /// A word for all that is built.
    whole: bool,
    act: bool,
}

/// The telling words of a statement that are neither people nor words of the claim.
fn things(source: &Source<'_>, st: &Statement, cue: &[u64], people: bool) -> Vec<Thing> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let telling = |i: usize| {
        lexed.tokens[i].kind == TokenKind::Word
            && !t.is(
                i,
                class::STOP | class::NEG | class::UNIVERSAL | class::CONDITION | class::NUMERAL,
            )
            && !is_filler(lexed.word(i))
            && !cue.contains(&canonical(lexed.tokens[i].key))
    };
    let person =
        |i: usize| !people && t.is(i, class::PERSON) && !t.is(i, class::THING | class::DATA);
    let near = |i: usize| {
        if telling(i) && !person(i) {
            canonical(lexed.tokens[i].key)
        } else {
            0
        }
    };
    let mut out: Vec<Thing> = Vec::new();
    for i in (st.range.0..st.range.1).filter(|&i| telling(i) && !person(i)) {
        let key = canonical(lexed.tokens[i].key);
        let act = is_act(source, st, i);
        let field = any_of!(lexed.word(i), "field" "fields" "column" "columns" "value" "values" "attribute");
        if field || act && is_light(lexed.word(i)) {
            continue;
        }
        out.push(Thing {
            key: if act { act_class(key) } else { key },
            before: if i > st.range.0 && !act {
                near(i - 1)
            } else {
                0
            },
            behind: if i + 1 < st.range.1 && !act && !is_act(source, st, i + 1) {
                near(i + 1)
            } else {
                0
            },
            general: t.is(i, class::GENERIC),
            whole: t.is(i, class::WHOLE),
            act,
        });
    }
    out
}

/// Weight and number of shared words. A word that is part of another name (`invoice number`, `invoice date`) is not
/// shared.
fn shared(left: &[Thing], right: &[Thing]) -> (usize, usize) {
    let holds = |list: &[Thing], key: u64| list.iter().any(|t| t.key == key);
    let strange =
        |p: u64, q: u64| p != 0 && q != 0 && p != q && !holds(right, p) && !holds(left, q);
    let (mut weight, mut count) = (0, 0);
    let mut seen: Vec<u64> = Vec::new();
    for p in left {
        let same = right.iter().find(|q| {
            (q.key == p.key
                || p.act && act_class(q.key) == p.key
                || q.act && act_class(p.key) == q.key)
                && !strange(p.before, q.before)
                && !strange(p.behind, q.behind)
        });
        if same.is_some() && !seen.contains(&p.key) {
            seen.push(p.key);
            weight += if p.general { 1 } else { 2 };
            count += 1;
        }
    }
    (weight, count)
}

/// How many telling words stand behind the cue.
fn things_behind(source: &Source<'_>, st: &Statement, stand: &Stand, cue: &[u64]) -> usize {
    let t = &source.tagged;
    (stand.to..st.range.1)
        .filter(|&i| {
            t.lexed.tokens[i].kind != TokenKind::Symbol
                && !t.is(i, class::STOP)
                && !cue.contains(&canonical(t.lexed.tokens[i].key))
        })
        .count()
}

/// `Books are excluded from the discount`: left out of what the other says all of.
fn left_out_of(source: &Source<'_>, s: &Statement, stand: &Stand) -> bool {
    let lexed = &source.tagged.lexed;
    let to = lexed.tokens.len();
    lexed.word(stand.to) == "from"
        && s.emphatic
        && (stand.to + 1..(stand.to + 4).min(to))
            .any(|i| s.head == Some(canonical(lexed.tokens[i].key)))
}

/// Verbs of changing a thing.
fn changing() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let words = "write edit change add delete enter comment create maintain update upload book cancel order post fill draw sign move rename approve print lock";
        words.split(' ').map(|w| canonical(fnv(stem(w)))).collect()
    })
}

/// Verbs of chores: nobody waits for a release of them.
fn chores() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let words = "sort calculate count number rank round index refresh compute align group highlight colour";
        words.split(' ').map(|w| canonical(fnv(stem(w)))).collect()
    })
}

/// Verbs of approving: they belong to the claim.
fn approvals() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let words = "approve release confirm review authorise authorize check sign look moderate inspect decide accept acknowledge verify trigger press vote see start touch act intervene";
        words.split(' ').map(|w| canonical(fnv(stem(w)))).collect()
    })
}

/// A word that stands where a verb stands: behind a modal, `to` or a form of `be`, a gerund, the verb of the sentence.
pub(super) fn is_act(source: &Source<'_>, st: &Statement, i: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = lexed.word(i);
    if lexed.tokens[i].kind != TokenKind::Word || t.is(i, class::STOP) {
        return false;
    }
    let before = if i > st.range.0 {
        lexed.word(i - 1)
    } else {
        ""
    };
    let modal = i > st.range.0 && t.is(i - 1, class::MODAL)
        || any_of!(before, "to" "cannot" "can't" "not" "never");
    if word.ends_with("able") || word.ends_with("ible") || word.ends_with("ly") {
        return false;
    }
    let passive = any_of!(before, "be" "is" "are" "been" "being" "gets" "get" "was" "were")
        && (word.ends_with("ed") || stem(word) != word && !word.ends_with('s'));
    let gerund = word.len() > 5
        && (i == st.range.0
            || t.is(i - 1, class::STOP)
            || lexed.tokens[i - 1].kind == TokenKind::Symbol)
        && !(i > st.range.0 && t.is(i - 1, class::PERSON))
        && word.ends_with("ing")
        && !any_of!(word, "during" "morning" "evening" "string" "building" "meeting" "reading" "nothing" "something" "anything" "everything");
    modal
        || passive
        || gerund
        || st.finite == Some(i)
        || is_verb(lexed.tokens[i].key)
            && i > st.range.0
            && (st.range.0..i).all(|k| !is_verb(lexed.tokens[k].key))
            && t.is(i - 1, class::PERSON)
}

/// Verbs that say little about the act.
pub(super) fn is_light(word: &str) -> bool {
    any_of!(word, "need" "needs" "require" "requires" "required" "ask" "asks" "asked" "get" "gets" "go" "goes" "come" "comes" "take" "takes" "let" "lets" "allow" "allowed" "granted" "permitted" "given" "work" "works" "use" "used" "using" "happen" "happens" "entered" "refused" "accepted" "leave" "stay" "stays" "remain" "remains" "lie" "lies" "follow")
}

/// Looking is one act, in whatever word.
fn act_class(key: u64) -> u64 {
    const LOOK: &[&str] = &[
        "see", "view", "read", "look", "open", "watch", "browse", "access", "search", "find",
        "inspect", "show", "display", "list", "consult", "reach", "visit",
    ];
    if LOOK.iter().any(|w| canonical(fnv(stem(w))) == key) {
        fnv("see")
    } else {
        key
    }
}

/// Holds without a condition, or the condition is the claim itself.
fn is_free(source: &Source<'_>, st: &Statement, stand: &Stand) -> bool {
    if !st.conditional {
        return true;
    }
    let lexed = &source.tagged.lexed;
    // `when they are submitted`: what sets it off.
    let trigger = |i: usize| {
        any_of!(lexed.word(i), "when" "once")
            && any_of!(lexed.word(i + 1), "it" "they" "he" "she" "this")
    };
    let opens = |i: usize| {
        !trigger(i)
            && any_of!(lexed.word(i), "who" "that" "which" "whose" "without" "unless" "until" "if" "when" "only" "except" "once")
    };
    if !st.limited && (st.range.0..st.range.1).any(trigger) && !(st.range.0..st.range.1).any(opens)
    {
        return true;
    }
    (st.range.0..=stand.at).any(opens) && {
        // Between the word that opens the condition and the claim stands nothing of weight.
        let from = (st.range.0..=stand.at)
            .rev()
            .find(|&i| opens(i))
            .unwrap_or(stand.at);
        let others = (st.range.0..st.range.1)
            .filter(|&i| opens(i) && i != from && !(stand.at..stand.to).contains(&i));
        // `A state that does not exist is ignored and all rows are shown`: the claim is what follows from the case.
        let follows = st.limited
            && (from..stand.at).any(|i| lexed.word(i) == "and" || lexed.is_symbol(i, ","));
        others.count() == 0 && !follows
    }
}

/// `only when`, `only after`
fn only_when(source: &Source<'_>, st: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (st.range.0..st.range.1)
        .any(|i| lexed.word(i) == "only" && any_of!(lexed.word(i + 1), "when" "if" "after" "once"))
}

/// `Approved loans are paid out automatically`: what was approved before.
fn approved_already(source: &Source<'_>, st: &Statement, name: &str) -> bool {
    let lexed = &source.tagged.lexed;
    name == APPROVAL
        && (st.range.0..st.verb_at.max(st.range.0)).any(|i| {
            any_of!(lexed.word(i), "approved" "confirmed" "released" "reviewed" "checked" "signed" "accepted")
        })
}

/// Speaks of everybody, nobody, or of the only ones.
fn speaks_of_all(source: &Source<'_>, st: &Statement) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    (st.range.0..st.range.1).any(|i| {
        any_of!(lexed.word(i), "anyone" "anybody" "everyone" "everybody" "nobody" "whoever" "only" "alone" "exclusively" "solely" "public")
            || any_of!(lexed.word(i), "all" "every" "each" "any" "no")
                && (i + 1..(i + 3).min(st.range.1)).any(|k| t.is(k, class::PERSON) || lexed.word(k) == "one")
    })
}

/// Everybody, nobody or the only ones are the subject.
fn all_do(source: &Source<'_>, st: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (st.range.0..st.verb_at.max(st.range.0 + 1)).any(|i| {
        any_of!(lexed.word(i), "anyone" "anybody" "everyone" "everybody" "nobody" "whoever" "only" "alone" "all" "every" "each" "any" "no" "none")
    })
}

/// The subjects are people, and not the same ones.
pub(super) fn other_people(s: &Statement, o: &Statement) -> bool {
    let led = person_ahead(s).zip(person_ahead(o));
    led.is_some_and(|(p, q)| p != q) || rank_differs(s, o)
}

/// The people who are the subject.
fn person_ahead(st: &Statement) -> Option<u64> {
    let key = st.head.or(st.subject)?;
    let folk = st.persons.iter().any(|k| canonical(*k) == key);
    folk.then_some(key)
}

/// `Teachers`, `the head teacher`: one subject is a narrower kind of the other's people.
fn rank_differs(s: &Statement, o: &Statement) -> bool {
    let own =
        |a: &Statement, b: &Statement| a.phrase.iter().any(|k| b.content.binary_search(k).is_err());
    s.head.is_some()
        && s.head == o.head
        && s.persons.iter().any(|k| Some(canonical(*k)) == s.head)
        && (own(s, o) || own(o, s))
}

/// `Express orders`, `orders`: what is said of a special kind is no claim about all, unless it was said of all.
fn is_special(s: &Statement, o: &Statement) -> bool {
    let own = |a: &Statement, b: &Statement| {
        let strange = |k: &&u64| {
            b.content.binary_search(k).is_err() && **k != fnv("field") && **k != fnv("column")
        };
        !b.emphatic && a.phrase.iter().any(|k| strange(&k))
    };
    s.head.is_some() && s.head == o.head && (own(s, o) || own(o, s))
}

/// `Events from private persons`, `events of clubs`: one noun, narrowed in two ways.
fn narrowed_apart(a: &Source<'_>, s: &Statement, b: &Source<'_>, o: &Statement) -> bool {
    let narrowing = |source: &Source<'_>, st: &Statement| -> Vec<u64> {
        let t = &source.tagged;
        let from = (st.range.0 + 1..st.verb_at.max(st.range.0 + 1))
            .find(|&i| is_preposition(t.lexed.word(i)));
        let words = from.unwrap_or(st.verb_at)..st.verb_at.max(st.range.0);
        words
            .filter(|&i| t.lexed.tokens[i].kind != TokenKind::Symbol && !t.is(i, class::STOP))
            .map(|i| canonical(t.lexed.tokens[i].key))
            .collect()
    };
    if s.head.is_none() || s.head != o.head {
        return false;
    }
    let (p, q) = (narrowing(a, s), narrowing(b, o));
    !p.is_empty() && !q.is_empty() && !p.iter().any(|k| q.contains(k))
}
