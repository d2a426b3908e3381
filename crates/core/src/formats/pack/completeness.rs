//! PK15: what the records of our own harness repeat beyond those of other producers.
//!
//! Packs of other producers may be looser here, so these are compared in packs that list their
//! files (PK14), and in any pack at the form level.

use super::PackView;
use super::agreement::{
    check_action_id, element, execution, flag, given_list, number, place, text, texts,
};
use crate::canon::{Dialect, Kind, Node, Value, canonical_digest};
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
    let keys = |list: Option<Vec<Node<'_>>>, action: &str| {
        let mut keys = Vec::new();
        for node in list? {
            let action = text(node, action)?.into_owned();
            if matches!(action.as_str(), "create" | "modify" | "delete") {
                keys.push((text(node, "path")?.into_owned(), action));
            }
        }
        keys.sort();
        Some(keys)
    };
    let wanted = keys(given_list(patch, "operations"), "op");
    let found = keys(given_list(evidence, "action_results"), "action");
    let Some((wanted, found)) = findings.need(wanted.zip(found)) else {
        return;
    };
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
    // Null and absent say that nothing ended; anything else is EV2's or EV3's.
    let has_code = |node: &Node<'_>| match node.get("exit_code").filter(|code| !code.is_null()) {
        None => (node.kind() == Kind::Object).then_some(0),
        Some(code) => code.as_number().map(|_| 1),
    };
    let count = |results: &[Node<'_>]| results.iter().map(has_code).sum::<Option<usize>>();
    let actions = given_list(evidence, "action_results");
    let tests = given_list(evidence, "test_results");
    let commands = given_list(execution, "cmd").map(|list| list.len());
    let Some(((actions, tests), commands)) = findings.need(actions.zip(tests).zip(commands)) else {
        return;
    };
    let ran = count(&actions).zip(count(&tests));
    let Some(ran) = findings.need(ran.map(|(actions, tests)| actions + tests)) else {
        return;
    };
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
    let Some(execution) = execution(run) else {
        return;
    };
    let policy = run.get("policy").and_then(|policy| text(policy, "name"));
    let derived_from = policy.zip(text(evidence, "proposal_hash"));
    let both = findings.need(text(execution, "sandbox_id").zip(derived_from));
    let Some((stated, (policy, hash))) = both else {
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

/// Checks that a record has the run's times.
fn check_times(
    file: &str,
    record: Node<'_>,
    below: &[&str],
    run: Node<'_>,
    findings: &mut Findings,
) {
    let holder = below.iter().try_fold(record, |node, name| node.get(name));
    for field in ["started_at", "completed_at"] {
        let stated = holder.and_then(|holder| text(holder, field));
        // Evidence has no times of its own that another rule asks for.
        if stated.is_none() && file != EVIDENCE {
            findings.need(stated);
            continue;
        }
        let of_run = findings.need(text(run, field));
        if of_run.is_some() && stated != of_run {
            let names: Vec<&str> = below.iter().copied().chain([field]).collect();
            let name = names.join(".");
            findings.add(place(file, &names), format!("`{name}` is not the run's"));
        }
    }
}

fn check_limits(run: Node<'_>, runner: Node<'_>, is_ours: bool, findings: &mut Findings) {
    for field in ["timeout_ms", "max_output_files", "max_total_output_bytes"] {
        let limit = |node: Node<'_>, group: &str| number(node.get(group)?, field);
        let both = findings.need(limit(runner, "limits").zip(limit(run, "policy")));
        if both.is_some_and(|(here, there)| here != there) {
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
        let mut texts = texts(list)?;
        texts.sort();
        Some(texts)
    };
    let policy = run.get("policy");
    for (names, of_policy) in [
        (&["commands", "allowlist"][..], "allowed_commands"),
        (&["write_roots"][..], "allowed_write_roots"),
    ] {
        let here = names.iter().try_fold(runner, |node, name| node.get(name));
        let there = policy.and_then(|policy| policy.get(of_policy));
        let both = findings.need(sorted(here).zip(sorted(there)));
        if both.is_some_and(|(here, there)| here != there) {
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
    let decision = run.get("decision");
    let reasons = decision.and_then(|decision| texts(decision.get("reasons")));
    let accepted = decision.and_then(|decision| flag(decision, "accepted"));
    let Some((reasons, accepted)) = findings.need(reasons.zip(accepted)) else {
        return;
    };
    let supports = |word: &str| reasons.iter().any(|reason| reason.starts_with(word));
    let is_refused = supports("reject:") || supports("review:");
    if !is_refused && !supports("accept:") {
        return;
    }
    if accepted == is_refused {
        findings.add(
            place(RUN, &["decision", "accepted"]),
            "the decision is not the one its reasons support",
        );
    }
}
