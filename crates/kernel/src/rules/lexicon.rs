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
    /// A bound that may stand behind its number: *50 at least*.
    BEHIND = 22, "behind";
    /// Puts what is said earlier than what follows.
    EARLIER = 23, "earlier";
    /// Puts what is said later than what follows.
    LATER = 24, "later";
    /// All of them.
    ALL = 25, "everything";
    /// Only some of them.
    SOME = 26, "some";
    /// Begins what is said instead.
    CONTRAST = 27, "contrast";
    /// Bounds a time and nothing else: *by noon*.
    TEMPORAL = 29, "temporal";
    /// A part of a document, with a number: *section 3.2*.
    HEADING = 30, "heading";
    /// Of which a thing has one: *format*, *language*.
    ATTRIBUTE = 31, "attribute";
    /// More than one.
    PLURAL = 28, "plural";
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
    /// Words such as *daily*, with the seconds between two times.
    rhythms: BTreeMap<String, f64>,
    /// Words for a time of day, in minutes.
    times: BTreeMap<String, f64>,
    /// *First*, *second* and so on.
    ordinals: BTreeMap<String, f64>,
    /// Lists of words of which only one can hold.
    slots: Vec<String>,
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
    rhythms: Keyed<f64>,
    times: Keyed<f64>,
    ordinals: Keyed<f64>,
    /// For each word, the number of its slot.
    slots: Keyed<u16>,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self {
            entries: Keyed::new(Vec::new()),
            numbers: Keyed::new(Vec::new()),
            units: Keyed::new(Vec::new()),
            rhythms: Keyed::new(Vec::new()),
            times: Keyed::new(Vec::new()),
            ordinals: Keyed::new(Vec::new()),
            slots: Keyed::new(Vec::new()),
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
        let keyed = |words: &BTreeMap<String, f64>| {
            let pairs = words
                .iter()
                .map(|(word, value)| (key_of(word.as_bytes()), *value));
            Keyed::new(pairs.collect())
        };
        self.numbers = keyed(&raw.numbers);
        self.rhythms = keyed(&raw.rhythms);
        self.times = keyed(&raw.times);
        self.ordinals = keyed(&raw.ordinals);
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
        let mut slots: BTreeMap<u64, u16> = BTreeMap::new();
        for (group, number) in raw.slots.iter().zip(0..) {
            for word in group.split_whitespace() {
                let key = self.look_up(word, key_of(word.as_bytes())).1;
                if slots
                    .insert(key, number)
                    .is_some_and(|known| known != number)
                {
                    return Err(format!("`{word}` is in two slots"));
                }
            }
        }
        self.slots = Keyed::new(slots.into_iter().collect());
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

    /// How often a second something happens that is done *daily* and the like.
    pub fn rhythm(&self, key: u64) -> Option<f64> {
        self.rhythms.find(key).map(|seconds| 1.0 / seconds)
    }

    /// The minutes since midnight of *noon* and the like.
    pub fn time_of_day(&self, key: u64) -> Option<f64> {
        self.times.find(key).copied()
    }

    /// The number of *first*, *second* and so on.
    pub fn ordinal(&self, key: u64) -> Option<f64> {
        self.ordinals.find(key).copied()
    }

    /// The slot that a word, by its canonical key, is a value of.
    pub fn slot(&self, canonical: u64) -> Option<u16> {
        self.slots.find(canonical).copied()
    }

    /// The value of a number word.
    pub fn number(&self, key: u64) -> Option<f64> {
        self.numbers.find(key).copied()
    }

    /// Whether a word is a number or a unit, and says nothing else.
    pub fn is_of_quantity(&self, key: u64) -> bool {
        let numbers = [&self.numbers, &self.rhythms, &self.times, &self.ordinals];
        self.units.find(key).is_some() || numbers.iter().any(|it| it.find(key).is_some())
    }

    /// The unit that a word names.
    pub fn unit(&self, key: u64) -> Option<Unit> {
        self.units.find(key).copied()
    }
}
