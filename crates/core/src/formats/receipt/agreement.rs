//! What a receipt says twice must agree: its outcome with its steps, its steps with its artifacts,
//! its artifacts with its root hash. Missing or mistyped members are findings of RC1 and not
//! compared.

use std::collections::BTreeSet;

use super::Receipt;
use crate::canon::{Integer, JsonPath, Kind, Node};
use crate::digest::Digest;
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::hashes::compute_root_hash;
use crate::limits::FINDINGS_A_RULE;

/// A disagreement: its place in the receipt, and a message.
pub(super) type Disagreement = (JsonPath, String);

const SUCCESS: &str = "SUCCESS";

/// Adds a disagreement, as long as a rule would list it.
fn push(found: &mut Vec<Disagreement>, place: JsonPath, message: String) {
    if found.len() <= FINDINGS_A_RULE {
        found.push((place, message));
    }
}

fn is_success(node: Node<'_>) -> Option<bool> {
    match &*node.get("outcome")?.as_lossy_str()? {
        SUCCESS => Some(true),
        "FAILURE" => Some(false),
        _ => None,
    }
}

fn is_list(node: Node<'_>) -> bool {
    node.kind() == Kind::Array
}

/// Whether a member is an object and not null; `None` if it is neither, which RC1 reports.
fn has(node: Node<'_>, member: &str) -> Option<bool> {
    match node.get(member)?.kind() {
        Kind::Object => Some(true),
        Kind::Null => Some(false),
        _ => None,
    }
}

/// Finds contradictions between outcomes, results and errors.
pub(super) fn compare_outcomes(receipt: &Receipt<'_>) -> Vec<Disagreement> {
    let mut found = Vec::new();
    let node = receipt.node;
    let steps = node.get("steps");
    let mut failed_steps = 0;
    // Whether every step has an outcome, of whatever name.
    let mut is_told = steps.is_some_and(is_list);
    for (at, step) in steps
        .into_iter()
        .flat_map(|steps| steps.items())
        .enumerate()
    {
        let mut add = |member: &str, message: &str| {
            let place = JsonPath::ROOT.then("steps").then(at).then(member);
            push(&mut found, place, message.to_owned());
        };
        match is_success(step) {
            Some(true) => {
                if has(step, "error") == Some(true) {
                    add("error", "a step of outcome SUCCESS has an error");
                }
                if has(step, "result") == Some(false) {
                    add("result", "a step of outcome SUCCESS has no result");
                }
            }
            Some(false) => {
                failed_steps += 1;
                if has(step, "error") == Some(false) {
                    add("error", "a step of outcome FAILURE has no error");
                }
                if has(step, "result") == Some(true) {
                    add("result", "a step of outcome FAILURE has a result");
                }
            }
            None => is_told &= step.get("outcome").is_some_and(|word| word.is_string()),
        }
    }
    let mut add = |member: &str, message: String| {
        push(&mut found, JsonPath::ROOT.then(member), message);
    };
    match is_success(node) {
        Some(true) => {
            if steps.is_some_and(|steps| is_list(steps) && steps.is_empty()) {
                let message = "the outcome is SUCCESS, but there is no step";
                add("steps", message.to_owned());
            }
            if failed_steps > 0 {
                let message =
                    format!("the outcome is SUCCESS, but {failed_steps} of its steps failed");
                add("outcome", message);
            }
            if has(node, "error") == Some(true) {
                add(
                    "error",
                    "a receipt of outcome SUCCESS has an error".to_owned(),
                );
            }
        }
        Some(false) if failed_steps == 0 && is_told && has(node, "error") == Some(false) => {
            let message = "the outcome is FAILURE, but neither an error nor a step says why";
            add("outcome", message.to_owned());
        }
        _ => {}
    }
    found
}

/// The hash and size of a content, as both lists state them.
type Content<'a> = (Digest, Integer<'a>);

fn content<'a>(node: Node<'a>, hash: &str) -> Option<Content<'a>> {
    let digest = Digest::parse_hex(&node.get(hash)?.as_lossy_str()?).ok()?;
    let bytes = node.get("bytes")?.as_number()?.as_integer()?;
    (!bytes.is_negative()).then_some((digest, bytes))
}

/// Finds artifacts that are not results of steps, and a root hash that is not that of the
/// artifacts.
pub(super) fn compare_artifacts(receipt: &Receipt<'_>) -> Vec<Disagreement> {
    let mut found = Vec::new();
    let items = |member: &str| {
        receipt
            .node
            .get(member)
            .into_iter()
            .flat_map(|list| list.items())
    };
    let is_there = |member: &str| receipt.node.get(member).is_some_and(is_list);
    // A list in which a content is missing cannot tell that another one is not in it.
    let results: Option<BTreeSet<Content<'_>>> = items("steps")
        .map(|step| match step.get("result")? {
            result if result.is_null() => Some(None),
            result => Some(Some(content(result, "content_hash")?)),
        })
        .collect::<Option<Vec<_>>>()
        .filter(|_| is_there("steps"))
        .map(|results| results.into_iter().flatten().collect());
    let artifacts: Vec<_> = items("artifacts")
        .map(|artifact| content(artifact, "sha256"))
        .collect();
    let kept: Option<BTreeSet<&Content<'_>>> = artifacts
        .iter()
        .map(Option::as_ref)
        .collect::<Option<_>>()
        .filter(|_| is_there("artifacts"));
    for (at, artifact) in artifacts.iter().enumerate() {
        let is_missing = |content| results.as_ref().is_some_and(|all| !all.contains(content));
        if artifact.as_ref().is_some_and(is_missing) {
            let place = JsonPath::ROOT.then("artifacts").then(at);
            push(
                &mut found,
                place,
                "no step has this content as its result".to_owned(),
            );
        }
    }
    for (at, step) in items("steps").enumerate() {
        let result = step
            .get("result")
            .and_then(|result| content(result, "content_hash"));
        let is_missing = |content| kept.as_ref().is_some_and(|all| !all.contains(&content));
        if result.is_some_and(is_missing) {
            let place = JsonPath::ROOT.then("steps").then(at).then("result");
            push(&mut found, place, "no artifact has this content".to_owned());
        }
    }
    let pairs: Option<Vec<_>> = items("artifacts").map(pair).collect();
    let pairs = pairs.filter(|_| is_there("artifacts"));
    let stated = receipt
        .node
        .get("root_hash")
        .and_then(|root| root.as_lossy_str());
    let stated = stated.and_then(|root| Digest::parse_hex(&root).ok());
    if let (Some(mut pairs), Some(stated)) = (pairs, stated) {
        pairs.sort_by_key(|(key, _)| *key);
        let computed = compute_root_hash(pairs);
        if computed != stated {
            let message = format!("the root hash of the artifacts is `{computed}`");
            push(&mut found, JsonPath::ROOT.then("root_hash"), message);
        }
    }
    found
}

fn pair(artifact: Node<'_>) -> Option<(ArtifactKey, Digest)> {
    let id = artifact.get("artifact_id")?.as_lossy_str()?;
    let digest = artifact.get("sha256")?.as_lossy_str()?;
    Some((
        ArtifactKey::parse(id.as_bytes())?,
        Digest::parse_hex(&digest).ok()?,
    ))
}
