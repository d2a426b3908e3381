//! SD-JWT (RFC 9901): a document as a signed token with values withheld, for tools that read this
//! format. A withheld value is replaced by the digest of a salted disclosure; whoever has the
//! disclosure can add it later.

use runseal_core::canon::{Dialect, Members, Value, canonical_bytes};
use runseal_core::digest::Digest;
use thiserror::Error;

use crate::encoding::encode_base64url;
use crate::keys::{Algorithm, SignError, Signer};

/// Member names with a meaning in SD-JWT.
const RESERVED: [&str; 3] = ["_sd", "_sd_alg", "..."];

/// Why a document cannot become a token.
#[derive(Debug, Error)]
pub enum SdJwtError {
    /// A member has a reserved name.
    #[error("a member is named `{0}`, which means something else in an SD-JWT")]
    Reserved(String),
    /// A value has no JSON form.
    #[error("a value has no canonical form: {0}")]
    NoForm(String),
    /// The signer failed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The key's signature cannot be converted for a token.
    #[error("the key's signature is malformed")]
    Signature,
}

/// A withheld value: its place, and what discloses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disclosure {
    /// The JSON Pointer.
    pub pointer: String,
    /// The text to add to the token to disclose it.
    pub text: String,
}

/// Decides which values are withheld, and with which salts.
pub trait Withholding {
    /// Returns the salt, as base64url, of the value at a pointer if it is withheld.
    fn salt(&self, pointer: &str) -> Option<String>;
}

fn text_of(value: &Value) -> Result<Vec<u8>, SdJwtError> {
    canonical_bytes(value, Dialect::Jcs).map_err(|error| SdJwtError::NoForm(error.to_string()))
}

fn disclose(
    pointer: &str,
    parts: Vec<Value>,
    disclosures: &mut Vec<Disclosure>,
) -> Result<String, SdJwtError> {
    let text = encode_base64url(&text_of(&Value::Array(parts))?);
    let digest = encode_base64url(Digest::of(text.as_bytes()).as_bytes());
    disclosures.push(Disclosure {
        pointer: pointer.to_owned(),
        text,
    });
    Ok(digest)
}

fn conceal(
    value: &Value,
    pointer: &str,
    withholding: &dyn Withholding,
    disclosures: &mut Vec<Disclosure>,
) -> Result<Value, SdJwtError> {
    match value {
        Value::Object(members) => {
            let mut shown = Members::new();
            let mut digests = Vec::new();
            for (name, member) in members {
                let plain = name.as_str().unwrap_or_default();
                if RESERVED.contains(&plain) {
                    return Err(SdJwtError::Reserved(plain.to_owned()));
                }
                let step = plain.replace('~', "~0").replace('/', "~1");
                let below = format!("{pointer}/{step}");
                match withholding.salt(&below) {
                    Some(salt) => {
                        let parts = vec![salt.into(), plain.into(), member.clone()];
                        digests.push(disclose(&below, parts, disclosures)?);
                    }
                    None => {
                        let member = conceal(member, &below, withholding, disclosures)?;
                        shown.insert(name.clone(), member);
                    }
                }
            }
            if !digests.is_empty() {
                // Sorted by digest, so the order says nothing about the names.
                digests.sort();
                shown.insert("_sd".into(), Value::array(digests));
            }
            Ok(Value::Object(shown))
        }
        Value::Array(elements) => {
            let mut shown = Vec::new();
            for (at, element) in elements.iter().enumerate() {
                let below = format!("{pointer}/{at}");
                shown.push(match withholding.salt(&below) {
                    Some(salt) => {
                        let parts = vec![salt.into(), element.clone()];
                        let digest = disclose(&below, parts, disclosures)?;
                        Value::object([("...", digest)])
                    }
                    None => conceal(element, &below, withholding, disclosures)?,
                });
            }
            Ok(Value::Array(shown))
        }
        scalar => Ok(scalar.clone()),
    }
}

/// Makes a signed token of `document` without the withheld values. Returns it and the disclosure of
/// each value.
///
/// # Errors
/// When the document has no such form, or the signer fails.
pub fn encode_sd_jwt(
    document: &Value,
    withholding: &dyn Withholding,
    mut claims: Value,
    signer: &dyn Signer,
) -> Result<(String, Vec<Disclosure>), SdJwtError> {
    let mut disclosures = Vec::new();
    let shown = conceal(document, "", withholding, &mut disclosures)?;
    claims.insert("document", shown);
    claims.insert("_sd_alg", "sha-256");
    let algorithm = signer.public_key().algorithm();
    let name = match algorithm {
        Algorithm::Ed25519 => "EdDSA",
        Algorithm::EcdsaP256 => "ES256",
    };
    let header = Value::object([("alg", name), ("typ", "runseal+sd-jwt")]);
    let header = encode_base64url(&text_of(&header)?);
    let payload = encode_base64url(&text_of(&claims)?);
    let message = format!("{header}.{payload}");
    let signature = signer.sign(message.as_bytes())?;
    let signature = match algorithm {
        Algorithm::Ed25519 => signature,
        // Tokens have the two numbers concatenated, not in DER.
        Algorithm::EcdsaP256 => p256::ecdsa::Signature::from_der(&signature)
            .map_err(|_| SdJwtError::Signature)?
            .to_bytes()
            .to_vec(),
    };
    Ok((
        format!("{message}.{}~", encode_base64url(&signature)),
        disclosures,
    ))
}
