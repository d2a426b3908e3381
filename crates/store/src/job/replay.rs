//! Replays a job bundle: reads every step from the bundle alone, and certifies that with a receipt.
//!
//! The input is a [`VerifiedJob`]: each artifact was opened once, and the bytes that were checked
//! are the bytes that were read. Nothing outside the bundle is touched.

use std::collections::BTreeMap;

use runseal_core::canon::{NoCanonicalForm, Node, Value};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::VerifiedJob;
use runseal_core::formats::job_bundle::facts::{ArtifactFact, ContentFact};
use runseal_core::formats::job_bundle::manifest::{Artifact, Text};
use runseal_core::formats::receipt::attestation::{Identity, Key, attest_receipt};
use runseal_core::formats::receipt::{
    EXECUTOR_VERSION, RECEIPT_VERSION, Receipt, compute_receipt_hash,
};
use thiserror::Error;

/// Why a previous receipt cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PreviousError {
    /// It is not a valid receipt; the first fault.
    #[error("the previous receipt is not sound: {0}")]
    Unsound(String),
    /// Its recorded hash is wrong.
    #[error("the previous receipt's hash does not match its content")]
    Hash,
    /// Its index cannot be incremented.
    #[error("the previous receipt's index is too large")]
    Index,
}

/// What the next receipt needs to know about the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Previous {
    /// The previous receipt's hash, which the next one names.
    pub receipt_hash: Digest,
    /// Its position in the chain.
    pub index: Option<u64>,
}

impl Previous {
    /// Parses the previous receipt, which must be valid and carry its own hash.
    pub fn parse(node: Node<'_>) -> Result<Self, PreviousError> {
        let receipt = Receipt::read(node);
        if let Some(problem) = receipt.problems.first() {
            let place = match problem.path.to_string() {
                path if path == "$" => String::new(),
                path => format!("{}: ", path.trim_start_matches("$.")),
            };
            return Err(PreviousError::Unsound(format!(
                "{place}{}",
                problem.message
            )));
        }
        let Some(receipt_hash) = receipt.receipt_hash else {
            return Err(PreviousError::Unsound("receipt_hash is null".to_owned()));
        };
        if receipt.computed_hash != Some(receipt_hash) {
            return Err(PreviousError::Hash);
        }
        let index = match receipt.index {
            None => None,
            Some(index) => Some(
                index
                    .to_u64()
                    .filter(|n| *n < u64::MAX)
                    .ok_or(PreviousError::Index)?,
            ),
        };
        Ok(Self {
            receipt_hash,
            index,
        })
    }
}

/// Reads every step from the bundle and makes the receipt, signed if a key is given.
pub fn replay_job_bundle(
    bundle: &VerifiedJob<'_>,
    previous: Option<Previous>,
    signer: Option<(&Key, &Identity)>,
) -> Result<Value, NoCanonicalForm> {
    let manifest = bundle.manifest();
    let content = |artifact: &Artifact<'_>| -> Option<ContentFact> {
        match bundle.facts().artifact(artifact.key()?) {
            Some(ArtifactFact::Content(content)) => Some(*content),
            _ => None,
        }
    };
    let mut by_read: BTreeMap<(Text<'_>, Text<'_>), ContentFact> = BTreeMap::new();
    let mut artifacts = Vec::with_capacity(manifest.artifacts().len());
    for artifact in manifest.artifacts() {
        let (Some(content), Some(reference), Some(slice), Some(id)) = (
            content(&artifact),
            artifact.reference(),
            artifact.slice(),
            artifact.artifact_id(),
        ) else {
            continue;
        };
        by_read.entry((reference, slice)).or_insert(content);
        let mut entry = Value::object([
            ("artifact_id", id.to_lossy().as_ref()),
            ("sha256", content.sha256.to_string().as_str()),
        ]);
        entry.insert("bytes", content.bytes);
        artifacts.push(entry);
    }
    let steps = manifest.steps().filter_map(|step| {
        let content = by_read.get(&step.pair()?)?;
        let mut result = Value::object([("content_hash", content.sha256.to_string().as_str())]);
        result.insert("bytes", content.bytes);
        let mut entry = Value::object([("outcome", "SUCCESS"), ("op", step.op()?.name())]);
        entry.insert("ordinal", step.ordinal()?.to_value());
        entry.insert("step_id", step.step_id()?.to_value());
        entry.insert("result", result);
        entry.insert("error", Value::Null);
        Some(entry)
    });
    let top = |key: &str| {
        manifest
            .outline
            .get(key)
            .map_or(Value::Null, |node| node.to_value())
    };
    let mut receipt = Value::object([
        ("receipt_version", RECEIPT_VERSION),
        ("executor_version", EXECUTOR_VERSION),
        ("outcome", "SUCCESS"),
    ]);
    for key in ["run_id", "job_id", "bundle_id", "plan_hash"] {
        receipt.insert(key, top(key));
    }
    receipt.insert("error", Value::Null);
    receipt.insert("steps", Value::array(steps));
    receipt.insert("artifacts", Value::Array(artifacts));
    receipt.insert(
        "root_hash",
        manifest.root_hash.map(|digest| digest.to_string()),
    );
    let parent = previous.map(|previous| previous.receipt_hash.to_string());
    receipt.insert("parent_receipt_hash", parent);
    let index = previous
        .and_then(|previous| previous.index)
        .map(|index| index + 1);
    receipt.insert("receipt_index", index);
    receipt.insert("attestation", Value::Null);
    let hash = compute_receipt_hash(receipt.clone())?;
    receipt.insert("receipt_hash", hash.to_string().as_str());
    if let Some((key, identity)) = signer {
        attest_receipt(&mut receipt, key, identity)?;
    }
    Ok(receipt)
}
