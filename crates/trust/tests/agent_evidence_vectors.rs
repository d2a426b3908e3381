//! The corpus `ai-agent-action` of the Python package agent-evidence-vectors, each vector with the
//! verdict that its manifest says.
//!
//! `AGENT_EVIDENCE_VECTORS` names the installed package's folder; without it nothing is judged and
//! the test says so. The corpora of that package which are receipts of other programs are not
//! ours to read: docs/trust.md says which.
use std::fs;
use std::path::Path;

use runseal_core::canon::{Dialect, Node, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_testkit::text;
use runseal_trust::action::{ActionFault, Payloads, Profile, check_action, check_chain};

/// The payload `{"value": N}` of the vectors about numbers, from the bits of N; its digest.
fn payload_digest(expected: Node<'_>) -> Option<Digest> {
    let bits = u64::from_str_radix(&text(expected, "ieee754")?, 16).unwrap();
    // As JSON of any spelling; the canonical one is what is tried here.
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
fn every_vector_of_ai_agent_action_has_the_verdict_that_its_manifest_says() {
    let Some(folder) = std::env::var_os("AGENT_EVIDENCE_VECTORS") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI must have AGENT_EVIDENCE_VECTORS"
        );
        eprintln!("SKIPPED: AGENT_EVIDENCE_VECTORS names no folder");
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
        // The one condition that the proposal itself does not have: a name beyond the Basic
        // Multilingual Plane is well formed there, and refusing it is said to be a fault.
        let is_beyond = condition == "aia-c-15" && verdict == "invalid";
        if is_beyond {
            assert_eq!(result, Ok(()), "{id}");
        } else if result.is_ok() == (verdict == "valid") {
            right += 1;
        } else {
            wrong.push(format!("{id} {condition} {verdict}: {result:?}"));
        }
    }
    eprintln!("{right} of {} as the manifest says", vectors.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
