//! The words the detectors know: one table, one lookup a word.
//!
//! `words.rs` lists classes of words, `phrases.rs` lists cues of several words. Both are compiled once into sorted
//! tables; a lookup is one probe of a hash table with a fixed hash. Nothing here knows about findings. The lists are printed in `docs/kernel.md`.

mod opposites;
mod phrases;
mod words;

use crate::text::lex::{Lexed, TokenKind, fnv, fnv_more};
use crate::text::stem::stem;
use std::sync::OnceLock;

pub(crate) use phrases::{Cue, Scope, Side, families};

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $bit:expr;)*) => {
        /// Classes of words, one bit each.
        pub(crate) mod class {
            $($(#[$doc])* pub(crate) const $name: u64 = 1 << $bit;)*

            /// Every class with its name.
            pub(crate) const NAMES: &[(u64, &str)] = &[$(($name, stringify!($name)),)*];
        }
    };
}

classes! {
    /// Carries no subject: articles, pronouns, prepositions, auxiliaries.
    STOP = 0;
    /// Negates.
    NEG = 1;
    /// must, shall, can, …
    MODAL = 2;
    /// all, every, always, only, …
    UNIVERSAL = 3;
    /// Opens a condition or an exception.
    CONDITION = 4;
    /// People.
    PERSON = 5;
    /// Product, language, framework, protocol.
    TECH = 6;
    /// Framework or library (also TECH).
    LIBRARY = 7;
    /// Database product (also TECH).
    DATABASE = 8;
    /// Cloud product (also TECH).
    CLOUD = 9;
    /// Programming language (also TECH).
    LANGUAGE = 10;
    /// Data and document formats.
    FORMAT = 11;
    /// Words for data and its parts.
    DATA = 12;
    /// Words of failure and its handling.
    FAILURE = 13;
    /// Words for results and deliverables.
    OUTPUT = 14;
    /// Units of time.
    TIME_UNIT = 15;
    /// Units of storage.
    SIZE_UNIT = 16;
    /// Other units of measure.
    OTHER_UNIT = 17;
    /// Names of blanks: name, date, number, …
    BLANK = 18;
    /// HTML element names.
    HTML = 19;
    /// Says that markup, code or syntax is talked about.
    SYNTAX = 20;
    /// Spoken languages.
    TONGUE = 21;
    /// Text encodings.
    ENCODING = 22;
    /// Operating systems.
    SYSTEM = 23;
    /// Verbs by which people or programs use a thing.
    USE_VERB = 24;
    /// The whole of what is built: system, app, service, …
    WHOLE = 25;
    /// Verbs of building.
    BUILD = 26;
    /// Verbs of changing.
    CHANGE = 27;
    /// Verbs of repair and upkeep.
    FIX = 28;
    /// Verbs of writing documents and of planning.
    DESCRIBE = 29;
    /// Verbs of improving.
    IMPROVE = 30;
    /// Verbs of moving data or systems.
    MIGRATE = 31;
    /// Verbs of finding out.
    ANALYSE = 32;
    /// Verbs of running and configuring.
    OPERATE = 33;
    /// Documents as deliverables.
    DOCUMENT = 34;
    /// Ends in -er/-or/-ist but is no person.
    THING = 35;
    /// Cannot be a subject that two statements share: too general.
    GENERIC = 36;
    /// Number words.
    NUMERAL = 37;
    /// Environments and occasions that scope a statement.
    SCOPE = 38;
    /// Verbs that say data properties (`might contain`).
    PROPERTY_VERB = 39;
    /// Test tools: not part of the product.
    TEST_TOOL = 40;
    /// Frequencies: hourly, daily, …
    FREQUENCY = 41;
    /// Software artifacts: app, service, script, website …
    SOFTWARE = 42;
    /// Places where an action sits: file, function, module …
    LOCATION = 43;
    /// Ways to write names: camelCase, snake_case.
    NAMING = 44;
    /// Currencies.
    CURRENCY = 45;
    /// Days of the week.
    WEEKDAY = 46;
    /// Without one of these words no clause can put a value off.
    DEFER = 47;
    /// States of a value that nobody has fixed: `not agreed`.
    UNSETTLED = 48;
    /// Acts by which somebody gives a value.
    GIVING = 49;
    /// Starts a cue phrase.
    CUE = 63;
    /// A way to send a message.
    CHANNEL = 50;
    /// A colour.
    COLOUR = 51;
    /// A unit that has a counterpart: kilometres, miles.
    SYSTEM_UNIT = 52;
}

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
    rest: Vec<&'static str>,
    cue: Cue,
}

struct Lexicon {
    entries: Vec<Entry>,
    /// Open addressing by FNV-1a: position of an entry plus one, 0 where empty. A quarter full at most.
    slots: Vec<u32>,
    phrases: Vec<Phrase>,
}

fn build() -> Lexicon {
    let mut flat: Vec<(&'static str, u64)> = Vec::with_capacity(4096);
    for (classes, list) in words::WORDS {
        for word in list.split_ascii_whitespace() {
            flat.push((word, *classes));
        }
    }
    let mut list: Vec<Phrase> = Vec::new();
    for (cue, text) in phrases::all() {
        for phrase in text.split('|') {
            let mut parts = phrase.split_ascii_whitespace();
            if let Some(first) = parts.next().map(stem_mark) {
                list.push(Phrase {
                    first,
                    rest: parts.collect(),
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
    let size = (entries.len() * 4).next_power_of_two();
    let mut slots = vec![0u32; size];
    for (at, entry) in entries.iter().enumerate() {
        let mut slot = fnv(entry.word) as usize & (size - 1);
        while slots[slot] != 0 {
            slot = (slot + 1) & (size - 1);
        }
        slots[slot] = at as u32 + 1;
    }
    Lexicon {
        entries,
        slots,
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

/// Every list of words, family and cue, as a page of the documentation.
pub(crate) fn render_word_lists() -> String {
    let mut out = String::from(
        "# The kernel's word lists\n\nMade from the tables; see [kernel.md](kernel.md) for how they are used. \
         `~word` matches every form of the word, `#` a number, `@class` a word of that class.\n",
    );
    out.push_str("\n## Classes of words\n");
    for (classes, list) in words::WORDS {
        let names: Vec<&str> = class::NAMES
            .iter()
            .filter(|(bit, _)| classes & bit != 0)
            .map(|(_, name)| *name)
            .collect();
        let words: Vec<&str> = list.split_ascii_whitespace().collect();
        out.push_str(&format!(
            "\n### {}\n\n{}\n",
            names.join(" + "),
            words.join(" ")
        ));
    }
    out.push_str("\n## Cues\n");
    for (cue, list) in phrases::cues() {
        out.push_str(&format!("\n### {cue:?}\n\n{}\n", list.replace('|', " · ")));
    }
    out.push_str("\n## Families of opposites\n");
    for family in families() {
        out.push_str(&format!(
            "\n### {}\n\nScope: {:?}. A negated cue {}.\n\n- one side: {}\n- other side: {}\n",
            family.name,
            family.scope,
            if family.flips {
                "counts for the other side"
            } else {
                "says nothing"
            },
            family.a.replace('|', " · "),
            family.b.replace('|', " · "),
        ));
    }
    out
}

fn lexicon() -> &'static Lexicon {
    static LEXICON: OnceLock<Lexicon> = OnceLock::new();
    LEXICON.get_or_init(build)
}

fn find(lex: &'static Lexicon, word: &str) -> Option<&'static Entry> {
    find_hashed(lex, fnv(word), |entry| entry == word)
}

fn find_hashed(
    lex: &'static Lexicon,
    hash: u64,
    is: impl Fn(&str) -> bool,
) -> Option<&'static Entry> {
    let mask = lex.slots.len() - 1;
    let mut slot = hash as usize & mask;
    while lex.slots[slot] != 0 {
        let entry = &lex.entries[lex.slots[slot] as usize - 1];
        if is(entry.word) {
            return Some(entry);
        }
        slot = (slot + 1) & mask;
    }
    None
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
    if let Some(e) = find(lex, word) {
        return Some(e);
    }
    let bare = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .or_else(|| word.strip_suffix('\''))
        .unwrap_or(word);
    let singular = bare
        .strip_suffix('s')
        .filter(|w| w.len() > 2 && !w.ends_with('s'));
    find(lex, bare)
        .or_else(|| singular.and_then(|w| find(lex, w)))
        .or_else(|| {
            bare.strip_suffix("ies")
                .filter(|w| w.len() > 2)
                .and_then(|w| find_with_y(lex, w))
        })
        .or_else(|| {
            bare.strip_suffix("es")
                .filter(|w| w.len() > 2)
                .and_then(|w| find(lex, w))
        })
        .or_else(|| {
            let cut = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            (cut.len() < bare.len() && cut.len() >= 2)
                .then(|| find(lex, cut))
                .flatten()
        })
}

fn find_with_y(lex: &'static Lexicon, base: &str) -> Option<&'static Entry> {
    find_hashed(lex, fnv_more(fnv(base), "y"), |entry| {
        entry.strip_suffix('y') == Some(base)
    })
}

fn matches_word(pattern: &str, lexed: &Lexed<'_>, at: usize) -> bool {
    let Some(token) = lexed.tokens.get(at) else {
        return false;
    };
    if let Some(want) = pattern.strip_prefix('~') {
        token.kind == TokenKind::Word && token.key == fnv(stem(want))
    } else if pattern == "#" {
        token.kind == TokenKind::Number
            || any_of!(lexed.word(at), "two" "three" "four" "five" "six" "seven" "eight" "nine" "ten" "twelve" "several")
    } else {
        lexed.word(at) == pattern
    }
}

/// Tags a text: classes for every word, and every cue in it.
pub(crate) fn tag(text: &str) -> Tagged<'_> {
    let lex = lexicon();
    let lexed = Lexed::new(text);
    let mut classes = Vec::with_capacity(lexed.tokens.len());
    let mut hits = Vec::new();
    let tilde = fnv("~");
    for (i, token) in lexed.tokens.iter().enumerate() {
        if token.kind != TokenKind::Word {
            classes.push(0);
            continue;
        }
        let word = lexed.word(i);
        let entry = lookup(lex, word);
        classes.push(entry.map_or(0, |e| e.classes) & !class::CUE);
        if token.quoted {
            continue;
        }
        let mut ranges = [None, None];
        ranges[0] = find(lex, word).filter(|e| e.classes & class::CUE != 0);
        let base = stem(word);
        ranges[1] = find_hashed(lex, fnv_more(tilde, base), |entry| {
            entry.strip_prefix('~') == Some(base)
        });
        for entry in ranges.into_iter().flatten() {
            for phrase in &lex.phrases[entry.phrases.0 as usize..entry.phrases.1 as usize] {
                if phrase
                    .rest
                    .iter()
                    .enumerate()
                    .all(|(k, p)| matches_word(p, &lexed, i + 1 + k))
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
    let seen = classes.iter().fold(0, |seen, c| seen | c);
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

    /// The cues that begin inside the token range.
    pub fn hits_in(&self, range: (usize, usize)) -> &[Hit] {
        let from = self.hits.partition_point(|h| h.from < range.0);
        let to = self.hits.partition_point(|h| h.from < range.1);
        &self.hits[from..to]
    }
}
