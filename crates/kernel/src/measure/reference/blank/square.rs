//! `[insert name]`, `until [date]`; not types, links, character classes, log levels or sections.

use super::Bracket;
use crate::lexicon::{class, classes_of};

pub(super) fn is_blank(b: &Bracket<'_>) -> bool {
    let body = b.body;
    // `tool [--size N] FILE`: an option that may be left out; `(_ punches: [Punch]) -> Int`: a type.
    if body.starts_with('-') || is_type(b) {
        return false;
    }
    if b.double {
        return is_double_blank(b);
    }
    if b.before.is_alphanumeric()
        || matches!(
            b.before,
            '_' | ')' | ']' | '\\' | '^' | '[' | '$' | '!' | '=' | '&' | '*' | '<' | '|' | ','
        )
        || matches!(b.after, '(' | '[' | '+' | '*' | '{')
    {
        // Type or index, Markdown link or image, regex.
        return b.before == '=' && b.asks_to_fill() && b.is_wordy();
    }
    let one_word = !body.contains(' ');
    if body.len() == 1 {
        return is_letter_for_number(b);
    }
    if !b.is_wordy()
        || is_range(body)
        || b.in_code()
        || one_word && b.is_explained()
        || b.is_example()
    {
        return false;
    }
    if b.asks_to_fill() {
        return true;
    }
    if b.talks_of_usage() || b.is_replacement() {
        return false;
    }
    let prev = b.previous();
    // `on page [no.]`
    if any_of!(b.lower.trim_end_matches('.'), "no" "nr" "number" "date" "name") {
        return true;
    }
    let known = body
        .split([' ', '_', '-', '/'])
        .any(|w| classes_of(&w.to_lowercase()) & (class::BLANK | class::PERSON) != 0);
    // `the text says [not understood]`
    let printed =
        any_of!(prev, "says" "prints" "reads" "writes" "displays" "say" "print") && !known;
    let syntax = printed
        || classes_of(prev) & class::SYNTAX != 0
        || one_word
            && any_of!(prev,
                "level" "prefix" "label" "group" "marker" "line" "lines" "subject" "with" "table" "block" "section");
    let fixed = any_of!(body,
        "INFO" "WARN" "WARNING" "ERROR" "DEBUG" "ALERT" "FATAL" "TRACE" "OK" "FAIL" "EXTERNAL" "dependencies" "package"
        "sic" "inaudible");
    // `Signed by [Name, Title]`
    let list = body.contains(',')
        && !(known && body.starts_with(char::is_uppercase) && any_of!(prev, "by" "to" "from" ":"));
    if syntax || fixed || list || is_reference(body) {
        return false;
    }
    let words = body.split_whitespace().count();
    // Where a noun belongs: `hosted by [provider]`.
    let noun_place = any_of!(prev,
        "by" "from" "to" "at" "in" "on" "until" "is" "are" "for" "of" "via" "the" "as" "called" "named" "migrate" ":" "=");
    words <= 6 && (known || noun_place || words >= 2 || body.chars().all(|c| !c.is_lowercase()))
}

/// `signed by [[signatory]]`; not a link of a wiki, a table of TOML or a test of a shell.
fn is_double_blank(b: &Bracket<'_>) -> bool {
    let name = b.body.starts_with(char::is_alphabetic) && b.is_wordy() && !b.in_code();
    let place = any_of!(b.previous(),
        "by" "from" "to" "at" "in" "on" "until" "is" "are" "for" "of" "via" "the" "as" "after" "within" ":" "=");
    let filled = b.known.is_defined(&b.lower)
        || b.is_explained()
        || b.is_example()
        || b.sentence_has(|w| {
            any_of!(w,
                "wiki" "wikilink" "wikilinks" "wiki-links" "link" "links" "backlinks" "obsidian" "toml" "bash" "zsh" "shell"
                "template" "templates" "syntax" "section" "table")
        });
    name && b.before.is_whitespace() && (place || b.asks_to_fill()) && !filled
}

/// A type in a signature: a capitalised word behind a colon, and brackets or an arrow of code around it.
fn is_type(b: &Bracket<'_>) -> bool {
    let text = b.source.tagged.lexed.text;
    let typed = matches!(b.previous(), ":" | "->" | ">") || b.before == '(';
    typed
        && b.body.starts_with(char::is_uppercase)
        && b.body.bytes().all(|c| c.is_ascii_alphanumeric())
        && b.body.bytes().any(|c| c.is_ascii_lowercase())
        && (text.contains("->")
            || text.contains("): ")
            || ["func ", "fn ", "def ", "fun ", "let ", "val ", "var "]
                .iter()
                .any(|word| text.contains(word)))
}

/// `after [X] months`; not the ticked box `[x]` of a list.
fn is_letter_for_number(b: &Bracket<'_>) -> bool {
    let lexed = &b.source.tagged.lexed;
    let next = lexed.tokens.partition_point(|t| t.start < b.end);
    any_of!(b.body, "X" "N" "Y" "x" "n" "y")
        && !any_of!(b.previous(), "-" "*" "")
        && (b.source.tagged.is(
            next,
            class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT | class::CURRENCY | class::DATA,
        ) || lexed.is_symbol(next, "%"))
}

/// `[SV-203]`, `[12]`: a ticket or a source.
fn is_reference(body: &str) -> bool {
    let (letters, digits) = (
        body.bytes().filter(u8::is_ascii_uppercase).count(),
        body.bytes().filter(u8::is_ascii_digit).count(),
    );
    digits > 0 && letters > 0 && body.contains('-') && body.len() == letters + digits + 1
}

/// `a-z`, `0-9A-F`: a character class.
fn is_range(body: &str) -> bool {
    let b = body.as_bytes();
    b.windows(3)
        .any(|w| w[1] == b'-' && w[0].is_ascii_alphanumeric() && w[2].is_ascii_alphanumeric())
        && b.len() <= 12
        && !body.contains(' ')
        && body.split('-').all(|p| p.len() <= 3)
}
