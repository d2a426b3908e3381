//! Which constraints a model is shown together, so that it sees every pair that is likely to matter.
//!
//! A short list is shown whole. A long one is cut into blocks, each shown together with the next one; then
//! constraints far apart that share a rare word are shown together, as far as questions are left. What is never
//! shown together is counted, because it was not looked at.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::is_decision;
use crate::intent::Intent;
use crate::text::token::{Text, TokenKind, stem_key};

/// The most constraints in a block, and the most bytes of text unless a single one has more.
const BLOCK: usize = 40;
const BLOCK_BYTES: usize = 8_000;
/// The most constraints that a word may be in to count as their topic.
const MOST_SHARING: usize = 12;
/// The shortest word that may be a topic, in bytes.
const LEAST_WORD: usize = 3;

/// The questions about one intent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// For each question the positions in [`Plan::order`] of the constraints that it shows.
    pub chunks: Vec<Vec<usize>>,
    /// The constraints in the order given, without decisions, as indexes into the normalized ones.
    pub order: Vec<usize>,
    /// How many pairs of constraints there are.
    pub pairs: u64,
    /// How many of them no question shows together.
    pub unseen: u64,
    /// Constraints up to this far apart are always shown together.
    pub reach: usize,
}

/// Plans at most `most` questions.
///
/// # Errors
/// With the number of questions that it takes to show every constraint with its neighbours, if `most` is less.
pub fn plan_questions(intent: &Intent, most: usize) -> Result<Plan, usize> {
    let constraints = intent.constraints();
    let mut order: Vec<usize> = (0..constraints.len())
        .filter(|at| !is_decision(&constraints[*at]))
        .collect();
    order.sort_by_key(|at| intent.given_position(*at));
    let texts: Vec<&str> = order.iter().map(|at| constraints[*at].as_str()).collect();
    let blocks = cut_blocks(&texts);
    let mut chunks: Vec<Vec<usize>> = match blocks.as_slice() {
        [] => Vec::new(),
        [only] => vec![only.clone()],
        several => several.windows(2).map(|pair| pair.concat()).collect(),
    };
    if chunks.len() > most {
        return Err(chunks.len());
    }
    let mut block_of = vec![0; texts.len()];
    for (number, block) in blocks.iter().enumerate() {
        block.iter().for_each(|at| block_of[*at] = number);
    }
    let mut topics = Topics {
        texts: &texts,
        block_of,
        seen: BTreeSet::new(),
        most: most - chunks.len(),
        chunks: Vec::new(),
    };
    // Up to two blocks are shown whole, so nothing is left to pair.
    if blocks.len() > 2 {
        topics.fill();
    }
    let (far, further) = (topics.seen.len() as u64, topics.chunks);
    chunks.extend(further);
    let pairs = pairs_of(texts.len());
    let within: u64 = blocks.iter().map(|block| pairs_of(block.len())).sum();
    let across = blocks.windows(2).map(|pair| pair[0].len() * pair[1].len());
    let near = within + across.sum::<usize>() as u64;
    let inner = blocks.get(1..blocks.len().saturating_sub(1)).unwrap_or(&[]);
    let reach = inner.iter().map(Vec::len).min().unwrap_or(texts.len());
    Ok(Plan {
        chunks,
        order,
        pairs,
        unseen: pairs.saturating_sub(near + far),
        reach,
    })
}

fn pairs_of(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

fn cut_blocks(texts: &[&str]) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for (at, text) in texts.iter().enumerate() {
        match blocks.last_mut() {
            Some(block) if block.len() < BLOCK && bytes + text.len() <= BLOCK_BYTES => {
                block.push(at);
            }
            _ => {
                blocks.push(vec![at]);
                bytes = 0;
            }
        }
        bytes += text.len();
    }
    blocks
}

/// Chunks of constraints that share rare words.
struct Topics<'t> {
    texts: &'t [&'t str],
    block_of: Vec<usize>,
    /// Pairs that are far apart and in a chunk all the same.
    seen: BTreeSet<(usize, usize)>,
    most: usize,
    chunks: Vec<Vec<usize>>,
}

impl Topics<'_> {
    /// Packs the groups, those of the rarest words first, until there are as many chunks as may be.
    fn fill(&mut self) {
        let mut open: BTreeSet<usize> = BTreeSet::new();
        for group in groups(self.texts) {
            if self.chunks.len() >= self.most {
                return;
            }
            if !self.has_unseen(&group, &open) || !self.fits(&group) {
                continue;
            }
            let joined: Vec<usize> = open.iter().chain(&group).copied().collect();
            if !self.fits(&joined) {
                self.close(&mut open);
            }
            open.extend(group);
        }
        if self.chunks.len() < self.most {
            self.close(&mut open);
        }
    }

    fn has_unseen(&self, group: &[usize], open: &BTreeSet<usize>) -> bool {
        let is_shown = |pair: (usize, usize)| {
            self.block_of[pair.0].abs_diff(self.block_of[pair.1]) <= 1
                || self.seen.contains(&pair)
                || (open.contains(&pair.0) && open.contains(&pair.1))
        };
        pairs_in(group).any(|pair| !is_shown(pair))
    }

    fn fits(&self, members: &[usize]) -> bool {
        let members: BTreeSet<&usize> = members.iter().collect();
        let bytes: usize = members.iter().map(|at| self.texts[**at].len()).sum();
        members.len() <= 2 * BLOCK && bytes <= 2 * BLOCK_BYTES
    }

    fn close(&mut self, open: &mut BTreeSet<usize>) {
        let chunk: Vec<usize> = std::mem::take(open).into_iter().collect();
        if chunk.is_empty() {
            return;
        }
        let far = pairs_in(&chunk)
            .filter(|(one, other)| self.block_of[*one].abs_diff(self.block_of[*other]) > 1);
        self.seen.extend(far);
        self.chunks.push(chunk);
    }
}

/// All pairs of an ascending list.
fn pairs_in(members: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    members.iter().enumerate().flat_map(|(at, one)| {
        let later = members.get(at + 1..).unwrap_or(&[]);
        later.iter().map(move |other| (*one, *other))
    })
}

/// The texts that share a word, for every word that few of them have; the rarest first.
fn groups(texts: &[&str]) -> Vec<Vec<usize>> {
    let mut by_word: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, text) in texts.iter().enumerate() {
        let text = Text::new(text);
        let words = text
            .tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Word && token.span().len() >= LEAST_WORD);
        let words: BTreeSet<u64> = words
            .map(|token| stem_key(&text.lower[token.span()]))
            .collect();
        for word in words {
            by_word.entry(word).or_default().push(at);
        }
    }
    let mut groups: Vec<Vec<usize>> = by_word
        .into_values()
        .filter(|group| (2..=MOST_SHARING).contains(&group.len()))
        .collect();
    groups.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    groups.dedup();
    groups
}
