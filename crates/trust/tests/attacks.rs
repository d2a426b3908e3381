//! Attacks on signatures and policies. Every attack that would have worked somewhere is a test.
use runseal_core::canon::Value;
use runseal_core::verify::authenticity::SignedState;
use runseal_trust::budget::Budget;
use runseal_trust::check::{
    CheckedSignature, Found, FoundSignature, KnownSigners, SignedUnit, read_signatures,
};
use runseal_trust::dsse::{Envelope, IN_TOTO};
use runseal_trust::encoding::{encode_base64, encode_hex};
use runseal_trust::keys::{PrivateKey, PublicKey, Signer as _, minisign, ssh, sshsig};
use runseal_trust::policy::{
    ChainError, Decision, Place, Policy, Question, decide, follow_chain, read_chain, sign_policy,
};
use runseal_trust::predicate::{Facts, RUN_PREDICATE, Signing, Verification, run_predicate};
use runseal_trust::sigstore::encode_keyed_bundle;
use runseal_trust::statement::{Statement, Target};

fn ed25519(seed: u8) -> PrivateKey {
    PrivateKey::from_ed25519_seed(&[seed; 32]).unwrap()
}

fn p256(seed: u8) -> PrivateKey {
    PrivateKey::from_p256_number(&[seed; 32]).unwrap()
}

fn target() -> Target {
    Target::of_file("run_1", "SHA256SUMS.txt", b"sums of one\n".to_vec())
}

fn other_target() -> Target {
    Target::of_file("run_2", "SHA256SUMS.txt", b"sums of another\n".to_vec())
}

fn facts() -> Facts {
    Facts {
        format: "run-bundle".to_owned(),
        ..Facts::default()
    }
}

fn verification() -> Verification {
    Verification {
        verdict: "valid".to_owned(),
        ..Verification::default()
    }
}

/// Checks signatures of a run bundle, with the budget of one unit.
fn check_signatures(
    found: &[Found],
    target: &Target,
    known: &KnownSigners,
) -> Vec<CheckedSignature> {
    let about = SignedUnit {
        target,
        facts: &facts(),
    };
    runseal_trust::check::check_signatures(found, about, known, &mut Budget::of_unit())
}

fn statement(target: &Target, key: &PrivateKey, meaning: &str) -> Vec<u8> {
    let signing = Signing {
        meaning: Some(meaning.to_owned()),
        ..Signing::default()
    };
    let (facts, verification) = (facts(), verification());
    let predicate = run_predicate(&facts, &verification, &signing, key.public_key());
    let statement = Statement {
        subjects: target.subjects(),
        predicate_type: RUN_PREDICATE.to_owned(),
        predicate,
    };
    statement.to_bytes().unwrap()
}

fn envelope(target: &Target, key: &PrivateKey, meaning: &str) -> Envelope {
    Envelope::sign(IN_TOTO, statement(target, key, meaning), key).unwrap()
}

fn found(envelopes: &[Envelope]) -> Vec<Found> {
    let lines: Vec<_> = envelopes.iter().map(Envelope::to_line).collect();
    read_signatures("x.intoto.jsonl", &lines.join(&b'\n')).unwrap()
}

fn pem(key: &PrivateKey) -> String {
    key.public_key().to_pem()
}

/// Returns a policy with these signers, of whom `threshold` must sign.
fn policy_of(signers: &[(&str, String)], threshold: usize) -> String {
    let mut text = "runseal-trust = 1\nversion = 1\n".to_owned();
    for (name, key) in signers {
        text.push_str(&format!(
            "[[signer]]\nname = \"{name}\"\nkey = '''{key}'''\n"
        ));
    }
    let names: Vec<_> = signers
        .iter()
        .map(|(name, _)| format!("\"{name}\""))
        .collect();
    text.push_str(&format!(
        "[[rule]]\nsigners = [{}]\nthreshold = {threshold}\n",
        names.join(", ")
    ));
    text
}

fn judge(
    policy: &str,
    found: &[Found],
    target: &Target,
    now: i64,
) -> (Vec<CheckedSignature>, Decision) {
    let policy = Policy::parse(policy).unwrap();
    let known = KnownSigners {
        keys: Some(policy.keys()),
        anchors: policy.anchors.clone(),
        sigstore: None,
    };
    let checked = check_signatures(found, target, &known);
    let question = Question {
        format: "run-bundle".to_owned(),
        place: Place::below("runs/run_1"),
        is_intact: true,
        now,
        ..Question::default()
    };
    let decision = decide(&policy, &question, target, &checked);
    (checked, decision)
}

fn state_of(found: &[Found], target: &Target, keys: Option<Vec<PublicKey>>) -> SignedState {
    let known = KnownSigners {
        keys: keys.map(|keys| keys.into_iter().map(|key| (key, "k".to_owned())).collect()),
        ..KnownSigners::default()
    };
    let checked = check_signatures(found, target, &known);
    assert_eq!(checked.len(), 1);
    checked[0].note.state
}

#[test]
fn honest_signatures_are_trusted() {
    let (ada, bob) = (ed25519(1), p256(2));
    let policy = policy_of(&[("ada", pem(&ada)), ("bob", pem(&bob))], 2);
    let found = found(&[
        envelope(&target(), &ada, "author"),
        envelope(&target(), &bob, "reviewer"),
    ]);
    let (checked, decision) = judge(&policy, &found, &target(), 0);
    assert!(
        checked
            .iter()
            .all(|one| one.note.state == SignedState::Signed)
    );
    assert!(decision.is_trusted, "{decision:?}");
}

#[test]
fn four_ways_not_to_be_signed_have_four_states() {
    let (ada, eve) = (ed25519(1), ed25519(9));
    let known = || Some(vec![ada.public_key().clone()]);
    let signed = envelope(&target(), &ada, "author");
    assert_eq!(
        state_of(&found(std::slice::from_ref(&signed)), &target(), known()),
        SignedState::Signed
    );
    assert_eq!(
        state_of(
            &found(std::slice::from_ref(&signed)),
            &other_target(),
            known()
        ),
        SignedState::OtherSubject
    );
    let stranger = found(&[envelope(&target(), &eve, "author")]);
    assert_eq!(
        state_of(&stranger, &target(), known()),
        SignedState::UnknownKey
    );
    let mut broken = signed;
    broken.signatures[0].sig[5] ^= 1;
    assert_eq!(
        state_of(&found(&[broken]), &target(), known()),
        SignedState::Broken
    );
    assert!(check_signatures(&[], &target(), &KnownSigners::default()).is_empty());
}

#[test]
fn envelope_with_any_byte_flipped_is_refused() {
    for key in [ed25519(1), p256(1)] {
        let envelope = envelope(&target(), &key, "author");
        let known = || Some(vec![key.public_key().clone()]);
        for at in 0..envelope.payload.len() {
            let mut changed = envelope.clone();
            changed.payload[at] ^= 1;
            assert_ne!(
                state_of(&found(&[changed]), &target(), known()),
                SignedState::Signed,
                "{at}"
            );
        }
        for at in 0..envelope.signatures[0].sig.len() {
            let mut changed = envelope.clone();
            changed.signatures[0].sig[at] ^= 1;
            assert_ne!(
                state_of(&found(&[changed]), &target(), known()),
                SignedState::Signed,
                "{at}"
            );
        }
        for at in 0..envelope.payload_type.len() {
            let mut changed = envelope.clone();
            let mut kind = changed.payload_type.into_bytes();
            kind[at] ^= 1;
            changed.payload_type = String::from_utf8(kind).unwrap();
            assert_ne!(
                state_of(&found(&[changed]), &target(), known()),
                SignedState::Signed,
                "{at}"
            );
        }
    }
}

#[test]
fn payload_of_another_type_is_not_a_statement() {
    let ada = ed25519(1);
    // The same bytes signed under another type look right to whoever reads only the payload.
    let payload = statement(&target(), &ada, "author");
    let confused = Envelope::sign("application/json", payload, &ada).unwrap();
    let known = Some(vec![ada.public_key().clone()]);
    assert_eq!(
        state_of(
            &found(std::slice::from_ref(&confused)),
            &target(),
            known.clone()
        ),
        SignedState::OtherSubject
    );
    // Renaming the type afterwards breaks the signature.
    let mut renamed = confused;
    renamed.payload_type = IN_TOTO.to_owned();
    assert_eq!(
        state_of(&found(&[renamed]), &target(), known),
        SignedState::Broken
    );
}

#[test]
fn policy_envelope_does_not_sign_a_bundle() {
    let ada = ed25519(1);
    let text = policy_of(&[("ada", pem(&ada))], 1);
    let signed = sign_policy(&text, None, &ada).unwrap();
    let known = Some(vec![ada.public_key().clone()]);
    assert_eq!(
        state_of(&found(&[signed]), &target(), known),
        SignedState::OtherSubject
    );
}

#[test]
fn keyid_does_not_decide_who_is_trusted() {
    let (ada, eve) = (ed25519(1), ed25519(9));
    let policy = policy_of(&[("ada", pem(&ada))], 1);
    let mut steered = envelope(&target(), &eve, "author");
    steered.signatures[0].keyid = Some(ada.public_key().id().to_string());
    let (_, decision) = judge(&policy, &found(&[steered]), &target(), 0);
    assert!(!decision.is_trusted);
    // Nor does a wrong hint hide a good signature.
    let mut honest = envelope(&target(), &ada, "author");
    for keyid in [
        None,
        Some(String::new()),
        Some(eve.public_key().id().to_string()),
    ] {
        honest.signatures[0].keyid = keyid;
        let (_, decision) = judge(&policy, &found(&[honest.clone()]), &target(), 0);
        assert!(decision.is_trusted, "{decision:?}");
    }
}

#[test]
fn key_in_the_statement_is_not_trusted_for_being_there() {
    let (ada, eve) = (ed25519(1), ed25519(9));
    // The statement names ada's key; eve signs it.
    let payload = statement(&target(), &ada, "author");
    let forged = Envelope::sign(IN_TOTO, payload, &eve).unwrap();
    let policy = policy_of(&[("ada", pem(&ada))], 1);
    let (checked, decision) = judge(&policy, &found(&[forged]), &target(), 0);
    assert_eq!(checked[0].note.state, SignedState::Broken);
    assert!(!decision.is_trusted);
}

#[test]
fn repeated_signature_counts_once() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let policy = policy_of(&[("ada", pem(&ada)), ("bob", pem(&bob))], 2);
    let mut twice = envelope(&target(), &ada, "author");
    let again = twice.signatures[0].clone();
    twice.signatures.push(again);
    let apart = [
        envelope(&target(), &ada, "author"),
        envelope(&target(), &ada, "reviewer"),
    ];
    for found in [found(&[twice]), found(&apart)] {
        let (_, decision) = judge(&policy, &found, &target(), 0);
        assert!(!decision.is_trusted);
        assert!(
            decision.reason.starts_with("1 of 2 needed"),
            "{}",
            decision.reason
        );
    }
}

#[test]
fn one_key_in_two_encodings_is_not_two_signers() {
    let ada = ed25519(1);
    let forms = [
        pem(&ada),
        ssh::format_public_line(ada.public_key()),
        encode_hex(ada.public_key().point()),
        minisign::format_public(ada.public_key(), minisign::MinisignId([1; 8])).unwrap(),
    ];
    for other in &forms[1..] {
        let text = policy_of(&[("ada", forms[0].clone()), ("bob", other.clone())], 2);
        let error = Policy::parse(&text).unwrap_err();
        assert!(error.fault.contains("already belongs to `ada`"), "{error}");
    }
}

#[test]
fn signature_in_two_forms_is_one_signer() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let policy = policy_of(&[("ada", pem(&ada)), ("bob", pem(&bob))], 2);
    let mut all = found(&[envelope(&target(), &ada, "author")]);
    let armoured = sshsig::sign(&ada, &target().plain).unwrap();
    all.extend(read_signatures("x.sig", armoured.as_bytes()).unwrap());
    let id = minisign::MinisignId([1; 8]);
    let lines = minisign::sign(&ada, id, &target().plain, "").unwrap();
    all.extend(read_signatures("x.minisig", lines.as_bytes()).unwrap());
    let bundle =
        encode_keyed_bundle(&envelope(&target(), &ada, "author"), ada.public_key()).unwrap();
    all.extend(read_signatures("x.sigstore.json", &bundle).unwrap());
    let (checked, decision) = judge(&policy, &all, &target(), 0);
    let states: Vec<_> = checked.iter().map(|one| one.note.state).collect();
    assert_eq!(states, [SignedState::Signed; 4]);
    assert!(!decision.is_trusted);
    assert!(
        decision.reason.starts_with("1 of 2 needed"),
        "{}",
        decision.reason
    );
}

#[test]
fn key_of_small_order_is_refused() {
    // With the neutral element as key, one signature fits every message.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let text = policy_of(&[("eve", encode_hex(&neutral))], 1);
    let error = Policy::parse(&text).unwrap_err();
    assert!(error.fault.contains("weak"), "{error}");
    // Nor is it accepted if the statement carries it.
    let spki = [
        &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..],
        &neutral,
    ]
    .concat();
    let weak = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        encode_base64(&spki)
    );
    let predicate = Value::object([("signer", Value::object([("public_key", weak)]))]);
    let statement = Statement {
        subjects: target().subjects(),
        predicate_type: RUN_PREDICATE.to_owned(),
        predicate,
    };
    let mut forged = Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &ed25519(9)).unwrap();
    forged.signatures[0].sig = [&neutral[..], &[0; 32]].concat();
    assert_ne!(
        state_of(&found(&[forged]), &target(), None),
        SignedState::Signed
    );
}

#[test]
fn second_form_of_ecdsa_signature_is_not_a_second_signer() {
    let (ada, bob) = (p256(1), p256(2));
    let policy = policy_of(&[("ada", pem(&ada)), ("bob", pem(&bob))], 2);
    let honest = envelope(&target(), &ada, "author");
    let mut mirrored = honest.clone();
    mirrored.signatures[0].sig = mirror(&honest.signatures[0].sig);
    assert_ne!(mirrored, honest);
    assert_eq!(
        mirrored.digest(),
        honest.digest(),
        "a counter-signature names both forms alike"
    );
    let (checked, decision) = judge(&policy, &found(&[honest, mirrored]), &target(), 0);
    assert_eq!(checked.len(), 2);
    assert!(!decision.is_trusted);
    assert!(
        decision.reason.starts_with("1 of 2 needed"),
        "{}",
        decision.reason
    );
}

/// Returns r and n - s: the other signature by the same key over the same bytes.
fn mirror(der: &[u8]) -> Vec<u8> {
    let signature = p256_ecdsa(der);
    let (r, s) = signature.split_scalars();
    let other = p256::ecdsa::Signature::from_scalars(*r, -*s).unwrap();
    other.to_der().as_bytes().to_vec()
}

fn p256_ecdsa(der: &[u8]) -> p256::ecdsa::Signature {
    p256::ecdsa::Signature::from_der(der).unwrap()
}

#[test]
fn ecdsa_signature_in_loose_der_is_refused() {
    let ada = p256(1);
    let strict = ada.sign(b"x").unwrap();
    let mut padded = strict.clone();
    // A superfluous zero in front of r.
    padded.insert(4, 0);
    padded[3] += 1;
    padded[1] += 1;
    assert!(ada.public_key().verifies(b"x", &strict));
    assert!(!ada.public_key().verifies(b"x", &padded));
}

const DAY: i64 = 86_400_000;

#[test]
fn key_counts_only_while_it_is_valid() {
    let ada = ed25519(1);
    let policy = policy_of(&[("ada", pem(&ada))], 1).replace(
        "[[rule]]",
        "from = 2026-01-01\nuntil = 2026-02-01T00:00:00Z\n[[rule]]",
    );
    let found = found(&[envelope(&target(), &ada, "author")]);
    let first = 20_454 * DAY; // 2026-01-01
    for (now, expected) in [
        (first - 1, false),
        (first, true),
        (first + 31 * DAY - 1, true),
        (first + 31 * DAY, false),
    ] {
        let (_, decision) = judge(&policy, &found, &target(), now);
        assert_eq!(decision.is_trusted, expected, "{now}: {}", decision.reason);
    }
}

#[test]
fn expired_policy_trusts_nothing() {
    let ada = ed25519(1);
    let policy = policy_of(&[("ada", pem(&ada))], 1)
        .replace("version = 1", "version = 1\nexpires = 2026-01-01");
    let found = found(&[envelope(&target(), &ada, "author")]);
    assert!(
        judge(&policy, &found, &target(), 20_454 * DAY - 1)
            .1
            .is_trusted
    );
    let (_, decision) = judge(&policy, &found, &target(), 20_454 * DAY);
    assert!(!decision.is_trusted);
    assert_eq!(decision.line, Some(3));
}

#[test]
fn signature_moved_to_another_bundle_is_over_something_else() {
    let ada = ed25519(1);
    let policy = policy_of(&[("ada", pem(&ada))], 1);
    let (checked, decision) = judge(
        &policy,
        &found(&[envelope(&target(), &ada, "author")]),
        &other_target(),
        0,
    );
    assert_eq!(checked[0].note.state, SignedState::OtherSubject);
    assert!(
        decision.reason.contains("signature over something else"),
        "{}",
        decision.reason
    );
}

#[test]
fn denied_keys_and_digests_override_every_rule() {
    let ada = ed25519(1);
    let honest = policy_of(&[("ada", pem(&ada))], 1);
    let found = found(&[envelope(&target(), &ada, "author")]);
    let digest = target().file.unwrap().1;
    for denied in [
        format!("[deny]\nkeys = [\"{}\"]\n", ada.public_key().id()),
        format!(
            "[deny]\nkeys = [\"{}\"]\n",
            encode_hex(ada.public_key().point())
        ),
        format!("[deny]\nkeys = ['''{}''']\n", pem(&ada)),
        format!("[deny]\ndigests = [\"sha256:{digest}\"]\n"),
    ] {
        let (_, decision) = judge(&format!("{honest}{denied}"), &found, &target(), 0);
        assert!(!decision.is_trusted, "{denied}");
        assert!(decision.reason.contains("denied"), "{}", decision.reason);
    }
}

#[test]
fn meaning_of_the_rule_must_be_signed() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let policy = policy_of(&[("ada", pem(&ada)), ("bob", pem(&bob))], 1)
        + "meanings = [\"reviewer\", \"approver\"]\n";
    let author = found(&[envelope(&target(), &ada, "author")]);
    let (_, decision) = judge(&policy, &author, &target(), 0);
    assert!(
        decision.reason.contains("it means `author`"),
        "{}",
        decision.reason
    );
    let reviewer = found(&[envelope(&target(), &bob, "reviewer")]);
    assert!(judge(&policy, &reviewer, &target(), 0).1.is_trusted);
}

#[test]
fn unit_that_is_not_intact_is_not_trusted() {
    let ada = ed25519(1);
    let policy = Policy::parse(&policy_of(&[("ada", pem(&ada))], 1)).unwrap();
    let known = KnownSigners {
        keys: Some(policy.keys()),
        ..KnownSigners::default()
    };
    let checked = check_signatures(
        &found(&[envelope(&target(), &ada, "author")]),
        &target(),
        &known,
    );
    let question = Question::default();
    assert!(!decide(&policy, &question, &target(), &checked).is_trusted);
}

// --- changing a policy

fn rooted(version: u64, root: &[(&str, &PrivateKey)], threshold: usize) -> String {
    let signers: Vec<_> = root.iter().map(|(name, key)| (*name, pem(key))).collect();
    let names: Vec<_> = root.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let text = policy_of(&signers, 1).replace("version = 1", &format!("version = {version}"));
    format!(
        "{text}[root]\nsigners = [{}]\nthreshold = {threshold}\n",
        names.join(", ")
    )
}

fn link(text: &str, signers: &[&PrivateKey]) -> Vec<u8> {
    let mut envelope = None;
    for signer in signers {
        envelope = Some(sign_policy(text, envelope, *signer).unwrap());
    }
    envelope.unwrap().to_line()
}

#[test]
fn old_policy_reaches_the_newest_through_the_chain() {
    let (ada, bob, cay) = (ed25519(1), p256(2), ed25519(3));
    let first = rooted(1, &[("ada", &ada)], 1);
    let second = rooted(2, &[("ada", &ada), ("bob", &bob)], 2);
    let third = rooted(3, &[("bob", &bob), ("cay", &cay)], 1);
    let chain = [
        link(&first, &[&ada]),
        link(&second, &[&ada, &bob]),
        link(&third, &[&ada, &bob]),
    ]
    .join(&b'\n');
    for start in [&first, &second] {
        let links = read_chain(&chain).unwrap();
        let newest = follow_chain(&Policy::parse(start).unwrap(), links, 0)
            .unwrap()
            .unwrap();
        assert_eq!(newest.policy.version, 3);
    }
    let links = read_chain(&chain).unwrap();
    assert!(
        follow_chain(&Policy::parse(&third).unwrap(), links, 0)
            .unwrap()
            .is_none()
    );
}

#[test]
fn rotated_out_key_changes_and_signs_nothing() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let first = rooted(1, &[("ada", &ada)], 1);
    let second = rooted(2, &[("bob", &bob)], 1);
    let third = rooted(3, &[("ada", &ada)], 1);
    let chain = [link(&second, &[&ada, &bob]), link(&third, &[&ada])].join(&b'\n');
    let start = Policy::parse(&first).unwrap();
    let error = follow_chain(&start, read_chain(&chain).unwrap(), 0).unwrap_err();
    assert_eq!(
        error,
        ChainError::Threshold {
            version: 3,
            root: 2,
            have: 0,
            need: 1,
            because: None,
        }
    );
    // Under the second version ada's key is unknown.
    let (checked, decision) = judge(
        &second,
        &found(&[envelope(&target(), &ada, "author")]),
        &target(),
        0,
    );
    assert_eq!(checked[0].note.state, SignedState::UnknownKey);
    assert!(!decision.is_trusted);
}

#[test]
fn policy_downgrade_is_refused() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let first = rooted(1, &[("ada", &ada), ("bob", &bob)], 2);
    let second = rooted(2, &[("ada", &ada), ("bob", &bob)], 2);
    let weaker = rooted(3, &[("ada", &ada)], 1);
    let start = Policy::parse(&first).unwrap();
    let follow =
        |lines: &[Vec<u8>]| follow_chain(&start, read_chain(&lines.join(&b'\n')).unwrap(), 0);
    // One of two is too few, even if the new root asks for one.
    assert!(matches!(
        follow(&[link(&second, &[&ada, &bob]), link(&weaker, &[&ada])]),
        Err(ChainError::Threshold {
            have: 1,
            need: 2,
            ..
        })
    ));
    // Versions go up by one: none is left out, repeated or taken back.
    assert!(matches!(
        follow(&[link(&weaker, &[&ada, &bob])]),
        Err(ChainError::Version {
            expected: 2,
            actual: 3
        })
    ));
    let honest = link(&second, &[&ada, &bob]);
    assert!(matches!(
        follow(&[honest.clone(), link(&first, &[&ada, &bob])]),
        Err(ChainError::Version {
            expected: 3,
            actual: 1
        })
    ));
    assert!(matches!(
        follow(&[honest.clone(), honest]),
        Err(ChainError::Version {
            expected: 3,
            actual: 2
        })
    ));
}

#[test]
fn chain_signature_of_one_key_counts_once() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let first = rooted(1, &[("ada", &ada), ("bob", &bob)], 2);
    let second = rooted(2, &[("ada", &ada), ("bob", &bob)], 2);
    let mut envelope = sign_policy(&second, None, &ada).unwrap();
    let again = envelope.signatures[0].clone();
    envelope.signatures.push(again);
    let links = read_chain(&envelope.to_line()).unwrap();
    assert!(matches!(
        follow_chain(&Policy::parse(&first).unwrap(), links, 0),
        Err(ChainError::Threshold {
            have: 1,
            need: 2,
            ..
        })
    ));
}

#[test]
fn policy_without_root_cannot_be_changed() {
    let ada = ed25519(1);
    let first = policy_of(&[("ada", pem(&ada))], 1);
    let second = rooted(2, &[("ada", &ada)], 1);
    let links = read_chain(&link(&second, &[&ada])).unwrap();
    let error = follow_chain(&Policy::parse(&first).unwrap(), links, 0).unwrap_err();
    assert_eq!(error, ChainError::NoRoot(1));
}

// --- counter-signatures

#[test]
fn counter_signature_of_absent_signature_is_reported() {
    let (ada, bob) = (ed25519(1), ed25519(2));
    let first = envelope(&target(), &ada, "author");
    let signing = Signing {
        previous: vec![first.digest()],
        ..Signing::default()
    };
    let (facts, verification) = (facts(), verification());
    let statement = Statement {
        subjects: target().subjects(),
        predicate_type: RUN_PREDICATE.to_owned(),
        predicate: run_predicate(&facts, &verification, &signing, bob.public_key()),
    };
    let second = Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &bob).unwrap();
    let both = check_signatures(
        &found(&[first, second.clone()]),
        &target(),
        &KnownSigners::default(),
    );
    assert_eq!(both[1].note.detail, None);
    let alone = check_signatures(&found(&[second]), &target(), &KnownSigners::default());
    assert!(
        alone[0]
            .note
            .detail
            .as_deref()
            .unwrap()
            .contains("not here")
    );
}

#[test]
fn counter_signatures_of_each_other_terminate() {
    // A cycle of digests cannot be made; two envelopes that each claim a wrong digest come closest.
    let keys = [ed25519(1), ed25519(2)];
    let [one, two] = [0, 1].map(|at| {
        let signing = Signing {
            previous: vec![envelope(&target(), &keys[1 - at], "author").digest()],
            ..Signing::default()
        };
        let statement = Statement {
            subjects: target().subjects(),
            predicate_type: RUN_PREDICATE.to_owned(),
            predicate: run_predicate(&facts(), &verification(), &signing, keys[at].public_key()),
        };
        Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &keys[at]).unwrap()
    });
    let checked = check_signatures(&found(&[one, two]), &target(), &KnownSigners::default());
    assert!(checked.iter().all(|one| one.note.detail.is_some()));
}

#[test]
fn line_other_than_an_object_is_a_damaged_signature() {
    for line in ["[]", "[{\"payload\":\"\"}]", "5", "null", "\"x\""] {
        let text = format!("{line}\n{{\"note\":1}}\n");
        for bytes in [line.as_bytes(), text.as_bytes()] {
            let found = read_signatures("x.intoto.jsonl", bytes).unwrap();
            assert_eq!(found.len(), 1, "{line}");
            let is_damaged = matches!(found[0].signature, FoundSignature::Damaged("dsse", _));
            assert!(is_damaged, "{line}");
        }
    }
}
