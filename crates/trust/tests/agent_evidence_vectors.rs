//! The corpus `ai-agent-action` of the Python package agent-evidence-vectors: every vector must get
//! the verdict in its manifest.
//!
//! `AGENT_EVIDENCE_VECTORS` names the installed package's folder; without it the test is skipped
//! and says so. The package's other corpora are receipts of other programs, which we do not read:
//! docs/trust.md lists them.
use std::fs;
use std::path::Path;

use runseal_core::canon::{Dialect, Node, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_testkit::skip::skip;
use runseal_testkit::text;
use runseal_trust::action::{ActionFault, Payloads, Profile, check_action, check_chain};

/// Returns the digest of the payload `{"value": N}` of the vectors about numbers, from the bits of
/// N.
fn payload_digest(expected: Node<'_>) -> Option<Digest> {
    let bits = u64::from_str_radix(&text(expected, "ieee754")?, 16).unwrap();
    // Any JSON spelling will do; canonicalization is what is tested.
    let written = format!("{{\"value\":{:e}}}", f64::from_bits(bits));
    let document = parse_document(written.as_bytes(), &ReadOptions::TEXT).unwrap();
    let bytes = canonical_bytes(document.root(), Dialect::Jcs).unwrap();
    Some(Digest::of(&bytes))
}

fn judge(corpus: &Path, vector: Node<'_>) -> Result<(), ActionFault> {
    let statement = fs::read(corpus.join(text(vector, "file").unwrap())).unwrap();
    let expected = vector.get("expected").unwrap();
    let payloads = Payloads {
        request: payload_digest(expected),
        response: None,
    };
    let profile = match text(vector, "profile").as_deref() {
        Some("compromised-attestor-resistant") => Profile::Resistant,
        _ => Profile::Default,
    };
    match text(vector, "records") {
        Some(records) => {
            let records = fs::read(corpus.join(records)).unwrap();
            check_chain(&statement, &records, profile, payloads)
        }
        None => check_action(&statement, profile, payloads).map(|_| ()),
    }
}

#[test]
fn ai_agent_action_vectors_get_the_verdict_of_their_manifest() {
    let Some(folder) = std::env::var_os("AGENT_EVIDENCE_VECTORS") else {
        skip("AGENT_EVIDENCE_VECTORS is not set");
        return;
    };
    let corpus = Path::new(&folder).join("corpora/vectors-ai-agent-action");
    let manifest = fs::read(corpus.join("MANIFEST.json")).expect("the package's folder");
    let manifest = parse_document(&manifest, &ReadOptions::TEXT).unwrap();
    let vectors = manifest.root().get("vectors").unwrap();
    assert!(vectors.len() >= 75, "only {} vectors", vectors.len());
    let (mut right, mut wrong) = (0, Vec::new());
    for vector in vectors.items() {
        let id = text(vector, "id").unwrap();
        let condition = vector.get("conditions").unwrap().items().next().unwrap();
        let condition = condition.as_str().unwrap();
        let verdict = text(vector.get("expected").unwrap(), "verdict").unwrap();
        let result = judge(&corpus, vector);
        // The one condition that is not in the proposal: it allows names beyond the Basic
        // Multilingual Plane, and the corpus calls refusing them a fault.
        let is_beyond = condition == "aia-c-15" && verdict == "invalid";
        if is_beyond {
            assert_eq!(result, Ok(()), "{id}");
        } else if result.is_ok() == (verdict == "valid") {
            right += 1;
        } else {
            wrong.push(format!("{id} {condition} {verdict}: {result:?}"));
        }
    }
    eprintln!("{right} of {} match the manifest", vectors.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
