use super::*;
use crate::keys::minisign::MinisignId;

fn both() -> [PrivateKey; 2] {
    [
        PrivateKey::from_ed25519_seed(&[3; 32]).unwrap(),
        PrivateKey::from_p256_number(&[3; 32]).unwrap(),
    ]
}

#[test]
fn key_written_in_every_form_reads_back() {
    for key in both() {
        for passphrase in [None, Some(b"correct horse".as_slice())] {
            let mut files = vec![
                key.to_pem(passphrase, &[5; 32]).unwrap(),
                ssh::encode_private(&key, passphrase, "me", &[9; 20]).unwrap(),
            ];
            if passphrase.is_none() && key.public_key().algorithm() == Algorithm::Ed25519 {
                let id = MinisignId([1; 8]);
                files.push(minisign::encode_private(&key, id, passphrase, &[1; 32]).unwrap());
            }
            for file in files {
                let read = PrivateKey::parse(file.as_bytes(), passphrase).unwrap();
                assert_eq!(read.public_key(), key.public_key());
                if passphrase.is_some() {
                    for (given, expected) in [
                        (None, KeyError::PassphraseNeeded),
                        (Some(b"wrong".as_slice()), KeyError::WrongPassphrase),
                    ] {
                        let error = PrivateKey::parse(file.as_bytes(), given).unwrap_err();
                        assert_eq!(error, expected, "{}", *file);
                    }
                }
            }
        }
    }
}

#[test]
fn public_key_in_two_encodings_is_one_key() {
    for key in both() {
        let key = key.public_key();
        let mut forms = vec![key.to_pem(), ssh::format_public_line(key)];
        if key.algorithm() == Algorithm::Ed25519 {
            forms.push(crate::encoding::encode_hex(key.point()));
            forms.push(minisign::format_public(key, MinisignId([7; 8])).unwrap());
        }
        for form in forms {
            let read = PublicKey::parse(&form).unwrap();
            assert_eq!((&read, read.id()), (key, key.id()), "{form}");
        }
    }
    // A compressed point of the same key.
    let key = PrivateKey::from_p256_number(&[3; 32]).unwrap();
    let point = key.public_key().point();
    let mut compressed = vec![2 + (point[64] & 1)];
    compressed.extend_from_slice(&point[1..33]);
    assert_eq!(
        &PublicKey::from_p256(&compressed).unwrap(),
        key.public_key()
    );
}

#[test]
fn signature_with_any_bit_flipped_is_refused() {
    for key in both() {
        let signature = key.sign(b"message").unwrap();
        assert!(key.public_key().verifies(b"message", &signature));
        assert!(!key.public_key().verifies(b"massage", &signature));
        for at in 0..signature.len() * 8 {
            let mut flipped = signature.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(!key.public_key().verifies(b"message", &flipped), "bit {at}");
        }
        let longer = [signature.as_slice(), &[0]].concat();
        assert!(!key.public_key().verifies(b"message", &longer));
    }
}

#[test]
fn key_of_small_order_or_non_canonical_is_refused() {
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let mut order_two = [0xff; 32];
    (order_two[0], order_two[31]) = (0xec, 0x7f);
    let zero = [0; 32];
    for weak in [neutral, order_two, zero] {
        assert!(
            matches!(PublicKey::from_ed25519(&weak), Err(KeyError::Weak(_))),
            "{weak:?}"
        );
    }
    // y = 1 written as p + 1.
    let mut second = [0xff; 32];
    (second[0], second[31]) = (0xee, 0x7f);
    assert!(matches!(
        PublicKey::from_ed25519(&second),
        Err(KeyError::Weak(_))
    ));
}

#[test]
fn written_ecdsa_signature_has_low_s() {
    let key = PrivateKey::from_p256_number(&[3; 32]).unwrap();
    for message in 0..32u8 {
        let signature = key.sign(&[message]).unwrap();
        let read = p256::ecdsa::Signature::from_der(&signature).unwrap();
        assert_eq!(read.normalize_s(), read);
    }
}

#[test]
fn ssh_signature_is_valid_only_for_its_message_and_namespace() {
    for key in both() {
        let text = sshsig::sign(&key, b"message").unwrap();
        let signature = sshsig::SshSignature::parse(&text).unwrap();
        assert_eq!(&signature.key, key.public_key());
        assert!(signature.verifies(b"message"));
        assert!(!signature.verifies(b"massage"));
    }
}

#[test]
fn minisign_signature_is_valid_only_for_its_message_comment_and_key() {
    let [key, other] = [3, 4].map(|seed| PrivateKey::from_ed25519_seed(&[seed; 32]).unwrap());
    let text = minisign::sign(&key, MinisignId([1; 8]), b"message", "said").unwrap();
    let read = |text: &str| minisign::MinisignSignature::parse(text).unwrap();
    assert!(read(&text).verifies(key.public_key(), b"message"));
    assert!(!read(&text).verifies(other.public_key(), b"message"));
    assert!(!read(&text).verifies(key.public_key(), b"massage"));
    let said = text.replace("said", "sail");
    assert!(!read(&said).verifies(key.public_key(), b"message"));
}

#[test]
fn invalid_key_file_error_says_why() {
    for (text, expected) in [
        ("", KeyError::NoPrivateKey),
        ("hello", KeyError::NoPrivateKey),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
            KeyError::OtherType("RSA".to_owned()),
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            KeyError::Damaged("its PKCS #8 form is broken"),
        ),
    ] {
        assert_eq!(
            PrivateKey::parse(text.as_bytes(), None).unwrap_err(),
            expected
        );
    }
    assert_eq!(
        PublicKey::parse("hello").unwrap_err(),
        KeyError::NoPublicKey
    );
    let private = both()[0].to_pem(None, &[0; 32]).unwrap();
    assert!(matches!(
        PublicKey::parse(&private),
        Err(KeyError::Damaged(_))
    ));
}

#[test]
fn agent_answer_without_signature_is_none() {
    for key in both() {
        let request = ssh::agent_sign_request(key.public_key(), b"message");
        assert_eq!(&request[4..5], [13]);
        assert_eq!(ssh::parse_agent_signature(key.public_key(), &[5]), None);
        assert_eq!(
            ssh::parse_agent_signature(key.public_key(), &[14, 0, 0]),
            None
        );
        let signature = key.sign(b"message").unwrap();
        let mut answer = vec![14];
        let blob = ssh::encode_signature(key.public_key(), &signature).unwrap();
        ssh::put_string(&mut answer, &blob);
        assert_eq!(
            ssh::parse_agent_signature(key.public_key(), &answer).unwrap(),
            signature
        );
    }
}

/// Returns the same file with another number of bcrypt rounds.
fn with_rounds(file: &str, rounds: u32) -> String {
    let label = "OPENSSH PRIVATE KEY";
    let mut blob = crate::encoding::decode_armour(file, label).unwrap();
    let written = [&[9; 16][..], &24u32.to_be_bytes()].concat();
    let mut places = blob.windows(written.len());
    let at = places.position(|bytes| bytes == written).unwrap() + 16;
    blob[at..at + 4].copy_from_slice(&rounds.to_be_bytes());
    crate::encoding::encode_armour(&blob, label, 70)
}

#[test]
fn costly_key_file_is_refused_before_any_work() {
    let [key, _] = both();
    let passphrase = Some(b"x".as_slice());
    let file = ssh::encode_private(&key, passphrase, "me", &[9; 20]).unwrap();
    assert!(PrivateKey::parse(with_rounds(&file, 24).as_bytes(), passphrase).is_ok());
    for rounds in [257, 4_000, u32::MAX] {
        let costly = with_rounds(&file, rounds);
        let error = PrivateKey::parse(costly.as_bytes(), passphrase).unwrap_err();
        assert!(matches!(error, KeyError::TooCostly(_)), "{rounds}: {error}");
        assert!(
            error.to_string().contains("ssh-keygen -p -a 100"),
            "{error}"
        );
    }
    // A minisign key with sixteen passes over a gigabyte.
    let id = MinisignId([1; 8]);
    let plain = minisign::encode_private(&key, id, None, &[1; 32]).unwrap();
    let body = plain.lines().nth(1).unwrap();
    let mut body = crate::encoding::decode_base64(body).unwrap();
    body[2..4].copy_from_slice(b"Sc");
    body[38..46].copy_from_slice(&(33_554_432u64 * 16).to_le_bytes());
    body[46..54].copy_from_slice(&(1u64 << 30).to_le_bytes());
    let body = crate::encoding::encode_base64(&body);
    let costly = format!("untrusted comment: x\n{body}\n");
    let error = PrivateKey::parse(costly.as_bytes(), passphrase).unwrap_err();
    assert!(matches!(error, KeyError::TooCostly(_)), "{error}");
}
