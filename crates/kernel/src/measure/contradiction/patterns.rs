//! Matches composed cues (`cues`) in a sentence.
//!
//! Groups are matched by stem through one bit set a token. A pattern is looked up by its first element, and left alone
//! where the rest of the sentence lacks one of its groups or words, so the cost is a probe a token.

use super::super::Source;
use super::cues::{all_groups, topics};
use super::grammar::is_boundary;
use crate::lexicon::{Side, class};
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One element of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Group(u8),
    Word(u64),
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
    needs: Needs,
}

/// Groups, and words as bits of which several may share one: who lacks a bit lacks the word.
#[derive(Clone, Copy, Default)]
struct Needs {
    groups: u128,
    words: u64,
}

impl Needs {
    fn and(self, groups: u128, key: u64) -> Self {
        Self {
            groups: self.groups | groups,
            words: self.words | 1 << (key >> 58),
        }
    }

    fn are_met_by(self, sentence: Self) -> bool {
        self.groups & !sentence.groups == 0 && self.words & !sentence.words == 0
    }
}

/// Places in the list of patterns.
type Range = (u32, u32);

/// A stem that a group or the start of a pattern knows.
#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    groups: u128,
    /// The patterns that begin with this word.
    patterns: Range,
}

struct Table {
    /// Open addressing by the stem's key; a quarter full at most.
    words: Vec<Entry>,
    /// The patterns that begin with each group.
    by_group: Vec<Range>,
    /// Ordered by first element.
    patterns: Vec<Pattern>,
    /// Bit of the group `person`.
    person: u128,
}

impl Table {
    fn look_up(&self, key: u64) -> Entry {
        let mask = self.words.len() - 1;
        let mut at = key as usize & mask;
        loop {
            let entry = self.words[at];
            if entry.key == key || entry.key == 0 {
                return entry;
            }
            at = (at + 1) & mask;
        }
    }
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
    let mut patterns = read_patterns();
    // Groups first; patterns of one first element stay in the order of the tables.
    patterns.sort_by_key(|pattern| match pattern.elements[0] {
        Element::Group(group) => (0, u64::from(group)),
        Element::Word(key) => (1, key),
        Element::Gap(_) | Element::End => (2, 0),
    });
    let mut by_group = vec![(0, 0); all_groups().len()];
    for (at, pattern) in patterns.iter().enumerate() {
        let range = match pattern.elements[0] {
            Element::Group(group) => &mut by_group[usize::from(group)],
            Element::Word(key) => &mut words.entry(key).or_default().patterns,
            Element::Gap(_) | Element::End => continue,
        };
        let from = if range.1 == 0 { at as u32 } else { range.0 };
        *range = (from, at as u32 + 1);
    }
    let size = (words.len() * 4).next_power_of_two();
    let mut slots = vec![Entry::default(); size];
    for (key, entry) in words {
        let mut at = key as usize & (size - 1);
        while slots[at].key != 0 {
            at = (at + 1) & (size - 1);
        }
        slots[at] = Entry { key, ..entry };
    }
    let person = all_groups().iter().position(|g| g.0 == "person");
    Table {
        words: slots,
        by_group,
        patterns,
        person: person.map_or(0, |n| 1 << n),
    }
}

fn read_patterns() -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for (n, topic) in topics().iter().enumerate() {
        for (side, list) in [(Side::A, topic.a), (Side::B, topic.b)] {
            for text in list.split('|') {
                let elements: Vec<Element> = text.split(' ').filter_map(element).collect();
                let Some(Element::Group(_) | Element::Word(_)) = elements.first() else {
                    continue;
                };
                let needs = elements.iter().fold(Needs::default(), |sum, e| match e {
                    Element::Group(group) => Needs {
                        groups: sum.groups | 1 << group,
                        ..sum
                    },
                    Element::Word(key) => sum.and(0, *key),
                    Element::Gap(_) | Element::End => sum,
                });
                patterns.push(Pattern {
                    opens: text.starts_with("<not>"),
                    elements,
                    topic: n as u16,
                    side,
                    needs,
                });
            }
        }
    }
    patterns
}

fn element(text: &str) -> Option<Element> {
    match text {
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
            TokenKind::Word => table.look_up(tokens[i].key),
            TokenKind::Number | TokenKind::Symbol => Entry::default(),
        };
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
            for pattern in &table.patterns[from as usize..to as usize] {
                if !pattern.needs.are_met_by(ahead) {
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
            for text in topic.a.split('|').chain(topic.b.split('|')) {
                assert!(
                    !topic.joins || families().iter().any(|f| f.name == topic.name),
                    "{}",
                    topic.name
                );
                for part in text.split(' ').filter(|p| named(p)) {
                    assert!(matches!(element(part), Some(Element::Group(_))), "{part}");
                }
            }
        }
        assert!(all_groups().len() <= 128);
    }
}
