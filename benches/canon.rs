//! Parse + canonicalize + SHA-256, beside the crates that do the same, beside plain serde_json
//! (which is not canonical), and beside bare SHA-256 of the same bytes as the limit.
//!
//! `cargo bench --bench canon` prints the tables of docs/performance.md.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::fmt::Write as _;

use runseal_benches::{Contender, megabytes_per_second, race, render_table};
use runseal_core::canon::{Dialect, ReadOptions, compute_text_digest};
use sha2::{Digest, Sha256};

const ROUNDS: u32 = 15;

fn main() {
    let documents = [
        ("bundle-like 1 KB", bundle_like(1 << 10)),
        ("bundle-like 64 KB", bundle_like(64 << 10)),
        ("bundle-like 1 MB", bundle_like(1 << 20)),
        ("numbers 1 KB", numbers(1 << 10)),
        ("numbers 64 KB", numbers(64 << 10)),
        ("numbers 1 MB", numbers(1 << 20)),
    ];
    let mut names = Vec::new();
    let mut columns = Vec::new();
    for (_, text) in &documents {
        let mut contenders = contenders(text);
        names = contenders.iter().map(|contender| contender.name).collect();
        let times = race(&mut contenders, ROUNDS);
        let speed = |time| megabytes_per_second(text.len(), time);
        columns.push(
            times
                .into_iter()
                .map(|time| time.map(speed))
                .collect::<Vec<_>>(),
        );
    }
    let header = |first: &str| -> Vec<String> {
        let titles = documents.iter().map(|(title, _)| (*title).to_owned());
        std::iter::once(first.to_owned()).chain(titles).collect()
    };
    let cell =
        |speed: Option<f64>| speed.map_or("refuses".to_owned(), |speed| format!("{speed:.0}"));
    let rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let cells = columns.iter().map(|column| cell(column[at]));
            std::iter::once((*name).to_owned()).chain(cells).collect()
        })
        .collect();
    println!("\nParse + canonicalize + SHA-256, MB/s:\n");
    println!("{}", render_table(&header("MB/s"), &rows));

    let peers = 3..=5;
    let ratio = |what: &str, of: &dyn Fn(&[Option<f64>]) -> Option<f64>| -> Vec<String> {
        let cells = columns.iter().map(|column| match (column[0], of(column)) {
            (Some(ours), Some(other)) => format!("{:.1} ×", ours / other),
            _ => "-".to_owned(),
        });
        std::iter::once(what.to_owned()).chain(cells).collect()
    };
    let rows = [
        ratio("the fastest of the three crates", &|column| {
            column[peers.clone()]
                .iter()
                .flatten()
                .copied()
                .reduce(f64::max)
        }),
        ratio("serde_json, not canonical", &|column| column[6]),
        ratio("bare SHA-256 (the limit)", &|column| column[7]),
    ];
    println!("Ours (jcs) as a multiple of:\n");
    println!("{}", render_table(&header("of"), &rows));
}

fn contenders(text: &str) -> Vec<Contender<'_>> {
    let ours = |dialect| {
        move || {
            let digest = compute_text_digest(text.as_bytes(), dialect, &ReadOptions::TEXT).ok()?;
            Some(u64::from(digest.as_bytes()[0]))
        }
    };
    let hash = |bytes: &[u8]| Some(u64::from(Sha256::digest(bytes)[0]));
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    vec![
        Contender::new("runseal jcs", ours(Dialect::Jcs)),
        Contender::new("runseal kernel", ours(Dialect::Kernel)),
        Contender::new("runseal job", ours(Dialect::Job)),
        Contender::new("serde_json_canonicalizer", move || {
            hash(&serde_json_canonicalizer::to_vec(&value(text)?).ok()?)
        }),
        Contender::new("serde_jcs", move || {
            hash(&serde_jcs::to_vec(&value(text)?).ok()?)
        }),
        Contender::new("json-canon", move || {
            hash(json_canon::to_string(&value(text)?).ok()?.as_bytes())
        }),
        Contender::new("serde_json, not canonical", move || {
            hash(serde_json::to_string(&value(text)?).ok()?.as_bytes())
        }),
        Contender::new("bare SHA-256", move || hash(text.as_bytes())),
    ]
}

/// A generator of numbers that is the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Nodes, questions and outputs as a context bundle has them: ids, hashes, sentences, text with
/// line breaks, small numbers; keys in no order, some indentation.
fn bundle_like(size: usize) -> String {
    let mut dice = Dice(1);
    let mut text = String::from("{\"schema_version\":\"0.1.0\",\"nodes\":[");
    let words = [
        "retry", "order", "user", "the", "never", "café", "must", "log", "within", "data",
    ];
    while text.len() < size {
        if !text.ends_with('[') {
            text.push_str(", ");
        }
        let mut sentence = String::new();
        for _ in 0..8 + dice.roll(8) {
            sentence.push_str(words[dice.roll(words.len() as u64) as usize]);
            sentence.push(' ');
        }
        let hash: String = (0..8)
            .map(|_| format!("{:08x}", dice.roll(1 << 32)))
            .collect();
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "{{\"status\": \"terminal\", \"id\": \"node_{}\", \"parent_id\": null, \"goal\": \"{sentence}\", \
             \"content_hash\": \"sha256:{hash}\", \"constraints\": [\"{sentence}\", \"exit code {}\"], \
             \"entropy\": {{\"unresolved_refs\": {}, \"schema_gaps\": 0, \"entropy_score\": {}}}, \
             \"content\": \"# Goal\\n\\n{sentence}\\n- \\\"{sentence}\\\"\\n\", \"complete\": true}}",
            &hash[..16],
            dice.roll(256),
            dice.roll(10),
            dice.roll(100),
        );
    }
    text.push_str("]}");
    text
}

/// Measurements as an engine writes them: integers, short decimals, doubles with 16 and 17
/// digits, exponents.
fn numbers(size: usize) -> String {
    let mut dice = Dice(2);
    let mut text = String::from("{\"unit\":\"Hz\",\"samples\":[");
    while text.len() < size {
        if !text.ends_with('[') {
            text.push(',');
        }
        let fraction = dice.roll(1 << 31) as f64 / f64::from(1_u32 << 31);
        let _ = match dice.roll(4) {
            0 => write!(text, "{}", dice.roll(1_000_000)),
            1 => write!(text, "{:.3}", fraction * 1000.0),
            2 => write!(text, "{:?}", fraction * 1e3 / 7.0),
            _ => write!(text, "{:e}", fraction / 3.0 * 1e-9),
        };
    }
    text.push_str("]}");
    text
}
