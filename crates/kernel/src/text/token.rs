//! Tokens and sentences, which matchers read instead of bytes.
//!
//! One pass over the text, linear for any text. A word keeps its inner hyphens, dots and
//! apostrophes; a number keeps its separators. Text in quotation marks and backticks is marked:
//! what a program prints, or what a text only mentions, leaves nothing open.

use super::stem::stem;

/// Hashes a word with FNV-1a, to compare words quickly.
pub(crate) const fn key_of(word: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The key of the stem of a lower-case word.
pub(crate) fn stem_key(word: &str) -> u64 {
    key_of(stem(word).as_bytes())
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Begins with a letter.
    Word,
    /// Begins with a digit.
    Number,
    /// Anything else: one character, or a run of the same character.
    Sign,
}

/// A token: a span of the text with facts about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The hash of the lower-case text.
    pub key: u64,
    /// Word, number or sign.
    pub kind: TokenKind,
    /// Whether it is in quotation marks or backticks.
    pub quoted: bool,
    /// Whether white space precedes it.
    pub spaced: bool,
}

impl Token {
    /// The range of bytes.
    pub fn span(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A sentence: the tokens `from..to`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub from: usize,
    pub to: usize,
}

/// A text with its tokens and sentences.
pub(crate) struct Text<'t> {
    /// As written.
    pub raw: &'t str,
    /// With ASCII letters in lower case; the same byte offsets.
    pub lower: String,
    pub tokens: Vec<Token>,
    pub sentences: Vec<Sentence>,
}

/// A sentence is split after this many tokens, so that no text makes a matcher slow.
pub(crate) const SENTENCE_REACH: usize = 200;

/// The most bytes in a quotation; beyond that, its mark is taken for something else.
const QUOTE_REACH: usize = 400;

/// Abbreviations whose dot does not end a sentence.
const ABBREVIATIONS: &str = "|e.g|i.e|eg|ie|etc|vs|cf|approx|incl|no|fig|resp|max|min|";

impl<'t> Text<'t> {
    /// Splits a text into tokens and sentences.
    pub fn new(raw: &'t str) -> Self {
        let lower = raw.to_ascii_lowercase();
        let mut tokens = scan(raw, &lower);
        mark_quotes(raw, &mut tokens);
        let sentences = split_sentences(raw, &tokens);
        Text {
            raw,
            lower,
            tokens,
            sentences,
        }
    }

    /// The token as written.
    pub fn word(&self, at: usize) -> &'t str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.raw[token.span()])
    }

    /// The token in lower case.
    pub fn lower_word(&self, at: usize) -> &str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.lower[token.span()])
    }

    /// Whether the token at `at` is this sign.
    pub fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at).is_some_and(|token| {
            token.kind == TokenKind::Sign && self.raw[token.span()].starts_with(sign)
        })
    }

    /// Returns the byte range of the tokens `from..to`.
    pub fn span(&self, from: usize, to: usize) -> (usize, usize) {
        match (self.tokens.get(from), self.tokens.get(to.saturating_sub(1))) {
            (Some(first), Some(last)) if from < to => (first.start as usize, last.end as usize),
            _ => (0, 0),
        }
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '-' | '\'' | '’' | '.' | '_')
}

/// Returns where the word that begins at `start` ends: letters and digits, with joiners between
/// them.
fn word_end(raw: &str, start: usize, numeric: bool) -> usize {
    let mut end = start;
    let mut chars = raw[start..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c.is_alphanumeric() || matches!(c, '_' | '\u{300}'..='\u{36f}') {
            end = start + at + c.len_utf8();
            continue;
        }
        let joins = is_joiner(c) || numeric && matches!(c, ',' | ':');
        let next = chars.peek().is_some_and(|&(_, d)| {
            if matches!(c, ',' | ':') {
                d.is_ascii_digit()
            } else {
                d.is_alphanumeric()
            }
        });
        if !(joins && next) {
            break;
        }
    }
    // C++, C#: the signs are part of the name.
    let rest = &raw.as_bytes()[end..];
    let plus = rest.iter().take_while(|b| **b == b'+').count();
    if end - start == 1 && (plus == 2 || rest.first() == Some(&b'#')) {
        end += plus.max(1);
    }
    end
}

fn scan(raw: &str, lower: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::with_capacity(raw.len() / 5 + 1);
    let mut spaced = true;
    let mut at = 0;
    while let Some(c) = raw[at..].chars().next() {
        if c.is_whitespace() && c != '\n' {
            spaced = true;
            at += c.len_utf8();
            continue;
        }
        let (kind, end) =
            if c.is_alphabetic() || c == '_' && raw[at + 1..].starts_with(char::is_alphanumeric) {
                (TokenKind::Word, word_end(raw, at, false))
            } else if c.is_numeric() {
                (TokenKind::Number, word_end(raw, at, true))
            } else {
                let run = raw[at..].chars().take_while(|d| *d == c).count();
                (TokenKind::Sign, at + run * c.len_utf8())
            };
        tokens.push(Token {
            start: at as u32,
            end: end as u32,
            key: key_of(&lower.as_bytes()[at..end]),
            kind,
            quoted: false,
            spaced,
        });
        spaced = c == '\n';
        at = end;
    }
    tokens
}

/// Marks everything between a pair of quotation marks or backticks, in one pass: a mark closes the
/// open one of its kind, or opens again if that one is too far away.
fn mark_quotes(raw: &str, tokens: &mut [Token]) {
    // The open `"`, backtick, and marks that come in pairs, by token.
    let mut open: [Option<usize>; 4] = [None; 4];
    for i in 0..tokens.len() {
        let token = tokens[i];
        if token.kind != TokenKind::Sign {
            continue;
        }
        let Some(mark) = raw[token.span()].chars().next() else {
            continue;
        };
        let (slot, opens, closes) = match mark {
            '"' => (0, true, true),
            '`' => (1, true, true),
            '“' | '„' => (2, open[2].is_none() || mark == '„', mark == '“'),
            '”' => (2, false, true),
            '«' => (3, true, false),
            '»' => (3, false, true),
            _ => continue,
        };
        let near =
            open[slot].filter(|&from| (token.start - tokens[from].end) as usize <= QUOTE_REACH);
        match near {
            Some(from) if closes => {
                tokens[from..=i].iter_mut().for_each(|t| t.quoted = true);
                open[slot] = None;
            }
            // An inch mark after a number opens nothing.
            _ if opens && (token.spaced || i == 0 || tokens[i - 1].kind == TokenKind::Sign) => {
                open[slot] = Some(i)
            }
            _ => {}
        }
    }
}

fn split_sentences(raw: &str, tokens: &[Token]) -> Vec<Sentence> {
    let mut out = Vec::new();
    let mut from = 0;
    for (i, token) in tokens.iter().enumerate() {
        let ends = i - from >= SENTENCE_REACH
            || token.kind == TokenKind::Sign && !token.quoted && ends_sentence(raw, tokens, i);
        if ends {
            out.push(Sentence { from, to: i + 1 });
            from = i + 1;
        }
    }
    if from < tokens.len() {
        out.push(Sentence {
            from,
            to: tokens.len(),
        });
    }
    out
}

fn ends_sentence(raw: &str, tokens: &[Token], i: usize) -> bool {
    let token = tokens[i];
    let next = tokens.get(i + 1);
    match raw.as_bytes()[token.start as usize] {
        b';' | b'\n' => true,
        b'!' => next.is_none_or(|n| n.spaced),
        b'?' => ends_question(raw, tokens, i),
        b'.' => {
            let open = next.is_none_or(|n| n.spaced);
            let abbreviated =
                i > 0 && is_abbreviation(&raw[tokens[i - 1].span()]) && next.is_some();
            open && !abbreviated && !(token.spaced && i > 0)
        }
        _ => false,
    }
}

fn is_abbreviation(word: &str) -> bool {
    word.len() <= 6 && ABBREVIATIONS.contains(&format!("|{}|", word.to_ascii_lowercase()))
}

/// Whether a question mark ends a sentence: after a word, and before the end or a capital. Others
/// belong to a pattern, an expression or a type.
fn ends_question(raw: &str, tokens: &[Token], i: usize) -> bool {
    let after_word = i > 0
        && !tokens[i].spaced
        && (tokens[i - 1].kind != TokenKind::Sign
            || raw[tokens[i - 1].span()].starts_with([')', '"', '”', '`']));
    let next = tokens.get(i + 1);
    after_word
        && next.is_none_or(|n| {
            n.kind == TokenKind::Sign && !raw[n.span()].starts_with(['.', '?'])
                || n.spaced && raw[n.span()].starts_with(char::is_uppercase)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let text = Text::new(text);
        (0..text.tokens.len())
            .map(|i| text.lower_word(i).to_owned())
            .collect()
    }

    #[test]
    fn codes_names_and_numbers_are_single_tokens() {
        let found = words("64KB, 4xx node.js C++ read-only 3,100 04:00 a/b don't ??? ${HOME}");
        let expected = "64kb , 4xx node.js c++ read-only 3,100 04:00 a / b don't ??? $ { home }";
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn abbreviations_and_decimals_do_not_end_a_sentence() {
        assert_eq!(Text::new("A vs. B is 3.5 today. C; d").sentences.len(), 3);
        assert_eq!(Text::new("See (e.g. this) one. Two").sentences.len(), 2);
    }

    #[test]
    fn inch_mark_opens_no_quotation() {
        let text = Text::new("a 19\" rack and \"x y\" z `code` “said” out");
        let quoted = (0..text.tokens.len()).filter(|&i| text.tokens[i].quoted);
        let quoted: Vec<&str> = quoted.map(|i| text.word(i)).collect();
        assert_eq!(quoted.join(" "), "\" x y \" ` code ` “ said ”");
    }

    #[test]
    fn white_space_of_any_kind_separates_tokens() {
        assert_eq!(words("Kosten:\u{a0}TBD"), ["kosten", ":", "tbd"]);
        assert_eq!(words("a\u{2003}b\u{3000}c"), ["a", "b", "c"]);
    }
}
