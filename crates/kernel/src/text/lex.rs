//! The tokenizer: words, numbers and symbols with their byte spans, sentences, and which parts are quoted.
//!
//! Invariants: tokens are in order and do not overlap; a span lies on character boundaries of the text; the
//! lower-case copy has the same byte length as the text, so spans fit both. Quoted text and code in backticks is
//! marked, because what a program prints says nothing about what its author has decided.

use super::stem::stem;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    Symbol,
}

/// One token of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub start: usize,
    pub end: usize,
    pub kind: TokenKind,
    /// Inside quotation marks or backticks.
    pub quoted: bool,
    /// A blank (or the text's start) stands before it.
    pub spaced: bool,
    /// First character is an upper-case letter.
    pub upper: bool,
    /// A word with a sign or digit in it: `index.json`, `code_7`, `read-only`.
    pub coded: bool,
    /// FNV-1a of the stem (words) or of the text (others).
    pub key: u64,
}

/// A text with its lower-case copy, which has the same byte length.
#[derive(Debug)]
pub(crate) struct Lowered<'a> {
    text: &'a str,
    lower: String,
}

impl<'a> Lowered<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            lower: lower_same_length(text),
        }
    }
}

/// A tokenized text.
#[derive(Debug)]
pub(crate) struct Lexed<'a> {
    pub text: &'a str,
    pub lower: &'a str,
    pub tokens: Vec<Token>,
    /// Each token's lower-case text. Detectors ask for it all the time; cutting it out of the
    /// text again would check its boundaries again.
    words: Vec<&'a str>,
    /// The same as written.
    raws: Vec<&'a str>,
    /// Token ranges; a sentence ends at `.`, `!`, `?`, `;` or a line end.
    pub sentences: Vec<(usize, usize)>,
}

/// FNV-1a, used as a stable key for stems and words.
pub(crate) fn fnv(text: &str) -> u64 {
    fnv_more(0xcbf2_9ce4_8422_2325, text)
}

/// FNV-1a of what was hashed before, followed by `text`.
pub(crate) fn fnv_more(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Abbreviations after which a full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "ca", "cf", "dr", "e.g", "eg", "etc", "fig", "i.e", "ie", "incl", "max",
    "messrs", "min", "mr", "mrs", "ms", "no", "nr", "prof", "resp", "st", "vs",
];

/// Units that may stand right after a number (`64KB`); other letters make the whole a word (`4xx`).
const ATTACHED_UNITS: &[&str] = &[
    "b", "cm", "d", "days", "eur", "fps", "gb", "ghz", "gib", "h", "hz", "k", "kb", "kg", "khz",
    "kib", "km", "kw", "kwh", "l", "m", "mb", "mbit", "mhz", "mib", "min", "mm", "ms", "mw", "ns",
    "px", "s", "sec", "t", "tb", "tib", "usd", "v", "w",
];

fn lower_same_length(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let mut low = c.to_lowercase();
        match (low.next(), low.next()) {
            (Some(l), None) if l.len_utf8() == c.len_utf8() => out.push(l),
            _ => out.push(c),
        }
    }
    out
}

impl<'a> Lexed<'a> {
    /// Tokenizes a text.
    pub fn new(lowered: &'a Lowered<'a>) -> Self {
        let (text, lower) = (lowered.text, lowered.lower.as_str());
        let mut tokens = Vec::with_capacity(text.len() / 5 + 1);
        scan(text, lower, &mut tokens);
        mark_quotes(text, &mut tokens);
        let sentences = split_sentences(text, lower, &tokens);
        let words = tokens.iter().map(|t| &lower[t.start..t.end]).collect();
        let raws = tokens.iter().map(|t| &text[t.start..t.end]).collect();
        Lexed {
            text,
            lower,
            tokens,
            words,
            raws,
            sentences,
        }
    }

    /// Lower-case text of token `i`; empty beyond the end.
    #[inline]
    pub fn word(&self, i: usize) -> &'a str {
        self.words.get(i).copied().unwrap_or_default()
    }

    /// Text of token `i` as written.
    #[inline]
    pub fn raw(&self, i: usize) -> &'a str {
        self.raws.get(i).copied().unwrap_or_default()
    }

    /// Whether token `i` is the symbol `s`.
    pub fn is_symbol(&self, i: usize, s: &str) -> bool {
        self.tokens
            .get(i)
            .is_some_and(|t| t.kind == TokenKind::Symbol)
            && self.raw(i) == s
    }

    /// The sentence (index) that token `i` belongs to.
    pub fn sentence_of(&self, i: usize) -> (usize, usize) {
        let at = self.sentences.partition_point(|s| s.1 <= i);
        self.sentences
            .get(at)
            .copied()
            .unwrap_or((0, self.tokens.len()))
    }

    /// Text of a token range, trimmed of a closing mark.
    pub fn span(&self, range: (usize, usize)) -> (usize, usize) {
        if range.0 >= range.1 || range.1 > self.tokens.len() {
            return (0, 0);
        }
        (self.tokens[range.0].start, self.tokens[range.1 - 1].end)
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '-' | '_' | '\'' | '’' | '.')
}

fn scan(text: &str, lower: &str, tokens: &mut Vec<Token>) {
    let mut chars = text.char_indices().peekable();
    let mut spaced = true;
    while let Some((start, c)) = chars.next() {
        if c.is_whitespace() {
            spaced = true;
            if c == '\n' {
                push(
                    tokens,
                    lower,
                    start,
                    start + 1,
                    TokenKind::Symbol,
                    spaced,
                    false,
                );
            }
            continue;
        }
        if c.is_alphanumeric() || c == '_' {
            let mut end = start + c.len_utf8();
            let mut digits_only = c.is_ascii_digit();
            let mut digits_end = end;
            while let Some(&(at, d)) = chars.peek() {
                if d.is_alphanumeric() || d == '_' {
                    digits_only &= d.is_ascii_digit();
                    end = at + d.len_utf8();
                    if digits_only {
                        digits_end = end;
                    }
                    chars.next();
                } else if (is_joiner(d) || (digits_only && matches!(d, ',' | ':')))
                    && text[at + d.len_utf8()..].chars().next().is_some_and(|e| {
                        if digits_only && d != '-' {
                            e.is_ascii_digit()
                        } else {
                            e.is_alphanumeric() || e == '_'
                        }
                    })
                {
                    if digits_only && d == '-' {
                        break;
                    }
                    chars.next();
                    end = at + d.len_utf8();
                } else if matches!(d, '+' | '#') && !digits_only && end - start <= 2 {
                    chars.next();
                    end = at + 1;
                } else {
                    break;
                }
            }
            if c.is_ascii_digit() && !digits_only {
                let tail = &lower[digits_end..end];
                if ATTACHED_UNITS.binary_search(&tail).is_ok() {
                    push(
                        tokens,
                        lower,
                        start,
                        digits_end,
                        TokenKind::Number,
                        spaced,
                        false,
                    );
                    push(
                        tokens,
                        lower,
                        digits_end,
                        end,
                        TokenKind::Word,
                        false,
                        false,
                    );
                    spaced = false;
                    continue;
                }
            }
            let kind = if digits_only {
                TokenKind::Number
            } else {
                TokenKind::Word
            };
            push(tokens, lower, start, end, kind, spaced, c.is_uppercase());
        } else {
            let mut end = start + c.len_utf8();
            if matches!(c, '?' | '.' | '<' | '>' | '=' | '!' | '-') {
                while let Some(&(at, d)) = chars.peek() {
                    if d == c
                        || (matches!(c, '<' | '>' | '!' | '-' | '=') && matches!(d, '=' | '>'))
                    {
                        chars.next();
                        end = at + 1;
                    } else {
                        break;
                    }
                }
            }
            push(tokens, lower, start, end, TokenKind::Symbol, spaced, false);
        }
        spaced = false;
    }
}

fn push(
    tokens: &mut Vec<Token>,
    lower: &str,
    start: usize,
    end: usize,
    kind: TokenKind,
    spaced: bool,
    upper: bool,
) {
    let word = &lower[start..end];
    let key = fnv(if kind == TokenKind::Word {
        stem(word)
    } else {
        word
    });
    tokens.push(Token {
        start,
        end,
        kind,
        quoted: false,
        spaced,
        upper,
        coded: word
            .bytes()
            .any(|b| b.is_ascii() && !b.is_ascii_alphabetic()),
        key,
    });
}

fn closing(open: &str) -> Option<&'static [&'static str]> {
    match open {
        "\"" => Some(&["\""]),
        "`" => Some(&["`"]),
        "“" => Some(&["”"]),
        "„" => Some(&["“", "”"]),
        "«" => Some(&["»"]),
        "'" => Some(&["'"]),
        "‘" => Some(&["’"]),
        _ => None,
    }
}

/// How many tokens a quotation may hold before the mark is taken for something else.
const QUOTE_REACH: usize = 60;

fn mark_quotes(text: &str, tokens: &mut [Token]) {
    let mut i = 0;
    while i < tokens.len() {
        let t = tokens[i];
        let Some(close) = (t.kind == TokenKind::Symbol)
            .then(|| closing(&text[t.start..t.end]))
            .flatten()
        else {
            i += 1;
            continue;
        };
        let before = text[..t.start].chars().next_back();
        let opens = match before {
            None => true,
            Some(c) => !(c.is_alphanumeric() || (c == '"' && close[0] == "\"")),
        };
        let single = close[0] == "'";
        let found = opens
            .then(|| {
                (i + 1..tokens.len().min(i + QUOTE_REACH)).find(|&j| {
                    let u = tokens[j];
                    u.kind == TokenKind::Symbol
                        && close.contains(&&text[u.start..u.end])
                        && (!single
                            || text[u.end..]
                                .chars()
                                .next()
                                .is_none_or(|c| !c.is_alphanumeric()))
                })
            })
            .flatten();
        if let Some(j) = found {
            for u in &mut tokens[i..=j] {
                u.quoted = true;
            }
            i = j + 1;
        } else {
            i += 1;
        }
    }
}

/// Tokens after which a sentence is cut: detectors look at whole sentences, and no text may make that slow.
const SENTENCE_REACH: usize = 200;

fn split_sentences(text: &str, lower: &str, tokens: &[Token]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut from = 0;
    for (i, t) in tokens.iter().enumerate() {
        let long = i - from >= SENTENCE_REACH;
        if !long && (t.kind != TokenKind::Symbol || t.quoted) {
            continue;
        }
        let s = &text[t.start..t.end];
        let ends = long
            || match s.as_bytes()[0] {
                b';' | b'\n' => true,
                b'.' | b'!' | b'?' => {
                    let next = text[t.end..].chars().next();
                    let open = next.is_none_or(char::is_whitespace);
                    let abbreviation = s == "."
                        && i > 0
                        && ABBREVIATIONS
                            .binary_search(&&lower[tokens[i - 1].start..tokens[i - 1].end])
                            .is_ok()
                        && next.is_some();
                    // `blue? green? the sponsor decides`, `String? and Int?`: the sentence goes on.
                    let goes_on = s.starts_with('?')
                        && text[t.end..]
                            .trim_start_matches(' ')
                            .starts_with(|c: char| c.is_lowercase() || c == '(');
                    open && !abbreviation && !goes_on && (i == 0 || !t.spaced || s.starts_with('?'))
                }
                _ => false,
            };
        if ends {
            if i + 1 > from {
                out.push((from, i + 1));
            }
            from = i + 1;
        }
    }
    if from < tokens.len() {
        out.push((from, tokens.len()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let lowered = Lowered::new(text);
        let l = Lexed::new(&lowered);
        (0..l.tokens.len()).map(|i| l.word(i).to_owned()).collect()
    }

    #[test]
    fn tables_are_sorted() {
        assert!(ABBREVIATIONS.windows(2).all(|w| w[0] < w[1]));
        assert!(ATTACHED_UNITS.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn scan_units_codes_and_names_split_right() {
        assert_eq!(
            words("64KB, 4xx node.js C++17 read-only 3,100"),
            [
                "64",
                "kb",
                ",",
                "4xx",
                "node.js",
                "c++17",
                "read-only",
                "3,100"
            ]
        );
    }

    #[test]
    fn sentences_abbreviation_does_not_end() {
        let lowered = Lowered::new("A vs. B. C; d");
        assert_eq!(Lexed::new(&lowered).sentences.len(), 3);
    }

    #[test]
    fn quotes_inch_mark_opens_nothing() {
        let lowered = Lowered::new("a 19\" rack and \"x y\" z");
        let l = Lexed::new(&lowered);
        let quoted: Vec<&str> = (0..l.tokens.len())
            .filter(|&i| l.tokens[i].quoted)
            .map(|i| l.raw(i))
            .collect();
        assert_eq!(quoted, ["\"", "x", "y", "\""]);
    }
}
