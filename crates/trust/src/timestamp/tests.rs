//! Paths of certificates: found in any order, at a cost that does not grow with the number of
//! paths.

use super::certificate::{Anchors, ParsedCertificate};
use super::der::{encode, tag};
use super::token::TimeError;
use crate::budget::{Budget, Exhausted};
use crate::encoding::encode_armour;
use crate::keys::{PrivateKey, Signer as _};

const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    encode(tag::SEQUENCE, &parts.concat())
}

fn name(text: &str) -> Vec<u8> {
    let attribute = sequence(&[encode(tag::OID, COMMON_NAME), encode(0x0c, text.as_bytes())]);
    sequence(&[encode(tag::SET, &attribute)])
}

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from_p256_number(&[seed; 32]).unwrap()
}

/// Makes a certificate of an authority; `depth` is how many authorities may follow below it.
fn certificate(
    serial: u8,
    (subject, of): (&str, &PrivateKey),
    (issuer, by): (&str, &PrivateKey),
    depth: Option<u8>,
) -> ParsedCertificate {
    let algorithm = sequence(&[encode(tag::OID, ECDSA_SHA256)]);
    let mut constraints = encode(tag::BOOLEAN, &[0xff]);
    constraints.extend(
        depth
            .iter()
            .flat_map(|depth| encode(tag::INTEGER, &[*depth])),
    );
    let extension = sequence(&[
        encode(tag::OID, BASIC_CONSTRAINTS),
        encode(tag::BOOLEAN, &[0xff]),
        encode(tag::OCTETS, &encode(tag::SEQUENCE, &constraints)),
    ]);
    let signed = sequence(&[
        encode(tag::CONTEXT_0, &encode(tag::INTEGER, &[2])),
        encode(tag::INTEGER, &[serial]),
        algorithm.clone(),
        name(issuer),
        sequence(&[
            encode(0x17, b"260101000000Z"),
            encode(0x17, b"300101000000Z"),
        ]),
        name(subject),
        of.public_key().to_der(),
        encode(0xa3, &sequence(&[extension])),
    ]);
    let mut signature = vec![0];
    signature.extend(by.sign(&signed).unwrap());
    let whole = sequence(&[signed, algorithm, encode(0x03, &signature)]);
    ParsedCertificate::parse(&whole).unwrap()
}

fn anchors(roots: &[&ParsedCertificate]) -> Anchors {
    let pem = roots.iter();
    let pem = pem.map(|held| encode_armour(&held.der, "CERTIFICATE", 64));
    Anchors::parse(&pem.collect::<String>()).unwrap()
}

/// 2026-06-01.
const THEN: u64 = 1_780_272_000;

#[test]
fn certificates_with_same_name_and_key_are_each_visited_once() {
    let (theirs, honest) = (key(1), key(2));
    let leaf = certificate(99, ("tsa", &key(3)), ("X", &theirs), None);
    let root = certificate(1, ("Honest", &honest), ("Honest", &honest), None);
    let many: Vec<_> = (1..=16)
        .map(|serial| certificate(serial, ("X", &theirs), ("X", &theirs), None))
        .collect();
    let mut budget = Budget::of_unit();
    let result = anchors(&[&root]).check_path(&leaf, &many, THEN, &mut budget);
    assert!(matches!(result, Err(TimeError::UnknownAuthority(_))));
    assert!(budget.spent() <= 17, "{}", budget.spent());
}

#[test]
fn path_is_found_among_many_others() {
    let keys: Vec<_> = (1..=5).map(key).collect();
    let leaf = certificate(9, ("tsa", &keys[0]), ("A", &keys[1]), None);
    let root = certificate(1, ("R", &keys[4]), ("R", &keys[4]), None);
    let mut others: Vec<_> = (20..30)
        .map(|serial| certificate(serial, ("A", &keys[1]), ("A", &keys[1]), None))
        .collect();
    others.push(certificate(2, ("B", &keys[2]), ("R", &keys[4]), Some(1)));
    others.push(certificate(3, ("A", &keys[1]), ("B", &keys[2]), Some(0)));
    let check = |others: &[ParsedCertificate]| {
        let mut budget = Budget::of_unit();
        anchors(&[&root]).check_path(&leaf, others, THEN, &mut budget)
    };
    assert_eq!(check(&others), Ok(()));
    others.reverse();
    assert_eq!(check(&others), Ok(()));
    // B may have no authority below it.
    others.retain(|held| held.subject() != "CN=B");
    others.push(certificate(2, ("B", &keys[2]), ("R", &keys[4]), Some(0)));
    assert!(check(&others).is_err());
}

#[test]
fn path_beyond_the_budget_is_an_error() {
    let keys: Vec<_> = (1..=2).map(key).collect();
    let leaf = certificate(9, ("tsa", &keys[0]), ("R", &keys[1]), None);
    let root = certificate(1, ("R", &keys[1]), ("R", &keys[1]), None);
    let mut budget = Budget::of_unit();
    while budget.pay_signature(0).is_ok() {}
    let result = anchors(&[&root]).check_path(&leaf, &[], THEN, &mut budget);
    let limit = crate::limits::MAX_CHECKS_A_UNIT;
    assert_eq!(result, Err(TimeError::Budget(Exhausted::Checks(limit))));
}
