//! Judges `ai-agent-action`: the form of a statement, and the chain of records below it.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{
    Dialect, JsonError, JsonErrorKind, Kind, Node, ReadOptions, canonical_bytes, parse_document,
};
use runseal_core::digest::{Digest, decode_lower_hex};
use thiserror::Error;

use super::{ACTION_PREDICATE, GENESIS};

/// The most brackets that may be open in a statement or record.
const MAX_DEPTH: u32 = 128;

/// What is wrong with a statement or its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum ActionFault {
    /// The record is not strict JSON.
    #[error("it is not strict JSON")]
    NoJson,
    /// An object has the same member twice.
    #[error("a member appears twice")]
    DuplicateMember,
    /// Half of a surrogate pair, or invalid UTF-8.
    #[error("a string is ill-formed")]
    IllFormedString,
    /// More brackets open than the proposal allows.
    #[error("more than {MAX_DEPTH} brackets are open")]
    DepthExceeded,
    /// An integer that a double cannot represent exactly.
    #[error("an integer is 2^53 or larger")]
    UnsafeInteger,
    /// A number with a fraction or exponent.
    #[error("a number is not an integer")]
    NonInteger,
    /// A required member is missing or has another type.
    #[error("a required member is missing or of another type")]
    Malformed,
    /// `previousHash` is neither 64 lower-case hex digits nor `genesis`.
    #[error("previousHash is neither 64 lower-case hex digits nor `genesis`")]
    PreviousHash,
    /// The checkpoint is not linked into the chain.
    #[error("the checkpoint is not linked into the chain")]
    CheckpointNotLinked,
    /// A record is not stored as its canonical bytes.
    #[error("a record's bytes are not canonical")]
    NonCanonical,
    /// The subject is not the hash of the chain's root.
    #[error("the subject is not the chain's root")]
    SubjectNotRoot,
    /// A segment after a break claims the identifier of another chain.
    #[error("a segment after a break claims another chain's identifier")]
    ForeignIdentifier,
    /// Two records follow the same one.
    #[error("two records follow the same one")]
    Fork,
    /// A second record claims to begin the chain.
    #[error("`genesis` appears more than once")]
    DuplicateGenesis,
    /// A record follows one that is not among the records.
    #[error("a record follows one that is not here")]
    BrokenLink,
    /// Two records with the same id.
    #[error("two records have the same id")]
    DuplicateId,
    /// A break without a prior head, under a profile that forbids it.
    #[error("a break without a prior head is not allowed")]
    NullPriorHead,
    /// A content digest does not match its payload.
    #[error("a content digest does not match its payload")]
    ContentDigest,
}

/// What a deployment guarantees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// Nothing beyond the proposal.
    #[default]
    Default,
    /// A compromised attestor cannot plant a break: every break names its prior head.
    Resistant,
}

/// The payloads that the verifier has, by the digest of their canonical bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Payloads {
    /// The digest of the request, if it was given.
    pub request: Option<Digest>,
    /// The digest of the response, if it was given.
    pub response: Option<Digest>,
}

type Check<T = ()> = Result<T, ActionFault>;

fn json_fault(error: &JsonError) -> ActionFault {
    match error.kind {
        JsonErrorKind::DuplicateKey { .. } => ActionFault::DuplicateMember,
        JsonErrorKind::NotUtf8 => ActionFault::IllFormedString,
        JsonErrorKind::TooDeep { .. } => ActionFault::DepthExceeded,
        _ => ActionFault::NoJson,
    }
}

/// Checks every string and number of a statement or record, and the depth.
fn check_values(node: Node<'_>, depth: u32) -> Check {
    match node.kind() {
        Kind::Object | Kind::Array if depth >= MAX_DEPTH => return Err(ActionFault::DepthExceeded),
        Kind::String if node.as_str().is_none() => return Err(ActionFault::IllFormedString),
        _ => {}
    }
    if let Some(number) = node.as_number() {
        let integer = number.as_integer().ok_or(ActionFault::NonInteger)?;
        let is_safe = match integer.to_u64() {
            Some(value) => value < 1 << 53,
            // A negative number is compared without its sign.
            None => {
                let digits = number.text().strip_prefix('-');
                digits
                    .and_then(|digits| digits.parse::<u64>().ok())
                    .is_some_and(|value| value < 1 << 53)
            }
        };
        if !is_safe {
            return Err(ActionFault::UnsafeInteger);
        }
    }
    for item in node.items() {
        check_values(item, depth + 1)?;
    }
    for (key, value) in node.members() {
        if key.as_str().is_none() {
            return Err(ActionFault::IllFormedString);
        }
        check_values(value, depth + 1)?;
    }
    Ok(())
}

fn text<'a>(node: Node<'a>, member: &str) -> Check<std::borrow::Cow<'a, str>> {
    let found = node.get(member).and_then(|value| value.as_str());
    found.ok_or(ActionFault::Malformed)
}

fn is_digest(text: &str) -> bool {
    decode_lower_hex::<32>(text).is_some()
}

fn check_previous(text: &str) -> Check {
    if text == GENESIS || is_digest(text) {
        Ok(())
    } else {
        Err(ActionFault::PreviousHash)
    }
}

/// Returns the hash that a statement says it follows; `None` after a break that lost its prior
/// head.
fn check_link(predicate: Node<'_>, kind: &str, profile: Profile) -> Check<Option<String>> {
    let chain = predicate.get("chain");
    let linked = match chain {
        Some(chain) => {
            let previous = text(chain, "previousHash")?;
            check_previous(&previous)?;
            Some(previous.into_owned())
        }
        None => None,
    };
    match kind {
        "tool_call" => linked.map(Some).ok_or(ActionFault::Malformed),
        "checkpoint" => {
            let said = predicate.get("checkpoint").ok_or(ActionFault::Malformed)?;
            match linked {
                Some(linked) if linked == text(said, "previousHash")? => Ok(Some(linked)),
                _ => Err(ActionFault::CheckpointNotLinked),
            }
        }
        "chain_break" => {
            let said = predicate.get("chainBreak").ok_or(ActionFault::Malformed)?;
            let head = said.get("priorHead").ok_or(ActionFault::Malformed)?;
            match (head.as_str(), linked) {
                (Some(head), Some(linked)) if head == linked => Ok(Some(linked)),
                (None, None) if head.is_null() && profile == Profile::Resistant => {
                    Err(ActionFault::NullPriorHead)
                }
                (None, None) if head.is_null() => Ok(None),
                _ => Err(ActionFault::Malformed),
            }
        }
        _ => Err(ActionFault::Malformed),
    }
}

fn check_contents(predicate: Node<'_>, action: Node<'_>, payloads: Payloads) -> Check {
    let Some(contents) = predicate.get("contentDigest") else {
        return Ok(());
    };
    let has_failed = action.get("success").and_then(|value| value.as_bool()) == Some(false);
    for (name, held) in [
        ("request", payloads.request),
        ("response", payloads.response),
    ] {
        let Some(said) = contents.get(name) else {
            continue;
        };
        let digest = Digest::parse_hex(&text(said, "sha256")?);
        let digest = digest.map_err(|_| ActionFault::Malformed)?;
        // A failed call has an error; the digest of an empty response would hide that.
        let is_nothing = [b"null".as_slice(), b"{}"]
            .iter()
            .any(|bytes| Digest::of(bytes) == digest);
        let is_evaded = name == "response" && has_failed && is_nothing;
        if is_evaded || held.is_some_and(|held| held != digest) {
            return Err(ActionFault::ContentDigest);
        }
    }
    Ok(())
}

/// Judges a statement on its own. Returns its subject digest and the hash that it follows.
///
/// # Errors
/// The first fault.
pub fn check_action(
    payload: &[u8],
    profile: Profile,
    payloads: Payloads,
) -> Result<(Digest, Option<String>), ActionFault> {
    let document =
        parse_document(payload, &ReadOptions::default()).map_err(|error| json_fault(&error))?;
    let root = document.root();
    check_values(root, 0)?;
    if text(root, "predicateType")? != ACTION_PREDICATE {
        return Err(ActionFault::Malformed);
    }
    let subject = root.get("subject").and_then(|list| list.items().next());
    let digest = subject.and_then(|subject| subject.get("digest"));
    let digest = text(digest.ok_or(ActionFault::Malformed)?, "sha256")?;
    let digest = Digest::parse_hex(&digest).map_err(|_| ActionFault::Malformed)?;
    let predicate = root.get("predicate").ok_or(ActionFault::Malformed)?;
    let action = predicate.get("action").ok_or(ActionFault::Malformed)?;
    let kind = text(action, "type")?;
    text(action, "timestamp")?;
    if kind == "tool_call" {
        for member in ["protocol", "method", "toolName"] {
            text(action, member)?;
        }
        let duration = action.get("durationMs").and_then(|node| node.as_number());
        let success = action.get("success").and_then(|node| node.as_bool());
        if duration.is_none() || success.is_none() {
            return Err(ActionFault::Malformed);
        }
    }
    let previous = check_link(predicate, &kind, profile)?;
    check_contents(predicate, action, payloads)?;
    Ok((digest, previous))
}

/// A record of the chain: its hash and the hash that it follows.
struct Record {
    hash: Digest,
    previous: Option<String>,
    is_break: bool,
}

fn check_record(line: &[u8], profile: Profile) -> Check<(Record, String)> {
    let document =
        parse_document(line, &ReadOptions::default()).map_err(|error| json_fault(&error))?;
    let root = document.root();
    check_values(root, 0)?;
    let bytes = canonical_bytes(root, Dialect::Jcs).map_err(|_| ActionFault::IllFormedString)?;
    if bytes != line {
        return Err(ActionFault::NonCanonical);
    }
    let kind = text(root, "type")?;
    let id = text(root, "id")?.into_owned();
    let previous = match &*kind {
        "tool_call" | "checkpoint" => Some(text(root, "previousHash")?.into_owned()),
        "chain_break" => {
            let head = root.get("priorHead").ok_or(ActionFault::Malformed)?;
            match (head.is_null(), head.as_str()) {
                (true, _) if profile == Profile::Resistant => {
                    return Err(ActionFault::NullPriorHead);
                }
                (true, _) => None,
                (false, Some(head)) => Some(head.into_owned()),
                (false, None) => return Err(ActionFault::Malformed),
            }
        }
        _ => return Err(ActionFault::Malformed),
    };
    if let Some(previous) = &previous {
        check_previous(previous)?;
    }
    let record = Record {
        hash: Digest::of(line),
        previous,
        is_break: &*kind == "chain_break",
    };
    Ok((record, id))
}

/// Judges a statement with the records of its chain, oldest first, one per line.
///
/// # Errors
/// The first fault.
pub fn check_chain(
    payload: &[u8],
    records: &[u8],
    profile: Profile,
    payloads: Payloads,
) -> Result<(), ActionFault> {
    let (subject, previous) = check_action(payload, profile, payloads)?;
    let mut ids = BTreeSet::new();
    let mut chain: Vec<Record> = Vec::new();
    let mut followers: BTreeMap<String, usize> = BTreeMap::new();
    for line in records
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let (record, id) = check_record(line, profile)?;
        if !ids.insert(id) {
            return Err(ActionFault::DuplicateId);
        }
        let at = chain.len();
        if let Some(before) = &record.previous {
            if followers.insert(before.clone(), at).is_some() {
                return Err(if before == GENESIS {
                    ActionFault::DuplicateGenesis
                } else {
                    ActionFault::Fork
                });
            }
            let is_next = match chain.last() {
                Some(last) => last.hash.to_string() == *before,
                None => before == GENESIS,
            };
            if !is_next {
                return Err(ActionFault::BrokenLink);
            }
        } else if at > 0 {
            return Err(ActionFault::BrokenLink);
        }
        chain.push(record);
    }
    let (Some(root), Some(last)) = (chain.first(), chain.last()) else {
        return Err(ActionFault::Malformed);
    };
    if subject != root.hash {
        let is_segment = root.is_break && root.previous.is_none();
        return Err(if is_segment {
            ActionFault::ForeignIdentifier
        } else {
            ActionFault::SubjectNotRoot
        });
    }
    if previous == last.previous {
        Ok(())
    } else {
        Err(ActionFault::BrokenLink)
    }
}

/// Judges a statement as [`super::write_action`] writes it: with the chain's only record in its
/// member `record`. A statement without that member is judged on its own.
///
/// # Errors
/// The first fault.
pub fn check_written_action(payload: &[u8]) -> Result<(), ActionFault> {
    let document =
        parse_document(payload, &ReadOptions::default()).map_err(|error| json_fault(&error))?;
    let predicate = document.root().get("predicate");
    match predicate.and_then(|predicate| predicate.get("record")) {
        None => {
            check_action(payload, Profile::Default, Payloads::default())?;
            Ok(())
        }
        Some(record) => {
            let line = canonical_bytes(record, Dialect::Jcs);
            let line = line.map_err(|_| ActionFault::IllFormedString)?;
            check_chain(payload, &line, Profile::Default, Payloads::default())
        }
    }
}
