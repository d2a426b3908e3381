//! Unresolved references (P): something stands in the text in the place of a value that is not there yet.
//!
//! Three forms: marker words (`TBD`, `FIXME`, `???`, a blank line of underscores), phrases (`to be decided`, `will be
//! provided later`), and bracketed blanks (`[insert name]`, `{db_name}`, `<your region>`; see `brackets`). Quoted text
//! and code are never searched: what a program prints is not what its author left open.

use super::brackets::{Defined, find_brackets};
use super::deferral::find_deferrals;
use super::{Finding, FindingKind, MAX_PER_TEXT, Source};
use crate::lexicon::{Cue, class};
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
/// Words beside `TODO`, `XXX` that make it a name.
const NAMED: &[&str] = &[
    "app",
    "apps",
    "application",
    "applications",
    "list",
    "lists",
    "item",
    "items",
    "comment",
    "comments",
    "marker",
    "markers",
    "board",
    "entry",
    "entries",
    "tracker",
    "file",
    "tag",
    "tags",
    "note",
    "notes",
    "task",
    "tasks",
    "manager",
    "lines",
    "annotations",
    "annotation",
    "section",
    "column",
    "state",
    "status",
    "api",
    "card",
    "cards",
    "service",
    "view",
    "page",
    "field",
    "keyword",
    "keywords",
    "bot",
    "count",
    "counts",
    "or",
    "and",
];

pub(super) fn finding(source: &Source<'_>, start: usize, end: usize, token: usize) -> Finding {
    Finding {
        kind: FindingKind::Placeholder,
        places: vec![source.place(start, end)],
        sentence: Some(source.sentence_place(token)),
        element: None,
        topic: None,
        options: Vec::new(),
    }
}

/// Adds every unresolved reference of a text.
pub(super) fn find_placeholders(
    source: &Source<'_>,
    defined: &Defined<'_>,
    out: &mut Vec<Finding>,
) {
    let first = out.len();
    find_markers(source, out);
    find_phrases(source, out);
    find_brackets(source, defined, out);
    find_deferrals(source, out);
    // One place, one finding: `(TBD)` is both a marker and a bracket.
    out[first..].sort_by(|a, b| {
        a.places[0]
            .start
            .cmp(&b.places[0].start)
            .then(b.places[0].end.cmp(&a.places[0].end))
    });
    let mut kept = first;
    for i in first..out.len() {
        let overlaps = kept > first && out[i].places[0].start < out[kept - 1].places[0].end;
        if !overlaps {
            out.swap(kept, i);
            kept += 1;
        }
    }
    out.truncate(kept);
}

fn find_markers(source: &Source<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let bytes = lexed.text.as_bytes();
    let first = out.len();
    for (i, token) in lexed.tokens.iter().enumerate() {
        if out.len() - first >= MAX_PER_TEXT {
            break;
        }
        if token.quoted {
            continue;
        }
        let raw = lexed.raw(i);
        let before = bytes[..token.start].last().copied().unwrap_or(b' ');
        let after = bytes.get(token.end).copied().unwrap_or(b' ');
        let hit = match token.kind {
            TokenKind::Symbol if raw.starts_with("??") => {
                let labelled = i > 0 && matches!(lexed.raw(i - 1), ":" | "=" | "(");
                // `exceeds ?? kPa`: a word follows in the same sentence.
                let follows = lexed.text[token.end..].trim_start().chars().next();
                let inside = before == b' '
                    && after == b' '
                    && i > 0
                    && follows.is_some_and(char::is_lowercase)
                    && lexed.tokens[i - 1].kind == TokenKind::Word;
                !is_mentioned(source, i)
                    && is_question_blank(raw, before, after, labelled || inside)
            }
            TokenKind::Symbol if raw == "?" => {
                before == b'(' && after == b')' || is_empty_after_label(source, i)
            }
            TokenKind::Symbol if raw.starts_with("...") || raw == "…" => {
                is_empty_after_label(source, i)
            }
            TokenKind::Word => {
                is_marker_word(source, i, before, after)
                    && (raw.len() > 5 || raw.contains('_') || !is_mentioned(source, i))
            }
            _ => false,
        };
        if hit {
            let (start, end) = widen(lexed.text, token.start, token.end);
            out.push(finding(source, start, end, i));
        }
    }
    // A label with nothing behind it: `Deadline:`.
    let n = lexed.tokens.len();
    if (2..=6).contains(&n)
        && matches!(lexed.raw(n - 1), ":" | "=")
        && !t.any((0, n), class::CONDITION)
    {
        let (start, end) = lexed.span((0, n));
        out.push(finding(source, start, end, 0));
    }
}

/// `$TBD` and `#TBD` are quoted with their sign.
fn widen(text: &str, start: usize, end: usize) -> (usize, usize) {
    let from = if text[..start].ends_with(['$', '#']) {
        start - 1
    } else {
        start
    };
    // `t.b.d.` ends with its own full stop.
    let dotted = text[start..end].contains('.') && text[end..].starts_with('.');
    (from, end + usize::from(dotted))
}

fn is_question_blank(raw: &str, before: u8, after: u8, after_label: bool) -> bool {
    let attached = before.is_ascii_alphabetic()
        || matches!(before, b'/' | b'*' | b'.' | b'_')
        || after.is_ascii_alphanumeric()
        || matches!(after, b'.' | b'*' | b'/' | b'=' | b'_');
    if attached {
        return false;
    }
    raw.len() >= 3 || after_label || before.is_ascii_digit() || before == b'-'
}

/// `Contact: ...` with nothing else in the sentence.
fn is_empty_after_label(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    i > 0
        && matches!(lexed.raw(i - 1), ":" | "=")
        && (i + 1 >= lexed.tokens.len() || any_of!(lexed.raw(i + 1), "," ";" "\n" "." ")"))
}

fn is_marker_word(source: &Source<'_>, i: usize, before: u8, after: u8) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let raw = lexed.raw(i);
    let word = lexed.word(i);
    let next = lexed.word(i + 1);
    let prev = if i > 0 { lexed.word(i - 1) } else { "" };
    if raw.len() >= 3 && raw.bytes().all(|b| b == b'_') {
        return !before.is_ascii_alphanumeric() && !after.is_ascii_alphanumeric();
    }
    // `intake@____.example`, `host.example.tbd`
    if word.starts_with("____") || word.ends_with(".tbd") || word.ends_with(".todo") {
        return true;
    }
    // `Your Name <you@example.com>`
    if raw == "Your"
        && any_of!(next, "name" "company" "address" "city" "phone" "e-mail" "email" "title")
        && lexed.tokens[i + 1].upper
    {
        return true;
    }
    let named = NAMED.contains(&next)
        || (NAMED.contains(&prev) && prev != "item")
        || next.ends_with("comments")
        || any_of!(prev, "a" "each" "every" "of" "per" "the" "called" "named");
    if word == "todo" {
        let upper = raw == "TODO";
        let label = matches!(lexed.raw(i + 1), ":" | "-" | "–") || any_of!(prev, ":" "=" "(" "[");
        let alone = lexed.tokens.len() == i + 1;
        return !matches!(after, b'.' | b'/' | b'_')
            && !matches!(before, b'/' | b'.' | b'_' | b'-')
            && !named
            && after != b'('
            && (upper || ((label || alone) && !prev.is_empty()))
            || (word == "todo" && i == 0 && lexed.raw(1) == ":");
    }
    let xs = raw.len() >= 2 && raw.bytes().all(|b| b == b'X')
        || (raw.len() >= 3 && raw.bytes().all(|b| b == b'x'))
        || (word == "xx"
            && (prev == ":"
                || t.is(
                    i + 1,
                    class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT,
                )));
    if xs {
        let attached = matches!(before, b'.' | b'/' | b'-' | b'_') && !before.is_ascii_whitespace()
            || matches!(after, b'.' | b'/' | b'-' | b'_')
                && bytes_follow(lexed.text, lexed.tokens[i].end);
        let shape = [
            "form", "format", "pattern", "like", "template", "mask", "mktemp", "size", "sizes",
            "shape",
        ]
        .iter()
        .any(|w| contains_word(source, i, w));
        return !attached && !named && !shape && raw.len() <= 5;
    }
    if word == "pending" && matches!(prev, ":" | "=" | "(") {
        return true;
    }
    // chat.CHANGEME.org
    if word
        .split('.')
        .any(|p| any_of!(p, "changeme" "yourdomain" "yourcompany" "yourhost"))
    {
        return true;
    }
    let upperish = raw.len() >= 5
        && raw
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
    if upperish {
        let parts: Vec<&str> = raw.split(['_', '-']).collect();
        if parts.len() >= 2 {
            let marker = |p: &&str| any_of!(*p, "TBD" "TBC" "TBA" "TODO" "FIXME" "CHANGEME" "PLACEHOLDER" "HERE");
            return any_of!(parts[0], "YOUR" "INSERT" "REPLACE" "ENTER" "PUT")
                || parts.last().is_some_and(&marker)
                || marker(&parts[0]);
        }
        return any_of!(raw, "CHANGEME" "PLACEHOLDER" "REPLACEME" "INSERTHERE");
    }
    // your-bucket-name, your_domain.com
    if let Some(rest) = word
        .strip_prefix("your")
        .and_then(|r| r.strip_prefix(['-', '_']))
    {
        return !rest.is_empty();
    }
    word.starts_with("insert_")
        || word.starts_with("insert-")
        || word.starts_with("replace_with")
        || word.starts_with("replace-with")
        || word == "yourdomain.com"
        || word == "yourcompany.com"
}

/// Whether the chunk around `at` is a web or mail address.
fn address_holds(text: &str, at: usize) -> bool {
    let from = text[..at].rfind(char::is_whitespace).map_or(0, |i| i + 1);
    text[from..at].contains("://") || text[from..at].contains('@')
}

/// Words that speak of a text by what it says.
const MENTIONS: &[&str] = &[
    "called",
    "contain",
    "containing",
    "contains",
    "equals",
    "finds",
    "grep",
    "labeled",
    "labelled",
    "literal",
    "marked",
    "named",
    "reads",
    "says",
    "spelled",
    "string",
    "strings",
    "tagged",
    "value",
    "values",
    "whose",
    "word",
    "words",
];

/// A marker that the text speaks about: in a list with others of its kind (`TODO, DOING and DONE`), or behind a word
/// that mentions (`a line that contains FIXME`).
fn is_mentioned(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (from, to) = lexed.sentence_of(i);
    if (from.max(i.saturating_sub(4))..i).any(|k| MENTIONS.binary_search(&lexed.word(k)).is_ok()) {
        return true;
    }
    let joins = |k: usize| any_of!(lexed.raw(k), "," "/" "|") || any_of!(lexed.word(k), "or" "and");
    let code = |k: usize| {
        let raw = lexed.raw(k);
        raw.len() >= 2
            && raw
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-')
            && raw.bytes().any(|b| b.is_ascii_uppercase())
            && !source.tagged.is(k, class::TECH | class::FORMAT)
            || raw.starts_with("??")
            || any_of!(lexed.word(k), "todo" "fixme" "tbd" "tba" "tbc" "xxx" "hack" "doing" "done" "open" "n" "none" "blank" "empty")
    };
    let after = i + 2 < to && joins(i + 1) && code(i + 2);
    let before = i >= from + 2
        && joins(i - 1)
        && (code(i - 2) || lexed.word(i - 2) == "a" && i >= 3 && lexed.raw(i - 3) == "/");
    // `Deadline: TBD, budget: TBD` are two labels.
    let labelled = i > from && matches!(lexed.raw(i - 1), ":" | "=" | "(");
    (after || before) && !labelled
}

fn bytes_follow(text: &str, end: usize) -> bool {
    text[end..]
        .chars()
        .nth(1)
        .is_some_and(char::is_alphanumeric)
}

fn contains_word(source: &Source<'_>, i: usize, word: &str) -> bool {
    let lexed = &source.tagged.lexed;
    let (from, to) = lexed.sentence_of(i);
    (from..to).any(|k| lexed.word(k) == word)
}

fn find_phrases(source: &Source<'_>, out: &mut Vec<Finding>) {
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
        let open = match hit.cue {
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
                if behaviour && !later {
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
                                "confirm" "tell" "choose" "give"))
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
    if to == from + 1 {
        // TK is also a country: the marker stands alone or behind a label.
        let alone = prev_symbol && prev != "," || to >= lexed.tokens.len();
        if word == "tk" && (lexed.raw(from) != "TK" || !alone) || is_mentioned(source, from) {
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
            && !NAMED.contains(&next)
            && !any_of!(prev, "a" "each" "every" "todo" "or" "and" "the" "no" "any");
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
        "to" if lexed.word(from + 1) == "fill" => next != "by" && next != "with",
        "will" if lexed.word(from + 1) == "follow" => {
            to >= lexed.sentence_of(from).1
                || lexed.tokens[to].kind == TokenKind::Symbol
                || LATER.contains(&next)
        }
        "still" if matches!(lexed.word(from + 1), "open" | "missing" | "pending") => {
            // `files that are still open` describe a state of things.
            !t.any(lexed.sentence_of(from), class::CONDITION)
                && !matches!(lexed.word(from.wrapping_sub(2)), "that" | "which")
                && !has_relative(source, from)
        }
        "not" | "yet" | "unknown" | "awaiting" | "pending" | "waiting" => {
            !t.any((lexed.sentence_of(from).0, from), class::CONDITION)
                && !has_relative(source, from)
        }
        "the" | "attached" | "see" | "in" if word != "see" => {
            any_of!(lexed.word(from + 1), "attached" "one" "usual" "document" "attachment")
                && !t.any(lexed.sentence_of(from), class::FAILURE)
        }
        // `filled with lorem ipsum`: that is what is wanted.
        "lorem" => !any_of!(prev, "with" "as" "of" "use" "using" "random"),
        "goes" => prev_symbol || any_of!(prev, "name" "text" "link" "number" "value"),
        _ => true,
    }
}

fn has_relative(source: &Source<'_>, at: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let from = lexed.sentence_of(at).0;
    (from.max(at.saturating_sub(6))..at)
        .any(|k| any_of!(lexed.word(k), "that" "which" "who" "whose" "without"))
}

/// `to be determined from the average`: a rule, not a gap.
fn is_computation(source: &Source<'_>, to: usize, next: &str) -> bool {
    let lexed = &source.tagged.lexed;
    if next == "by" {
        let noun = lexed.word(to + 1);
        let noun2 = lexed.word(to + 2);
        return noun.ends_with("ing")
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
        && t.any((sentence_from, from), class::BLANK);
    !labelled && !fragment && (act || t.any((sentence_from, from), class::CONDITION))
}
