//! Contradictions (C): two constraints about the same subject that cannot both hold.
//!
//! Every sentence of a constraint becomes a [`Statement`]: subject, verb, polarity, conditions, names. Detectors compare
//! statements that share words; an index keeps the work close to linear, and each statement is compared with a bounded
//! number of others.
//!
//! Reading: `statement`, `naming`, `part`, `grammar`, `concept`, `synonym`, `quantity`, `limit`, `spans`, `units`, `cues`,
//! `patterns`, `stands`. Comparing two statements: `relation`, `acts`, `claims`, `whole`; what lets a found pair go: `cases`, `amounts`,
//! `narrowing`, `roles`. Detectors: `denial`, `only`, `families` (with `kinds` and `topics`), `bounds` (with `schedule`). The last
//! word: `weigh`.
//!
//! It knows words, not the world: that 22 chargers of 11 kW exceed 60 kW is not seen.

mod acts;
mod amounts;
mod bounds;
mod cases;
mod claims;
mod concept;
mod cues;
mod denial;
mod families;
mod grammar;
mod kinds;
mod limit;
mod named;
mod naming;
mod narrowing;
mod only;
mod part;
mod patterns;
mod quantity;
mod relation;
mod roles;
mod schedule;
mod spans;
mod stands;
mod statement;
mod synonym;
mod topics;
mod units;
mod weigh;
mod whole;

pub(crate) use weigh::render_points;

use super::{Finding, FindingKind, Place, Source};
use statement::{Index, Statement, read_statements};
use std::collections::{BTreeMap, BTreeSet};

/// Most statements that one statement is compared with through one word.
pub(super) const CANDIDATES: usize = 24;

/// Collects pairs; one finding a pair of statements.
pub(super) struct Pairs<'s, 'a> {
    sources: &'s [Source<'a>],
    statements: &'s [Statement],
    seen: BTreeSet<(usize, usize)>,
    /// Pairs that a topic found and a case told apart: no detector need look at them twice.
    let_go: BTreeSet<(usize, usize, &'static str)>,
    found: Vec<(usize, usize, Option<&'static str>)>,
    sides: BTreeMap<(u32, u32), weigh::Sides>,
}

impl Pairs<'_, '_> {
    /// Whether the two already are a pair.
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.seen.contains(&(a.min(b), a.max(b)))
    }

    /// Adds the pair of statements `a` and `b`, unless they already are a pair.
    pub fn add(&mut self, a: usize, b: usize, topic: &'static str) {
        self.add_about(a, b, Some(topic));
    }

    /// Adds a pair that may be about no known topic.
    fn add_about(&mut self, a: usize, b: usize, about: Option<&'static str>) {
        let topic = about.unwrap_or_default();
        let (sa, sb) = (&self.statements[a], &self.statements[b]);
        let key = (a.min(b), a.max(b), topic);
        if sa.source == sb.source || self.has(a, b) || self.let_go.contains(&key) {
            return;
        }
        let seen = [sa, sb].map(|s| cases::Seen {
            source: &self.sources[s.source],
            s,
        });
        if cases::told_apart(seen, topic) {
            self.let_go.insert(key);
            return;
        }
        self.seen.insert((a.min(b), a.max(b)));
        self.found.push((a, b, about));
    }

    /// Notes how the two stand to each other in a family, whether or not that makes them a pair. Opposite sides in one
    /// family outweigh the same side in another.
    fn note_sides(&mut self, a: u32, b: u32, sides: weigh::Sides) {
        let noted = self.sides.entry((a.min(b), a.max(b))).or_insert(sides);
        if sides == weigh::Sides::Opposite {
            *noted = sides;
        }
    }

    /// What to ask about the pair.
    fn finding(&self, (a, b, topic): (usize, usize, Option<&'static str>)) -> Finding {
        let (sa, sb) = (&self.statements[a], &self.statements[b]);
        let (first, second) = if sa.source < sb.source {
            (sa, sb)
        } else {
            (sb, sa)
        };
        let place = |s: &Statement| whole_sentence(&self.sources[s.source], s);
        let places = vec![place(first), place(second)];
        let mut options: Vec<String> = places.iter().map(|p| p.quote.clone()).collect();
        options.sort_by(|x, y| x.encode_utf16().cmp(y.encode_utf16()));
        options.dedup();
        Finding {
            kind: FindingKind::Contradiction,
            places,
            sentence: None,
            element: None,
            topic,
            options,
        }
    }
}

/// The sentence of a statement with the clauses that a semicolon joins to it: its reason or its exception.
fn whole_sentence(source: &Source<'_>, s: &Statement) -> Place {
    let lexed = &source.tagged.lexed;
    let (mut from, mut to) = s.range;
    for &(start, end) in lexed.sentences.iter().rev() {
        if end == from && lexed.is_symbol(end - 1, ";") {
            from = start;
        }
    }
    for &(start, end) in &lexed.sentences {
        if start == to && lexed.is_symbol(start - 1, ";") {
            to = end;
        }
    }
    while to > from + 1 && matches!(lexed.raw(to - 1), "." | ";" | "\n") {
        to -= 1;
    }
    let (start, end) = lexed.span((from, to));
    source.place(start, end)
}

/// Adds every contradiction between two constraints.
pub(super) fn find_contradictions(sources: &[Source<'_>], out: &mut Vec<Finding>) {
    if sources.len() < 2 {
        return;
    }
    let statements = read_statements(sources);
    let index = Index::new(&statements);
    let mut pairs = detect(sources, &statements, &index);
    weigh::settle(&statements, &index, &mut pairs);
    let mut found: Vec<Finding> = pairs
        .found
        .iter()
        .map(|pair| pairs.finding(*pair))
        .collect();
    found.sort();
    out.append(&mut found);
}

/// What the detectors find, before it is weighed.
fn detect<'s, 'a>(
    sources: &'s [Source<'a>],
    statements: &'s [Statement],
    index: &Index,
) -> Pairs<'s, 'a> {
    let mut pairs = Pairs {
        sources,
        statements,
        seen: BTreeSet::new(),
        let_go: BTreeSet::new(),
        found: Vec::new(),
        sides: BTreeMap::new(),
    };
    denial::find(sources, statements, &mut pairs);
    only::find(sources, statements, index, &mut pairs);
    families::find(sources, statements, &mut pairs);
    bounds::find(sources, statements, &mut pairs);
    pairs
}
