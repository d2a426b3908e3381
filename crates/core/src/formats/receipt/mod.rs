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
use crate::canon::{Kind, Node};
use crate::digest::Digest;
use crate::formats::Format;
use crate::formats::definition::{DocumentFormat, Identity, infos};
use crate::verify::{Level, Report, run_rules};

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

/// Receipts as the rest of the program knows them: one, or a list that is a chain.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::Receipt,
    rules: || infos(&RULES),
    members: &[
        "receipt_version",
        "receipt_hash",
        "executor_version",
        "parent_receipt_hash",
        "receipt_index",
    ],
    file_name: "receipt.json",
    judge: judge_receipts,
    identify: identify_receipts,
};

fn judge_receipts(root: Node<'_>, level: Level) -> Report {
    let is_chain = root.kind() == Kind::Array;
    let receipts: Vec<_> = if is_chain {
        root.items().map(Receipt::read).collect()
    } else {
        vec![Receipt::read(root)]
    };
    let view = ReceiptsView {
        receipts: &receipts,
        is_chain,
        merkle: None,
        policy: None,
        demand: TrustDemand::None,
    };
    run_rules(&RULES, &view, level)
}

fn identify_receipts(root: Node<'_>) -> Identity {
    let of_one = |receipt: Node<'_>| {
        let outcome = receipt.get("outcome").and_then(|node| node.as_lossy_str());
        let ids = ["receipt_hash", "run_id", "job_id", "bundle_id"];
        Identity::of_members(receipt, &ids).ended(outcome)
    };
    if root.kind() != Kind::Array {
        return of_one(root);
    }
    let mut identity = Identity::default();
    for receipt in root.items() {
        let one = of_one(receipt);
        identity.ids.extend(one.ids);
        identity.outcome = match (identity.outcome, one.outcome) {
            (Some(worst), _) if worst != "SUCCESS" => Some(worst),
            (_, last) => last,
        };
    }
    identity
}
