//! The laws of signatures, time stamps, policies and logs: for any input, a check ends within its budget,
//! gives the same answer every time, and never reports as signed what the key did not sign.

use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::SignedState;
use runseal_trust::budget::Budget;
use runseal_trust::check::{
    CheckedSignature, Found, FoundSignature, KnownSigners, SignedUnit, check_signatures,
    read_signatures,
};
use runseal_trust::dsse::{Envelope, IN_TOTO};
use runseal_trust::keys::{PrivateKey, Signer as _};
use runseal_trust::limits::{MAX_CHECKS_A_UNIT, MAX_SIGNATURES};
use runseal_trust::log::{
    Checkpoint, ConsistencyProof, InclusionProof, KeyKind, LogEntry, LogPolicy, NoteKey,
    SignedNote, sign_checkpoint,
};
use runseal_trust::policy::{Place, Policy, Question, decide, follow_chain, read_chain};
use runseal_trust::predicate::{Facts, RUN_PREDICATE, Signing, Verification, run_predicate};
use runseal_trust::statement::{Statement, Target};
use runseal_trust::timestamp::{Anchors, Token};

/// The root certificate of the time stamping authority whose tokens are among the seeds.
const AUTHORITY: &str = include_str!("authority.pem");

/// What the authority stamped.
pub const STAMPED: &[u8] = b"a signature";

/// The key that the checks know.
pub fn known_key() -> PrivateKey {
    PrivateKey::from_ed25519_seed(&[1; 32]).expect("a seed gives a key")
}

/// The run whose signatures are checked.
pub fn target() -> Target {
    Target::of_file("run_1", "SHA256SUMS.txt", b"sums of one\n".to_vec())
}

/// The only envelope that the known key signed.
pub fn honest_envelope() -> Envelope {
    let key = known_key();
    let facts = facts();
    let verification = Verification {
        verdict: "valid".to_owned(),
        ..Verification::default()
    };
    let public = key.public_key();
    let predicate = run_predicate(&facts, &verification, &Signing::default(), public);
    let statement = Statement {
        subjects: target().subjects(),
        predicate_type: RUN_PREDICATE.to_owned(),
        predicate,
    };
    let payload = statement.to_bytes().expect("a statement has a form");
    Envelope::sign(IN_TOTO, payload, &key).expect("a key in memory signs")
}

/// The only checkpoint that the known key signed as a log.
pub fn honest_note() -> SignedNote {
    let checkpoint = Checkpoint {
        origin: "example.com/log".to_owned(),
        size: 1,
        root: Digest::of(b"root"),
    };
    sign_checkpoint(&checkpoint.to_text(), &checkpoint.origin, &known_key())
        .expect("a key in memory signs")
}

fn facts() -> Facts {
    Facts {
        format: "run-bundle".to_owned(),
        ..Facts::default()
    }
}

fn check(found: &[Found]) -> (Vec<CheckedSignature>, u32) {
    let (target, facts) = (target(), facts());
    let about = SignedUnit {
        target: &target,
        facts: &facts,
    };
    let known = KnownSigners {
        keys: Some(vec![(known_key().public_key().clone(), "ada".to_owned())]),
        anchors: Anchors::parse(AUTHORITY).expect("the root is a certificate"),
        sigstore: None,
    };
    let mut budget = Budget::of_unit();
    let checked = check_signatures(found, about, &known, &mut budget);
    (checked, budget.spent())
}

/// A file of signatures: an envelope that is written reads back as the same, the work is bounded, and only
/// the honest envelope counts as signed by the known key.
pub fn check_signature_file(bytes: &[u8]) {
    let Ok(found) = read_signatures("x", bytes) else {
        return;
    };
    for one in &found {
        if let FoundSignature::Envelope(envelope) = &one.signature {
            let again = Envelope::parse(&envelope.to_line()).expect("what is written reads back");
            assert_eq!(&again, envelope);
        }
    }
    let (checked, spent) = check(&found);
    assert!(spent <= MAX_CHECKS_A_UNIT, "{spent}");
    assert!(checked.len() <= MAX_SIGNATURES + 1, "{}", checked.len());
    let (again, _) = check(&found);
    let states =
        |list: &[CheckedSignature]| list.iter().map(|one| one.note.clone()).collect::<Vec<_>>();
    assert_eq!(states(&checked), states(&again));
    let honest = honest_envelope();
    for one in checked {
        let is_statement = one.predicate.is_some();
        if is_statement && one.note.state == SignedState::Signed {
            let place = &one.note.place;
            let mut sources = found.iter().filter(|found| found.place == *place);
            let is_honest = sources.any(|found| match &found.signature {
                FoundSignature::Envelope(envelope) => envelope.digest() == honest.digest(),
                // A bundle contains its envelope as signed.
                FoundSignature::Bundle(_) => true,
                _ => false,
            });
            assert!(is_honest, "{place} was not signed by the key");
        }
    }
}

/// The state of the first signature in a file.
pub fn state_of(bytes: &[u8]) -> Option<SignedState> {
    let found = read_signatures("x", bytes).ok()?;
    check(&found).0.first().map(|checked| checked.note.state)
}

/// Whether a time stamp over [`STAMPED`] is believed.
pub fn is_believed(bytes: &[u8]) -> bool {
    let anchors = Anchors::parse(AUTHORITY).expect("the root is a certificate");
    let token = Token::parse(bytes);
    token.is_ok_and(|token| {
        token
            .verify(STAMPED, &anchors, &mut Budget::of_unit())
            .is_ok()
    })
}

/// A time stamp: its own bytes read back as the same, and checking it is bounded.
pub fn check_timestamp(bytes: &[u8]) {
    let Ok(token) = Token::parse(bytes) else {
        return;
    };
    let again = Token::parse(token.der()).expect("a token's own bytes are a token");
    assert_eq!(again.der(), token.der());
    assert_eq!(again.claimed_time(), token.claimed_time());
    let anchors = Anchors::parse(AUTHORITY).expect("the root is a certificate");
    let verify = || {
        let mut budget = Budget::of_unit();
        let result = token.verify(STAMPED, &anchors, &mut budget);
        // A token has at most 16 certificates, and each is visited once.
        assert!(budget.spent() <= 17 * 18, "{}", budget.spent());
        result
    };
    let result = verify();
    assert_eq!(result, verify());
    assert!(result.is_err() || token.is_over(STAMPED));
    assert!(
        token
            .verify(b"another", &anchors, &mut Budget::of_unit())
            .is_err()
    );
}

/// A policy, or a chain of policies: a policy is sound and trusts nothing unsigned, and versions in a chain only go up.
pub fn check_policy(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_policy_text(text);
    }
    if let Ok(links) = read_chain(bytes)
        && let Some(first) = links.first()
    {
        let start = first.policy.clone();
        if let Ok(Some(newest)) = follow_chain(&start, links, 0) {
            assert!(newest.policy.version > start.version);
        }
    }
}

fn check_policy_text(text: &str) {
    let policy = match (Policy::parse(text), Policy::parse(text)) {
        (Ok(policy), Ok(_)) => policy,
        (first, second) => {
            assert_eq!(first.err(), second.err());
            return;
        }
    };
    for rule in &policy.rules {
        for requirement in &rule.requirements {
            let names = requirement.signers.len();
            assert!((1..=names).contains(&requirement.threshold));
            let mut names = requirement.signers.iter();
            assert!(names.all(|name| policy.signer(name).is_some()));
        }
    }
    let mut ids: Vec<_> = policy.keys().iter().map(|(key, _)| key.id()).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "a key belongs to one signer");
    let question = Question {
        format: "run-bundle".to_owned(),
        place: Place::below("run_1"),
        is_intact: true,
        ..Question::default()
    };
    assert!(!decide(&policy, &question, &target(), &[]).is_trusted);
}

/// Proofs, checkpoints and entries of logs: those that are written read back as the same, and only the honest
/// checkpoint is accepted.
pub fn check_proof(bytes: &[u8]) {
    if let Ok(entry) = LogEntry::parse(bytes) {
        assert_eq!(entry.to_bytes().expect("an entry has a form"), bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let leaf = Digest::of(b"leaf");
    let mut notes = Vec::new();
    if let Ok(proof) = InclusionProof::parse(text) {
        let again = InclusionProof::parse(&proof.to_text());
        assert_eq!(again.as_ref(), Ok(&proof));
        assert!(proof.verify(&leaf).is_err(), "no log has this leaf");
        let _ = proof.verify_own();
        notes.push(proof.checkpoint);
    }
    if let Ok(proof) = ConsistencyProof::parse(text) {
        assert_eq!(
            ConsistencyProof::parse(&proof.to_text()).as_ref(),
            Ok(&proof)
        );
        notes.push(proof.checkpoint);
    }
    if let Ok(note) = SignedNote::parse(text) {
        assert_eq!(SignedNote::parse(&note.to_text()).as_ref(), Ok(&note));
        notes.push(note);
    }
    let honest = honest_note();
    let key = known_key();
    let name = "example.com/log";
    let key = NoteKey::new(name, KeyKind::Ed25519, key.public_key()).expect("it is ed25519");
    for note in notes {
        let accepted = LogPolicy::of_log(key.clone()).accept(&note).is_ok();
        assert!(!accepted || note.text == honest.text, "{}", note.text);
    }
}
