//! Pairs of statements: each is compared only with those that share its rarest words.

use std::collections::BTreeSet;

use super::statement::{Statement, read};
use super::{Finding, Source};
use crate::rules::{Lexicon, Rule, RuleSet};

/// The most statements that one is compared with per rule: enough for lists that people write, and
/// a bound on generated ones.
const MOST_CANDIDATES: usize = 32;
/// Of how many words of a statement all other statements are looked at.
const RAREST: usize = 3;
/// The most contradictions in one intent.
const MOST_FOUND: usize = 200;

/// The statements of all constraints, indexed by word.
pub(super) struct Statements<'s, 't> {
    pub sources: &'s [Source<'t>],
    pub all: Vec<Statement>,
    /// Pairs of word and statement, sorted.
    postings: Vec<(u64, u32)>,
}

impl<'s, 't> Statements<'s, 't> {
    fn new(lexicon: &Lexicon, sources: &'s [Source<'t>]) -> Self {
        let mut all = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let sentences = source.text.sentences.iter();
            all.extend(sentences.filter_map(|sentence| read(lexicon, source, number, *sentence)));
        }
        let mut postings = Vec::new();
        for (number, statement) in all.iter().enumerate() {
            postings.extend(statement.content.iter().map(|key| (*key, number as u32)));
        }
        postings.sort_unstable();
        Self {
            sources,
            all,
            postings,
        }
    }

    /// Returns the postings of a word.
    fn with(&self, key: u64) -> &[(u64, u32)] {
        let from = self.postings.partition_point(|(own, _)| *own < key);
        let to = from + self.postings[from..].partition_point(|(own, _)| *own == key);
        &self.postings[from..to]
    }

    /// Returns the statements of other constraints in a list of postings.
    fn others<'a>(
        &'a self,
        statement: usize,
        list: &'a [(u64, u32)],
    ) -> impl Iterator<Item = (usize, &'a Statement)> {
        let own = &self.all[statement];
        let numbers = list.iter().map(|(_, other)| *other as usize);
        let others = numbers.map(|other| (other, &self.all[other]));
        others
            .filter(move |(_, other)| other.source != own.source)
            .take(MOST_CANDIDATES)
            .filter(move |(_, other)| other.has_labels_of(own))
    }

    /// Returns the statements of other constraints that share the rarest of these words. Words that
    /// only one statement has are ignored.
    pub fn candidates(
        &self,
        statement: usize,
        keys: &[u64],
    ) -> impl Iterator<Item = (usize, &Statement)> {
        let shared = keys
            .iter()
            .map(|key| self.with(*key))
            .filter(|list| list.len() > 1);
        self.others(
            statement,
            shared.min_by_key(|list| list.len()).unwrap_or(&[]),
        )
    }

    /// Returns the statements of other constraints that share one of the three rarest words.
    pub fn near(&self, statement: usize) -> impl Iterator<Item = (usize, &Statement)> {
        let content = &self.all[statement].content;
        let mut lists: Vec<&[(u64, u32)]> = content
            .iter()
            .map(|key| self.with(*key))
            .filter(|list| list.len() > 1)
            .collect();
        lists.sort_by_key(|list| list.len());
        lists.truncate(RAREST);
        lists
            .into_iter()
            .flat_map(move |list| self.others(statement, list))
    }

    /// How much two statements have in common, leaving out what is set apart: a word that no third statement has counts one, others less the
    /// more statements have them.
    pub fn shared(&self, one: &Statement, other: &Statement, apart: impl Fn(u64) -> bool) -> f64 {
        let common = one
            .content
            .iter()
            .filter(|key| !apart(**key) && other.content.binary_search(key).is_ok());
        common
            .map(|key| match self.with(*key).len() {
                0..=2 => 1.0,
                3..=4 => 0.8,
                5..=8 => 0.6,
                _ => 0.4,
            })
            .sum()
    }

    /// Returns the statements of other constraints that have a word.
    pub fn with_word(
        &self,
        statement: usize,
        key: u64,
    ) -> impl Iterator<Item = (usize, &Statement)> {
        self.others(statement, self.with(key))
    }

    /// Makes the finding that two statements contradict each other; places are in order.
    pub fn finding(&self, rule: &'static Rule, one: usize, other: usize) -> Finding {
        let place = |number: usize| {
            let statement = &self.all[number];
            self.sources[statement.source].around(statement.sentence, statement.sentence.from)
        };
        let mut places = vec![place(one), place(other)];
        places.sort();
        Finding::new(rule, places)
    }
}

/// The findings so far, one per pair of constraints.
pub(super) struct Pairs {
    seen: BTreeSet<(usize, usize)>,
    pub findings: Vec<Finding>,
}

impl Pairs {
    pub fn add(
        &mut self,
        statements: &Statements<'_, '_>,
        rule: &'static Rule,
        one: usize,
        other: usize,
    ) {
        let (a, b) = (statements.all[one].source, statements.all[other].source);
        if self.findings.len() < MOST_FOUND && self.seen.insert((a.min(b), a.max(b))) {
            self.findings.push(statements.finding(rule, one, other));
        }
    }
}

pub(super) fn find(rules: &'static RuleSet, sources: &[Source<'_>], out: &mut Vec<Finding>) {
    if sources.len() < 2 {
        return;
    }
    let statements = Statements::new(&rules.lexicon, sources);
    let mut pairs = Pairs {
        seen: BTreeSet::new(),
        findings: Vec::new(),
    };
    super::denied::find(rules, &statements, &mut pairs);
    super::bound::find(rules, &statements, &mut pairs);
    super::exclusive::find(rules, &statements, &mut pairs);
    super::opposite::find(rules, &statements, &mut pairs);
    super::restated::find(rules, &statements, &mut pairs);
    out.append(&mut pairs.findings);
}
