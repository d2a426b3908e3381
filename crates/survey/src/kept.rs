//! A source that keeps what it hands out, so that what is shown is what was judged.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use runseal_core::digest::Digest;
use runseal_core::formats::definition::FilesBeside;
use runseal_core::formats::redacted::chunks::ChunkedFile;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{
    Algorithms, ContentFact, Entry, FileDigests, Source, SourceError, read_bounded,
};

/// Files other than JSON are kept up to this size.
const SMALL: u64 = 1 << 20;
/// Bytes that are kept at the most.
const MOST: u64 = 64 << 20;

/// Another source, and what was read through it.
pub(super) struct KeptSource<'a> {
    inner: &'a dyn Source,
    noted: Mutex<Noted>,
}

/// What was read of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct NotedFile {
    /// Its size and digest.
    pub(super) fact: Option<(u64, Digest)>,
    /// Its bytes, where they were kept.
    pub(super) bytes: Option<Vec<u8>>,
}

#[derive(Default)]
struct Noted {
    files: BTreeMap<SafePath, NotedFile>,
    kept: u64,
}

impl Noted {
    fn note(&mut self, path: &SafePath, fact: (u64, Digest), bytes: Option<&[u8]>) {
        let room = MOST - self.kept;
        let kept = bytes.filter(|bytes| bytes.len() as u64 <= room);
        let file = self.files.entry(path.clone()).or_default();
        file.fact = Some(fact);
        if let (Some(kept), None) = (kept, &file.bytes) {
            self.kept += kept.len() as u64;
            file.bytes = Some(kept.to_vec());
        }
    }
}

impl<'a> KeptSource<'a> {
    pub(super) fn new(inner: &'a dyn Source) -> Self {
        Self {
            inner,
            noted: Mutex::default(),
        }
    }

    /// What was read, by path.
    pub(super) fn into_noted(self) -> BTreeMap<SafePath, NotedFile> {
        let noted = self.noted.into_inner();
        noted.unwrap_or_else(PoisonError::into_inner).files
    }

    /// Sums a file up with `sum`, and keeps its bytes where they are few. `of_inner` asks where the file
    /// cannot be opened again.
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
        let (summed, bytes) = match self.inner.open(path) {
            Ok(mut file) => {
                let limit = SMALL + 1;
                let head = read_bounded(file.by_ref().take(limit), path.as_str(), 0, limit)?;
                match head.len() as u64 > SMALL {
                    true => {
                        let mut all = head.as_slice().chain(file);
                        (sum(&mut all).map_err(fail)?, None)
                    }
                    false => (sum(&mut head.as_slice()).map_err(fail)?, Some(head)),
                }
            }
            // A file of an archive that went by and was not kept.
            Err(SourceError::TooLarge { .. }) => (of_inner()?, None),
            Err(error) => return Err(error),
        };
        self.note(path, fact_of(&summed), bytes.as_deref());
        Ok(summed)
    }

    fn note(&self, path: &SafePath, fact: (u64, Digest), bytes: Option<&[u8]>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.note(path, fact, bytes);
    }
}

impl Source for KeptSource<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        self.inner.entries()
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        // What is opened to be judged is to be shown, so it is kept like what is read whole.
        let bytes = self.read(path, JsonLimits::LARGEST_DOCUMENT)?;
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let bytes = self.inner.read(path, limit)?;
        let fact = (bytes.len() as u64, Digest::of(&bytes));
        self.note(path, fact, Some(&bytes));
        Ok(bytes)
    }

    fn do_both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        self.inner.do_both(first, second);
    }

    fn chunks(&self, path: &SafePath) -> Result<ChunkedFile, SourceError> {
        let chunks = self.inner.chunks(path)?;
        self.note(path, (chunks.size, chunks.sha256), None);
        Ok(chunks)
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
}

/// Files beside a document, and the bytes of those that are small.
pub(super) struct KeptBeside<'a> {
    inner: &'a dyn FilesBeside,
    kept: Mutex<BTreeMap<SafePath, Vec<u8>>>,
}

impl<'a> KeptBeside<'a> {
    pub(super) fn new(inner: &'a dyn FilesBeside) -> Self {
        Self {
            inner,
            kept: Mutex::default(),
        }
    }

    /// What was kept, by path.
    pub(super) fn into_kept(self) -> BTreeMap<SafePath, Vec<u8>> {
        self.kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl FilesBeside for KeptBeside<'_> {
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: u64 = kept().values().map(|bytes| bytes.len() as u64).sum();
        let bytes = match self.inner.read(path, SMALL.min(MOST.saturating_sub(taken))) {
            Err(SourceError::TooLarge { .. }) => return self.inner.content(path),
            read => read?,
        };
        let fact = ContentFact::read(bytes.as_slice()).map_err(|source| SourceError::Io {
            path: path.to_string(),
            source,
        })?;
        kept().insert(path.clone(), bytes);
        Ok(fact)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.inner.read(path, limit)
    }
}
