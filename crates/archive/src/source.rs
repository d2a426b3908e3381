//! A folder of an archive as a source.

use std::borrow::Cow;
use std::io::{self, Read};

use runseal_core::formats::redacted::chunks::ChunkedFile;
use runseal_core::path::SafePath;
use runseal_core::source::{
    Algorithms, ContentFact, Entry, EntryKind, EntryName, FileDigests, Source, SourceError,
    chunks_of,
};

use crate::catalogue::{Archive, FileRecord, Record};

/// What lies below one folder of an archive.
#[derive(Debug, Clone, Copy)]
pub struct ArchiveSource<'a> {
    archive: &'a Archive,
    folder: &'a str,
}

impl<'a> ArchiveSource<'a> {
    /// The folder of this name; the whole archive where it is empty.
    pub fn new(archive: &'a Archive, folder: &'a str) -> Self {
        Self { archive, folder }
    }

    fn file(&self, path: &SafePath) -> Result<FileRecord<'a>, SourceError> {
        let shown = path.to_string();
        let name = if self.folder.is_empty() {
            shown.clone()
        } else {
            format!("{}/{shown}", self.folder)
        };
        match self.archive.get(&name) {
            Some(Record::File(file)) => Ok(file),
            Some(other) => Err(SourceError::NotAFile {
                path: shown,
                kind: other.kind(),
            }),
            None if self.is_below_a_link(&name) => Err(SourceError::NotAFile {
                path: shown,
                kind: EntryKind::Symlink,
            }),
            None => Err(SourceError::NotFound { path: shown }),
        }
    }

    fn is_below_a_link(&self, name: &str) -> bool {
        name.match_indices('/').any(|(at, _)| {
            matches!(
                self.archive.get(&name[..at]),
                Some(Record::Other(EntryKind::Symlink))
            )
        })
    }

    fn kept(&self, path: &SafePath) -> Result<&'a [u8], SourceError> {
        match self.file(path)?.kept {
            Some(bytes) => Ok(bytes),
            // Read once and not kept, so there is nothing to read again.
            None => Err(SourceError::TooLarge {
                path: path.to_string(),
                limit: runseal_core::limits::ARCHIVE_KEPT_DOCUMENTS,
            }),
        }
    }
}

impl Source for ArchiveSource<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let entry = |(name, record): (&[u8], Record<'_>)| Entry {
            name: EntryName::from_bytes(name),
            kind: record.kind(),
        };
        let mut entries: Vec<_> = self.archive.below(self.folder).map(entry).collect();
        entries.sort_unstable_by(|a, b| a.name.shown().cmp(b.name.shown()));
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        self.kept(path)
            .map(|bytes| Box::new(bytes) as Box<dyn Read + Send>)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.view(path, limit).map(Cow::into_owned)
    }

    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        let bytes = self.kept(path)?;
        if bytes.len() as u64 > limit {
            return Err(SourceError::TooLarge {
                path: path.to_string(),
                limit,
            });
        }
        Ok(Cow::Borrowed(bytes))
    }

    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        Ok(self.file(path)?.content)
    }

    fn digests(&self, path: &SafePath, wanted: Algorithms) -> Result<FileDigests, SourceError> {
        let file = self.file(path)?;
        let content = file.content;
        let has_all = |digests: &&FileDigests| {
            let mut others = wanted.others();
            others.all(|algorithm| digests.hex(algorithm).is_some())
        };
        if wanted.others().next().is_none() {
            return Ok(FileDigests::of_sha256(content.bytes, content.sha256));
        }
        if let Some(digests) = self.archive.digests(&content.sha256).filter(has_all) {
            return Ok(digests.clone());
        }
        match file.kept {
            Some(bytes) => Ok(FileDigests::of(bytes, wanted)),
            None => Err(SourceError::Io {
                path: path.to_string(),
                source: io::Error::other(
                    "it went by once and was hashed with SHA-256 only; save the archive to a file and \
                     verify that",
                ),
            }),
        }
    }

    fn chunks(&self, path: &SafePath) -> Result<ChunkedFile, SourceError> {
        match self.archive.pieces(&self.file(path)?.content.sha256) {
            Some(pieces) => Ok(pieces.clone()),
            None => chunks_of(self.open(path)?, path),
        }
    }
}
