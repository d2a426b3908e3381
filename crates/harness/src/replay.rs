//! Replays the execution of a pack: executes its proposal again, under its policy and with the
//! recorded model answers, and compares the new evidence with the sealed one.
//!
//! Times, run ids and the host are not compared. Everything that the evidence's hash covers is, and
//! so are the files that exist at the end.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use runseal_core::canon::{
    Dialect, Document, Node, ReadOptions, Value, canonical_bytes, canonical_text, parse_document,
};
use runseal_core::formats::evidence::{PROPOSAL, compute_evidence_hash, find_content};
use runseal_core::formats::policy::Policy;
use runseal_core::formats::proposal::{ProposalView, verify_proposal};
use runseal_core::verify::{Level, one_line};
use runseal_kernel::proposal::Proposal;
use runseal_sandbox::Isolation;

use super::error::HarnessError;
use super::execute::{Surroundings, execute};
use super::model::ModelServer;
use super::plan::{check_proposal, first_finding};
use super::proxied::Answering;
use super::record::{Times, make_evidence, make_execution};
use super::{open_sandbox, parse_answers, sandbox_error};
use runseal_fs::models::StartReplay;

/// What a pack contains about an execution.
pub struct RecordedExecution<'a> {
    /// run.json.
    pub run: Node<'a>,
    /// evidence.json.
    pub evidence: Node<'a>,
    /// The bytes of model_io.json, if models were called.
    pub model_io: Option<&'a [u8]>,
}

/// What is the same and what differs, in words.
#[derive(Debug, Default)]
pub struct ReplayedExecution {
    /// What is the same.
    pub same: Vec<String>,
    /// What differs from the pack, one line each; empty if nothing does.
    pub differences: Vec<String>,
}

/// Returns the verified proposal in the evidence, or `None` if it has none.
///
/// # Errors
/// When it is not a valid proposal.
pub fn held_proposal(evidence: Node<'_>) -> Result<Option<Proposal>, HarnessError> {
    let Some(root) = evidence.get(PROPOSAL) else {
        return Ok(None);
    };
    parse_verified(root).map(Some)
}

/// Parses a proposal without its bundle.
///
/// # Errors
/// When it is not JSON or not a valid proposal.
pub fn parse_proposal(bytes: &[u8]) -> Result<Proposal, HarnessError> {
    let document = parse_document(bytes, &ReadOptions::default())
        .map_err(|error| HarnessError::NotJson(format!("{}, at {}", error.kind, error.position)))?;
    parse_verified(document.root())
}

fn parse_verified(root: Node<'_>) -> Result<Proposal, HarnessError> {
    let report = verify_proposal(&ProposalView::new(root, None), Level::Document);
    if !report.is_valid() {
        return Err(HarnessError::Invalid(first_finding(&report)));
    }
    let proposal =
        Proposal::parse(root).map_err(|error| HarnessError::Invalid(error.to_string()))?;
    check_proposal(&proposal)?;
    Ok(proposal)
}

/// What a replay needs from its caller.
#[derive(Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The caller's PATH, searched for programs that the policy names and the sandbox's PATH does
    /// not have.
    pub programs: Option<&'a OsStr>,
    /// Starts a session that answers model calls from the recording; `None` if that is not
    /// possible.
    pub models: Option<StartReplay<'a>>,
}

/// Executes the proposal again and compares the results.
///
/// # Errors
/// When the proposal is not the one that was executed, or cannot be executed here at all.
pub fn replay_execution(
    recorded: &RecordedExecution<'_>,
    proposal: &Proposal,
    caller: &Caller<'_>,
) -> Result<ReplayedExecution, HarnessError> {
    let declared = text(recorded.evidence, "proposal_hash").unwrap_or_default();
    if declared != proposal.hash().to_string() {
        let message = "the proposal is not the one that the evidence is about";
        return Err(HarnessError::Invalid(message.to_owned()));
    }
    let policy = recorded.run.get("policy").map(Policy::parse);
    let policy = match policy {
        Some(Ok(policy)) => policy,
        Some(Err(fault)) => {
            return Err(HarnessError::Invalid(format!("run.json, policy: {fault}")));
        }
        None => return Err(HarnessError::Invalid("run.json has no policy".to_owned())),
    };
    let answering = match recorded.model_io {
        None => None,
        Some(bytes) => Answering::start(bytes, caller.models)?,
    };
    let server = match recorded.model_io.filter(|_| answering.is_none()) {
        None => None,
        Some(bytes) => {
            let (answers, identity) = parse_answers(bytes, "model_io.json")?;
            Some(ModelServer::start(answers, identity).map_err(|error| {
                HarnessError::Internal(format!("no socket for models: {error}"))
            })?)
        }
    };
    let sandbox = open_sandbox(Isolation::Full)?;
    let surroundings = Surroundings {
        model: server.as_ref(),
        session: answering.as_ref().map(Answering::session),
        programs: caller.programs,
    };
    let done = execute(proposal, &policy, &sandbox, surroundings)
        .map_err(|error| sandbox_error(&error))?;
    let times = Times {
        started: 0,
        completed: 0,
    };
    let evidence = stored(&make_evidence(proposal, &done, times))?;
    let evidence = reread(&evidence)?;
    let execution = stored(&make_execution(proposal, &policy, &done))?;
    let execution = reread(&execution)?;
    let mut replayed = ReplayedExecution::default();
    compare_evidence(&mut replayed, recorded.evidence, evidence.root());
    if let Some(sealed) = recorded.run.get("execution") {
        let before = (recorded.evidence, sealed);
        compare_execution(&mut replayed, before, (evidence.root(), execution.root()));
    }
    if let Some(answering) = answering {
        let traffic = answering.finish()?;
        if traffic.misses.is_empty() && traffic.unused == 0 {
            let same = "every call to a model, answered from the recording";
            replayed.same.push(same.to_owned());
        }
        replayed.differences.extend(traffic.misses);
        if traffic.unused > 0 {
            let unused = format!("{} recorded calls to models were not made", traffic.unused);
            replayed.differences.push(unused);
        }
    }
    if let Some(server) = server {
        compare_calls(&mut replayed, recorded.model_io, &server.finish());
    }
    Ok(replayed)
}

fn stored(value: &Value) -> Result<Vec<u8>, HarnessError> {
    canonical_bytes(value, Dialect::Kernel)
        .map_err(|error| HarnessError::Evidence(error.to_string()))
}

fn reread(bytes: &[u8]) -> Result<Document<'_>, HarnessError> {
    parse_document(bytes, &ReadOptions::default())
        .map_err(|error| HarnessError::Evidence(error.kind.to_string()))
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

fn items<'a>(node: Node<'a>, name: &str) -> Vec<Node<'a>> {
    let list = node.get(name).map(|list| list.items());
    list.into_iter().flatten().collect()
}

/// Formats a value for messages: a text unquoted, anything else as JSON.
fn in_words(node: Option<Node<'_>>) -> String {
    let Some(node) = node else {
        return "nothing".to_owned();
    };
    match node.as_lossy_str() {
        Some(text) => one_line(&text),
        None => canonical_text(&node.to_value(), Dialect::Kernel).unwrap_or_default(),
    }
}

fn compare_evidence(replayed: &mut ReplayedExecution, sealed: Node<'_>, now: Node<'_>) {
    let hash = |root| compute_evidence_hash(root).map(|hash| hash.to_string());
    let (before, after) = (hash(sealed), hash(now));
    if before == after {
        let hash = after.unwrap_or_default();
        replayed.same.push(format!("the evidence's hash: {hash}"));
        let counts = [("action_results", "action"), ("test_results", "test")];
        let counts = counts.map(|(list, one)| count(items(now, list).len(), one));
        let results = format!("the results of {}", counts.join(" and "));
        replayed.same.push(results);
        return;
    }
    let known = replayed.differences.len();
    for (list, id) in [("action_results", "action_id"), ("test_results", "test_id")] {
        let (before, after) = (items(sealed, list), items(now, list));
        for (old, new) in before.iter().zip(&after) {
            let name = text(*old, "path").or_else(|| text(*old, id));
            let name = one_line(&name.unwrap_or_default());
            compare_result(replayed, &name, (sealed, *old), (now, *new));
        }
        if before.len() != after.len() {
            replayed.differences.push(format!(
                "{list}: sealed {}, now {}",
                before.len(),
                after.len()
            ));
        }
    }
    if replayed.differences.len() == known {
        replayed.differences.push(format!(
            "the evidence's hash: sealed {}, now {}",
            before.as_deref().unwrap_or("none"),
            after.as_deref().unwrap_or("none")
        ));
    }
}

/// Compares one result with the new one: each member, and the first line of output that differs.
fn compare_result(
    replayed: &mut ReplayedExecution,
    name: &str,
    (sealed, old): (Node<'_>, Node<'_>),
    (now, new): (Node<'_>, Node<'_>),
) {
    let keys = old.members().chain(new.members());
    let names: BTreeSet<String> = keys.map(|(key, _)| key.to_lossy().into_owned()).collect();
    for member in names {
        let (before, after) = (old.get(&member), new.get(&member));
        let form = |node: Option<Node<'_>>| {
            node.and_then(|node| canonical_bytes(node, Dialect::Kernel).ok())
        };
        if form(before) == form(after) {
            continue;
        }
        let (before, after) = (in_words(before), in_words(after));
        let content = |root, hash: &str| find_content(root, hash).map(Cow::into_owned);
        let difference = match (content(sealed, &before), content(now, &after)) {
            (Some(before), Some(after)) => first_difference(&before, &after),
            _ => format!("sealed `{before}`, now `{after}`"),
        };
        let label = match member.as_str() {
            "stdout_sha256" => "standard output",
            "stderr_sha256" => "standard error",
            other => other,
        };
        replayed
            .differences
            .push(format!("`{name}`: {label}: {difference}"));
    }
}

/// Describes where two outputs diverge.
fn first_difference(before: &[u8], after: &[u8]) -> String {
    let (Ok(before), Ok(after)) = (str::from_utf8(before), str::from_utf8(after)) else {
        return format!(
            "sealed {} bytes, now {} different bytes",
            before.len(),
            after.len()
        );
    };
    let (mut old, mut new) = (before.split('\n'), after.split('\n'));
    let mut line = 1_usize;
    loop {
        match (old.next(), new.next()) {
            (None, None) => return "the same text".to_owned(),
            (old, new) if old == new => line += 1,
            (old, new) => {
                let quoted = |text: Option<&str>| {
                    let start = text.map(|text| text.chars().take(200).collect::<String>());
                    start.map_or("the end".to_owned(), |text| {
                        format!("`{}`", one_line(&text))
                    })
                };
                return format!("line {line}: sealed {}, now {}", quoted(old), quoted(new));
            }
        }
    }
}

/// Compares two executions, each with the evidence that contains its contents.
fn compare_execution(
    replayed: &mut ReplayedExecution,
    (sealed_evidence, sealed): (Node<'_>, Node<'_>),
    (now_evidence, now): (Node<'_>, Node<'_>),
) {
    for (member, label) in [
        ("exit_code", "the exit code"),
        ("stdout_sha256", "all standard output together"),
        ("stderr_sha256", "all standard error together"),
    ] {
        let (before, after) = (in_words(sealed.get(member)), in_words(now.get(member)));
        if before == after {
            replayed.same.push(format!("{label}: {after}"));
        } else {
            replayed
                .differences
                .push(format!("{label}: sealed `{before}`, now `{after}`"));
        }
    }
    let outputs = |execution: Node<'_>| -> BTreeMap<String, String> {
        let pair = |node: Node<'_>| {
            let path = text(node, "path")?.into_owned();
            Some((path, text(node, "sha256")?.into_owned()))
        };
        let files = items(execution, "outputs").into_iter();
        files.filter_map(pair).collect()
    };
    let (before, after) = (outputs(sealed), outputs(now));
    let mut same = 0;
    for (path, hash) in &before {
        let name = one_line(path);
        match after.get(path) {
            Some(now) if now == hash => same += 1,
            Some(now) => {
                let contents = (
                    find_content(sealed_evidence, hash),
                    find_content(now_evidence, now),
                );
                let difference = match contents {
                    (Some(before), Some(after)) => first_difference(&before, &after),
                    _ => format!("sealed `{hash}`, now `{now}`"),
                };
                replayed
                    .differences
                    .push(format!("the file `{name}`: {difference}"));
            }
            None => replayed
                .differences
                .push(format!("the file `{name}` is missing now")),
        }
    }
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        let name = one_line(path);
        replayed
            .differences
            .push(format!("the file `{name}` is new"));
    }
    if same > 0 {
        let files = count(same, "file");
        replayed.same.push(format!("{files} that the run left"));
    }
}

/// Compares how often models were called with the recording.
fn compare_calls(replayed: &mut ReplayedExecution, recorded: Option<&[u8]>, now: &Value) {
    let before = recorded
        .and_then(|bytes| parse_document(bytes, &ReadOptions::default()).ok())
        .map_or(0, |document| items(document.root(), "interactions").len());
    let after = match now.get("interactions") {
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    };
    if before == after {
        let calls = count(after, "model call");
        replayed
            .same
            .push(format!("{calls}, answered from the recording"));
    } else {
        replayed
            .differences
            .push(format!("model calls: sealed {before}, now {after}"));
    }
}

fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}
