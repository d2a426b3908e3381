//! What the whole intent says about names in brackets: which are defined, and whether it speaks of markup or routes.

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
        if bracketed {
            for source in texts() {
                out.read(&source.tagged.lexed);
            }
        }
        out
    }

    /// Whether a name was defined, by a sentence about it or as part of something that fills it.
    pub fn is_defined(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Whether a name is used as a word outside brackets.
    pub fn is_word(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// Whether a name is part of a path or file name elsewhere.
    pub fn is_routed(&self, name: &str) -> bool {
        self.routed.contains(name)
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
                "tag" "tags" "ubl" "tei" "jsx" "webvtt");
            let before = bytes[..t.start].last().copied().unwrap_or(b' ');
            let after = bytes.get(t.end).copied().unwrap_or(b' ');
            let inside =
                matches!(before, b'{' | b'<' | b'[' | b'%') || matches!(after, b'}' | b'>' | b']');
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

/// `{id} is a UUID`, `<app> the repository name`, `<stage> one of`, `<plot> = three digits`: what follows the bracket at
/// token `close` says what it stands for.
fn is_defined_at(lexed: &Lexed<'_>, close: usize) -> bool {
    let next = lexed.word(close + 1);
    any_of!(next,
        "is" "are" "an" "a" "being" "means" "stands" "comes" "=" "the" "must" ":" "has" "have" "can" "may" "names" "gives"
        "holds" "counts")
        || next == "one" && lexed.word(close + 2) == "of"
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
