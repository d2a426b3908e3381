//! Which of the things of one name a statement speaks of, wherever they stand in it: `online orders`, `orders at the
//! counter`; `CSV with semicolons`, `CSV with tabs`; `browsers keep`, `the proxy keeps`. Rules of `cases`.

use super::cases::{Seen, key_at, phrase_end};
use super::grammar::{is_preposition, is_verb};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A noun with the words before and behind it.
struct Named {
    noun: u64,
    words: Vec<u64>,
}

/// The nouns of a statement that are narrowed.
fn named(x: &Seen<'_>) -> Vec<Named> {
    let lexed = &x.source.tagged.lexed;
    let mut out = Vec::new();
    for i in x.span() {
        let Some(noun) = x
            .telling(i)
            .filter(|k| Some(*k) != x.s.act && Some(i) != x.s.finite)
        else {
            continue;
        };
        if x.s.generic.contains(&noun) && x.s.head != Some(noun) {
            continue;
        }
        let mut words = Vec::new();
        for k in (x.s.range.0..i).rev().take(2) {
            match x.telling(k) {
                Some(key)
                    if (!is_verb(lexed.tokens[k].key) || x.word(k).ends_with("ed"))
                        && Some(k) != x.s.finite =>
                {
                    words.push(key)
                }
                _ => break,
            }
        }
        let counted = |k: usize| x.is(k, class::TIME_UNIT | class::NUMERAL) || x.number(k);
        if any_of!(x.word(i + 1), "with" "at" "from" "of" "for" "by" "in" "on" "under" "without")
            && !counted(i + 2)
            && !counted(i + 3)
        {
            words.extend(super::naming::telling(
                x.source,
                i + 2,
                phrase_end(x, i + 2),
            ));
        }
        if !words.is_empty() {
            out.push(Named { noun, words });
        }
    }
    out
}

/// Topics whose words are not what narrows: said and denied, allowed, required, how often, things ruled out.
fn is_plain(topic: &str) -> bool {
    any_of!(topic, "whether it happens at all" "permission" "who may" "how many times" "whether it is required" "mail" "cookies"
        "pictures" "paper" "sound" "tracking" "whether it goes on by itself" "caching" "paper or screen")
}

/// Topics where the words beside a noun are what the two disagree about.
pub(super) fn is_valued(topic: &str) -> bool {
    any_of!(topic, "numbers that exclude each other" "the only one" "which day")
        || topic.starts_with("the ")
}

/// One noun in both, narrowed in each by words that the other does not have.
pub(super) fn objects(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if !is_plain(topic) {
        return false;
    }
    let (mine, theirs) = (named(a), named(b));
    let strange = |x: &Named, y: &Seen<'_>| x.words.iter().any(|k| !y.knows(*k));
    mine.iter()
        .any(|p| strange(p, b) && theirs.iter().any(|q| q.noun == p.noun && strange(q, a)))
}

/// `No reminder is sent for appointments booked on the same day`: denied of some of the things, unless the other leaves no
/// exception.
pub(super) fn exempted(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if is_valued(topic) || b.s.emphatic || b.s.unexcepted {
        return false;
    }
    let Some(no) = a.span().find(|&i| a.is(i, class::NEG)) else {
        return false;
    };
    (no + 2..a.s.range.1).any(|i| {
        let participle = a.word(i).ends_with("ed") && is_preposition(a.word(i + 1));
        let relative = any_of!(a.word(i), "that" "who" "which" "whose");
        let noun = a
            .telling(i - 1)
            .is_some_and(|k| b.knows(k) && !is_verb(a.source.tagged.lexed.tokens[i - 1].key));
        (participle || relative) && noun && !a.foreign(b, i, a.s.range.1).is_empty()
    })
}

/// `Never send advertising by e-mail`: what is denied is the thing, not the way; `No mail goes to members on leave`.
pub(super) fn denied_object(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if !any_of!(topic, "mail" "paper" "sound" "pictures" "cookies") || !a.s.negative {
        return false;
    }
    let Some(no) = a.span().find(|&i| a.is(i, class::NEG)) else {
        return false;
    };
    let by = (no + 1..a.s.range.1).find(|&i| any_of!(a.word(i), "by" "via" "on" "as" "in"));
    let way = |by: usize| {
        (by + 1..(by + 3).min(a.s.range.1)).any(|i| a.telling(i).is_some_and(|k| b.knows(k)))
    };
    let thing = by.is_some_and(|by| by > no + 2 && way(by) && !a.foreign(b, no + 2, by).is_empty());
    let aimed = |x: &Seen<'_>, y: &Seen<'_>| {
        x.span()
            .any(|i| x.word(i) == "to" && !x.foreign(y, i + 1, (i + 6).min(x.s.range.1)).is_empty())
    };
    thing || aimed(a, b) && aimed(b, a)
}

/// `Logs never contain names`, `the list shows names`: two things that hold something.
pub(super) fn containers(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let holds = |x: &Seen<'_>| {
        !x.s.passive
            && x.s.head.is_some()
            && x.s.persons.iter().all(|p| Some(*p) != x.s.head)
            && x.has(|w| any_of!(w, "contain" "contains" "show" "shows" "list" "lists" "hold" "holds" "include" "includes" "carry" "carries" "print" "prints" "display" "displays" "have" "has" "gives" "give" "name" "names"))
    };
    topic == "names or none"
        && holds(a)
        && holds(b)
        && a.s.foreign(b.s)
        && !a.is(a.s.range.0 + 1, class::WHOLE)
        && !b.is(b.s.range.0 + 1, class::WHOLE)
}

/// `The position is stored with the plot`, `a plot is removed`: another thing is kept.
pub(super) fn kept_things(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    any_of!(topic, "whether it is kept" "whether it is removed")
        && a.s.passive
        && b.s.passive
        && a.s
            .head
            .is_some_and(|h| !b.knows(h) && !a.s.generic.contains(&h))
        && b.s.head.is_some()
        && !a.s.owned
        && a.s.head != b.s.head
}

/// `so browsers never keep it`, `the proxy keeps it`: two who act, neither of them people.
pub(super) fn actors(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if is_valued(topic) {
        return false;
    }
    let lexed = &a.source.tagged.lexed;
    let Some(no) = a
        .span()
        .find(|&i| a.is(i, class::NEG) && any_of!(a.word(i), "never" "not" "cannot"))
    else {
        return false;
    };
    let Some(verb) = (no + 1..(no + 3).min(a.s.range.1)).find(|&i| a.telling(i).is_some()) else {
        return false;
    };
    let key = key_at(a, verb);
    let does =
        |i: &usize| b.telling(*i) == Some(key) && (b.s.act == Some(key) || b.s.finite == Some(*i));
    let Some(at) = b.span().find(does) else {
        return false;
    };
    // The words right before the verb, back to a sign or a conjunction.
    let subject = |x: &Seen<'_>, to: usize| -> Vec<usize> {
        (x.s.range.0..to)
            .rev()
            .take_while(|&i| {
                x.source.tagged.lexed.tokens[i].kind == TokenKind::Word
                    && !is_preposition(x.word(i))
                    && !any_of!(x.word(i), "so" "and" "but" "that" "which" "who" "if" "when" "be" "is" "are" "it" "they")
            })
            .filter(|&i| x.telling(i).is_some())
            .collect()
    };
    let (who, theirs) = (subject(a, no), subject(b, at));
    let things = |x: &Seen<'_>, y: &Seen<'_>, list: &[usize]| {
        !list.is_empty()
            && list.iter().all(|&i| {
                !x.is(
                    i,
                    class::PERSON | class::WHOLE | class::GENERIC | class::UNIVERSAL,
                ) && !y.knows(key_at(x, i))
            })
    };
    let active = |x: &Seen<'_>, i: usize| {
        !(i.saturating_sub(3)..i)
            .any(|k| any_of!(x.word(k), "be" "is" "are" "was" "been" "gets" "get"))
    };
    lexed.word(verb) != "be"
        && active(a, verb)
        && active(b, at)
        && things(a, b, &who)
        && things(b, a, &theirs)
}
