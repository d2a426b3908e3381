//! A transparency log: an append-only Merkle tree (RFC 6962), its signed checkpoints (C2SP signed
//! notes), proofs, and policies about who must have witnessed a checkpoint.
//!
//! Pure: the caller decides where the hashes of a tree are kept ([`tree::Nodes`]).

mod checkpoint;
mod entry;
mod note;
mod policy;
mod proof;
pub mod tree;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use entry::{EntryError, LogEntry};
pub use note::{
    KeyKind, NoteError, NoteKey, NoteSignature, SignedNote, sign_checkpoint, sign_cosignature,
};
pub use policy::{LogPolicy, LogPolicyError, RefusedCheckpoint, Witnessed};
pub use proof::{ConsistencyProof, InclusionProof, ProofError};
