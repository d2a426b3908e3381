//! Blanks in brackets: `[insert name]`, `{db_name}`, `<your region>`, `%SOURCE%`.
//!
//! Brackets have many other uses. Brackets are not a blank if they are part of a longer name or
//! path, are in quotes, are explained in the text, or are spelled like an option, a type or markup.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, MAX_PER_TEXT, Source};
use crate::rules::{Class, Matcher, Rule, RuleSet};
use crate::text::token::{TokenKind, key_of};

/// The most bytes in a blank.
const LONGEST: usize = 60;
const WHERE: u64 = key_of(b"where");
/// The most words in a blank.
const MOST_WORDS: usize = 6;

/// Names that the intent gives a meaning to: names in brackets, and single letters with their
/// number of uses.
#[derive(Default)]
pub(super) struct KnownNames {
    names: BTreeSet<String>,
    letters: BTreeMap<char, usize>,
}

impl KnownNames {
    pub fn new(sources: &[Source<'_>]) -> Self {
        let mut known = Self::default();
        for source in sources {
            for (at, token) in source.text.tokens.iter().enumerate() {
                if let Some(letter) = single_letter(source.text.word(at)) {
                    *known.letters.entry(letter).or_default() += 1;
                } else if let Some(blank) = read_blank(source, at)
                    && (blank.is_attached || blank.is_defined || token.quoted)
                {
                    known.names.insert(blank.inside.to_ascii_lowercase());
                }
            }
        }
        known
    }

    /// Whether a single letter occurs more than once, which makes it a name.
    pub fn is_letter_used_again(&self, word: &str) -> bool {
        single_letter(word)
            .is_some_and(|letter| self.letters.get(&letter).is_some_and(|uses| *uses > 1))
    }
}

fn single_letter(word: &str) -> Option<char> {
    let mut chars = word.chars();
    chars
        .next()
        .filter(|c| c.is_alphabetic() && chars.next().is_none())
}

/// Something in brackets.
struct Blank<'t> {
    open: char,
    inside: &'t str,
    /// The token after the closing bracket.
    to: usize,
    /// Whether it is part of a longer name, path or expression.
    is_attached: bool,
    /// Whether the text says what it is.
    is_defined: bool,
}

fn read_blank<'t>(source: &Source<'t>, at: usize) -> Option<Blank<'t>> {
    let text = &source.text;
    let token = text.tokens[at];
    if token.kind != TokenKind::Sign {
        return None;
    }
    let open = text.word(at).chars().next()?;
    let (_, close) = [('[', ']'), ('{', '}'), ('<', '>'), ('%', '%'), ('(', ')')]
        .into_iter()
        .find(|pair| pair.0 == open)?;
    let from = token.end as usize;
    let rest = &text.raw[from..];
    let length = rest.bytes().take(LONGEST).position(|b| b == close as u8)?;
    let inside = &rest[..length];
    let after_from = from + length;
    let after = text.raw[after_from..].trim_start_matches(close);
    let end = text.raw.len() - after.len();
    let to = (at + 1..text.tokens.len())
        .find(|i| text.tokens[*i].start as usize >= end)
        .unwrap_or(text.tokens.len());
    let before = text.raw[..token.start as usize].chars().next_back();
    let next_char = after.chars().next();
    // The host of an address can be a blank, whatever follows it.
    let is_host = text.raw[..token.start as usize].ends_with("://");
    let glued =
        |c: Option<char>, signs: &str| c.is_some_and(|c| c.is_alphanumeric() || signs.contains(c));
    let next_word = text
        .tokens
        .get(to)
        .filter(|next| next.spaced && next.kind == TokenKind::Word);
    Some(Blank {
        open,
        inside,
        to,
        is_attached: !is_host
            && (glued(before, "$/\\_-#&'`]}[{<%@.~*|=")
                || glued(next_char, "/\\_([{<`=*|")
                || next_char == Some(':') && open == '['
                || open != '%'
                    && matches!(next_char, Some('.' | '-' | ':' | '@'))
                    && after[1..].starts_with(|c: char| c.is_alphanumeric() || "<{[".contains(c))
                || next_char == Some('}')
                || next_char == Some(']')),
        is_defined: next_word.is_some() && source.classes[to] & Class::VERB != 0
            || at > 0 && text.tokens[at - 1].key == WHERE,
    })
}

pub(super) fn find(
    rules: &'static RuleSet,
    source: &Source<'_>,
    known: &KnownNames,
    out: &mut Vec<Finding>,
) {
    let own: Vec<&Rule> = rules.of_matcher(Matcher::Bracket).collect();
    for sentence in &source.text.sentences {
        let mut at = sentence.from;
        let (mut angle_names, before) = (0, out.len());
        while at < sentence.to && out.len() < MAX_PER_TEXT {
            let blank = read_blank(source, at).filter(|_| !source.text.tokens[at].quoted);
            let Some(blank) = blank else {
                at += 1;
                continue;
            };
            let several = blank.open == '<'
                && out.last().is_some_and(|last| {
                    last.sentence.origin == source.origin
                        && last.rule.bracket == Some('<')
                        && last.quote(0) != source.place(at, blank.to).quote
                });
            if several {
                // Two different names in angle brackets make it markup or a grammar.
                angle_names += 1;
            }
            let free = !blank.is_attached
                && !blank.is_defined
                && !known.names.contains(&blank.inside.to_ascii_lowercase());
            for rule in own
                .iter()
                .filter(|rule| free && rule.bracket == Some(blank.open))
            {
                if is_blank(rules, rule, source, at, &blank)
                    && !super::is_lifted(rule, source, *sentence, at, blank.to)
                {
                    out.push(source.finding(rule, *sentence, at, blank.to));
                }
            }
            at = blank.to.max(at + 1);
        }
        if angle_names > 0 {
            let kept: Vec<Finding> = out
                .drain(before..)
                .filter(|finding| finding.rule.bracket != Some('<'))
                .collect();
            out.extend(kept);
        }
    }
}

/// Whether the inside asks to be filled in. `words` begin a request (`insert`), the first group are
/// nouns for a value, the second are words that need a noun next, the third never make a blank.
fn is_blank(
    rules: &RuleSet,
    rule: &Rule,
    source: &Source<'_>,
    at: usize,
    blank: &Blank<'_>,
) -> bool {
    let inside = blank.inside.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '\'' | ',' | '/');
    let words: Vec<&str> = inside
        .split([' ', '_', '-', '/'])
        .filter(|word| !word.is_empty())
        .collect();
    // *At most [ ] units*, *( ) days*: an empty blank where a number is due. A list of tasks begins with one.
    if matches!(blank.open, '[' | '(') && inside.chars().all(|c| matches!(c, '.' | '…' | '_')) {
        let bounds = Class::UPPER | Class::LOWER | Class::EXACT;
        let tokens = &source.text.tokens;
        let measures = tokens
            .get(blank.to)
            .is_some_and(|next| next.spaced && rules.lexicon.unit(next.key).is_some());
        return at > 0 && tokens[at].spaced && (source.classes[at - 1] & bounds != 0 || measures);
    }
    if words.is_empty()
        || words.len() > MOST_WORDS
        || !inside.chars().all(plain)
        || !inside.starts_with(char::is_alphabetic)
    {
        return false;
    }
    let keys: Vec<u64> = words
        .iter()
        .map(|word| key_of(word.to_ascii_lowercase().as_bytes()))
        .collect();
    let whole = key_of(inside.to_ascii_lowercase().as_bytes());
    let group = |n: usize, key: &u64| rule.groups.get(n).is_some_and(|group| group.has(*key));
    if words.len() == 1 && keys.iter().any(|key| group(2, key))
        || group(2, &whole)
        || keys
            .first()
            .is_some_and(|key| !matches!(blank.open, '[' | '(') && group(2, key))
    {
        return false;
    }
    if blank.open == '{' && inside.contains(',') {
        return false;
    }
    // `<Invoice>`, `<typename T>`: an element or a type.
    let camel = words.len() == 1
        && inside.bytes().any(|b| b.is_ascii_lowercase())
        && inside.bytes().any(|b| b.is_ascii_uppercase());
    if blank.open == '<' && camel {
        return false;
    }
    if blank.open == '%' {
        return inside.len() > 2 && inside.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    }
    let asked = keys.first().is_some_and(|key| rule.words.has(*key))
        || keys.last().is_some_and(|key| group(0, key));
    if !matches!(blank.open, '[' | '(') {
        return asked || begins_word(source, at);
    }
    let is_due = at > 0 && group(1, &source.text.tokens[at - 1].key);
    if blank.open == '(' {
        return asked && is_due;
    }
    let lower = inside.bytes().all(|b| b.is_ascii_lowercase() || b == b' ');
    asked || lower && words.len() <= 4 && words.iter().all(|word| word.len() > 2) && is_due
}

/// Whether white space or an opening sign precedes the bracket.
fn begins_word(source: &Source<'_>, at: usize) -> bool {
    let token = source.text.tokens[at];
    token.spaced
        || at == 0
        || matches!(
            source.text.word(at - 1),
            "(" | ":" | "\"" | "," | "“" | "//"
        )
}
