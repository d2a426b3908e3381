//! The rules of receipts and chains.

use super::Receipt;
use super::agreement::{Disagreement, compare_artifacts, compare_outcomes};
use super::attestation::{
    Attestation, AttestationError, verify_merkle_attestation, verify_receipt_attestation,
};
use super::merkle::compute_merkle_root;
use super::trust::{Scope, TrustPolicy};
use crate::canon::{JsonPath, Node};
use crate::digest::Digest;
use crate::formats::Format;
use crate::verify::{Findings, Gate, Level, Place, Rule, RuleInfo, Subject};

/// A receipt or a chain of receipts, as a subject of rules.
#[derive(Debug)]
pub struct ReceiptChain;

impl Subject for ReceiptChain {
    type View<'a> = ReceiptsView<'a>;
    const FORMAT: Format = Format::Receipt;
}

/// How much trust is demanded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustDemand {
    /// Signatures must be valid, whoever made them.
    #[default]
    None,
    /// Keys must be enabled in the policy.
    Trust,
    /// They must also name their owner and, if pinned, the build.
    Identity,
}

/// Receipts as the rules see them.
#[derive(Debug)]
pub struct ReceiptsView<'a> {
    /// The receipts in order.
    pub receipts: &'a [Receipt<'a>],
    /// Whether this is a list or several receipts, which must begin with the first one. A single
    /// receipt may have a parent elsewhere.
    pub is_chain: bool,
    /// A Merkle attestation over them.
    pub merkle: Option<Node<'a>>,
    /// Whose keys count.
    pub policy: Option<&'a TrustPolicy>,
    /// How much of that is demanded.
    pub demand: TrustDemand,
}

impl ReceiptsView<'_> {
    /// The Merkle root over the receipts' hashes, if all have one.
    pub fn merkle_root(&self) -> Option<Digest> {
        let leaves: Option<Vec<_>> = self.receipts.iter().map(|r| r.receipt_hash).collect();
        compute_merkle_root(&leaves?)
    }
}

const fn info(
    id: &'static str,
    title: &'static str,
    section: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Receipt,
        title,
        section,
        level: Level::Document,
        explanation,
    }
}

fn always(_: &ReceiptsView<'_>) -> Gate {
    Gate::Ready
}

/// The rules of receipts.
pub static RULES: [Rule<ReceiptChain>; 9] = [
    Rule {
        info: info(
            "RC1",
            "Every field of the receipt is there, with its type and order",
            "companion formats, receipt.json",
            "All fields are present and typed, hashes are lower-case hex, steps ascend by \
             (ordinal, step_id) and artifacts by artifact_id. A list of receipts is not empty.",
        ),
        gate: always,
        check: check_fields,
    },
    Rule {
        info: info(
            "RC2",
            "The receipt hash is that of the receipt",
            "companion formats, receipt.json",
            "receipt_hash is SHA-256 over the canonical receipt and one LF, without receipt_hash \
             and with attestation null.",
        ),
        gate: always,
        check: check_hashes,
    },
    Rule {
        info: info(
            "RC3",
            "Each receipt names the one before it",
            "companion formats, receipt.json",
            "The first receipt of a chain has no parent, each later one has the hash of the one \
             before it as parent.",
        ),
        gate: always,
        check: check_links,
    },
    Rule {
        info: info(
            "RC4",
            "The indexes of a chain count from 0, or there are none",
            "companion formats, receipt.json",
            "receipt_index is null in all receipts of a chain, or 0, 1, 2 and so on in all.",
        ),
        gate: always,
        check: check_indexes,
    },
    Rule {
        info: info(
            "RC5",
            "Every signature is valid",
            "companion formats, attestation",
            "An attestation in a receipt was made by its key over this receipt. \
             Checked strictly: no keys of small order, lower-case hex only.",
        ),
        gate: always,
        check: check_signatures,
    },
    Rule {
        info: info(
            "RC6",
            "The Merkle attestation is of these receipts",
            "companion formats, attestation",
            "The Merkle attestation names the root of these receipts and its signature is valid.",
        ),
        gate: |view| match view.merkle {
            Some(_) => Gate::Ready,
            None => Gate::NotApplicable("no Merkle attestation was given"),
        },
        check: check_merkle,
    },
    Rule {
        info: info(
            "RC7",
            "Every attestation is trusted",
            "companion formats, trust policy",
            "With strict trust, each attestation's key is enabled in the policy for what it \
             attests; with strict identity it also names its owner and the pinned build. A \
             receipt without an attestation fails, unless a Merkle attestation covers it.",
        ),
        gate: |view| match view.demand {
            TrustDemand::None => Gate::NotApplicable("trust was not demanded"),
            TrustDemand::Trust | TrustDemand::Identity => Gate::Ready,
        },
        check: check_trust,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RC8",
                "Outcomes, results and errors agree",
                "companion formats, receipt.json",
                "A step of outcome SUCCESS has a result and no error, a step of outcome FAILURE has an error and no \
                 result. A receipt of outcome SUCCESS has a step, no error and no step that failed; a receipt of outcome \
                 FAILURE has an error or a step that failed.",
            )
        },
        gate: always,
        check: |view, findings| check_agreement(view, findings, compare_outcomes),
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RC9",
                "Steps, artifacts and root hash agree",
                "companion formats, receipt.json",
                "The artifacts are the results of the steps, by content and size, and root_hash is that of the \
                 artifacts, as in a job bundle.",
            )
        },
        gate: always,
        check: |view, findings| check_agreement(view, findings, compare_artifacts),
    },
];

/// The most attestations of one list whose signatures are checked: a list of a hundred thousand
/// fits into a small archive.
const MAX_ATTESTATIONS: usize = 10_000;

/// A place in a receipt. Reports name it by the receipt's index in the chain; the path and the file
/// are those of the document that contains it.
fn place_of(view: &ReceiptsView<'_>, at: usize, within: &JsonPath) -> Place {
    let label = JsonPath::ROOT.then(at).joined(within).to_string();
    let receipt = view.receipts.get(at);
    let root = receipt.and_then(|receipt| receipt.element);
    let root = root.map_or(JsonPath::ROOT, |element| JsonPath::ROOT.then(element));
    let place = Place::named(label).at(root.joined(within));
    match receipt.and_then(|receipt| receipt.file.as_deref()) {
        Some(file) => place.in_file(file),
        None => place,
    }
}

fn place(view: &ReceiptsView<'_>, at: usize, member: &str) -> Place {
    place_of(view, at, &JsonPath::ROOT.then(member))
}

fn check_fields(view: &ReceiptsView<'_>, findings: &mut Findings) {
    if view.receipts.is_empty() {
        findings.add(JsonPath::ROOT, "expected at least one receipt, actual none");
    }
    for (at, receipt) in view.receipts.iter().enumerate() {
        for problem in &receipt.problems {
            findings.add(place_of(view, at, &problem.path), problem.message.clone());
        }
    }
}

fn check_hashes(view: &ReceiptsView<'_>, findings: &mut Findings) {
    for (at, receipt) in view.receipts.iter().enumerate() {
        if let (Some(stated), Some(computed)) = (receipt.receipt_hash, receipt.computed_hash)
            && stated != computed
        {
            findings.add_difference(
                place(view, at, "receipt_hash"),
                "the hash is not that of the receipt",
                computed.to_string(),
                stated.to_string(),
            );
        }
    }
}

fn check_links(view: &ReceiptsView<'_>, findings: &mut Findings) {
    if let Some(first) = view.receipts.first()
        && view.is_chain
        && let Some(parent) = first.parent
    {
        let message = format!("the first receipt of a chain has no parent, actual `{parent}`");
        findings.add(place(view, 0, "parent_receipt_hash"), message);
    }
    for (at, pair) in view.receipts.windows(2).enumerate() {
        // RC1 reports what is not there.
        let Some(expected) = pair[0].receipt_hash.filter(|_| pair[1].has_parent) else {
            continue;
        };
        if pair[1].parent != Some(expected) {
            let actual = pair[1]
                .parent
                .map_or("none".to_owned(), |parent| parent.to_string());
            findings.add_difference(
                place(view, at + 1, "parent_receipt_hash"),
                "the parent is not the receipt before",
                expected.to_string(),
                actual,
            );
        }
    }
}

fn check_indexes(view: &ReceiptsView<'_>, findings: &mut Findings) {
    let Some(first) = view.receipts.first() else {
        return;
    };
    if !view.is_chain {
        let begins = first.has_parent && first.parent.is_none();
        if begins && first.index.is_some_and(|index| index.to_u64() != Some(0)) {
            findings.add(
                place(view, 0, "receipt_index"),
                "expected 0 or null without a parent",
            );
        }
        return;
    }
    if !first.has_index {
        return;
    }
    let counted = first.index.is_some();
    let receipts = view.receipts.iter().enumerate();
    for (at, receipt) in receipts.filter(|(_, receipt)| receipt.has_index) {
        let expected = counted.then_some(at as u64);
        let fits = match receipt.index {
            None => expected.is_none(),
            Some(index) => expected.is_some() && index.to_u64() == expected,
        };
        if !fits {
            let expected = expected.map_or("null".to_owned(), |index| index.to_string());
            findings.add(
                place(view, at, "receipt_index"),
                format!("expected {expected}"),
            );
        }
    }
}

/// The receipts with an attestation, as far as signatures are checked.
fn attested<'v, 'a>(view: &'v ReceiptsView<'a>) -> impl Iterator<Item = (usize, &'v Receipt<'a>)> {
    let receipts = view.receipts.iter().enumerate();
    receipts
        .filter(|(_, receipt)| receipt.has_attestation)
        .take(MAX_ATTESTATIONS)
}

fn check_signatures(view: &ReceiptsView<'_>, findings: &mut Findings) {
    for (at, receipt) in attested(view) {
        if let Err(error) = verify_receipt_attestation(receipt.node) {
            findings.add(place(view, at, "attestation"), error.to_string());
        }
    }
    let receipts = view.receipts.iter().enumerate();
    let mut rest = receipts.filter(|(_, receipt)| receipt.has_attestation);
    if let Some((at, _)) = rest.nth(MAX_ATTESTATIONS) {
        let message = format!(
            "there are more than {MAX_ATTESTATIONS} attestations; the rest was not checked"
        );
        findings.add(place(view, at, "attestation"), message);
    }
}

fn check_agreement(
    view: &ReceiptsView<'_>,
    findings: &mut Findings,
    compare: fn(&Receipt<'_>) -> Vec<Disagreement>,
) {
    for (at, receipt) in view.receipts.iter().enumerate() {
        for (within, message) in compare(receipt) {
            findings.add(place_of(view, at, &within), message);
        }
    }
}

fn merkle(view: &ReceiptsView<'_>) -> Option<Result<Attestation, AttestationError>> {
    Some(verify_merkle_attestation(view.merkle?, view.merkle_root()?))
}

fn check_merkle(view: &ReceiptsView<'_>, findings: &mut Findings) {
    match merkle(view) {
        Some(Ok(_)) => {}
        Some(Err(error)) => findings.add("merkle", error.to_string()),
        None => findings.add("merkle", "the receipts have no Merkle root"),
    }
}

fn check_trust(view: &ReceiptsView<'_>, findings: &mut Findings) {
    let Some(policy) = view.policy else {
        findings.add_without_path("trust is demanded, but there is no policy");
        return;
    };
    let identity = view.demand == TrustDemand::Identity;
    // RC5 and RC6 report invalid signatures.
    if let Some(Ok(attestation)) = merkle(view)
        && let Err(distrust) = policy.check(&attestation, Scope::Merkle, identity)
    {
        findings.add("merkle", distrust.to_string());
    }
    for (at, receipt) in view.receipts.iter().enumerate() {
        if !receipt.has_attestation && view.merkle.is_none() {
            findings.add(
                place(view, at, "attestation"),
                "trust is demanded, but it is unsigned",
            );
        }
    }
    for (at, receipt) in attested(view) {
        if let Ok(attestation) = verify_receipt_attestation(receipt.node)
            && let Err(distrust) = policy.check(&attestation, Scope::Receipt, identity)
        {
            findings.add(place(view, at, "attestation"), distrust.to_string());
        }
    }
}
