//! evidence.json: what an execution did, EV1-EV7.
//!
//! Paths in findings are JSON paths that begin with `$`.

mod contents;

use crate::formats::definition::{DocumentFormat, Identity, Outcome, ProofScope, infos};
use std::borrow::Cow;

use crate::canon::{Dialect, JsonPath, Kind, Node, Value, canonical_digest};
use crate::digest::ContentHash;
use crate::formats::Format;
use crate::formats::shape::{
    Member, find_excess, find_misfits, is_filled_text, is_flag, is_hash_or_null,
    is_integer_or_null, is_text, is_word, member,
};
use crate::limits::PROPOSAL_MAX_ELEMENTS;
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

pub use contents::{
    CONTENTS, PROPOSAL, decode_content, encode_content, encode_omitted, find_content,
};

/// The required fields.
pub const REQUIRED: [&str; 5] = [
    "proposal_id",
    "proposal_hash",
    "action_results",
    "test_results",
    "status",
];

/// Evidence as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
    /// The hash of the proposal that was executed, if it is at hand.
    pub proposal_hash: Option<ContentHash>,
}

/// Names the evidence as the subject of its rules.
pub struct Evidence;

impl Subject for Evidence {
    type View<'a> = EvidenceView<'a>;
    const FORMAT: Format = Format::Evidence;

    fn excess(view: &EvidenceView<'_>) -> Option<String> {
        let lists = ["action_results", "test_results"];
        find_excess(view.root, &lists, PROPOSAL_MAX_ELEMENTS, "results")
    }
}

/// Verifies evidence.
pub fn verify_evidence(view: &EvidenceView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

/// The hash of the evidence's core: proposal_id, proposal_hash, the sorted results, and status;
/// over the canonical bytes with the LF. Times, executor and folder are not part of it.
pub fn compute_evidence_hash(root: Node<'_>) -> Option<ContentHash> {
    let mut core = Value::object::<Value>([]);
    for field in ["proposal_id", "proposal_hash", "status"] {
        core.insert(field, root.get(field)?.to_value());
    }
    core.insert(
        "action_results",
        sorted(root.get("action_results")?, &["path", "action_id"]),
    );
    core.insert(
        "test_results",
        sorted(root.get("test_results")?, &["test_id"]),
    );
    let digest = canonical_digest(&core, Dialect::Kernel).ok()?;
    Some(digest.into())
}

fn sorted(list: Node<'_>, by: &[&str]) -> Value {
    // Sorts indices, which take a tenth of the memory of the values.
    let mut places: Vec<u32> = (0..).take(list.items().len()).collect();
    places.sort_by(|a, b| {
        let (a, b) = (list.item(*a as usize), list.item(*b as usize));
        by.iter()
            .map(
                |name| match (a.and_then(|a| a.get(name)), b.and_then(|b| b.get(name))) {
                    (Some(a), Some(b)) => a.compare_utf16(&b),
                    // A missing member counts as the empty string.
                    (a, b) => is_filled_text(a).cmp(&is_filled_text(b)),
                },
            )
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let sorted = places.into_iter().filter_map(|at| list.item(at as usize));
    Value::array(sorted.map(|node| node.to_value()))
}

const fn info(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Evidence,
        title,
        section: "002 §3.1 evidence.json",
        level: Level::Document,
        explanation,
    }
}

/// The rules of evidence.
pub static RULES: [Rule<Evidence>; 8] = [
    Rule {
        info: info(
            "SCHEMA",
            "the fields are there",
            "The document is an object with proposal_id, proposal_hash, action_results, \
             test_results (both lists) and status.",
        ),
        gate: |_| Gate::Ready,
        check: check_schema,
    },
    Rule {
        info: info(
            "EV1",
            "it is about this proposal",
            "proposal_hash is sha256: and 64 hex digits and, if the proposal is at hand, the \
             proposal's hash.",
        ),
        gate: needs_object,
        check: check_proposal,
    },
    Rule {
        info: info(
            "EV2",
            "results of actions are well formed",
            "Each has action_id, path and action (strings, the ids without repeats), sha256 (a \
             hash or null), exit_code (an integer or null) and status success, failure, skipped \
             or timeout.",
        ),
        gate: |view| needs_list(view, "action_results"),
        check: check_actions,
    },
    Rule {
        info: info(
            "EV3",
            "results of tests are well formed",
            "Each has test_id (a string, without repeats) and passed (a boolean); exit_code is an \
             integer or null, stdout_sha256 and stderr_sha256 are hashes or null, if given.",
        ),
        gate: |view| needs_list(view, "test_results"),
        check: check_tests,
    },
    Rule {
        info: info(
            "EV4",
            "status agrees with the results",
            "complete: every action succeeded or was skipped, with exit code 0 or none, and every \
             test passed. failed: no action succeeded. partial: anything in between.",
        ),
        gate: needs_both,
        check: check_status,
    },
    Rule {
        info: info(
            "EV5",
            "the core has a hash",
            "The core (proposal_id, proposal_hash, both lists of results, status) has a canonical \
             form, so that equal cores have equal hashes.",
        ),
        gate: needs_core,
        check: check_hash,
    },
    Rule {
        info: integrity(
            "EV6",
            "contents have their hashes",
            "Each member of `contents` has a content hash as its name, and `text` or `base64` with \
             that hash and of `size_bytes`, or `omitted` true if the content was too long to be \
             included. Evidence without `contents` is fine.",
        ),
        gate: contents::needs_contents,
        check: contents::check_contents,
    },
    Rule {
        info: integrity(
            "EV7",
            "the proposal is the one that was executed",
            "`proposal`, if included, has the hash that proposal_hash states, and the results \
             are those of its actions and tests, in their order: each with the action, path and \
             `required` that were planned, and `passed` if what was found is what was expected.",
        ),
        gate: contents::needs_proposal,
        check: contents::check_proposal,
    },
];

const fn integrity(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        level: Level::Integrity,
        ..info(id, title, explanation)
    }
}

fn needs_object(view: &EvidenceView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is not an object"),
    }
}

fn needs_list(view: &EvidenceView<'_>, field: &str) -> Gate {
    match view.root.get(field).map(|node| node.kind()) {
        Some(Kind::Array) => Gate::Ready,
        _ => Gate::NotRun("the list of results is missing"),
    }
}

/// SCHEMA reports a missing member of the core, so there is no hash to check.
fn needs_core(view: &EvidenceView<'_>) -> Gate {
    let is_there = |field: &str| view.root.get(field).is_some();
    if REQUIRED.into_iter().all(is_there) {
        needs_both(view)
    } else {
        Gate::NotRun("a member of the core is missing")
    }
}

fn needs_both(view: &EvidenceView<'_>) -> Gate {
    match needs_list(view, "action_results") {
        Gate::Ready => needs_list(view, "test_results"),
        other => other,
    }
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

fn results<'a>(view: &EvidenceView<'a>, field: &str) -> Vec<Node<'a>> {
    let list = view.root.get(field).map(|node| node.items());
    list.into_iter().flatten().collect()
}

fn check_schema(view: &EvidenceView<'_>, findings: &mut Findings) {
    if view.root.kind() != Kind::Object {
        let found = view.root.kind().with_article();
        findings.add(
            JsonPath::ROOT,
            format!("evidence is an object, not {found}"),
        );
        return;
    }
    for field in REQUIRED {
        let place = JsonPath::ROOT.then(field);
        let is_list = field.ends_with("_results");
        match view.root.get(field) {
            None => findings.add(place, format!("`{field}` is missing")),
            Some(node) if is_list && node.kind() != Kind::Array => {
                findings.add(place, format!("`{field}` is not a list"));
            }
            Some(node) if !is_list && !node.is_string() => {
                findings.add(place, format!("`{field}` is not a string"));
            }
            Some(_) => {}
        }
    }
}

fn check_proposal(view: &EvidenceView<'_>, findings: &mut Findings) {
    let Some(declared) = text(view.root, "proposal_hash") else {
        return;
    };
    match (ContentHash::parse(&declared), view.proposal_hash) {
        (Err(_), _) => findings.add(
            JsonPath::ROOT.then("proposal_hash"),
            "not sha256: and 64 hex digits",
        ),
        (Ok(declared), Some(actual)) if declared != actual => findings.add_difference(
            JsonPath::ROOT.then("proposal_hash"),
            "the proposal has another hash",
            declared.to_string(),
            actual.to_string(),
        ),
        _ => {}
    }
}

const ACTION_RESULT: [Member; 5] = [
    member("path", is_text, "`path` is not a string"),
    member("action", is_text, "`action` is not a string"),
    member(
        "status",
        |node| is_word(node, &["success", "failure", "skipped", "timeout"]),
        "not success, failure, skipped or timeout",
    ),
    member("sha256", is_hash_or_null, "neither a hash nor null"),
    member(
        "exit_code",
        is_integer_or_null,
        "neither an integer nor null",
    ),
];
const TEST_RESULT: [Member; 4] = [
    member("passed", is_flag, "`passed` is not a boolean"),
    member(
        "exit_code",
        is_integer_or_null,
        "neither an integer nor null",
    ),
    member("stdout_sha256", is_hash_or_null, "neither a hash nor null"),
    member("stderr_sha256", is_hash_or_null, "neither a hash nor null"),
];

/// Checks the ids of results: non-empty strings without repeats.
fn check_ids(nodes: &[Node<'_>], list: &str, name: &str, findings: &mut Findings) {
    let mut seen = std::collections::BTreeSet::new();
    for (at, node) in nodes.iter().enumerate() {
        let place = JsonPath::ROOT.then(list).then(at).then(name);
        match text(*node, name).filter(|id| !id.is_empty()) {
            None => findings.add(place, format!("`{name}` is not a string, or empty")),
            Some(id) if seen.contains(&id) => findings.add(place, format!("duplicate id `{id}`")),
            Some(id) => {
                seen.insert(id);
            }
        }
    }
}

fn check_actions(view: &EvidenceView<'_>, findings: &mut Findings) {
    check_results(
        view,
        "action_results",
        "action_id",
        &ACTION_RESULT,
        findings,
    );
}

fn check_tests(view: &EvidenceView<'_>, findings: &mut Findings) {
    check_results(view, "test_results", "test_id", &TEST_RESULT, findings);
}

fn check_results(
    view: &EvidenceView<'_>,
    list: &str,
    id: &str,
    members: &[Member],
    findings: &mut Findings,
) {
    let nodes = results(view, list);
    check_ids(&nodes, list, id, findings);
    for (at, node) in nodes.into_iter().enumerate() {
        for misfit in find_misfits(node, members) {
            let place = JsonPath::ROOT.then(list).then(at).then(misfit.name);
            findings.add(place, misfit.fault);
        }
    }
}

/// Derives the status from the results; `None` if one of them lacks its part of it, which EV2 or EV3 reports.
fn derive_status(view: &EvidenceView<'_>) -> Option<&'static str> {
    let (mut is_complete, mut has_success) = (true, false);
    for action in results(view, "action_results") {
        let status = text(action, "status")?;
        let code = action.get("exit_code").filter(|code| !code.is_null());
        if !is_integer_or_null(code) {
            return None;
        }
        let code = code.and_then(|code| code.as_number());
        let is_fine = matches!(&*status, "success" | "skipped")
            && code.is_none_or(|code| code.to_f64() == 0.0);
        is_complete &= is_fine;
        has_success |= status == "success";
    }
    for test in results(view, "test_results") {
        is_complete &= test.get("passed")?.as_bool()?;
    }
    Some(match (is_complete, has_success) {
        (true, _) => "complete",
        (false, true) => "partial",
        (false, false) => "failed",
    })
}

fn check_status(view: &EvidenceView<'_>, findings: &mut Findings) {
    let Some(declared) = findings.need(text(view.root, "status")) else {
        return;
    };
    if !matches!(&*declared, "complete" | "partial" | "failed") {
        findings.add(
            JsonPath::ROOT.then("status"),
            "not complete, partial or failed",
        );
        return;
    }
    let derived = findings.need(derive_status(view));
    if let Some(derived) = derived.filter(|derived| declared != *derived) {
        findings.add_difference(
            JsonPath::ROOT.then("status"),
            "the results say otherwise",
            declared,
            derived,
        );
    }
}

fn check_hash(view: &EvidenceView<'_>, findings: &mut Findings) {
    if compute_evidence_hash(view.root).is_none() {
        findings.add(JsonPath::ROOT, "the core has no canonical form");
    }
}

/// The definition of the evidence format.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::Evidence,
    proves: ProofScope {
        shows: &["That its status follows from the results that it lists."],
        does_not: &["That it happened: it is its maker's word."],
    },
    rules: || infos(&RULES),
    members: &[
        "proposal_id",
        "proposal_hash",
        "action_results",
        "test_results",
    ],
    file_name: "evidence.json",
    judge: |root, level| {
        let proposal_hash = None;
        let view = EvidenceView {
            root,
            proposal_hash,
        };
        verify_evidence(&view, level)
    },
    identify: |root| {
        let about = Identity::of_members(root, &["proposal_id"]);
        let status = text(root, "status");
        Identity {
            about: about.ids,
            result: Some(match status.as_deref() {
                Some("complete") => Outcome::Succeeded,
                Some("partial") => Outcome::NotAccepted,
                Some("failed") => Outcome::Failed,
                _ => Outcome::Unknown,
            }),
            ..Identity::default().ended(status)
        }
    },
};
