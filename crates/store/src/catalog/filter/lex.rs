//! Splits a filter into tokens.

use super::{Comparison, FilterError, FilterFault, Literal};

/// The most characters of a filter.
const LONGEST: usize = 10_000;

/// A token of a filter, and the column at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) column: usize,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Open,
    Close,
    And,
    Or,
    Not,
    Comparison(Comparison),
    /// A name or a value, at least partly without quotes.
    Word(Word),
    End,
}

/// A name or a value. They look alike: only the position decides which it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    /// Its meaning as a value.
    pub(super) literal: Literal,
    /// Its meaning as a name: the parts between dots.
    pub(super) parts: Vec<String>,
    /// Whether all of it is quoted.
    pub(super) is_quoted: bool,
    /// Whether any of it is quoted.
    pub(super) has_quotes: bool,
}

impl TokenKind {
    /// Returns the token as messages show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Open => "`(`".to_owned(),
            Self::Close => "`)`".to_owned(),
            Self::And => "`and`".to_owned(),
            Self::Or => "`or`".to_owned(),
            Self::Not => "`not`".to_owned(),
            Self::Comparison(comparison) => format!("`{}`", comparison.sign()),
            Self::Word(word) => format!("`{}`", word.literal.text.escape_debug()),
            Self::End => "the end".to_owned(),
        }
    }
}

impl Comparison {
    /// Returns the operator's sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Contains => "~",
        }
    }
}

/// Splits a text into tokens; the last one marks the end.
pub(super) fn tokens_of(text: &str) -> Result<Vec<Token>, FilterError> {
    let chars: Vec<char> = text.chars().take(LONGEST + 1).collect();
    if chars.len() > LONGEST {
        return Err(FilterError {
            column: LONGEST,
            fault: FilterFault::TooLarge,
        });
    }
    let mut lexer = Lexer { chars, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token()?;
        let is_end = token.kind == TokenKind::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

/// Returns whether a character may occur in a word without quotes.
fn is_word(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"()=!<>~\"'".contains(c)
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn fail(&self, at: usize, fault: FilterFault) -> FilterError {
        FilterError {
            column: at + 1,
            fault,
        }
    }

    fn next_token(&mut self) -> Result<Token, FilterError> {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some(c) if is_word(c) || c == '"' || c == '\'' => self.word()?,
            Some(c) => {
                self.at += 1;
                match c {
                    '(' => TokenKind::Open,
                    ')' => TokenKind::Close,
                    '=' => {
                        // Many languages write `==`.
                        self.take_if('=');
                        TokenKind::Comparison(Comparison::Equal)
                    }
                    '~' => TokenKind::Comparison(Comparison::Contains),
                    '!' if self.take_if('=') => TokenKind::Comparison(Comparison::NotEqual),
                    '<' if self.take_if('=') => TokenKind::Comparison(Comparison::LessOrEqual),
                    '<' => TokenKind::Comparison(Comparison::Less),
                    '>' if self.take_if('=') => TokenKind::Comparison(Comparison::GreaterOrEqual),
                    '>' => TokenKind::Comparison(Comparison::Greater),
                    other => return Err(self.fail(start, FilterFault::StraySign(other))),
                }
            }
        };
        Ok(Token {
            column: start + 1,
            kind,
        })
    }

    /// Reads a word: adjacent quoted and unquoted parts.
    fn word(&mut self) -> Result<TokenKind, FilterError> {
        let start = self.at;
        let begins_quoted = matches!(self.peek(), Some('"' | '\''));
        let mut pieces = 0;
        let mut has_quotes = false;
        let mut text = String::new();
        let mut parts = vec![String::new()];
        while let Some(c) = self.peek() {
            match c {
                '"' | '\'' => {
                    let quoted = self.quoted(c)?;
                    text.push_str(&quoted);
                    if let Some(part) = parts.last_mut() {
                        part.push_str(&quoted);
                    }
                    has_quotes = true;
                }
                c if is_word(c) => {
                    self.at += 1;
                    text.push(c);
                    match (c, parts.last_mut()) {
                        ('.', _) => parts.push(String::new()),
                        (c, Some(part)) => part.push(c),
                        (_, None) => {}
                    }
                }
                _ => break,
            }
            pieces += 1;
        }
        let is_quoted = begins_quoted && pieces == 1;
        let keyword = match (has_quotes, text.to_ascii_lowercase().as_str()) {
            (false, "and") => Some(TokenKind::And),
            (false, "or") => Some(TokenKind::Or),
            (false, "not") => Some(TokenKind::Not),
            _ => None,
        };
        if let Some(keyword) = keyword {
            return Ok(keyword);
        }
        let number = if has_quotes {
            None
        } else {
            parse_number(&text)
        };
        if number.is_some_and(f64::is_infinite) {
            return Err(self.fail(start, FilterFault::TooLargeNumber(text)));
        }
        Ok(TokenKind::Word(Word {
            literal: Literal { text, number },
            parts,
            is_quoted,
            has_quotes,
        }))
    }

    /// Reads a quoted part, in which the quote itself is doubled.
    fn quoted(&mut self, quote: char) -> Result<String, FilterError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(self.fail(start, FilterFault::OpenQuote)),
                Some('\0') => return Err(self.fail(self.at, FilterFault::StraySign('\0'))),
                Some(c) if c == quote => {
                    self.at += 1;
                    if !self.take_if(quote) {
                        return Ok(text);
                    }
                    text.push(quote);
                }
                Some(c) => {
                    self.at += 1;
                    text.push(c);
                }
            }
        }
    }
}

/// Parses a number as people write it; infinite if it exceeds the range of doubles. Words that Rust
/// takes for numbers, such as `inf`, remain words.
fn parse_number(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| begins)
}
