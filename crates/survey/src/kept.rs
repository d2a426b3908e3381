//! A source that keeps what it hands out, so that what is shown is what was judged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::definition::{FilesBeside, Judgement};
use runseal_core::formats::redacted::chunks::ChunkedFile;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{
    Algorithms, ContentFact, Entry, EntryKind, EntryName, FileDigests, MemberFile, Source,
    SourceError, read_bounded,
};

use super::load::Loaded;

/// Files other than JSON are kept up to this size.
const SMALL: u64 = 1 << 20;
/// Bytes that are kept at the most.
const MOST: u64 = 64 << 20;

/// Another source, and what was read through it. What is judged through it can be shown afterwards.
pub struct KeptSource<'a> {
    inner: &'a dyn Source,
    /// Whether `inner` is in memory already, so that it cannot change and is copied only in the end.
    is_in_memory: bool,
    noted: Mutex<Noted>,
}

/// What was read of a file.
#[derive(Debug, Clone, Default)]
struct NotedFile {
    /// Its size and digest.
    fact: Option<(u64, Digest)>,
    /// Whether its bytes are to be shown.
    is_kept: bool,
    /// Its bytes, where they are kept here.
    bytes: Option<Vec<u8>>,
}

#[derive(Default)]
struct Noted {
    /// None until somebody lists them.
    entries: Option<Vec<Entry>>,
    files: BTreeMap<SafePath, NotedFile>,
    kept: u64,
}

impl Noted {
    fn note(
        &mut self,
        path: &SafePath,
        fact: (u64, Digest),
        bytes: Option<&[u8]>,
        is_copied: bool,
    ) {
        let room = MOST - self.kept;
        let kept = bytes.filter(|bytes| bytes.len() as u64 <= room);
        let file = self.files.entry(path.clone()).or_default();
        file.fact = Some(fact);
        if let (Some(kept), false) = (kept, file.is_kept) {
            self.kept += kept.len() as u64;
            file.is_kept = true;
            file.bytes = is_copied.then(|| kept.to_vec());
        }
    }
}

impl<'a> KeptSource<'a> {
    /// One that keeps what is read of `inner`.
    pub fn new(inner: &'a dyn Source) -> Self {
        Self {
            inner,
            is_in_memory: false,
            noted: Mutex::default(),
        }
    }

    /// The same for an `inner` that is in memory and gives every file any number of times: what was read of it is taken
    /// from there again in the end.
    pub fn in_memory(inner: &'a dyn Source) -> Self {
        Self {
            is_in_memory: true,
            ..Self::new(inner)
        }
    }

    /// What judging this source read of it, to be shown under `path` with the judgement that it gave. A
    /// file that no rule asked about is part of the whole all the same: it is read now, once.
    ///
    /// # Errors
    /// When nobody listed the files, and they cannot be listed now; or when a file in memory cannot be read again.
    pub fn into_loaded(
        self,
        path: &str,
        format: Format,
        judgement: Judgement,
    ) -> Result<Loaded, SourceError> {
        let noted = || self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = noted().entries.take();
        let entries = match listed {
            Some(entries) => entries,
            // Some formats are judged by a few files of known names.
            None => self.inner.entries()?,
        };
        for entry in &entries {
            if let (EntryKind::File, EntryName::Safe(name)) = (entry.kind, &entry.name)
                && !noted().files.contains_key(name)
            {
                // What cannot be read is listed without a digest.
                let _ = self.content(name);
            }
        }
        let mut read = std::mem::take(&mut noted().files);
        let mut loaded = Loaded::new(path, format, judgement);
        for entry in entries {
            let mut line = MemberFile {
                path: entry.name.shown().to_owned(),
                kind: None,
                bytes: 0,
                sha256: None,
            };
            match (entry.kind, &entry.name) {
                (EntryKind::Directory, _) => continue,
                (EntryKind::File, EntryName::Safe(name)) => {
                    let file = read.remove(name).unwrap_or_default();
                    line.bytes = file.fact.map_or(0, |(bytes, _)| bytes);
                    line.sha256 = file.fact.map(|(_, digest)| digest);
                    let bytes = match file.bytes {
                        None if file.is_kept => Some(self.inner.read(name, MOST)?),
                        bytes => bytes,
                    };
                    if let Some(bytes) = bytes {
                        let of_kind = match name.as_str().ends_with(".json") {
                            true => &mut loaded.documents,
                            false => &mut loaded.texts,
                        };
                        of_kind.insert(name.to_string(), bytes);
                    }
                }
                (EntryKind::File, EntryName::Unsafe(_)) => {}
                (kind, _) => line.kind = Some(kind.with_article()),
            }
            loaded.files.push(line);
        }
        Ok(loaded)
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
        noted.note(path, fact, bytes, !self.is_in_memory);
    }
}

impl Source for KeptSource<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let entries = self.inner.entries()?;
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.entries = Some(entries.clone());
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        // What is opened to be judged is to be shown, so it is kept like what is read whole.
        let bytes = self.read(path, JsonLimits::LARGEST_DOCUMENT)?;
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.view(path, limit).map(Cow::into_owned)
    }

    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        let bytes = self.inner.view(path, limit)?;
        let fact = (bytes.len() as u64, Digest::of(&bytes));
        self.note(path, fact, Some(&bytes));
        Ok(bytes)
    }

    fn do_both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        self.inner.do_both(first, second);
    }

    fn together(&self, files: usize, work: &(dyn Fn(usize) + Sync)) {
        self.inner.together(files, work);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use runseal_core::source::MemorySource;
    use runseal_core::verify::Level;

    use super::*;
    use crate::judge::judge_source;

    /// A source in which another file turns up once it was listed.
    struct Growing {
        inner: MemorySource,
        grown: MemorySource,
        was_listed: AtomicBool,
    }

    impl Source for Growing {
        fn entries(&self) -> Result<Vec<Entry>, SourceError> {
            match self.was_listed.swap(true, Ordering::Relaxed) {
                false => self.inner.entries(),
                true => self.grown.entries(),
            }
        }

        fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
            self.grown.open(path)
        }
    }

    #[test]
    fn files_shown_are_those_that_were_listed_when_it_was_judged() {
        let file = |name: &str| (SafePath::parse(name).unwrap(), b"{}".to_vec());
        let source = Growing {
            inner: MemorySource::new([file("RUN_META.json")]),
            grown: MemorySource::new([file("RUN_META.json"), file("added.txt")]),
            was_listed: AtomicBool::new(false),
        };
        let kept = KeptSource::new(&source);
        let judged = judge_source("", &kept, Format::RunBundle, Level::Integrity).unwrap();
        let loaded = kept.into_loaded("run", Format::RunBundle, judged).unwrap();
        let names: Vec<_> = loaded.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["RUN_META.json"]);
        assert_eq!(loaded.documents["RUN_META.json"], b"{}");
    }
}
