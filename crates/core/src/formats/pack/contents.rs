//! The content of the files, by the pack document: PK3, PK4, PK5, PK8, PK9.

use super::PackView;
use crate::canon::{Dialect, JsonPath, Kind, Node, canonical_bytes};
use crate::digest::ContentHash;
use crate::formats::context_bundle::{BundleView, verify_bundle};
use crate::formats::ledger::find_entry_faults;
use crate::formats::model_io::bodies::BodyFacts;
use crate::formats::model_io::{ModelIoView, verify_model_io};
use crate::formats::patch::{MAX_TOTAL_BYTES, PatchView, verify_patch};
use crate::formats::policy::find_shape_faults;
use crate::formats::run::find_basic_faults;
use crate::formats::runner::{RunnerView, verify_runner};
use crate::formats::shape::{Member, find_misfits, is_list, is_text, member};
use crate::verify::{Finding, Findings, Place, Report};

/// Calls `check` with the document in a file, if present; a text that is not JSON is a finding.
fn with_document(
    view: &PackView<'_>,
    name: &'static str,
    findings: &mut Findings,
    check: impl FnOnce(Node<'_>) -> Vec<Fault>,
) {
    match view.documents.get(name) {
        None => {}
        Some(Err(error)) => findings.add(
            Place::file(name).on_line(error.position.line as usize),
            format!("{}, at {}", error.kind, error.position),
        ),
        Some(Ok(document)) => {
            for fault in check(document.root()) {
                findings.add(fault.place.within(name), fault.message);
            }
        }
    }
}

/// What is wrong with a file, and where in it.
struct Fault {
    place: Place,
    message: String,
}

/// A fault of the file as a whole.
impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self {
            place: Place::whole(),
            message,
        }
    }
}

fn faults(messages: Vec<String>) -> Vec<Fault> {
    messages.into_iter().map(Fault::from).collect()
}

/// PK3: run.json has its fields.
pub(super) fn check_run(view: &PackView<'_>, findings: &mut Findings) {
    with_document(view, "run.json", findings, |run| {
        faults(find_basic_faults(run))
    });
}

/// PK4: bundle.json is a valid context bundle.
pub(super) fn check_bundle(view: &PackView<'_>, findings: &mut Findings) {
    with_document(view, "bundle.json", findings, |root| {
        let bundle = BundleView {
            root,
            transformed: None,
        };
        messages(&verify_bundle(&bundle, view.level))
    });
}

/// PK5: the hash in run.json is the bundle's.
pub(super) fn check_bundle_hash(view: &PackView<'_>, findings: &mut Findings) {
    const PLACE: &str = "bundle.json";
    let Some(reference) = view.bundle_reference() else {
        return;
    };
    // PK3 reports a hash that is missing or no text, and PK1 an absent bundle.
    let declared = reference.get("sha256").and_then(|hash| hash.as_lossy_str());
    let Some(declared) = findings.need(declared) else {
        return;
    };
    if !view.documents.contains_key(PLACE) {
        return;
    }
    match view.bundle_hash() {
        None => findings.add(PLACE, "the bundle has no canonical form, so it has no hash"),
        Some(actual) if declared != actual.to_string() => findings.add_difference(
            PLACE,
            "the hash in run.json is not the bundle's",
            declared,
            actual.to_string(),
        ),
        Some(_) => {}
    }
}

/// The members of evidence, which a document of another kind lacks, too.
const EVIDENCE: [Member; 5] = [
    member("proposal_id", is_text, NO_TEXT),
    member("proposal_hash", is_text, NO_TEXT),
    member("action_results", is_list, NO_LIST),
    member("test_results", is_list, NO_LIST),
    member("status", is_text, NO_TEXT),
];
const NO_TEXT: &str = "is missing or not a text";
const NO_LIST: &str = "is missing or not a list";

/// PK8: the optional files meet their own documents.
pub(super) fn check_optional(view: &PackView<'_>, findings: &mut Findings) {
    with_document(view, "patch.json", findings, |root| {
        let patch = PatchView {
            root,
            max_total_bytes: MAX_TOTAL_BYTES,
        };
        let mut found = messages(&verify_patch(&patch, view.level));
        found.extend(find_hash_fault(root, "source_proposal_hash"));
        found
    });
    with_document(view, "evidence.json", findings, |root| {
        let misfits = find_misfits(root, &EVIDENCE);
        let mut found: Vec<Fault> = misfits
            .map(|misfit| Fault {
                place: JsonPath::ROOT.then(misfit.name).into(),
                message: format!("`{}` {}", misfit.name, misfit.fault),
            })
            .collect();
        found.extend(find_hash_fault(root, "proposal_hash"));
        found
    });
    with_document(view, "policy.json", findings, |root| {
        let mut found = faults(find_shape_faults(root));
        found.extend(find_policy_difference(view, root).map(Fault::from));
        found
    });
    with_document(view, "model_io.json", findings, |root| {
        let bodies = BodyFacts::held(root);
        let recording = ModelIoView {
            root,
            bodies: bodies.as_ref(),
        };
        messages(&verify_model_io(&recording, view.level))
    });
    with_document(view, "runner.json", findings, |root| {
        messages(&verify_runner(&RunnerView { root }, view.level))
    });
    // PK11: any content, as long as it is JSON.
    with_document(view, "meta.json", findings, |_| Vec::new());
}

fn messages(report: &Report) -> Vec<Fault> {
    let fault = |finding: &Finding| {
        let place = finding.path().map(|path| format!(" at {path}"));
        Fault {
            place: finding.place.clone(),
            message: format!(
                "{}{}: {}",
                finding.rule_id,
                place.unwrap_or_default(),
                finding.message
            ),
        }
    };
    report.findings().iter().map(fault).collect()
}

/// 002 §4.4, §4.5; another finding reports an absent hash.
fn find_hash_fault(root: Node<'_>, field: &str) -> Option<Fault> {
    let declared = root.get(field)?.as_lossy_str().unwrap_or_default();
    match ContentHash::parse(&declared) {
        Ok(_) => None,
        Err(_) => Some(Fault {
            place: JsonPath::ROOT.then(field).into(),
            message: format!("`{field}` is not sha256: and 64 hex digits"),
        }),
    }
}

/// 002 §4.6.
fn find_policy_difference(view: &PackView<'_>, policy: Node<'_>) -> Option<String> {
    let is_object = |node: &Node<'_>| node.kind() == Kind::Object;
    let embedded = view.document("run.json")?.get("policy");
    // PK3 reports one that is no object, and the shape of the other is a fault of its own.
    let (embedded, policy) = (embedded.filter(is_object)?, Some(policy).filter(is_object)?);
    let form = |node| canonical_bytes(node, Dialect::Kernel).ok();
    match (form(policy), form(embedded)) {
        (Some(here), Some(there)) if here == there => None,
        _ => Some("the policy is not the one in run.json".to_owned()),
    }
}

/// PK9: every line of the ledger is an entry.
pub(super) fn check_ledger(view: &PackView<'_>, findings: &mut Findings) {
    for line in &view.ledger {
        for fault in find_entry_faults(line) {
            findings.add("ledger.jsonl", format!("line {}: {fault}", line.number));
        }
    }
}
