//! Patterns of words, as written in data files:
//!
//! | in a pattern | matches |
//! |---|---|
//! | `word` | that word, in any letter case |
//! | `a\|b` | one of the words |
//! | `@name` | one of the words of a set of the same file |
//! | `word?` | the word, or nothing |
//! | `*` | any one word or number; `*?` that, or nothing |
//! | `...` | up to eight tokens |
//! | `<` | the beginning of the sentence |
//! | `>` | the end of a clause: a sign such as `,` or `.` that is not matched itself, or the end of the text; also one of several, as `a\|>` |
//! | `:` `,` `(` `-` `/` `?` | that sign, one of several as `:\|,` |
//! | `^name` | a word with a capital inside the sentence; `^name's` one that ends so |
//! | `^` | first: no verb and no condition precedes the match |

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Words, keys_of};
use crate::text::token::{Sentence, Text, Token, TokenKind, key_of};

/// The most tokens that `...` matches.
const GAP: usize = 8;
/// The end of a clause, as one of several words.
const END: u64 = key_of(b">");

#[derive(Debug, Clone)]
enum Part {
    /// One of these words; the flag says whether it may be absent.
    Word(Vec<u64>, bool),
    /// One of the words of named sets, or of these words, until [`Pattern::fill_in`] resolves it.
    Sets(Vec<String>, Vec<u64>, bool),
    Any(bool),
    Gap,
    Start,
    End,
    /// One of these signs.
    Sign(Vec<char>),
    /// A capital inside the sentence; the flag asks for *'s*.
    Name(bool),
}

/// A pattern of words.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    /// Whether no verb may precede the match.
    pub is_bare: bool,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    /// Parses a pattern. The first part, apart from `<`, must be a word that cannot be absent, or a
    /// sign.
    fn try_from(text: String) -> Result<Self, String> {
        let (is_bare, rest) = match text.strip_prefix("^ ") {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let parts: Vec<Part> = rest.split_whitespace().map(parse_part).collect();
        let first = parts.iter().find(|part| !matches!(part, Part::Start));
        match first {
            Some(Part::Word(_, false) | Part::Sets(_, _, false) | Part::Sign(_)) => {
                Ok(Self { parts, is_bare })
            }
            _ => Err(format!("`{text}`: begin with a word that cannot be absent")),
        }
    }
}

impl Pattern {
    /// Replaces the names of sets by their words.
    pub fn fill_in(&mut self, sets: &BTreeMap<String, Words>) -> Result<(), String> {
        for part in &mut self.parts {
            if let Part::Sets(names, keys, optional) = part {
                let mut all = std::mem::take(keys);
                for name in names {
                    let set = sets
                        .get(name)
                        .ok_or_else(|| format!("no set is called {name}"))?;
                    all.extend(&set.keys);
                }
                all.sort_unstable();
                *part = Part::Word(all, *optional);
            }
        }
        Ok(())
    }

    /// Returns the keys of the words, or the sign, that a match begins with.
    pub fn first_keys(&self) -> Vec<u64> {
        match self.parts.iter().find(|part| !matches!(part, Part::Start)) {
            Some(Part::Word(keys, _)) => keys.clone(),
            Some(Part::Sign(signs)) => signs
                .iter()
                .map(|sign| key_of(sign.encode_utf8(&mut [0; 4]).as_bytes()))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the end of the match that begins at token `at`.
    pub fn match_at(&self, text: &Text<'_>, sentence: Sentence, at: usize) -> Option<usize> {
        match_parts(&self.parts, text, sentence, at)
    }

    /// Returns the first match in a sentence.
    pub fn find_in(&self, text: &Text<'_>, sentence: Sentence) -> Option<(usize, usize)> {
        (sentence.from..sentence.to).find_map(|at| Some((at, self.match_at(text, sentence, at)?)))
    }

    /// Whether a match in the sentence shares a token with `from..to`.
    pub fn overlaps(&self, text: &Text<'_>, sentence: Sentence, from: usize, to: usize) -> bool {
        let reach = self.parts.len() + GAP;
        let begin = from.saturating_sub(reach).max(sentence.from);
        (begin..to.min(sentence.to)).any(|at| {
            self.match_at(text, sentence, at)
                .is_some_and(|end| end > from)
        })
    }
}

fn parse_part(part: &str) -> Part {
    match part {
        "*" => Part::Any(false),
        "*?" => Part::Any(true),
        "..." => Part::Gap,
        "<" => Part::Start,
        ">" => Part::End,
        "^name" => Part::Name(false),
        "^name's" => Part::Name(true),
        _ if part.split('|').all(is_sign) => {
            Part::Sign(part.chars().filter(|c| *c != '|').collect())
        }
        _ => {
            let (words, optional) = match part.strip_suffix('?') {
                Some(words) => (words, true),
                None => (part, false),
            };
            let (sets, plain): (Vec<&str>, Vec<&str>) =
                words.split('|').partition(|word| word.starts_with('@'));
            let mut keys = keys_of(&plain.join(" "));
            keys.sort_unstable();
            if sets.is_empty() {
                return Part::Word(keys, optional);
            }
            let names = sets.iter().map(|set| set[1..].to_owned()).collect();
            Part::Sets(names, keys, optional)
        }
    }
}

/// Whether a clause ends before the token: at a sign, or at the end of the text.
fn is_end(text: &Text<'_>, token: Option<&Token>) -> bool {
    let ends = |token: &Token| {
        token.kind == TokenKind::Sign
            && matches!(
                text.raw.as_bytes()[token.start as usize],
                b'.' | b',' | b';' | b':' | b')' | b'!' | b'?' | b'\n' | b'(' | b'-'
            )
    };
    token.is_none_or(ends)
}

fn is_sign(part: &str) -> bool {
    matches!(
        part,
        ":" | "," | "(" | ")" | "[" | "-" | "/" | "?" | "–" | "—"
    )
}

fn match_parts(parts: &[Part], text: &Text<'_>, sentence: Sentence, at: usize) -> Option<usize> {
    let Some((part, rest)) = parts.split_first() else {
        return Some(at);
    };
    let token = text.tokens.get(at).filter(|_| at < sentence.to);
    match part {
        Part::Start => {
            let leading = (sentence.from..at).all(|i| text.tokens[i].kind == TokenKind::Sign);
            if leading {
                match_parts(rest, text, sentence, at)
            } else {
                None
            }
        }
        Part::End => {
            if is_end(text, token) {
                match_parts(rest, text, sentence, at)
            } else {
                None
            }
        }
        Part::Sets(..) => None,
        Part::Gap => (0..=GAP).find_map(|skip| {
            if at + skip > sentence.to {
                return None;
            }
            match_parts(rest, text, sentence, at + skip)
        }),
        Part::Any(optional) => {
            if token.is_some_and(|token| token.kind != TokenKind::Sign)
                && let Some(end) = match_parts(rest, text, sentence, at + 1)
            {
                return Some(end);
            }
            if *optional {
                match_parts(rest, text, sentence, at)
            } else {
                None
            }
        }
        Part::Name(owns) => {
            let word = token.map_or("", |_| text.word(at)).as_bytes();
            let is_name = at > sentence.from
                && word.len() > 1
                && word[0].is_ascii_uppercase()
                && word[1].is_ascii_lowercase()
                && (!owns || word.ends_with(b"'s"));
            if is_name {
                match_parts(rest, text, sentence, at + 1)
            } else {
                None
            }
        }
        Part::Sign(signs) => {
            if token.is_some() && signs.iter().any(|sign| text.is_sign(at, *sign)) {
                match_parts(rest, text, sentence, at + 1)
            } else {
                None
            }
        }
        Part::Word(keys, optional) => {
            if token.is_some_and(|token| keys.binary_search(&token.key).is_ok())
                && let Some(end) = match_parts(rest, text, sentence, at + 1)
            {
                return Some(end);
            }
            if *optional || keys.binary_search(&END).is_ok() && is_end(text, token) {
                match_parts(rest, text, sentence, at)
            } else {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> String {
        let words = Words::from("agreed decided".to_owned());
        let mut pattern = Pattern::try_from(pattern.to_owned()).unwrap();
        pattern
            .fill_in(&BTreeMap::from([("set".to_owned(), words)]))
            .unwrap();
        let text = Text::new(text);
        let mut found = text
            .sentences
            .iter()
            .filter_map(|s| pattern.find_in(&text, *s));
        let (start, end) = found
            .next()
            .map_or((0, 0), |(from, to)| text.span(from, to));
        text.raw[start..end].to_owned()
    }

    #[test]
    fn pattern_parts_match_as_documented() {
        for (pattern, text, expected) in [
            ("to be @set", "It is to be Decided today", "to be Decided"),
            (
                "is|are still? to be @set",
                "are to be agreed",
                "are to be agreed",
            ),
            ("< see attached", "Please see attached", ""),
            ("open >", "The limit is open, sorry", "open"),
            ("open >", "an open question", ""),
            (
                "either ... or",
                "either this one or that",
                "either this one or",
            ),
            (": tk >", "Provider: TK", ": TK"),
            (",|: tk", "Provider: TK", ": TK"),
            ("open yet|>", "The limit is open", "open"),
            ("ask ^name", "Please ask Kim now", "ask Kim"),
            ("ask ^name", "Please ask legal now", ""),
        ] {
            assert_eq!(found(pattern, text), expected, "{pattern}");
        }
    }

    /// A pattern without an example would be fitted to a sentence that nobody sees.
    #[test]
    fn every_pattern_matches_an_example_of_its_rule() {
        let mut without = Vec::new();
        for rule in &crate::rules::rule_set().rules {
            let flags = rule.flags.iter().flat_map(|flag| flag.split(" || "));
            let samples = rule.samples.iter().map(String::as_str);
            let texts: Vec<Text<'_>> = flags.chain(samples).map(Text::new).collect();
            for (number, pattern) in rule.patterns.iter().enumerate() {
                let matches = |text: &Text<'_>| {
                    let mut sentences = text.sentences.iter();
                    sentences.any(|sentence| pattern.find_in(text, *sentence).is_some())
                };
                if !texts.iter().any(matches) {
                    without.push(format!("{} pattern {number}", rule.id));
                }
            }
        }
        assert!(without.is_empty(), "{}", without.join("\n"));
    }

    #[test]
    fn malformed_pattern_is_refused() {
        for text in ["", "maybe? not", "* a", "... a"] {
            assert!(Pattern::try_from(text.to_owned()).is_err(), "{text}");
        }
        let mut unknown = Pattern::try_from("@unknown".to_owned()).unwrap();
        assert!(unknown.fill_in(&BTreeMap::new()).is_err());
    }
}
