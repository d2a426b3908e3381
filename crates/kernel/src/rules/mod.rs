//! The rules: data files under `rules/`, compiled into the program and read when the kernel is
//! first used.
//!
//! A rule has an id, a kind, a severity, the name of its matcher, the words and patterns that the
//! matcher needs, its texts for people, and examples that it must and must not flag. No matcher
//! knows a rule by name. [`RuleSet::digest`] covers the bytes of all files, so that a bundle can
//! say which rules made it.

mod lexicon;
pub(crate) mod pattern;
mod profile;
mod raw;

use std::sync::LazyLock;

use runseal_core::digest::Digest;
use serde::Deserialize;

use crate::text::keyed::Keyed;
use crate::text::token::key_of;
pub(crate) use lexicon::{Class, Dimension, Lexicon, Unit};
use pattern::Pattern;
pub use profile::{DEFAULT_PROFILE, Element, Profile};

/// The version of how the kernel reads intents. It is part of every bundle's hash, so it changes
/// only if the kernel makes another bundle from the same intent and rules, not with each release.
const KERNEL_VERSION: &str = "0.2.0";

/// The data files, in the order of the digest.
const FILES: [(&str, &str); 6] = [
    (
        "placeholders.toml",
        include_str!("../../rules/placeholders.toml"),
    ),
    ("choices.toml", include_str!("../../rules/choices.toml")),
    (
        "contradictions.toml",
        include_str!("../../rules/contradictions.toml"),
    ),
    ("gaps.toml", include_str!("../../rules/gaps.toml")),
    ("others.toml", include_str!("../../rules/others.toml")),
    ("words.toml", include_str!("../../rules/words.toml")),
];

/// What a rule finds, in the order in which questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Two constraints that contradict each other (C).
    Contradiction,
    /// A missing value, or a reference to something outside (P).
    Placeholder,
    /// Something that the profile requires and that is not named (G).
    Gap,
    /// A choice left open (H).
    Choice,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Contradiction,
        Self::Placeholder,
        Self::Gap,
        Self::Choice,
    ];

    /// The name in rules, findings and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contradiction => "contradiction",
            Self::Placeholder => "placeholder",
            Self::Gap => "gap",
            Self::Choice => "choice",
        }
    }

    /// The letter in labelled data.
    pub const fn letter(self) -> char {
        match self {
            Self::Contradiction => 'C',
            Self::Placeholder => 'P',
            Self::Gap => 'G',
            Self::Choice => 'H',
        }
    }

    /// Parses a name or a letter, in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| {
            text.eq_ignore_ascii_case(kind.name())
                || text.len() == 1
                    && text.starts_with(|c: char| c.eq_ignore_ascii_case(&kind.letter()))
        })
    }
}

/// What a finding of a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It becomes a question; the bundle is incomplete until it is answered.
    Ask,
    /// It is listed for people and programs, but blocks nothing.
    Note,
    /// The rule is disabled.
    Off,
}

impl Severity {
    /// The name in rules and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Note => "note",
            Self::Off => "off",
        }
    }
}

/// The code that reads a rule's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matcher {
    /// Words for a missing value, as written.
    Marker,
    /// Blanks in brackets.
    Bracket,
    /// Letters and signs in place of digits or a name.
    Mask,
    /// Patterns of words.
    Phrase,
    /// Patterns of words; the finding quotes the whole sentence and offers options.
    Hedge,
    /// Two members of one set joined by `or`.
    Alternative,
    /// A sentence that ends in a question mark.
    Question,
    /// Elements of the profile that are not named.
    Missing,
    /// One statement denies what another says.
    Denied,
    /// Bounds of one quantity that exclude each other.
    Bound,
    /// "Only" one may do something, and another may too.
    Exclusive,
    /// Opposite words about one subject.
    Opposite,
    /// One statement repeats another with one thing changed.
    Restated,
    /// No text is searched: an assessor gives the finding.
    Given,
}

/// A rule, as in its data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `KP01` and so on.
    pub id: String,
    /// What it finds.
    pub kind: Kind,
    /// What a finding of it does.
    pub severity: Severity,
    /// The code that reads it.
    pub matcher: Matcher,
    /// A one-line description.
    pub title: String,
    /// The question or remark; `{quote}`, `{sentence}` and `{other}` are replaced by words of the
    /// text.
    pub message: String,
    /// Why the answer matters.
    pub reason: String,
    /// What to do about a finding.
    pub advice: String,
    /// When it matches and when it does not.
    pub explanation: String,
    /// Texts that it must flag; ` || ` separates the goal and the constraints.
    pub flags: Vec<String>,
    /// Texts that it must not flag.
    pub passes: Vec<String>,
    /// More texts that it must flag, one for each pattern that no other example needs.
    #[serde(default)]
    pub samples: Vec<String>,
    /// Whether a match counts only in a main clause, not behind *if* or *which*.
    #[serde(default)]
    pub(crate) main_clause: bool,
    /// Whether an answer can replace the quoted words.
    #[serde(default)]
    pub(crate) fills: bool,
    /// The opening bracket of a bracket rule.
    pub(crate) bracket: Option<char>,
    /// Words as written.
    #[serde(default)]
    pub(crate) words: Words,
    /// Patterns of words that make a finding.
    #[serde(default)]
    pub(crate) patterns: Vec<Pattern>,
    /// A match that overlaps the finding cancels it.
    #[serde(default)]
    pub(crate) unless: Vec<Pattern>,
    /// A match anywhere in the sentence cancels the finding.
    #[serde(default)]
    pub(crate) unless_sentence: Vec<Pattern>,
    /// Groups of words: sets of alternatives, or words in brackets.
    #[serde(default)]
    pub(crate) groups: Vec<Words>,
}

/// A list of words; the data separates them by white space.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Words {
    /// As written.
    pub list: Vec<String>,
    /// The hashes of the words in lower case, sorted.
    keys: Vec<u64>,
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        let mut keys = keys_of(&text);
        keys.sort_unstable();
        let list = text.split_whitespace().map(str::to_owned).collect();
        Self { list, keys }
    }
}

impl Words {
    /// Whether the list has the word as written.
    pub fn lists(&self, word: &str) -> bool {
        self.list.iter().any(|known| known == word)
    }

    /// Whether the list has the word with this key, in any letter case.
    pub fn has(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }
}

/// The indexes of a rule and of a pattern in it.
pub(crate) type PatternAt = (u16, u16);

/// All rules, and the word lists that they share.
pub struct RuleSet {
    /// The rules, sorted by id.
    pub rules: Vec<Rule>,
    /// The elements that profiles may require.
    pub elements: Vec<Element>,
    /// The profiles.
    pub profiles: Vec<Profile>,
    /// The digest of the bytes of all data files.
    pub digest: Digest,
    pub(crate) lexicon: Lexicon,
    /// From a word to the patterns that begin with it.
    pub(crate) index: Keyed<Vec<PatternAt>>,
    /// What is wrong with the data; a test ensures that nothing is.
    pub(crate) fault: Option<String>,
    version: String,
}

impl RuleSet {
    /// Returns the version of the kernel, with the first eight hex digits of [`RuleSet::digest`] as
    /// SemVer build metadata.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the rule with this id, in any letter case.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules
            .iter()
            .find(|rule| rule.id.eq_ignore_ascii_case(id))
    }

    /// Returns the names of the elements that a profile asks for in an intent of any length if it names none of them.
    pub fn essential<'s>(&'s self, profile: &'s Profile) -> impl Iterator<Item = &'s str> {
        let essential = profile.essential.iter();
        essential.map(|number| self.elements[*number].name.as_str())
    }

    /// Returns the names of the elements that a profile requires.
    pub fn required<'s>(&'s self, profile: &'s Profile) -> impl Iterator<Item = &'s str> {
        profile
            .requires
            .iter()
            .map(|at| self.elements[*at].name.as_str())
    }

    pub(crate) fn of_matcher(&self, matcher: Matcher) -> impl Iterator<Item = &Rule> {
        self.rules
            .iter()
            .filter(move |rule| rule.matcher == matcher && rule.severity != Severity::Off)
    }

    fn load() -> Self {
        let mut bytes = Vec::new();
        for (name, text) in FILES {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        let digest = Digest::of(&bytes);
        let version = format!("{KERNEL_VERSION}+{}", digest.hex_prefix(8));
        let mut set = RuleSet {
            rules: Vec::new(),
            elements: Vec::new(),
            profiles: Vec::new(),
            digest,
            lexicon: Lexicon::default(),
            index: Keyed::new(Vec::new()),
            fault: None,
            version,
        };
        for (name, text) in FILES {
            if let Err(fault) = raw::read_file(&mut set, text) {
                set.fault.get_or_insert(format!("{name}: {fault}"));
            }
        }
        set.rules.sort_by(|a, b| a.id.cmp(&b.id));
        set.index = index_patterns(&set.rules);
        set
    }
}

fn index_patterns(rules: &[Rule]) -> Keyed<Vec<PatternAt>> {
    let mut first: std::collections::BTreeMap<u64, Vec<PatternAt>> =
        std::collections::BTreeMap::new();
    for (number, rule) in rules.iter().enumerate() {
        if rule.severity == Severity::Off {
            continue;
        }
        for (at, pattern) in rule.patterns.iter().enumerate() {
            for key in pattern.first_keys() {
                first
                    .entry(key)
                    .or_default()
                    .push((number as u16, at as u16));
            }
        }
    }
    Keyed::new(first.into_iter().collect())
}

/// Returns the compiled-in rules.
pub fn rule_set() -> &'static RuleSet {
    static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::load);
    &RULES
}

/// Returns the keys of words that are separated by white space, in lower case.
pub(crate) fn keys_of(words: &str) -> Vec<u64> {
    words
        .split_whitespace()
        .map(|word| key_of(word.to_lowercase().as_bytes()))
        .collect()
}
