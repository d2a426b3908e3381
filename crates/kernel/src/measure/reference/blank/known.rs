//! What the whole intent says about names in brackets: which are defined, and whether it speaks of markup or routes.

use super::super::mention::{is_given_value, is_mentioned};
use crate::measure::Source;
use crate::text::lex::{Lexed, TokenKind};
use std::collections::BTreeSet;

/// Names that the intent uses outside brackets or defines: the definition of a `{tank}` is a sentence about the tank.
#[derive(Default)]
pub(in crate::measure) struct Known<'a> {
    words: BTreeSet<&'a str>,
    /// Names whose brackets are followed by a definition (`{id} is a UUID`), and folders and macro arguments.
    defined: BTreeSet<&'a str>,
    /// Names in braces that stand in a path or a file name.
    routed: BTreeSet<&'a str>,
    /// Names that are a part of a longer run: `soil_<plot>_<depth>.csv`.
    parts: BTreeSet<&'a str>,
    /// Names that stand free where a sentence can explain them: `…, <plot> as in plots.csv`.
    free: BTreeSet<&'a str>,
    /// Marker words that the intent speaks about somewhere: a column `TODO`, a value `CHANGEME`, a type `Maybe`.
    mentioned: BTreeSet<&'a str>,
    /// The intent speaks of web addresses with parts.
    pub routes: bool,
    /// The intent speaks of markup, or has markup in it.
    pub markup: bool,
}

impl<'a> Known<'a> {
    /// Reads the intent; without brackets in it nothing is collected.
    pub fn new(goal: &'a Source<'a>, sources: &'a [Source<'a>]) -> Self {
        let mut out = Known::default();
        let texts = || std::iter::once(goal).chain(sources);
        let bracketed = texts().any(|s| {
            s.tagged
                .lexed
                .text
                .bytes()
                .any(|b| matches!(b, b'{' | b'<' | b'[' | b'%'))
        });
        for source in texts() {
            if bracketed {
                out.read(&source.tagged.lexed);
            }
            out.read_mentions(source);
        }
        out
    }

    /// Whether the intent speaks about a marker word somewhere.
    pub fn is_mentioned(&self, word: &str) -> bool {
        !self.mentioned.is_empty() && self.mentioned.contains(word)
    }

    fn read_mentions(&mut self, source: &'a Source<'a>) {
        let lexed = &source.tagged.lexed;
        for (i, token) in lexed.tokens.iter().enumerate() {
            if token.kind != TokenKind::Word || !(4..=9).contains(&(token.end - token.start)) {
                continue;
            }
            let word = lexed.word(i);
            let spoken = match word {
                "todo" | "changeme" | "fixme" => {
                    token.quoted || is_mentioned(source, i, i + 1) || is_on_board(lexed, i)
                }
                "maybe" | "undecided" => {
                    is_given_value(source, i)
                        || i > 0 && is_type_or_value(lexed, i)
                        || is_among_hedges(lexed, i)
                }
                "might" | "could" | "perhaps" | "possibly" | "probably" | "likely"
                | "presumably" | "either" | "would" | "should" => is_among_hedges(lexed, i),
                _ => false,
            };
            if spoken {
                self.mentioned.insert(word);
            }
        }
    }

    /// Whether a name was defined, by a sentence about it or as part of something that fills it.
    pub fn is_defined(&self, name: &str) -> bool {
        self.defined.contains(name) || self.parts.contains(name) && self.free.contains(name)
    }

    /// Whether a name is used as a word outside brackets.
    pub fn is_word(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// Whether a name is part of a path or file name elsewhere.
    pub fn is_routed(&self, name: &str) -> bool {
        self.routed.contains(name)
    }

    /// Notes whether the bracketed name at token `i` is part of a longer run, or stands where a sentence can explain it.
    fn place(&mut self, lexed: &'a Lexed<'a>, i: usize, earlier: u8) {
        let bytes = lexed.text.as_bytes();
        let end = lexed.tokens[i].end;
        let at = |k: usize| bytes.get(k).copied().unwrap_or(b' ');
        let joined = |b: u8| {
            b.is_ascii_alphanumeric()
                || matches!(
                    b,
                    b'_' | b'-' | b'.' | b'/' | b'>' | b'}' | b'<' | b'{' | b'=' | b'&'
                )
        };
        let behind = at(end + 1);
        if joined(earlier) || joined(behind) && (behind != b'.' || joined(at(end + 2))) {
            self.parts.insert(lexed.word(i));
        } else if i < 2
            || any_of!(lexed.word(i - 2), "with" "where" "and" "for" "," ";" "(" "." ":" "\n")
        {
            // Not `in <region>`, where a value belongs.
            self.free.insert(lexed.word(i));
        }
    }

    fn read(&mut self, lexed: &'a Lexed<'a>) {
        let text = lexed.text;
        let bytes = text.as_bytes();
        self.markup |= ["</", "/>", "<!--", "<?xml", "xmlns"]
            .iter()
            .any(|sign| text.contains(sign))
            || has_tag(text);
        for (i, t) in lexed.tokens.iter().enumerate() {
            if t.kind == TokenKind::Symbol {
                continue;
            }
            let word = lexed.word(i);
            self.routes |= any_of!(lexed.raw(i), "GET" "POST" "PUT" "DELETE" "PATCH")
                || any_of!(word, "endpoint" "endpoints" "route" "routes" "openapi" "rest" "paths" "swagger" "graphql");
            self.markup |= any_of!(word,
                "html" "xml" "xsd" "xslt" "markup" "element" "elements" "svg" "dom" "xhtml" "docbook" "rss" "wcag" "css"
                "ubl" "tei" "jsx" "webvtt");
            let before = bytes[..t.start].last().copied().unwrap_or(b' ');
            let after = bytes.get(t.end).copied().unwrap_or(b' ');
            let inside =
                matches!(before, b'{' | b'<' | b'[' | b'%') || matches!(after, b'}' | b'>' | b']');
            if before == b':' && t.start >= 2 && bytes[t.start - 2] == b'/' {
                // `/tiles/:style`
                self.defined.insert(word);
            }
            if !inside {
                self.words.insert(word);
                if is_subject(lexed, i) {
                    self.defined.insert(word);
                }
                continue;
            }
            let earlier = if t.start >= 2 {
                bytes[t.start - 2]
            } else {
                b' '
            };
            let paired = before == b'{' && after == b'}'
                || before == b'<' && after == b'>'
                || before == b'[' && after == b']';
            if paired {
                self.place(lexed, i, earlier);
            }
            if before == b'{'
                && (bytes.get(t.end + 1) == Some(&b'\\') || earlier.is_ascii_lowercase())
            {
                // An installer's folder, or the argument of a macro: `\points{n}`.
                self.defined.insert(word);
            } else if before == b'{' && matches!(earlier, b'/' | b'_' | b'-') {
                self.routed.insert(word);
            } else if paired
                && matches!(earlier, b' ' | b'(' | b'\n')
                && is_defined_at(lexed, i + 1)
            {
                self.defined.insert(word);
            }
        }
    }
}

/// `maybe, perhaps, might, could and probably`: words that are looked for.
fn is_among_hedges(lexed: &Lexed<'_>, i: usize) -> bool {
    let hedge = |k: usize| {
        any_of!(lexed.word(k), "maybe" "perhaps" "might" "could" "possibly" "probably" "may" "likely" "presumably" "would"
            "should" "either" "seems" "apparently" "undecided" "unclear" "roughly" "somewhat" "sometimes" "often")
    };
    let (from, to) = lexed.sentence_of(i);
    let joins = |k: usize| {
        k >= from
            && k < to
            && (any_of!(lexed.raw(k), "," "\"" "“" "”" "'" "/")
                || any_of!(lexed.word(k), "or" "and"))
    };
    let listed = |k: usize| hedge(k) && (k > 0 && joins(k - 1) || joins(k + 1));
    listed(i) && (from..to).filter(|&k| listed(k)).take(3).count() >= 3
}

/// `hall : Maybe String`, `?state=open,undecided`.
fn is_type_or_value(lexed: &Lexed<'_>, i: usize) -> bool {
    let next_upper = lexed.tokens.get(i + 1).is_some_and(|n| n.upper);
    lexed.tokens[i].upper && next_upper && any_of!(lexed.raw(i - 1), ":" "->" "::" "=")
        || !lexed.tokens[i].spaced && any_of!(lexed.raw(i - 1), "," "=" "/" "|")
}

/// `Cards in TODO become open tasks`: a column of a board.
pub(in crate::measure) fn is_on_board(lexed: &Lexed<'_>, i: usize) -> bool {
    let (from, to) = lexed.sentence_of(i);
    i > 0
        && !any_of!(lexed.raw(i - 1), ":" "=" "(")
        && (from..to).any(|k| {
            any_of!(lexed.word(k), "card" "cards" "column" "columns" "board" "kanban" "lane" "lanes" "swimlane")
        })
}

/// `{id} is a UUID`, `<app> the repository name`, `<stage> one of`, `<plot> = three digits`: what follows the bracket at
/// token `close` says what it stands for.
fn is_defined_at(lexed: &Lexed<'_>, close: usize) -> bool {
    let next = lexed.word(close + 1);
    any_of!(next,
        "is" "are" "an" "a" "being" "means" "stands" "comes" "=" "the" "must" "has" "have" "can" "may" "names" "gives"
        "holds" "counts")
        || next == "one" && lexed.word(close + 2) == "of"
        // `<plot>: three digits`; not `<host>:/srv`.
        || next == ":" && lexed.tokens.get(close + 2).is_some_and(|t| t.spaced)
        || next == "from"
            && lexed
                .tokens
                .get(close + 2)
                .is_some_and(|t| t.kind == TokenKind::Number)
}

/// `where target and version are recipe arguments`: a clause of explanation about the bare name.
fn is_subject(lexed: &Lexed<'_>, i: usize) -> bool {
    let before = if i > 0 { lexed.word(i - 1) } else { "" };
    let opens = before == "where" || before == "and" && i >= 3 && lexed.word(i - 3) == "where";
    opens && (i + 1..i + 4).any(|k| any_of!(lexed.word(k), "is" "are" "comes" "come" "stands"))
}

/// An element with a namespace or an attribute: `<cbc:ID>`, `<product-card sku="123">`.
fn has_tag(text: &str) -> bool {
    text.match_indices('<').take(50).any(|(at, _)| {
        let rest = &text.as_bytes()[at + 1..text.len().min(at + 80)];
        let Some(end) = rest.iter().position(|b| *b == b'>') else {
            return false;
        };
        let body = &rest[..end];
        let name = body
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'-'));
        name.is_some_and(|n| {
            n > 0
                && (body[n] == b':'
                    && body.get(n + 1).is_some_and(u8::is_ascii_alphabetic)
                    && !body.contains(&b' ')
                    || body[n] == b' ' && body.windows(2).any(|w| w == b"=\""))
        })
    })
}
