//! Trust policies: one TOML file a person can read, and the decision about one unit.
//!
//! Closed by default: what no rule accepts is refused. Unknown members, two names for one key and
//! unreachable thresholds are faults of the policy, not of the unit. The first rule whose selectors
//! match decides. docs/trust.md is the reference.

mod chain;
mod decide;
pub mod glob;
mod parse;
mod place;
mod receipts;
mod ssh_signers;
mod text;

pub use chain::{CHAIN_PAYLOAD, ChainError, follow_chain, not_of_root, read_chain, sign_policy};
pub use decide::{Decision, Question, Step, decide};
pub use parse::{Identity, PLAIN, Policy, PolicyError, Requirement, Rule, Signer};
pub use place::Place;
pub use receipts::{from_receipt_policy, quote};
pub use ssh_signers::{AllowedSigner, parse_allowed_signers};
