//! Profiles: what an intent must name. The elements and the profiles stand in `rules/gaps.toml`.

use super::keys_of;

/// Something an intent can name, such as its users.
#[derive(Debug)]
pub struct Element {
    /// Its name in profiles and questions.
    pub name: String,
    /// What is asked where nobody named it.
    pub question: String,
    /// Words of which one is enough to count as named.
    pub(crate) keys: Vec<u64>,
}

impl Element {
    pub(super) fn new(name: String, question: String, words: &str) -> Self {
        let mut keys = keys_of(words);
        keys.sort_unstable();
        Self {
            name,
            question,
            keys,
        }
    }
}

/// A short list of elements that an intent must name.
#[derive(Debug)]
pub struct Profile {
    /// Its name in `context.profile`.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Positions in [`super::RuleSet::elements`].
    pub(crate) requires: Vec<usize>,
    /// Asked only where goal and constraints have fewer words.
    pub below_words: Option<usize>,
}

/// The profile of an intent that names none.
pub const DEFAULT_PROFILE: &str = "default";
