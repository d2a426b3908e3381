//! Words as concepts: synonyms are one concept, antonyms are one concept with opposite signs.

use super::super::Source;
use super::synonym::canonical;
use crate::text::lex::fnv;
use crate::text::stem::stem;
use std::sync::OnceLock;

/// A concept and its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Concept {
    /// Key of the word that stands for it.
    pub key: u64,
    /// The word denies the concept.
    pub negative: bool,
}

/// A concept, and the words that deny it.
const OPPOSED: &[(&str, &str)] = &[
    ("include", "exclude omit exempt"),
    ("show", "hide invisible conceal"),
    ("name", "anonymous nameless"),
    ("awake", "sleep asleep"),
    ("accept", "reject refuse decline"),
    ("publish", "unpublish"),
    ("enable", "disable"),
    ("complete", "partial incomplete"),
    ("active", "inactive"),
    ("valid", "invalid"),
    ("change", "immutable unchangeable"),
    ("respect", "ignore disregard flout"),
];

/// Words of two parts: verb and particle.
const PARTICLES: &[(&str, &str, &str)] = &[
    ("leave", "out", "exclude"),
    ("take", "part", "include"),
    ("switch", "off", "disable"),
    ("turn", "off", "disable"),
    ("switch", "on", "enable"),
    ("turn", "on", "enable"),
    ("look", "at", "check"),
    ("stay", "off", "disable"),
    ("remain", "off", "disable"),
    ("stay", "on", "enable"),
    ("remain", "on", "enable"),
];

/// Prefixes that deny the rest of a word.
fn bare(word: &str) -> Option<&str> {
    let rest = word
        .strip_prefix("non-")
        .or_else(|| word.strip_prefix("un"))
        .or_else(|| word.strip_prefix("dis"))
        .or_else(|| word.strip_prefix("non"))?;
    (rest.len() >= 5 && !any_of!(word, "under" "until" "union" "unique" "unit" "units" "display" "displays" "displayed" "distance" "discount" "discounts" "dispatch" "discussion" "district" "distribution" "distributed" "unless" "understand" "underground" "universal" "university" "disk" "discover" "discovery"))
        .then_some(rest)
}

/// The concept of the word at `i`.
pub(super) fn concept_at(source: &Source<'_>, i: usize) -> Concept {
    let lexed = &source.tagged.lexed;
    let word = lexed.word(i);
    let mut key = canonical(lexed.tokens[i].key);
    let particle = lexed.word(i + 1);
    if any_of!(particle, "out" "part" "off" "on" "at") {
        let verb = |v: &str| canonical(fnv(stem(v))) == key;
        let found = PARTICLES.iter().find(|p| p.1 == particle && verb(p.0));
        if let Some(p) = found {
            key = canonical(fnv(stem(p.2)));
        }
    }
    let table = table();
    if let Ok(at) = table.binary_search_by(|e| e.0.cmp(&key)) {
        return Concept {
            key: table[at].1,
            negative: table[at].2,
        };
    }
    match bare(word) {
        Some(rest) => Concept {
            key: canonical(fnv(stem(rest))),
            negative: true,
        },
        None => Concept {
            key,
            negative: false,
        },
    }
}

fn table() -> &'static [(u64, u64, bool)] {
    static TABLE: OnceLock<Vec<(u64, u64, bool)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut out = Vec::new();
        let key = |word: &str| canonical(fnv(stem(word)));
        for (to, from) in OPPOSED {
            out.push((key(to), key(to), false));
            out.extend(from.split(' ').map(|w| (key(w), key(to), true)));
        }
        out.sort_unstable();
        out
    })
}
