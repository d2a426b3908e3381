//! Changes of a policy, in the manner of TUF's root: version n+1 is signed by a threshold of the
//! roots of both n and n+1. The whole chain is shipped, one envelope per line, so a verifier with
//! any version gets to the newest one offline.

use thiserror::Error;

use super::decide::{check_time, time_of};
use super::{Policy, PolicyError, Requirement};
use crate::budget::{Budget, Exhausted};
use crate::dsse::{Envelope, EnvelopeSignature};
use crate::keys::{PublicKey, SignError, Signer};
use crate::limits::{MAX_CHAIN, MAX_POLICY_BYTES};
use crate::timestamp::{Anchors, Token};

/// The payload type of a policy in the chain.
pub const CHAIN_PAYLOAD: &str = "application/vnd.runseal.trust-policy.v1+toml";

/// Why a chain cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// A line is not an envelope of a policy.
    #[error("line {line} of the chain: {fault}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong there.
        fault: String,
    },
    /// A policy in it is broken.
    #[error("line {line} of the chain contains a broken policy")]
    Policy {
        /// Its number, from 1.
        line: usize,
        /// What is wrong there.
        source: PolicyError,
    },
    /// Versions are missing, repeated or out of order.
    #[error("expected version {expected} next, actual {actual}")]
    Version {
        /// The version that has to follow.
        expected: u64,
        /// The version that follows.
        actual: u64,
    },
    /// A policy without a root cannot be changed.
    #[error("version {0} has no [root], so it cannot be changed")]
    NoRoot(u64),
    /// Fewer keys signed it than a root demands.
    #[error(
        "version {version} is signed by {have} of the {need} needed by the root of version {root}{}",
        .because.as_ref().map(|because| format!(": {because}")).unwrap_or_default()
    )]
    Threshold {
        /// The version that is signed.
        version: u64,
        /// The version whose root must sign.
        root: u64,
        /// The number of keys of the root that signed.
        have: usize,
        /// The number of keys that must sign.
        need: usize,
        /// Why a signature of the root does not count.
        because: Option<String>,
    },
    /// Too many signatures need checking.
    #[error(transparent)]
    Budget(#[from] Exhausted),
    /// The chain is longer than any legitimate one.
    #[error("the chain is longer than {MAX_CHAIN} versions")]
    TooLong,
}

/// One version in a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// The line, from 1.
    pub line: usize,
    /// The signed text of this version.
    pub envelope: Envelope,
    /// The policy in the envelope.
    pub policy: Policy,
}

/// Signs a policy, or adds a signature to a signed one.
///
/// # Errors
/// When the signer fails.
pub fn sign_policy(
    text: &str,
    earlier: Option<Envelope>,
    signer: &dyn Signer,
) -> Result<Envelope, SignError> {
    match earlier {
        Some(mut envelope) if envelope.payload == text.as_bytes() => {
            envelope.add_signature(signer)?;
            Ok(envelope)
        }
        _ => Envelope::sign(CHAIN_PAYLOAD, text.as_bytes().to_vec(), signer),
    }
}

/// Reads a chain. Nothing in it is trusted yet.
///
/// # Errors
/// When a line is not an envelope with a policy.
pub fn read_chain(bytes: &[u8]) -> Result<Vec<Link>, ChainError> {
    let mut links = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let at = at + 1;
        if links.len() >= MAX_CHAIN {
            return Err(ChainError::TooLong);
        }
        let fault = |fault: String| ChainError::Line { line: at, fault };
        let envelope = Envelope::parse(line).map_err(|error| fault(error.to_string()))?;
        if envelope.payload_type != CHAIN_PAYLOAD {
            return Err(fault("it is not a trust policy".to_owned()));
        }
        if envelope.payload.len() as u64 > MAX_POLICY_BYTES {
            return Err(fault("the policy is too large".to_owned()));
        }
        let text = std::str::from_utf8(&envelope.payload)
            .map_err(|_| fault("the policy is not UTF-8 text".to_owned()))?;
        let policy =
            Policy::parse(text).map_err(|source| ChainError::Policy { line: at, source })?;
        links.push(Link {
            line: at,
            envelope,
            policy,
        });
    }
    Ok(links)
}

/// Follows the chain from a trusted policy to the newest one that it proves, skipping versions up
/// to the start's own. Returns `None` if the chain has no newer one. Signers of a root count as
/// they do elsewhere: now, or at the time stamped by an authority of the same policy.
///
/// # Errors
/// When the next version is missing, or not signed by both roots.
pub fn follow_chain(
    start: &Policy,
    links: Vec<Link>,
    now: i64,
) -> Result<Option<Link>, ChainError> {
    let mut budget = Budget::of_chain();
    let mut newest: Option<Link> = None;
    for link in links {
        let current = newest.as_ref().map_or(start, |link| &link.policy);
        let (actual, expected) = (link.policy.version, current.version.saturating_add(1));
        if actual <= start.version && newest.is_none() {
            continue;
        }
        if actual != expected {
            return Err(ChainError::Version { expected, actual });
        }
        for signed_by in [current, &link.policy] {
            let root = signed_by.root.as_ref();
            let root = root.ok_or(ChainError::NoRoot(signed_by.version))?;
            check_threshold(signed_by, root, &link, now, &mut budget)?;
        }
        newest = Some(link);
    }
    Ok(newest)
}

/// Returns why a key may not change a policy now; `None` if it may.
pub fn not_of_root(policy: &Policy, key: &PublicKey, now: i64) -> Option<String> {
    let version = policy.version;
    if policy.denied_keys.contains_key(&key.id()) {
        return Some(format!("version {version} denies the key"));
    }
    let root = policy.root.as_ref()?;
    let mut signers = root.signers.iter().filter_map(|name| policy.signer(name));
    match signers.find(|signer| signer.keys.contains(key)) {
        None => Some(format!("the key is not in the root of version {version}")),
        Some(signer) => check_time(signer, now, "now")
            .err()
            .map(|because| format!("{because}, in version {version}")),
    }
}

fn check_threshold(
    policy: &Policy,
    root: &Requirement,
    link: &Link,
    now: i64,
    budget: &mut Budget,
) -> Result<(), ChainError> {
    let message = link.envelope.signed_bytes();
    let (mut have, mut because) = (0, None);
    for signer in root.signers.iter().filter_map(|name| policy.signer(name)) {
        let mut counts = false;
        for key in &signer.keys {
            if policy.denied_keys.contains_key(&key.id()) {
                continue;
            }
            for signature in &link.envelope.signatures {
                budget.pay_signature(message.len())?;
                if counts || !key.verifies(&message, &signature.sig) {
                    continue;
                }
                let proven = stamped(signature, &policy.anchors, budget);
                let (time, whose) = time_of(&proven, now);
                match check_time(signer, time, whose) {
                    Ok(()) => counts = true,
                    Err(fault) => because = Some(fault),
                }
            }
        }
        have += usize::from(counts);
    }
    if have >= root.threshold {
        return Ok(());
    }
    Err(ChainError::Threshold {
        version: link.policy.version,
        root: policy.version,
        have,
        need: root.threshold,
        because,
    })
}

/// Returns the times that authorities vouch for.
fn stamped(signature: &EnvelopeSignature, anchors: &Anchors, budget: &mut Budget) -> Vec<i64> {
    let tokens = signature.timestamps.iter();
    let tokens = tokens.filter_map(|token| Token::parse(token).ok());
    tokens
        .filter(|token| token.verify(&signature.sig, anchors, budget).is_ok())
        .map(|token| token.claimed_time())
        .collect()
}
