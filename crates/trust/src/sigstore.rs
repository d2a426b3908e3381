//! Sigstore bundles. Bundles with a key are written and read here; those with certificates or log
//! entries are judged by the `sigstore-verify` crate if the feature `sigstore` is on. There is no
//! network access.

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};

use crate::dsse::{Envelope, EnvelopeError};
use crate::encoding::{decode_base64, encode_base64};
use crate::keys::PublicKey;
use crate::limits::MAX_TIMESTAMPS;

/// The media type of the bundles that we write.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The media types of versions 0.1 to 0.3.
const KNOWN: [&str; 4] = [
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    MEDIA_TYPE,
];

/// What a bundle says its signature verifies with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// A key, named by an unsigned hint.
    Key(String),
    /// A certificate.
    Certificate,
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An envelope with one signature.
    Envelope(Envelope),
    /// The bytes of a file.
    Message {
        /// The signature over the file.
        signature: Vec<u8>,
    },
}

/// A bundle that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigstoreBundle {
    /// Key or certificate.
    pub material: Material,
    /// Whether it claims to be in a transparency log.
    pub has_log_entries: bool,
    /// What is signed.
    pub content: Content,
    /// RFC 3161 tokens over the signature.
    pub timestamps: Vec<Vec<u8>>,
    /// The whole text, for the verifier of certificates.
    pub text: String,
}

/// Returns the hint that cosign writes: base64 of the SHA-256 of the DER key.
fn key_hint(key: &PublicKey) -> String {
    encode_base64(key.id().as_bytes())
}

/// Encodes a bundle of version 0.3 with a key, around an envelope with one signature; one line,
/// without LF.
pub fn encode_keyed_bundle(envelope: &Envelope, key: &PublicKey) -> Option<Vec<u8>> {
    let [signature] = &envelope.signatures[..] else {
        return None;
    };
    let mut plain = envelope.clone();
    for signature in &mut plain.signatures {
        signature.timestamps.clear();
    }
    let tokens = signature
        .timestamps
        .iter()
        .map(|token| Value::object([("signedTimestamp", encode_base64(token))]));
    let tokens = Value::object([("rfc3161Timestamps", Value::array(tokens))]);
    let material = Value::object([
        ("publicKey", Value::object([("hint", key_hint(key))])),
        ("tlogEntries", Value::Array(Vec::new())),
        ("timestampVerificationData", tokens),
    ]);
    let bundle = Value::object([
        ("mediaType", Value::from(MEDIA_TYPE)),
        ("verificationMaterial", material),
        ("dsseEnvelope", plain.to_value()),
    ]);
    canonical_bytes(&bundle, Dialect::Jcs).ok()
}

/// Returns whether a document claims to be a bundle, of any version.
pub fn is_bundle(root: Node<'_>) -> bool {
    root.get("mediaType")
        .and_then(|kind| kind.as_str())
        .is_some_and(|kind| kind.starts_with("application/vnd.dev.sigstore.bundle"))
}

impl SigstoreBundle {
    /// Reads a bundle.
    ///
    /// # Errors
    /// What is wrong: a member is missing or of another type, or the version is unknown.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document = parse_document(text.as_bytes(), &ReadOptions::default())
            .map_err(|error| format!("invalid JSON: {error}"))?;
        let root = document.root();
        let kind = root.get("mediaType").and_then(|kind| kind.as_str());
        let kind = kind.ok_or("`mediaType` is missing")?;
        if !KNOWN.contains(&&*kind) {
            return Err(format!("version `{}` is unknown", kind.escape_debug()));
        }
        let material = root.get("verificationMaterial");
        let material = material.ok_or("`verificationMaterial` is missing")?;
        let logs = material.get("tlogEntries").and_then(|list| list.as_array());
        Ok(Self {
            material: parse_material(material)?,
            has_log_entries: logs.is_some_and(|logs| logs.len() > 0),
            content: parse_content(root)?,
            timestamps: parse_tokens(material)?,
            text: text.to_owned(),
        })
    }

    /// Returns the signature's bytes.
    pub fn signature(&self) -> &[u8] {
        match &self.content {
            Content::Envelope(envelope) => &envelope.signatures[0].sig,
            Content::Message { signature, .. } => signature,
        }
    }
}

fn parse_material(material: Node<'_>) -> Result<Material, String> {
    let key = material.get("publicKey");
    let certificate = ["certificate", "x509CertificateChain"]
        .iter()
        .find_map(|member| material.get(member));
    match (key, certificate) {
        (Some(key), None) => {
            let hint = key.get("hint").and_then(|hint| hint.as_str());
            Ok(Material::Key(hint.unwrap_or_default().into_owned()))
        }
        (None, Some(_)) => Ok(Material::Certificate),
        _ => Err("expected either a key or a certificate".to_owned()),
    }
}

fn parse_content(root: Node<'_>) -> Result<Content, String> {
    match (root.get("dsseEnvelope"), root.get("messageSignature")) {
        (Some(node), None) => {
            let envelope =
                Envelope::from_node(node).map_err(|error: EnvelopeError| error.to_string())?;
            match envelope.signatures.len() {
                1 => Ok(Content::Envelope(envelope)),
                count => Err(format!("expected one signature, actual {count}")),
            }
        }
        (None, Some(node)) => {
            let signature = node.get("signature").and_then(|text| text.as_str());
            let signature = signature.and_then(|text| decode_base64(&text));
            let signature = signature.ok_or("`signature` is not base64")?;
            Ok(Content::Message { signature })
        }
        _ => Err("expected either an envelope or a message signature".to_owned()),
    }
}

fn parse_tokens(material: Node<'_>) -> Result<Vec<Vec<u8>>, String> {
    let data = material.get("timestampVerificationData");
    let list = data.and_then(|data| data.get("rfc3161Timestamps"));
    let Some(list) = list.and_then(|list| list.as_array()) else {
        return Ok(Vec::new());
    };
    if list.len() > MAX_TIMESTAMPS {
        return Err(format!("more than {MAX_TIMESTAMPS} timestamps"));
    }
    list.map(|token| {
        let token = token.get("signedTimestamp").and_then(|text| text.as_str());
        let token = token.and_then(|text| decode_base64(&text));
        token.ok_or_else(|| "`signedTimestamp` is not base64".to_owned())
    })
    .collect()
}

/// The subject of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// The subject's alternative name: an address or a workflow.
    pub identity: String,
    /// Who vouched for the identity when the certificate was issued.
    pub issuer: String,
    /// Every time that a log or authority of the trusted root vouches for, in seconds since 1970.
    pub times: Vec<i64>,
}

/// Trusted certificates and logs, as in sigstore's `trusted_root.json`.
#[derive(Clone)]
pub struct TrustedRoot {
    #[cfg(feature = "sigstore")]
    root: sigstore_verify::trust_root::TrustedRoot,
}

impl std::fmt::Debug for TrustedRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrustedRoot")
    }
}

/// Why a bundle with a certificate or a log entry is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigstoreError {
    /// The program was built without the feature.
    #[error("this build does not judge sigstore certificates (feature `sigstore`)")]
    NotBuilt,
    /// The trusted root cannot be used.
    #[error("the trusted root is broken: {0}")]
    Root(String),
    /// The bundle is invalid.
    #[error("{0}")]
    Refused(String),
}

#[cfg(feature = "sigstore")]
mod certificates {
    use sigstore_verify::types::{Artifact, Bundle, DerPublicKey, Sha256Hash};
    use sigstore_verify::{PublicKeyVerificationPolicy, VerificationPolicy, Verifier};

    use super::{CertificateIdentity, SigstoreBundle, SigstoreError, TrustedRoot};
    use crate::keys::PublicKey;

    fn refused(error: impl std::fmt::Display) -> SigstoreError {
        SigstoreError::Refused(error.to_string())
    }

    impl TrustedRoot {
        /// Reads a `trusted_root.json`.
        ///
        /// # Errors
        /// When it is malformed.
        pub fn parse(text: &str) -> Result<Self, SigstoreError> {
            let root = sigstore_verify::trust_root::TrustedRoot::from_json(text)
                .map_err(|error| SigstoreError::Root(error.to_string()))?;
            Ok(Self { root })
        }

        fn verifier(&self) -> Result<Verifier, SigstoreError> {
            Verifier::new(&self.root).map_err(|error| SigstoreError::Root(error.to_string()))
        }
    }

    /// What a bundle's signature must be over.
    #[derive(Clone, Copy, Debug)]
    pub enum Signed<'a> {
        /// These bytes.
        Bytes(&'a [u8]),
        /// Something with this digest.
        Digest(&'a [u8; 32]),
    }

    impl<'a> From<Signed<'a>> for Artifact<'a> {
        fn from(signed: Signed<'a>) -> Self {
            match signed {
                Signed::Bytes(bytes) => Artifact::from_blob(bytes),
                Signed::Digest(digest) => Artifact::from_digest(Sha256Hash::new(*digest)),
            }
        }
    }

    /// Checks a bundle with a certificate: its path, its log entries, its times and its signature
    /// over `signed`. Returns the certificate's subject; whether it is trusted is for the policy to
    /// say.
    ///
    /// # Errors
    /// The first failed check.
    pub fn verify_certificate(
        bundle: &SigstoreBundle,
        signed: Signed<'_>,
        root: &TrustedRoot,
    ) -> Result<CertificateIdentity, SigstoreError> {
        let parsed = Bundle::from_json(&bundle.text).map_err(refused)?;
        let policy = VerificationPolicy::any_identity();
        let result = root
            .verifier()?
            .verify(signed, &parsed, &policy)
            .map_err(refused)?;
        let identity = result.identity().map(ToString::to_string);
        let times = result
            .verified_timestamps()
            .iter()
            .map(|time| time.as_second());
        Ok(CertificateIdentity {
            identity: identity.ok_or_else(|| refused("the certificate names no identity"))?,
            issuer: result.issuer().unwrap_or_default().to_owned(),
            times: times.collect(),
        })
    }

    /// Checks a bundle that was signed with a key, and its log entries if it has any.
    ///
    /// # Errors
    /// The first failed check.
    pub fn verify_key(
        bundle: &SigstoreBundle,
        signed: Signed<'_>,
        key_der: &[u8],
        root: &TrustedRoot,
    ) -> Result<(), SigstoreError> {
        let parsed = Bundle::from_json(&bundle.text).map_err(refused)?;
        let mut policy = PublicKeyVerificationPolicy::new(DerPublicKey::new(key_der.to_vec()));
        if !bundle.has_log_entries {
            policy = policy.skip_tlog_unsafe();
        }
        root.verifier()?
            .verify(signed, &parsed, &policy)
            .map_err(refused)?;
        Ok(())
    }

    impl SigstoreBundle {
        /// Returns whether `key` signed it; the trusted root decides about log entries.
        pub fn holds_with_log(
            &self,
            key: &PublicKey,
            signed: &[u8; 32],
            root: &TrustedRoot,
        ) -> bool {
            verify_key(self, Signed::Digest(signed), &key.to_der(), root).is_ok()
        }
    }
}

#[cfg(feature = "sigstore")]
pub use certificates::{Signed, verify_certificate, verify_key};

#[cfg(not(feature = "sigstore"))]
impl TrustedRoot {
    /// Fails: this build does not judge certificates.
    ///
    /// # Errors
    /// Always.
    pub fn parse(_text: &str) -> Result<Self, SigstoreError> {
        Err(SigstoreError::NotBuilt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsse::IN_TOTO;
    use crate::keys::{PrivateKey, Signer as _};

    #[test]
    fn written_bundle_with_key_reads_back() {
        let key = PrivateKey::from_ed25519_seed(&[1; 32]).unwrap();
        let mut envelope = Envelope::sign(IN_TOTO, b"{}".to_vec(), &key).unwrap();
        envelope.signatures[0].timestamps.push(vec![9]);
        let text = encode_keyed_bundle(&envelope, key.public_key()).unwrap();
        let bundle = SigstoreBundle::parse(std::str::from_utf8(&text).unwrap()).unwrap();
        assert_eq!(bundle.timestamps, [[9]]);
        assert_eq!(bundle.material, Material::Key(key_hint(key.public_key())));
        assert_eq!(bundle.signature(), envelope.signatures[0].sig);
        assert!(!bundle.has_log_entries);
    }

    #[test]
    fn bundle_of_unknown_version_is_refused() {
        let text = r#"{"mediaType":"application/vnd.dev.sigstore.bundle+json;version=0.4"}"#;
        assert!(
            SigstoreBundle::parse(text)
                .unwrap_err()
                .contains("is unknown")
        );
    }
}
