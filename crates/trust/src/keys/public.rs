//! Public keys: one value for every encoding, and the check of a signature.

use std::fmt;

use ed25519_dalek::pkcs8::EncodePublicKey as _;
use p256::ecdsa::signature::Verifier as _;
use p256::pkcs8::DecodePublicKey as _;
use runseal_core::digest::{Digest, decode_lower_hex};

use super::{KeyError, minisign, ssh};
use crate::encoding::{decode_armour, encode_armour};

/// The algorithm of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Ed25519, not prehashed.
    Ed25519,
    /// ECDSA on P-256 over SHA-256.
    EcdsaP256,
}

impl Algorithm {
    /// Returns its name in answers and policies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::EcdsaP256 => "ecdsa-p256",
        }
    }
}

/// SHA-256 over the key's DER form (SubjectPublicKeyInfo). Prints as lower-case hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(Digest);

impl KeyId {
    /// Returns the raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Reads 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        Digest::parse_hex(text).ok().map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    Ed25519([u8; 32]),
    /// SEC 1, uncompressed.
    P256([u8; 65]),
}

/// A public key that was read and found usable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey {
    point: Point,
    id: KeyId,
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm().name(), self.id)
    }
}

impl PublicKey {
    /// Reads an ed25519 key from its 32 bytes.
    ///
    /// # Errors
    /// When the bytes are not a point, a second encoding of one, or a point of small order, with
    /// which one signature fits many messages.
    pub fn from_ed25519(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        if !is_canonical_field_element(bytes) {
            return Err(KeyError::Weak("its point is not in canonical form"));
        }
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes)
            .map_err(|_| KeyError::Damaged("it is not a point of the curve"))?;
        if key.is_weak() {
            return Err(KeyError::Weak("its point has a small order"));
        }
        let der = key
            .to_public_key_der()
            .map_err(|_| KeyError::Damaged("it has no DER form"))?;
        Ok(Self {
            point: Point::Ed25519(*bytes),
            id: KeyId(Digest::of(der.as_bytes())),
        })
    }

    /// Reads an ECDSA P-256 key from its point in SEC 1 form, compressed or not.
    ///
    /// # Errors
    /// When the bytes are not a point of the curve.
    pub fn from_p256(bytes: &[u8]) -> Result<Self, KeyError> {
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
            .map_err(|_| KeyError::Damaged("it is not a point of the curve"))?;
        let point = key.to_sec1_point(false);
        let point: [u8; 65] = point
            .as_bytes()
            .try_into()
            .map_err(|_| KeyError::Damaged("it is the point at infinity"))?;
        let der = p256::PublicKey::from(&key)
            .to_public_key_der()
            .map_err(|_| KeyError::Damaged("it has no DER form"))?;
        Ok(Self {
            point: Point::P256(point),
            id: KeyId(Digest::of(der.as_bytes())),
        })
    }

    /// Reads a public key in any of the forms in which people keep one.
    ///
    /// # Errors
    /// When it has none of these forms, or another type.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if let Some(der) = decode_armour(text, "PUBLIC KEY") {
            return Self::from_der(&der);
        }
        if text.contains("PRIVATE KEY-----") {
            return Err(KeyError::Damaged(
                "it is a private key; share only its public key",
            ));
        }
        if let Some(bytes) = decode_lower_hex(text.to_ascii_lowercase()) {
            return Self::from_ed25519(&bytes);
        }
        if text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-") {
            return ssh::parse_public_line(text);
        }
        match minisign::parse_public(text) {
            Some((key, _)) => key,
            None => Err(KeyError::NoPublicKey),
        }
    }

    /// Reads a SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// When it is malformed, or has another type.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        if let Ok(key) = ed25519_dalek::VerifyingKey::from_public_key_der(der) {
            return Self::from_ed25519(key.as_bytes());
        }
        if let Ok(key) = p256::PublicKey::from_public_key_der(der) {
            return Self::from_p256(&key.to_sec1_bytes());
        }
        match pkcs8::SubjectPublicKeyInfoRef::try_from(der) {
            Ok(info) => Err(KeyError::OtherType(name_of_algorithm(&info.algorithm.oid))),
            Err(_) => Err(KeyError::Damaged("its DER form is broken")),
        }
    }

    /// Returns the algorithm that it signs with.
    pub fn algorithm(&self) -> Algorithm {
        match self.point {
            Point::Ed25519(_) => Algorithm::Ed25519,
            Point::P256(_) => Algorithm::EcdsaP256,
        }
    }

    /// Returns the digest that names the key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Returns the raw point: 32 bytes, or 65 in SEC 1 form.
    pub fn point(&self) -> &[u8] {
        match &self.point {
            Point::Ed25519(bytes) => bytes,
            Point::P256(bytes) => bytes,
        }
    }

    /// Returns the SubjectPublicKeyInfo in DER.
    pub fn to_der(&self) -> Vec<u8> {
        // The fixed prefixes of RFC 8410 and RFC 5480; the point follows.
        let prefix: &[u8] = match self.point {
            Point::Ed25519(_) => &ED25519_SPKI,
            Point::P256(_) => &P256_SPKI,
        };
        [prefix, self.point()].concat()
    }

    /// Returns the SubjectPublicKeyInfo in PEM.
    pub fn to_pem(&self) -> String {
        encode_armour(&self.to_der(), "PUBLIC KEY", 64)
    }

    /// Returns whether `signature` is by this key over `message`. ECDSA signatures must be exact
    /// DER. Both forms that mathematics allows are accepted, because other tools write both:
    /// signers are counted by key, never by signature.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.point {
            Point::Ed25519(bytes) => {
                let Ok(signature) = ed25519_dalek::Signature::from_slice(signature) else {
                    return false;
                };
                ed25519_dalek::VerifyingKey::from_bytes(bytes)
                    .and_then(|key| key.verify_strict(message, &signature))
                    .is_ok()
            }
            Point::P256(bytes) => {
                let Ok(signature) = p256::ecdsa::DerSignature::from_bytes(signature) else {
                    return false;
                };
                p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                    .and_then(|key| key.verify(message, &signature))
                    .is_ok()
            }
        }
    }
}

const ED25519_SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Returns whether the 255 bits of a compressed point are below 2^255 - 19.
fn is_canonical_field_element(bytes: &[u8; 32]) -> bool {
    let high = bytes[31] & 0x7f == 0x7f && bytes[1..31].iter().all(|byte| *byte == 0xff);
    !(high && bytes[0] >= 0xed)
}

/// Returns the common name of an algorithm.
pub(crate) fn name_of_algorithm(oid: &pkcs8::ObjectIdentifier) -> String {
    match oid.to_string().as_str() {
        "1.2.840.113549.1.1.1" => "RSA".to_owned(),
        "1.2.840.10045.2.1" => "ECDSA on a curve other than P-256".to_owned(),
        "1.3.101.111" => "X448".to_owned(),
        "1.3.101.110" => "X25519, which does not sign".to_owned(),
        "1.3.101.113" => "Ed448".to_owned(),
        other => format!("of type {other}"),
    }
}
