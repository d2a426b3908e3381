//! Work on signatures from strangers is counted and bounded.
use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::SignedState;
use runseal_trust::budget::Budget;
use runseal_trust::check::{
    CheckedSignature, Found, KnownSigners, SignatureChecker, SignedUnit, check_signatures,
    read_signatures,
};
use runseal_trust::dsse::{Envelope, EnvelopeSignature, IN_TOTO};
use runseal_trust::keys::{PrivateKey, Signer as _};
use runseal_trust::limits::{MAX_CHECKS_A_UNIT, MAX_SIGNATURES};
use runseal_trust::predicate::Facts;
use runseal_trust::statement::{Statement, Target};

fn key(seed: u16) -> PrivateKey {
    let mut bytes = [7; 32];
    bytes[..2].copy_from_slice(&seed.to_be_bytes());
    PrivateKey::from_ed25519_seed(&bytes).unwrap()
}

fn target() -> Target {
    Target::of_file("run_1", "SHA256SUMS.txt", b"sums\n".to_vec())
}

fn envelope(signer: &PrivateKey, predicate: &str) -> Envelope {
    let statement = Statement {
        subjects: target().subjects(),
        predicate_type: "https://example.com/p/v1".to_owned(),
        predicate: Value::from(predicate),
    };
    Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), signer).unwrap()
}

fn known(count: u16) -> KnownSigners {
    let keys = (0..count).map(|seed| (key(seed).public_key().clone(), format!("k{seed}")));
    KnownSigners {
        keys: Some(keys.collect()),
        ..KnownSigners::default()
    }
}

fn check(lines: &[Envelope], known: &KnownSigners) -> (Vec<CheckedSignature>, u32) {
    let lines: Vec<_> = lines.iter().map(Envelope::to_line).collect();
    let found: Vec<Found> = read_signatures("x.intoto.jsonl", &lines.join(&b'\n')).unwrap();
    let (target, facts, mut budget) = (target(), Facts::default(), Budget::of_unit());
    let about = SignedUnit {
        target: &target,
        facts: &facts,
    };
    let checked = check_signatures(&found, about, known, &mut budget);
    (checked, budget.spent())
}

/// Makes an envelope with invalid signatures, each different from all others.
fn junk(line: u32, signatures: u32) -> Envelope {
    let mut envelope = envelope(&key(999), &line.to_string());
    envelope.signatures = (0..signatures)
        .map(|at| {
            let mut sig = envelope.signatures[0].sig.clone();
            sig[..4].copy_from_slice(&(line * 64 + at).to_be_bytes());
            EnvelopeSignature {
                keyid: None,
                sig,
                timestamps: Vec::new(),
            }
        })
        .collect();
    envelope
}

#[test]
fn signatures_beyond_the_budget_are_reported_as_unchecked() {
    let lines: Vec<_> = (0..40).map(|line| junk(line, 64)).collect();
    let (checked, spent) = check(&lines, &known(10));
    assert_eq!(spent, MAX_CHECKS_A_UNIT);
    let last = checked.last().unwrap();
    assert_eq!(last.note.state, SignedState::CannotTell);
    let detail = last.note.detail.as_deref().unwrap();
    assert!(detail.contains("more than 1000 checks"), "{detail}");
    // A second run gives the same result.
    let (again, _) = check(&lines, &known(10));
    assert_eq!(checked.len(), again.len());
}

#[test]
fn signatures_are_counted_without_known_keys() {
    let lines: Vec<_> = (0..40).map(|line| junk(line, 64)).collect();
    let (checked, spent) = check(&lines, &KnownSigners::default());
    assert_eq!((checked.len(), spent), (MAX_SIGNATURES + 1, 0));
    let detail = checked.last().unwrap().note.detail.as_deref().unwrap();
    assert!(detail.contains("more than 256 signatures"), "{detail}");
}

#[test]
fn repeated_signature_is_checked_once() {
    let line = junk(1, 8);
    let mut twice = line.clone();
    twice.signatures.extend(line.signatures.clone());
    let lines = vec![twice; 100];
    let (checked, spent) = check(&lines, &known(3));
    assert_eq!((checked.len(), spent), (8, 24));
}

#[test]
fn signature_that_is_matched_with_the_archive_too_is_checked_once() {
    let archive = ("run_1.zip".to_owned(), Digest::of(b"the archive"));
    let only_archive = Target::of_file("run_1.zip", "run_1.zip", b"the archive".to_vec());
    let statement = Statement {
        subjects: only_archive.subjects(),
        predicate_type: "https://example.com/p/v1".to_owned(),
        predicate: Value::from(""),
    };
    let over_archive = Envelope::sign(IN_TOTO, statement.to_bytes().unwrap(), &key(2)).unwrap();
    let lines = [over_archive.to_line(), envelope(&key(1), "").to_line()];
    let found = read_signatures("x.intoto.jsonl", &lines.join(&b'\n')).unwrap();
    let (known, facts, mut budget) = (known(3), Facts::default(), Budget::of_unit());
    let mut target = target();
    let mut checker = SignatureChecker::new(&found, &known, &mut budget);
    let states = |checked: Vec<CheckedSignature>| -> Vec<_> {
        checked.iter().map(|checked| checked.note.state).collect()
    };
    let first = checker.check(SignedUnit {
        target: &target,
        facts: &facts,
    });
    assert_eq!(
        states(first),
        [SignedState::OtherSubject, SignedState::Signed]
    );
    target.set_archive(archive, false);
    let about = SignedUnit {
        target: &target,
        facts: &facts,
    };
    assert_eq!(states(checker.check(about)), [SignedState::Signed; 2]);
    let statements = checker.find_statements(about);
    assert!(statements.iter().all(|one| one.fault.is_none()));
    let (_, once) = check(&[over_archive, envelope(&key(1), "")], &known);
    assert_eq!(budget.spent(), once);
}

#[test]
fn valid_signature_costs_one_check_with_many_known_keys() {
    let known = known(500);
    for seed in [0, 250, 499] {
        let (checked, spent) = check(&[envelope(&key(seed), "")], &known);
        assert_eq!(checked[0].note.state, SignedState::Signed);
        assert_eq!(spent, 1);
    }
    // A wrong hint costs more but hides nothing.
    let mut misled = envelope(&key(499), "");
    misled.signatures[0].keyid = Some(key(3).public_key().id().to_string());
    let (checked, _) = check(&[misled], &known);
    assert_eq!(checked[0].note.state, SignedState::Signed);
}

#[test]
fn long_statement_costs_more_for_hashing() {
    let long = envelope(&key(900), &"x".repeat(8 << 20));
    let (checked, spent) = check(&[long], &known(100));
    assert_eq!(spent, MAX_CHECKS_A_UNIT);
    assert_eq!(checked[0].note.state, SignedState::CannotTell);
}

#[test]
fn long_stated_texts_are_not_repeated_for_each_signature() {
    use runseal_trust::predicate::RUN_PREDICATE;
    let long = "x".repeat(100_000);
    let mut subjects = target().subjects();
    subjects[0].name = long.clone();
    let subjects = vec![subjects[0].clone(); 40];
    let statement = Statement {
        subjects,
        predicate_type: RUN_PREDICATE.to_owned(),
        predicate: Value::object([("meaning", long)]),
    };
    let payload = statement.to_bytes().unwrap();
    let envelope = Envelope::sign(IN_TOTO, payload, &key(0)).unwrap();
    let (checked, _) = check(&[envelope], &known(1));
    let note = &checked[0].note;
    assert_eq!(note.meaning, None);
    let shown: usize = note.over.iter().map(String::len).sum();
    assert!(shown <= 16_000, "{shown}");
}
