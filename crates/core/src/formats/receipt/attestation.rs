//! Attestations: ed25519 signatures over a receipt or over the Merkle root of a chain.
//!
//! Keys are 32-byte seeds; hex is lower case. Signatures are checked strictly: a key of small order
//! or another encoding of the same signature is refused.

use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use thiserror::Error;

use super::receipt_bytes;
use crate::canon::{Dialect, Edit, NoCanonicalForm, Node, Value, write_edited};
use crate::digest::{Digest, decode_lower_hex};

/// The only scheme.
pub const SCHEME: &str = "ed25519";

/// Why an attestation is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AttestationError {
    /// It is not an object.
    #[error("expected an object or null")]
    NotObject,
    /// A member is missing or not a string.
    #[error("`{0}` is missing or not a string")]
    Member(&'static str),
    /// Another scheme.
    #[error("expected scheme `ed25519`, actual `{0}`")]
    Scheme(String),
    /// A key or signature is not lower-case hex of its length.
    #[error("`{member}` is not {digits} lower-case hex digits")]
    Hex {
        /// The member's name.
        member: &'static str,
        /// How many digits it should have.
        digits: usize,
    },
    /// The signature was not made by this key over these bytes.
    #[error("the signature was not made by this key over this content")]
    Signature,
    /// The attestation is for another root.
    #[error("expected merkle_root `{expected}`, actual `{actual}`")]
    Root {
        /// The root of the receipts.
        expected: Digest,
        /// The root it names.
        actual: String,
    },
    /// What was signed has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
}

/// The signer, as far as an attestation says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The validator's name, as the signer states it.
    pub validator_id: Option<String>,
    /// The build of the validator, as the signer states it.
    pub build_id: Option<String>,
}

/// The claims of an attestation: who signed, and with which key.
#[derive(Clone, Debug)]
pub struct Attestation {
    /// The key, as 32 bytes.
    pub public_key: [u8; 32],
    /// The signer's names.
    pub identity: Identity,
    signature: [u8; 64],
}

impl Attestation {
    /// Parses an attestation; unknown members are ignored.
    pub fn parse(node: Node<'_>) -> Result<Self, AttestationError> {
        if node.as_object().is_none() {
            return Err(AttestationError::NotObject);
        }
        let text = |member: &'static str| {
            let value = node.get(member).and_then(|value| value.as_str());
            value.ok_or(AttestationError::Member(member))
        };
        let optional = |member: &'static str| match node.get(member) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.into_owned())),
                None => Err(AttestationError::Member(member)),
            },
        };
        let scheme = text("scheme")?;
        if scheme != SCHEME {
            return Err(AttestationError::Scheme(scheme.into_owned()));
        }
        Ok(Self {
            public_key: parse_hex("public_key", &text("public_key")?)?,
            signature: parse_hex("signature", &text("signature")?)?,
            identity: Identity {
                validator_id: optional("validator_id")?,
                build_id: optional("build_id")?,
            },
        })
    }

    fn check_signature(&self, message: &[u8]) -> Result<(), AttestationError> {
        let key = VerifyingKey::from_bytes(&self.public_key);
        let signature = Signature::from_bytes(&self.signature);
        key.and_then(|key| key.verify_strict(message, &signature))
            .map_err(|_| AttestationError::Signature)
    }
}

fn parse_hex<const N: usize>(
    member: &'static str,
    text: &str,
) -> Result<[u8; N], AttestationError> {
    decode_lower_hex(text).ok_or(AttestationError::Hex {
        member,
        digits: 2 * N,
    })
}

/// Bytes as lower-case hex.
pub fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A signing key.
pub struct Key(SigningKey);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key(public {})", self.public_hex())
    }
}

impl Key {
    /// Makes the key from a 32-byte seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Reads the key from a PKCS #8 PEM text.
    pub fn from_pem(text: &str) -> Option<Self> {
        SigningKey::from_pkcs8_pem(text.trim()).ok().map(Self)
    }

    /// The public key as hex.
    pub fn public_hex(&self) -> String {
        encode_hex(self.0.verifying_key().as_bytes())
    }

    fn sign(&self, message: &[u8]) -> String {
        encode_hex(&self.0.sign(message).to_bytes())
    }
}

fn unsigned(key: &Key, identity: &Identity) -> Value {
    let mut attestation = Value::object([
        ("scheme", SCHEME),
        ("public_key", key.public_hex().as_str()),
        ("signature", ""),
    ]);
    if let Some(validator_id) = &identity.validator_id {
        attestation.insert("validator_id", validator_id.as_str());
    }
    if let Some(build_id) = &identity.build_id {
        attestation.insert("build_id", build_id.as_str());
    }
    attestation
}

/// The bytes that a receipt's attestation signs: the stored text with the signature emptied.
pub fn receipt_message(mut receipt: Value) -> Result<Vec<u8>, NoCanonicalForm> {
    if let Value::Object(members) = &mut receipt
        && let Some(attestation) = members.get_mut(&"attestation".into())
    {
        attestation.insert("signature", "");
    }
    receipt_bytes(&receipt)
}

/// Adds an attestation to a receipt.
pub fn attest_receipt(
    receipt: &mut Value,
    key: &Key,
    identity: &Identity,
) -> Result<(), NoCanonicalForm> {
    let mut attestation = unsigned(key, identity);
    receipt.insert("attestation", attestation.clone());
    let message = receipt_message(receipt.clone())?;
    attestation.insert("signature", key.sign(&message).as_str());
    receipt.insert("attestation", attestation);
    Ok(())
}

/// Verifies the attestation of a receipt.
pub fn verify_receipt_attestation(receipt: Node<'_>) -> Result<Attestation, AttestationError> {
    let node = receipt
        .get("attestation")
        .ok_or(AttestationError::NotObject)?;
    let attestation = Attestation::parse(node)?;
    let empty = Value::from("");
    let unsigned = [("signature", Edit::Set((&empty).into()))];
    let mut message = Vec::new();
    let edits = [("attestation", Edit::Within(&unsigned))];
    write_edited(receipt, &edits, Dialect::Job, &mut message)?;
    message.push(b'\n');
    attestation.check_signature(&message)?;
    Ok(attestation)
}

/// The bytes that a Merkle attestation signs.
pub fn merkle_message(root: Digest, public_key: &[u8; 32], identity: &Identity) -> Vec<u8> {
    let id = |id: &Option<String>| id.clone().unwrap_or_default().into_bytes();
    [
        b"CAT_CHAT_MERKLE_V1:".as_slice(),
        root.as_bytes(),
        b"|VID:",
        &id(&identity.validator_id),
        b"|BID:",
        &id(&identity.build_id),
        b"|PK:",
        public_key,
    ]
    .concat()
}

/// Makes a Merkle attestation.
pub fn attest_merkle_root(root: Digest, key: &Key, identity: &Identity) -> Value {
    let mut attestation = unsigned(key, identity);
    let message = merkle_message(root, key.0.verifying_key().as_bytes(), identity);
    attestation.insert("merkle_root", root.to_string().as_str());
    attestation.insert("signature", key.sign(&message).as_str());
    attestation
}

/// Verifies a Merkle attestation against the root of the given receipts.
pub fn verify_merkle_attestation(
    node: Node<'_>,
    root: Digest,
) -> Result<Attestation, AttestationError> {
    let attestation = Attestation::parse(node)?;
    let named = node.get("merkle_root").and_then(|value| value.as_str());
    let named = named.ok_or(AttestationError::Member("merkle_root"))?;
    if named != root.to_string() {
        return Err(AttestationError::Root {
            expected: root,
            actual: named.into_owned(),
        });
    }
    let message = merkle_message(root, &attestation.public_key, &attestation.identity);
    attestation.check_signature(&message)?;
    Ok(attestation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};

    #[test]
    fn attestation_verifies_until_receipt_is_edited() {
        let key = Key::from_seed(&[7; 32]);
        let identity = Identity {
            validator_id: Some("välid".to_owned()),
            build_id: None,
        };
        let mut receipt = Value::object([("run_id", "r")]);
        attest_receipt(&mut receipt, &key, &identity).unwrap();
        let verify = |receipt: &Value| {
            let bytes = canonical_bytes(receipt, Dialect::Job).unwrap();
            let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
            verify_receipt_attestation(document.root()).map(|attestation| attestation.identity)
        };
        assert_eq!(verify(&receipt), Ok(identity));
        receipt.insert("run_id", "s");
        assert_eq!(verify(&receipt), Err(AttestationError::Signature));
    }

    #[test]
    fn merkle_attestation_of_another_root_is_refused() {
        let key = Key::from_seed(&[7; 32]);
        let attestation = attest_merkle_root(Digest::of(b"a"), &key, &Identity::default());
        let bytes = canonical_bytes(&attestation, Dialect::Job).unwrap();
        let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
        assert!(verify_merkle_attestation(document.root(), Digest::of(b"a")).is_ok());
        assert!(matches!(
            verify_merkle_attestation(document.root(), Digest::of(b"b")),
            Err(AttestationError::Root { .. })
        ));
    }

    #[test]
    fn attestation_by_small_order_key_is_refused() {
        // The neutral element as key: with a zero signature scalar and the neutral element as
        // commitment, the cofactored equation holds for every message.
        let mut neutral = [0u8; 32];
        neutral[0] = 1;
        let mut signature = [0u8; 64];
        signature[0] = 1;
        let attestation = Attestation {
            public_key: neutral,
            signature,
            identity: Identity::default(),
        };
        assert_eq!(
            attestation.check_signature(b"any"),
            Err(AttestationError::Signature)
        );
    }

    #[test]
    fn key_is_read_from_pem() {
        let pem = "-----BEGIN PRIVATE KEY-----\n\
                   MC4CAQAwBQYDK2VwBCIEIAkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJ\n\
                   -----END PRIVATE KEY-----\n";
        let read = Key::from_pem(pem).unwrap();
        assert_eq!(read.public_hex(), Key::from_seed(&[9; 32]).public_hex());
        assert!(Key::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n").is_none());
    }

    #[test]
    fn upper_case_hex_is_refused() {
        assert_eq!(decode_lower_hex::<1>("aF"), None);
        assert_eq!(decode_lower_hex::<1>("af"), Some([0xaf]));
        assert_eq!(decode_lower_hex::<1>("a"), None);
    }
}
