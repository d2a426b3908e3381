//! What a checkpoint says: which log, how many entries, which root (C2SP tlog-checkpoint).

use runseal_core::digest::Digest;
use thiserror::Error;

use crate::encoding::{decode_base64, encode_base64};

/// Why a text is not a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// A line is missing or malformed.
    #[error("the checkpoint's {0} is missing or malformed")]
    Line(&'static str),
}

/// The state of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the log, which is its identity.
    pub origin: String,
    /// The number of entries.
    pub size: u64,
    /// The root of its tree.
    pub root: Digest,
}

/// Reads a number as checkpoints and proofs write it: decimal, without sign or leading zeros.
pub(super) fn parse_decimal(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Reads a hash as checkpoints and proofs write it: base64 with padding.
pub(super) fn parse_hash(text: &str) -> Option<Digest> {
    let bytes: [u8; 32] = decode_base64(text)?.try_into().ok()?;
    // One hash has one spelling.
    (encode_base64(&bytes) == text).then(|| Digest::from_bytes(bytes))
}

impl Checkpoint {
    /// Returns the text that is signed.
    pub fn to_text(&self) -> String {
        let root = encode_base64(self.root.as_bytes());
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Reads a text. Further lines are extensions and are ignored.
    ///
    /// # Errors
    /// When it is not a checkpoint.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let mut lines = text.split('\n');
        let origin = lines.next().filter(|line| !line.is_empty());
        let origin = origin.ok_or(CheckpointError::Line("origin"))?;
        let size = lines.next().and_then(parse_decimal);
        let size = size.ok_or(CheckpointError::Line("size"))?;
        let root = lines.next().and_then(parse_hash);
        let root = root.ok_or(CheckpointError::Line("root"))?;
        Ok(Self {
            origin: origin.to_owned(),
            size,
            root,
        })
    }
}
