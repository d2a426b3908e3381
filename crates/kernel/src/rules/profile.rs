//! Profiles: what an intent must name. The elements and the profiles stand in `rules/gaps.toml`.

use serde::Deserialize;

use super::Words;

/// Something an intent can name, such as its users.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Its name in profiles and questions.
    pub name: String,
    /// What is asked where nobody named it.
    pub question: String,
    /// Words of which one is enough to count as named.
    pub(crate) words: Words,
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
    /// Asked only where goal and constraints have fewer words; always where there is no number.
    pub below_words: Option<usize>,
}

/// The profile of an intent that names none.
pub const DEFAULT_PROFILE: &str = "default";
