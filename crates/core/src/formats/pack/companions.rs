//! The rules of the companion texts: RS, PL, EV, LD.

use super::PackView;
use crate::canon::Node;
use crate::digest::ContentHash;
use crate::formats::evidence::{EvidenceView, verify_evidence};
use crate::formats::ledger::{LedgerView, verify_ledger};
use crate::formats::{policy, run};
use crate::verify::{Finding, Findings, Level};

/// Applies a rule of run.json.
pub(super) fn check_run(view: &PackView<'_>, findings: &mut Findings, check: run::RunCheck) {
    if let Some(root) = findings.need(view.document("run.json")) {
        check(root, findings);
    }
}

/// RS7, which checks the bytes too.
pub(super) fn check_run_form(view: &PackView<'_>, findings: &mut Findings) {
    if let (Some(root), Some(bytes)) = (view.document("run.json"), view.files.bytes("run.json")) {
        for fault in run::find_form_faults(root, bytes) {
            findings.add("run.json", fault);
        }
    }
}

/// Adds the faults that `find` returns for policy.json.
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

/// Adds the findings of one rule of evidence. The proposal is not in the pack; the patch names it.
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
    let judge = || verify_evidence(&evidence, Level::Form);
    let report = view.evidence_report.get_or_init(judge);
    for finding in report.findings().iter().filter(|f| is_of(f, rule)) {
        let place = finding.path().unwrap_or("$");
        let message = format!("{place}: {}", finding.message);
        findings.add(finding.place.clone().within("evidence.json"), message);
    }
}

/// Whether a finding about evidence belongs to this rule of the pack. A fault of shape belongs to
/// the rule that reads that part.
fn is_of(finding: &Finding, rule: &str) -> bool {
    let reader = match finding.path() {
        Some("$.action_results") => "EV2",
        Some("$.test_results") => "EV3",
        _ => "EV1",
    };
    finding.rule_id == rule || (finding.rule_id == "SCHEMA" && reader == rule)
}

/// Adds the findings of one rule of the ledger.
pub(super) fn check_ledger(view: &PackView<'_>, findings: &mut Findings, rule: &str) {
    let ledger = LedgerView {
        lines: &view.ledger,
    };
    let judge = || verify_ledger(&ledger, Level::Form);
    let report = view.ledger_report.get_or_init(judge);
    for finding in report.findings().iter().filter(|f| f.rule_id == rule) {
        let place = finding.path().unwrap_or("$");
        let message = format!("{place}: {}", finding.message);
        findings.add(finding.place.clone().within("ledger.jsonl"), message);
    }
}
