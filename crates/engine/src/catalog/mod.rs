//! Catalogues: what there is to know of many sealed units, to list, search and compare them by.
//!
//! [`CatalogReader`] looks, [`Catalog`] also writes. What they promise is said here and tried on every
//! catalogue by the same tests; how it is kept is each one's own affair. [`sqlite`] keeps it in one
//! file; `crates/postgres` on a server.
//!
//! What holds in each: only units that were judged valid come in, by the digest of the bytes that were
//! judged; a unit comes in once, however often it is added; a batch comes in whole or not at all. A
//! catalogue is no evidence. It holds nothing but tags that could not be read from the units again,
//! and no clock of ours.

pub mod add;
mod collect;
pub mod compare;
mod entry;
pub mod filter;
mod name;
pub mod select;
pub mod sql;
pub mod sqlite;
pub mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;

use runseal_core::digest::Digest;
use thiserror::Error;

pub use entry::{Entry, Scalar, Sighting, UNSIGNED};
pub use filter::{Filter, FilterError};
pub use name::{Root, ValueName};

use crate::store::StoreError;

/// Why something could not be done with a catalogue.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// There is no catalogue.
    #[error("there is no catalogue at `{0}`")]
    Missing(String),
    /// The file is something else.
    #[error("`{0}` is no catalogue of runseal")]
    Foreign(PathBuf),
    /// A later version of the program made it.
    #[error("the catalogue has version {found}, and this program knows {known}")]
    Newer {
        /// Its version.
        found: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// Its folder could not be made.
    #[error("the folder `{path}` cannot be made")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// SQLite refused or failed.
    #[error("the catalogue failed")]
    Sql(#[from] rusqlite::Error),
    /// A server refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row that no program of ours wrote.
    #[error("the catalogue is damaged: {0}")]
    Damaged(&'static str),
    /// A text that names nothing.
    #[error("nothing in the catalogue has the digest or the tag `{0}`")]
    Unknown(String),
    /// A text that names several units though one is meant.
    #[error("`{name}` could be {}", list_digests(.digests))]
    Ambiguous {
        /// The text.
        name: String,
        /// Some of the units.
        digests: Vec<Digest>,
    },
    /// A tag that cannot be one.
    #[error("`{0}` is no tag")]
    BadTag(String),
}

fn list_digests(digests: &[Digest]) -> String {
    let shown: Vec<_> = digests
        .iter()
        .map(|digest| format!("`{}`", digest.hex_prefix(16)))
        .collect();
    shown.join(" or ")
}

/// What is asked of a catalogue. Everything is answered newest first, then by digest; what has no time
/// comes last.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// What must hold.
    pub filter: Option<Filter>,
    /// Words that must all be there, each as the beginning of a word.
    pub words: Vec<String>,
    /// How many at the most.
    pub limit: Option<usize>,
}

/// What adding gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added {
    /// Units that were new.
    pub added: u64,
    /// Units that were there already.
    pub known: u64,
}

/// What becomes of a unit that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays as it is, and is seen at one more place.
    Keep,
    /// All of it but its tags is written anew.
    Replace,
}

/// A catalogue, to look at.
pub trait CatalogReader {
    /// Shows `see` what is asked for, in order, until it says no.
    ///
    /// # Errors
    /// When the database fails.
    fn visit(&self, query: &Query, see: &mut dyn FnMut(Entry) -> bool) -> Result<(), CatalogError>;

    /// The digests that begin with these hex digits, in order, `most` of them at the most.
    ///
    /// # Errors
    /// When the database fails.
    fn digests(&self, prefix: &str, most: usize) -> Result<Vec<Digest>, CatalogError>;

    /// The units that have this tag, by digest.
    ///
    /// # Errors
    /// When the database fails.
    fn tagged(&self, tag: &str) -> Result<Vec<Digest>, CatalogError>;

    /// How many units there are.
    ///
    /// # Errors
    /// When the database fails.
    fn count(&self) -> Result<u64, CatalogError>;
}

/// A catalogue, to write to.
pub trait Catalog: CatalogReader + Send {
    /// Adds units with where they were seen; all of them or none.
    ///
    /// # Errors
    /// When the database fails.
    fn add(&mut self, entries: &[Entry], existing: Existing) -> Result<Added, CatalogError>;

    /// Forgets every sighting that is not among these, and every unit that is left without one; gives
    /// the number of those.
    ///
    /// # Errors
    /// When the database fails; then nothing was forgotten.
    fn retain(&mut self, seen: &BTreeSet<(Digest, String)>) -> Result<u64, CatalogError>;

    /// Gives tags to units and takes others from them; gives the number of units that changed.
    ///
    /// # Errors
    /// When the database fails; then nothing was changed.
    fn tag(
        &mut self,
        digests: &[Digest],
        add: &BTreeSet<String>,
        remove: &BTreeSet<String>,
    ) -> Result<u64, CatalogError>;

    /// Forgets units; gives the number of those that were there.
    ///
    /// # Errors
    /// When the database fails; then nothing was forgotten.
    fn remove(&mut self, digests: &[Digest]) -> Result<u64, CatalogError>;

    /// This catalogue, to look at.
    fn as_reader(&self) -> &dyn CatalogReader;
}

/// Digits of a digest that are needed to name a unit.
const FEWEST_DIGITS: usize = 4;
/// Units that an ambiguous name is told with.
const TOLD: usize = 4;
/// Characters of a tag.
const LONGEST_TAG: usize = 100;

/// The units that a text names: one, by the first digits of its digest; or all that have it as a tag.
///
/// # Errors
/// When nothing or more than one thing is meant, or the database fails.
pub fn resolve(catalog: &dyn CatalogReader, name: &str) -> Result<Vec<Digest>, CatalogError> {
    let is_hex = name.len() >= FEWEST_DIGITS && sql::digest_range(name).is_some();
    let mut found = match is_hex {
        true => catalog.digests(name, TOLD)?,
        false => Vec::new(),
    };
    let tagged = catalog.tagged(name)?;
    if found.len() > 1 || (!found.is_empty() && !tagged.is_empty()) {
        found.extend(tagged);
        found.truncate(TOLD);
        return Err(CatalogError::Ambiguous {
            name: name.to_owned(),
            digests: found,
        });
    }
    found.extend(tagged);
    match found.is_empty() {
        true => Err(CatalogError::Unknown(name.to_owned())),
        false => Ok(found),
    }
}

/// The entries of these units, in this order; those that are gone are left out.
///
/// # Errors
/// When the database fails.
pub fn entries_of(
    catalog: &dyn CatalogReader,
    digests: &[Digest],
) -> Result<Vec<Entry>, CatalogError> {
    let mut entries = Vec::new();
    for digest in digests {
        let test = filter::Test {
            field: filter::Field::Digest,
            check: Some((
                filter::Comparison::Equal,
                filter::Literal {
                    text: digest.to_string(),
                    number: None,
                },
            )),
        };
        let query = Query {
            filter: Some(Filter::Test(test)),
            ..Query::default()
        };
        catalog.visit(&query, &mut |entry| {
            entries.push(entry);
            true
        })?;
    }
    Ok(entries)
}

/// Checks that a text can be a tag: short, on one line, without blanks at its ends.
///
/// # Errors
/// When it cannot.
pub fn check_tag(tag: &str) -> Result<(), CatalogError> {
    let is_tag = !tag.is_empty()
        && tag.chars().count() <= LONGEST_TAG
        && tag.trim() == tag
        && !tag.chars().any(char::is_control);
    match is_tag {
        true => Ok(()),
        false => Err(CatalogError::BadTag(tag.escape_debug().to_string())),
    }
}
