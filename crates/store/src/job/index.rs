//! Indexes the sections of text files into the store.
//!
//! The walk honours .gitignore files, skips hidden files, follows no links and proceeds by name, so
//! the same tree gives the same index. A file is not read again if its size, times and inode number
//! are unchanged since the last run.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::diagnosis::{Diagnose, Diagnosis, with_cause};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::section::{
    Outline, is_markdown, lines_between, outline_file, outline_markdown,
};
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use thiserror::Error;

use super::source::{MAX_SOURCE_BYTES, SourceTree};
use crate::store::{IndexedFile, SectionRecord, Store, StoreError};

/// A file modified this shortly before it was read may be modified again without a new timestamp.
const RACY: Duration = Duration::from_secs(2);

/// Why nothing was indexed.
#[derive(Debug, Error)]
pub enum IndexError {
    /// A path does not exist or cannot be inspected.
    #[error("cannot inspect `{path}`")]
    Path {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A path is not below the root.
    #[error("`{path}` is not below the root `{root}`")]
    Outside {
        /// The path as given.
        path: PathBuf,
        /// The root of the sources.
        root: PathBuf,
    },
    /// The root cannot be opened.
    #[error(transparent)]
    Root(#[from] SourceError),
    /// The walk failed.
    #[error("cannot walk the tree")]
    Walk(#[from] ignore::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Diagnose for IndexError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Store(error) => error.diagnosis(),
            Self::Root(error) => error.diagnosis(),
            Self::Outside { .. } => Diagnosis::unreadable(self, "OUTSIDE")
                .hint("name the folder above both with --root"),
            Self::Path { .. } | Self::Walk(_) => Diagnosis::unreadable(self, "NOT_FOUND")
                .message(with_cause(self))
                .hint("check the name"),
        }
    }
}

/// The result of indexing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSummary {
    /// Text files below the paths.
    pub files: u64,
    /// The number of sections in all files.
    pub sections: u64,
    /// Files that are new, changed or deleted since the last run.
    pub changed: u64,
    /// The hash over all current sections in the store.
    pub index_hash: Digest,
    /// Files that were not indexed, with the reasons.
    pub skipped: Vec<(String, String)>,
}

/// Indexes the text files at `paths`, which must be below `root`.
pub fn index_paths(
    store: &mut dyn Store,
    root: &Path,
    paths: &[PathBuf],
) -> Result<IndexSummary, IndexError> {
    let tree = SourceTree::open(root)?;
    let resolve = |path: &Path| {
        path.canonicalize().map_err(|source| IndexError::Path {
            path: path.to_owned(),
            source,
        })
    };
    let whole_root = resolve(root)?;
    let mut skipped = Vec::new();
    let mut found: BTreeMap<String, Metadata> = BTreeMap::new();
    let mut asked = Vec::new();
    for path in paths {
        let whole = resolve(path)?;
        let Ok(below) = whole.strip_prefix(&whole_root) else {
            return Err(IndexError::Outside {
                path: path.clone(),
                root: root.to_owned(),
            });
        };
        asked.push(below.to_owned());
        walk(&whole_root, &whole, &mut found, &mut skipped)?;
    }
    let known = store.indexed_files()?;
    let counts = store.section_counts()?;
    let mut read = Vec::new();
    let mut summary = IndexSummary {
        files: 0,
        sections: 0,
        changed: 0,
        index_hash: Digest::of(b""),
        skipped: Vec::new(),
    };
    let mut kept: Vec<&str> = Vec::new();
    for (path, metadata) in &found {
        let before = known.get(path);
        let stamp = stamp_of(metadata);
        if before.is_some_and(|before| before.stamp == stamp) {
            summary.files += 1;
            summary.sections += counts.get(path).copied().unwrap_or_default();
            kept.push(path);
            continue;
        }
        let text = match read_indexable(&tree, path, metadata) {
            Ok(text) => text,
            Err(reason) => {
                skipped.push((path.clone(), reason));
                continue;
            }
        };
        let file_hash = Digest::of(text.as_bytes()).to_string();
        let sections = sections_of(path, &text);
        summary.files += 1;
        summary.sections += sections.len() as u64;
        summary.changed += u64::from(before.is_none_or(|before| before.file_hash != file_hash));
        kept.push(path);
        let stamp = if is_racy(metadata) {
            String::new()
        } else {
            stamp
        };
        read.push((path.clone(), IndexedFile { stamp, file_hash }, sections));
    }
    let gone: Vec<String> = known
        .keys()
        .filter(|path| asked.iter().any(|asked| Path::new(path).starts_with(asked)))
        .filter(|path| kept.binary_search(&path.as_str()).is_err())
        .cloned()
        .collect();
    summary.changed += gone.len() as u64;
    store.record_index(&read, &gone)?;
    summary.index_hash = store.compute_index_hash()?;
    skipped.sort();
    skipped.dedup();
    summary.skipped = skipped;
    Ok(summary)
}

fn walk(
    root: &Path,
    start: &Path,
    found: &mut BTreeMap<String, Metadata>,
    skipped: &mut Vec<(String, String)>,
) -> Result<(), IndexError> {
    // Nothing outside the tree, such as user or system configuration, may influence the index.
    let walk = ignore::WalkBuilder::new(start)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .ignore(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .build();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                skipped.push((start.display().to_string(), error.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let Some(path) = below.to_str() else {
            skipped.push((
                below.display().to_string(),
                "the name is not UTF-8".to_owned(),
            ));
            continue;
        };
        if let Err(error) = SafePath::parse(path) {
            skipped.push((path.to_owned(), error.to_string()));
            continue;
        }
        match entry.metadata() {
            Ok(metadata) => {
                found.insert(path.to_owned(), metadata);
            }
            Err(error) => skipped.push((path.to_owned(), error.to_string())),
        }
    }
    Ok(())
}

fn read_indexable(tree: &SourceTree, path: &str, metadata: &Metadata) -> Result<String, String> {
    if metadata.len() > MAX_SOURCE_BYTES {
        return Err(format!("it is longer than {MAX_SOURCE_BYTES} bytes"));
    }
    let text = tree.read_text(path).map_err(|failure| failure.message)?;
    if text.contains('\0') {
        return Err("it contains NUL bytes, so it is not text".to_owned());
    }
    Ok(text)
}

/// Returns the sections of a file: the whole and, in Markdown, one for each heading.
fn sections_of(path: &str, text: &str) -> Vec<SectionRecord> {
    let mut outlines = vec![outline_file(text)];
    if is_markdown(path) {
        outlines.extend(outline_markdown(text));
    }
    outlines
        .iter()
        .filter_map(|outline| section_record(path, text, outline))
        .collect()
}

fn section_record(path: &str, text: &str, outline: &Outline) -> Option<SectionRecord> {
    let (start, end) = (outline.line_start, outline.line_end);
    let content = lines_between(text, start, end)?;
    let content_hash = Digest::of(content.as_bytes());
    let headings = Value::array(outline.heading_path.iter().map(String::as_str));
    let heading_path = canonical_bytes(&headings, Dialect::Job).ok()?;
    Some(SectionRecord {
        section_id: derive_section_id(path, start, end, content_hash),
        file_path: path.to_owned(),
        heading_path: String::from_utf8(heading_path).ok()?,
        line_start: start,
        line_end: end,
        content_hash: content_hash.to_string(),
    })
}

/// Derives the id of a section: SHA-256 of `<path>:<line_start>:<line_end>:<content hash>`.
fn derive_section_id(path: &str, start: u64, end: u64, content: Digest) -> String {
    Digest::of(format!("{path}:{start}:{end}:{content}").as_bytes()).to_string()
}

fn stamp_of(metadata: &Metadata) -> String {
    format!(
        "{}:{}.{:09}:{}.{:09}:{}",
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.ino()
    )
}

/// Returns whether the file was modified so recently that another write might leave its timestamps
/// unchanged.
fn is_racy(metadata: &Metadata) -> bool {
    match metadata
        .modified()
        .map(|time| SystemTime::now().duration_since(time))
    {
        Ok(Ok(age)) => age < RACY,
        _ => true,
    }
}
