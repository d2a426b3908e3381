//! Catalogues: what is known about many sealed units, for listing, searching and comparing them.
//!
//! [`CatalogReader`] reads, [`Catalog`] also writes. Their contract is defined here and checked by
//! the same tests for every implementation. [`sqlite`] keeps a catalogue in one file;
//! `crates/postgres` keeps it on a server.
//!
//! Guarantees: only units that were judged valid are added, under the digest of the bytes that were
//! judged; a unit exists once, however often it is added; a batch is added as a whole or not at
//! all. A catalogue is not evidence. Except for tags, everything in it can be derived again from
//! the units, and nothing comes from our clock.

pub mod add;
mod collect;
pub mod compare;
mod entry;
pub mod filter;
mod name;
pub mod select;
pub mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location, with_cause};
use runseal_core::digest::Digest;
use runseal_core::verify::Outcome;
use thiserror::Error;

pub use entry::{Entry, Scalar, Sighting, UNSIGNED};
pub use filter::{Filter, FilterError};
pub use name::{Root, ValueName};

use crate::store::StoreError;

/// Why an operation on a catalogue failed.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// There is no catalogue.
    #[error("there is no catalogue at `{0}`")]
    Missing(String),
    /// The file is not a catalogue.
    #[error("`{0}` is not a runseal catalogue")]
    Foreign(PathBuf),
    /// It was made by a later version of this program.
    #[error("the catalogue has version {found}, this program supports up to {known}")]
    Newer {
        /// Its version.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// Its folder could not be created.
    #[error("cannot create the folder `{path}`")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Its file may not be written to.
    #[error(transparent)]
    Write(#[from] runseal_fs::atomic::WriteError),
    /// SQLite refused or failed.
    #[cfg(feature = "sqlite")]
    #[error("the catalogue failed")]
    Sql(#[from] rusqlite::Error),
    /// A server refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused the thread that looks for units while others are being added.
    #[error("cannot start the thread that looks for units")]
    Thread(#[source] std::io::Error),
    /// A row that this program cannot have written.
    #[error("the catalogue is damaged: {0}")]
    Damaged(&'static str),
    /// A name that refers to nothing.
    #[error("nothing in the catalogue has the digest or the tag `{0}`")]
    Unknown(String),
    /// A name that refers to several units.
    #[error("`{name}` could be {}", list_digests(.digests))]
    Ambiguous {
        /// The text.
        name: String,
        /// Some of the units.
        digests: Vec<Digest>,
    },
    /// A text that is not a valid tag.
    #[error("`{0}` is not a tag")]
    BadTag(String),
}

impl Diagnose for CatalogError {
    fn diagnosis(&self) -> Diagnosis {
        let reported = |outcome, code| Diagnosis::of(self, outcome, code).message(with_cause(self));
        let catalog = || reported(Outcome::Unreadable, "CATALOG");
        match self {
            Self::Store(error) => error.diagnosis(),
            Self::Missing(_) => {
                catalog().hint("`runseal catalog add PATH` makes one; --store names one")
            }
            Self::Foreign(_) => {
                catalog().hint("--store names another file; nothing was changed in this one")
            }
            Self::Newer { .. } => catalog()
                .located(Location::Named)
                .hint("use the program that wrote it, or a later one"),
            Self::Damaged(_) => catalog()
                .hint("remove it and `runseal catalog rebuild` it from the bundles; tags are lost"),
            Self::Unknown(_) => reported(Outcome::Unreadable, "NOT_FOUND").hint(
                "name it by the first digits of its digest, four or more, or by a tag; \
                 `runseal catalog list` shows both",
            ),
            Self::Ambiguous { .. } => {
                reported(Outcome::Unreadable, "AMBIGUOUS").hint("give more digits of the digest")
            }
            Self::BadTag(_) => reported(Outcome::Usage, "USAGE")
                .hint("a tag has up to 100 characters on one line, and no blanks around it"),
            #[cfg(feature = "sqlite")]
            Self::Sql(_) => catalog().located(Location::Named),
            Self::Folder { .. } | Self::Write(_) | Self::Thread(_) => catalog(),
        }
    }
}

fn list_digests(digests: &[Digest]) -> String {
    let shown: Vec<_> = digests
        .iter()
        .map(|digest| format!("`{}`", digest.hex_prefix(16)))
        .collect();
    shown.join(" or ")
}

/// A query. Results are ordered newest first, then by digest; units without a time come last.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The condition that units must meet.
    pub filter: Option<Filter>,
    /// Words that must all occur, each as a prefix of a word.
    pub words: Vec<String>,
    /// The most results.
    pub limit: Option<usize>,
}

/// The result of adding units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added {
    /// Units that were new.
    pub added: u64,
    /// Units that already existed.
    pub known: u64,
}

/// What to do with a unit that already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep it, and add the new place.
    Keep,
    /// Rewrite all of it except its tags.
    Replace,
}

/// A catalogue, for reading.
pub trait CatalogReader {
    /// Calls `see` with every result of the query, in order, until it returns false.
    ///
    /// # Errors
    /// When the database fails.
    fn visit(&self, query: &Query, see: &mut dyn FnMut(Entry) -> bool) -> Result<(), CatalogError>;

    /// Returns the digests that begin with these hex digits, in order; at most `most`.
    ///
    /// # Errors
    /// When the database fails.
    fn digests(&self, prefix: &str, most: usize) -> Result<Vec<Digest>, CatalogError>;

    /// Returns the units that have this tag, by digest.
    ///
    /// # Errors
    /// When the database fails.
    fn tagged(&self, tag: &str) -> Result<Vec<Digest>, CatalogError>;

    /// Returns the number of units.
    ///
    /// # Errors
    /// When the database fails.
    fn count(&self) -> Result<u64, CatalogError>;
}

/// A catalogue, for writing.
pub trait Catalog: CatalogReader + Send {
    /// Adds units with their places; all of them or none.
    ///
    /// # Errors
    /// When the database fails.
    fn add(&mut self, entries: &[Entry], existing: Existing) -> Result<Added, CatalogError>;

    /// Removes every place that is not among `seen`, and every unit that has none left; returns the
    /// number of removed units.
    ///
    /// # Errors
    /// When the database fails; nothing was removed then.
    fn retain(&mut self, seen: &BTreeSet<(Digest, String)>) -> Result<u64, CatalogError>;

    /// Adds tags to units and removes others; returns the number of units that changed.
    ///
    /// # Errors
    /// When the database fails; nothing was changed then.
    fn tag(
        &mut self,
        digests: &[Digest],
        add: &BTreeSet<String>,
        remove: &BTreeSet<String>,
    ) -> Result<u64, CatalogError>;

    /// Removes units; returns how many of them existed.
    ///
    /// # Errors
    /// When the database fails; nothing was removed then.
    fn remove(&mut self, digests: &[Digest]) -> Result<u64, CatalogError>;

    /// This catalogue, for reading.
    fn as_reader(&self) -> &dyn CatalogReader;
}

/// The fewest digits of a digest that may name a unit.
const FEWEST_DIGITS: usize = 4;
/// How many units an error about an ambiguous name lists.
const MOST_LISTED: usize = 4;
/// The longest tag, in characters.
const LONGEST_TAG: usize = 100;

/// Returns the units that a name refers to: one, by the first digits of its digest; or all with
/// this tag.
///
/// # Errors
/// When it refers to nothing, is ambiguous, or the database fails.
pub fn resolve(catalog: &dyn CatalogReader, name: &str) -> Result<Vec<Digest>, CatalogError> {
    let is_hex = name.len() >= FEWEST_DIGITS && sql::digest_range(name).is_some();
    let mut found = if is_hex {
        catalog.digests(name, MOST_LISTED)?
    } else {
        Vec::new()
    };
    let tagged = catalog.tagged(name)?;
    if found.len() > 1 || (!found.is_empty() && !tagged.is_empty()) {
        found.extend(tagged);
        found.truncate(MOST_LISTED);
        return Err(CatalogError::Ambiguous {
            name: name.to_owned(),
            digests: found,
        });
    }
    found.extend(tagged);
    if found.is_empty() {
        Err(CatalogError::Unknown(name.to_owned()))
    } else {
        Ok(found)
    }
}

/// Returns the entries of these units, in this order; units that no longer exist are left out.
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

/// Checks that a text is a valid tag: short, on one line, without white space at its ends.
///
/// # Errors
/// When it is not.
pub fn check_tag(tag: &str) -> Result<(), CatalogError> {
    let is_tag = !tag.is_empty()
        && tag.chars().count() <= LONGEST_TAG
        && tag.trim() == tag
        && !tag.chars().any(char::is_control);
    if is_tag {
        Ok(())
    } else {
        Err(CatalogError::BadTag(tag.escape_debug().to_string()))
    }
}
