//! Who signed receipts, and whether a trust policy accepts them.

use runseal_core::canon::Value;
use runseal_core::formats::receipt::ReceiptsView;
use runseal_core::formats::receipt::attestation::{
    Attestation, AttestationError, encode_hex, verify_merkle_attestation,
    verify_receipt_attestation,
};
use runseal_core::formats::receipt::trust::{Scope, TrustPolicy};

/// Who signed one receipt or Merkle root.
pub struct Signer {
    /// The path of what was signed.
    path: String,
    signature: Signature,
}

enum Signature {
    /// There is no signature.
    Missing,
    /// The signature does not verify, for this reason.
    Broken(String),
    /// The signature verifies. `distrust` says why the policy does not trust its key, if it does
    /// not.
    Sound {
        attestation: Attestation,
        distrust: Option<String>,
    },
}

/// Who signed each receipt and the Merkle root, judged by `policy`.
pub fn find_signers(view: &ReceiptsView<'_>, policy: &TrustPolicy) -> Vec<Signer> {
    let judge = |checked: Result<Attestation, AttestationError>, scope| match checked {
        Err(error) => Signature::Broken(error.to_string()),
        Ok(attestation) => Signature::Sound {
            distrust: policy
                .check(&attestation, scope, false)
                .err()
                .map(|distrust| distrust.to_string()),
            attestation,
        },
    };
    let receipts = view
        .receipts
        .iter()
        .enumerate()
        .map(|(at, receipt)| Signer {
            path: format!("$[{at}].attestation"),
            signature: if receipt.has_attestation {
                judge(verify_receipt_attestation(receipt.node), Scope::Receipt)
            } else {
                Signature::Missing
            },
        });
    let merkle = view
        .merkle
        .zip(view.merkle_root())
        .map(|(node, root)| Signer {
            path: "merkle".to_owned(),
            signature: judge(verify_merkle_attestation(node, root), Scope::Merkle),
        });
    receipts.chain(merkle).collect()
}

impl Signer {
    /// The signer as a member of the printed verdict.
    pub fn to_value(&self) -> Value {
        let mut value = Value::object([("path", self.path.as_str())]);
        let (trusted, reason) = match &self.signature {
            Signature::Missing => (false, Some("it is not signed".to_owned())),
            Signature::Broken(error) => (false, Some(error.clone())),
            Signature::Sound {
                attestation,
                distrust,
            } => {
                value.insert("public_key", encode_hex(&attestation.public_key).as_str());
                let identity = &attestation.identity;
                value.insert("validator_id", identity.validator_id.clone());
                value.insert("build_id", identity.build_id.clone());
                (distrust.is_none(), distrust.clone())
            }
        };
        value.insert("trusted", trusted);
        value.insert("reason", reason);
        value
    }

    /// The signer as a line for people.
    pub fn to_line(&self) -> String {
        let path = &self.path;
        match &self.signature {
            Signature::Missing => format!("{path}: it is not signed"),
            Signature::Broken(error) => format!("{path}: {error}"),
            Signature::Sound {
                attestation,
                distrust,
            } => {
                let key = encode_hex(&attestation.public_key);
                let named = match &attestation.identity.validator_id {
                    Some(name) => format!(", which calls itself `{}`", name.escape_debug()),
                    None => String::new(),
                };
                let trust = match distrust {
                    Some(distrust) => {
                        format!("{distrust}; `--strict-trust` makes that a failure")
                    }
                    None => "the policy trusts it".to_owned(),
                };
                format!("{path}: signed by key {key}{named}: {trust}")
            }
        }
    }
}
