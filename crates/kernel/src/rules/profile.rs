//! Profiles: what an intent must name. Elements and profiles are in `rules/gaps.toml`.

use serde::Deserialize;

use super::Words;

/// Something an intent can name, such as its users.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Its name in profiles and questions.
    pub name: String,
    /// The question if it is not named.
    pub question: String,
    /// Any one of these words names it.
    pub(crate) words: Words,
}

/// A short list of elements that an intent must name.
#[derive(Debug)]
pub struct Profile {
    /// Its name in `context.profile`.
    pub name: String,
    /// A one-line description.
    pub about: String,
    /// Indexes into [`super::RuleSet::elements`].
    pub(crate) requires: Vec<usize>,
    /// Everything that is missing is asked only if goal and constraints have fewer words; `None` for always.
    pub below_words: Option<usize>,
    /// Without any of these, what is missing is asked in an intent of any length.
    pub(crate) essential: Vec<usize>,
}

/// The profile of an intent that names none.
pub const DEFAULT_PROFILE: &str = "default";
