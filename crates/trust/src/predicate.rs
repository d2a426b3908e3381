//! What our statements say: the run predicate, and the two neighbouring formats that it converts
//! to.
//!
//! docs/predicate.md is its reference. The major version is in the URI; readers ignore members
//! that they do not know.

use std::collections::BTreeMap;

use runseal_core::canon::Value;
use runseal_core::digest::Digest;

use crate::keys::PublicKey;
use crate::limits::{MAX_PREVIOUS, MAX_STATED_BYTES};
use crate::statement::Subject;

/// The type of our predicate.
pub const RUN_PREDICATE: &str = "https://runseal.dev/attestation/run/v1";

/// The type of SLSA's provenance.
pub const SLSA_PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// The build type of a recorded run in SLSA's provenance.
const SLSA_BUILD_TYPE: &str = "https://runseal.dev/slsa/run/v1";

/// What is known about the unit that is signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The format's name.
    pub format: String,
    /// The format of the original, if this is a redacted copy.
    pub original: Option<String>,
    /// The unit's ids: run_id, bundle_id, engine_code and the like.
    pub ids: BTreeMap<String, String>,
    /// The digests that the unit states of its parts.
    pub roots: BTreeMap<String, String>,
    /// How the run ended, if the format says so.
    pub outcome: Option<String>,
    /// Whether it should say how the run ended, and does not.
    pub is_outcome_unknown: bool,
    /// When it was sealed, by the maker's clock.
    pub sealed_at: Option<String>,
}

/// What the verifier said when the signature was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// `valid` or `invalid`.
    pub verdict: String,
    /// The levels of rules that were run.
    pub level: String,
    /// The verifier's version.
    pub version: String,
    /// The digest of the table of rules.
    pub rules: Option<Digest>,
}

/// What one signer states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signing {
    /// The signer's name, in their own words.
    pub name: Option<String>,
    /// What the signature means: author, reviewer, approver, anything.
    pub meaning: Option<String>,
    /// The time of signing, by the signer's clock.
    pub signed_at: Option<String>,
    /// The envelopes that this one counter-signs.
    pub previous: Vec<Digest>,
    /// The original of a redacted copy, as named by the signer's statement about it.
    pub original: Option<Subject>,
}

fn text_object(members: &BTreeMap<String, String>) -> Value {
    let members = members.iter();
    Value::Object(
        members
            .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
            .collect(),
    )
}

/// Builds the run predicate.
pub fn run_predicate(
    facts: &Facts,
    verification: &Verification,
    signing: &Signing,
    key: &PublicKey,
) -> Value {
    let mut checked = Value::object([
        ("verdict", verification.verdict.as_str()),
        ("level", verification.level.as_str()),
        ("verifier", "runseal"),
        ("version", verification.version.as_str()),
    ]);
    if let Some(rules) = verification.rules {
        checked.insert("rules_sha256", rules.to_string());
    }
    let mut signer = Value::object([
        ("key_id", key.id().to_string()),
        ("algorithm", key.algorithm().name().to_owned()),
        ("public_key", key.to_pem()),
    ]);
    if let Some(name) = &signing.name {
        signer.insert("name", name.as_str());
    }
    let mut predicate = Value::object([
        ("format", Value::from(facts.format.as_str())),
        ("ids", text_object(&facts.ids)),
        ("roots", text_object(&facts.roots)),
        ("verification", checked),
        ("signer", signer),
    ]);
    let optional = [
        ("outcome", &facts.outcome),
        ("sealed_at", &facts.sealed_at),
        ("meaning", &signing.meaning),
        ("signed_at", &signing.signed_at),
    ];
    for (member, value) in optional {
        if let Some(value) = value {
            predicate.insert(member, value.as_str());
        }
    }
    if !signing.previous.is_empty() {
        let previous = signing.previous.iter();
        let previous = previous.map(|digest| Value::object([("sha256", digest.to_string())]));
        predicate.insert("previous", Value::array(previous));
    }
    if let Some(original) = &signing.original {
        predicate.insert("original", original.to_value());
    }
    predicate
}

/// Builds the SLSA provenance of a run bundle. `inputs` are its files that went into the run, by
/// name.
pub fn slsa_provenance(facts: &Facts, inputs: &BTreeMap<String, Digest>) -> Value {
    let dependencies = inputs.iter().map(|(name, digest)| {
        Value::object([
            ("name", Value::from(name.as_str())),
            ("digest", Value::object([("sha256", digest.to_string())])),
        ])
    });
    let id = |name: &str| facts.ids.get(name).cloned().unwrap_or_default();
    let external = [
        ("engine_code", id("engine_code")),
        ("engine_version", id("engine_version")),
        (
            "inputs_hash",
            facts.roots.get("inputs_hash").cloned().unwrap_or_default(),
        ),
    ];
    let external = external.into_iter().filter(|(_, value)| !value.is_empty());
    let mut metadata = Value::object([("invocationId", id("run_id"))]);
    if let Some(sealed_at) = &facts.sealed_at {
        metadata.insert("finishedOn", sealed_at.as_str());
    }
    Value::object([
        (
            "buildDefinition",
            Value::object([
                ("buildType", Value::from(SLSA_BUILD_TYPE)),
                ("externalParameters", Value::object(external)),
                ("resolvedDependencies", Value::array(dependencies)),
            ]),
        ),
        (
            "runDetails",
            Value::object([
                (
                    "builder",
                    Value::object([("id", "https://runseal.dev/builder/v1")]),
                ),
                ("metadata", metadata),
            ]),
        ),
    ])
}

/// Reads what a predicate of ours says about its signature; empty for any other.
pub fn read_signing(predicate_type: &str, predicate: &Value) -> (Signing, Option<PublicKey>) {
    if predicate_type != RUN_PREDICATE {
        return (Signing::default(), None);
    }
    let text = |value: &Value, member: &str| {
        let text = value.get(member).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let stated = |value: &Value, member: &str| {
        text(value, member).filter(|text| text.len() <= MAX_STATED_BYTES)
    };
    let signer = predicate.get("signer");
    let previous = match predicate.get("previous") {
        Some(Value::Array(list)) => list
            .iter()
            .take(MAX_PREVIOUS)
            .filter_map(|link| Digest::parse_hex(link.get("sha256")?.as_str()?).ok())
            .collect(),
        _ => Vec::new(),
    };
    let key = signer
        .and_then(|signer| text(signer, "public_key"))
        .and_then(|key| PublicKey::parse(&key).ok());
    let signing = Signing {
        name: signer.and_then(|signer| stated(signer, "name")),
        meaning: stated(predicate, "meaning"),
        signed_at: stated(predicate, "signed_at"),
        previous,
        original: predicate.get("original").and_then(Subject::from_value),
    };
    (signing, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{PrivateKey, Signer as _};
    use crate::statement::Target;

    #[test]
    fn predicate_contains_the_given_facts() {
        let key = PrivateKey::from_ed25519_seed(&[1; 32]).unwrap();
        let signing = Signing {
            name: Some("Ada".to_owned()),
            meaning: Some("reviewer".to_owned()),
            signed_at: Some("2026-01-01T00:00:00Z".to_owned()),
            previous: vec![Digest::of(b"x")],
            original: Target::of_file("r", "SHA256SUMS.txt", vec![])
                .subjects()
                .pop(),
        };
        let (facts, verification) = (Facts::default(), Verification::default());
        let value = run_predicate(&facts, &verification, &signing, key.public_key());
        let (read, found) = read_signing(RUN_PREDICATE, &value);
        assert_eq!((read, found.as_ref()), (signing, Some(key.public_key())));
        assert_eq!(read_signing(SLSA_PROVENANCE, &value).0, Signing::default());
    }
}
