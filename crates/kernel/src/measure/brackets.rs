//! Bracketed blanks: `[insert name]`, `{db_name}`, `{{ start_time }}`, `<your region>`, `(fill in)`, `%DB_HOST%`.
//!
//! Brackets also mean a hundred other things: regexes, code, JSON, generics, HTML, Markdown links, environment
//! variables, route parameters, usage lines. Each form has its own test, and a name that the text itself defines is
//! never a blank.

use super::placeholder::finding;
use super::{Finding, MAX_PER_TEXT, Source};
use crate::lexicon::{class, classes_of};
use std::collections::BTreeSet;

/// Longest blank, in bytes between the brackets.
const REACH: usize = 60;

/// How far the run around a blank is looked at, in bytes.
const CHUNK: usize = 200;

/// Words that open a request to fill something in.
const FILL: &[&str] = &[
    "insert",
    "your",
    "enter",
    "add",
    "fill",
    "specify",
    "choose",
    "put",
    "set",
    "tbd",
    "tbc",
    "tba",
    "todo",
    "fixme",
    "replace",
    "provide",
    "select",
    "missing",
    "unknown",
    "ask",
    "pending",
    "link",
    "placeholder",
    "define",
    "xxx",
    "to",
    "name",
];

/// Names that a text uses outside brackets: the definition of a `{tank}` is a sentence about the tank.
pub(super) struct Defined<'a> {
    words: BTreeSet<&'a str>,
    braced: BTreeSet<&'a str>,
    /// Names in braces that stand in a path or a file name.
    routed: BTreeSet<&'a str>,
    routes: bool,
    markup: bool,
}

impl<'a> Defined<'a> {
    /// Collects the words of the intent.
    pub fn new(goal: &'a Source<'a>, sources: &'a [Source<'a>]) -> Self {
        let mut out = Defined {
            words: BTreeSet::new(),
            braced: BTreeSet::new(),
            routed: BTreeSet::new(),
            routes: false,
            markup: false,
        };
        let bracketed = std::iter::once(goal).chain(sources).any(|s| {
            s.tagged
                .lexed
                .text
                .bytes()
                .any(|b| matches!(b, b'{' | b'<' | b'[' | b'%'))
        });
        if !bracketed {
            return out;
        }
        for source in std::iter::once(goal).chain(sources) {
            let lexed = &source.tagged.lexed;
            let bytes = lexed.text.as_bytes();
            for (i, t) in lexed.tokens.iter().enumerate() {
                let word = lexed.word(i);
                out.routes |= any_of!(lexed.raw(i), "GET" "POST" "PUT" "DELETE" "PATCH")
                    || any_of!(word,
                        "endpoint" "endpoints" "route" "routes" "openapi" "rest" "paths" "swagger" "graphql");
                out.markup |= any_of!(word,
                    "html" "xml" "xsd" "xslt" "markup" "element" "elements" "svg" "dom" "xhtml"
                    "docbook" "rss" "wcag" "css" "tag" "tags");
                let before = bytes[..t.start].last().copied().unwrap_or(b' ');
                let after = bytes.get(t.end).copied().unwrap_or(b' ');
                let inside = matches!(before, b'{' | b'<' | b'[' | b'%')
                    || matches!(after, b'}' | b'>' | b']');
                if !inside {
                    out.words.insert(word);
                } else if before == b'{'
                    && (bytes.get(t.end + 1) == Some(&b'\\')
                        || t.start >= 2 && bytes[t.start - 2].is_ascii_lowercase())
                {
                    // An installer's folder, or the argument of a macro: `\points{n}`.
                    out.braced.insert(word);
                } else if t.start >= 2
                    && before == b'{'
                    && matches!(bytes[t.start - 2], b'/' | b'_' | b'-')
                {
                    out.routed.insert(word);
                } else if before == b'{' && after == b'}' || before == b'<' && after == b'>' {
                    // `{id} is a UUID`, `where {slug} is …`, `{n} an integer`
                    let next = lexed.word(i + 2);
                    if any_of!(next,
                        "is" "are" "an" "a" "being" "means" "stands" "comes" "=" "the" "must" ":" "has" "have" "can" "may" "names" "gives" "holds")
                        && (i < 2 || before_path(bytes, t.start))
                    {
                        out.braced.insert(word);
                    }
                }
            }
        }
        out
    }

    fn defines(&self, name: &str) -> bool {
        self.braced.contains(name) || self.words.contains(name)
    }
}

/// The brace stands free, not inside a path.
fn before_path(bytes: &[u8], word_start: usize) -> bool {
    word_start < 2 || matches!(bytes[word_start - 2], b' ' | b'(' | b'\n')
}

/// Adds every bracketed blank of a text.
pub(super) fn find_brackets(source: &Source<'_>, defined: &Defined<'_>, out: &mut Vec<Finding>) {
    let text = source.tagged.lexed.text;
    let bytes = text.as_bytes();
    let mut at = 0;
    let first = out.len();
    while at < bytes.len() && out.len() - first < MAX_PER_TEXT {
        let (close, double) = match bytes[at] {
            b'[' => (b']', false),
            b'{' => (b'}', bytes.get(at + 1) == Some(&b'{')),
            b'<' => (b'>', bytes.get(at + 1) == Some(&b'<')),
            b'(' => (b')', false),
            b'%' => (b'%', false),
            b'@' if bytes.get(at + 1) == Some(&b'@') => (b'@', true),
            _ => {
                at += 1;
                continue;
            }
        };
        let inner = at + if double { 2 } else { 1 };
        let Some(len) = bytes[inner.min(bytes.len())..bytes.len().min(inner + REACH)]
            .iter()
            .position(|b| *b == close || *b == b'\n')
        else {
            at += 1;
            continue;
        };
        if bytes[inner + len] != close {
            at += 1;
            continue;
        }
        let mut end = inner + len + 1;
        if double && bytes.get(end) == Some(&close) {
            end += 1;
        }
        let token = source.tagged.lexed.tokens.partition_point(|t| t.start < at);
        let quoted = source
            .tagged
            .lexed
            .tokens
            .get(token)
            .is_some_and(|t| t.quoted);
        let body = text[inner..inner + len].trim();
        let blank = !quoted
            && match bytes[at] {
                b'[' => is_square_blank(source, at, end, body, token),
                b'{' => is_brace_blank(source, defined, at, end, body, double, token),
                b'<' => is_angle_blank(source, defined, at, body, token),
                b'(' => is_round_blank(body),
                _ => is_percent_blank(source, at, end, body),
            };
        if blank {
            out.push(finding(source, at, end, token));
            at = end;
        } else if double {
            at = end;
        } else {
            at += 1;
        }
    }
}

/// Words of a blank: letters, digits, spaces, hyphens, underscores, apostrophes, slashes; at least one letter.
fn is_wordy(body: &str) -> bool {
    !body.is_empty()
        && body.chars().any(char::is_alphabetic)
        && body.chars().all(|c| {
            c.is_alphanumeric()
                || matches!(
                    c,
                    ' ' | '-' | '_' | '\'' | '’' | '/' | ',' | '.' | ':' | '?' | '#'
                )
        })
}

fn first_word(body: &str) -> String {
    body.split([' ', '_', '-', ':'])
        .next()
        .unwrap_or_default()
        .to_lowercase()
}

fn last_word(body: &str) -> String {
    body.rsplit([' ', '_', '-'])
        .next()
        .unwrap_or_default()
        .to_lowercase()
}

fn asks_to_fill(body: &str) -> bool {
    let first = first_word(body);
    FILL.contains(&first.as_str())
        || body.to_lowercase().contains("tbd")
        || body.ends_with(" here")
        || body.ends_with("_HERE")
        || body.ends_with("_here")
}

fn preceding(source: &Source<'_>, at: usize) -> char {
    source.tagged.lexed.text[..at]
        .chars()
        .next_back()
        .unwrap_or(' ')
}

fn word_before<'s>(source: &'s Source<'_>, token: usize) -> &'s str {
    if token == 0 {
        ""
    } else {
        source.tagged.lexed.word(token - 1)
    }
}

/// The text itself speaks of a template language; looked for once a text with double braces.
fn talks_of_templates(source: &Source<'_>) -> bool {
    let lexed = &source.tagged.lexed;
    (0..lexed.tokens.len().min(400)).any(|i| {
        any_of!(lexed.word(i),
            "template" "templates" "jinja" "jinja2" "handlebars" "mustache" "helm" "liquid" "twig"
            "blade" "interpolation")
    })
}

fn talks_of_usage(source: &Source<'_>, token: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (from, to) = lexed.sentence_of(token);
    (from..to).any(|i| {
        any_of!(lexed.word(i),
            "usage" "syntax" "invoked" "called" "options" "synopsis" "cli" "arguments" "argument")
            || lexed.raw(i).starts_with("--") && lexed.tokens[i].spaced
    })
}

fn is_square_blank(source: &Source<'_>, at: usize, end: usize, body: &str, token: usize) -> bool {
    let before = preceding(source, at);
    let after = source.tagged.lexed.text[end..]
        .chars()
        .next()
        .unwrap_or(' ');
    if before.is_alphanumeric()
        || matches!(
            before,
            '_' | ')' | ']' | '\\' | '^' | '[' | '$' | '!' | '=' | '&' | '*' | '<' | '|' | ','
        )
        || matches!(after, '(' | '[' | '+' | '*' | '{')
    {
        // Type or index, Markdown link or image, regex. `[x][y]` of a regex begins with a class, seen below.
        return before == '=' && asks_to_fill(body) && is_wordy(body);
    }
    if !is_wordy(body)
        || body.len() == 1
        || is_range(body)
        || in_pattern(source.tagged.lexed.text, at, end)
    {
        return false;
    }
    if is_explained(source, token) && !body.contains(' ') {
        return false;
    }
    if asks_to_fill(body) {
        return true;
    }
    if talks_of_usage(source, token) {
        return false;
    }
    let prev = word_before(source, token);
    let syntax = classes_of(prev) & class::SYNTAX != 0
        || any_of!(prev,
            "level" "prefix" "label" "group" "marker" "line" "lines" "subject" "with" "table"
            "block" "section")
            && !body.contains(' ');
    let levels = any_of!(body,
        "INFO" "WARN" "WARNING" "ERROR" "DEBUG" "ALERT" "FATAL" "TRACE" "OK" "FAIL" "EXTERNAL"
        "dependencies" "package" "sic" "x");
    if syntax || levels || body.contains(',') {
        return false;
    }
    let words = body.split_whitespace().count();
    let known = body
        .split([' ', '_', '-', '/'])
        .any(|w| classes_of(&w.to_lowercase()) & (class::BLANK | class::PERSON) != 0);
    // Where a noun belongs: `hosted by [provider]`.
    let noun_place = any_of!(prev,
        "by" "from" "to" "at" "in" "on" "until" "is" "are" "for" "of" "via" "the" "as" "called"
        "named" "migrate" ":" "=");
    words <= 6 && (known || noun_place || words >= 2 || body.chars().all(|c| !c.is_lowercase()))
}

/// The chunk around the bracket is a regular expression.
fn in_pattern(text: &str, at: usize, end: usize) -> bool {
    let from = text[..at].rfind(char::is_whitespace).map_or(0, |i| i + 1);
    let to = text[end..]
        .find(char::is_whitespace)
        .map_or(text.len(), |i| end + i);
    let chunk = &text[from..to];
    chunk.starts_with('^')
        || chunk.contains("\\d")
        || chunk.contains("]{")
        || chunk.contains("]?")
        || chunk.contains("]*")
        || chunk.contains("]+")
        || chunk.ends_with('$')
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

/// File name parts that a program fills at run time.
const RUNTIME: &[&str] = &[
    "id",
    "n",
    "i",
    "no",
    "nr",
    "number",
    "date",
    "time",
    "year",
    "month",
    "day",
    "hour",
    "timestamp",
    "uuid",
    "hash",
    "slug",
    "name",
    "filename",
    "file",
    "ext",
    "lang",
    "locale",
    "version",
    "key",
    "index",
    "page",
    "user",
    "station",
    "yyyy",
    "mm",
    "dd",
    "seq",
    "code",
    "type",
    "title",
    "count",
    "x",
    "y",
    "z",
    "sha",
    "week",
];

fn is_brace_blank(
    source: &Source<'_>,
    defined: &Defined<'_>,
    at: usize,
    end: usize,
    body: &str,
    double: bool,
    token: usize,
) -> bool {
    let text = source.tagged.lexed.text;
    let before = preceding(source, at);
    let after = text[end..].chars().next().unwrap_or(' ');
    if before == '$' || before == '#' || before == '%' || before == '\\' {
        return asks_to_fill(body) && first_word(body) == "your";
    }
    let name_like = body.split_whitespace().count() <= 5
        && body
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '?'))
        && body.chars().next().is_some_and(char::is_alphabetic);
    if !name_like {
        return false;
    }
    let lower = body.to_lowercase();
    let first = first_word(body);
    let weak = any_of!(first.as_str(), "name" "to" "link" "set" "add" "select" "todo" "missing" "unknown" "pending" "put" "enter" "choose");
    let asks = asks_to_fill(body) && !weak;
    if (is_explained(source, token) || defined.braced.contains(lower.as_str())) && !asks {
        return false;
    }
    if before.is_uppercase() || is_part_of_path(text, at, end) {
        return false;
    }
    if double {
        let talk = talks_of_templates(source) && !asks;
        return !talk && !body.starts_with('.') && !body.contains('.');
    }
    if asks_to_fill(body) && lower != "name" && lower != "to" && lower != "todo" {
        return true;
    }
    if before.is_alphanumeric() && !matches!(after, '.' | '_' | '-' | '/' | ' ')
        || before == ')'
        || body.contains(' ') && matches!(before, ')' | '>')
    {
        // Code: `fn(){…}`, `[0-9]{n}`.
        return false;
    }
    // The blank-free run around it; a run longer than this is no path.
    let before_at = &source.tagged.lexed.text.as_bytes()[at.saturating_sub(CHUNK)..at];
    let back = before_at.iter().rposition(u8::is_ascii_whitespace);
    let mut chunk_start = at.saturating_sub(CHUNK) + back.map_or(0, |b| b + 1);
    while !text.is_char_boundary(chunk_start) {
        chunk_start += 1;
    }
    let after_end = &text.as_bytes()[end..text.len().min(end + CHUNK)];
    let ahead = after_end.iter().position(u8::is_ascii_whitespace);
    let mut chunk_end = end + ahead.unwrap_or(after_end.len());
    while !text.is_char_boundary(chunk_end) {
        chunk_end -= 1;
    }
    let chunk = &text[chunk_start..chunk_end];
    let in_url = chunk.contains("://");
    let path_like = before == '/' || after == '/';
    let embedded = chunk
        .trim_matches(|c: char| {
            matches!(
                c,
                '{' | '}' | ',' | '.' | ';' | ':' | '(' | ')' | '"' | '\''
            )
        })
        .len()
        > body.len();
    let bare = chunk.trim_start_matches(['(', '"', '`']);
    let route = path_like && !in_url && (bare.starts_with('/') || defined.routes);
    // The host of an address is never filled at run time.
    if in_url
        && !text[chunk_start..at]
            .split("://")
            .nth(1)
            .is_some_and(|h| h.contains('/'))
    {
        return true;
    }
    // `Template id: {template_id}`
    let label = text[..at].trim_end().ends_with([':', '=']) && text[end..].trim().is_empty();
    if label && !embedded {
        return true;
    }
    if defined.defines(&lower) && (embedded || defined.braced.contains(lower.as_str())) {
        return false;
    }
    if route {
        return !(defined.routes
            || !is_folder(bare)
            || RUNTIME.contains(&lower.as_str())
            || RUNTIME.contains(&last_word(body).as_str()));
    }
    if embedded && !in_url {
        let runtime = RUNTIME.contains(&lower.as_str())
            || RUNTIME.contains(&last_word(body).as_str())
            || defined.defines(&lower);
        return !runtime && !talks_of_format(source, token);
    }
    if in_url {
        return !(RUNTIME.contains(&lower.as_str()) && before == '/'
            || matches!(lower.as_str(), "z" | "x" | "y"));
    }
    // Standing free: `the database {db_name}`.
    !(defined.routed.contains(lower.as_str())
        || defined.braced.contains(lower.as_str())
        || talks_of_format(source, token))
}

/// `{{date}} is filled from the record`, `{ref} is the reference number`: the sentence says what fills it.
fn is_explained(source: &Source<'_>, token: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (_, to) = lexed.sentence_of(token);
    (token..to).any(|i| {
        any_of!(lexed.word(i), "filled" "replaced" "substituted" "expanded" "taken" "come" "comes" "set" "described" "defined" "read")
            && any_of!(lexed.word(i + 1), "from" "by" "with" "in" "at" "per" "through")
            || any_of!(lexed.word(i), "stands" "stand") && lexed.word(i + 1) == "for"
            || i > token && any_of!(lexed.word(i), "is" "are") && any_of!(lexed.word(i + 1), "the" "a" "an") && any_of!(lexed.raw(i - 1), "}" ">" "]")
    })
}

/// `{app}\\runtime`: a folder that an installer knows.
fn is_part_of_path(text: &str, at: usize, end: usize) -> bool {
    text[end..].starts_with('\\') || text[..at].ends_with('\\')
}

/// A path in a file system, not of a web address.
fn is_folder(chunk: &str) -> bool {
    let first = chunk
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    any_of!(first, "data" "srv" "var" "etc" "opt" "home" "mnt" "usr" "tmp" "media" "Users" "share" "backup" "backups" "log" "logs" "archive")
}

fn talks_of_replacing(source: &Source<'_>, token: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (from, to) = lexed.sentence_of(token);
    (from..to).any(|i| {
        lexed.word(i).starts_with("replace") || any_of!(lexed.word(i), "masked" "masks" "redacted" "redacts" "substitutes" "turns" "printed")
    })
}

fn talks_of_format(source: &Source<'_>, token: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (from, to) = lexed.sentence_of(token);
    (from..to).any(|i| {
        any_of!(lexed.word(i),
            "pattern" "template" "format" "placeholder" "placeholders" "interpolated" "named"
            "regex" "braces" "scheme" "set" "css")
    })
}

fn is_angle_blank(
    source: &Source<'_>,
    defined: &Defined<'_>,
    at: usize,
    body: &str,
    token: usize,
) -> bool {
    let text = source.tagged.lexed.text;
    let before = preceding(source, at);
    let raw_first = text[at + 1..].chars().next().unwrap_or(' ');
    if before.is_alphanumeric() && !before.is_ascii_digit()
        || matches!(before, '_' | ':' | '-' | '>' | '=' | '<' | ')')
            && !matches!(before, ':' | '=' | '-')
    {
        return false;
    }
    if !(raw_first.is_alphabetic() || raw_first == '<' || raw_first == '_') || !is_wordy(body) {
        return false;
    }
    if body.contains('.') && !body.contains(' ')
        || body.contains('@')
        || body.ends_with('/')
        || body.contains("//")
    {
        return false;
    }
    if asks_to_fill(body)
        && body.to_lowercase() != "link"
        && body.to_lowercase() != "select"
        && body.to_lowercase() != "name"
    {
        return true;
    }
    let single = !body.contains(' ');
    let lower = body.to_lowercase();
    if defined.braced.contains(lower.as_str()) || before == '$' || is_explained(source, token) {
        return false;
    }
    // `<img alt>`: an element with an attribute.
    let mut parts = lower.split(' ');
    if let (Some(tag), Some(attribute), None) = (parts.next(), parts.next(), parts.next())
        && classes_of(tag) & class::HTML != 0
        && any_of!(attribute, "alt" "for" "src" "href" "class" "id" "type" "name" "value" "rel" "lang" "role" "title" "style")
    {
        return false;
    }
    // `replaces tax numbers by <TAX_ID>`
    if any_of!(word_before(source, token), "by" "with" "as" "becomes" "to")
        && talks_of_replacing(source, token)
    {
        return false;
    }
    if single {
        let html =
            classes_of(&lower) & class::HTML != 0 || lower.starts_with('h') && lower.len() == 2;
        let plain_blank = any_of!(lower.as_str(),
            "address" "link" "time" "title" "label" "source" "table" "map")
            && !defined.markup;
        let next = source
            .tagged
            .lexed
            .tokens
            .partition_point(|t| t.start <= at + body.len());
        let next_word = source
            .tagged
            .lexed
            .word(next.saturating_add(1).min(source.tagged.lexed.tokens.len()));
        let element = any_of!(next_word,
            "element" "elements" "tag" "tags" "node" "nodes" "attribute");
        if html && !plain_blank
            || element
            || (defined.markup && !lower.contains('_') && classes_of(&lower) & class::BLANK == 0)
        {
            return false;
        }
        if defined.markup
            && any_of!(word_before(source, token),
                "element" "elements" "tag" "tags" "node" "in" "the" "each" "every" "a" "an"
                "inside")
        {
            return false;
        }
    }
    if talks_of_usage(source, token) && single {
        return false;
    }
    true
}

fn is_round_blank(body: &str) -> bool {
    let lower = body.to_lowercase();
    let first = first_word(&lower);
    let words = lower.split_whitespace().count();
    if words == 0 || words > 6 || !is_wordy(body) {
        return false;
    }
    let starts = any_of!(first.as_str(),
        "fill" "insert" "tbd" "tbc" "tba" "todo" "fixme" "missing" "placeholder" "xxx");
    let starts = starts && (first != "missing" || words <= 2);
    let starts = starts && !lower.starts_with("todo app") && !lower.starts_with("todo list");
    let asks = any_of!(first.as_str(),
        "ask" "enter" "add" "your" "specify" "unknown" "pending" "open")
        && words <= 5
        && (first != "open" && first != "pending" && first != "unknown"
            || words == 1
            || lower.contains("yet"));
    starts
        || asks && !lower.contains("add-on")
        || lower.ends_with(" here") && words <= 5
        || lower == "to come"
        || lower == "to follow"
}

/// `%DB_HOST%` in capitals, but not the variables of Windows.
fn is_percent_blank(source: &Source<'_>, at: usize, end: usize, body: &str) -> bool {
    let after = source.tagged.lexed.text[end..]
        .chars()
        .next()
        .unwrap_or(' ');
    let windows = any_of!(body,
        "APPDATA" "TEMP" "TMP" "USERPROFILE" "PATH" "LOCALAPPDATA" "PROGRAMDATA" "PROGRAMFILES"
        "HOME" "HOMEPATH" "USERNAME" "SYSTEMROOT" "WINDIR" "COMPUTERNAME");
    let _ = (at, after);
    body.len() >= 3
        && !windows
        && body
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && body.bytes().any(|b| b.is_ascii_uppercase())
}
