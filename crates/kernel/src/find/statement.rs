//! Statements: sentences taken apart as far as needed to compare two of them.
//!
//! A statement has a subject, a predicate, the condition under which it applies, and what it
//! denies. Purposes (*so that …*), reasons and examples assert nothing and are left out. Words are
//! compared by [`Source::canonical`].

mod denial;

use super::Source;
use crate::rules::{Class, Lexicon};
use crate::text::token::{Sentence, TokenKind, key_of};

/// The classes of words without content.
const EMPTY: u32 = Class::STOP
    | Class::GENERIC
    | Class::VERB
    | Class::NEGATION
    | Class::PREVENTS
    | Class::NO
    | Class::UNIVERSAL
    | Class::CONDITION
    | Class::EXCEPTION
    | Class::PERMISSION
    | Class::ONLY
    | Class::UPPER
    | Class::LOWER
    | Class::EXACT
    | Class::RATE
    | Class::LEADING
    | Class::ARTICLE;

/// The classes of words that bound a quantity.
const BOUND: u32 = Class::UPPER | Class::LOWER | Class::EXACT;

/// A sorted set of word keys.
pub(super) type Keys = Vec<u64>;

/// What a statement denies.
#[derive(Debug)]
pub(super) struct Denial {
    /// The denied words.
    pub keys: Keys,
    /// Whether it allows no exception: *never*, *nothing*, *in any way*.
    pub is_universal: bool,
    /// Whether it only hinders: *prevent*, *avoid*.
    pub is_hindrance: bool,
}

/// A sentence taken apart.
#[derive(Debug, Default)]
pub(super) struct Statement {
    /// The index of its source.
    pub source: usize,
    pub sentence: Sentence,
    /// All content words that it asserts or denies.
    pub keys: Keys,
    pub subject: Keys,
    /// Numbers and letters that distinguish things of a kind: *zone 2*, *plan B*, *queue q1*.
    pub labels: Keys,
    /// Content words after the verb.
    pub predicate: Keys,
    pub condition: Keys,
    pub denials: Vec<Denial>,
    /// The first verb, as a token.
    pub verb: Option<usize>,
    /// The classes of all of its words.
    pub classes: u32,
    /// The tokens without preface, purpose and condition.
    pub body: Vec<usize>,
    /// The words, numbers and signs without purpose.
    pub whole: Vec<usize>,
    /// All content words but numbers, those of the condition too.
    pub content: Keys,
    /// All words, those without content too.
    pub words: Keys,
    /// The classes of all of its words, those of conditions too.
    pub order: u32,
    /// Words with a prefix that denies, and the words without it: *unpaid* and *paid*.
    pub privatives: Vec<(u64, u64)>,
}

const I: u64 = key_of(b"i");
const WANT: [u64; 4] = [
    key_of(b"want"),
    key_of(b"need"),
    key_of(b"expect"),
    key_of(b"can"),
];
const COMMA: u64 = key_of(b",");
const COLON: u64 = key_of(b":");
/// Beginnings of words that turn them into their opposite.
const PRIVATIVE: [&str; 6] = ["un", "in", "im", "ir", "non-", "dis"];
/// The most tokens before a colon for them to be a heading.
const HEADING: usize = 6;

/// Takes a sentence apart; `None` if there is nothing to compare.
pub(super) fn read(
    lexicon: &Lexicon,
    source: &Source<'_>,
    number: usize,
    sentence: Sentence,
) -> Option<Statement> {
    let mut statement = Statement {
        source: number,
        sentence,
        ..Statement::default()
    };
    let class = |i: usize| source.classes[i];
    let key = |i: usize| source.text.tokens[i].key;
    let sentence = Sentence {
        from: skip_id(source, sentence),
        ..sentence
    };
    let aside = asides(source, sentence);
    let end = (sentence.from..sentence.to)
        .find(|&i| class(i) & Class::PURPOSE != 0 && !is_within(&aside, i))
        .unwrap_or(sentence.to);
    let mut from = sentence.from;
    // "As an editor, I want …": the role is the subject.
    if let Some(i) = (from..end.min(from + 24))
        .find(|&i| key(i) == I && i + 1 < end && WANT.contains(&key(i + 1)))
    {
        push_content(source, from..i, &mut statement.subject);
        from = i + 2;
    } else if let Some(i) = (from..end.min(from + HEADING + 1)).find(|&i| key(i) == COLON) {
        push_content(source, from..i, &mut statement.subject);
        from = i + 1;
    }
    let mut body = Vec::with_capacity(end - from);
    let mut i = from;
    while i < end {
        if is_within(&aside, i) {
            i += 1;
            continue;
        }
        // *At most 20 rows* and *within 5 seconds* are bounds, whatever they begin.
        let is_bound = (i + 1..end.min(i + 3)).any(|j| class(j) & BOUND != 0);
        let leads = i == from && class(i) & Class::LEADING != 0 && !is_bound;
        if class(i) & Class::CONDITION != 0 && !before_number(source, i, end) || leads {
            let stop = condition_end(source, i, end, i == from);
            push_content(source, i + 1..stop, &mut statement.condition);
            i = stop.max(i + 1);
            continue;
        }
        if source.text.tokens[i].kind != TokenKind::Sign
            || key(i) == COMMA
            || matches!(source.text.word(i), "(" | ")" | "-" | "–" | "—" | ":")
        {
            body.push(i);
        }
        i += 1;
    }
    skip_enumerator(source, &mut body);
    let is_relative = |i: usize| i > sentence.from && class(i - 1) & Class::RELATIVE != 0;
    statement.verb = body
        .iter()
        .copied()
        .find(|&i| class(i) & Class::VERB != 0 && !is_relative(i));
    for &i in &body {
        statement.classes |= class(i);
        let Some(key) = content_key(source, i) else {
            continue;
        };
        match statement.verb {
            Some(verb) if i < verb => statement.subject.push(key),
            _ => statement.predicate.push(key),
        }
        statement.keys.push(key);
    }
    statement.classes |= (sentence.from..end)
        .filter(|&i| class(i) & (Class::CONDITION | Class::EXCEPTION) != 0)
        .fold(0, |all, i| all | class(i));
    let whole = (sentence.from..end).filter(|&i| !is_within(&aside, i));
    statement.whole = whole.collect();
    for &i in &statement.whole {
        let token = source.text.tokens[i];
        if token.kind == TokenKind::Word && !lexicon.is_of_quantity(token.key) {
            let name = token.quoted.then(|| source.canonical[i]);
            statement
                .content
                .extend(name.or_else(|| content_key(source, i)));
            statement.words.push(source.canonical[i]);
            let word = source.text.lower_word(i);
            for prefix in PRIVATIVE {
                if let Some(base) = word.strip_prefix(prefix).filter(|base| base.len() > 3) {
                    let base = lexicon.look_up(base, key_of(base.as_bytes())).1;
                    statement.privatives.push((source.canonical[i], base));
                }
            }
        } else if lexicon.ordinal(token.key).is_some() {
            statement.words.push(source.canonical[i]);
        }
        statement.order |= class(i);
    }
    read_labels(lexicon, source, &body, &mut statement);
    denial::read_denials(source, &body, &mut statement);
    statement.body = body;
    for keys in [
        &mut statement.keys,
        &mut statement.subject,
        &mut statement.predicate,
        &mut statement.condition,
        &mut statement.content,
        &mut statement.words,
    ] {
        *keys = sorted(std::mem::take(keys));
    }
    (!statement.keys.is_empty()).then_some(statement)
}

/// Returns the token after the id of a requirement: `FR1.9:`, `[REQ-7]`.
fn skip_id(source: &Source<'_>, sentence: Sentence) -> usize {
    let word = |i: usize| match i < sentence.to {
        true => source.text.word(i),
        false => "",
    };
    let opens = usize::from(word(sentence.from) == "[");
    let id = word(sentence.from + opens);
    let is_id = id.starts_with(|c: char| c.is_ascii_uppercase())
        && id.contains(|c: char| c == '-' || c.is_ascii_digit())
        && !id.contains(|c: char| c.is_ascii_lowercase());
    match word(sentence.from + opens + 1) {
        ":" if is_id && opens == 0 => sentence.from + 2,
        "]" if is_id && opens == 1 => sentence.from + 3,
        _ => sentence.from,
    }
}

/// The spans in parentheses that give a reason or an example: *(e.g. with a time stamp)*.
fn asides(source: &Source<'_>, sentence: Sentence) -> Vec<(usize, usize)> {
    let word = |i: usize| source.text.word(i);
    let mut found = Vec::new();
    let mut open = None;
    for i in sentence.from..sentence.to {
        match word(i) {
            "(" => open = Some(i),
            ")" => {
                if let Some(from) = open.take()
                    && (from..i).any(|i| source.classes[i] & Class::PURPOSE != 0)
                {
                    found.push((from, i));
                }
            }
            _ => {}
        }
    }
    found
}

fn is_within(spans: &[(usize, usize)], i: usize) -> bool {
    spans.iter().any(|(from, to)| (*from..=*to).contains(&i))
}

/// Collects numbers, capital letters and words with a digit that follow a noun, before the verb.
fn read_labels(lexicon: &Lexicon, source: &Source<'_>, body: &[usize], statement: &mut Statement) {
    // Without a verb, a number may be the requirement itself: *retry 5 times*.
    let verb = statement.verb.unwrap_or(usize::MAX);
    for pair in body.windows(2).take_while(|pair| pair[1] < verb) {
        let (token, word) = (source.text.tokens[pair[1]], source.text.word(pair[1]));
        let measures =
            lexicon.is_of_quantity(source.text.tokens.get(pair[1] + 1).map_or(0, |it| it.key));
        let labels = token.kind == TokenKind::Number && statement.verb.is_some() && !measures
            || word.len() == 1 && word.as_bytes()[0].is_ascii_uppercase()
            || token.kind == TokenKind::Word && word.bytes().any(|b| b.is_ascii_digit());
        if labels && content_key(source, pair[0]).is_some() {
            statement.labels.push(source.canonical[pair[1]]);
        }
    }
}

/// Removes the number of a list item, which says nothing: `(2)`, `3)`.
fn skip_enumerator(source: &Source<'_>, body: &mut Vec<usize>) {
    let number = body
        .iter()
        .take(2)
        .position(|&i| source.text.tokens[i].kind == TokenKind::Number);
    if let Some(at) = number
        && body
            .get(at + 1)
            .is_some_and(|&i| source.text.word(i) == ")")
    {
        body.drain(..at + 2);
    }
}

/// Whether a number follows: *before 05:00* and *after 30 days* are bounds, not conditions.
fn before_number(source: &Source<'_>, i: usize, end: usize) -> bool {
    (i + 1..end.min(i + 3)).any(|j| source.text.tokens[j].kind == TokenKind::Number)
}

/// Returns the key of a token that has content.
pub(super) fn content_key(source: &Source<'_>, i: usize) -> Option<u64> {
    let token = source.text.tokens[i];
    (token.kind != TokenKind::Sign && source.classes[i] & EMPTY == 0).then(|| source.canonical[i])
}

fn push_content(source: &Source<'_>, range: std::ops::Range<usize>, out: &mut Keys) {
    out.extend(range.filter_map(|i| content_key(source, i)));
}

/// Returns the end of the condition that begins at `at`: a comma, or, for a leading one without a
/// comma, the noun phrase before the last verb.
fn condition_end(source: &Source<'_>, at: usize, end: usize, leads: bool) -> usize {
    let comma = (at..end).find(|&i| matches!(source.text.word(i), "," | ")" | "—" | "–"));
    if let Some(comma) = comma {
        return comma;
    }
    if !leads {
        return end;
    }
    let verb = (at + 1..end).rev().find(|&i| {
        source.classes[i] & Class::VERB != 0 && source.classes[i] & Class::PERMISSION == 0
    });
    let Some(verb) = verb else { return end };
    (at + 2..verb)
        .rev()
        .find(|&i| source.classes[i] & Class::ARTICLE != 0)
        .unwrap_or(verb)
}

impl Statement {
    /// Whether both may be about the same thing: *zone 1* and *zone 2* are never compared.
    pub fn has_labels_of(&self, other: &Self) -> bool {
        self.labels == other.labels
            || self.labels.is_empty() && all_in(&other.labels, &self.keys)
            || other.labels.is_empty() && all_in(&self.labels, &other.keys)
    }
}

/// Sorts keys and removes duplicates.
pub(super) fn sorted(mut keys: Keys) -> Keys {
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Counts the keys of `some` that are in `of`, which must be sorted.
pub(super) fn count_in(some: &[u64], of: &[u64]) -> usize {
    some.iter()
        .filter(|key| of.binary_search(key).is_ok())
        .count()
}

/// Whether all of `some` are in `of`.
pub(super) fn all_in(some: &[u64], of: &[u64]) -> bool {
    count_in(some, of) == some.len()
}
