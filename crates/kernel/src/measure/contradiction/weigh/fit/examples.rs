//! The pairs of statements of a text, with what is seen of each.

use super::super::super::detect;
use super::super::super::relation::without;
use super::super::super::statement::{Index, Statement, read_statements};
use super::super::signs::read_signs;
use super::super::{NEAR, candidates, sides_of, weigh};
use super::texts::Text;
use crate::measure::{Origin, Source};
use crate::text::lex::{Lowered, TokenKind};
use std::collections::BTreeMap;

/// A pair of statements of the sets.
pub(super) struct Example {
    pub signs: Vec<usize>,
    /// Stems that only the first has, that only the second has, that both have.
    pub first: Vec<u64>,
    pub second: Vec<u64>,
    pub both: Vec<u64>,
    pub near: bool,
    pub positive: bool,
    /// A detector found it.
    pub fired: bool,
    /// The points that the kernel gives it.
    pub weighed: i32,
}

/// Whether the statement has the quoted words; any has the empty ones.
fn has_quote(source: &Source<'_>, s: &Statement, quote: &str) -> bool {
    let (start, end) = source.tagged.lexed.span(s.range);
    let at = source.tagged.lexed.text.find(quote);
    quote.is_empty() || at.is_none_or(|at| at < end && at + quote.len() > start)
}

/// Every pair of the text that is weighed.
pub(super) fn read_examples(text: &Text, each: &mut impl FnMut(Example)) {
    let lowered: Vec<Lowered<'_>> = text.constraints.iter().map(|c| Lowered::new(c)).collect();
    let sources: Vec<Source<'_>> = lowered
        .iter()
        .enumerate()
        .map(|(n, l)| Source::new(Origin::Constraint(n), l))
        .collect();
    let statements = read_statements(&sources);
    let index = Index::new(&statements);
    let pairs = detect(&sources, &statements, &index);
    let stems: Vec<Vec<u64>> = statements
        .iter()
        .map(|s| stems_of(&sources[s.source], s))
        .collect();
    // Of several pairs of statements between two constraints the closest is the contradiction, the others are left out.
    let mut best: BTreeMap<usize, (usize, Example)> = BTreeMap::new();
    candidates(&statements, &index, &pairs.sides, |i, j, common| {
        let (a, b) = (&statements[i], &statements[j]);
        let sides = sides_of(&pairs.sides, i, j);
        let mut example = Example {
            signs: Vec::new(),
            first: without(&stems[i], &stems[j]),
            second: without(&stems[j], &stems[i]),
            both: stems[i]
                .iter()
                .filter(|stem| stems[j].contains(stem))
                .copied()
                .collect(),
            near: common.cover >= NEAR,
            positive: false,
            fired: pairs.has(i, j),
            weighed: weigh(a, b, common, sides),
        };
        read_signs(a, b, common, sides, |sign| {
            example.signs.push(sign as usize)
        });
        let ends = |s: &Statement, (n, quote): &(usize, String)| {
            s.source == *n && has_quote(&sources[s.source], s, quote)
        };
        let said = text
            .said
            .iter()
            .position(|[x, y]| ends(a, x) && ends(b, y) || ends(a, y) && ends(b, x));
        let between = text
            .said
            .iter()
            .any(|[x, y]| [(x.0, y.0), (y.0, x.0)].contains(&(a.source, b.source)));
        match said {
            Some(n) => {
                example.positive = true;
                if best.get(&n).is_none_or(|(cover, _)| *cover < common.cover) {
                    best.insert(n, (common.cover, example));
                }
            }
            None if between => {}
            None => each(example),
        }
    });
    best.into_values().for_each(|(_, example)| each(example));
}

fn stems_of(source: &Source<'_>, s: &Statement) -> Vec<u64> {
    let tokens = &source.tagged.lexed.tokens[s.range.0..s.range.1];
    let words = tokens
        .iter()
        .filter(|t| t.kind == TokenKind::Word && !t.quoted);
    let mut stems: Vec<u64> = words.map(|t| t.key).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}
