//! What strict mode adds: the companion texts in full (RS, PL, EV, LD), and that the records of
//! one pack agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use super::PackView;
use crate::canon::Node;
use crate::digest::ContentHash;
use crate::formats::evidence::{EvidenceView, verify_evidence};
use crate::formats::ledger::{LedgerView, verify_ledger};
use crate::formats::{policy, run};
use crate::verify::{Findings, Strictness};

/// Adds the faults that `find` sees in run.json.
pub(super) fn check_run(
    view: &PackView<'_>,
    findings: &mut Findings,
    find: fn(Node<'_>) -> Vec<String>,
) {
    if let Some(root) = view.document("run.json") {
        for fault in find(root) {
            findings.add("run.json", fault);
        }
    }
}

/// RS7, which looks at the bytes too.
pub(super) fn check_run_form(view: &PackView<'_>, findings: &mut Findings) {
    if let (Some(root), Some(bytes)) = (view.document("run.json"), view.files.bytes("run.json")) {
        for fault in run::find_form_faults(root, bytes) {
            findings.add("run.json", fault);
        }
    }
}

/// Adds the faults that `find` sees in policy.json.
pub(super) fn check_policy(
    view: &PackView<'_>,
    findings: &mut Findings,
    find: fn(Node<'_>) -> Vec<String>,
) {
    if let Some(root) = view.document("policy.json") {
        for fault in find(root) {
            findings.add("policy.json", fault);
        }
    }
}

/// PL1 as a list, for the table.
pub(super) fn find_name_faults(policy: Node<'_>) -> Vec<String> {
    policy::find_name_fault(policy).into_iter().collect()
}

/// Adds what one rule of evidence finds. The proposal is not in the pack; the patch names it.
pub(super) fn check_evidence(view: &PackView<'_>, findings: &mut Findings, rule: &str) {
    let Some(root) = view.document("evidence.json") else {
        return;
    };
    let patch = view.document("patch.json");
    let proposal_hash = patch
        .and_then(|patch| patch.get("source_proposal_hash")?.as_lossy_str())
        .and_then(|hash| ContentHash::parse(&hash).ok());
    let evidence = EvidenceView {
        root,
        proposal_hash,
    };
    let report = verify_evidence(&evidence, Strictness::Strict);
    for finding in report.findings().iter().filter(|f| f.rule_id == rule) {
        let place = finding.path.as_deref().unwrap_or("$");
        findings.add("evidence.json", format!("{place}: {}", finding.message));
    }
}

/// Adds what one rule of the ledger finds.
pub(super) fn check_ledger(view: &PackView<'_>, findings: &mut Findings, rule: &str) {
    let ledger = LedgerView {
        lines: &view.ledger,
    };
    let report = verify_ledger(&ledger, Strictness::Strict);
    for finding in report.findings().iter().filter(|f| f.rule_id == rule) {
        let place = finding.path.as_deref().unwrap_or("$");
        findings.add("ledger.jsonl", format!("{place}: {}", finding.message));
    }
}

/// The ledger's entry repeats run.json, evidence and patch name one proposal, the runner's limits
/// are the policy's: what one file says about another must be so.
pub(super) fn check_agreement(view: &PackView<'_>, findings: &mut Findings) {
    let Some(run) = view.document("run.json") else {
        return;
    };
    check_entry(view, run, findings);
    if let Some(bundle) = view.document("bundle.json") {
        for (there, here) in [("kernel_version", "kernel_version"), ("bundle_id", "id")] {
            let path: &[&str] = if there == "bundle_id" {
                &["bundle", there]
            } else {
                &[there]
            };
            if member(Some(run), path) != member(Some(bundle), &[here]) {
                findings.add("run.json", format!("`{there}` is not the bundle's"));
            }
        }
    }
    if let (Some(patch), Some(evidence)) =
        (view.document("patch.json"), view.document("evidence.json"))
    {
        let named = |node: Node<'_>, field| member(Some(node), &[field]);
        if named(patch, "source_proposal_id") != named(evidence, "proposal_id") {
            findings.add("evidence.json", "the patch is another proposal's");
        }
    }
    if let Some(runner) = view.document("runner.json") {
        for field in ["timeout_ms", "max_output_files", "max_total_output_bytes"] {
            let (here, there) = (
                member(Some(runner), &["limits", field]),
                member(Some(run), &["policy", field]),
            );
            if here != there {
                findings.add(
                    "runner.json",
                    format!("`limits.{field}` is not the policy's"),
                );
            }
        }
        for field in ["started_at", "completed_at"] {
            if member(Some(runner), &["timing", field]) != member(Some(run), &[field]) {
                findings.add("runner.json", format!("`timing.{field}` is not the run's"));
            }
        }
        let exit = member(Some(run), &["execution", "exit_code"]);
        if exit.is_some() && member(Some(runner), &["exit", "code"]) != exit {
            findings.add("runner.json", "`exit.code` is not the execution's");
        }
    }
    if view.document("model_io.json").is_some()
        && member(Some(run), &["model_mode"]).as_deref() == Some("\"none\"")
    {
        findings.add("model_io.json", "the run says that no model was called");
    }
    check_outputs(view, run, findings);
}

/// Each operation of the patch has its result in the evidence; what the evidence says is there
/// afterwards is among the run's outputs, unless a command may have changed it since.
fn check_outputs(view: &PackView<'_>, run: Node<'_>, findings: &mut Findings) {
    let Some(evidence) = view.document("evidence.json") else {
        return;
    };
    let results: Vec<Node<'_>> = list(evidence, "action_results");
    let is_file = |result: &&Node<'_>| {
        let action = text(**result, "action");
        matches!(action.as_deref(), Some("create" | "modify" | "delete"))
    };
    let files: Vec<&Node<'_>> = results.iter().filter(is_file).collect();
    if let Some(patch) = view.document("patch.json") {
        let operations = list(patch, "operations");
        // The hashes that results give, by what was done to which path.
        let mut results: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for result in &files {
            let key = (text(**result, "path"), text(**result, "action"));
            results
                .entry(key)
                .or_default()
                .push(text(**result, "sha256"));
        }
        results.values_mut().for_each(|hashes| hashes.sort());
        let is_told = |operation: &Node<'_>| {
            let expected = text(*operation, "expected_hash");
            let key = (text(*operation, "path"), text(*operation, "op"));
            // None sorts first: a result without a hash fits every operation.
            results.get(&key).is_some_and(|hashes| {
                expected.is_none()
                    || hashes.first().is_some_and(Option::is_none)
                    || hashes.binary_search(&expected).is_ok()
            })
        };
        if operations.len() != files.len() || !operations.iter().all(is_told) {
            findings.add(
                "evidence.json",
                "the results are not those of the patch's operations",
            );
        }
    }
    let outputs = run
        .get("execution")
        .map(|execution| list(execution, "outputs"))
        .unwrap_or_default();
    let ran_commands = results
        .iter()
        .any(|result| text(*result, "action").as_deref() == Some("execute"));
    let outputs: BTreeSet<_> = outputs
        .iter()
        .map(|output| (text(*output, "path"), text(*output, "sha256")))
        .collect();
    for result in files.iter().filter(|_| !ran_commands) {
        let (Some(path), Some(hash)) = (text(**result, "path"), text(**result, "sha256")) else {
            continue;
        };
        if !outputs.contains(&(Some(path.clone()), Some(hash))) {
            findings.add(
                "evidence.json",
                format!("`{path}` is not among the run's outputs so"),
            );
        }
    }
}

fn list<'a>(node: Node<'a>, name: &str) -> Vec<Node<'a>> {
    node.get(name)
        .map(|list| list.items().collect())
        .unwrap_or_default()
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

fn check_entry(view: &PackView<'_>, run: Node<'_>, findings: &mut Findings) {
    if !view.files.names().contains(&"ledger.jsonl") {
        return;
    }
    let [line] = view.ledger.as_slice() else {
        findings.add(
            "ledger.jsonl",
            "a pack's ledger holds the entry of its own run only",
        );
        return;
    };
    let Some(entry) = line.entry.as_ref().ok().map(|document| document.root()) else {
        return;
    };
    let pairs: [(&str, &[&str]); 7] = [
        ("run_id", &["run_id"]),
        ("timestamp", &["completed_at"]),
        ("intent_sha256", &["intent", "sha256"]),
        ("bundle_sha256", &["bundle", "sha256"]),
        ("result_kind", &["kernel_result_kind"]),
        ("accepted", &["decision", "accepted"]),
        ("mode", &["model_mode"]),
    ];
    for (field, path) in pairs {
        let there = member(Some(run), path).unwrap_or_else(|| "null".to_owned());
        let here = member(Some(entry), &[field]).unwrap_or_else(|| "null".to_owned());
        if here != there {
            findings.add("ledger.jsonl", format!("`{field}` is not the run's"));
        }
    }
    if member(Some(entry), &["policy"]) != member(Some(run), &["policy", "name"]) {
        findings.add("ledger.jsonl", "`policy` is not the run's");
    }
}

/// The canonical text of a member, reached by names.
fn member(node: Option<Node<'_>>, path: &[&str]) -> Option<String> {
    let mut at = node?;
    for name in path {
        at = at.get(name)?;
    }
    let bytes = crate::canon::canonical_bytes(at, crate::canon::Dialect::Kernel).ok()?;
    String::from_utf8(bytes).ok()
}
