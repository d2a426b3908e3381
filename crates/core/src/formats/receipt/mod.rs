//! The receipt: proof that a job bundle was replayed (companion formats).
//!
//! A receipt is hashed, may be signed, and names the one before it, so that several make a
//! chain with one Merkle root. Pure: keys and files come from outside.

pub mod attestation;
pub mod chain;
pub mod merkle;
mod read;
mod rules;
pub mod trust;

pub use read::{Problem, Receipt};
pub use rules::{RULES, ReceiptChain, ReceiptsView, TrustDemand};

use crate::canon::{Dialect, NoCanonicalForm, Value, canonical_bytes};
use crate::digest::Digest;

/// The version of the format.
pub const RECEIPT_VERSION: &str = "1.0.0";

/// The version of the reading that a receipt attests.
pub const EXECUTOR_VERSION: &str = "1.0.0";

/// A receipt's text as it is stored: canonical in the job dialect, and one LF.
pub fn receipt_bytes(receipt: &Value) -> Result<Vec<u8>, NoCanonicalForm> {
    let mut bytes = canonical_bytes(receipt, Dialect::Job)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The hash of a receipt: over its stored text without `receipt_hash` and with `attestation`
/// null.
pub fn compute_receipt_hash(receipt: &Value) -> Result<Digest, NoCanonicalForm> {
    let mut bare = receipt.clone();
    if let Value::Object(members) = &mut bare {
        members.remove(&"receipt_hash".into());
    }
    bare.insert("attestation", Value::Null);
    receipt_bytes(&bare).map(|bytes| Digest::of(&bytes))
}
