//! The words the detectors know: one table, one lookup a word.
//!
//! `words.rs` lists classes of words, `cues.rs` and `phrases.rs` list cues of several words. Both are compiled once into sorted
//! tables; a lookup is one probe of a hash table with a fixed hash. Nothing here knows about findings. The lists are printed in `docs/kernel-words.md`.

pub(crate) mod class;
mod cues;
mod opposites;
mod page;
mod phrases;
mod words;

use crate::text::lex::{Lexed, Lowered, TokenKind, fnv, fnv_more};
use crate::text::stem::stem;
use std::sync::OnceLock;

pub(crate) use cues::{Cue, Side};
pub(crate) use page::render_word_lists;
pub(crate) use phrases::{Scope, families};

/// One entry of the word table.
struct Entry {
    word: &'static str,
    classes: u64,
    /// Range in the phrase table of phrases that begin with this word.
    phrases: (u32, u32),
}

/// One compiled phrase: the words after the first, and what it signals.
struct Phrase {
    first: &'static str,
    rest: Vec<Part>,
    cue: Cue,
}

/// One word of a phrase behind its first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Word(&'static str),
    /// Any form of a word, by the key of its stem.
    Stem(u64),
    /// Any number.
    Number,
}

impl Part {
    fn parse(text: &'static str) -> Part {
        match text.strip_prefix('~') {
            Some(word) => Part::Stem(fnv(stem(word))),
            None if text == "#" => Part::Number,
            None => Part::Word(text),
        }
    }

    fn matches(&self, lexed: &Lexed<'_>, at: usize) -> bool {
        let Some(token) = lexed.tokens.get(at) else {
            return false;
        };
        match self {
            Part::Word(word) => lexed.word(at) == *word,
            Part::Stem(key) => token.kind == TokenKind::Word && token.key == *key,
            Part::Number => {
                token.kind == TokenKind::Number
                    || any_of!(lexed.word(at),
                        "two" "three" "four" "five" "six" "seven" "eight" "nine" "ten" "twelve" "several")
            }
        }
    }
}

struct Lexicon {
    entries: Vec<Entry>,
    /// Words by their hash.
    slots: Slots,
    /// Stems that begin a phrase (`~word`) by the hash of the stem, which a token carries as its key.
    stems: Slots,
    phrases: Vec<Phrase>,
}

/// Open addressing by FNV-1a: the hash, and the position of an entry plus one, 0 where empty. A quarter full at most.
struct Slots(Vec<(u64, u32)>);

impl Slots {
    fn new(hashes: impl ExactSizeIterator<Item = (u64, usize)>) -> Self {
        let size = (hashes.len() * 4).next_power_of_two();
        let mut slots = vec![(0, 0); size];
        for (hash, at) in hashes {
            let mut slot = hash as usize & (size - 1);
            while slots[slot].1 != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = (hash, at as u32 + 1);
        }
        Slots(slots)
    }

    fn find<'e>(
        &self,
        entries: &'e [Entry],
        hash: u64,
        is: impl Fn(&Entry) -> bool,
    ) -> Option<&'e Entry> {
        let mask = self.0.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (own, at) = self.0[slot];
            if at == 0 {
                return None;
            }
            let entry = &entries[at as usize - 1];
            if own == hash && is(entry) {
                return Some(entry);
            }
            slot = (slot + 1) & mask;
        }
    }
}

fn build() -> Lexicon {
    let mut flat: Vec<(&'static str, u64)> = Vec::with_capacity(4096);
    for (classes, list) in words::WORDS {
        for word in list.split_ascii_whitespace() {
            flat.push((word, *classes));
        }
    }
    let mut list: Vec<Phrase> = Vec::new();
    for (cue, text) in cues::all() {
        for phrase in text.split('|') {
            let mut parts = phrase.split_ascii_whitespace();
            if let Some(first) = parts.next().map(stem_mark) {
                list.push(Phrase {
                    first,
                    rest: parts.map(Part::parse).collect(),
                    cue,
                });
                flat.push((first, class::CUE));
            }
        }
    }
    // Longer phrases first, so that the most telling one is met first.
    list.sort_by(|a, b| {
        a.first
            .cmp(b.first)
            .then(b.rest.len().cmp(&a.rest.len()))
            .then(a.rest.cmp(&b.rest))
            .then(a.cue.cmp(&b.cue))
    });
    flat.sort_unstable();
    let mut entries: Vec<Entry> = Vec::with_capacity(flat.len());
    for (word, classes) in flat {
        match entries.last_mut() {
            Some(last) if last.word == word => last.classes |= classes,
            _ => {
                let from = list.partition_point(|p| p.first < word);
                let to = list.partition_point(|p| p.first <= word);
                entries.push(Entry {
                    word,
                    classes,
                    phrases: (from as u32, to as u32),
                });
            }
        }
    }
    let slots = Slots::new(entries.iter().enumerate().map(|(at, e)| (fnv(e.word), at)));
    let stems: Vec<(u64, usize)> = entries
        .iter()
        .enumerate()
        .filter_map(|(at, e)| e.word.strip_prefix('~').map(|stem| (fnv(stem), at)))
        .collect();
    let stems = Slots::new(stems.into_iter());
    Lexicon {
        entries,
        slots,
        stems,
        phrases: list,
    }
}

/// `~cached` is kept as `~cach`: a stem is a prefix of its word.
fn stem_mark(word: &'static str) -> &'static str {
    match word.strip_prefix('~') {
        Some(bare) => &word[..1 + stem(bare).len()],
        None => word,
    }
}

fn lexicon() -> &'static Lexicon {
    static LEXICON: OnceLock<Lexicon> = OnceLock::new();
    LEXICON.get_or_init(build)
}

fn find(lex: &'static Lexicon, word: &str) -> Option<&'static Entry> {
    lex.slots
        .find(&lex.entries, fnv(word), |entry| entry.word == word)
}

/// A cue found in a text: tokens `from..to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub cue: Cue,
    pub from: usize,
    pub to: usize,
}

/// A text with the classes of its words and the cues in it.
#[derive(Debug)]
pub(crate) struct Tagged<'a> {
    pub lexed: Lexed<'a>,
    pub classes: Vec<u64>,
    /// Every class that any word of the text has.
    pub seen: u64,
    pub hits: Vec<Hit>,
}

/// Classes of a single lower-case word (exact form, then singular, then without a version number).
pub(crate) fn classes_of(word: &str) -> u64 {
    let lex = lexicon();
    lookup(lex, word).map_or(0, |e| e.classes)
}

/// Whether exactly this form is in the table.
pub(crate) fn is_listed(word: &str) -> bool {
    find(lexicon(), word).is_some()
}

fn lookup(lex: &'static Lexicon, word: &str) -> Option<&'static Entry> {
    find(lex, word).or_else(|| lookup_inflected(lex, word))
}

/// The entry of a word that is not listed itself: without the genitive, in the singular, without a version number.
fn lookup_inflected(lex: &'static Lexicon, word: &str) -> Option<&'static Entry> {
    let last = *word.as_bytes().last()?;
    if last == b's' || last == b'\'' {
        let bare = word
            .strip_suffix("'s")
            .or_else(|| word.strip_suffix("’s"))
            .or_else(|| word.strip_suffix('\''));
        if let Some(entry) = bare.and_then(|bare| find(lex, bare)) {
            return Some(entry);
        }
        let bare = bare.unwrap_or(word);
        let long = |w: &&str| w.len() > 2;
        let singular = bare
            .strip_suffix('s')
            .filter(|w| w.len() > 2 && !w.ends_with('s'));
        return singular
            .and_then(|w| find(lex, w))
            .or_else(|| {
                bare.strip_suffix("ies")
                    .filter(long)
                    .and_then(|w| find_with_y(lex, w))
            })
            .or_else(|| {
                bare.strip_suffix("es")
                    .filter(long)
                    .and_then(|w| find(lex, w))
            });
    }
    if last.is_ascii_digit() || last == b'.' {
        let cut = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        return (cut.len() >= 2).then(|| find(lex, cut)).flatten();
    }
    None
}

fn find_with_y(lex: &'static Lexicon, base: &str) -> Option<&'static Entry> {
    lex.slots
        .find(&lex.entries, fnv_more(fnv(base), "y"), |entry| {
            entry.word.strip_suffix('y') == Some(base)
        })
}

/// Tags a text: classes for every word, and every cue in it.
pub(crate) fn tag<'a>(text: &'a Lowered<'a>) -> Tagged<'a> {
    let lex = lexicon();
    let lexed = Lexed::new(text);
    let mut classes = Vec::with_capacity(lexed.tokens.len());
    let mut hits = Vec::new();
    let mut seen = 0;
    for (i, token) in lexed.tokens.iter().enumerate() {
        if token.kind != TokenKind::Word {
            classes.push(0);
            continue;
        }
        let word = lexed.word(i);
        let listed = find(lex, word);
        let entry = listed.or_else(|| lookup_inflected(lex, word));
        let found = entry.map_or(0, |e| e.classes) & !class::CUE;
        classes.push(found);
        seen |= found;
        if token.quoted {
            continue;
        }
        let ranges = [
            listed.filter(|e| e.classes & class::CUE != 0),
            lex.stems.find(&lex.entries, token.key, |_| true),
        ];
        for entry in ranges.into_iter().flatten() {
            for phrase in &lex.phrases[entry.phrases.0 as usize..entry.phrases.1 as usize] {
                if phrase
                    .rest
                    .iter()
                    .enumerate()
                    .all(|(k, part)| part.matches(&lexed, i + 1 + k))
                {
                    hits.push(Hit {
                        cue: phrase.cue,
                        from: i,
                        to: i + 1 + phrase.rest.len(),
                    });
                }
            }
        }
    }
    Tagged {
        lexed,
        classes,
        seen,
        hits,
    }
}

impl Tagged<'_> {
    /// Whether token `i` has any of `classes`.
    pub fn is(&self, i: usize, classes: u64) -> bool {
        self.classes.get(i).is_some_and(|c| c & classes != 0)
    }

    /// Whether any unquoted token of the range has any of `classes`.
    pub fn any(&self, range: (usize, usize), classes: u64) -> bool {
        (range.0..range.1.min(self.classes.len()))
            .any(|i| !self.lexed.tokens[i].quoted && self.classes[i] & classes != 0)
    }

    /// The classes of all words; a thing counts for no person, an HTTP error code for a failure.
    pub fn topics(&self) -> u64 {
        let of = |(i, c): (usize, &u64)| {
            if c & class::THING != 0 {
                c & !class::PERSON
            } else if self.lexed.tokens[i].kind == TokenKind::Number {
                classes_of(self.lexed.word(i))
            } else {
                *c
            }
        };
        self.classes
            .iter()
            .enumerate()
            .take(100)
            .map(of)
            .fold(0, |seen, c| seen | c)
    }

    /// The cues that begin inside the token range.
    pub fn hits_in(&self, range: (usize, usize)) -> &[Hit] {
        let from = self.hits.partition_point(|h| h.from < range.0);
        let to = self.hits.partition_point(|h| h.from < range.1);
        &self.hits[from..to]
    }
}
