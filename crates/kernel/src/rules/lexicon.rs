//! What the kernel knows about words: their classes, which of them mean the same, and units of
//! quantities. The lists are in `rules/words.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::text::keyed::Keyed;
use crate::text::token::{key_of, stem_key};

/// Classes of words, as bits.
pub(crate) struct Class;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $list:literal;)+) => {
        impl Class {
            $($(#[$doc])* pub const $name: u32 = 1 << $bit;)+
        }
        const CLASS_NAMES: &[(&str, u32)] = &[$(($list, Class::$name)),+];
    };
}

classes! {
    /// Says nothing about the subject.
    STOP = 0, "stop";
    /// Names the whole product or anyone: not a subject.
    GENERIC = 1, "generic";
    /// `shall`, `is`, `has`: ends the subject.
    VERB = 2, "verb";
    /// Denies what follows.
    NEGATION = 3, "negation";
    /// Denies its object: `prevent`.
    PREVENTS = 4, "prevents";
    /// Denies the noun phrase that follows: `no`, `without`.
    NO = 5, "no";
    /// Allows no exception.
    UNIVERSAL = 6, "universal";
    /// Begins a condition.
    CONDITION = 7, "condition";
    /// Makes an exception, or refers to the others.
    EXCEPTION = 8, "exception";
    /// Offers instead of demanding.
    PERMISSION = 9, "permission";
    /// `only`.
    ONLY = 10, "only";
    /// Begins a purpose or reason, which asserts nothing.
    PURPOSE = 11, "purpose";
    /// An upper bound.
    UPPER = 12, "upper";
    /// A lower bound.
    LOWER = 13, "lower";
    /// Exactly that much.
    EXACT = 14, "exact";
    /// A rate or a share, not an amount: `per`, `each`.
    RATE = 15, "rate";
    /// A preposition that, at the beginning of a sentence, says when it applies.
    LEADING = 16, "leading";
    /// Begins a noun phrase.
    ARTICLE = 17, "article";
    /// Ends what a negation denies.
    BREAK = 18, "break";
    /// Refers to only some: *own*, *different*.
    LIMITS = 19, "limits";
    /// Asserts something for all cases.
    ALWAYS = 20, "always";
    /// Begins a clause about a noun.
    RELATIVE = 21, "relative";
}

/// What is measured: an index into the unit table.
pub(crate) type Dimension = u8;

/// A unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    pub dimension: Dimension,
    pub factor: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWords {
    classes: BTreeMap<String, String>,
    /// Lists of words that mean the same; the first one represents them.
    same: Vec<String>,
    /// Number words.
    numbers: BTreeMap<String, f64>,
    /// Units and their factors, by dimension.
    units: BTreeMap<String, BTreeMap<String, f64>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    classes: u32,
    canonical: Option<u64>,
}

/// What is known about words.
pub(crate) struct Lexicon {
    entries: Keyed<Entry>,
    numbers: Keyed<f64>,
    units: Keyed<Unit>,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self {
            entries: Keyed::new(Vec::new()),
            numbers: Keyed::new(Vec::new()),
            units: Keyed::new(Vec::new()),
        }
    }
}

impl Lexicon {
    pub(super) fn read(&mut self, raw: &RawWords) -> Result<(), String> {
        let mut entries: BTreeMap<u64, Entry> = BTreeMap::new();
        for (name, words) in &raw.classes {
            let (_, bit) = CLASS_NAMES
                .iter()
                .find(|(known, _)| known == name)
                .ok_or_else(|| format!("no class is called {name}"))?;
            for word in words.split_whitespace() {
                entries.entry(key_of(word.as_bytes())).or_default().classes |= bit;
            }
        }
        for group in &raw.same {
            let mut words = group.split_whitespace();
            let head = words.next().map(stem_key);
            for word in group.split_whitespace() {
                for key in [key_of(word.as_bytes()), stem_key(word)] {
                    let entry = entries.entry(key).or_default();
                    if entry.canonical.is_some_and(|known| Some(known) != head) {
                        return Err(format!("`{word}` is in two groups"));
                    }
                    entry.canonical = head;
                }
            }
        }
        self.entries = Keyed::new(entries.into_iter().collect());
        self.numbers = Keyed::new(
            raw.numbers
                .iter()
                .map(|(word, value)| (key_of(word.as_bytes()), *value))
                .collect(),
        );
        let units = raw.units.values().zip(0..).flat_map(|(units, dimension)| {
            units.iter().map(move |(word, factor)| {
                (
                    key_of(word.as_bytes()),
                    Unit {
                        dimension,
                        factor: *factor,
                    },
                )
            })
        });
        self.units = Keyed::new(units.collect());
        Ok(())
    }

    /// Returns the classes of a lower-case word, and the key to compare it by.
    pub fn look_up(&self, word: &str, key: u64) -> (u32, u64) {
        if let Some(entry) = self.entries.find(key) {
            return (
                entry.classes,
                entry.canonical.unwrap_or_else(|| stem_key(word)),
            );
        }
        let stem = stem_key(word);
        match self.entries.find(stem) {
            Some(entry) if entry.canonical.is_some() => (0, entry.canonical.unwrap_or(stem)),
            _ => (0, stem),
        }
    }

    /// The value of a number word.
    pub fn number(&self, key: u64) -> Option<f64> {
        self.numbers.find(key).copied()
    }

    /// The unit that a word names.
    pub fn unit(&self, key: u64) -> Option<Unit> {
        self.units.find(key).copied()
    }
}
