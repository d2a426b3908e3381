//! A folder of an archive as a source.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use runseal_core::formats::redacted::chunks::PiecedFile;
use runseal_core::path::SafePath;
use runseal_core::source::{
    Algorithms, ContentFact, Entry, EntryKind, EntryName, FileDigests, Source, SourceError,
    pieces_of,
};

use crate::catalogue::{Archive, FileRecord, Record};

/// Everything below one folder of an archive.
#[derive(Debug)]
pub struct ArchiveSource<'a> {
    archive: &'a Archive,
    folder: &'a str,
    /// Files whose bytes are given away when they are read; `None` once that was done.
    handed_over: Mutex<BTreeMap<&'static str, Option<Vec<u8>>>>,
    /// The row after the last file found: most files are asked for in order.
    next: AtomicUsize,
}

impl<'a> ArchiveSource<'a> {
    /// Returns the folder of this name, or the whole archive if it is empty.
    pub fn new(archive: &'a Archive, folder: &'a str) -> Self {
        Self {
            archive,
            folder,
            handed_over: Mutex::default(),
            next: AtomicUsize::new(0),
        }
    }

    /// Like [`ArchiveSource::new`], but each of `lists` can be read only once. A large one is taken
    /// out of the archive, and its memory is freed when its reader is done.
    pub fn handing_over(archive: &'a mut Archive, folder: &'a str, lists: &[&'static str]) -> Self {
        let mut handed_over = BTreeMap::new();
        for list in lists {
            let name = match folder {
                "" => (*list).to_owned(),
                folder => format!("{folder}/{list}"),
            };
            if let Some(bytes) = archive.take(&name) {
                handed_over.insert(*list, Some(bytes));
            }
        }
        Self {
            archive,
            folder,
            handed_over: Mutex::new(handed_over),
            next: AtomicUsize::new(0),
        }
    }

    /// Gives a list away; `None` if this is not one of them.
    fn hand_over(&self, path: &SafePath) -> Result<Option<Vec<u8>>, SourceError> {
        let mut lists = self
            .handed_over
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(list) = lists.get_mut(path.as_str()) else {
            return Ok(None);
        };
        match list.take() {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(SourceError::Io {
                path: path.to_string(),
                source: io::Error::other("it was read before, and is not kept"),
            }),
        }
    }

    fn file(&self, path: &SafePath) -> Result<FileRecord<'a>, SourceError> {
        let next = self.next.load(Ordering::Relaxed);
        let found = self.archive.get_in(self.folder, path.as_str(), next);
        if let Some((at, _)) = found {
            self.next.store(at + 1, Ordering::Relaxed);
        }
        let not_a_file = |kind| SourceError::NotAFile {
            path: path.to_string(),
            kind,
        };
        match found {
            Some((_, Record::File(file))) => Ok(file),
            Some((_, other)) => Err(not_a_file(other.kind())),
            None if self.is_below_a_link(path) => Err(not_a_file(EntryKind::Symlink)),
            None => Err(SourceError::NotFound {
                path: path.to_string(),
            }),
        }
    }

    fn is_below_a_link(&self, path: &SafePath) -> bool {
        let name = match self.folder {
            "" => path.to_string(),
            folder => format!("{folder}/{path}"),
        };
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
            // The archive is read once, and this file was not kept.
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
        Ok(match self.hand_over(path)? {
            Some(bytes) => Box::new(Cursor::new(bytes)),
            None => Box::new(self.kept(path)?),
        })
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.view(path, limit).map(Cow::into_owned)
    }

    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        let bytes = match self.hand_over(path)? {
            Some(bytes) => Cow::Owned(bytes),
            None => Cow::Borrowed(self.kept(path)?),
        };
        if bytes.len() as u64 > limit {
            return Err(SourceError::TooLarge {
                path: path.to_string(),
                limit,
            });
        }
        Ok(bytes)
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
                    "it was read once and hashed with SHA-256 only; save the archive to a file and \
                     verify that",
                ),
            }),
        }
    }

    fn pieces(&self, path: &SafePath) -> Result<PiecedFile, SourceError> {
        match self.archive.pieces(&self.file(path)?.content.sha256) {
            Some(pieces) => Ok(pieces.clone()),
            None => pieces_of(self.open(path)?, path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::PackedBytes;
    use crate::scan::{InlineDigester, Scan};

    #[test]
    fn large_list_is_read_once_and_its_facts_stay() {
        let (list, small) = (vec![b'a'; 1 << 20], b"b".to_vec());
        let mut digester = InlineDigester::default();
        let mut scan = Scan::new(PackedBytes::default(), &mut digester);
        for (name, bytes) in [
            ("run/SHA256SUMS.txt", &list),
            ("run/a.json", &small),
            ("SHA256SUMS.txt", &list),
        ] {
            scan.add_file(name.as_bytes(), 0, &mut bytes.as_slice())
                .unwrap();
        }
        let mut archive = scan.finish();
        let path = |name: &str| SafePath::parse(name).unwrap();
        let lists = ["SHA256SUMS.txt", "a.json", "missing.json"];
        let source = ArchiveSource::handing_over(&mut archive, "run", &lists);
        let (sums, other) = (path("SHA256SUMS.txt"), path("a.json"));
        let read = |path: &SafePath| source.view(path, 1 << 30).map(Cow::into_owned);
        assert_eq!(read(&sums).unwrap(), list);
        let again = read(&sums).unwrap_err();
        assert!(matches!(again, SourceError::Io { .. }), "{again}");
        assert_eq!(source.content(&sums).unwrap().bytes, 1 << 20);
        // Small files are not taken out.
        assert_eq!(read(&other).unwrap(), small);
        assert_eq!(read(&other).unwrap(), small);
        assert!(matches!(
            read(&path("missing.json")),
            Err(SourceError::NotFound { .. })
        ));
        // A file of the same name in another folder is not affected.
        let top = ArchiveSource::new(&archive, "");
        assert_eq!(top.read(&sums, 1 << 30).unwrap(), list);
    }
}
