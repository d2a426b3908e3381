//! Every proposal, model recording and runner record of the conformance data.

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::model_io::{ModelIoView, compute_model_io_hash, verify_model_io};
use runseal_core::formats::proposal::{ProposalView, verify_proposal};
use runseal_core::formats::runner::{RunnerView, compute_runner_hash, verify_runner};
use runseal_core::verify::Level;
use runseal_testkit::{check_document_cases, text};

#[test]
fn proposal_cases_have_expected_findings() {
    check_document_cases("proposal", |bytes, _| {
        let document = parse_document(bytes, &ReadOptions::default()).ok()?;
        let view = ProposalView::new(document.root(), None);
        Some(verify_proposal(&view, Level::Document))
    });
}

#[test]
fn runner_cases_have_expected_findings_and_hash() {
    check_document_cases("runner", |bytes, case| {
        let document = parse_document(bytes, &ReadOptions::default()).ok()?;
        if let Some(expected) = text(case.get("expect").unwrap(), "runner_hash") {
            let hash = compute_runner_hash(document.root()).unwrap();
            assert_eq!(hash.to_string(), expected);
        }
        let view = RunnerView {
            root: document.root(),
        };
        Some(verify_runner(&view, Level::Document))
    });
}

#[test]
fn model_io_cases_have_expected_findings_and_hash() {
    check_document_cases("model_io", |bytes, case| {
        let bytes = expand(bytes, case);
        let document = parse_document(&bytes, &ReadOptions::default()).ok()?;
        let expect = case.get("expect").unwrap();
        if let Some(expected) = text(expect, "model_io_hash") {
            let hash = compute_model_io_hash(document.root()).unwrap();
            assert_eq!(hash.to_string(), expected);
        }
        let view = ModelIoView {
            root: document.root(),
            bodies: None,
        };
        Some(verify_model_io(&view, Level::Document))
    });
}

/// Expands a small document into a large one, as the data's description says.
fn expand(bytes: &[u8], case: Node<'_>) -> Vec<u8> {
    let Some(rule) = case.get("expand") else {
        return bytes.to_vec();
    };
    let document = parse_document(bytes, &ReadOptions::default()).unwrap();
    let mut first = document
        .root()
        .get("interactions")
        .unwrap()
        .items()
        .next()
        .unwrap()
        .to_value();
    let count = |node: Node<'_>| node.as_number().unwrap().to_exact_i64().unwrap() as usize;
    if let Some(content) = rule.get("response_content") {
        let mut parts = content.items();
        let piece = parts.next().unwrap().as_str().unwrap();
        first.insert(
            "response_content",
            piece.repeat(count(parts.next().unwrap())),
        );
    }
    let copies = rule.get("repeat_interactions").map_or(1, count);
    let numbered = (0..copies).map(|i| {
        let mut interaction = first.clone();
        interaction.insert("i", i);
        interaction
    });
    let mut whole = document.root().to_value();
    whole.insert("interactions", Value::array(numbered));
    canonical_bytes(&whole, Dialect::Kernel).unwrap()
}
