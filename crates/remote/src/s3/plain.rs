//! A folder of plain objects from other tools: every key below a prefix is a file.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Read;
use std::sync::Arc;

use runseal_core::limits::MAX_ENTRIES;
use runseal_core::path::SafePath;
use runseal_core::source::{
    Entry, EntryKind, EntryName, Seen, Source, SourceError, Want, look, read_bounded,
};

use super::address::join;
use super::client::Bucket;
use super::listing::Listed;
use super::object::ObjectFile;
use crate::blobs::into_io;
use crate::error::RemoteError;
use crate::parallel;

/// Everything below a key.
pub(super) struct PlainFolder {
    bucket: Arc<Bucket>,
    key: String,
    /// The entries, by their keys relative to the folder's.
    entries: BTreeMap<String, EntryKind>,
    connections: usize,
}

impl PlainFolder {
    /// Lists everything below `key`.
    pub(super) fn open(
        bucket: Arc<Bucket>,
        key: &str,
        connections: usize,
    ) -> Result<Self, RemoteError> {
        let mut entries = BTreeMap::new();
        let mut waiting = vec![String::new()];
        while let Some(folder) = waiting.pop() {
            let at = match folder.as_str() {
                "" => key.to_owned(),
                folder => join(key, folder),
            };
            bucket.list(&at, &mut |listed| {
                let (name, kind) = match listed {
                    Listed::Object(name, _) => (name, EntryKind::File),
                    Listed::Folder(name) => (name, EntryKind::Directory),
                };
                let name = join(&folder, &name);
                if kind == EntryKind::Directory {
                    waiting.push(name.clone());
                }
                entries.insert(name, kind);
            })?;
            if entries.len() as u64 > MAX_ENTRIES {
                return Err(RemoteError::Corrupt {
                    place: bucket.shown(key),
                    problem: format!("it has more than {MAX_ENTRIES} objects"),
                });
            }
        }
        Ok(Self {
            bucket,
            key: key.to_owned(),
            entries,
            connections,
        })
    }

    fn file(&self, path: &SafePath) -> Result<ObjectFile<'_>, SourceError> {
        let shown = || path.to_string();
        match self.entries.get(path.as_str()) {
            None => return Err(SourceError::NotFound { path: shown() }),
            Some(EntryKind::File) => {}
            Some(kind) => {
                return Err(SourceError::NotAFile {
                    path: shown(),
                    kind: *kind,
                });
            }
        }
        let key = join(&self.key, path.as_str());
        let facts = self.bucket.head(&key).map_err(|error| SourceError::Io {
            path: shown(),
            source: into_io(error),
        })?;
        let facts = facts.ok_or_else(|| SourceError::NotFound { path: shown() })?;
        Ok(ObjectFile::new(&self.bucket, &key, &facts))
    }
}

impl Source for PlainFolder {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let entries = self.entries.iter().map(|(name, kind)| Entry {
            name: EntryName::from_bytes(name.as_bytes()),
            kind: *kind,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by(|a, b| a.name.shown().cmp(b.name.shown()));
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        Ok(Box::new(self.file(path)?))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let file = self.file(path)?;
        let size = file.size();
        if size > limit {
            Err(SourceError::TooLarge {
                path: path.to_string(),
                limit,
            })
        } else {
            read_bounded(file, path.as_str(), size, limit)
        }
    }

    fn visit(&self, files: &[(SafePath, Want)], see: &(dyn Fn(usize, Seen) + Sync)) {
        let numbered: Vec<_> = files.iter().enumerate().collect();
        let all: Result<(), Infallible> =
            parallel::for_each(&numbered, self.connections, |(at, (path, want))| {
                see(*at, look(self, path, *want));
                Ok(())
            });
        match all {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }
}
