//! A run bundle as one record of `ai-agent-action`: the engine is the tool, its input the request,
//! its output the response.

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::definition::FAILED;
use thiserror::Error;

use super::GENESIS;
use crate::encoding::encode_hex;
use crate::keys::{Algorithm, SignError, Signer};
use crate::predicate::Facts;
use crate::statement::Subject;

/// Why a run cannot be stated as an action.
#[derive(Debug, Error)]
pub enum ActionError {
    /// The proposal allows only ed25519 and HMAC.
    #[error("records of ai-agent-action are signed with ed25519; the key is {0}")]
    Algorithm(&'static str),
    /// A required fact is missing from what is signed.
    #[error("it does not state its {0}")]
    Missing(&'static str),
    /// A number that a record cannot represent.
    #[error("a duration has at most 2^53 - 1 milliseconds")]
    Duration,
    /// The signer failed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// A text without a canonical form.
    #[error("the record has no canonical form: {0}")]
    NoForm(String),
}

/// What the record says beyond the bundle's own facts.
#[derive(Debug, Clone)]
pub struct ActionDraft {
    /// How long the call took, by the signer's word: no bundle records it.
    pub duration_ms: u64,
    /// The digest of the canonical RUN_OUTPUT.json.
    pub response: Digest,
    /// On whose behalf the call was made, in the signer's words.
    pub principal: Option<String>,
    /// The program that attests, and its version.
    pub attestor: String,
}

/// The members of the signing form of a tool call, in the proposal's order; absent ones are null.
const SIGNED_MEMBERS: [&str; 17] = [
    "id",
    "type",
    "timestamp",
    "method",
    "toolName",
    "namespace",
    "upstream",
    "principal",
    "durationMs",
    "success",
    "errorCode",
    "errorClass",
    "previousHash",
    "contentDigestRequest",
    "contentDigestResponse",
    "attestorVersion",
    "configHash",
];

fn canonical(value: &Value) -> Result<Vec<u8>, ActionError> {
    canonical_bytes(value, Dialect::Jcs).map_err(|error| ActionError::NoForm(error.to_string()))
}

/// Returns the subject that identifies the chain, and the predicate. The record itself is in the
/// member `record`, so the chain hash can be recomputed from the statement alone.
///
/// # Errors
/// When the key is not ed25519, or a fact is missing.
pub fn write_action(
    facts: &Facts,
    draft: &ActionDraft,
    signer: &dyn Signer,
) -> Result<(Subject, Value), ActionError> {
    let algorithm = signer.public_key().algorithm();
    if algorithm != Algorithm::Ed25519 {
        return Err(ActionError::Algorithm(algorithm.name()));
    }
    if draft.duration_ms >= 1 << 53 {
        return Err(ActionError::Duration);
    }
    let id = |name: &'static str| facts.ids.get(name).ok_or(ActionError::Missing(name));
    let run_id = id("run_id")?;
    let tool = id("engine_code")?;
    let request = facts.roots.get("inputs_hash");
    let request = request.ok_or(ActionError::Missing("inputs_hash"))?;
    let at = facts.sealed_at.as_ref();
    let at = at.ok_or(ActionError::Missing("sealed_at"))?;
    let response = draft.response.to_string();
    let has_succeeded = facts.outcome.as_deref() != Some(FAILED);
    let mut record = Value::object([
        ("id", Value::from(run_id.as_str())),
        ("type", Value::from("tool_call")),
        ("timestamp", Value::from(at.as_str())),
        ("method", Value::from("tools/call")),
        ("toolName", Value::from(tool.as_str())),
        ("durationMs", Value::from(draft.duration_ms)),
        ("success", Value::from(has_succeeded)),
        ("previousHash", Value::from(GENESIS)),
        ("contentDigestRequest", Value::from(request.as_str())),
        ("contentDigestResponse", Value::from(response.as_str())),
        ("attestorVersion", Value::from(draft.attestor.as_str())),
    ]);
    if let Some(principal) = &draft.principal {
        record.insert("principal", principal.as_str());
    }
    let pairs = SIGNED_MEMBERS.map(|name| {
        let value = record.get(name).cloned().unwrap_or(Value::Null);
        Value::array([Value::from(name), value])
    });
    let signature = signer.sign(&canonical(&Value::array(pairs))?)?;
    record.insert("attestation", encode_hex(&signature));
    let chain = Digest::of(&canonical(&record)?);
    let subject = Subject {
        name: format!("run:{run_id}"),
        digest: [("sha256".to_owned(), chain.to_string())].into(),
    };
    let digest = |text: &str| Value::object([("sha256", text)]);
    let mut agent = Value::object([("sessionId", run_id.as_str())]);
    if let Some(principal) = &draft.principal {
        agent.insert("principal", principal.as_str());
    }
    let scope = Value::array(["method", "toolName", "success", "previousHash"]);
    let predicate = Value::object([
        (
            "action",
            Value::object([
                ("type", Value::from("tool_call")),
                // The proposal has no word yet for calls outside MCP.
                ("protocol", Value::from("runseal")),
                ("method", Value::from("tools/call")),
                ("toolName", Value::from(tool.as_str())),
                ("timestamp", Value::from(at.as_str())),
                ("durationMs", Value::from(draft.duration_ms)),
                ("success", Value::from(has_succeeded)),
            ]),
        ),
        ("agent", agent),
        ("chain", Value::object([("previousHash", GENESIS)])),
        (
            "contentDigest",
            Value::object([
                ("request", digest(request)),
                ("response", digest(&response)),
            ]),
        ),
        (
            "metadata",
            Value::object([("attestorVersion", draft.attestor.as_str())]),
        ),
        (
            "parties",
            Value::array([Value::object([
                ("party", Value::from("runseal")),
                ("role", Value::from("witness")),
                ("scope", scope),
            ])]),
        ),
        ("record", record),
    ]);
    Ok((subject, predicate))
}
