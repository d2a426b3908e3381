//! The contract of every log, wherever it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use runseal_core::digest::Digest;
use runseal_trust::log::tree::{self, Nodes};
use runseal_trust::log::{Checkpoint, NoteSignature, SignedNote};

use super::LogError;

/// The longest entry in bytes: a statement, or its digests.
const MAX_ENTRY: usize = 4096;

/// An entry with the hashes that the log stores for it, for recomputing them.
#[derive(Debug)]
pub struct KeptEntry<'a> {
    /// Its index, counted from 0.
    pub index: u64,
    /// The bytes of the entry, as they were appended.
    pub entry: &'a [u8],
    /// Its stored hash; `None` if the stored bytes cannot belong to this entry.
    pub leaf: Option<Digest>,
    /// The stored hashes of the subtrees that it completes, smallest first.
    pub nodes: &'a [Digest],
}

/// A log in the state in which it was opened.
pub trait Log: fmt::Debug + Send + Sync {
    /// Returns name, size and root.
    fn state(&self) -> &Checkpoint;

    /// Returns the hash of a complete subtree, as defined by [`Nodes::hash`].
    ///
    /// # Errors
    /// When it cannot be read.
    fn hash(&self, level: u32, index: u64) -> Result<Digest, LogError>;

    /// Returns the entry at `index`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    fn entry(&self, index: u64) -> Result<Vec<u8>, LogError>;

    /// Returns the first index of each entry with one of these hashes; missing ones are left out.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn find(&self, wanted: &BTreeSet<Digest>) -> Result<BTreeMap<Digest, u64>, LogError>;

    /// Returns the last signed checkpoint.
    ///
    /// # Errors
    /// When it exists but cannot be read.
    fn signed_checkpoint(&self) -> Result<Option<SignedNote>, LogError>;

    /// Calls `see` with every entry, in order.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn visit(&self, see: &mut dyn FnMut(&KeptEntry<'_>)) -> Result<(), LogError>;

    /// Returns the number of entries.
    fn size(&self) -> u64 {
        self.state().size
    }

    /// Returns the path from an entry to the root of the first `size` entries.
    ///
    /// # Errors
    /// When there is no such entry, or the log cannot be read.
    fn prove_inclusion(&self, index: u64, size: u64) -> Result<Vec<Digest>, LogError> {
        self.check_place(index)?;
        tree::prove_inclusion(&Tree(self), index, size)
    }

    /// Returns the proof that the tree of `old` entries is the beginning of that of `size`.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn prove_consistency(&self, old: u64, size: u64) -> Result<Vec<Digest>, LogError> {
        tree::prove_consistency(&Tree(self), old, size)
    }

    /// Returns whether a checkpoint matches this tree: it names the same log, is not longer, and
    /// has the root that the tree had at its size.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn agrees_with(&self, checkpoint: &Checkpoint) -> Result<bool, LogError> {
        Ok(checkpoint.size <= self.size()
            && checkpoint.origin == self.state().origin
            && tree::compute_root(&Tree(self), checkpoint.size)? == checkpoint.root)
    }

    /// Checks that the log has an entry at `index`.
    ///
    /// # Errors
    /// When it does not.
    fn check_place(&self, index: u64) -> Result<(), LogError> {
        if index < self.size() {
            Ok(())
        } else {
            Err(LogError::Beyond {
                size: self.size(),
                asked: index,
            })
        }
    }
}

/// A log as a tree of hashes.
#[derive(Debug)]
pub struct Tree<'a, L: Log + ?Sized>(pub &'a L);

impl<L: Log + ?Sized> Nodes for Tree<'_, L> {
    type Error = LogError;

    fn hash(&self, level: u32, index: u64) -> Result<Digest, LogError> {
        self.0.hash(level, index)
    }
}

/// The result of appending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The index of each given entry, in the given order.
    pub places: Vec<u64>,
    /// How many of them are new.
    pub added: usize,
}

/// Appends to a log.
pub trait Appender: fmt::Debug {
    /// Returns the log, including what was appended.
    fn log(&self) -> &dyn Log;

    /// Appends those entries that the log does not have yet, in order. Afterwards all of them are
    /// durable, or none counts.
    ///
    /// # Errors
    /// When one cannot be stored. Then none is.
    fn append(&mut self, entries: &[Vec<u8>]) -> Result<Appended, LogError>;

    /// Stores a signed checkpoint of the log's current state. Signing two checkpoints that do not
    /// fit into one tree would fork the log, so the previous one is checked first.
    ///
    /// # Errors
    /// When the last signed checkpoint does not match this tree.
    fn keep_checkpoint(&mut self, note: &SignedNote) -> Result<(), LogError>;

    /// Checks that the last signed checkpoint matches this tree.
    ///
    /// # Errors
    /// When it does not, or the log cannot be read.
    fn check_last(&self) -> Result<(), LogError> {
        match self.log().signed_checkpoint()? {
            Some(note) => check_kept(self.log(), &note),
            None => Ok(()),
        }
    }
}

/// Checks that a stored checkpoint belongs to this log.
///
/// # Errors
/// When it does not, or the log cannot be read.
pub fn check_kept(log: &dyn Log, note: &SignedNote) -> Result<(), LogError> {
    let kept = Checkpoint::parse(&note.text).map_err(|_| LogError::Damaged("checkpoint"))?;
    if log.agrees_with(&kept)? {
        Ok(())
    } else {
        Err(LogError::Forked(kept.size))
    }
}

/// Adds the signatures that `other` has over the same text.
pub fn add_signatures(note: &mut SignedNote, other: &SignedNote) {
    for signature in &other.signatures {
        let is_same =
            |known: &NoteSignature| (&known.name, known.id) == (&signature.name, signature.id);
        if !note.signatures.iter().any(is_same) {
            note.signatures.push(signature.clone());
        }
    }
}

/// Checks that a log can store these entries: each must be one line and not too long.
///
/// # Errors
/// When it cannot.
pub fn check_entries(entries: &[&[u8]]) -> Result<(), LogError> {
    let is_bad = |entry: &&[u8]| entry.len() > MAX_ENTRY || entry.contains(&b'\n');
    if entries.iter().any(is_bad) {
        Err(LogError::Entry)
    } else {
        Ok(())
    }
}

/// Checks that a log can have this name.
///
/// # Errors
/// When it cannot.
pub fn check_name(origin: &str) -> Result<(), LogError> {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    if origin.is_empty() || origin.contains(is_bad) {
        Err(LogError::Name)
    } else {
        Ok(())
    }
}

/// Returns which of `entries` the log lacks, in order and deduplicated, and the index of each entry
/// once these are appended after the first `size`.
pub fn place_entries(
    entries: &[Vec<u8>],
    size: u64,
    mut known: BTreeMap<Digest, u64>,
) -> (Vec<&[u8]>, Vec<u64>) {
    let mut missing: Vec<&[u8]> = Vec::new();
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        let place = *known.entry(tree::leaf_hash(entry)).or_insert_with(|| {
            missing.push(entry);
            size + missing.len() as u64 - 1
        });
        places.push(place);
    }
    (missing, places)
}
