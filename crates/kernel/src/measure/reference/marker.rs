//! Marker words: `TBD`, `FIXME`, `???`, `YOUR_KEY_HERE`, a run of underscores, a label with nothing behind it.

use super::mention::{NAMED, is_mentioned};
use super::{Known, chunk_around, finding, is_code_chunk, widen};
use crate::lexicon::class;
use crate::measure::{Finding, MAX_PER_TEXT, Source};
use crate::text::lex::TokenKind;

const UNIT: u64 = class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT | class::CURRENCY;

/// Adds the marker words of a text. Words of the lexicon (`tbd`, `fixme`) are in `phrase`.
pub(super) fn find_markers(source: &Source<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
    let lexed = &source.tagged.lexed;
    let first = out.len();
    for (i, token) in lexed.tokens.iter().enumerate() {
        let filler = lexed.word(i) == "lorem" && lexed.word(i + 1) == "ipsum";
        if token.quoted && is_quoted_name(source, i) {
            out.push(finding(source, token.start, token.end, i));
            continue;
        }
        if token.quoted && !filler {
            continue;
        }
        let hit = match token.kind {
            // Filler text stays filler text when it is quoted.
            TokenKind::Word if token.quoted => !is_wanted_filler(source, i),
            TokenKind::Symbol => is_marker_sign(source, i),
            TokenKind::Word => is_marker_word(source, i) && !known.is_mentioned(lexed.word(i)),
            TokenKind::Number => false,
        };
        if hit {
            let (start, end) = widen(lexed.text, token.start, token.end);
            out.push(finding(source, start, end, i));
            if out.len() - first >= MAX_PER_TEXT {
                return;
            }
        }
    }
    // A label with nothing behind it: `Deadline:`.
    let n = lexed.tokens.len();
    if (2..=6).contains(&n)
        && matches!(lexed.raw(n - 1), ":" | "=")
        && !source.tagged.any((0, n), class::CONDITION)
    {
        let (start, end) = lexed.span((0, n));
        out.push(finding(source, start, end, 0));
    }
}

/// `Prefix: 'PREFIX_GOES_HERE'`: the quotation marks belong to the value, which is still to be filled in.
fn is_quoted_name(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let raw = lexed.raw(i);
    i >= 2
        && raw.len() > 8
        && (raw.ends_with("_HERE") || raw.starts_with("YOUR_"))
        && any_of!(lexed.raw(i - 1), "\"" "'" "`" "“" "‘")
        && any_of!(lexed.raw(i - 2), ":" "=")
}

/// The bytes around a token; blanks at the ends of the text.
fn around(source: &Source<'_>, i: usize) -> (u8, u8) {
    let lexed = &source.tagged.lexed;
    let bytes = lexed.text.as_bytes();
    let token = lexed.tokens[i];
    (
        bytes[..token.start].last().copied().unwrap_or(b' '),
        bytes.get(token.end).copied().unwrap_or(b' '),
    )
}

fn is_marker_sign(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let raw = lexed.raw(i);
    match raw.as_bytes()[0] {
        b'?' if raw.len() > 1 => is_question_blank(source, i) && !is_mentioned(source, i, i + 1),
        // `swaps are marked with (?)` speaks of the sign.
        b'?' => {
            matches!(around(source, i), (b'(', b')'))
                && !(i >= 2 && any_of!(lexed.word(i - 2), "with" "as" "by" "like" "a" "the"))
                || is_empty_after_label(source, i)
                || is_sum_left_out(source, i)
        }
        b'.' if raw.len() > 2 => {
            is_empty_after_label(source, i)
                || source.tagged.is(i + 1, UNIT) && i > 0 && matches!(lexed.raw(i - 1), ":" | "=")
        }
        _ => raw == "…" && is_empty_after_label(source, i),
    }
}

/// `??` and more, where a value belongs: not an operator (`x ?? y`), not a glob (`note-????.pdf`).
fn is_question_blank(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let token = lexed.tokens[i];
    let raw = lexed.raw(i);
    let (before, after) = around(source, i);
    let (from, to) = chunk_around(lexed.text, token.start, token.end);
    let lead = &lexed.text[from..token.start];
    let lead = &lead[lead.rfind([':', '=', '(']).map_or(0, |at| at + 1)..];
    // `0x??`: digits left out, not a glob.
    let lead = lead.strip_prefix("0x").unwrap_or(lead);
    let tail = lexed.text[token.end..to].trim_end_matches([',', ';', '.', ')', '?']);
    let attached = lead
        .bytes()
        .chain(tail.bytes())
        .any(|b| b.is_ascii_alphabetic() || matches!(b, b'*' | b'/' | b'=' | b'_' | b'['));
    if attached || is_code_chunk(&lexed.text[from..to]) {
        return false;
    }
    let labelled = i > 0
        && (any_of!(lexed.raw(i - 1), ":" "=" "(" "€" "$" "£")
            || source.tagged.is(i - 1, class::CURRENCY));
    let follows = lexed.text[token.end..].trim_start().chars().next();
    let between_words = before == b' '
        && after == b' '
        && i > 0
        && (lexed.tokens[i - 1].kind == TokenKind::Word || lexed.raw(i - 1) == ",");
    // `patient?.weight ?? null`: one side is code or an empty value.
    let coded = || {
        let lead = lexed.text[..token.start].trim_end();
        let chunk = lead.rsplit(char::is_whitespace).next().unwrap_or_default();
        any_of!(lexed.word(i + 1), "null" "undefined" "nil" "none" "false" "true" "throw" "default")
            || chunk
                .bytes()
                .any(|b| matches!(b, b'.' | b'_' | b'(' | b'['))
            || chunk
                .as_bytes()
                .windows(2)
                .any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
    };
    let operator = between_words
        && (lexed.raw(i - 1).len() == 1 && lexed.raw(i - 1) != "," || coded())
        || lexed.text[..token.start].trim_end().ends_with([')', ']']);
    if is_judgement(lexed.text) {
        return false;
    }
    // `exceeds ?? kPa`: a word follows in the same sentence.
    let inside = between_words && follows.is_some_and(char::is_lowercase);
    !operator
        && (raw.len() >= 3
            || labelled
            || inside
            || before.is_ascii_digit()
            || matches!(before, b'-' | b'x'))
}

/// `!, ?, ?! or ??`: the marks of a scale, as in chess.
fn is_judgement(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.'))
        .any(|chunk| matches!(chunk, "?!" | "!?"))
}

/// `EUR ?`, `after ? days`: a lone question mark where a number belongs.
fn is_sum_left_out(source: &Source<'_>, i: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let ends = i + 1 >= lexed.tokens.len() || any_of!(lexed.raw(i + 1), "," ";" ")" "\n");
    let money = i > 0 && (t.is(i - 1, class::CURRENCY) || any_of!(lexed.raw(i - 1), "€" "$" "£"));
    // `a ? b : c` is an expression.
    let ternary = lexed.raw(i + 2) == ":" && lexed.tokens.get(i + 2).is_some_and(|t| t.spaced);
    // `rounded to ? decimals`
    let counted = i > 0
        && any_of!(lexed.word(i - 1), "to" "at" "after" "of" "most" "least" "than" "every" "keep" "up" "for" "last" "within")
        && lexed
            .tokens
            .get(i + 1)
            .is_some_and(|n| n.kind == TokenKind::Word && n.spaced && !n.upper)
        && lexed.word(i + 1).ends_with('s');
    lexed.tokens[i].spaced && i > 0 && !ternary && (money && ends || counted || t.is(i + 1, UNIT))
}

/// `Contact: ...` with nothing else in the sentence.
fn is_empty_after_label(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    i > 0
        && matches!(lexed.raw(i - 1), ":" | "=")
        // `{"code": ...}` shows a shape.
        && !(i > 1 && lexed.raw(i - 2) == "\"")
        // `WHERE id = ?` is a parameter.
        && !(0..i).any(|k| any_of!(lexed.raw(k), "WHERE" "SELECT" "VALUES" "SET" "HAVING"))
        && (i + 1 >= lexed.tokens.len() || any_of!(lexed.raw(i + 1), "," ";" "\n" "." ")"))
}

fn is_marker_word(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let raw = lexed.raw(i);
    // Most words are plain and lower-case: only these first letters can begin a marker.
    match raw.as_bytes()[0] {
        b'_' => is_underscores(source, i),
        b't' | b'T' if lexed.word(i) == "todo" => {
            is_todo(source, i) && !is_mentioned(source, i, i + 1)
        }
        b'x' | b'X' | b'n' | b'N' if is_filler(raw) => {
            is_left_out(source, i) && !is_mentioned(source, i, i + 1)
        }
        b'p' if lexed.word(i) == "pending" && lexed.tokens[i].spaced => {
            i > 0 && matches!(lexed.raw(i - 1), ":" | "=" | "(")
        }
        _ => is_name_to_fill(source, i),
    }
}

/// `pages are filled with "Lorem ipsum"`: that is what is wanted.
fn is_wanted_filler(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (from, _) = lexed.sentence_of(i);
    (from..i).any(|k| any_of!(lexed.word(k), "filled" "search" "searches" "contains" "contain" "containing" "such" "like" "with" "reject" "rejects" "rejected" "refuse"
        "refuses" "refused" "find" "finds" "found" "flag" "flags" "detect" "detects" "fails" "matches"))
}

/// `______`, `__ %`, `intake@____.example`.
fn is_underscores(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let raw = lexed.raw(i);
    let (before, after) = around(source, i);
    if raw.starts_with("____") {
        return true;
    }
    if is_dunder_blank(raw) {
        return true;
    }
    let all = raw.bytes().all(|b| b == b'_');
    let single = raw.len() == 1 && i > 0 && matches!(lexed.raw(i - 1), ":" | "=");
    let value = single && (i + 1 >= lexed.tokens.len() || source.tagged.is(i + 1, UNIT))
        || raw.len() == 2
            && (source.tagged.is(i + 1, UNIT)
                || lexed.is_symbol(i + 1, "%")
                || i > 0
                    && (any_of!(lexed.raw(i - 1), ":" "=" "€" "$" "£")
                        || source.tagged.is(i - 1, class::CURRENCY)));
    all && (raw.len() >= 3 || value)
        && !before.is_ascii_alphanumeric()
        && !after.is_ascii_alphanumeric()
}

/// `__KEY_OWNER__`; `__init__` and `__FILE__` belong to programming languages.
fn is_dunder_blank(part: &str) -> bool {
    part.strip_prefix("__")
        .and_then(|rest| rest.strip_suffix("__"))
        .is_some_and(|name| {
            name.len() > 2
                && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
                && name.bytes().any(|b| b.is_ascii_uppercase())
                && !any_of!(name, "FILE" "LINE" "DATE" "TIME" "DIR" "CLASS" "FUNCTION" "NAMESPACE" "VERSION" "DEV")
        })
}

fn is_todo(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (before, after) = around(source, i);
    let raw = lexed.raw(i);
    let next = lexed.word(i + 1);
    let prev = if i > 0 { lexed.word(i - 1) } else { "" };
    let named = NAMED.binary_search(&next).is_ok()
        || NAMED.binary_search(&prev).is_ok() && prev != "item"
        || next.ends_with("comments")
        || any_of!(prev, "a" "each" "every" "of" "per" "the" "called" "named")
        // `Two people taking the same todo: …`: a noun in lower case.
        || raw == "todo"
            && any_of!(prev, "same" "this" "that" "one" "another" "new" "any" "own" "next" "last" "open" "first" "second"
                "single" "done" "no" "old" "such" "existing");
    let label = matches!(lexed.raw(i + 1), ":" | "-" | "–") || any_of!(prev, ":" "=" "(" "[");
    let alone = lexed.tokens.len() == i + 1;
    !matches!(after, b'.' | b'/' | b'_' | b'(')
        && !matches!(before, b'/' | b'.' | b'_' | b'-')
        && !named
        && (raw == "TODO" || (label || alone) && !prev.is_empty())
        || i == 0 && lexed.raw(1) == ":"
}

/// `XX`, `xxxx`, `nn`: letters that only fill a place.
fn is_filler(raw: &str) -> bool {
    let first = raw.as_bytes()[0];
    raw.len() >= 2 && raw.bytes().all(|b| b == first)
}

/// Filler letters where a value belongs: `password xxxxxxxx`, `EUR xx per tonne`, `Rotate at XX MB`.
fn is_left_out(source: &Source<'_>, i: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let raw = lexed.raw(i);
    let prev = if i > 0 { lexed.word(i - 1) } else { "" };
    let next = lexed.word(i + 1);
    let (before, after) = around(source, i);
    let joined = |b: u8| matches!(b, b'.' | b'/' | b'-' | b'_');
    let attached = joined(before)
        || joined(after)
            && lexed.text[lexed.tokens[i].end..]
                .chars()
                .nth(1)
                .is_some_and(char::is_alphanumeric);
    let named = NAMED.binary_search(&next).is_ok() || NAMED.binary_search(&prev).is_ok();
    let (from, to) = lexed.sentence_of(i);
    let shape = (from..to).any(|k| {
        any_of!(lexed.word(k), "form" "format" "pattern" "like" "template" "mask" "masked" "mktemp" "shape" "stands" "means" "chromosome" "chromosomes" "appear" "appears")
            || raw.len() < 5 && raw.starts_with('X') && any_of!(lexed.word(k), "size" "sizes")
    });
    // `the template in XXX`: a value belongs there, whatever else the sentence speaks of.
    let place = any_of!(prev, "in" "to" "at" "by" "from" "for" "see" "is" ":");
    if attached || named || shape && !place {
        return false;
    }
    let value = prev == ":"
        || prev == "="
        || t.is(i + 1, UNIT)
        || lexed.is_symbol(i + 1, "%")
        || any_of!(next, "per" "pt" "px" "dpi" "rpm" "lux")
        || i > 0 && t.is(i - 1, class::CURRENCY | UNIT);
    match raw.as_bytes()[0] {
        b'X' => true,
        b'x' => raw.len() >= 3 || value,
        _ => raw.len() <= 4 && value,
    }
}

/// A name that says of itself that it is to be filled in: `YOUR_API_KEY`, `chat.CHANGEME.org`, `my-bucket-here`.
fn is_name_to_fill(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let raw = lexed.raw(i);
    let word = lexed.word(i);
    if word.len() < 4 {
        return false;
    }
    // `Your Name <you@example.com>`
    if raw == "Your" {
        return lexed.tokens.get(i + 1).is_some_and(|t| t.upper)
            && any_of!(lexed.word(i + 1), "name" "company" "address" "street" "organisation" "organization" "city" "phone" "e-mail" "email" "title");
    }
    // `INSERT COMPANY NAME`
    if any_of!(raw, "INSERT" "ENTER" "YOUR") {
        let next = lexed.raw(i + 1);
        return next.len() > 2
            && next.bytes().all(|b| b.is_ascii_uppercase())
            && (source.tagged.is(i + 1, class::BLANK | class::PERSON) || next == "HERE");
    }
    if !word.bytes().any(|b| matches!(b, b'_' | b'-' | b'.')) {
        return (any_of!(raw, "CHANGEME" "PLACEHOLDER" "REPLACEME" "INSERTHERE")
            || any_of!(word, "changeme" "yourdomain"))
            && !is_mentioned(source, i, i + 1);
    }
    // `RENAME COLUMN tbd_flag`: a name that is there.
    if i > 0
        && word == raw
        && any_of!(lexed.word(i - 1), "column" "field" "flag" "variable" "function" "method" "attribute" "property" "drop" "rename")
    {
        return false;
    }
    // `Connect to db-XX.internal`
    let reached = i > 0 && any_of!(lexed.word(i - 1), "to" "at" "from" "host" "server" ":" "=");
    if reached && raw.contains('.') && raw.split(['.', '-', '_']).any(|p| any_of!(p, "XX" "XXX")) {
        return true;
    }
    raw.split('.').zip(word.split('.')).any(|(part, lower)| {
        any_of!(lower, "changeme" "change-me" "change_me" "replace-me" "replace_me" "replaceme" "yourdomain" "yourcompany" "yourhost")
            || part
                .split(['-', '_'])
                .any(|p| any_of!(p, "CHANGEME" "REPLACEME" "TBD" "FIXME" "tbd" "changeme"))
            || lower.contains("-your-")
            || lower.contains("_your_")
            || part.len() >= 5 && (is_capital_blank(part) || is_dunder_blank(part))
            || lower
                .strip_prefix("your")
                .is_some_and(|rest| rest.len() > 1 && rest.starts_with(['-', '_']))
            || lower.starts_with("insert_")
            || lower.starts_with("insert-")
            || lower.starts_with("replace_with")
            || lower.starts_with("replace-with")
            || lower.ends_with("-here")
            || lower.ends_with("_here")
    }) || word.ends_with(".tbd")
        || word.ends_with(".todo")
}

/// `YOUR-DOMAIN`, `API_KEY_HERE`, `BASE_URL_TO_BE_DEFINED`, `REPLACE_ME`.
fn is_capital_blank(part: &str) -> bool {
    if !part
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
    {
        return false;
    }
    let words = || part.split(['_', '-']);
    let marker =
        |w: &str| any_of!(w, "TBD" "TBC" "TBA" "TODO" "FIXME" "CHANGEME" "PLACEHOLDER" "HERE");
    let first = words().next().unwrap_or_default();
    words().count() >= 2
        && (any_of!(first, "YOUR" "INSERT" "REPLACE" "ENTER" "PUT" "CHANGE" "FILL")
            || first != "TODO" && marker(first)
            || words().next_back().is_some_and(marker)
            || part.contains("TO_BE_")
            || part.contains("TO-BE-"))
}
