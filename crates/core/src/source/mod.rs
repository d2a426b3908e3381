//! How verification sees files: a list of entries with their kinds, and the bytes of each file.
//!
//! Rules never see a source. The code that collects facts for them reads a source, which may be a
//! folder, an archive or memory, and gets the same answers from each. A source never follows a link,
//! and never reports a file that it could not read as absent or empty.

mod content;
mod digests;
mod pieces;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

use crate::diagnosis::{Diagnose, Diagnosis};
use crate::digest::Digest;
use crate::path::{SafePath, UnsafePath};

pub use content::{ContentFact, TextCheck};
pub use digests::{Algorithm, Algorithms, FileDigests, Hashers};
pub use pieces::{PIECE, Piece, PiecedFile, read_pieces};

/// What an entry is. Only a file has bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link; never followed.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket, a device, or something stranger.
    Special,
}

impl EntryKind {
    /// The kind with its article, for messages.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a folder",
            Self::Symlink => "a symbolic link",
            Self::Fifo => "a named pipe",
            Self::Special => "a device or socket",
        }
    }
}

/// The name of an entry, below the source's root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryName {
    /// A name that can be read.
    Safe(SafePath),
    /// A name that is only shown. Boxed, because it is rare and lists of names are long.
    Unsafe(Box<UnsafeName>),
}

/// A name that is not a safe path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsafeName {
    /// The name with everything unprintable escaped.
    pub shown: String,
    /// What is wrong with it; `None` if it is not UTF-8.
    pub fault: Option<UnsafePath>,
    /// The name itself, if it is UTF-8.
    pub text: Option<String>,
}

impl UnsafeName {
    /// What is wrong with it, in words.
    pub fn reason(&self) -> String {
        self.fault
            .map_or("it is not UTF-8".to_owned(), |fault| fault.to_string())
    }
}

impl EntryName {
    /// Parses a name as a system or an archive gives it.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let name = match str::from_utf8(bytes) {
            Ok(text) => match SafePath::parse(text) {
                Ok(path) => return Self::Safe(path),
                Err(fault) => UnsafeName {
                    shown: text.escape_debug().to_string(),
                    fault: Some(fault),
                    text: Some(text.to_owned()),
                },
            },
            Err(_) => UnsafeName {
                shown: bytes.escape_ascii().to_string(),
                fault: None,
                text: None,
            },
        };
        Self::Unsafe(Box::new(name))
    }

    /// The unescaped name, for machine output; the shown name if it is not UTF-8.
    pub fn exact(&self) -> &str {
        match self {
            Self::Safe(path) => path.as_str(),
            Self::Unsafe(name) => name.text.as_deref().unwrap_or(&name.shown),
        }
    }

    /// The name as reports show it.
    pub fn shown(&self) -> &str {
        match self {
            Self::Safe(path) => path.as_str(),
            Self::Unsafe(name) => &name.shown,
        }
    }
}

/// One entry below the source's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: EntryName,
    /// What it is.
    pub kind: EntryKind,
}

/// A file that belongs to what was judged, as answers list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberFile {
    /// Its name below the root.
    pub path: String,
    /// What it is, if it is not a regular file.
    pub kind: Option<&'static str>,
    /// Its size.
    pub bytes: u64,
    /// Its digest; `None` if it is not a regular file or could not be read.
    pub sha256: Option<Digest>,
}

/// Why something could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing has this name.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The name.
        path: String,
    },
    /// It is not a regular file, so it is not opened.
    #[error("`{path}` is {}, not a file", .kind.with_article())]
    NotAFile {
        /// The name.
        path: String,
        /// What it is.
        kind: EntryKind,
    },
    /// It is not a folder, so there is nothing to list.
    #[error("`{path}` is {}, not a folder", .kind.with_article())]
    NotAFolder {
        /// The name.
        path: String,
        /// What it is.
        kind: EntryKind,
    },
    /// It has more bytes than the caller wants to read.
    #[error("`{path}` has more than {limit} bytes")]
    TooLarge {
        /// The name.
        path: String,
        /// The most bytes that are read.
        limit: u64,
    },
    /// There are more entries than the limit.
    #[error("`{path}` holds more than {limit} entries")]
    TooMany {
        /// The folder that was being listed.
        path: String,
        /// The most entries that are listed.
        limit: u64,
    },
    /// The system returned an error.
    #[error("`{path}` could not be read")]
    Io {
        /// The name.
        path: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for SourceError {
    fn diagnosis(&self) -> Diagnosis {
        const LIMITS: &str = "docs/limits.md lists the limits and what each one stops";
        let (code, hint) = match self {
            Self::NotFound { path } if path.contains("!/") => (
                "NOT_FOUND",
                "this command does not look inside archives; unpack it and name the folder",
            ),
            Self::NotFound { .. } => ("NOT_FOUND", "check the name"),
            Self::NotAFile { .. } => (
                "NOT_A_FILE",
                "name a regular file, or pipe the text in and name `-`",
            ),
            Self::NotAFolder { .. } => ("NOT_A_FOLDER", "name a folder"),
            Self::TooLarge { .. } => ("TOO_LARGE", LIMITS),
            Self::TooMany { .. } => ("TOO_MANY", LIMITS),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => (
                "NO_PERMISSION",
                "ask for the right to read it, or run as its owner",
            ),
            Self::Io { .. } => return Diagnosis::unreadable(self, "IO"),
        };
        Diagnosis::unreadable(self, code).hint(hint)
    }
}

/// Files as verification sees them.
pub trait Source: Sync {
    /// Lists everything below the root, including folders, ordered by name.
    fn entries(&self) -> Result<Vec<Entry>, SourceError>;

    /// Opens a regular file for reading from its beginning.
    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError>;

    /// Reads a whole regular file, if it has at most `limit` bytes.
    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let file = self.open(path)?;
        read_bounded(file, path.as_str(), 0, limit)
    }

    /// Like [`Source::read`], but without a copy if the source has the bytes in memory.
    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        self.read(path, limit).map(Cow::Owned)
    }

    /// Returns the facts of a regular file of any size. A source that has already read it, such as a
    /// stream that cannot be read twice, answers from what it noted then.
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let file = self.open(path)?;
        ContentFact::read(file).map_err(|source| SourceError::Io {
            path: path.to_string(),
            source,
        })
    }

    /// Returns the size and digest of a regular file of any size.
    fn digest(&self, path: &SafePath) -> Result<(u64, Digest), SourceError> {
        let content = self.content(path)?;
        Ok((content.bytes, content.sha256))
    }

    /// Returns the digests of a regular file of any size, under SHA-256 and all functions of `wanted`.
    fn digests(&self, path: &SafePath, wanted: Algorithms) -> Result<FileDigests, SourceError> {
        let file = self.open(path)?;
        FileDigests::read(file, wanted).map_err(|source| SourceError::Io {
            path: path.to_string(),
            source,
        })
    }

    /// Reads a regular file of any size in pieces, with the digest of each.
    fn pieces(&self, path: &SafePath) -> Result<PiecedFile, SourceError> {
        pieces_of(self.open(path)?, path)
    }

    /// Looks at many files, opening each once, and passes each to `see` with its index. A source may
    /// do so over several threads or connections, in any order.
    fn visit(&self, files: &[(SafePath, Want)], see: &(dyn Fn(usize, Seen) + Sync)) {
        for (at, (path, want)) in files.iter().enumerate() {
            see(at, look(self, path, *want));
        }
    }
}

/// Lends threads to the judging of one unit.
pub trait Threads: Sync {
    /// Does both, in parallel if there are threads for that.
    fn do_both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send));

    /// Calls `work` with the number of files to look at in one visit, and returns when it is done. Calls it
    /// on several threads at once if there are any and so many `files` are worth it.
    fn together(&self, files: usize, work: &(dyn Fn(usize) + Sync));
}

/// Lends nothing: everything is done on the thread that asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoThreads;

impl NoThreads {
    /// Files per visit if no other thread shares them. A source may spread them over its connections.
    const FILES_AT_ONCE: usize = 16_384;
}

impl Threads for NoThreads {
    fn do_both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        first();
        second();
    }

    fn together(&self, _files: usize, work: &(dyn Fn(usize) + Sync)) {
        work(Self::FILES_AT_ONCE);
    }
}

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// All its bytes, if they are at most this many.
    Whole(u64),
    /// The facts of its bytes, whatever its size.
    Fact,
    /// Its digests under SHA-256 and these functions, whatever its size.
    Digests(Algorithms),
}

/// What was read of a file.
#[derive(Debug)]
pub enum Got {
    /// Its bytes.
    Whole(Vec<u8>),
    /// The facts of its bytes.
    Fact(ContentFact),
    /// Its digests.
    Digests(FileDigests),
}

/// The result of visiting a file.
pub type Seen = Result<Got, SourceError>;

/// Looks at one file.
pub fn look<S: Source + ?Sized>(source: &S, path: &SafePath, want: Want) -> Seen {
    match want {
        Want::Whole(limit) => source.read(path, limit).map(Got::Whole),
        Want::Fact => source.content(path).map(Got::Fact),
        Want::Digests(wanted) => source.digests(path, wanted).map(Got::Digests),
    }
}

/// Reads a file in pieces; `path` is for messages.
pub fn pieces_of(mut file: impl Read, path: &SafePath) -> Result<PiecedFile, SourceError> {
    read_pieces(&mut file, |_| ()).map_err(|source| SourceError::Io {
        path: path.to_string(),
        source,
    })
}

/// Reads `file` to its end, if it has at most `limit` bytes. `expected` is its presumed size, so that
/// memory is allocated once; `path` is for messages.
pub fn read_bounded(
    file: impl Read,
    path: &str,
    expected: u64,
    limit: u64,
) -> Result<Vec<u8>, SourceError> {
    let fail = |source| SourceError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let expected = usize::try_from(expected.min(limit)).unwrap_or(usize::MAX);
    // One more byte, so that the end is found without growing.
    bytes
        .try_reserve_exact(expected.saturating_add(1))
        .map_err(|error| fail(error.into()))?;
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(SourceError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(bytes)
}

/// Files held in memory.
#[derive(Debug, Clone, Default)]
pub struct MemorySource {
    files: BTreeMap<SafePath, Vec<u8>>,
}

impl MemorySource {
    /// A source of the given files.
    pub fn new(files: impl IntoIterator<Item = (SafePath, Vec<u8>)>) -> Self {
        Self {
            files: files.into_iter().collect(),
        }
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: SafePath, bytes: Vec<u8>) {
        self.files.insert(path, bytes);
    }
}

impl Source for MemorySource {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let mut entries: BTreeMap<String, EntryKind> = BTreeMap::new();
        for path in self.files.keys() {
            for (at, _) in path.as_str().match_indices('/') {
                entries.insert(path.as_str()[..at].to_owned(), EntryKind::Directory);
            }
            entries.insert(path.to_string(), EntryKind::File);
        }
        let entry = |(name, kind): (String, _)| Entry {
            name: EntryName::from_bytes(name.as_bytes()),
            kind,
        };
        Ok(entries.into_iter().map(entry).collect())
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        match self.files.get(path) {
            Some(bytes) => Ok(Box::new(bytes.as_slice())),
            None => Err(SourceError::NotFound {
                path: path.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SafePath {
        SafePath::parse(text).unwrap()
    }

    #[test]
    fn memory_source_lists_files_and_the_folders_above_them() {
        let source = MemorySource::new([(path("a/b/c"), vec![1]), (path("d"), vec![])]);
        let listed: Vec<_> = source
            .entries()
            .unwrap()
            .into_iter()
            .map(|entry| (entry.name.shown().to_owned(), entry.kind))
            .collect();
        assert_eq!(
            listed,
            [
                ("a".to_owned(), EntryKind::Directory),
                ("a/b".to_owned(), EntryKind::Directory),
                ("a/b/c".to_owned(), EntryKind::File),
                ("d".to_owned(), EntryKind::File),
            ]
        );
    }

    #[test]
    fn source_read_is_bounded() {
        let source = MemorySource::new([(path("a"), vec![7; 10])]);
        assert_eq!(source.read(&path("a"), 10).unwrap(), [7; 10]);
        assert!(matches!(
            source.read(&path("a"), 9),
            Err(SourceError::TooLarge { limit: 9, .. })
        ));
        assert!(matches!(
            source.read(&path("b"), 9),
            Err(SourceError::NotFound { .. })
        ));
    }

    #[test]
    fn entry_name_strange_is_shown_escaped_and_not_safe() {
        for (bytes, shown) in [
            (b"a\nb".as_slice(), "a\\nb"),
            (b"\xff\xfe", "\\xff\\xfe"),
            (b"..", ".."),
            (b"a\\b", "a\\\\b"),
        ] {
            let name = EntryName::from_bytes(bytes);
            assert!(matches!(name, EntryName::Unsafe(_)));
            assert_eq!(name.shown(), shown);
        }
    }
}
