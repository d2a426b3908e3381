//! Trust policies: whose keys count, and for what.

use std::collections::BTreeSet;

use thiserror::Error;

use super::attestation::{Attestation, SCHEME};
use crate::canon::Node;
use crate::digest::decode_lower_hex;

/// What an attestation covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A receipt.
    Receipt,
    /// The Merkle root of a chain.
    Merkle,
}

impl Scope {
    const fn name(self) -> &'static str {
        match self {
            Self::Receipt => "RECEIPT",
            Self::Merkle => "MERKLE",
        }
    }
}

/// Why a text is not a trust policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}: {path}")]
pub struct PolicyError {
    /// The JSON path of the value in the policy, beginning with `$`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// Why an attestation is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Distrust {
    /// No entry has this key.
    #[error("the key is not in the policy")]
    UnknownKey,
    /// The entry is disabled.
    #[error("the policy has disabled validator `{0}`")]
    Disabled(String),
    /// The entry is for another scope.
    #[error("the policy does not let validator `{validator_id}` attest {scope}")]
    Scope {
        /// The validator of the policy's entry.
        validator_id: String,
        /// What was attested.
        scope: &'static str,
    },
    /// The attestation names nobody or another validator.
    #[error("expected validator_id `{expected}`, actual `{actual}`")]
    Validator {
        /// The validator that the policy names as the key's owner.
        expected: String,
        /// The validator that the attestation names.
        actual: String,
    },
    /// The attestation is by another build than the pinned one.
    #[error("expected build_id `{expected}`, actual `{actual}`")]
    Build {
        /// The build that the policy pins.
        expected: String,
        /// The build that the attestation states.
        actual: String,
    },
}

#[derive(Clone, Debug)]
struct Entry {
    validator_id: String,
    public_key: [u8; 32],
    build_id: Option<String>,
    scope: Vec<Scope>,
    enabled: bool,
}

/// A sound policy.
#[derive(Clone, Debug)]
pub struct TrustPolicy {
    allow: Vec<Entry>,
}

impl TrustPolicy {
    /// Parses a policy; anything unknown in it is refused.
    pub fn parse(root: Node<'_>) -> Result<Self, PolicyError> {
        only_members(root, "$", &["policy_version", "allow"])?;
        let version = root.get("policy_version").and_then(|value| value.as_str());
        if version.as_deref() != Some("1.0.0") {
            return Err(error("$.policy_version", "expected `1.0.0`"));
        }
        let Some(list) = root.get("allow").and_then(|value| value.as_array()) else {
            return Err(error("$.allow", "expected a list"));
        };
        let mut ids = BTreeSet::new();
        let mut keys = BTreeSet::new();
        let mut allow = Vec::new();
        for (at, node) in list.enumerate() {
            let place = format!("$.allow[{at}]");
            let entry = parse_entry(node, &place)?;
            if !ids.insert(entry.validator_id.clone()) {
                return Err(error(
                    &format!("{place}.validator_id"),
                    "the id appears twice",
                ));
            }
            if !keys.insert(entry.public_key) {
                return Err(error(
                    &format!("{place}.public_key"),
                    "the key appears twice",
                ));
            }
            allow.push(entry);
        }
        Ok(Self { allow })
    }

    /// Checks whether the attestation's key may attest `scope`; with `identity`, also whether it
    /// names its owner and, if one is pinned, the build.
    pub fn check(
        &self,
        attestation: &Attestation,
        scope: Scope,
        identity: bool,
    ) -> Result<(), Distrust> {
        let entry = self
            .allow
            .iter()
            .find(|entry| entry.public_key == attestation.public_key);
        let entry = entry.ok_or(Distrust::UnknownKey)?;
        let validator_id = || entry.validator_id.clone();
        if !entry.enabled {
            return Err(Distrust::Disabled(validator_id()));
        }
        if !entry.scope.contains(&scope) {
            return Err(Distrust::Scope {
                validator_id: validator_id(),
                scope: scope.name(),
            });
        }
        if identity {
            let named = attestation.identity.validator_id.as_deref();
            if named != Some(&entry.validator_id) {
                let actual = named.unwrap_or("none").to_owned();
                return Err(Distrust::Validator {
                    expected: validator_id(),
                    actual,
                });
            }
            let built = attestation.identity.build_id.as_deref();
            if let Some(pinned) = &entry.build_id
                && built != Some(pinned)
            {
                let actual = built.unwrap_or("none").to_owned();
                return Err(Distrust::Build {
                    expected: pinned.clone(),
                    actual,
                });
            }
        }
        Ok(())
    }
}

fn parse_entry(node: Node<'_>, place: &str) -> Result<Entry, PolicyError> {
    let known = [
        "validator_id",
        "public_key",
        "build_id",
        "schemes",
        "scope",
        "enabled",
    ];
    only_members(node, place, &known)?;
    let at = |member: &str| format!("{place}.{member}");
    let text = |member: &str| {
        let value = node.get(member).and_then(|value| value.as_str());
        value.ok_or_else(|| error(&at(member), "expected a string"))
    };
    let texts = |member: &str| -> Result<Vec<String>, PolicyError> {
        let list = node.get(member).and_then(|value| value.as_array());
        let list = list.ok_or_else(|| error(&at(member), "expected a list"))?;
        list.map(|item| {
            let text = item.as_str().map(|text| text.into_owned());
            text.ok_or_else(|| error(&at(member), "expected strings only"))
        })
        .collect()
    };
    let validator_id = text("validator_id")?.into_owned();
    if validator_id.is_empty() {
        return Err(error(&at("validator_id"), "expected a name"));
    }
    let public_key = decode_lower_hex(text("public_key")?.to_ascii_lowercase())
        .ok_or_else(|| error(&at("public_key"), "expected 64 hex digits"))?;
    let build_id = match node.get("build_id") {
        None => None,
        Some(_) => {
            let build_id = text("build_id")?;
            if !is_build_id(&build_id) {
                let expected = "expected `git:` and 7-40 or `file:` and 32-64 hex digits";
                return Err(error(&at("build_id"), expected));
            }
            Some(build_id.into_owned())
        }
    };
    if !texts("schemes")?.iter().any(|scheme| scheme == SCHEME) {
        return Err(error(&at("schemes"), "expected `ed25519` among them"));
    }
    let mut scope = Vec::new();
    for name in texts("scope")? {
        let known = [Scope::Receipt, Scope::Merkle]
            .into_iter()
            .find(|scope| scope.name() == name);
        scope.push(known.ok_or_else(|| error(&at("scope"), "expected RECEIPT or MERKLE"))?);
    }
    if scope.is_empty() {
        return Err(error(
            &at("scope"),
            "expected at least one of RECEIPT and MERKLE",
        ));
    }
    let enabled = node.get("enabled").and_then(|value| value.as_bool());
    let enabled = enabled.ok_or_else(|| error(&at("enabled"), "expected a boolean"))?;
    Ok(Entry {
        validator_id,
        public_key,
        build_id,
        scope,
        enabled,
    })
}

fn is_build_id(text: &str) -> bool {
    let (digits, lengths) = match (text.strip_prefix("git:"), text.strip_prefix("file:")) {
        (Some(digits), _) => (digits, 7..=40),
        (None, Some(digits)) => (digits, 32..=64),
        (None, None) => return false,
    };
    lengths.contains(&digits.len())
        && digits
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn only_members(node: Node<'_>, place: &str, known: &[&str]) -> Result<(), PolicyError> {
    let Some(members) = node.as_object() else {
        return Err(error(place, "expected an object"));
    };
    for (key, _) in members {
        if !key.as_str().is_some_and(|key| known.contains(&&*key)) {
            return Err(error(
                &format!("{place}.{}", key.to_lossy()),
                "unknown member",
            ));
        }
    }
    Ok(())
}

fn error(path: &str, message: &str) -> PolicyError {
    PolicyError {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}
