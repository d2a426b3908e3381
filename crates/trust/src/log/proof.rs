//! Proofs as files: inclusion (C2SP tlog-proof), and consistency in our own form.

use runseal_core::digest::Digest;
use thiserror::Error;

use super::checkpoint::{parse_decimal, parse_hash};
use super::tree::{leaf_hash, verify_consistency, verify_inclusion};
use super::{Checkpoint, CheckpointError, NoteError, SignedNote};
use crate::encoding::{decode_base64, encode_base64};

const INCLUSION: &str = "c2sp.org/tlog-proof@v1";
const CONSISTENCY: &str = "runseal.dev/tlog-consistency@v1";
/// A path in a tree of 2^63 entries has 63 hashes; a consistency proof has one more.
const MAX_HASHES: usize = 64;

/// Why a proof is malformed, or proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProofError {
    /// It is not a proof.
    #[error("it is not a proof: {0}")]
    Malformed(&'static str),
    /// Its checkpoint is not a signed note.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The text of its checkpoint is malformed.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The path does not lead to the root.
    #[error("its path does not lead to the checkpoint's root")]
    Path,
}

/// A proof that an entry is in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The entry itself, if the proof carries it.
    pub entry: Option<Vec<u8>>,
    /// The index of the entry.
    pub index: u64,
    /// The path, leaf to root.
    pub path: Vec<Digest>,
    /// The checkpoint that the path leads to.
    pub checkpoint: SignedNote,
}

fn read_hashes<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<Digest>, ProofError> {
    let mut path = Vec::new();
    for line in lines {
        if path.len() >= MAX_HASHES {
            return Err(ProofError::Malformed("its path is longer than any tree"));
        }
        let hash = parse_hash(line);
        path.push(hash.ok_or(ProofError::Malformed("a hash is malformed"))?);
    }
    Ok(path)
}

fn write_hashes(text: &mut String, path: &[Digest]) {
    for hash in path {
        text.push_str(&encode_base64(hash.as_bytes()));
        text.push('\n');
    }
}

impl InclusionProof {
    /// Returns whether a text claims to be an inclusion proof.
    pub fn is_one(text: &str) -> bool {
        text.lines().next() == Some(INCLUSION)
    }

    /// Returns the proof as a file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{INCLUSION}\n");
        if let Some(entry) = &self.entry {
            text.push_str(&format!("extra {}\n", encode_base64(entry)));
        }
        text.push_str(&format!("index {}\n", self.index));
        write_hashes(&mut text, &self.path);
        text.push('\n');
        text.push_str(&self.checkpoint.to_text());
        text
    }

    /// Reads a proof.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(text: &str) -> Result<Self, ProofError> {
        let fail = ProofError::Malformed;
        let (head, note) = text
            .split_once("\n\n")
            .ok_or(fail("it has no checkpoint"))?;
        let mut lines = head.split('\n').peekable();
        if lines.next() != Some(INCLUSION) {
            return Err(fail("its first line is not that of an inclusion proof"));
        }
        let entry = match lines.peek().and_then(|line| line.strip_prefix("extra ")) {
            Some(extra) => {
                lines.next();
                Some(decode_base64(extra).ok_or(fail("its extra line is not base64"))?)
            }
            None => None,
        };
        let index = lines.next().and_then(|line| line.strip_prefix("index "));
        let index = index.and_then(parse_decimal);
        Ok(Self {
            entry,
            index: index.ok_or(fail("it has no index"))?,
            path: read_hashes(lines)?,
            checkpoint: SignedNote::parse(note)?,
        })
    }

    /// Returns the checkpoint, if the path leads from the entry with `leaf` to its root.
    ///
    /// # Errors
    /// When it does not.
    pub fn verify(&self, leaf: &Digest) -> Result<Checkpoint, ProofError> {
        let checkpoint = Checkpoint::parse(&self.checkpoint.text)?;
        let holds = verify_inclusion(
            leaf,
            self.index,
            checkpoint.size,
            &self.path,
            &checkpoint.root,
        );
        if holds {
            Ok(checkpoint)
        } else {
            Err(ProofError::Path)
        }
    }

    /// Like [`Self::verify`], for the entry that the proof carries.
    ///
    /// # Errors
    /// When it does not carry an entry, or the path does not lead to the root.
    pub fn verify_own(&self) -> Result<Checkpoint, ProofError> {
        let entry = self.entry.as_deref();
        let entry = entry.ok_or(ProofError::Malformed("it does not carry its entry"))?;
        self.verify(&leaf_hash(entry))
    }
}

/// A proof that a checkpoint of a log only adds to an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// The number of entries in the earlier checkpoint.
    pub old: u64,
    /// The hashes that lead from the old root to the new one.
    pub path: Vec<Digest>,
    /// The later checkpoint, as it was signed.
    pub checkpoint: SignedNote,
}

impl ConsistencyProof {
    /// Returns the proof as a file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{CONSISTENCY}\nold {}\n", self.old);
        write_hashes(&mut text, &self.path);
        text.push('\n');
        text.push_str(&self.checkpoint.to_text());
        text
    }

    /// Reads a proof.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(text: &str) -> Result<Self, ProofError> {
        let fail = ProofError::Malformed;
        let (head, note) = text
            .split_once("\n\n")
            .ok_or(fail("it has no checkpoint"))?;
        let mut lines = head.split('\n');
        if lines.next() != Some(CONSISTENCY) {
            return Err(fail("its first line is not that of a consistency proof"));
        }
        let old = lines.next().and_then(|line| line.strip_prefix("old "));
        let old = old.and_then(parse_decimal).ok_or(fail("it has no size"))?;
        Ok(Self {
            old,
            path: read_hashes(lines)?,
            checkpoint: SignedNote::parse(note)?,
        })
    }

    /// Returns the later checkpoint, if it only adds to `old`.
    ///
    /// # Errors
    /// When it does not.
    pub fn verify(&self, old: &Checkpoint) -> Result<Checkpoint, ProofError> {
        let new = Checkpoint::parse(&self.checkpoint.text)?;
        let holds = self.old == old.size
            && old.origin == new.origin
            && verify_consistency((old.size, &old.root), (new.size, &new.root), &self.path);
        if holds {
            Ok(new)
        } else {
            Err(ProofError::Path)
        }
    }
}
