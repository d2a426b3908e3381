//! RFC 3161 tokens: read, and checked against a signature and the trusted roots.

use ::der::Decode as _;
use ::der::asn1::ObjectIdentifier;
use runseal_core::timestamp::{format_utc, parse_utc};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use thiserror::Error;

use super::certificate::{
    Anchors, HashAlgorithm, ParsedCertificate, hash_of_signature, parse_set, verifies,
};
use super::der::{Element, Reader, encode, single, tag};
use crate::budget::{Budget, Exhausted};

const SIGNED_DATA: &str = "1.2.840.113549.1.7.2";
const TST_INFO: &str = "1.2.840.113549.1.9.16.1.4";
const CONTENT_TYPE: &str = "1.2.840.113549.1.9.3";
const MESSAGE_DIGEST: &str = "1.2.840.113549.1.9.4";
const SIGNING_CERTIFICATE_V2: &str = "1.2.840.113549.1.9.16.2.47";

/// Why a token proves no time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    /// It is not a token.
    #[error("not an RFC 3161 token: {0}")]
    Malformed(&'static str),
    /// The authority's answer is a refusal.
    #[error("the authority refused (status {0})")]
    Refused(u8),
    /// It is over something else.
    #[error("the token is not over this signature")]
    OtherData,
    /// Its own signature is wrong.
    #[error("the token's signature is broken")]
    Broken,
    /// Its certificate is for another purpose.
    #[error("the certificate of `{0}` is not for time stamping alone")]
    OtherPurpose(String),
    /// Its certificate is missing.
    #[error("the token's certificate is neither in it nor in the policy")]
    NoCertificate,
    /// No trusted root issued its certificate.
    #[error("no root of the policy vouches for `{0}`")]
    UnknownAuthority(String),
    /// A certificate was not valid then.
    #[error("a certificate was not valid at the token's time")]
    OutsideValidity,
    /// Its algorithms are unknown or no longer safe.
    #[error("the token uses an algorithm that is not accepted")]
    Algorithm,
    /// Too many checks are needed.
    #[error(transparent)]
    Budget(#[from] Exhausted),
}

/// A token that was read and is not yet trusted.
#[derive(Clone, Debug)]
pub struct Token {
    der: Vec<u8>,
    imprint_hash: HashAlgorithm,
    imprint: Vec<u8>,
    /// Milliseconds since 1970.
    time: i64,
}

/// The parts of a token that are checked.
struct Parts<'a> {
    content: &'a [u8],
    certificates: Vec<ParsedCertificate>,
    digest: HashAlgorithm,
    attributes: Element<'a>,
    algorithm: String,
    signature: &'a [u8],
    issuer_and_serial: Option<Element<'a>>,
}

fn oid(element: Element<'_>) -> Option<String> {
    let oid: ObjectIdentifier = ObjectIdentifier::from_der(element.whole).ok()?;
    Some(oid.to_string())
}

/// Reads the object identifier at the start of an AlgorithmIdentifier.
fn algorithm(reader: &mut Reader<'_>) -> Option<String> {
    oid(reader.expect(tag::SEQUENCE)?.inside().expect(tag::OID)?)
}

impl Token {
    /// Reads a token, or an authority's whole answer with one in it.
    ///
    /// # Errors
    /// When it is neither, or a refusal.
    pub fn parse(bytes: &[u8]) -> Result<Self, TimeError> {
        let token = unwrap_answer(bytes)?;
        let parts = split(token).ok_or(TimeError::Malformed("it is not a signed TSTInfo"))?;
        let (hash, imprint, time) =
            parse_info(parts.content).ok_or(TimeError::Malformed("its TSTInfo is broken"))?;
        Ok(Self {
            der: token.to_vec(),
            imprint_hash: HashAlgorithm::by_oid(&hash).ok_or(TimeError::Algorithm)?,
            imprint: imprint.to_vec(),
            time,
        })
    }

    /// Returns the token alone, in DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the time that it states, in milliseconds since 1970.
    pub fn claimed_time(&self) -> i64 {
        self.time
    }

    /// Returns that time as text.
    pub fn claimed_time_text(&self) -> String {
        format_utc(self.time).unwrap_or_default()
    }

    /// Returns whether it is over `signature`.
    pub fn is_over(&self, signature: &[u8]) -> bool {
        self.imprint_hash.hash(signature) == self.imprint
    }

    /// Checks that a trusted authority saw `signature`. Returns the authority's name.
    ///
    /// # Errors
    /// The first failed check.
    pub fn verify(
        &self,
        signature: &[u8],
        anchors: &Anchors,
        budget: &mut Budget,
    ) -> Result<String, TimeError> {
        if !self.is_over(signature) {
            return Err(TimeError::OtherData);
        }
        let malformed = TimeError::Malformed("it is not a signed TSTInfo");
        let parts = split(&self.der).ok_or(malformed)?;
        let certified = check_attributes(&parts)?;
        let others = parts.certificates.iter().chain(anchors.certificates());
        let leaf = others
            .into_iter()
            .find(|held| is_certified(held, &certified))
            .ok_or(TimeError::NoCertificate)?;
        if !names_signer(&parts, leaf) {
            return Err(TimeError::NoCertificate);
        }
        // The signature is over the attributes with the tag of a set, not the tag that they have in
        // the token.
        let signed = encode(tag::SET, parts.attributes.value);
        let hash = hash_of_signature(&parts.algorithm, Some(parts.digest));
        let hash = hash.ok_or(TimeError::Algorithm)?;
        budget.pay_signature(signed.len())?;
        if !verifies(leaf.key(), hash, &signed, parts.signature) {
            return Err(TimeError::Broken);
        }
        if !leaf.is_for_time_stamping() {
            return Err(TimeError::OtherPurpose(leaf.subject()));
        }
        let seconds = u64::try_from(self.time.div_euclid(1000));
        let seconds = seconds.map_err(|_| TimeError::OutsideValidity)?;
        anchors.check_path(leaf, &parts.certificates, seconds, budget)?;
        Ok(leaf.subject())
    }
}

/// Returns the token inside a TimeStampResp, or the bytes themselves.
fn unwrap_answer(bytes: &[u8]) -> Result<&[u8], TimeError> {
    let malformed = TimeError::Malformed("it is not DER");
    let outer = single(bytes, tag::SEQUENCE).ok_or(malformed)?;
    let mut inside = outer.inside();
    if inside.clone().expect(tag::OID).is_some() {
        return Ok(outer.whole);
    }
    let status = inside.expect(tag::SEQUENCE);
    let status = status.and_then(|status| status.inside().expect(tag::INTEGER));
    match status.map(|status| status.value) {
        Some([0 | 1]) => {}
        Some([status]) => return Err(TimeError::Refused(*status)),
        _ => return Err(TimeError::Malformed("the answer has no status")),
    }
    let token = inside.expect(tag::SEQUENCE);
    token
        .map(|token| token.whole)
        .ok_or(TimeError::Malformed("the answer has no token"))
}

/// Takes a token apart (RFC 5652, 5.1).
fn split(token: &[u8]) -> Option<Parts<'_>> {
    let mut info = single(token, tag::SEQUENCE)?.inside();
    if oid(info.expect(tag::OID)?)? != SIGNED_DATA {
        return None;
    }
    let mut data = single(info.expect(tag::CONTEXT_0)?.value, tag::SEQUENCE)?.inside();
    data.expect(tag::INTEGER)?;
    data.expect(tag::SET)?;
    let mut encapsulated = data.expect(tag::SEQUENCE)?.inside();
    if oid(encapsulated.expect(tag::OID)?)? != TST_INFO {
        return None;
    }
    let content = single(encapsulated.expect(tag::CONTEXT_0)?.value, tag::OCTETS)?.value;
    let certificates = data.optional(tag::CONTEXT_0);
    data.optional(tag::CONTEXT_1);
    // Exactly one signer (RFC 3161, 2.4.2).
    let mut signer = single(data.expect(tag::SET)?.value, tag::SEQUENCE)?.inside();
    signer.expect(tag::INTEGER)?;
    let issuer_and_serial = signer.optional(tag::SEQUENCE);
    if issuer_and_serial.is_none() {
        signer.expect(tag::CONTEXT_0_PRIMITIVE)?;
    }
    let digest = HashAlgorithm::by_oid(&algorithm(&mut signer)?)?;
    let attributes = signer.expect(tag::CONTEXT_0)?;
    let algorithm = algorithm(&mut signer)?;
    let signature = signer.expect(tag::OCTETS)?.value;
    Some(Parts {
        content,
        certificates: certificates.map_or_else(Vec::new, |set| parse_set(set.inside())),
        digest,
        attributes,
        algorithm,
        signature,
        issuer_and_serial,
    })
}

/// Reads hash, imprint and time of a TSTInfo.
fn parse_info(content: &[u8]) -> Option<(String, &[u8], i64)> {
    let mut info = single(content, tag::SEQUENCE)?.inside();
    if info.expect(tag::INTEGER)?.value != [1] {
        return None;
    }
    info.expect(tag::OID)?;
    let mut imprint = info.expect(tag::SEQUENCE)?.inside();
    let hash = algorithm(&mut imprint)?;
    let imprint = imprint.expect(tag::OCTETS)?.value;
    info.expect(tag::INTEGER)?;
    let time = parse_time(info.expect(tag::TIME)?.value)?;
    Some((hash, imprint, time))
}

/// Converts `YYYYMMDDHHMMSS[.fraction]Z` to milliseconds.
fn parse_time(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() != 14
        || !text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    parse_utc(&format!(
        "{}-{}-{}T{}:{}:{}.{digits}Z",
        &whole[..4],
        &whole[4..6],
        &whole[6..8],
        &whole[8..10],
        &whole[10..12],
        &whole[12..]
    ))
}

/// Checks the signed attributes. Returns the hash and value that identify the certificate.
fn check_attributes(parts: &Parts<'_>) -> Result<(HashAlgorithm, Vec<u8>), TimeError> {
    let malformed = TimeError::Malformed("its signed attributes are broken");
    let mut reader = parts.attributes.inside();
    let (mut content_type, mut digest, mut certified) = (None, None, None);
    while let Some(attribute) = reader.any() {
        let mut inside = attribute.inside();
        let kind = inside.expect(tag::OID).and_then(oid);
        let values = inside.expect(tag::SET);
        let (Some(kind), Some(values)) = (kind, values) else {
            return Err(malformed);
        };
        let slot = match kind.as_str() {
            CONTENT_TYPE => &mut content_type,
            MESSAGE_DIGEST => &mut digest,
            SIGNING_CERTIFICATE_V2 => &mut certified,
            _ => continue,
        };
        if slot.replace(values.value).is_some() {
            return Err(malformed);
        }
    }
    let content_type = content_type
        .and_then(|value| single(value, tag::OID))
        .and_then(oid);
    if content_type.as_deref() != Some(TST_INFO) {
        return Err(malformed);
    }
    let digest = digest.and_then(|value| single(value, tag::OCTETS));
    if digest.map(|digest| digest.value) != Some(&parts.digest.hash(parts.content)[..]) {
        return Err(TimeError::Broken);
    }
    certified
        .and_then(parse_certified)
        .ok_or(TimeError::Malformed(
            "it does not name its certificate by SHA-256 or better",
        ))
}

/// Reads the ESSCertIDv2 of a SigningCertificateV2 (RFC 5035); the first is the signer's.
fn parse_certified(value: &[u8]) -> Option<(HashAlgorithm, Vec<u8>)> {
    let list = single(value, tag::SEQUENCE)?
        .inside()
        .expect(tag::SEQUENCE)?;
    let mut id = list.inside().expect(tag::SEQUENCE)?.inside();
    let hash = match id.optional(tag::SEQUENCE) {
        None => HashAlgorithm::Sha256,
        Some(named) => HashAlgorithm::by_oid(&oid(named.inside().expect(tag::OID)?)?)?,
    };
    Some((hash, id.expect(tag::OCTETS)?.value.to_vec()))
}

fn is_certified(held: &ParsedCertificate, (hash, value): &(HashAlgorithm, Vec<u8>)) -> bool {
    let actual = match hash {
        HashAlgorithm::Sha256 => Sha256::digest(&held.der).to_vec(),
        HashAlgorithm::Sha384 => Sha384::digest(&held.der).to_vec(),
        HashAlgorithm::Sha512 => Sha512::digest(&held.der).to_vec(),
    };
    actual == *value
}

/// Returns whether the certificate is the signer's, if the token names the signer by serial number.
fn names_signer(parts: &Parts<'_>, leaf: &ParsedCertificate) -> bool {
    let Some(named) = parts.issuer_and_serial else {
        return true;
    };
    let mut inside = named.inside();
    let (issuer, serial) = (inside.expect(tag::SEQUENCE), inside.expect(tag::INTEGER));
    let certificate = leaf.parsed.tbs_certificate();
    let serial_matches =
        serial.is_some_and(|serial| serial.value == certificate.serial_number().as_bytes());
    let issuer = issuer.and_then(|issuer| x509_cert::name::Name::from_der(issuer.whole).ok());
    serial_matches && issuer.is_some_and(|issuer| issuer == *certificate.issuer())
}
