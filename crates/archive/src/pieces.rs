//! The pieces of large files, for redacted copies that withhold some of them.
//!
//! An archive is read once, and its files are hashed whole. Only at the end of the archive is it
//! known which files have withheld pieces. The archive is then read again, and the pieces found are
//! filed under the digest of the first reading.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::{ChunkedFile, read_chunks};
use runseal_core::formats::redacted::documents::{Opening, REDACTED, Redacted};

use crate::catalogue::{Archive, Record};
use crate::scan::ContentDigester;

/// Collects the pieces of files with certain digests.
#[derive(Debug)]
pub struct PieceDigester {
    wanted: BTreeSet<Digest>,
    found: BTreeMap<Digest, ChunkedFile>,
}

impl PieceDigester {
    /// Returns a digester for the files of `archive` whose pieces are withheld by redacted copies
    /// in it, or `None` if there are none.
    pub fn for_archive(archive: &Archive) -> Option<Self> {
        let mut wanted = BTreeSet::new();
        for (name, record) in archive.below("") {
            let Ok(name) = str::from_utf8(name) else {
                continue;
            };
            let folder = match name.strip_suffix(REDACTED) {
                Some(folder) if folder.is_empty() || folder.ends_with('/') => folder,
                _ => continue,
            };
            let Record::File(file) = record else { continue };
            let copy = file.kept.and_then(|bytes| Redacted::parse(bytes).ok());
            for (path, opening) in copy.iter().flat_map(|copy| &copy.openings) {
                if let Opening::Pieces(_) = opening
                    && let Some(Record::File(file)) = archive.get(&format!("{folder}{path}"))
                {
                    wanted.insert(file.content.sha256);
                }
            }
        }
        let found = BTreeMap::new();
        (!wanted.is_empty()).then_some(Self { wanted, found })
    }

    /// Returns the pieces found, by the files' digests.
    pub fn into_found(self) -> BTreeMap<Digest, ChunkedFile> {
        self.found
    }
}

impl ContentDigester for PieceDigester {
    fn digest(
        &mut self,
        mut reader: &mut dyn Read,
        _expected: u64,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(Digest, u64)> {
        let file = read_chunks(&mut reader, see)?;
        let (digest, size) = (file.sha256, file.size);
        if self.wanted.contains(&digest) {
            self.found.insert(digest, file);
        }
        Ok((digest, size))
    }

    fn keeps_small_files(&self) -> bool {
        false
    }
}
