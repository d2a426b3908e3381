//! The pieces of large files, for redacted copies, which commit to them.
//!
//! What an archive holds goes by once and is hashed whole. Only when its end is reached can one
//! know that a file was sealed in pieces; the archive is then read again, and what is noted the
//! second time goes by the digest that was noted the first time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::{PiecedFile, read_pieces};
use runseal_core::formats::redacted::documents::{Opening, REDACTED, Redacted};

use crate::catalogue::{Archive, Record};
use crate::scan::ContentDigester;

/// Collects the pieces of files with certain digests.
#[derive(Debug)]
pub struct PieceDigester {
    wanted: BTreeSet<Digest>,
    found: BTreeMap<Digest, PiecedFile>,
}

impl PieceDigester {
    /// For the files of `archive` of which redacted copies in it open pieces; nothing where there are none.
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
                if let Opening::Pieces(_) | Opening::Large(..) = opening
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
    pub fn into_found(self) -> BTreeMap<Digest, PiecedFile> {
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
        let file = read_pieces(&mut reader, see)?;
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
