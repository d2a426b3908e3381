//! Certificates: signatures by their keys, and the path from a token's certificate to a root.

use ::der::Decode as _;
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use rsa::pkcs8::DecodePublicKey as _;
use rsa::traits::{PublicKeyParts as _, SignatureScheme as _};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use thiserror::Error;
use x509_cert::Certificate;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};

use super::der::{Reader, single, tag};
use super::token::TimeError;
use crate::budget::{Budget, Exhausted};
use crate::limits::MAX_CERTIFICATES;

/// The hash algorithm of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashAlgorithm {
    Sha256,
    Sha384,
    Sha512,
}

impl HashAlgorithm {
    /// Finds the algorithm by its object identifier.
    pub fn by_oid(oid: &str) -> Option<Self> {
        match oid {
            "2.16.840.1.101.3.4.2.1" => Some(Self::Sha256),
            "2.16.840.1.101.3.4.2.2" => Some(Self::Sha384),
            "2.16.840.1.101.3.4.2.3" => Some(Self::Sha512),
            _ => None,
        }
    }

    pub fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }
}

/// Returns the hash of a signature algorithm, which names it or leaves it to `elsewhere`.
pub fn hash_of_signature(oid: &str, elsewhere: Option<HashAlgorithm>) -> Option<HashAlgorithm> {
    match oid {
        "1.2.840.113549.1.1.11" | "1.2.840.10045.4.3.2" => Some(HashAlgorithm::Sha256),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Some(HashAlgorithm::Sha384),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Some(HashAlgorithm::Sha512),
        // Plain RSA and ECDSA keys name no hash; Ed25519 does its own hashing.
        "1.2.840.113549.1.1.1" | "1.2.840.10045.2.1" => elsewhere,
        "1.3.101.112" => Some(elsewhere.unwrap_or(HashAlgorithm::Sha512)),
        _ => None,
    }
}

/// Returns whether `signature` over `message` is by the key (SubjectPublicKeyInfo in DER).
pub fn verifies(key_der: &[u8], hash: HashAlgorithm, message: &[u8], signature: &[u8]) -> bool {
    if let Ok(key) = p256::ecdsa::VerifyingKey::from_public_key_der(key_der) {
        let signature = p256::ecdsa::DerSignature::from_bytes(signature);
        return signature.is_ok_and(|sig| key.verify_prehash(&hash.hash(message), &sig).is_ok());
    }
    if let Ok(key) = p384::ecdsa::VerifyingKey::from_public_key_der(key_der) {
        let signature = p384::ecdsa::DerSignature::from_bytes(signature);
        return signature.is_ok_and(|sig| key.verify_prehash(&hash.hash(message), &sig).is_ok());
    }
    if let Ok(key) = ed25519_dalek::VerifyingKey::from_public_key_der(key_der) {
        let signature = ed25519_dalek::Signature::from_slice(signature);
        return signature.is_ok_and(|sig| key.verify_strict(message, &sig).is_ok());
    }
    if let Ok(key) = rsa::RsaPublicKey::from_public_key_der(key_der) {
        // Shorter keys have been factored.
        if key.size() < 256 {
            return false;
        }
        let hashed = hash.hash(message);
        return rsa_padding(hash).verify(&key, &hashed, signature).is_ok();
    }
    false
}

fn rsa_padding(hash: HashAlgorithm) -> rsa::Pkcs1v15Sign {
    match hash {
        HashAlgorithm::Sha256 => rsa::Pkcs1v15Sign::new::<Sha256>(),
        HashAlgorithm::Sha384 => rsa::Pkcs1v15Sign::new::<Sha384>(),
        HashAlgorithm::Sha512 => rsa::Pkcs1v15Sign::new::<Sha512>(),
    }
}

/// Critical extensions that are respected, or that restrict only uses that do not occur here: key
/// usage, alternative names, basic constraints, policies, extended key usage.
const KNOWN_EXTENSIONS: [&str; 5] = [
    "2.5.29.15",
    "2.5.29.17",
    "2.5.29.19",
    "2.5.29.32",
    "2.5.29.37",
];

/// A certificate with its exact bytes.
#[derive(Clone, Debug)]
pub struct ParsedCertificate {
    pub der: Vec<u8>,
    pub parsed: Certificate,
    /// The part that its issuer signed.
    signed: Vec<u8>,
    key: Vec<u8>,
}

impl ParsedCertificate {
    /// Reads a certificate.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let parsed = Certificate::from_der(der).ok()?;
        let mut outer = single(der, tag::SEQUENCE)?.inside();
        let signed = outer.expect(tag::SEQUENCE)?.whole.to_vec();
        let key = find_key(&signed)?;
        Some(Self {
            der: der.to_vec(),
            parsed,
            signed,
            key,
        })
    }

    /// Returns its key as SubjectPublicKeyInfo.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns its subject, as X.500 writes it.
    pub fn subject(&self) -> String {
        self.parsed.tbs_certificate().subject().to_string()
    }

    fn is_valid_at(&self, seconds: u64) -> bool {
        let validity = self.parsed.tbs_certificate().validity();
        let (from, until) = (
            validity.not_before.to_unix_duration().as_secs(),
            validity.not_after.to_unix_duration().as_secs(),
        );
        (from..=until).contains(&seconds)
    }

    /// Returns whether `issuer` signed it. Names are compared first, so only plausible issuers are
    /// paid for.
    fn is_issued_by(&self, issuer: &Self, budget: &mut Budget) -> Result<bool, Exhausted> {
        let (mine, theirs) = (
            self.parsed.tbs_certificate(),
            issuer.parsed.tbs_certificate(),
        );
        let algorithm = self.parsed.signature_algorithm();
        let hash = hash_of_signature(&algorithm.oid.to_string(), None);
        let signature = self.parsed.signature().as_bytes();
        let (Some(hash), Some(signature)) = (hash, signature) else {
            return Ok(false);
        };
        if mine.issuer() != theirs.subject() || algorithm != mine.signature() {
            return Ok(false);
        }
        budget.pay_signature(self.signed.len())?;
        Ok(verifies(&issuer.key, hash, &self.signed, signature))
    }

    /// Returns whether it may issue certificates, with `below` authority certificates under it.
    fn may_issue(&self, below: usize) -> bool {
        let certificate = self.parsed.tbs_certificate();
        let is_authority = match certificate.get_extension::<BasicConstraints>() {
            Ok(Some((_, constraints))) => {
                let depth = constraints.path_len_constraint;
                constraints.ca && depth.is_none_or(|depth| below <= usize::from(depth))
            }
            _ => false,
        };
        let may_sign = match certificate.get_extension::<KeyUsage>() {
            Ok(Some((_, usage))) => usage.key_cert_sign(),
            Ok(None) => true,
            Err(_) => false,
        };
        is_authority && may_sign && !self.has_unknown_critical_extension()
    }

    /// Returns whether it has critical extensions that are not respected here (RFC 5280, 4.2).
    fn has_unknown_critical_extension(&self) -> bool {
        let extensions = self.parsed.tbs_certificate().extensions();
        let mut extensions = extensions.into_iter().flatten();
        extensions.any(|extension| {
            let oid = extension.extn_id.to_string();
            extension.critical && !KNOWN_EXTENSIONS.contains(&oid.as_str())
        })
    }

    /// Returns whether its extended key usage is critical and allows time stamping alone (RFC 3161,
    /// 2.3).
    pub fn is_for_time_stamping(&self) -> bool {
        let usage = self
            .parsed
            .tbs_certificate()
            .get_extension::<ExtendedKeyUsage>();
        let may_sign = match self.parsed.tbs_certificate().get_extension::<KeyUsage>() {
            Ok(Some((_, usage))) => usage.digital_signature() || usage.non_repudiation(),
            Ok(None) => true,
            Err(_) => false,
        };
        may_sign
            && !self.has_unknown_critical_extension()
            && matches!(usage, Ok(Some((true, usage)))
            if matches!(&usage.0[..], [one] if one.to_string() == "1.3.6.1.5.5.7.3.8"))
    }
}

/// Returns the key of a certificate's signed part: the element after version, serial number,
/// algorithm, issuer, validity and subject.
fn find_key(signed: &[u8]) -> Option<Vec<u8>> {
    let mut parts = single(signed, tag::SEQUENCE)?.inside();
    parts.optional(tag::CONTEXT_0);
    parts.expect(tag::INTEGER)?;
    for _ in 0..4 {
        parts.expect(tag::SEQUENCE)?;
    }
    Some(parts.expect(tag::SEQUENCE)?.whole.to_vec())
}

/// Why roots cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnchorsError {
    /// The text contains no certificate.
    #[error("expected certificates in PEM")]
    Empty,
    /// One of them is broken.
    #[error("certificate {0} is broken")]
    Broken(usize),
}

/// Trusted certificates of time stamping authorities: roots, and others on the way to them. A
/// self-issued certificate is a root; all others must lead to one.
#[derive(Clone, Debug, Default)]
pub struct Anchors {
    certificates: Vec<ParsedCertificate>,
}

impl Anchors {
    /// Reads certificates in PEM, one after the other.
    ///
    /// # Errors
    /// When there are none, or one is broken.
    pub fn parse(pem: &str) -> Result<Self, AnchorsError> {
        const END: &str = "-----END CERTIFICATE-----";
        let mut certificates = Vec::new();
        for (at, text) in pem.split_inclusive(END).enumerate() {
            if !text.contains("-----BEGIN CERTIFICATE-----") {
                continue;
            }
            let der = crate::encoding::decode_armour(text, "CERTIFICATE");
            let held = der.and_then(|der| ParsedCertificate::parse(&der));
            certificates.push(held.ok_or(AnchorsError::Broken(at + 1))?);
        }
        if certificates.is_empty() {
            return Err(AnchorsError::Empty);
        }
        Ok(Self { certificates })
    }

    /// Returns whether no authority is trusted.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Adds the certificates of `other`.
    pub fn merge(&mut self, other: Self) {
        self.certificates.extend(other.certificates);
    }

    pub(super) fn certificates(&self) -> &[ParsedCertificate] {
        &self.certificates
    }

    /// Follows issuers from `leaf` to a root, all valid at `seconds`. Certificates are visited by
    /// their distance from the leaf, each once: a longer way to the same certificate allows no
    /// more.
    pub(super) fn check_path(
        &self,
        leaf: &ParsedCertificate,
        others: &[ParsedCertificate],
        seconds: u64,
        budget: &mut Budget,
    ) -> Result<(), TimeError> {
        let mut waiting: Vec<&ParsedCertificate> = self.certificates.iter().chain(others).collect();
        waiting.retain(|held| held.der != leaf.der);
        let mut saw_expired = false;
        let mut level = vec![leaf];
        // The number of authority certificates below the next one.
        for below in 0..=MAX_CERTIFICATES {
            let mut next = Vec::new();
            for held in level {
                if !held.is_valid_at(seconds) {
                    saw_expired = true;
                    continue;
                }
                // A root is given by the policy and self-issued; a leaf is never its own root.
                let is_given = self.certificates.iter().any(|given| given.der == held.der);
                if below > 0 && is_given && held.is_issued_by(held, budget)? {
                    return Ok(());
                }
                let mut left = Vec::new();
                for issuer in waiting {
                    if issuer.may_issue(below) && held.is_issued_by(issuer, budget)? {
                        next.push(issuer)
                    } else {
                        left.push(issuer)
                    }
                }
                waiting = left;
            }
            level = next;
        }
        Err(if saw_expired {
            TimeError::OutsideValidity
        } else {
            TimeError::UnknownAuthority(leaf.subject())
        })
    }
}

/// Reads certificates one after the other, ignoring everything else.
pub fn parse_set(mut reader: Reader<'_>) -> Vec<ParsedCertificate> {
    let mut found = Vec::new();
    while let Some(element) = reader.any() {
        if found.len() < MAX_CERTIFICATES
            && element.tag == tag::SEQUENCE
            && let Some(held) = ParsedCertificate::parse(element.whole)
        {
            found.push(held);
        }
    }
    found
}
