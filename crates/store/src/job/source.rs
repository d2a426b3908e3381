//! The tree of source files that steps read from.
//!
//! Paths come from a store that others may have written, so a path is opened only if it is a safe
//! relative path below the root without links in it. A section whose file has changed since it was
//! indexed is refused, with both hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::op::Op;
use runseal_core::formats::job_bundle::plan::StepBody;
use runseal_core::formats::job_bundle::section::{line_range, normalize_newlines};
use runseal_core::formats::job_bundle::slice::parse_slice;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};

use crate::store::{SectionRecord, StoreError, StoreReader, SymbolRecord};
use runseal_fs::directory::{DirectorySource, RootLink};

/// The largest source file that is read: a larger one could exhaust memory.
pub const MAX_SOURCE_BYTES: u64 = 256 << 20;

/// Why a step cannot be read: a code, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ReadFailure {
    /// A short code for the reason.
    pub code: &'static str,
    /// What went wrong, as the receipt states it.
    pub message: String,
}

impl ReadFailure {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// What a step reads, looked up in the store: a section and a slice of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The section to read, as it was indexed.
    pub section: SectionRecord,
    /// The slice: the step's own, else the symbol's default.
    pub slice: String,
}

/// How many sections are remembered.
const REMEMBERED: usize = 4096;

/// Resolves what steps read. Queries the store for many at a time and for each section once,
/// because a section id never changes its meaning.
#[derive(Debug, Default)]
pub struct Resolver {
    sections: BTreeMap<String, SectionRecord>,
    symbols: BTreeMap<String, SymbolRecord>,
}

impl Resolver {
    /// Forgets all symbols, because they can be redirected.
    pub fn forget_symbols(&mut self) {
        self.symbols.clear();
    }

    /// Queries the store for whatever these steps name that is not known yet.
    pub fn look_up<'b>(
        &mut self,
        store: &dyn StoreReader,
        bodies: impl Iterator<Item = &'b StepBody> + Clone,
    ) -> Result<(), StoreError> {
        if self.sections.len() > REMEMBERED {
            self.sections.clear();
        }
        let symbols: BTreeSet<&str> = bodies
            .clone()
            .filter(|body| body.op == Op::ReadSymbol)
            .map(|body| body.reference.as_str())
            .filter(|name| !self.symbols.contains_key(*name))
            .collect();
        if !symbols.is_empty() {
            let symbols: Vec<_> = symbols.into_iter().collect();
            for symbol in store.symbols_named(&symbols)? {
                self.symbols.insert(symbol.symbol_id.clone(), symbol);
            }
        }
        let sections: BTreeSet<&str> = bodies
            .filter_map(|body| self.section_id(body))
            .filter(|id| !self.sections.contains_key(*id))
            .collect();
        if !sections.is_empty() {
            let sections: Vec<_> = sections.into_iter().collect();
            for section in store.sections(&sections)? {
                self.sections.insert(section.section_id.clone(), section);
            }
        }
        Ok(())
    }

    fn section_id<'b>(&'b self, body: &'b StepBody) -> Option<&'b str> {
        match body.op {
            Op::ReadSection => Some(&body.reference),
            Op::ReadSymbol => self
                .symbols
                .get(&body.reference)
                .map(|symbol| symbol.section_id.as_str()),
        }
    }

    /// What a step reads; [`Resolver::look_up`] must have seen it.
    pub fn resolve(&self, body: &StepBody) -> Result<Resolved, ReadFailure> {
        let Some(section_id) = self.section_id(body) else {
            let message = format!("symbol `{}` is not registered", body.reference);
            return Err(ReadFailure::new("UNKNOWN_SYMBOL", message));
        };
        let Some(section) = self.sections.get(section_id) else {
            let message = format!("section `{section_id}` is not indexed");
            return Err(ReadFailure::new("UNKNOWN_SECTION", message));
        };
        let default = match body.op {
            Op::ReadSection => None,
            Op::ReadSymbol => self.symbols.get(&body.reference),
        };
        let default = default.and_then(|symbol| symbol.default_slice.clone());
        match body.slice.clone().or(default) {
            Some(slice) => Ok(Resolved {
                section: section.clone(),
                slice,
            }),
            None => Err(ReadFailure::new(
                "UNBOUNDED",
                format!("neither the step nor `{}` gives a slice", body.reference),
            )),
        }
    }
}

/// The tree of source files.
#[derive(Debug)]
pub struct SourceTree {
    root: DirectorySource,
}

impl SourceTree {
    /// Opens the tree at `root`.
    pub fn open(root: &Path) -> Result<Self, SourceError> {
        DirectorySource::open(root, RootLink::Follow).map(|root| Self { root })
    }

    /// Reads the text of a file, with line ends normalized to LF.
    pub fn read_text(&self, path: &str) -> Result<String, ReadFailure> {
        let safe = SafePath::parse(path).map_err(|error| {
            ReadFailure::new("UNSAFE_PATH", format!("`{path}` is not read: {error}"))
        })?;
        let bytes = self.root.read(&safe, MAX_SOURCE_BYTES).map_err(|error| {
            let code = match error {
                SourceError::NotFound { .. } => "SOURCE_MISSING",
                _ => "SOURCE_UNREADABLE",
            };
            ReadFailure::new(code, error.to_string())
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            ReadFailure::new(
                "NOT_TEXT",
                format!("`{path}` is not UTF-8 from byte {at} on"),
            )
        })?;
        Ok(match normalize_newlines(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(normalized) => normalized,
        })
    }
}

/// Returns the range of a section in its file's text, if the file still matches the index.
pub fn section_record_range(
    text: &str,
    section: &SectionRecord,
) -> Result<Range<usize>, ReadFailure> {
    let lines = section.line_start..section.line_end;
    section_range(text, &section.file_path, lines, &section.content_hash)
}

/// Returns the range of the section with these lines in the text of the file `path`, if it still
/// has its indexed hash.
pub fn section_range(
    text: &str,
    path: &str,
    lines: Range<u64>,
    content_hash: &str,
) -> Result<Range<usize>, ReadFailure> {
    let range = line_range(text, lines.start, lines.end);
    let actual = Digest::of(text[range.clone().unwrap_or(0..text.len())].as_bytes()).to_string();
    match range {
        Some(range) if actual == content_hash => Ok(range),
        _ => Err(ReadFailure::new(
            "SOURCE_CHANGED",
            format!(
                "`{}` has changed since it was indexed: lines {}-{} expected sha256 {}, actual {}",
                path, lines.start, lines.end, content_hash, actual
            ),
        )),
    }
}

/// Cuts a slice out of a section's text.
pub fn cut_slice<'t>(text: &'t str, slice: &str) -> Result<&'t str, ReadFailure> {
    parse_slice(slice)
        .and_then(|parsed| parsed.apply(text))
        .map_err(|error| ReadFailure::new("SLICE", error.to_string()))
}
