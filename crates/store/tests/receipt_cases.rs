//! Receipts, chains, Merkle roots, attestations and policies of the conformance data.

use std::collections::BTreeMap;

use crate::conformance::{Json, data_folder, decode_hex, read_lines};
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::receipt::attestation::{
    Attestation, Identity, Key, attest_merkle_root, attest_receipt, encode_hex, merkle_message,
    receipt_message,
};
use runseal_core::formats::receipt::merkle::compute_merkle_root;
use runseal_core::formats::receipt::trust::TrustPolicy;
use runseal_core::formats::receipt::{RULES, Receipt, ReceiptsView, TrustDemand, receipt_bytes};
use runseal_core::verify::{Level, run_rules};
use runseal_store::job::replay::{Previous, replay_job_bundle};
use runseal_store::job::verify::verify_job_bundle_then;
use runseal_survey::VerifyOptions;

#[test]
fn conformance_receipts_are_reproduced_byte_for_byte() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let cases = read_lines(&data.join("receipts.jsonl"));
    assert!(cases.len() > 40);
    for case in &cases {
        let bundle = data.join("bundles").join(case["bundle"].as_str().unwrap());
        let previous = case["previous"].as_str().map(|hash| Previous {
            receipt_hash: Digest::parse_hex(hash).unwrap(),
            index: None,
        });
        let (_, receipt) = verify_job_bundle_then(&bundle, VerifyOptions::default(), |bundle| {
            replay_job_bundle(bundle, previous, None).unwrap()
        });
        let bytes = receipt_bytes(&receipt.expect("the bundle is valid")).unwrap();
        assert_eq!(
            Digest::of(&bytes).to_string(),
            case["file_sha256"],
            "{}",
            case["bundle"]
        );
        let made: Json = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(made, case["receipt"]);
        assert_eq!(made["receipt_hash"], case["receipt_hash"]);
    }
}

/// Judges receipts given as JSON. Returns the verdict, with the Merkle root if they are valid.
fn judge(
    receipts: &[Json],
    is_chain: bool,
    merkle: Option<&Json>,
    policy: Option<&Json>,
    demand: TrustDemand,
) -> (bool, Option<String>, String) {
    let options = ReadOptions::default();
    let texts: Vec<_> = receipts.iter().map(|receipt| receipt.to_string()).collect();
    let documents: Vec<_> = texts
        .iter()
        .map(|text| parse_document(text.as_bytes(), &options).unwrap())
        .collect();
    let receipts: Vec<_> = documents
        .iter()
        .map(|document| Receipt::read(document.root()))
        .collect();
    let merkle_text = merkle.map(|merkle| merkle.to_string());
    let merkle_document = merkle_text
        .as_ref()
        .map(|text| parse_document(text.as_bytes(), &options).unwrap());
    let policy = policy.map(|policy| {
        let text = policy.to_string();
        TrustPolicy::parse(parse_document(text.as_bytes(), &options).unwrap().root()).unwrap()
    });
    let view = ReceiptsView {
        receipts: &receipts,
        is_chain,
        merkle: merkle_document.as_ref().map(|document| document.root()),
        policy: policy.as_ref(),
        demand,
    };
    let report = run_rules(&RULES, &view, Level::Document);
    let root = view
        .merkle_root()
        .filter(|_| report.is_valid())
        .map(|root| root.to_string());
    (report.is_valid(), root, format!("{:?}", report.findings()))
}

fn demand_of(case: &Json) -> TrustDemand {
    match (&case["strict_trust"], &case["strict_identity"]) {
        (_, Json::Bool(true)) => TrustDemand::Identity,
        (Json::Bool(true), _) => TrustDemand::Trust,
        _ => TrustDemand::None,
    }
}

fn policies(data: &std::path::Path) -> BTreeMap<String, Json> {
    let lines = read_lines(&data.join("trust_policies.jsonl"));
    lines
        .into_iter()
        .map(|line| {
            (
                line["name"].as_str().unwrap().to_owned(),
                line["policy"].clone(),
            )
        })
        .collect()
}

#[test]
fn conformance_chains_get_the_expected_verdict() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    for case in read_lines(&data.join("chains.jsonl")) {
        let receipts = case["receipts"].as_array().unwrap();
        let (ok, root, told) = judge(receipts, true, None, None, TrustDemand::None);
        assert_eq!(
            Json::from(ok),
            case["expect"]["ok"],
            "{}: {told}",
            case["name"]
        );
        assert_eq!(
            Json::from(root),
            case["expect"]["merkle_root"],
            "{}",
            case["name"]
        );
    }
}

#[test]
fn conformance_merkle_roots_are_reproduced() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    for case in read_lines(&data.join("merkle.jsonl")) {
        let leaves: Vec<_> = case["leaves"]
            .as_array()
            .unwrap()
            .iter()
            .map(|leaf| Digest::parse_hex(leaf.as_str().unwrap()).unwrap())
            .collect();
        let root = compute_merkle_root(&leaves).map(|root| root.to_string());
        assert_eq!(Json::from(root), case["root"]);
    }
}

#[test]
fn conformance_trust_policies_are_read_or_refused() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    for case in read_lines(&data.join("trust_policies.jsonl")) {
        let text = case["policy"].to_string();
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let parsed = TrustPolicy::parse(document.root());
        assert_eq!(
            Json::from(parsed.is_ok()),
            case["expect"]["ok"],
            "{}",
            case["name"]
        );
    }
}

#[test]
fn conformance_attestations_get_the_expected_verdict() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let policies = policies(&data);
    for case in read_lines(&data.join("attestations.jsonl")) {
        let policy = case["policy"].as_str().map(|name| &policies[name]);
        let receipts = std::slice::from_ref(&case["receipt"]);
        let (ok, _, told) = judge(receipts, false, None, policy, demand_of(&case));
        assert_eq!(
            Json::from(ok),
            case["expect"]["ok"],
            "{}: {told}",
            case["name"]
        );
        let text = case["receipt"].to_string();
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let message = receipt_message(document.root().to_value()).unwrap();
        if ok {
            let signed = Digest::of(&message).to_string();
            assert_eq!(
                Json::from(signed),
                case["signed_sha256"],
                "{}",
                case["name"]
            );
        }
    }
}

#[test]
fn conformance_merkle_attestations_get_the_expected_verdict() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let policies = policies(&data);
    for case in read_lines(&data.join("merkle_attestations.jsonl")) {
        let root = Digest::parse_hex(case["merkle_root"].as_str().unwrap()).unwrap();
        let text = case["attestation"].to_string();
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let policy = case["policy"].as_str().map(|name| {
            let text = policies[name].to_string();
            TrustPolicy::parse(
                parse_document(text.as_bytes(), &ReadOptions::default())
                    .unwrap()
                    .root(),
            )
            .unwrap()
        });
        // A receipt whose hash is the root forms a chain of one with that root.
        let lone = format!("{{\"receipt_hash\":\"{root}\"}}");
        let receipt = parse_document(lone.as_bytes(), &ReadOptions::default()).unwrap();
        let receipts = [Receipt::read(receipt.root())];
        let view = ReceiptsView {
            receipts: &receipts,
            is_chain: false,
            merkle: Some(document.root()),
            policy: policy.as_ref(),
            demand: demand_of(&case),
        };
        let report = run_rules(&RULES, &view, Level::Document);
        let ok = !report
            .findings()
            .iter()
            .any(|f| matches!(f.rule_id, "RC6" | "RC7"));
        assert_eq!(Json::from(ok), case["expect"]["ok"], "{}", case["name"]);
        if let Some(message) = case.get("message_hex").and_then(Json::as_str) {
            let attestation = Attestation::parse(document.root()).unwrap();
            let signed = merkle_message(root, &attestation.public_key, &attestation.identity);
            assert_eq!(signed, decode_hex(message));
        }
    }
}

#[test]
fn signatures_with_conformance_keys_equal_the_recorded_ones() {
    let Some(data) = data_folder("jobbundle") else {
        return;
    };
    let keys: Json =
        serde_json::from_slice(&std::fs::read(data.join("keys.json")).unwrap()).unwrap();
    let mut by_public = BTreeMap::new();
    for key in keys["keys"].as_object().unwrap().values() {
        let seed: [u8; 32] = decode_hex(key["seed_hex"].as_str().unwrap())
            .try_into()
            .unwrap();
        let made = Key::from_seed(&seed);
        assert_eq!(Json::from(made.public_hex()), key["public_key"]);
        by_public.insert(made.public_hex(), made);
    }
    let mut signed = 0;
    for case in read_lines(&data.join("attestations.jsonl")) {
        let text = case["receipt"].to_string();
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        if case["expect"]["ok"] == true {
            let attestation = Attestation::parse(document.root().get("attestation").unwrap());
            let attestation = attestation.unwrap();
            let key = &by_public[&encode_hex(&attestation.public_key)];
            let mut receipt = document.root().to_value();
            attest_receipt(&mut receipt, key, &attestation.identity).unwrap();
            assert_eq!(receipt, document.root().to_value(), "{}", case["name"]);
            signed += 1;
        }
    }
    assert!(signed > 10);
    for case in read_lines(&data.join("merkle_attestations.jsonl")) {
        let claimed = &case["attestation"];
        if case["expect"]["ok"] == true && claimed.as_object().unwrap().len() <= 6 {
            let text = |key: &str| claimed.get(key).and_then(Json::as_str).map(str::to_owned);
            let root = Digest::parse_hex(case["merkle_root"].as_str().unwrap()).unwrap();
            let identity = Identity {
                validator_id: text("validator_id"),
                build_id: text("build_id"),
            };
            let key = &by_public[&text("public_key").unwrap()];
            let made = attest_merkle_root(root, key, &identity);
            assert_eq!(
                made.get("signature").unwrap().as_str(),
                text("signature").as_deref()
            );
        }
    }
}
