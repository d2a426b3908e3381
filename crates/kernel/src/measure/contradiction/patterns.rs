//! Matches composed cues (`cues`) in a sentence.
//!
//! Groups are matched by stem through one bit set a token. A pattern is looked up by its first element, and left alone
//! where the rest of the sentence lacks one of its groups or words, so the cost is a probe a token.

use super::super::Source;
use super::cues::{all_groups, topics};
use super::grammar::is_boundary;
use crate::lexicon::{Side, class};
use crate::text::keyed::Keyed;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One element of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Group(u8),
    Word(u64),
    /// One of the words of a set.
    Any(u16),
    /// Any number in digits.
    Number,
    /// Up to so many words.
    Gap(u8),
    /// Nothing but a sign or the end of the sentence follows.
    End,
}

struct Pattern {
    elements: Vec<Element>,
    topic: u16,
    side: Side,
    /// Begins with the group `not`.
    opens: bool,
    /// For each set the bits of its words, of which the sentence needs one.
    any: Vec<u128>,
}

/// Groups, and words as bits of which several may share one: who lacks a bit lacks the word.
#[derive(Clone, Copy, Default)]
struct Needs {
    groups: u128,
    words: u128,
}

impl Needs {
    fn and(self, groups: u128, key: u64) -> Self {
        Self {
            groups: self.groups | groups,
            words: self.words | word_bit(key),
        }
    }

    fn are_met_by(self, sentence: Self) -> bool {
        self.groups & !sentence.groups == 0 && self.words & !sentence.words == 0
    }
}

/// The bit of a word.
fn word_bit(key: u64) -> u128 {
    1 << (key >> 57)
}

/// Places in the list of patterns.
type Range = (u32, u32);

/// A stem that a group or the start of a pattern knows.
#[derive(Clone, Copy, Default)]
struct Entry {
    groups: u128,
    /// The patterns that begin with this word.
    patterns: Range,
}

struct Table {
    /// By the key of the stem.
    words: Keyed<Entry>,
    /// The patterns that begin with each group.
    by_group: Vec<Range>,
    /// Ordered by first element.
    patterns: Vec<Pattern>,
    /// What each pattern needs. Apart from the patterns: nearly all are ruled out by it, and
    /// those need not be fetched.
    needs: Vec<Needs>,
    /// Keys of the sets, sorted.
    sets: Vec<Vec<u64>>,
    /// Bit of the group `person`.
    person: u128,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(build)
}

fn build() -> Table {
    let mut words: BTreeMap<u64, Entry> = BTreeMap::new();
    for (n, (_, list)) in all_groups().iter().enumerate() {
        for word in list.split(' ') {
            words.entry(fnv(stem(word))).or_default().groups |= 1 << n;
        }
    }
    let (mut patterns, sets) = read_patterns();
    // Groups first; patterns of one first element stay in the order of the tables.
    patterns.sort_by_key(|(pattern, _)| match pattern.elements[0] {
        Element::Group(group) => (0, u64::from(group)),
        Element::Word(key) => (1, key),
        Element::Any(_) | Element::Number | Element::Gap(_) | Element::End => (2, 0),
    });
    let (patterns, needs): (Vec<Pattern>, Vec<Needs>) = patterns.into_iter().unzip();
    let mut by_group = vec![(0, 0); all_groups().len()];
    for (at, pattern) in patterns.iter().enumerate() {
        let range = match pattern.elements[0] {
            Element::Group(group) => &mut by_group[usize::from(group)],
            Element::Word(key) => &mut words.entry(key).or_default().patterns,
            Element::Any(_) | Element::Number | Element::Gap(_) | Element::End => continue,
        };
        let from = if range.1 == 0 { at as u32 } else { range.0 };
        *range = (from, at as u32 + 1);
    }
    let person = all_groups().iter().position(|g| g.0 == "person");
    Table {
        words: Keyed::new(words.into_iter().collect()),
        by_group,
        needs,
        patterns,
        sets,
        person: person.map_or(0, |n| 1 << n),
    }
}

fn read_patterns() -> (Vec<(Pattern, Needs)>, Vec<Vec<u64>>) {
    let mut patterns = Vec::new();
    let mut sets = Sets::default();
    for (n, topic) in topics().iter().enumerate() {
        for (side, list) in [(Side::A, topic.a), (Side::B, topic.b)] {
            for text in list.split('|').flat_map(expand) {
                let elements: Vec<Element> = text
                    .split(' ')
                    .filter_map(|part| element(part, &mut sets))
                    .collect();
                let Some(Element::Group(_) | Element::Word(_)) = elements.first() else {
                    continue;
                };
                let needs = elements.iter().fold(Needs::default(), |sum, e| match e {
                    Element::Group(group) => Needs {
                        groups: sum.groups | 1 << group,
                        ..sum
                    },
                    Element::Word(key) => sum.and(0, *key),
                    Element::Any(_) | Element::Number | Element::Gap(_) | Element::End => sum,
                });
                let bit = |sum: u128, key: &u64| sum | word_bit(*key);
                let any = elements.iter().filter_map(|e| match e {
                    Element::Any(set) => Some(sets.keys[usize::from(*set)].iter().fold(0, bit)),
                    _ => None,
                });
                let pattern = Pattern {
                    any: any.collect(),
                    opens: text.starts_with("<not>"),
                    elements,
                    topic: n as u16,
                    side,
                };
                patterns.push((pattern, needs));
            }
        }
    }
    (patterns, sets.keys)
}

/// The patterns that a pattern with alternatives stands for: `in [utc/gmt]`. Alternatives of one word behind the first
/// element stay together as one element.
fn expand(text: &'static str) -> Vec<String> {
    let mut done = vec![String::new()];
    let mut rest = text;
    while let Some((before, (list, after))) = rest
        .split_once('[')
        .and_then(|(before, tail)| Some((before, tail.split_once(']')?)))
    {
        let plain = |word: &str| !word.is_empty() && !word.contains([' ', '<']);
        let first = before.is_empty() && rest.len() == text.len();
        let together = !first && list.split('/').all(plain);
        let with = |head: &String| -> Vec<String> {
            if together {
                return vec![format!("{head}{before}[{list}]")];
            }
            let words = list.split('/');
            words.map(|word| format!("{head}{before}{word}")).collect()
        };
        done = done.iter().flat_map(with).collect();
        rest = after;
    }
    done.iter().map(|head| format!("{head}{rest}")).collect()
}

/// Keys of the words of one element, sorted, by their text.
#[derive(Default)]
struct Sets {
    keys: Vec<Vec<u64>>,
    known: BTreeMap<String, u16>,
}

impl Sets {
    fn of(&mut self, text: &str) -> u16 {
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.keys.len() as u16;
        let mut keys: Vec<u64> = text.split('/').map(|w| fnv(stem(w))).collect();
        keys.sort_unstable();
        self.keys.push(keys);
        self.known.insert(text.to_owned(), at);
        at
    }
}

fn element(text: &str, sets: &mut Sets) -> Option<Element> {
    if let Some(list) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return Some(Element::Any(sets.of(list)));
    }
    match text {
        "" => return None,
        "#" => return Some(Element::Number),
        ".." => return Some(Element::Gap(3)),
        "..." => return Some(Element::Gap(6)),
        "$" => return Some(Element::End),
        _ => {}
    }
    match text.strip_prefix('<').and_then(|t| t.strip_suffix('>')) {
        Some(name) => {
            let at = all_groups().iter().position(|g| g.0 == name)?;
            Some(Element::Group(at as u8))
        }
        None => Some(Element::Word(fnv(stem(text)))),
    }
}

/// A cue in a sentence: topic, side, and the tokens of its elements.
pub(super) struct Found {
    pub topic: u16,
    pub side: Side,
    pub tokens: Vec<usize>,
}

/// What is known of a token: its groups, its patterns, and what stands from it on.
#[derive(Clone, Copy, Default)]
struct Seen {
    groups: u128,
    patterns: Range,
    ahead: Needs,
}

/// The composed cues of a sentence.
pub(super) fn find_cues(source: &Source<'_>, range: (usize, usize)) -> Vec<Found> {
    let table = table();
    let t = &source.tagged;
    let tokens = &t.lexed.tokens;
    let mut seen = vec![Seen::default(); range.1 - range.0];
    let mut ahead = Needs::default();
    for i in (range.0..range.1).rev() {
        let entry = match tokens[i].kind {
            TokenKind::Word => table.words.find(tokens[i].key).copied(),
            TokenKind::Number | TokenKind::Symbol => None,
        };
        let entry = entry.unwrap_or_default();
        let is_person = t.is(i, class::PERSON) && !t.is(i, class::NEG | class::THING);
        let groups = entry.groups | if is_person { table.person } else { 0 };
        ahead = ahead.and(groups, tokens[i].key);
        seen[i - range.0] = Seen {
            groups,
            patterns: entry.patterns,
            ahead,
        };
    }
    let is = |e: Element, i: usize| match e {
        Element::Group(g) => seen[i - range.0].groups & (1 << g) != 0,
        Element::Word(key) => tokens[i].key == key && tokens[i].kind == TokenKind::Word,
        Element::Any(set) => {
            tokens[i].kind == TokenKind::Word
                && table.sets[usize::from(set)]
                    .binary_search(&tokens[i].key)
                    .is_ok()
        }
        Element::Number => tokens[i].kind == TokenKind::Number,
        Element::Gap(_) | Element::End => false,
    };
    // `No measurement …` denies all of its clause.
    let opening = match any_of!(t.lexed.word(range.0), "no" "none" "nobody" "nothing" "neither") {
        true => (range.0 + 1..range.1)
            .find(|&i| is_boundary(source, i) || any_of!(t.lexed.word(i), "until" "before" "after"))
            .unwrap_or(range.1),
        false => range.0,
    };
    // A gap holds no sign, and no negation: `needs no login`.
    let skips = |i: usize| tokens[i].kind != TokenKind::Symbol && !t.is(i, class::NEG);
    let mut out = Vec::new();
    let mut met = Vec::new();
    for i in range.0..range.1 {
        if tokens[i].quoted {
            continue;
        }
        let Seen {
            groups,
            patterns,
            ahead,
        } = seen[i - range.0];
        let mut rest = groups;
        let by_group = std::iter::from_fn(|| {
            let group = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(table.by_group[group])
        });
        for (from, to) in std::iter::once(patterns).chain(by_group) {
            for at in from as usize..to as usize {
                if !table.needs[at].are_met_by(ahead) {
                    continue;
                }
                let pattern = &table.patterns[at];
                if pattern.any.iter().any(|bits| bits & ahead.words == 0) {
                    continue;
                }
                met.clear();
                met.push(i);
                // `No part of the tool may …`: a negation at the start covers the sentence.
                let more = if i == range.0 && pattern.opens { 4 } else { 0 };
                let elements = &pattern.elements[1..];
                let end = (range.1, more);
                if !follow(elements, i + 1, end, &is, &skips, tokens, &mut met) {
                    continue;
                }
                // `No invoice leaves before it is released`: what follows is not denied.
                let crossed = pattern.opens
                    && (i + 1..met.last().copied().unwrap_or(i)).any(|k| {
                        any_of!(t.lexed.word(k), "before" "until" "unless") && !met.contains(&k)
                    });
                if crossed {
                    continue;
                }
                let denies = t.is(i, class::NEG);
                let denied = i < opening
                    || (i.saturating_sub(3).max(range.0)..i).any(|k| t.is(k, class::NEG));
                // `a file that cannot be removed is logged`: the clause tells which file.
                let relative = (i.saturating_sub(2).max(range.0)..i.min(range.0 + 5))
                    .any(|k| any_of!(t.lexed.word(k), "that" "which" "who" "whose"));
                if denies && !relative || !denies && !denied {
                    out.push(Found {
                        topic: pattern.topic,
                        side: pattern.side,
                        tokens: met.clone(),
                    });
                }
            }
        }
    }
    drop_covered(&mut out);
    out
}

/// Of two cues of one topic on different sides, the one whose words all belong to the other says nothing.
fn drop_covered(found: &mut Vec<Found>) {
    let covered = |f: &Found, all: &[Found]| {
        all.iter().any(|g| {
            g.topic == f.topic
                && g.side != f.side
                && g.tokens.len() > f.tokens.len()
                && f.tokens.iter().all(|i| g.tokens.contains(i))
        })
    };
    let keep: Vec<bool> = found.iter().map(|f| !covered(f, found)).collect();
    let mut at = keep.iter();
    found.retain(|_| at.next().copied().unwrap_or(true));
}

/// Matches the rest of a pattern from token `at` on.
fn follow(
    elements: &[Element],
    at: usize,
    (end, more): (usize, usize),
    is: &impl Fn(Element, usize) -> bool,
    skips: &impl Fn(usize) -> bool,
    tokens: &[crate::text::lex::Token],
    met: &mut Vec<usize>,
) -> bool {
    let Some((&first, rest)) = elements.split_first() else {
        return true;
    };
    if first == Element::End {
        return (at >= end || tokens[at].kind == TokenKind::Symbol)
            && follow(rest, at, (end, more), is, skips, tokens, met);
    }
    if let Element::Gap(most) = first {
        for skip in 0..=usize::from(most) + more {
            let next = at + skip;
            if next > at && (next > end || !skips(next - 1)) {
                return false;
            }
            let length = met.len();
            if follow(rest, next, (end, 0), is, skips, tokens, met) {
                return true;
            }
            met.truncate(length);
        }
        return false;
    }
    if at >= end || !is(first, at) {
        return false;
    }
    met.push(at);
    follow(rest, at + 1, (end, more), is, skips, tokens, met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::families;

    #[test]
    fn patterns_use_known_groups_only() {
        let named = |text: &str| text.starts_with('<');
        for topic in topics() {
            let sides = topic.a.split('|').chain(topic.b.split('|'));
            for text in sides.flat_map(expand) {
                assert!(
                    !topic.joins || families().iter().any(|f| f.name == topic.name),
                    "{}",
                    topic.name
                );
                for part in text.split(' ').filter(|p| named(p)) {
                    assert!(
                        matches!(element(part, &mut Sets::default()), Some(Element::Group(_))),
                        "{part}"
                    );
                }
            }
        }
        assert!(all_groups().len() <= 128);
    }
}
