//! Phrases that say that a value is not there: `to be decided`, `will be provided later`, `not yet known`, `as agreed`.
//!
//! The phrases are cues of the lexicon. Each kind has its own test for company that turns the words into a rule of the
//! product: a computation (`to be determined from …`), an act of a program on every request, a description of things.

use super::mention::{NAMED, is_mentioned};
use super::{Known, finding, widen};
use crate::lexicon::{Cue, class};
use crate::measure::grammar::{describes_noun, has_relative};
use crate::measure::{Finding, MAX_PER_TEXT, Source};
use crate::text::lex::TokenKind;

/// Words after `to be determined` that turn it into a computation.
const COMPUTED_FROM: &[&str] = &[
    "from",
    "at",
    "using",
    "automatically",
    "dynamically",
    "through",
    "via",
    "with",
    "per",
    "on",
    "as",
    "in",
    "for",
    "when",
    "each",
    "whether",
];
/// Words that put a `will be …` into the future of the project.
const LATER: &[&str] = &[
    "later",
    "soon",
    "separately",
    "shortly",
    "tomorrow",
    "next",
    "once",
    "before",
    "after",
    "when",
    "until",
    "eventually",
    "then",
    "yet",
    "following",
];
/// Adds the phrases of a text that leave a value open.
pub(super) fn find_phrases(source: &Source<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut until = 0;
    let first = out.len();
    for hit in &t.hits {
        if out.len() - first >= MAX_PER_TEXT {
            break;
        }
        if hit.from < until || (hit.from..hit.to).any(|i| lexed.tokens[i].quoted) {
            continue;
        }
        let next = lexed.word(hit.to);
        let (sentence_from, sentence_to) = lexed.sentence_of(hit.from);
        let several = hit.to > hit.from + 1;
        let open = match hit.cue {
            Cue::Unresolved | Cue::ToBe | Cue::WillBe
                if several
                    && (is_mentioned(source, hit.from, hit.to)
                        || hit.cue != Cue::WillBe
                            && any_of!(lexed.word(hit.from), "still" "not" "yet" "awaiting" "waiting" "pending" "to" "unknown" "needs")
                            && describes_noun(t, hit.from, hit.to)) =>
            {
                false
            }
            Cue::Unresolved if !several && known.is_mentioned(lexed.word(hit.from)) => false,
            Cue::Unresolved => is_unresolved(source, hit.from, hit.to),
            Cue::ToBe => {
                !is_computation(source, hit.to, next)
                    && !in_purpose(source, sentence_from, hit.from)
            }
            Cue::WillBe => {
                let later = (hit.to..sentence_to).any(|k| LATER.contains(&lexed.word(k)));
                let ends = hit.to >= sentence_to || lexed.tokens[hit.to].kind == TokenKind::Symbol;
                let passive = lexed.word(hit.from + 1) == "be";
                let firm = !any_of!(lexed.word(hit.from + 2),
                    "sent" "shared" "delivered" "given" "added" "set" "available" "handed" "told"
                    "fixed");
                let behaviour = t.any((sentence_from, hit.from), class::CONDITION);
                if !later && (behaviour || is_routine(source, hit.to, sentence_to)) {
                    false
                } else if passive {
                    later
                        || next == "by" && !behaviour && t.any((hit.to, sentence_to), class::PERSON)
                        || (firm && (ends || next == "by"))
                } else {
                    // `the client will send the list later`: an action of somebody outside, in the future.
                    later
                        || (t.any((sentence_from, hit.from), class::PERSON)
                            && any_of!(lexed.word(hit.from + 1),
                                "provide" "supply" "decide" "define" "specify" "announce" "name"
                                "confirm" "tell" "choose" "give" "say" "clarify" "settle" "pick" "determine"))
                }
            }
            _ => false,
        };
        if open {
            let (start, end) = lexed.span((hit.from, hit.to));
            let (start, end) = widen(lexed.text, start, end);
            out.push(finding(source, start, end, hit.from));
            until = hit.to;
        }
    }
}

/// `… by the gateway in the header X-Tenant on every request`: a program does it, again and again.
fn is_routine(source: &Source<'_>, from: usize, to: usize) -> bool {
    let t = &source.tagged;
    t.any((from, to), class::FREQUENCY)
        || (from..to).any(|i| {
            any_of!(t.lexed.word(i), "every" "each" "per" "always" "automatically" "header" "byte" "bytes" "payload" "field" "runtime")
        })
}

/// Marker words and phrases that are names or actions in some company.
fn is_unresolved(source: &Source<'_>, from: usize, to: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = lexed.word(from);
    let prev = if from > 0 { lexed.word(from - 1) } else { "" };
    let prev_symbol = from > 0 && lexed.tokens[from - 1].kind == TokenKind::Symbol;
    let next = lexed.word(to);
    let bytes = lexed.text.as_bytes();
    let before = bytes[..lexed.tokens[from].start]
        .last()
        .copied()
        .unwrap_or(b' ');
    let after = bytes.get(lexed.tokens[to - 1].end).copied().unwrap_or(b' ');
    if word == "ask" && to == from + 1 {
        return is_short_note(source, from, 4)
            && lexed
                .tokens
                .get(to)
                .is_some_and(|n| n.upper && n.kind == TokenKind::Word);
    }
    if to == from + 1 {
        // TK is also a country: the marker stands alone or behind a label.
        let alone = prev_symbol && prev != "," || to >= lexed.tokens.len();
        if word == "tk" && (lexed.raw(from) != "TK" || !alone) || is_mentioned(source, from, to) {
            return false;
        }
        // `N.N being the height`: the text says what it stands for.
        let explained = |k: usize| {
            lexed.word(k) == word && any_of!(lexed.word(k + 1), "being" "stands" "means")
        };
        if (0..lexed.tokens.len().min(400)).any(explained) {
            return false;
        }
        // fixme, tbd and kin: not as part of a path or of a search for them.
        // `mqtt://TBD:8883`, `https://host/CHANGE_ME/`: a part of an address is a blank in capitals.
        let upper = lexed
            .raw(from)
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b == b'_');
        let address = upper && address_holds(lexed.text, lexed.tokens[from].start);
        if address {
            return true;
        }
        let part = matches!(before, b'/' | b'.' | b'_' | b'-')
            || matches!(after, b'/' | b'_' | b'(')
            || (after == b'-' && bytes_follow(lexed.text, lexed.tokens[to - 1].end));
        return !part
            && NAMED.binary_search(&next).is_err()
            // `every TBD minutes`
            && (t.is(to, class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT)
                || !any_of!(prev, "a" "each" "every" "todo" "or" "and" "the" "no" "any"));
    }
    match word {
        // An instruction to ask somebody stands alone or behind a label: `Baud rate: ask the manufacturer`.
        "ask" | "check" | "to" if any_of!(lexed.word(from + 1), "the" "our" "with" "ask" "check" "clarify") => {
            (prev_symbol && prev != "," || from == 0 && lexed.tokens.len() <= 6)
                && !lexed.is_symbol(from.wrapping_sub(1), ".")
        }
        "to" if lexed.word(from + 1) == "follow" => {
            prev_symbol
                || any_of!(prev, "is" "are" "details" "list" "link" "name" "number" "text" "file" "date" "rest" "address" "price" "url")
        }
        // `gives an empty form to fill in`
        "to" if lexed.word(from + 1) == "fill" => {
            !any_of!(next, "by" "with")
                && !any_of!(prev, "form" "forms" "sheet" "sheets" "questionnaire" "fields" "gaps" "blanks" "table" "page" "template")
        }
        "will" if lexed.word(from + 1) == "follow" => {
            to >= lexed.sentence_of(from).1
                || lexed.tokens[to].kind == TokenKind::Symbol
                || any_of!(next, "by" "from" "with" "via" "as")
                || LATER.contains(&next)
        }
        "still" if matches!(lexed.word(from + 1), "open" | "missing" | "pending") => {
            // `files that are still open` describe a state of things.
            !t.any(lexed.sentence_of(from), class::CONDITION)
                && !matches!(lexed.word(from.wrapping_sub(2)), "that" | "which")
                && !any_of!(lexed.word(lexed.sentence_of(from).0), "what" "whatever" "everything" "anything")
                && !has_relative(t, from)
        }
        "not" | "yet" | "unknown" | "awaiting" | "pending" | "waiting" => {
            // `active, paused or waiting for approval` are states.
            let state = any_of!(word, "waiting" "pending" "awaiting") && any_of!(prev, "or" "and");
            let conditional = t.any((lexed.sentence_of(from).0, from), class::CONDITION);
            !(state || conditional || has_relative(t, from))
        }
        // `the agreed limit applies`: a value that is not here. `the agreed limit of 5` is.
        "the"
            if to == from + 2
                && any_of!(lexed.word(from + 1), "agreed" "discussed" "promised" "usual") =>
        {
            is_value_elsewhere(source, from, to)
        }
        "the" | "attached" | "see" | "in" if word != "see" => {
            any_of!(lexed.word(from + 1), "attached" "one" "usual" "document" "attachment")
                && !t.any(lexed.sentence_of(from), class::FAILURE)
        }
        // `IBAN: bookkeeping has it`, `Budget: clarify with Ines`, `Name: working title`: a note behind a label.
        "has" | "have" | "knows" | "writes" | "brings" | "decides" | "delivers" | "provides"
        | "chooses" | "names"
            if any_of!(lexed.word(from + 1), "it" "them" "that" "which" "who" "where") =>
        {
            is_whole_note(source, from, to)
        }
        "is" | "are" if lexed.word(to - 1) == "it" => is_whole_note(source, from, to),
        "decide" | "separate" | "extra" | "clarify" | "settle" | "agree" | "find" | "look"
        | "check" | "working" | "dummy" | "placeholder" | "provisional" => {
            is_short_note(source, from, 6)
        }
        "see" | "per" if any_of!(lexed.word(to - 1), "annex" "mail" "e-mail" "email" "chat" "minutes" "ticket" "call" "excel") => {
            is_short_note(source, from, 8)
        }
        // `A key has to be defined by the caller` is a rule.
        "has" | "have" | "needs" | "need" => {
            !t.any((lexed.sentence_of(from).0, from), class::CONDITION)
                && !has_relative(t, from)
                && (any_of!(lexed.word(to - 1), "decided" "clarified" "negotiated" "settled" "confirmed" "clarification" "confirmation")
                    || to >= lexed.sentence_of(from).1
                    || lexed.tokens[to].kind == TokenKind::Symbol
                    || any_of!(next, "first" "yet" "later" "soon"))
        }
        // `the text is being drafted by the lawyer`; `while it is being prepared` is a state.
        "is" | "are" => {
            !t.any((lexed.sentence_of(from).0, from), class::CONDITION) && !has_relative(t, from)
        }
        // `filled with lorem ipsum`: that is what is wanted.
        "lorem" => {
            !any_of!(prev, "with" "as" "of" "use" "uses" "using" "random")
                && !any_of!(next, "from" "of" "generated" "words" "text" "texts" "paragraph" "paragraphs" "sentence" "sentences"
                    "generator" "plugin" "snippet" "snippets" "blocks" "filler" "style" "in")
        }
        // `what comes later is ignored`
        "comes" | "come" | "follows" | "follow" if any_of!(prev, "what" "whatever" "that" "which" "who") => {
            false
        }
        "goes" => prev_symbol || any_of!(prev, "name" "text" "link" "number" "value"),
        _ => true,
    }
}

/// Right behind a label, with at most `most` tokens to the end of the clause: `Limit: ask Sabine`.
fn is_short_note(source: &Source<'_>, from: usize, most: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (start, end) = lexed.sentence_of(from);
    let behind = from > start
        && (any_of!(lexed.raw(from - 1), ":" "=" "(")
            || any_of!(lexed.raw(from - 1), "-" "–" "—") && lexed.tokens[from - 1].spaced);
    behind
        && end - from <= most + 1
        && !(from..end).any(|i| lexed.tokens[i].quoted || lexed.is_symbol(i, ","))
}

/// All that stands behind a label or between brackets: `(bookkeeping has it)`, `Access list - Tom has it`.
fn is_whole_note(source: &Source<'_>, from: usize, to: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (start, end) = lexed.sentence_of(from);
    let ends = to >= end || any_of!(lexed.raw(to), ")" "." ";" ",");
    let opens = |i: usize| {
        any_of!(lexed.raw(i), ":" "=" "(")
            || any_of!(lexed.raw(i), "-" "–" "—") && lexed.tokens[i].spaced
    };
    // `the script stops and names it`: one of two deeds.
    let deeds = from > start && any_of!(lexed.word(from - 1), "and" "or" "," "then");
    ends && !deeds
        && (start..from)
            .rev()
            .take(4)
            .find(|&i| lexed.tokens[i].kind == TokenKind::Symbol)
            .is_some_and(|i| opens(i) && i + 1 < from)
}

/// `the agreed limit`, `the usual place`: a value that was named somewhere else; not `the agreed limit of 5` or
/// `the agreed text in terms.md`.
fn is_value_elsewhere(source: &Source<'_>, from: usize, to: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = lexed.sentence_of(from);
    let noun = (to..(to + 2).min(end)).find(|&i| {
        any_of!(lexed.word(i), "limit" "limits" "price" "prices" "rate" "rates" "amount" "budget" "deadline" "date" "threshold" "place"
            "address" "folder" "contact" "recipients" "server" "account" "format" "layout" "colours" "colors" "wording" "list"
            "name" "names" "number" "fee" "fees" "terms" "values" "value" "person" "people" "procedure" "template" "range"
            "tolerance" "discount" "retention" "interval" "schedule")
    });
    let Some(noun) = noun else { return false };
    let given = (start..end).any(|i| {
        lexed.tokens[i].kind == TokenKind::Number
            || t.is(i, class::NUMERAL)
            || lexed.is_symbol(i, ":")
    }) || any_of!(lexed.word(noun + 1), "of" "in" "from" "between" "per" "that" "which" "is" "with");
    // What people agree on with each other is data.
    let theirs = t.any((start, end), class::CONDITION) || has_relative(t, from);
    !(given || theirs)
}

/// `to be determined from the average`: a rule, not a gap.
fn is_computation(source: &Source<'_>, to: usize, next: &str) -> bool {
    let lexed = &source.tagged.lexed;
    if next == "by" {
        let noun = lexed.word(to + 1);
        let noun2 = lexed.word(to + 2);
        // `by adding the digits`, `by the first two letters of the name`; `by accounting` is a department.
        let act = noun.ends_with("ing")
            && lexed
                .tokens
                .get(to + 2)
                .is_some_and(|n| n.kind == TokenKind::Word)
            && !source.tagged.is(to + 1, class::PERSON);
        let rule = (to + 1..to + 6).any(|k| {
            any_of!(lexed.word(k),
                "first" "last" "largest" "smallest" "letters" "digits" "digit" "hash" "sum" "average" "mean" "checksum" "order")
        });
        return act
            || rule
            || [noun, noun2].iter().any(|w| {
                any_of!(*w,
                    "algorithm" "script" "server" "parser" "function" "program" "model" "header"
                    "formula" "rule")
            });
    }
    if any_of!(next, "in" "on" "at" "for" "with" "as" "when" "each") {
        // `to be decided in March`, `to be agreed with the client`: open. `to be added to the cart`: a rule.
        let rest = (to..lexed.sentence_of(to.saturating_sub(1)).1)
            .take(5)
            .any(|k| {
                any_of!(lexed.word(k),
                    "runtime" "run" "request" "start-up" "startup" "build" "load" "time"
                    "reading" "line" "row")
            });
        return rest;
    }
    COMPUTED_FROM.contains(&next)
}

/// `forms to be completed by the patient`, `parts to be replaced`: the words qualify a noun in an act of somebody.
fn in_purpose(source: &Source<'_>, sentence_from: usize, from: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let verb = lexed.word(from + 2);
    let act = any_of!(verb,
        "completed" "replaced" "checked" "sent" "delivered" "added" "found" "set" "assigned"
        "given" "inserted" "selected" "fixed" "discussed" "supplied" "provided");
    let labelled = from > 0
        && (lexed.tokens[from - 1].kind == TokenKind::Symbol
            || any_of!(lexed.word(from - 1), "is" "are" "still" "yet" "has" "have"));
    // `Account number to be supplied by the treasury`: no other verb, so the words are the statement.
    let (_, to) = lexed.sentence_of(from);
    let fragment = !(sentence_from..to).any(|i| {
        t.is(i, class::MODAL)
            || any_of!(lexed.word(i), "is" "are" "was" "has" "have" "gets" "get" "does")
    }) && any_of!(lexed.word(from + 3), "by" "in" "")
        && any_of!(verb, "supplied" "provided" "sent" "delivered" "given" "added" "completed" "assigned" "selected" "set" "found")
        && (t.any((sentence_from, from), class::BLANK)
            || (sentence_from..from).any(|i| {
                lexed.is_symbol(i, ":") || any_of!(lexed.word(i), "real" "final" "actual" "rest")
            }));
    !labelled && !fragment && (act || t.any((sentence_from, from), class::CONDITION))
}

/// Whether the chunk around `at` is a web or mail address.
fn address_holds(text: &str, at: usize) -> bool {
    let from = text[..at].rfind(char::is_whitespace).map_or(0, |i| i + 1);
    text[from..at].contains("://") || text[from..at].contains('@')
}

fn bytes_follow(text: &str, end: usize) -> bool {
    text[end..]
        .chars()
        .nth(1)
        .is_some_and(char::is_alphanumeric)
}
