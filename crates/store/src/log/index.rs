//! Finds entries by their hashes.
//!
//! The first query scans `leaves` once, 40 bytes per entry, which takes a twentieth of a second for
//! a million. A second query builds an index in memory, so many queries cost little more than one.
//! The index covers the log as it was opened, and is never stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use runseal_core::digest::Digest;

use super::files::LogError;

/// Logs with more entries than this are scanned each time: an index would take too much memory.
const MOST_INDEXED: u64 = 2_000_000;

/// The prefixes of all hashes, sorted, each with the index of its entry.
#[derive(Debug, Default)]
pub(super) struct HashIndex {
    was_asked: AtomicBool,
    sorted: OnceLock<Vec<(u64, u32)>>,
}

/// Visits all hashes in order, until the callback returns false.
type Scan<'a> = &'a mut dyn FnMut(u64, Digest) -> bool;

fn beginning(hash: &Digest) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_be_bytes(bytes)
}

impl HashIndex {
    /// Returns the first index of each entry with one of these hashes. `scan` visits all hashes.
    pub(super) fn find(
        &self,
        wanted: &BTreeSet<Digest>,
        size: u64,
        scan: impl Fn(Scan<'_>) -> Result<(), LogError>,
        read: impl Fn(u64) -> Result<Digest, LogError>,
    ) -> Result<BTreeMap<Digest, u64>, LogError> {
        let is_repeated = self.was_asked.swap(true, Ordering::Relaxed);
        let mut found = BTreeMap::new();
        if !is_repeated || size > MOST_INDEXED {
            scan(&mut |index, hash| {
                if wanted.contains(&hash) {
                    found.entry(hash).or_insert(index);
                }
                found.len() < wanted.len()
            })?;
            return Ok(found);
        }
        let sorted = match self.sorted.get() {
            Some(sorted) => sorted,
            None => {
                let mut hashes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
                scan(&mut |index, hash| {
                    hashes.push((beginning(&hash), u32::try_from(index).unwrap_or(u32::MAX)));
                    true
                })?;
                hashes.sort_unstable();
                self.sorted.get_or_init(|| hashes)
            }
        };
        for hash in wanted {
            let start = beginning(hash);
            let from = sorted.partition_point(|(found, _)| *found < start);
            for (_, index) in sorted[from..]
                .iter()
                .take_while(|(found, _)| *found == start)
            {
                let index = u64::from(*index);
                if read(index)? == *hash {
                    found.insert(*hash, index);
                    break;
                }
            }
        }
        Ok(found)
    }
}
