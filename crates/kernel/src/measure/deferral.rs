//! A value that is put off: `we do not have the number yet`, `to be measured in June`, `(attachment missing)`,
//! `EUR #####`, `DD.MM.2025`.
//!
//! Clauses (between commas, brackets, dashes, colons and sentence ends) are weighed. Each cue adds points, a clause
//! with [`ENOUGH`] is a placeholder. Masks are in `masks`.

use super::masks::{find_letters, find_masks};
use super::placeholder::finding;
use super::{Finding, Source};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Points from which a clause puts a value off.
const ENOUGH: i32 = 3;

/// States of a value that nobody has fixed.
const UNSETTLED: &[&str] = &[
    "agreed",
    "announced",
    "approved",
    "arranged",
    "assigned",
    "available",
    "chosen",
    "clarified",
    "clear",
    "communicated",
    "confirmed",
    "decided",
    "defined",
    "delivered",
    "determined",
    "final",
    "finalised",
    "finalized",
    "finished",
    "fixed",
    "given",
    "known",
    "measured",
    "named",
    "negotiated",
    "ordered",
    "picked",
    "provided",
    "ready",
    "received",
    "selected",
    "set",
    "settled",
    "signed",
    "specified",
    "supplied",
    "there",
    "written",
];

/// Acts by which somebody will give the value.
const GIVING: &[&str] = &[
    "announce",
    "announces",
    "choose",
    "chooses",
    "come",
    "comes",
    "confirm",
    "confirms",
    "decide",
    "decides",
    "define",
    "defines",
    "deliver",
    "delivers",
    "determine",
    "determines",
    "find",
    "finds",
    "fix",
    "fixes",
    "follow",
    "follows",
    "give",
    "gives",
    "name",
    "names",
    "negotiate",
    "negotiates",
    "pick",
    "picks",
    "provide",
    "provides",
    "send",
    "sends",
    "set",
    "sets",
    "settle",
    "settles",
    "specifies",
    "specify",
    "supplies",
    "supply",
    "tell",
    "tells",
];

/// Words that put an act into the future of the project.
fn is_later(t: &crate::lexicon::Tagged<'_>, i: usize) -> bool {
    let word = t.lexed.word(i);
    any_of!(word, "later" "soon" "tomorrow" "shortly" "separately" "eventually")
        || word == "next"
            && any_of!(t.lexed.word(i + 1), "week" "month" "year" "monday" "tuesday" "wednesday" "thursday" "friday" "quarter" "spring" "summer" "autumn" "winter" "meeting" "sprint")
        || any_of!(word, "in" "by" "until" "after" "mid" "end" "early" "late")
            && (is_month(t.lexed.word(i + 1))
                || is_month(t.lexed.word(i + 2))
                || any_of!(t.lexed.word(i + 2), "meeting" "vote" "audit" "kick-off" "workshop" "tender" "board" "review"))
}

fn is_month(word: &str) -> bool {
    any_of!(word,
        "january" "february" "march" "april" "june" "july" "august" "september" "october" "november"
        "december" "spring" "autumn")
}

/// Adds the clauses that put a value off, and the masks.
pub(super) fn find_deferrals(source: &Source<'_>, out: &mut Vec<Finding>) {
    let lexed = &source.tagged.lexed;
    for &(from, to) in &lexed.sentences {
        let mut start = from;
        for i in from..=to {
            let cut = i == to
                || lexed.tokens[i].kind == TokenKind::Symbol
                    && !lexed.tokens[i].quoted
                    && (any_of!(lexed.raw(i), "," "(" ")" ":" "." ";" "!" "\n" "=")
                        || any_of!(lexed.raw(i), "-" "–" "—" "--") && lexed.tokens[i].spaced);
            if !cut {
                continue;
            }
            if i > start && weigh(source, (from, to), (start, i)) >= ENOUGH {
                let (mut a, mut b) = lexed.span((start, i));
                // A clause in brackets is quoted with them.
                if start > from && lexed.raw(start - 1) == "(" && i < to && lexed.raw(i) == ")" {
                    (a, b) = (lexed.tokens[start - 1].start, lexed.tokens[i].end);
                }
                out.push(finding(source, a, b, start));
            }
            start = i + 1;
        }
    }
    find_masks(source, out);
    find_letters(source, out);
}

/// Without one of these words no clause is weighed.
const TRIGGERS: &[&str] = &[
    "appendix",
    "april",
    "aren't",
    "attached",
    "attachment",
    "august",
    "await",
    "awaiting",
    "be",
    "call",
    "chat",
    "come",
    "comes",
    "december",
    "doesn't",
    "don't",
    "due",
    "dummy",
    "e-mail",
    "email",
    "enclosure",
    "eventually",
    "example",
    "expected",
    "february",
    "follow",
    "follows",
    "guess",
    "guessed",
    "hasn't",
    "haven't",
    "insert",
    "isn't",
    "january",
    "july",
    "june",
    "later",
    "mail",
    "march",
    "meeting",
    "minutes",
    "missing",
    "n",
    "next",
    "no",
    "nobody",
    "not",
    "november",
    "october",
    "once",
    "open",
    "outstanding",
    "pending",
    "phone",
    "placeholder",
    "please",
    "provisional",
    "replace",
    "separately",
    "september",
    "shortly",
    "soon",
    "spring",
    "still",
    "tomorrow",
    "unclear",
    "undecided",
    "unknown",
    "until",
    "waiting",
    "when",
    "yet",
];

/// The points of a clause.
fn weigh(source: &Source<'_>, sentence: (usize, usize), clause: (usize, usize)) -> i32 {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (from, to) = clause;
    if (from..to).any(|i| lexed.tokens[i].quoted) || to - from > 18 {
        return 0;
    }
    if !(from..to).any(|i| TRIGGERS.binary_search(&lexed.word(i)).is_ok()) {
        return 0;
    }
    let word = |i: usize| lexed.word(i);
    let has = |list: &[&str]| (from..to).any(|i| list.contains(&word(i)));
    let value = t.any((from, to), class::BLANK)
        || has(&[
            "one",
            "it",
            "this",
            "rest",
            "details",
            "version",
            "attachment",
            "figure",
            "figures",
            "n",
            "x",
            "it's",
        ]);
    let us = (from..to).any(|i| any_of!(word(i), "we" "i" "nobody" "us"));
    let denied = (from..to).any(|i| any_of!(word(i), "not" "no" "n't" "haven't" "hasn't" "isn't" "aren't" "nobody" "don't" "doesn't"));
    let yet = has(&["yet", "still"])
        || (from..to).any(|i| {
            any_of!(word(i), "so") && word(i + 1) == "far"
                || word(i) == "for" && word(i + 1) == "now"
                || word(i) == "at" && word(i + 1) == "the" && word(i + 2) == "moment"
        });
    let later = (from..to).any(|i| is_later(t, i));
    let person = t.any((from, to), class::PERSON);
    let last = word(to - 1);
    let bracketed = from > sentence.0 && lexed.raw(from - 1) == "(";
    let labelled = from > sentence.0 && any_of!(lexed.raw(from - 1), ":" "=" "(" "-" "–" "—");
    let mut points = 0;
    // Not there yet.
    if denied
        && has(&[
            "have", "had", "know", "received", "got", "exist", "exists", "haven't", "hasn't",
        ])
        && (us || yet || bracketed && value)
    {
        points += if yet || us || bracketed { 3 } else { 1 };
    }
    if denied
        && (from..to).any(|i| UNSETTLED.binary_search(&word(i)).is_ok())
        && (yet || value && (from..to).any(|i| any_of!(word(i), "been")) || us)
    {
        points += 3;
    }
    if last == "yet" && denied | has(&["n", "n/a", "na", "none"]) && to - from <= 5 {
        points += 3;
    }
    if (from..to).any(|i| word(i) == "n" && lexed.raw(i + 1) == "/") && (yet || later) {
        points += 3;
    }
    let settled = (from..to).any(|i| {
        word(i) == "not" && any_of!(word(i + 1), "known" "decided" "defined" "agreed" "fixed" "clear" "specified" "settled" "chosen" "final" "finalised" "finalized" "named")
            && i + 2 >= to
    });
    if settled && (value || labelled) {
        points += 3;
    }
    if bracketed
        && denied
        && has(&[
            "available",
            "attached",
            "received",
            "here",
            "enclosed",
            "included",
        ])
        && to - from <= 6
    {
        points += 3;
    }
    if value
        && last == "missing"
        && to == sentence.1
        && any_of!(word(to.saturating_sub(2)), "is" "are" "still")
    {
        points += 3;
    }
    if us && has(&["waiting", "await", "awaiting"]) {
        points += 3;
    }
    if bracketed && word(from) == "please" && to - from <= 5 {
        points += 3;
    }
    if labelled
        && any_of!(word(from), "see" "as" "from" "like" "per" "same")
        && has(&[
            "mail",
            "e-mail",
            "email",
            "attachment",
            "chat",
            "minutes",
            "meeting",
            "phone",
            "call",
            "appendix",
        ])
        && to - from <= 9
    {
        points += 3;
    }
    if has(&["exact", "final", "real", "actual", "correct"])
        && (from..to).any(|i| any_of!(word(i), "comes" "come") && word(i + 1) == "from")
    {
        points += 3;
    }
    if value && later && has(&["expected", "due", "announced", "promised"]) {
        points += 3;
    }
    if (from..to).any(|i| {
        any_of!(word(i), "from" "in" "see")
            && word(i + 1) == "the"
            && any_of!(word(i + 2), "attachment" "attached" "enclosure")
    }) {
        points += 3;
    }
    // Missing, pending, outstanding: as the state of a value.
    if any_of!(last, "missing" "pending" "outstanding" "unknown" "undecided" "open" "unclear")
        && labelled
        && to - from <= 4
        && lexed.raw(to) != ","
        && (value || bracketed || to - from == 1)
    {
        points += if lexed.tokens[to - 1].upper && to - from > 1 {
            0
        } else {
            3
        };
    }
    if has(&["pending", "awaiting", "waiting", "outstanding"])
        && (from..to).any(|i| {
            any_of!(word(i), "pending" "waiting" "outstanding")
                && any_of!(word(i + 1), "from" "for" "on" "with" "at" "until")
                || word(i) == "awaiting"
        })
        && (labelled || yet || value && person)
    {
        points += 3;
    }
    // With somebody.
    if (from..to).any(|i| word(i) == "still" && any_of!(word(i + 1), "with" "at" "being" "in" "under" "negotiating" "looking" "waiting" "needs" "has") && any_of!(word(i.saturating_sub(1)), "is" "are" "we" "this" "be" "being") || word(i) == "still" && any_of!(word(i + 1), "with" "being" "to")) {
        points += if person || value { 3 } else { 2 };
    }
    if (from..to).any(|i| {
        any_of!(word(i), "up" "left")
            && word(i + 1) == "to"
            && (t.is(i + 3, class::PERSON)
                || t.is(i + 4, class::PERSON)
                || t.is(i + 5, class::PERSON))
    }) && (yet || denied)
    {
        points += 3;
    }
    // Given in the future: `to be measured in June`, `follows from marketing`, `the office names it next week`.
    let passive = (from..to).any(|i| {
        any_of!(word(i), "to" "will" "shall") && word(i + 1) == "be" && {
            let act = word(i + 2);
            act.ends_with("ed")
                || UNSETTLED.binary_search(&act).is_ok()
                || any_of!(act, "found" "told" "sent" "added" "done")
        }
    });
    if passive && later && (value || labelled || word(from) == "to" || has(&["n", "x"])) {
        points += 3;
    }
    if bracketed
        && has(&["to"])
        && has(&[
            "be", "follow", "come", "add", "check", "confirm", "insert", "replace",
        ])
        && to - from <= 5
        && value
    {
        points += 3;
    }
    if (from..to).any(|i| {
        word(i) == "to"
            && any_of!(word(i + 1), "come" "follow" "arrive")
            && any_of!(word(i + 2), "from" "by" "with" "in" "next" "later" "soon" "")
    }) && (labelled || value)
    {
        points += 3;
    }
    let gives = (from..to).any(|i| GIVING.binary_search(&word(i)).is_ok());
    if gives && later && (person || value) && (value || labelled || has(&["more"])) {
        points += 3;
    }
    if (from..to).any(|i| {
        any_of!(word(i), "follows" "follow")
            && any_of!(word(i + 1), "from" "later" "soon" "by" "next" "in" "shortly")
    }) && (has(&["one", "details", "rest", "real", "final", "exact"]))
    {
        points += 3;
    }
    if bracketed
        && any_of!(word(from), "replace" "insert" "placeholder" "dummy" "example" "guess" "guessed" "provisional")
        && to - from <= 3
    {
        points += 3;
    }
    if (from..to).any(|i| {
        any_of!(word(i), "once" "when" "until")
            && any_of!(word(i + 1), "we" "i")
            && any_of!(word(i + 2), "know" "have" "get" "hear")
    }) || (from..to)
        .any(|i| word(i) == "soon" && word(i + 1) == "as" && any_of!(word(i + 2), "we" "i"))
    {
        points += 3;
    }
    // What a program does under a condition is not a gap of its author.
    let conditional = (sentence.0..to).any(|i| {
        any_of!(word(i), "if" "when" "whenever" "unless" "while" "until")
            && !any_of!(word(i + 1), "we" "i")
    });
    let relative = (from..to).any(|i| {
        any_of!(word(i), "which" "who" "whose" "without")
            || word(i) == "that"
                && any_of!(word(i + 1), "have" "has" "are" "is" "was" "were" "do" "does")
    });
    let valve = has(&["n", "x"]);
    if (conditional && !valve && !bracketed) || relative {
        points -= 3;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(UNSETTLED.windows(2).all(|w| w[0] < w[1]));
        assert!(GIVING.windows(2).all(|w| w[0] < w[1]));
        assert!(TRIGGERS.windows(2).all(|w| w[0] < w[1]));
    }
}
