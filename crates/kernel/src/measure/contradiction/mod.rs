//! Contradictions (C): two constraints about the same subject that cannot both hold.
//!
//! Every sentence of a constraint becomes a [`Statement`]: its subject words, polarity, conditions, and what it says in
//! terms of families of opposites, bounds and sets of values. Four detectors compare statements that share subject
//! words; an index keeps the work close to linear, and each statement is compared with a bounded number of others.

mod bounds;
mod concept;
mod denial;
mod families;
mod grammar;
mod kinds;
mod naming;
mod only;
mod polarity;
mod statement;
mod stays;
mod synonym;
mod values;

use super::{Finding, FindingKind, Source};
use statement::{Index, Statement, read_statements};
use std::collections::BTreeSet;

/// Most statements that one statement is compared with through one word.
pub(super) const CANDIDATES: usize = 24;

/// Collects pairs; one finding a pair of statements.
pub(super) struct Pairs<'s, 'a> {
    sources: &'s [Source<'a>],
    statements: &'s [Statement],
    seen: BTreeSet<(usize, usize)>,
    out: Vec<Finding>,
}

impl Pairs<'_, '_> {
    /// Adds the pair of statements `a` and `b`, unless they already are a pair.
    pub fn add(&mut self, a: usize, b: usize, topic: &'static str) {
        let (sa, sb) = (&self.statements[a], &self.statements[b]);
        if sa.source == sb.source || !self.seen.insert((a.min(b), a.max(b))) {
            return;
        }
        let (first, second) = if sa.source < sb.source {
            (sa, sb)
        } else {
            (sb, sa)
        };
        let places = vec![
            self.sources[first.source]
                .sentence_place(first.focus.clamp(first.range.0, first.range.1 - 1)),
            self.sources[second.source]
                .sentence_place(second.focus.clamp(second.range.0, second.range.1 - 1)),
        ];
        let mut options: Vec<String> = places.iter().map(|p| p.quote.clone()).collect();
        options.sort_by(|x, y| x.encode_utf16().cmp(y.encode_utf16()));
        options.dedup();
        self.out.push(Finding {
            kind: FindingKind::Contradiction,
            places,
            sentence: None,
            element: None,
            topic: Some(topic),
            options,
        });
    }
}

/// Adds every contradiction between two constraints.
pub(super) fn find_contradictions(sources: &[Source<'_>], out: &mut Vec<Finding>) {
    if sources.len() < 2 {
        return;
    }
    let statements = read_statements(sources);
    let index = Index::new(&statements);
    let mut pairs = Pairs {
        sources,
        statements: &statements,
        seen: BTreeSet::new(),
        out: Vec::new(),
    };
    polarity::find(sources, &statements, &index, &mut pairs);
    denial::find(sources, &statements, &mut pairs);
    only::find(sources, &statements, &index, &mut pairs);
    stays::find(sources, &statements, &mut pairs);
    families::find(sources, &statements, &mut pairs);
    bounds::find(sources, &statements, &mut pairs);
    values::find(sources, &statements, &index, &mut pairs);
    let mut found = pairs.out;
    found.sort();
    out.append(&mut found);
}
