//! The proposed predicate `ai-agent-action` (in-toto/attestation#588): one tool call as seen by
//! whoever carried it, with a hash chain of such records below it.
//!
//! `record` writes it for a run bundle; `check` judges a statement and the records of its chain.
//! The proposal is not settled: this is version 0.1 as of its commit a5dd509.

mod check;
mod record;

pub use check::{ActionFault, Payloads, Profile, check_action, check_chain, check_written_action};
pub use record::{ActionDraft, ActionError, write_action};

/// The predicate's type.
pub const ACTION_PREDICATE: &str = "https://in-toto.io/attestation/ai-agent-action/v0.1";

/// What the first record of a chain has instead of the hash of its predecessor.
const GENESIS: &str = "genesis";
