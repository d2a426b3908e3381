//! A policy file with its chain, and the second and third answer about one path.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use runseal_core::source::SourceError;
use runseal_core::verify::authenticity::{Authenticity, TrustNote};
use runseal_core::verify::{Level, SignatureDemand, Survey};
use runseal_trust::check::{Known, check_signatures, summarize};
use runseal_trust::keys::PublicKey;
use runseal_trust::limits::MAX_POLICY_BYTES;
use runseal_trust::policy::{
    ChainError, Decision, NOT_INTACT, Policy, PolicyError, Question, decide, follow_chain,
    read_chain,
};
use runseal_trust::sigstore::TrustedRoot;
use thiserror::Error;

use super::{read_beside, read_signable};
use crate::input::read_file;

/// A whole chain may be as long as many policies.
const MAX_CHAIN_BYTES: u64 = 64 * MAX_POLICY_BYTES;

/// Why a policy file decides nothing.
#[derive(Debug, Error)]
pub enum PolicyFileError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is no text.
    #[error("the policy is no UTF-8 text")]
    NotText,
    /// It is no policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The chain beside it does not hold.
    #[error("the chain `{path}` does not hold")]
    Chain {
        /// The file.
        path: String,
        /// The first version that does not follow from the one before.
        source: ChainError,
    },
    /// Its trusted root of sigstore cannot be used.
    #[error("line {line}: {fault}")]
    Sigstore {
        /// The policy's line that names the root, from 1.
        line: usize,
        /// What is wrong with the root.
        fault: String,
    },
}

/// A policy that was read, at the newest version that the chain beside it proves.
#[derive(Debug)]
pub struct LoadedPolicy {
    /// The file as it was named; where the chain led further, with the version it led to.
    pub shown: String,
    /// The policy.
    pub policy: Policy,
    /// Its text.
    pub text: String,
    known: Known,
}

/// The chain that lies beside a policy.
pub fn chain_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".chain");
    PathBuf::from(name)
}

/// Reads a policy and follows the chain beside it.
///
/// # Errors
/// When it cannot be read, is no policy, or its chain does not hold.
pub fn load_policy(path: &Path) -> Result<LoadedPolicy, PolicyFileError> {
    let bytes = read_file(path, MAX_POLICY_BYTES)?;
    let mut text = String::from_utf8(bytes).map_err(|_| PolicyFileError::NotText)?;
    let mut policy = Policy::parse(&text)?;
    let mut shown = path.display().to_string();
    let chain = chain_beside(path);
    match read_file(&chain, MAX_CHAIN_BYTES) {
        Err(SourceError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(bytes) => {
            let chain_shown = chain.display().to_string();
            let fail = |source| PolicyFileError::Chain {
                path: chain_shown.clone(),
                source,
            };
            let links = read_chain(&bytes).map_err(fail)?;
            if let Some(newest) = follow_chain(&policy, links).map_err(fail)? {
                shown = format!("{shown} version {}", newest.policy.version);
                text = String::from_utf8_lossy(&newest.envelope.payload).into_owned();
                policy = newest.policy;
            }
        }
    }
    let sigstore = match &policy.sigstore_root {
        None => None,
        Some((root, line)) => {
            Some(
                TrustedRoot::parse(root).map_err(|error| PolicyFileError::Sigstore {
                    line: *line,
                    fault: error.to_string(),
                })?,
            )
        }
    };
    let known = Known {
        keys: Some(policy.keys()),
        anchors: policy.anchors.clone(),
        sigstore,
    };
    Ok(LoadedPolicy {
        shown,
        policy,
        text,
        known,
    })
}

/// What is asked about one path.
#[derive(Debug, Clone, Copy)]
pub struct TrustQuestion<'a> {
    /// The policy, where one was given.
    pub policy: Option<&'a LoadedPolicy>,
    /// Keys that were given instead of a policy, or beside it.
    pub keys: &'a [(PublicKey, String)],
    /// Now, in milliseconds since 1970.
    pub now: i64,
}

/// Adds the second and third answer to everything in a survey whose format is known.
pub fn judge_survey(
    survey: Survey,
    question: TrustQuestion<'_>,
    demand: SignatureDemand,
) -> Survey {
    let mut answers = BTreeMap::new();
    for result in survey.results() {
        if result.format.is_none() {
            continue;
        }
        let path = Path::new(&result.path);
        let (mut authenticity, _) = judge_signatures(path, survey.level(), question);
        // What did not hold when it was first looked at is not trusted for a second look.
        if let Some(trust) = &mut authenticity.trusted
            && trust.is_trusted
            && !result.is_valid()
        {
            trust.is_trusted = false;
            trust.reason = NOT_INTACT.to_owned();
        }
        answers.insert(result.path.clone(), authenticity);
    }
    survey.with_authenticity(answers, demand)
}

/// Unsigned, and not trusted where a policy was asked.
fn refused(question: TrustQuestion<'_>, reason: &str) -> Authenticity {
    let mut unsigned = Authenticity::unsigned();
    unsigned.trusted = question.policy.map(|policy| TrustNote {
        is_trusted: false,
        policy: policy.shown.clone(),
        line: None,
        rule: None,
        reason: reason.to_owned(),
    });
    unsigned
}

/// Looks for signatures beside `path`, checks them, and asks the policy. Where there is something
/// to check, `path` is read and judged here: what a signature must be over is the bytes that the
/// rules held for, not what stands there a moment later.
pub fn judge_signatures(
    path: &Path,
    level: Level,
    question: TrustQuestion<'_>,
) -> (Authenticity, Option<Decision>) {
    // What came through a pipe has nothing beside it.
    let is_piped = path == Path::new("-");
    let found = if is_piped {
        Vec::new()
    } else {
        read_beside(path)
    };
    if found.is_empty() && (question.policy.is_none() || is_piped) {
        return (refused(question, "it came through a pipe, unsigned"), None);
    }
    let signable = match read_signable(path, level) {
        Ok(signable) => signable,
        Err(error) => {
            let reason = format!("what was signed cannot be read: {error}");
            return (refused(question, &reason), None);
        }
    };
    let mut known = question
        .policy
        .map_or_else(Known::default, |policy| policy.known.clone());
    if !question.keys.is_empty() {
        let keys = known.keys.get_or_insert_default();
        keys.extend_from_slice(question.keys);
    }
    let checked = check_signatures(&found, &signable.target, &known);
    let mut authenticity = summarize(&checked, signable.facts.sealed_at.clone());
    let decision = question.policy.map(|policy| {
        let asked = Question {
            format: signable.format.name().to_owned(),
            engine: signable.facts.ids.get("engine_code").cloned(),
            outcome: signable.facts.outcome.clone(),
            path: path.display().to_string(),
            is_intact: signable.is_valid,
            now: question.now,
        };
        let decision = decide(&policy.policy, &asked, &signable.target, &checked);
        authenticity.trusted = Some(decision.to_note(&policy.shown));
        decision
    });
    (authenticity, decision)
}
