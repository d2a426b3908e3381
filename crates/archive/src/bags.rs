//! Digests for bags whose manifests use functions other than SHA-256.
//!
//! An archive is read once, and its files are hashed with SHA-256. Only at the end of the archive
//! is it known which other functions the manifests of a bag use. The archive is then read again,
//! and the digests found are filed under the SHA-256 of the first reading.

use std::collections::BTreeMap;
use std::io::{self, Read};

use runseal_core::digest::Digest;
use runseal_core::formats::bag::manifest::manifest_name;
use runseal_core::source::{Algorithm, Algorithms, FileDigests, Hashers};

use crate::catalogue::{Archive, Record};
use crate::scan::{ContentDigester, read_pieces};

/// Computes the digests of all files under the functions that manifests use.
#[derive(Debug)]
pub struct BagDigester {
    wanted: Algorithms,
    found: BTreeMap<Digest, FileDigests>,
    buffer: Vec<u8>,
}

impl BagDigester {
    /// Returns a digester for the bags of `archive`, or `None` if all manifests use SHA-256 or
    /// every file was kept.
    pub fn for_archive(archive: &Archive) -> Option<Self> {
        let mut wanted = Algorithms::default();
        let mut is_all_kept = true;
        for (name, record) in archive.below("") {
            let Record::File(file) = record else { continue };
            is_all_kept &= file.kept.is_some();
            let name = str::from_utf8(name).unwrap_or_default();
            let file_name = name.rsplit('/').next().unwrap_or(name);
            if let Some((_, function)) = manifest_name(file_name)
                && let Some(algorithm) = Algorithm::of_name(function)
            {
                wanted = wanted.with(algorithm);
            }
        }
        let is_needed = !is_all_kept && wanted.others().next().is_some();
        is_needed.then(|| Self {
            wanted,
            found: BTreeMap::new(),
            buffer: vec![0; 64 << 10],
        })
    }

    /// Returns the digests found, by the files' SHA-256.
    pub fn into_found(self) -> BTreeMap<Digest, FileDigests> {
        self.found
    }
}

impl ContentDigester for BagDigester {
    fn digest(
        &mut self,
        reader: &mut dyn Read,
        expected: u64,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(Digest, u64)> {
        let mut hashers = Hashers::new(self.wanted);
        read_pieces(reader, &mut self.buffer, expected, &mut |piece| {
            hashers.update(piece);
            see(piece);
        })?;
        let digests = hashers.finish();
        let noted = (digests.sha256, digests.bytes);
        self.found.insert(digests.sha256, digests);
        Ok(noted)
    }

    fn keeps_small_files(&self) -> bool {
        false
    }
}
