//! DSSE envelopes, which sign the type and the exact bytes of the payload.
//!
//! `keyid` is an unsigned hint: it is shown, and never decides which key is trusted.

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use thiserror::Error;

use crate::encoding::{decode_base64, encode_base64};
use crate::keys::{SignError, Signer};
use crate::limits::{MAX_ENVELOPE_SIGNATURES, MAX_TIMESTAMPS};

/// The payload type of in-toto statements.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";

/// Why a text is not an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EnvelopeError {
    /// Invalid JSON.
    #[error("invalid JSON: {0}")]
    Json(String),
    /// A member is missing, of another type, or invalid base64.
    #[error("`{member}` is {fault}")]
    Member {
        /// The member's name.
        member: &'static str,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// It has more signatures or tokens than allowed.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What there is too much of, with its place.
        what: &'static str,
        /// The number allowed.
        limit: usize,
    },
}

/// One signature of an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeSignature {
    /// The signer's hint at the key. It is unsigned, so it decides nothing.
    pub keyid: Option<String>,
    /// The bytes of the signature.
    pub sig: Vec<u8>,
    /// RFC 3161 tokens over the signature, in DER.
    pub timestamps: Vec<Vec<u8>>,
}

/// A DSSE envelope: a payload with the signatures over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The media type of the payload.
    pub payload_type: String,
    /// The bytes that were signed.
    pub payload: Vec<u8>,
    /// Written envelopes have at least one; read ones may have none.
    pub signatures: Vec<EnvelopeSignature>,
}

/// Returns the bytes that DSSE signs.
pub fn encode_pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    )
    .into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Envelope {
    /// Signs a payload in a new envelope.
    ///
    /// # Errors
    /// When the signer fails.
    pub fn sign(
        payload_type: &str,
        payload: Vec<u8>,
        signer: &dyn Signer,
    ) -> Result<Self, SignError> {
        let mut envelope = Self {
            payload_type: payload_type.to_owned(),
            payload,
            signatures: Vec::new(),
        };
        envelope.add_signature(signer)?;
        Ok(envelope)
    }

    /// Adds a signature, replacing an earlier one by the same key.
    ///
    /// # Errors
    /// When the signer fails, or its signature does not verify with its key.
    pub fn add_signature(&mut self, signer: &dyn Signer) -> Result<(), SignError> {
        let message = self.signed_bytes();
        let sig = signer.sign(&message)?;
        if !signer.public_key().verifies(&message, &sig) {
            let fault = "the signer did not return a signature by its key over these bytes";
            return Err(SignError(fault.to_owned()));
        }
        let key = signer.public_key();
        self.signatures
            .retain(|earlier| !key.verifies(&message, &earlier.sig));
        self.signatures.push(EnvelopeSignature {
            keyid: Some(key.id().to_string()),
            sig,
            timestamps: Vec::new(),
        });
        Ok(())
    }

    /// Returns the bytes that its signatures are over.
    pub fn signed_bytes(&self) -> Vec<u8> {
        encode_pre_authentication(&self.payload_type, &self.payload)
    }

    /// Returns the digest by which a counter-signature names the envelope: that of the signed
    /// bytes, which a second form of a signature does not change.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.signed_bytes())
    }

    /// Reads an envelope.
    ///
    /// # Errors
    /// When it is malformed, or has too many signatures.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let document = parse_document(bytes, &ReadOptions::default())
            .map_err(|error| EnvelopeError::Json(error.to_string()))?;
        Self::from_node(document.root())
    }

    /// Reads an envelope that is part of a document.
    ///
    /// # Errors
    /// When it is malformed, or has too many signatures.
    pub fn from_node(node: Node<'_>) -> Result<Self, EnvelopeError> {
        let list = node.get("signatures").and_then(|list| list.as_array());
        let list = list.ok_or(EnvelopeError::Member {
            member: "signatures",
            fault: "missing or not an array",
        })?;
        if list.len() > MAX_ENVELOPE_SIGNATURES {
            return Err(EnvelopeError::TooMany {
                what: "signatures in one envelope",
                limit: MAX_ENVELOPE_SIGNATURES,
            });
        }
        let mut signatures = Vec::new();
        for entry in list {
            let keyid = entry.get("keyid").and_then(|keyid| keyid.as_str());
            signatures.push(EnvelopeSignature {
                keyid: keyid.map(|keyid| keyid.into_owned()),
                sig: bytes_member(entry, "sig")?,
                timestamps: parse_timestamps(entry)?,
            });
        }
        Ok(Self {
            payload_type: text_member(node, "payloadType")?.into_owned(),
            payload: bytes_member(node, "payload")?,
            signatures,
        })
    }

    /// Returns the envelope as a JSON value.
    pub fn to_value(&self) -> Value {
        let signatures = self.signatures.iter().map(|signature| {
            let mut entry = Value::object([("sig", encode_base64(&signature.sig))]);
            if let Some(keyid) = &signature.keyid {
                entry.insert("keyid", keyid.as_str());
            }
            if !signature.timestamps.is_empty() {
                let tokens = signature.timestamps.iter().map(|token| {
                    Value::object([("data", encode_base64(token)), ("type", "tsp".to_owned())])
                });
                entry.insert("timestamps", Value::array(tokens));
            }
            entry
        });
        Value::object([
            ("payload", Value::from(encode_base64(&self.payload))),
            ("payloadType", Value::from(self.payload_type.as_str())),
            ("signatures", Value::array(signatures)),
        ])
    }

    /// Returns the envelope as one line of JSON, without LF.
    pub fn to_line(&self) -> Vec<u8> {
        // Strings and arrays have a form in every dialect.
        canonical_bytes(&self.to_value(), Dialect::Jcs).unwrap_or_default()
    }
}

fn text_member<'a>(
    node: Node<'a>,
    member: &'static str,
) -> Result<std::borrow::Cow<'a, str>, EnvelopeError> {
    let fault = |fault| EnvelopeError::Member { member, fault };
    let value = node.get(member).ok_or(fault("missing"))?;
    value.as_str().ok_or(fault("not a string"))
}

fn bytes_member(node: Node<'_>, member: &'static str) -> Result<Vec<u8>, EnvelopeError> {
    let fault = "not base64";
    decode_base64(&text_member(node, member)?).ok_or(EnvelopeError::Member { member, fault })
}

/// Reads the tokens of a signature, in the form that witness gave them.
fn parse_timestamps(entry: Node<'_>) -> Result<Vec<Vec<u8>>, EnvelopeError> {
    let Some(list) = entry.get("timestamps") else {
        return Ok(Vec::new());
    };
    let fault = |fault| EnvelopeError::Member {
        member: "timestamps",
        fault,
    };
    let list = list.as_array().ok_or(fault("not an array"))?;
    if list.len() > MAX_TIMESTAMPS {
        return Err(EnvelopeError::TooMany {
            what: "timestamps on one signature",
            limit: MAX_TIMESTAMPS,
        });
    }
    list.filter(|token| token.get("type").and_then(|kind| kind.as_str()).as_deref() == Some("tsp"))
        .map(|token| {
            let data = token.get("data").and_then(|data| data.as_str());
            data.and_then(|data| decode_base64(&data))
                .ok_or(fault("without base64 in `data`"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::PrivateKey;

    #[test]
    fn pre_authentication_encoding_counts_bytes_of_type_and_body() {
        assert_eq!(
            encode_pre_authentication("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(
            encode_pre_authentication("\u{e9}", b""),
            "DSSEv1 2 \u{e9} 0 ".as_bytes()
        );
    }

    #[test]
    fn written_envelope_reads_back() {
        let key = PrivateKey::from_ed25519_seed(&[7; 32]).unwrap();
        let mut envelope = Envelope::sign(IN_TOTO, b"{}".to_vec(), &key).unwrap();
        envelope.signatures[0].timestamps.push(vec![1, 2, 3]);
        assert_eq!(Envelope::parse(&envelope.to_line()).unwrap(), envelope);
    }

    #[test]
    fn envelope_signed_twice_by_one_key_has_one_signature() {
        let key = PrivateKey::from_p256_number(&[7; 32]).unwrap();
        let mut envelope = Envelope::sign(IN_TOTO, b"{}".to_vec(), &key).unwrap();
        envelope.add_signature(&key).unwrap();
        assert_eq!(envelope.signatures.len(), 1);
    }

    #[test]
    fn envelope_with_many_signatures_is_refused() {
        let one = r#"{"sig":"AA=="},"#.repeat(100_000);
        let text = format!(
            r#"{{"payload":"","payloadType":"x","signatures":[{}]}}"#,
            one.trim_end_matches(',')
        );
        assert!(matches!(
            Envelope::parse(text.as_bytes()),
            Err(EnvelopeError::TooMany { .. })
        ));
    }

    #[test]
    fn broken_envelope_error_names_the_member() {
        for (text, expected) in [
            ("{", "invalid JSON"),
            ("{}", "`signatures` is missing or not an array"),
            (r#"{"signatures":[{}]}"#, "`sig` is missing"),
            (r#"{"signatures":[{"sig":"!"}]}"#, "`sig` is not base64"),
            (
                r#"{"signatures":[],"payloadType":1}"#,
                "`payloadType` is not a string",
            ),
            (
                r#"{"signatures":[],"payloadType":"a","payload":"a a"}"#,
                "`payload` is not base64",
            ),
        ] {
            let error = Envelope::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
