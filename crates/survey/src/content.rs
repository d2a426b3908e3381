//! What is kept of a unit while it is judged.
//!
//! Whatever is signed, catalogued or shown of a unit must be the bytes that its rules saw, so nothing is
//! read
//! twice: a [`RememberingSource`] sits between the rules and the files, and what passes through it becomes
//! the unit's [`UnitContent`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::Format;
use runseal_core::formats::definition::FilesBeside;
use runseal_core::limits::{JsonLimits, max_ledger_lines};
use runseal_core::path::SafePath;
use runseal_core::source::{
    Algorithms, ContentFact, Entry, EntryKind, EntryName, FileDigests, Got, MemberFile, PiecedFile,
    Seen, Source, SourceError, Want, look, read_bounded,
};
use runseal_trust::check::Found;

/// Files whose bytes say what was signed: the manifest of a run bundle, and documents with a commitment or
/// with facts that policies ask for.
const FACTS: [&str; 6] = [
    "SHA256SUMS.txt",
    "REDACTION.json",
    "REDACTED.json",
    "RUN_META.json",
    "run.json",
    "bundle.json",
];

/// The most bytes that are kept of a file with facts that is read piece by piece.
const MAX_STREAMED: usize = 8 << 20;
/// The size up to which files other than JSON are kept to be shown.
const SMALL: u64 = 1 << 20;
/// The most bytes that are kept of a unit to be shown.
const MOST: u64 = 64 << 20;

/// How much is kept of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Only the verdict.
    Verdict,
    /// What signatures and policies are about. A run bundle's manifest represents its files, so their digests
    /// are not kept.
    Facts,
    /// As [`Self::Facts`], with the digest of every file and the bytes of the files with these names.
    Digests(&'static [&'static str]),
    /// Everything that can be shown, signed or compared: every digest, all documents, and small files.
    Everything,
}

impl Keep {
    fn keeps_digests_of(self, format: Format) -> bool {
        match self {
            Self::Verdict => false,
            Self::Facts => !matches!(format, Format::RunBundle | Format::Redacted),
            Self::Digests(_) | Self::Everything => true,
        }
    }

    fn keeps_bytes_of(self, name: &str) -> bool {
        match self {
            Self::Verdict => false,
            Self::Facts => FACTS.contains(&name),
            Self::Digests(more) => FACTS.contains(&name) || more.contains(&name),
            Self::Everything => true,
        }
    }
}

/// The bytes and digests of a unit, as they were when it was judged.
#[derive(Debug)]
pub struct UnitContent {
    /// The unit's format.
    pub format: Format,
    /// The bytes of the unit, if it is a single document. A ledger's documents are its lines, so only this
    /// member
    /// has its bytes whole.
    pub single: Option<Vec<u8>>,
    /// The JSON documents of a bundle by name, or the lines of a ledger by number.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// Other files by name.
    pub texts: BTreeMap<String, Vec<u8>>,
    /// The files with their digests, sorted by name; without those of a run bundle if only facts were kept.
    pub files: Vec<MemberFile>,
    /// Files in the folder of a list of checksums that the list does not name. They are not shown, and their
    /// bytes are not kept; a signature on the folder covers them.
    pub others: Vec<MemberFile>,
    /// Whether the unit came in an archive.
    pub is_archived: bool,
    /// Signatures next to the unit in that archive.
    pub(crate) beside: Vec<Found>,
}

impl UnitContent {
    /// Empty content.
    pub(crate) fn empty(format: Format) -> Self {
        Self {
            format,
            single: None,
            documents: BTreeMap::new(),
            texts: BTreeMap::new(),
            files: Vec::new(),
            others: Vec::new(),
            is_archived: false,
            beside: Vec::new(),
        }
    }

    /// The content of a unit that is a single document.
    pub(crate) fn of_document(format: Format, bytes: Vec<u8>) -> Self {
        Self {
            single: Some(bytes),
            ..Self::empty(format)
        }
    }

    /// Everything that is shown of a unit that is a single document, and of the files next to it.
    pub(crate) fn of_shown(
        format: Format,
        name: &str,
        bytes: Vec<u8>,
        beside: Option<KeptBeside<'_>>,
    ) -> Self {
        let mut content = Self::empty(format);
        if format == Format::Ledger {
            let most = max_ledger_lines(bytes.len());
            for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().take(most) {
                if !line.trim_ascii().is_empty() {
                    let name = format!("line {:06}", at + 1);
                    content.documents.insert(name, line.to_vec());
                }
            }
        }
        let file = |path: String, bytes, sha256| MemberFile {
            path,
            kind: None,
            bytes,
            sha256: Some(sha256),
        };
        let own = file(name.to_owned(), bytes.len() as u64, Digest::of(&bytes));
        content.files.push(own);
        // The bodies of a recording are next to it.
        for (path, kept) in beside.map_or_else(BTreeMap::new, KeptBeside::into_kept) {
            let (bytes, digest) = kept.fact;
            content.files.push(file(path.to_string(), bytes, digest));
            if let Some(bytes) = kept.bytes {
                content.texts.insert(path.to_string(), bytes);
            }
        }
        content.single = Some(bytes);
        content
    }

    /// The content of a unit that came in an archive, with the signatures next to it there.
    pub(crate) fn in_archive(self, beside: Vec<Found>) -> Self {
        Self {
            is_archived: true,
            beside,
            ..self
        }
    }

    /// The bytes of the document with this name; a unit that is a single document has it under the empty name.
    pub fn document(&self, name: &str) -> Option<&[u8]> {
        let bytes = match name {
            "" => self
                .single
                .as_ref()
                .filter(|_| self.format != Format::Ledger),
            name => self.documents.get(name),
        };
        bytes.map(Vec::as_slice)
    }

    /// The documents by name, as [`Self::document`] has them.
    pub fn documents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let single = self.document("").map(|bytes| ("", bytes));
        let named = self.documents.iter();
        let named = named.map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        single.into_iter().chain(named)
    }

    /// Every file in the unit's folder with its digest.
    pub fn all_files(&self) -> impl Iterator<Item = &MemberFile> {
        self.files.iter().chain(&self.others)
    }

    /// The digest that identifies the content, whatever its name and location: the SHA-256 of a document's
    /// bytes or, for a folder, of one line for each file. The same folder in an archive has the same digest.
    ///
    /// A line is `<sha256>  <path>`, sorted by path; anything other than a regular file has a dash instead of
    /// a digest. The digest of every file must have been kept.
    pub fn digest(&self) -> Digest {
        if let Some(bytes) = &self.single {
            return Digest::of(bytes);
        }
        let files = self.all_files().map(|file| (&file.path, file.sha256));
        let files: BTreeMap<_, _> = files.collect();
        let mut hasher = Hasher::new();
        for (path, digest) in files {
            let digest = digest.map_or_else(|| "-".to_owned(), |digest| digest.to_string());
            hasher.update(format!("{digest}  {path}\n").as_bytes());
        }
        hasher.finish()
    }

    fn insert(&mut self, name: &SafePath, bytes: Vec<u8>) {
        let files = if name.as_str().ends_with(".json") {
            &mut self.documents
        } else {
            &mut self.texts
        };
        files.insert(name.to_string(), bytes);
    }
}

/// A source that remembers what is read through it.
pub struct RememberingSource<'a> {
    inner: &'a dyn Source,
    format: Format,
    keep: Keep,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// `None` until they are listed.
    entries: Option<Vec<Entry>>,
    files: BTreeMap<SafePath, RememberedFile>,
    /// The number of bytes kept to be shown.
    kept: u64,
}

#[derive(Default)]
struct RememberedFile {
    /// Size and digest.
    fact: Option<(u64, Digest)>,
    /// Its bytes, if they are kept.
    bytes: Option<Vec<u8>>,
}

impl<'a> RememberingSource<'a> {
    /// Remembers as much as `keep` says of what is read from `inner`, a unit of this format.
    pub fn new(inner: &'a dyn Source, format: Format, keep: Keep) -> Self {
        Self {
            inner,
            format,
            keep,
            memory: Mutex::default(),
        }
    }

    /// Returns what was read. Files that no rule asked about are part of the unit too: they are read now,
    /// once.
    ///
    /// # Errors
    /// If the files were not listed and cannot be listed now.
    pub fn into_content(self) -> Result<UnitContent, SourceError> {
        let listed = self.memory().entries.take();
        let entries = match listed {
            _ if !self.keep.keeps_digests_of(self.format) => Vec::new(),
            Some(entries) => entries,
            // Some formats are judged by a few files with known names, without a listing.
            None => self.inner.entries()?,
        };
        let mut content = UnitContent::empty(self.format);
        let mut others = BTreeSet::new();
        for entry in &entries {
            let (EntryKind::File, EntryName::Safe(name)) = (entry.kind, &entry.name) else {
                continue;
            };
            let is_asked = self
                .memory()
                .files
                .get(name)
                .map(|file| file.fact.is_some());
            // A file that cannot be read is listed without a digest.
            match is_asked {
                Some(true) => {}
                None if self.format == Format::Checksums => {
                    others.insert(name.clone());
                    if let Ok(fact) = self.inner.content(name) {
                        self.remember(name, None, || (fact.bytes, fact.sha256));
                    }
                }
                _ => drop(self.content(name)),
            }
        }
        let mut remembered = std::mem::take(&mut self.memory().files);
        for entry in entries {
            let mut line = MemberFile {
                path: entry.name.shown().to_owned(),
                kind: None,
                bytes: 0,
                sha256: None,
            };
            let mut is_other = false;
            match (entry.kind, &entry.name) {
                (EntryKind::Directory, _) => continue,
                (EntryKind::File, EntryName::Safe(name)) => {
                    is_other = others.contains(name);
                    if let Some((bytes, digest)) = remembered.get(name).and_then(|file| file.fact) {
                        line.bytes = bytes;
                        line.sha256 = Some(digest);
                    }
                }
                (EntryKind::File, EntryName::Unsafe(_)) => {}
                (kind, _) => line.kind = Some(kind.with_article()),
            }
            if is_other {
                content.others.push(line);
            } else {
                content.files.push(line);
            }
        }
        for (name, file) in &mut remembered {
            if let Some(bytes) = file.bytes.take() {
                content.insert(name, bytes);
            }
        }
        Ok(content)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a file. Its digest is computed only if it is to be kept.
    fn remember(
        &self,
        path: &SafePath,
        bytes: Option<&[u8]>,
        fact: impl FnOnce() -> (u64, Digest),
    ) {
        let kept = bytes.filter(|_| self.keep.keeps_bytes_of(path.as_str()));
        let fact = self.keep.keeps_digests_of(self.format).then(fact);
        if kept.is_none() && fact.is_none() {
            return;
        }
        let is_bounded = self.keep == Keep::Everything;
        let mut memory = self.memory();
        let room = MOST - memory.kept;
        let kept = kept.filter(|bytes| !is_bounded || bytes.len() as u64 <= room);
        let file = memory.files.entry(path.clone()).or_default();
        file.fact = fact.or(file.fact);
        if let (Some(kept), None) = (kept, &file.bytes) {
            file.bytes = Some(kept.to_vec());
            if is_bounded {
                memory.kept += kept.len() as u64;
            }
        }
    }

    fn remember_whole(&self, path: &SafePath, bytes: &[u8]) {
        self.remember(path, Some(bytes), || {
            (bytes.len() as u64, Digest::of(bytes))
        });
    }

    /// Applies `sum` to a file, and keeps its bytes if they are few. Falls back to `of_inner` if the file
    /// cannot
    /// be opened again.
    fn keep_if_small<T>(
        &self,
        path: &SafePath,
        sum: &mut dyn FnMut(&mut dyn Read) -> io::Result<T>,
        fact_of: impl Fn(&T) -> (u64, Digest),
        of_inner: impl Fn() -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let fail = |source| SourceError::Io {
            path: path.to_string(),
            source,
        };
        if self.keep != Keep::Everything {
            let summed = of_inner()?;
            self.remember(path, None, || fact_of(&summed));
            return Ok(summed);
        }
        let (summed, bytes) = match self.inner.open(path) {
            Ok(mut file) => {
                let limit = SMALL + 1;
                let head = read_bounded(file.by_ref().take(limit), path.as_str(), 0, limit)?;
                if head.len() as u64 > SMALL {
                    let mut all = head.as_slice().chain(file);
                    (sum(&mut all).map_err(fail)?, None)
                } else {
                    (sum(&mut head.as_slice()).map_err(fail)?, Some(head))
                }
            }
            // A file of an archive that was read as a stream and not kept.
            Err(SourceError::TooLarge { .. }) => (of_inner()?, None),
            Err(error) => return Err(error),
        };
        self.remember(path, bytes.as_deref(), || fact_of(&summed));
        Ok(summed)
    }
}

/// A file that is read piece by piece; it is remembered at its end.
struct RememberingReader<'a> {
    source: &'a RememberingSource<'a>,
    path: SafePath,
    inner: Box<dyn Read + Send + 'a>,
    size: u64,
    /// `None` after the end.
    hasher: Option<Hasher>,
    /// The bytes, if they are to be kept and are few enough.
    kept: Option<Vec<u8>>,
}

impl Read for RememberingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match (&mut self.hasher, count) {
            (Some(hasher), 1..) => {
                hasher.update(&buffer[..count]);
                self.size += count as u64;
                if let Some(mut kept) = self.kept.take()
                    && kept.len() + count <= MAX_STREAMED
                {
                    kept.extend_from_slice(&buffer[..count]);
                    self.kept = Some(kept);
                }
            }
            (Some(_), 0) if !buffer.is_empty() => {
                if let Some(hasher) = self.hasher.take() {
                    let kept = self.kept.take();
                    let fact = || (self.size, hasher.finish());
                    self.source.remember(&self.path, kept.as_deref(), fact);
                }
            }
            _ => {}
        }
        Ok(count)
    }
}

impl Source for RememberingSource<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let entries = self.inner.entries()?;
        if self.keep.keeps_digests_of(self.format) {
            self.memory().entries = Some(entries.clone());
        }
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        if self.keep == Keep::Everything {
            // A file that is opened to be judged may be shown, so it is kept like one that is read whole.
            let bytes = self.read(path, JsonLimits::LARGEST_DOCUMENT)?;
            return Ok(Box::new(io::Cursor::new(bytes)));
        }
        Ok(Box::new(RememberingReader {
            source: self,
            path: path.clone(),
            inner: self.inner.open(path)?,
            size: 0,
            hasher: Some(Hasher::new()),
            kept: self.keep.keeps_bytes_of(path.as_str()).then(Vec::new),
        }))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.view(path, limit).map(Cow::into_owned)
    }

    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        let bytes = self.inner.view(path, limit)?;
        self.remember_whole(path, &bytes);
        Ok(bytes)
    }

    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        self.keep_if_small(
            path,
            &mut |file| ContentFact::read(file),
            |content| (content.bytes, content.sha256),
            || self.inner.content(path),
        )
    }

    fn digests(&self, path: &SafePath, wanted: Algorithms) -> Result<FileDigests, SourceError> {
        self.keep_if_small(
            path,
            &mut |file| FileDigests::read(file, wanted),
            |digests| (digests.bytes, digests.sha256),
            || self.inner.digests(path, wanted),
        )
    }

    fn pieces(&self, path: &SafePath) -> Result<PiecedFile, SourceError> {
        let pieces = self.inner.pieces(path)?;
        self.remember(path, None, || (pieces.size, pieces.sha256));
        Ok(pieces)
    }

    fn visit(&self, files: &[(SafePath, Want)], see: &(dyn Fn(usize, Seen) + Sync)) {
        if self.keep == Keep::Everything {
            for (at, (path, want)) in files.iter().enumerate() {
                see(at, look(self, path, *want));
            }
            return;
        }
        self.inner.visit(files, &|at, seen| {
            let path = &files[at].0;
            match &seen {
                Ok(Got::Whole(bytes)) => self.remember_whole(path, bytes),
                Ok(Got::Fact(fact)) => self.remember(path, None, || (fact.bytes, fact.sha256)),
                Ok(Got::Digests(digests)) => {
                    self.remember(path, None, || (digests.bytes, digests.sha256));
                }
                Err(_) => {}
            }
            see(at, seen);
        });
    }
}

/// Files next to a document, and the bytes of the small ones.
pub(super) struct KeptBeside<'a> {
    inner: &'a dyn FilesBeside,
    kept: Mutex<BTreeMap<SafePath, KeptFile>>,
}

/// A file next to a document.
pub(super) struct KeptFile {
    pub(super) fact: (u64, Digest),
    /// Its bytes, if it is small.
    pub(super) bytes: Option<Vec<u8>>,
}

impl<'a> KeptBeside<'a> {
    pub(super) fn new(inner: &'a dyn FilesBeside) -> Self {
        Self {
            inner,
            kept: Mutex::default(),
        }
    }

    /// What was kept, by path.
    pub(super) fn into_kept(self) -> BTreeMap<SafePath, KeptFile> {
        self.kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl FilesBeside for KeptBeside<'_> {
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let sizes = |file: &KeptFile| file.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let taken: u64 = kept().values().map(sizes).sum();
        let (content, bytes) = match self.inner.read(path, SMALL.min(MOST.saturating_sub(taken))) {
            Err(SourceError::TooLarge { .. }) => (self.inner.content(path)?, None),
            read => {
                let bytes = read?;
                let content = ContentFact::read(bytes.as_slice());
                let content = content.map_err(|source| SourceError::Io {
                    path: path.to_string(),
                    source,
                })?;
                (content, Some(bytes))
            }
        };
        let fact = (content.bytes, content.sha256);
        kept().insert(path.clone(), KeptFile { fact, bytes });
        Ok(content)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.inner.read(path, limit)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use runseal_core::formats::definition::Judging;
    use runseal_core::source::{MemorySource, NoThreads};
    use runseal_core::verify::Level;

    use super::*;
    use crate::judge::judge_source;
    use crate::schema::LocalTools;

    /// A source in which another file appears after it was listed.
    struct Growing {
        inner: MemorySource,
        grown: MemorySource,
        was_listed: AtomicBool,
    }

    impl Source for Growing {
        fn entries(&self) -> Result<Vec<Entry>, SourceError> {
            if self.was_listed.swap(true, Ordering::Relaxed) {
                self.grown.entries()
            } else {
                self.inner.entries()
            }
        }

        fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
            self.grown.open(path)
        }
    }

    #[test]
    fn files_shown_are_those_listed_when_judged() {
        let file = |name: &str| (SafePath::parse(name).unwrap(), b"{}".to_vec());
        let source = Growing {
            inner: MemorySource::new([file("RUN_META.json")]),
            grown: MemorySource::new([file("RUN_META.json"), file("added.txt")]),
            was_listed: AtomicBool::new(false),
        };
        let (format, keep) = (Format::RunBundle, Keep::Everything);
        let judging = Judging {
            path: "",
            level: Level::Integrity,
            tools: &LocalTools,
            threads: &NoThreads,
        };
        let answer = judge_source(&source, format, keep, judging);
        let content = answer.content.unwrap();
        let names: Vec<_> = content
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(names, ["RUN_META.json"]);
        assert_eq!(content.documents["RUN_META.json"], b"{}");
    }

    #[test]
    fn remembered_digests_are_of_the_bytes_read() {
        let path = |name: &str| SafePath::parse(name).unwrap();
        let inner = MemorySource::new([
            (path("run.json"), b"{}".to_vec()),
            (path("a"), b"1".to_vec()),
            (path("opened"), b"3".to_vec()),
            (path("unread"), b"2".to_vec()),
        ]);
        let source = RememberingSource::new(&inner, Format::Pack, Keep::Facts);
        source.entries().unwrap();
        let wanted = [(path("run.json"), Want::Whole(9)), (path("a"), Want::Fact)];
        source.visit(&wanted, &|_, seen| assert!(seen.is_ok()));
        let mut opened = source.open(&path("opened")).unwrap();
        opened.read_to_end(&mut Vec::new()).unwrap();
        drop(opened);
        assert!(source.memory().files.contains_key(&path("opened")));
        let content = source.into_content().unwrap();
        let expected = [
            ("a", "1"),
            ("opened", "3"),
            ("run.json", "{}"),
            ("unread", "2"),
        ];
        let expected = expected.map(|(name, text)| (name, Some(Digest::of(text.as_bytes()))));
        let files = content.files.iter();
        let files: Vec<_> = files
            .map(|file| (file.path.as_str(), file.sha256))
            .collect();
        assert_eq!(files, expected);
        assert_eq!(content.documents["run.json"], b"{}");
    }
}
