//! Fits the points to the labelled intents and pairs: logistic regression, whole batches, a fixed number of steps.
//!
//! `UPDATE_POINTS=1` writes `points.rs`; without it the test makes sure that the table is what the sets give. Left out, to
//! have something to judge by: the sets `texts` names, and the conformance data.

mod examples;
mod texts;

use super::points::{COUPLES, SIGN_POINTS, WORDS};
use super::signs::SIGNS;
use super::{ASK_FROM, KEEP_FROM};
use crate::measure::{Origin, Source};
use crate::text::lex::{Lowered, TokenKind};
use examples::{Example, read_examples};
use runseal_testkit::project_root;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use texts::{Text, read_texts};

/// How many of the most frequent words are looked at.
const VOCABULARY: usize = 400;

/// How many of them are looked at in couples, and how many contradictions a couple must stand in.
const COUPLED: usize = 300;
const COUPLED_TIMES: usize = 15;

/// What a pair that stands alone counts beside one of an intent: half of those are contradictions, of these one in fifty.
const LONE_PAIR: f64 = 0.3;

/// What keeps the points small: the weight of their squares.
const RIDGE: f64 = 2.0;

const STEPS: usize = 300;

/// The most frequent stems, each with its most frequent word.
fn read_vocabulary(texts: &[Text]) -> Vec<(u64, String)> {
    let mut counts: BTreeMap<u64, BTreeMap<String, usize>> = BTreeMap::new();
    for constraint in texts
        .iter()
        .filter(|t| !t.held)
        .flat_map(|t| &t.constraints)
    {
        let lowered = Lowered::new(constraint);
        let source = Source::new(Origin::Constraint(0), &lowered);
        let lexed = &source.tagged.lexed;
        for (i, token) in lexed.tokens.iter().enumerate() {
            if token.kind == TokenKind::Word && !token.quoted && !token.coded {
                *counts
                    .entry(token.key)
                    .or_default()
                    .entry(lexed.word(i).to_owned())
                    .or_default() += 1;
            }
        }
    }
    let mut words: Vec<(usize, u64, String)> = counts
        .into_iter()
        .map(|(key, forms)| {
            let all = forms.values().sum();
            let most = forms
                .iter()
                .max_by_key(|(word, n)| (**n, std::cmp::Reverse(word.to_owned())));
            (all, key, most.unwrap().0.clone())
        })
        .collect();
    words.sort_by(|a, b| b.0.cmp(&a.0).then(a.2.cmp(&b.2)));
    words.truncate(VOCABULARY);
    words
        .into_iter()
        .map(|(_, key, word)| (key, word))
        .collect()
}

/// What is fitted: the signs, three weights a word, one a couple of words.
struct Table {
    vocabulary: Vec<(u64, String)>,
    numbers: BTreeMap<u64, usize>,
    couples: BTreeMap<(usize, usize), usize>,
}

impl Table {
    /// The couples of which one word stands here and one there, of the most frequent words.
    fn couples_of(&self, example: &Example) -> BTreeSet<(usize, usize)> {
        let numbers = |stems: &[u64]| -> Vec<usize> {
            let number = |stem| self.numbers.get(stem).copied().filter(|n| *n < COUPLED);
            stems.iter().filter_map(number).collect()
        };
        let (first, second) = (numbers(&example.first), numbers(&example.second));
        let couple = |x: usize| second.iter().map(move |y| (x.min(*y), x.max(*y)));
        first.iter().flat_map(|x| couple(*x)).collect()
    }

    fn new(vocabulary: Vec<(u64, String)>, texts: &[(&Text, Vec<Example>)]) -> Self {
        let numbered = vocabulary.iter().enumerate();
        let mut table = Self {
            numbers: numbered.map(|(n, (key, _))| (*key, n)).collect(),
            vocabulary,
            couples: BTreeMap::new(),
        };
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let examples = texts.iter().flat_map(|(_, own)| own);
        for example in examples.filter(|example| example.positive) {
            for couple in table.couples_of(example) {
                *counts.entry(couple).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count >= COUPLED_TIMES);
        table.couples = counts.into_keys().zip(table.first_couple()..).collect();
        table
    }

    fn first_couple(&self) -> usize {
        SIGNS.len() + self.vocabulary.len() * 3
    }

    fn size(&self) -> usize {
        self.first_couple() + self.couples.len()
    }

    /// The numbers of the features of an example.
    fn features(&self, example: &Example) -> Vec<usize> {
        let mut out = example.signs.clone();
        let at = |stem: &u64| self.numbers.get(stem).map(|n| SIGNS.len() + n * 3);
        for n in example.first.iter().chain(&example.second).filter_map(at) {
            out.push(n);
            if example.near {
                out.push(n + 2);
            }
        }
        out.extend(example.both.iter().filter_map(at).map(|n| n + 1));
        let couples = self.couples_of(example);
        out.extend(couples.iter().filter_map(|couple| self.couples.get(couple)));
        out
    }
}

/// What is fitted to.
struct Row {
    features: Vec<usize>,
    positive: bool,
    counts: f64,
}

/// Weights that make the examples likely: gradient steps of a size of its own for each weight.
fn fit(rows: &[Row], size: usize) -> Vec<f64> {
    let mut weights = vec![0.0; size];
    let (mut speed, mut scale) = (vec![0.0; size], vec![0.0; size]);
    for step in 1..=STEPS {
        let mut slope: Vec<f64> = weights.iter().map(|w| RIDGE * w).collect();
        for row in rows {
            let sum: f64 = row.features.iter().map(|n| weights[*n]).sum();
            let error = 1.0 / (1.0 + (-sum).exp()) - f64::from(u8::from(row.positive));
            let error = error * row.counts;
            row.features.iter().for_each(|n| slope[*n] += error);
        }
        let rate = 0.1 * (1.0 - step as f64 / (STEPS + 1) as f64);
        for n in 0..size {
            speed[n] = 0.9 * speed[n] + 0.1 * slope[n];
            scale[n] = 0.99 * scale[n] + 0.01 * slope[n] * slope[n];
            let (k, m) = (
                1.0 - 0.9f64.powi(step as i32),
                1.0 - 0.99f64.powi(step as i32),
            );
            weights[n] -= rate * (speed[n] / k) / ((scale[n] / m).sqrt() + 1e-9);
        }
    }
    weights
}

fn render(points: &[i16], table: &Table) -> String {
    let mut out = String::from(
        "//! What each sign and word is worth, as `fit` gave it (`UPDATE_POINTS=1`). 100 points are a factor of e.\n\n\
         /// The points of the signs, in their order.\n\
         pub(super) const SIGN_POINTS: &[i16] = &[\n",
    );
    for (points, sign) in points.iter().zip(SIGNS) {
        let _ = writeln!(out, "    {points}, // {sign}");
    }
    out.push_str(
        "];\n\n/// Words: the points where one of the two has it, where both have it, and, where they have much in\n\
         /// common, what is added where one has it. Most frequent first.\n\
         pub(super) const WORDS: &[(&str, i16, i16, i16)] = &[\n",
    );
    let word = |n: usize| &table.vocabulary[n].1;
    for n in 0..table.vocabulary.len() {
        let [one, both, near] = [0, 1, 2].map(|k| points[SIGNS.len() + n * 3 + k]);
        let _ = writeln!(out, "    ({:?}, {one}, {both}, {near}),", word(n));
    }
    out.push_str(
        "];\n\n/// Couples: what is added where one statement has the one word and the other the other.\n\
         pub(super) const COUPLES: &[(&str, &str, i16)] = &[\n",
    );
    for ((x, y), n) in &table.couples {
        let _ = writeln!(out, "    ({:?}, {:?}, {}),", word(*x), word(*y), points[*n]);
    }
    out.push_str("];\n");
    out
}

/// Says how the sets that were left out do: detectors and points together.
fn print_held(texts: &[(&Text, Vec<Example>)], table: &Table, points: &[i16]) {
    let is_asked = |example: &Example| {
        let sum: i32 = table
            .features(example)
            .iter()
            .map(|n| i32::from(points[*n]))
            .sum();
        sum >= ASK_FROM || example.fired && sum >= KEEP_FROM
    };
    // By set: texts with a contradiction and those where it is found, texts without and those asked about.
    let mut sets = BTreeMap::<&str, [usize; 4]>::new();
    for (text, own) in texts {
        let [said, found, others, asked] = sets.entry(&text.name).or_default();
        if own.iter().any(|example| example.positive) {
            *said += 1;
            *found += usize::from(own.iter().any(|e| e.positive && is_asked(e)));
        } else {
            *others += 1;
            *asked += usize::from(own.iter().any(is_asked));
        }
    }
    for (name, [said, found, others, asked]) in sets {
        println!("{name:18} found {found} of {said}, asked {asked} of {others} others");
    }
}

#[test]
fn points_are_what_the_labelled_sets_give() {
    let texts = read_texts();
    let examples_of = |held: bool| -> Vec<(&Text, Vec<Example>)> {
        let read = |text| {
            let mut own = Vec::new();
            read_examples(text, &mut |example| own.push(example));
            (text, own)
        };
        texts
            .iter()
            .filter(|text| text.held == held)
            .map(read)
            .collect()
    };
    let fitted_to = examples_of(false);
    let table = Table::new(read_vocabulary(&texts), &fitted_to);
    let mut rows: Vec<Row> = Vec::new();
    for (text, own) in &fitted_to {
        rows.extend(own.iter().map(|example| Row {
            features: table.features(example),
            positive: example.positive,
            counts: if text.alone { LONE_PAIR } else { 1.0 },
        }));
    }
    let fitted = fit(&rows, table.size());
    let points: Vec<i16> = fitted.iter().map(|w| (w * 100.0).round() as i16).collect();
    println!(
        "{} pairs, {} contradictions",
        rows.len(),
        rows.iter().filter(|row| row.positive).count()
    );
    print_held(&examples_of(true), &table, &points);
    let path = project_root().join("crates/kernel/src/measure/contradiction/weigh/points.rs");
    if std::env::var_os("UPDATE_POINTS").is_some() {
        std::fs::write(path, render(&points, &table)).unwrap();
        return;
    }
    // Another machine's `exp` may differ in its last digit.
    let close = |own: i16, n: usize| own.abs_diff(points[n]) <= 1;
    assert_eq!(
        (SIGN_POINTS.len(), WORDS.len()),
        (SIGNS.len(), table.vocabulary.len())
    );
    for (n, own) in SIGN_POINTS.iter().enumerate() {
        assert!(close(*own, n), "{}", SIGNS[n]);
    }
    for (n, (word, one, both, near)) in WORDS.iter().enumerate() {
        let at = SIGNS.len() + n * 3;
        assert!(
            *word == table.vocabulary[n].1
                && close(*one, at)
                && close(*both, at + 1)
                && close(*near, at + 2),
            "{word}"
        );
    }
    let couples: Vec<_> = table.couples.iter().collect();
    assert_eq!(COUPLES.len(), couples.len());
    for ((x, y, own), (couple, n)) in COUPLES.iter().zip(couples) {
        let words = (
            table.vocabulary[couple.0].1.as_str(),
            table.vocabulary[couple.1].1.as_str(),
        );
        assert!((*x, *y) == words && close(*own, *n), "{x} {y}");
    }
    // What the kernel adds up is what was fitted.
    let words = WORDS
        .iter()
        .flat_map(|(_, one, both, near)| [one, both, near]);
    let couples = COUPLES.iter().map(|(_, _, points)| points);
    let written: Vec<i16> = SIGN_POINTS
        .iter()
        .chain(words)
        .chain(couples)
        .copied()
        .collect();
    for example in fitted_to.iter().flat_map(|(_, own)| own) {
        let features = table.features(example);
        let sum: i32 = features.iter().map(|n| i32::from(written[*n])).sum();
        assert_eq!(example.weighed, sum);
    }
}
