//! The last look at a pair that a detector has found: does a case, a part or a role tell the two apart?
//!
//! Each rule is about one way in which people tell two cases apart (own and others', unless and when, up to and from … on,
//! stored and shown, caller and callee). They run for found pairs only, so they cost nothing elsewhere, and they know
//! nothing about what the pair is about except where the rule says so.

use super::super::Source;
use super::grammar::{is_boundary, is_preposition};
use super::relation::common;
use super::statement::Statement;
use super::synonym::canonical;
use super::{amounts, narrowing, roles};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A statement with its text.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s> {
    pub source: &'s Source<'s>,
    pub s: &'s Statement,
}

impl<'s> Seen<'s> {
    pub fn word(&self, i: usize) -> &'s str {
        if i < self.s.range.1 {
            self.source.tagged.lexed.word(i)
        } else {
            ""
        }
    }

    pub fn span(&self) -> std::ops::Range<usize> {
        self.s.range.0..self.s.range.1
    }

    /// Some word of it passes.
    pub fn has(&self, is: impl Fn(&str) -> bool) -> bool {
        self.span().any(|i| is(self.word(i)))
    }

    pub fn is(&self, i: usize, class: u64) -> bool {
        i < self.s.range.1 && self.source.tagged.is(i, class)
    }

    /// Key of a telling word.
    pub fn telling(&self, i: usize) -> Option<u64> {
        super::naming::telling(self.source, i, (i + 1).min(self.s.range.1))
            .first()
            .copied()
    }

    pub fn knows(&self, key: u64) -> bool {
        self.s.content.binary_search(&key).is_ok()
    }

    /// Telling words of `from..to` that the other does not hold.
    pub fn foreign(&self, other: &Seen<'_>, from: usize, to: usize) -> Vec<u64> {
        let mut keys = super::naming::telling(self.source, from, to.min(self.s.range.1));
        keys.retain(|k| !other.knows(*k));
        keys
    }

    pub fn number(&self, i: usize) -> bool {
        i < self.s.range.1 && self.source.tagged.lexed.tokens[i].kind == TokenKind::Number
    }
}

/// Whether the first tells itself apart from the second, for a pair found on a topic.
type Rule = fn(&Seen<'_>, &Seen<'_>, &str) -> bool;

const RULES: &[Rule] = &[
    owners,
    nothing_there,
    bracket,
    existing,
    amounts::subject_amount,
    fronted,
    places,
    some_of_them,
    exception,
    amounts::sizes,
    codes,
    representations,
    as_well,
    amounts::hours,
    domain,
    reversed,
    amounts::shares,
    amounts::rates,
    ties,
    comparison,
    amounts::first_time,
    amounts::clocks,
    common_thing,
    acts,
    roles::afterwards,
    roles::windowed,
    roles::one_container,
    roles::reported,
    roles::agents,
    roles::subjects,
    roles::beneficiaries,
    roles::occasions,
    roles::partial_denial,
    roles::two_cases,
    roles::lifetimes,
    narrowing::objects,
    narrowing::exempted,
    narrowing::denied_object,
    narrowing::containers,
    narrowing::kept_things,
    narrowing::actors,
];

/// Whether a case tells the two statements apart.
pub(super) fn told_apart([a, b]: [Seen<'_>; 2], topic: &str) -> bool {
    RULES
        .iter()
        .any(|rule| rule(&a, &b, topic) || rule(&b, &a, topic))
}

/// `their own profile`, `the profiles of others`; not where one says *only*.
fn owners(a: &Seen<'_>, b: &Seen<'_>, _: &str) -> bool {
    let only = |x: &Seen<'_>| x.has(|w| any_of!(w, "only" "solely" "exclusively" "just" "alone"));
    let own = |x: &Seen<'_>| {
        x.span().any(|i| {
            x.word(i) == "own" && i > 0 && !any_of!(x.word(i.saturating_sub(2)), "on" "of")
        })
    };
    let others = |x: &Seen<'_>| {
        x.span().any(|i| {
            any_of!(x.word(i), "others" "others'" "other's" "else's" "another's" "strangers")
                || any_of!(x.word(i), "other" "another" "different" "foreign")
                    && (x.is(i + 1, class::PERSON)
                        || any_of!(x.word(i + 1), "people" "people's" "persons"))
                || x.word(i) == "else" && i > 0
        })
    };
    own(a) && !others(a) && others(b) && !own(b) && !only(a) && !only(b)
}

/// `closed unless the alarm sounds`, `when the alarm sounds it opens`.
fn exception(a: &Seen<'_>, b: &Seen<'_>, _: &str) -> bool {
    let Some(at) = a.span().find(|&i| {
        a.word(i) == "unless"
            || a.word(i) == "except"
                && any_of!(a.word(i + 1), "when" "if" "in" "during" "while" "on" "for" "after")
    }) else {
        return false;
    };
    let end = (at + 1..a.s.range.1)
        .find(|&i| any_of!(a.source.tagged.lexed.raw(i), "," ";" "." ")"))
        .unwrap_or(a.s.range.1);
    let left_out = super::naming::telling(a.source, at + 1, end);
    let mut case: Vec<u64> = [&b.s.condition[..], &b.s.fronted, &b.s.limit].concat();
    case.sort_unstable();
    case.dedup();
    !left_out.is_empty() && common(&left_out, &case) * 3 >= left_out.len() * 2
}

/// `nothing below minimum: no mail`: what happens where there is nothing.
fn nothing_there(a: &Seen<'_>, b: &Seen<'_>, _: &str) -> bool {
    let lacks = |x: &Seen<'_>| {
        any_of!(x.word(x.s.range.0), "nothing" "no" "none" "nobody")
            && (x.s.range.0 + 1..x.s.range.1)
                .take(8)
                .find(|&i| any_of!(x.source.tagged.lexed.raw(i), ":" "->" "→" "=>"))
                .is_some_and(|colon| {
                    !(x.s.range.0..colon)
                        .any(|i| x.is(i, class::MODAL) || any_of!(x.word(i), "is" "are" "has"))
                })
    };
    lacks(a) && !lacks(b)
}

/// `badge numbers (none for fluids)`: what the bracket leaves out is what the other is about.
fn bracket(a: &Seen<'_>, b: &Seen<'_>, _: &str) -> bool {
    let lexed = &a.source.tagged.lexed;
    a.span().any(|i| {
        lexed.raw(i) == "("
            && any_of!(a.word(i + 1), "none" "not" "no" "except" "without" "but" "unless" "only" "apart")
            && {
                let end = (i + 1..a.s.range.1).find(|&k| lexed.raw(k) == ")").unwrap_or(a.s.range.1);
                let words = super::naming::telling(a.source, i + 2, end);
                b.s.head.is_some_and(|h| words.contains(&h)) || common(&words, &b.s.phrase) > 0
            }
    })
}

/// `The existing descriptions stay as they are`: what is there today, against what people may do.
fn existing(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let old = |w: &str| any_of!(w, "existing" "today's" "historical" "previous" "old");
    any_of!(topic, "write access" "whether it may change" "whether it happens at all" "whether it is kept")
        && a.has(old)
        && !b.has(old)
        && a.has(|w| any_of!(w, "stay" "stays" "remain" "remains" "untouched" "unchanged"))
        && b.has(|w| any_of!(w, "can" "may"))
        && !b.s.emphatic
}

/// `On the short form … is required`: in a place that the other does not speak of.
fn fronted(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    !any_of!(topic, "numbers that exclude each other" "the only one")
        && any_of!(a.word(a.s.range.0), "on" "in" "at" "for")
        && any_of!(a.word(a.s.range.0 + 1), "the" "our" "their" "its" "his" "her")
        && !a.s.fronted.is_empty()
        && common(&a.s.fronted, &b.s.content) == 0
        && !b.s.emphatic
}

/// `do not pay at the pool`, `pay at the bar`
fn places(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let at = |x: &Seen<'_>| -> Vec<u64> {
        let spots = x
            .span()
            .filter(|&i| x.word(i) == "at" && any_of!(x.word(i + 1), "the" "our" "a") && !any_of!(x.word(i + 2), "end" "start" "beginning" "same" "latest" "time" "moment" "earliest"));
        spots
            .flat_map(|i| super::naming::telling(x.source, i + 2, phrase_end(x, i + 2)))
            .collect()
    };
    let (here, there) = (at(a), at(b));
    !narrowing::is_valued(topic)
        && !here.is_empty()
        && !there.is_empty()
        && here.iter().all(|k| !b.knows(*k))
        && there.iter().all(|k| !a.knows(*k))
}

/// `A cancelled order is not invoiced`, `an order is invoiced`: denied of some of them, unless the other leaves none out.
fn some_of_them(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let state = |w: &str| w.ends_with("ed") || w.starts_with("un") || w.starts_with("non-");
    !narrowing::is_valued(topic)
        && a.s.negative
        && !b.s.negative
        && a.s.head.is_some()
        && a.s.head == b.s.head
        && !b.s.emphatic
        && !b.s.unexcepted
        && (a.s.range.0..a.s.verb_at.min(a.s.range.0 + 3))
            .any(|i| state(a.word(i)) && a.telling(i).is_some_and(|k| !b.knows(k)))
}

/// The answer codes that a statement names: `a 400 or 422`.
fn codes_of(x: &Seen<'_>) -> Vec<&'static str> {
    const CODES: &[&str] = &[
        "200", "201", "202", "204", "301", "302", "304", "307", "308", "400", "401", "402", "403",
        "404", "405", "406", "408", "409", "410", "411", "412", "413", "415", "416", "422", "423",
        "425", "428", "429", "431", "451", "500", "501", "502", "503", "504", "4xx", "5xx",
    ];
    let at = |i: usize| {
        let lead = any_of!(x.word(i.saturating_sub(1)), "a" "an" "on" "with" "status" "code" "codes" "or" "and" "after" "as" "http" "by" "for" "any" ",")
            || any_of!(x.word(i + 1), "answer" "answers" "response" "responses" "status" "error" "errors" "reply" "or" "and" "is" "are");
        let unit = x.is(
            i + 1,
            class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT | class::CURRENCY,
        );
        (lead && !unit)
            .then(|| CODES.iter().copied().find(|c| *c == x.word(i)))
            .flatten()
    };
    x.span().filter_map(at).collect()
}

/// `Do not retry a 400`, `retry a timeout`: denied of answers that the other does not name.
fn codes(a: &Seen<'_>, b: &Seen<'_>, _: &str) -> bool {
    let (mine, theirs) = (codes_of(a), codes_of(b));
    if mine.is_empty() {
        return false;
    }
    a.s.negative
        && mine.iter().all(|c| !theirs.contains(c))
        && !b.has(|w| any_of!(w, "every" "all" "any" "always" "each"))
}

/// What is done with a value: stored, shown, sent, entered.
fn stage_of(x: &Seen<'_>) -> u8 {
    x.span().fold(0, |stages, i| {
        stages
            | match x.word(i) {
                "stored" | "stores" | "store" | "saved" | "saves" | "kept" | "database"
                | "column" | "columns" | "internally" | "persisted" | "table" => 1,
                "shown" | "shows" | "show" | "displayed" | "displays" | "display" | "screen"
                | "printed" | "prints" | "sees" | "see" | "rendered" | "interface" | "page"
                | "label" | "labels" => 2,
                "sent" | "transmitted" | "exported" | "export" | "api" | "response" => 4,
                "entered" | "typed" | "enter" | "enters" | "types" => 8,
                _ => 0,
            }
    })
}

/// `stored as integer cents`, `shown with two decimals`.
fn representations(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let (done, did) = (stage_of(a), stage_of(b));
    done != 0
        && did != 0
        && done & did == 0
        && any_of!(topic, "decimals" "number formats" "time zone" "units" "compressed or not")
}

/// `A technician can also close it by hand`: one more way.
fn as_well(a: &Seen<'_>, _: &Seen<'_>, topic: &str) -> bool {
    let more = a.has(|w| any_of!(w, "also" "too" "additionally"))
        || a.span()
            .any(|i| a.word(i) == "as" && a.word(i + 1) == "well");
    more && a.has(|w| any_of!(w, "can" "may"))
        && any_of!(topic, "who acts" "opposite statements")
        && a.has(|w| any_of!(w, "hand" "manually" "manual"))
}

/// `unique within a building`, `two buildings may have the same`.
fn domain(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if topic != "uniqueness" && !a.has(|w| w == "unique") {
        return false;
    }
    a.span()
        .filter(|&i| any_of!(a.word(i), "within" "per" "inside" "in" "for" "of"))
        .filter_map(|i| (i + 1..i + 3).find_map(|k| a.telling(k)))
        .any(|key| {
            b.span().any(|i| {
                any_of!(b.word(i), "two" "different" "several" "many" "multiple" "other" "another" "across" "between" "various" "separate")
                    && (i + 1..i + 3).any(|k| b.telling(k) == Some(key))
            })
        })
}

/// `the service must not call the system`, `the system calls the service`.
fn reversed(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    if topic != "whether it happens at all" && topic != "opposite statements" {
        return false;
    }
    let around = |x: &Seen<'_>, at: usize| {
        (
            super::naming::telling(x.source, x.s.range.0, at),
            super::naming::telling(x.source, at + 1, x.s.range.1),
        )
    };
    let passive = |x: &Seen<'_>| x.s.passive || x.has(|w| w == "by");
    if passive(a) || passive(b) {
        return false;
    }
    a.span().any(|i| {
        let Some(verb) = a.telling(i).filter(|k| b.knows(*k)) else {
            return false;
        };
        let Some(j) = b.span().find(|&j| b.telling(j) == Some(verb)) else {
            return false;
        };
        let ((who, whom), (theirs, them)) = (around(a, i), around(b, j));
        let last =
            |x: &Seen<'_>, from: usize, to: usize| (from..to).rev().find_map(|k| x.telling(k));
        let (head, other) = (last(a, a.s.range.0, i), last(b, b.s.range.0, j));
        common(&who, &theirs) == 0
            && head.is_some_and(|k| them.contains(&k))
            && other.is_some_and(|k| whom.contains(&k))
    })
}

/// `Rows of the same date stay in the order of the input`: what the first order leaves open.
fn ties(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let equal = |x: &Seen<'_>| {
        x.span().any(|i| {
            any_of!(x.word(i), "equal" "identical" "ties" "tie" "otherwise" "then")
                || x.word(i) == "same" && x.s.finite.is_none_or(|v| i < v)
        })
    };
    topic == "order" && equal(a) && !equal(b)
}

/// `never on the same disk as the database`: said of two things together.
fn comparison(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let compares = |x: &Seen<'_>| {
        x.span()
            .any(|i| x.word(i) == "same" && (i + 2..i + 5).any(|k| x.word(k) == "as"))
    };
    any_of!(topic, "opposite statements" "whether it happens at all")
        && compares(a)
        && !b.has(|w| any_of!(w, "same" "share" "shared" "as"))
}

/// `Each tenant has its own schema`, `the table is shared by all`: another thing is common to all.
fn common_thing(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    topic == "own or common"
        && b.s.passive
        && b.s.head.is_some_and(|h| !a.knows(h))
        && a.span()
            .any(|i| any_of!(a.word(i), "own" "separate" "dedicated"))
        && common(&b.s.phrase, &a.s.content) == 0
}

/// `The doctor signs it by hand`, `the signed report is filed automatically`: two acts.
fn acts(a: &Seen<'_>, b: &Seen<'_>, topic: &str) -> bool {
    let light =
        |x: &Seen<'_>| x.has(|w| any_of!(w, "done" "made" "carried" "performed" "happens" "takes"));
    let by_hand = |x: &Seen<'_>| x.has(|w| any_of!(w, "hand" "manually" "manual"));
    (topic == "who acts" || topic == "opposite statements" && by_hand(a))
        && !light(a)
        && !light(b)
        && super::acts::different_acts(a.s, b.s)
}

/// Where the phrase that begins at `from` ends: a sign, a verb, another preposition.
pub(super) fn phrase_end(x: &Seen<'_>, from: usize) -> usize {
    (from..x.s.range.1)
        .find(|&i| {
            is_boundary(x.source, i)
                || is_preposition(x.word(i))
                || x.is(i, class::MODAL)
                || any_of!(x.word(i), "is" "are" "has" "have" "was" "were" "and" "or")
        })
        .unwrap_or(x.s.range.1)
}

/// The key of a word as the statements hold it.
pub(super) fn key_at(x: &Seen<'_>, i: usize) -> u64 {
    canonical(x.source.tagged.lexed.tokens[i].key)
}
