//! Bracketed blanks: `[insert name]`, `{db_name}`, `{{ start_time }}`, `<your region>`, `(fill in)`, `%DB_HOST%`.
//!
//! Brackets also mean a hundred other things: regexes, code, JSON, generics, HTML, Markdown links, environment
//! variables, route parameters, usage lines. Each form has its own test, and a name that the text itself defines
//! (`known`) or gives as an example (`such as [pause]`) is never a blank.

mod angle;
mod brace;
mod known;
mod square;

pub(in crate::measure) use known::Known;

use super::{chunk_around, finding, is_code_chunk};
use crate::lexicon::{class, classes_of};
use crate::measure::{Finding, MAX_PER_TEXT, Source};

/// Longest blank, in bytes between the brackets.
const REACH: usize = 60;

/// Words that open a request to fill something in.
const FILL: &[&str] = &[
    "add",
    "ask",
    "choose",
    "define",
    "enter",
    "fill",
    "fixme",
    "insert",
    "link",
    "missing",
    "name",
    "paste",
    "pending",
    "placeholder",
    "provide",
    "put",
    "replace",
    "select",
    "set",
    "specify",
    "tba",
    "tbc",
    "tbd",
    "to",
    "todo",
    "unknown",
    "xxx",
    "your",
];

/// A pair of brackets and what stands around it.
struct Bracket<'s> {
    source: &'s Source<'s>,
    known: &'s Known<'s>,
    /// Bytes of the brackets, with them.
    at: usize,
    end: usize,
    /// The first token from the bracket on.
    token: usize,
    /// The words between the brackets, as written and in lower case.
    body: &'s str,
    lower: String,
    double: bool,
    before: char,
    after: char,
}

/// Adds every bracketed blank of a text.
pub(super) fn find_blanks(source: &Source<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
    let text = source.tagged.lexed.text;
    let bytes = text.as_bytes();
    let first = out.len();
    let mut at = 0;
    while let Some(next) = bytes[at..]
        .iter()
        .position(|b| matches!(b, b'[' | b'{' | b'<' | b'(' | b'%' | b'@'))
    {
        at += next;
        let Some((inner, len, end)) = pair_at(bytes, at) else {
            at += 1;
            continue;
        };
        let double = inner > at + 1;
        let token = source.tagged.lexed.tokens.partition_point(|t| t.start < at);
        let quoted = source
            .tagged
            .lexed
            .tokens
            .get(token)
            .is_some_and(|t| t.quoted);
        let body = text[inner..inner + len].trim();
        let blank = (!quoted || is_quoted_request(source, at, token))
            && is_blank(source, known, (at, end), body, double, token);
        if blank {
            out.push(finding(source, at, end, token));
            if out.len() - first >= MAX_PER_TEXT {
                return;
            }
        }
        at = if blank || double { end } else { at + 1 };
    }
}

/// Where the inside of the pair at `at` begins, its length, and the end of the pair.
fn pair_at(bytes: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let twice = |b: u8| bytes.get(at + 1) == Some(&b);
    let (close, double) = match bytes[at] {
        b'[' => (b']', twice(b'[')),
        b'{' => (b'}', twice(b'{')),
        b'<' => (b'>', twice(b'<')),
        b'(' => (b')', false),
        b'%' => (b'%', false),
        _ if twice(b'@') => (b'@', true),
        _ => return None,
    };
    let inner = at + if double { 2 } else { 1 };
    let reach = bytes.get(inner..bytes.len().min(inner + REACH))?;
    let len = reach.iter().position(|b| *b == close || *b == b'\n')?;
    if reach[len] != close {
        return None;
    }
    let end = inner + len + 1;
    let closed_twice = double && bytes.get(end) == Some(&close);
    Some((inner, len, end + usize::from(closed_twice)))
}

/// `key = "<paste key here>"`: the quotation marks belong to the value, which is still to be filled in.
fn is_quoted_request(source: &Source<'_>, at: usize, token: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let value = token >= 2
        && any_of!(lexed.raw(token - 1), "\"" "`" "'")
        && any_of!(lexed.raw(token - 2), "=" ":");
    let text = &lexed.lower[at + 1..];
    value
        && ["insert", "paste", "your", "enter", "put", "fill", "replace"]
            .iter()
            .any(|word| text.starts_with(word))
}

fn is_blank(
    source: &Source<'_>,
    known: &Known<'_>,
    (at, end): (usize, usize),
    body: &str,
    double: bool,
    token: usize,
) -> bool {
    let text = source.tagged.lexed.text;
    if !body.chars().any(char::is_alphabetic) {
        return false;
    }
    let bracket = Bracket {
        source,
        known,
        at,
        end,
        token,
        body,
        lower: body.to_lowercase(),
        double,
        before: text[..at].chars().next_back().unwrap_or(' '),
        after: text[end..].chars().next().unwrap_or(' '),
    };
    match text.as_bytes()[at] {
        b'[' => square::is_blank(&bracket),
        b'{' => brace::is_blank(&bracket),
        b'<' => angle::is_blank(&bracket),
        b'(' => is_round_blank(&bracket),
        _ => is_percent_blank(body),
    }
}

impl<'s> Bracket<'s> {
    /// Words of a blank: letters, digits, spaces, hyphens, underscores, apostrophes, slashes.
    fn is_wordy(&self) -> bool {
        self.body.chars().all(|c| {
            c.is_alphanumeric()
                || matches!(
                    c,
                    ' ' | '-' | '_' | '\'' | '’' | '/' | ',' | '.' | ':' | '?' | '#'
                )
        })
    }

    fn first_word(&self) -> &str {
        self.lower
            .split([' ', '_', '-', ':'])
            .next()
            .unwrap_or_default()
    }

    fn last_word(&self) -> &str {
        self.lower
            .rsplit([' ', '_', '-'])
            .next()
            .unwrap_or_default()
    }

    /// The words say that something is to be filled in: `insert name`, `sponsor name here`.
    fn asks_to_fill(&self) -> bool {
        FILL.binary_search(&self.first_word()).is_ok()
            || self.lower.contains("tbd")
            || self.lower.ends_with(" here")
            || self.lower.ends_with("_here")
    }

    /// The word before the bracket.
    fn previous(&self) -> &str {
        if self.token == 0 {
            ""
        } else {
            self.source.tagged.lexed.word(self.token - 1)
        }
    }

    /// The first word behind the bracket.
    fn next(&self) -> &str {
        let lexed = &self.source.tagged.lexed;
        lexed.word(lexed.tokens.partition_point(|t| t.start < self.end))
    }

    /// The blank-free run around the bracket.
    fn chunk(&self) -> &'s str {
        let text = self.source.tagged.lexed.text;
        let (from, to) = chunk_around(text, self.at, self.end);
        &text[from..to]
    }

    fn in_code(&self) -> bool {
        is_code_chunk(self.chunk())
    }

    /// Whether any word of the sentence passes.
    fn sentence_has(&self, is: impl Fn(&str) -> bool) -> bool {
        let lexed = &self.source.tagged.lexed;
        let (from, to) = lexed.sentence_of(self.token);
        (from..to).any(|i| is(lexed.word(i)))
    }

    /// `Directions such as [pause] and [music fades]`, `printed as [aspirate], [dispense]`: given as an example.
    fn is_example(&self) -> bool {
        let lexed = &self.source.tagged.lexed;
        let (from, _) = lexed.sentence_of(self.token);
        let mut near = (from.max(self.token.saturating_sub(10))..self.token).rev();
        near.any(|i| match lexed.word(i) {
            "such" => lexed.word(i + 1) == "as",
            "printed" | "written" | "shown" | "appear" | "appears" | "logged" | "marked"
            | "prefixed" => {
                any_of!(lexed.word(i + 1), "as" "with")
            }
            "e.g" | "like" => true,
            _ => false,
        })
    }

    /// `{{date}} is filled from the record`, `{ref} is the reference number`: the sentence says what fills it.
    fn is_explained(&self) -> bool {
        let lexed = &self.source.tagged.lexed;
        let (_, to) = lexed.sentence_of(self.token);
        (self.token..to).any(|i| {
            let next = lexed.word(i + 1);
            match lexed.word(i) {
                "filled" | "replaced" | "substituted" | "expanded" | "taken" | "come" | "comes"
                | "set" | "described" | "defined" | "read" => {
                    any_of!(next, "from" "by" "with" "in" "at" "per" "through")
                }
                "stands" | "stand" => next == "for",
                // `<panels>, <roof> as column names`
                "as" => {
                    i > self.token
                        && any_of!(lexed.raw(i - 1), "}" ">" "]")
                        && (i + 1..to.min(i + 4)).any(|k| {
                            any_of!(lexed.word(k),
                                "names" "columns" "column" "parameters" "parameter" "variables" "variable" "arguments" "tokens"
                                "keys" "fields" "tags" "elements")
                        })
                }
                "is" | "are" => {
                    i > self.token
                        && any_of!(next, "the" "a" "an")
                        && any_of!(lexed.raw(i - 1), "}" ">" "]")
                }
                _ => false,
            }
        })
    }

    /// `replaces tax numbers by <TAX_ID>`, `replaced by [deleted]`
    fn is_replacement(&self) -> bool {
        any_of!(self.previous(), "by" "with" "as" "becomes" "to") && self.sentence_has(|w| {
            w.starts_with("replace")
                || any_of!(w, "masked" "masks" "redacted" "redacts" "substitutes" "turns" "printed")
        })
    }

    fn talks_of_usage(&self) -> bool {
        let lexed = &self.source.tagged.lexed;
        let (from, to) = lexed.sentence_of(self.token);
        (from..to).any(|i| {
            any_of!(lexed.word(i),
                "usage" "syntax" "invoked" "options" "synopsis" "cli" "arguments" "argument")
                || lexed.word(i) == "called" && any_of!(lexed.word(i + 1), "as" "with" "like" "by")
                || lexed.tokens[i].spaced && lexed.raw(i).starts_with("--")
        })
    }

    fn talks_of_format(&self) -> bool {
        self.sentence_has(|w| {
            any_of!(w,
                "pattern" "template" "format" "placeholder" "placeholders" "interpolated" "named" "regex" "braces" "scheme"
                "set" "css")
        })
    }
}

/// `(fill in)`, `(tbd after pilot)`, `(open)`.
fn is_round_blank(b: &Bracket<'_>) -> bool {
    let words = b.lower.split_whitespace().count();
    if words > 6 || !b.is_wordy() {
        return false;
    }
    let first = b.first_word();
    let starts = match first {
        "fill" | "insert" | "tbd" | "tbc" | "tba" | "fixme" | "placeholder" | "xxx" => true,
        "todo" => !b.lower.starts_with("todo app") && !b.lower.starts_with("todo list"),
        // `(missing file)` names a case.
        "missing" => words == 1,
        _ => false,
    };
    let asks = words <= 5
        && match first {
            "ask" | "enter" | "add" | "your" | "specify" => !b.lower.contains("add-on"),
            "unknown" | "pending" | "open" => words == 1 || b.lower.contains("yet"),
            _ => b.lower.ends_with(" here"),
        };
    let due = b.lower.strip_prefix("to ").is_some_and(|act| {
        any_of!(act.split(' ').next().unwrap_or_default(), "come" "follow" "fill" "add" "insert" "complete" "confirm" "check" "define")
    });
    // `Delivered to (address)`
    let noun = words == 1
        && any_of!(b.previous(), "to" "at" "from" "until")
        && classes_of(&b.lower) & class::BLANK != 0;
    starts || asks || noun || due && words <= 4
}

/// `%DB_HOST%` in capitals, but not the variables of Windows.
fn is_percent_blank(body: &str) -> bool {
    let windows = any_of!(body,
        "APPDATA" "TEMP" "TMP" "USERPROFILE" "PATH" "LOCALAPPDATA" "PROGRAMDATA" "PROGRAMFILES"
        "HOME" "HOMEPATH" "USERNAME" "SYSTEMROOT" "WINDIR" "COMPUTERNAME" "ERRORLEVEL" "CD" "DATE" "RANDOM");
    body.len() >= 3
        && !windows
        && body
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::FILL;

    #[test]
    fn tables_are_sorted() {
        assert!(FILL.windows(2).all(|w| w[0] < w[1]));
    }
}
