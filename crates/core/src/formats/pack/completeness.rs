//! PK15: what the records of our own harness repeat beyond those of other producers.
//!
//! Packs of other producers may be looser here, so these are compared in packs that list their
//! files (PK14), and in any pack at the form level.

use super::PackView;
use super::agreement::{
    check_action_id, element, execution, flag, list, member, number, place, text, texts,
};
use crate::canon::{Dialect, Node, Value, canonical_digest};
use crate::verify::{Findings, Gate, Level, Place};

const RUN: &str = "run.json";
const EVIDENCE: &str = "evidence.json";
const RUNNER: &str = "runner.json";
const LEDGER: &str = "ledger.jsonl";

/// PK15 applies to packs that list their files, and to others at the form level.
pub(super) fn needs_completeness(view: &PackView<'_>) -> Gate {
    if view.document(RUN).is_none() {
        return Gate::NotApplicable("there is no run.json to compare with");
    }
    if view.lists_files() || view.level == Level::Form {
        Gate::Ready
    } else {
        Gate::NotApplicable(
            "run.json lists no files, so another producer's looser records are fine",
        )
    }
}

/// PK15.
pub(super) fn check_completeness(view: &PackView<'_>, findings: &mut Findings) {
    let Some(run) = view.document(RUN) else {
        return;
    };
    if view.files.bytes(LEDGER).is_some() && view.ledger.len() != 1 {
        findings.add(
            Place::file(LEDGER),
            "a pack's ledger must have only the entry of its own run",
        );
    }
    if let Some(evidence) = view.document(EVIDENCE) {
        check_each_operation(view, evidence, findings);
        if view.lists_files() {
            check_commands(run, evidence, findings);
            check_sandbox_id(run, evidence, findings);
            check_times(EVIDENCE, evidence, &[], run, findings);
        }
    }
    if let Some(runner) = view.document(RUNNER) {
        check_times(RUNNER, runner, &["timing"], run, findings);
        check_limits(run, runner, view.lists_files(), findings);
    }
    if view.lists_files() {
        check_reasons(run, findings);
    }
}

/// Checks that each operation of the patch has exactly one result.
fn check_each_operation(view: &PackView<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let Some(patch) = view.document("patch.json") else {
        return;
    };
    let key = |node: &Node<'_>, action: &str| {
        Some((
            text(*node, "path")?.into_owned(),
            text(*node, action)?.into_owned(),
        ))
    };
    let mut wanted: Vec<_> = list(patch, "operations")
        .iter()
        .filter_map(|operation| key(operation, "op"))
        .collect();
    let mut found: Vec<_> = list(evidence, "action_results")
        .iter()
        .filter_map(|result| key(result, "action"))
        .filter(|(_, action)| matches!(action.as_str(), "create" | "modify" | "delete"))
        .collect();
    wanted.sort();
    found.sort();
    if wanted != found {
        findings.add(
            place(EVIDENCE, &["action_results"]),
            "the results are not those of the patch's operations",
        );
    }
}

/// Checks that the commands of the run are exactly those of its actions and tests.
fn check_commands(run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let Some(execution) = execution(run) else {
        return;
    };
    let has_code = |node: &Node<'_>| number(*node, "exit_code").is_some();
    let actions = list(evidence, "action_results");
    let ran = actions.iter().filter(|result| has_code(result)).count()
        + list(evidence, "test_results")
            .iter()
            .filter(|test| has_code(test))
            .count();
    let commands = list(execution, "cmd").len();
    if commands != ran {
        findings.add_difference(
            place(RUN, &["execution", "cmd"]),
            "the commands are not those of the evidence",
            format!("{ran} that ended"),
            format!("{commands}"),
        );
    }
    for (at, result) in actions.into_iter().enumerate() {
        if text(result, "action").as_deref() == Some("execute") {
            let place = element(EVIDENCE, "action_results", at);
            check_action_id(result, "execute_command", None, place, findings);
        }
    }
}

fn check_sandbox_id(run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let Some(stated) = execution(run).and_then(|node| text(node, "sandbox_id")) else {
        return;
    };
    let policy = run.get("policy").and_then(|policy| text(policy, "name"));
    let (Some(policy), Some(hash)) = (policy, text(evidence, "proposal_hash")) else {
        return;
    };
    if let Some(derived) = derive_sandbox_id(&policy, &hash)
        && derived != stated
    {
        let subject = "sandbox_id is not that of the policy and the proposal";
        findings.add_difference(
            place(RUN, &["execution", "sandbox_id"]),
            subject,
            derived,
            stated,
        );
    }
}

/// Derives the id of a sandbox from what runs in it and under which policy, so that the same plan
/// has the same id.
pub fn derive_sandbox_id(policy: &str, proposal_hash: &str) -> Option<String> {
    let content = Value::object([("policy", policy), ("proposal_hash", proposal_hash)]);
    let digest = canonical_digest(&content, Dialect::Kernel).ok()?;
    Some(format!("sandbox_{}", digest.hex_prefix(16)))
}

fn check_times(
    file: &str,
    record: Node<'_>,
    below: &[&str],
    run: Node<'_>,
    findings: &mut Findings,
) {
    for field in ["started_at", "completed_at"] {
        let names: Vec<&str> = below.iter().copied().chain([field]).collect();
        if member(record, &names) != member(run, &[field]) {
            let name = names.join(".");
            findings.add(place(file, &names), format!("`{name}` is not the run's"));
        }
    }
}

fn check_limits(run: Node<'_>, runner: Node<'_>, is_ours: bool, findings: &mut Findings) {
    for field in ["timeout_ms", "max_output_files", "max_total_output_bytes"] {
        if member(runner, &["limits", field]) != member(run, &["policy", field]) {
            findings.add(
                place(RUNNER, &["limits", field]),
                format!("`limits.{field}` is not the policy's"),
            );
        }
    }
    if !is_ours {
        return;
    }
    let sorted = |list: Option<Node<'_>>| {
        let mut texts = texts(list);
        texts.sort();
        texts
    };
    let policy = run.get("policy");
    for (names, of_policy) in [
        (&["commands", "allowlist"][..], "allowed_commands"),
        (&["write_roots"][..], "allowed_write_roots"),
    ] {
        let here = names.iter().try_fold(runner, |node, name| node.get(name));
        if sorted(here) != sorted(policy.and_then(|policy| policy.get(of_policy))) {
            let name = names.join(".");
            findings.add(
                place(RUNNER, names),
                format!("`{name}` is not the policy's {of_policy}"),
            );
        }
    }
}

/// Our reasons begin with the decision they support; checks that it is the decision made.
fn check_reasons(run: Node<'_>, findings: &mut Findings) {
    let Some(decision) = run.get("decision") else {
        return;
    };
    let reasons = list(decision, "reasons");
    let supports = |word: &str| {
        let begins = |reason: &Node<'_>| {
            reason
                .as_lossy_str()
                .is_some_and(|reason| reason.starts_with(word))
        };
        reasons.iter().any(begins)
    };
    let is_refused = supports("reject:") || supports("review:");
    if !is_refused && !supports("accept:") {
        return;
    }
    if flag(decision, "accepted") == Some(is_refused) {
        findings.add(
            place(RUN, &["decision", "accepted"]),
            "the decision is not the one its reasons support",
        );
    }
}
