//! The receipt: proof that a job bundle was replayed (companion formats).
//!
//! A receipt is hashed, may be signed, and names the one before it, so that several make a chain
//! with one Merkle root. Pure: keys and files come from outside.

mod agreement;
pub mod attestation;
pub mod chain;
pub mod merkle;
mod read;
mod rules;
pub mod trust;

pub use read::{Problem, Receipt};
pub use rules::{RULES, ReceiptChain, ReceiptsView, TrustDemand};

use crate::canon::{Dialect, Edit, NoCanonicalForm, Value, canonical_bytes, write_edited};
use crate::canon::{JsonPath, Kind, Node};
use crate::digest::{Digest, Hasher};
use crate::formats::Format;
use crate::formats::definition::{
    CarriedSignature, DocumentFormat, Identity, Outcome, ProofScope, infos,
};
use crate::verify::{Level, Report, run_rules};

/// The version of the format.
pub const RECEIPT_VERSION: &str = "1.0.0";

/// The version of the executor whose work a receipt attests.
pub const EXECUTOR_VERSION: &str = "1.0.0";

/// A receipt's text as stored: canonical in the job dialect, and one LF.
pub fn receipt_bytes(receipt: &Value) -> Result<Vec<u8>, NoCanonicalForm> {
    let mut bytes = canonical_bytes(receipt, Dialect::Job)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// [`compute_receipt_hash`] of a parsed receipt, without copying it.
pub(crate) fn digest_receipt(receipt: Node<'_>) -> Result<Digest, NoCanonicalForm> {
    let edits = [
        ("attestation", Edit::Set((&Value::Null).into())),
        ("receipt_hash", Edit::LeaveOut),
    ];
    let mut hasher = Hasher::new();
    write_edited(receipt, &edits, Dialect::Job, &mut hasher)?;
    hasher.update(b"\n");
    Ok(hasher.finish())
}

/// The hash of a receipt: over its stored text without `receipt_hash` and with `attestation` null.
pub fn compute_receipt_hash(mut receipt: Value) -> Result<Digest, NoCanonicalForm> {
    if let Value::Object(members) = &mut receipt {
        members.remove(&"receipt_hash".into());
    }
    receipt.insert("attestation", Value::Null);
    receipt_bytes(&receipt).map(|bytes| Digest::of(&bytes))
}

/// The definition of the receipt format: one receipt, or a list that is a chain.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::Receipt,
    proves: ProofScope {
        shows: &["That a replay said it read these steps with these hashes, in this chain."],
        does_not: &["That the replay was done by someone you trust, unless it is signed."],
    },
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
    let receipts = Receipt::read_all(root);
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
        let about = Identity::of_members(receipt, &["run_id", "job_id", "bundle_id"]);
        Identity {
            about: about.ids,
            result: Some(match outcome.as_deref() {
                Some("SUCCESS") => Outcome::Succeeded,
                Some("FAILURE") => Outcome::Failed,
                _ => Outcome::Unknown,
            }),
            ..Identity::of_members(receipt, &["receipt_hash"]).ended(outcome)
        }
    };
    let carried = |at: usize, receipt: Node<'_>| {
        let attestation = receipt.get("attestation")?;
        let text = |name: &str| Some(attestation.get(name)?.as_lossy_str()?.into_owned());
        (attestation.kind() != Kind::Null).then(|| CarriedSignature {
            place: JsonPath::ROOT.then(at).then("attestation").to_string(),
            key: text("public_key"),
            name: text("validator_id"),
        })
    };
    if root.kind() != Kind::Array {
        return Identity {
            carried: carried(0, root).into_iter().collect(),
            ..of_one(root)
        };
    }
    let mut identity = Identity::default();
    for (at, receipt) in root.items().enumerate() {
        identity.carried.extend(carried(at, receipt));
        let one = of_one(receipt);
        identity.ids.extend(one.ids);
        identity.about.extend(one.about);
        identity.result = identity.result.max(one.result);
        let outcome = match (identity.outcome.take(), one.outcome) {
            (Some(worst), _) if worst != "SUCCESS" => Some(worst),
            (_, last) => last,
        };
        identity = identity.ended(outcome);
    }
    identity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};
    use crate::formats::definition::FormatDefinition;

    /// (label, pointer, line) of every RC1 finding at a member `name`.
    fn places(text: &str, name: &str) -> Vec<(String, String, Option<u32>)> {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let judged = DEFINITION.judge_document(&document, Level::Document);
        let report = judged.unwrap().report;
        let findings = report.findings().iter().filter(|f| f.rule_id == "RC1");
        findings
            .filter_map(|finding| {
                let pointer = finding.place.path()?.to_pointer();
                let label = finding.path()?.to_owned();
                let line = finding.place.line_number();
                pointer.ends_with(name).then_some((label, pointer, line))
            })
            .collect()
    }

    #[test]
    fn receipt_findings_have_pointers_and_lines() {
        let one = "{\n\"steps\": [\n{\"op\": 1}]}";
        assert_eq!(
            places(one, "/op"),
            [(
                "$[0].steps[0].op".to_owned(),
                "/steps/0/op".to_owned(),
                Some(3)
            )]
        );
        let list = format!("[{{}},\n{one}]");
        assert_eq!(
            places(&list, "/op"),
            [(
                "$[1].steps[0].op".to_owned(),
                "/1/steps/0/op".to_owned(),
                Some(4)
            )]
        );
    }
}
