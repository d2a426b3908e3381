//! C2SP signed notes: a text, a blank line, and signatures by name and key id.
//!
//! A signature by an unknown key is ignored. An invalid signature by a known key makes the whole
//! note invalid.

use runseal_core::digest::Digest;
use thiserror::Error;

use crate::encoding::{decode_base64, encode_base64, encode_hex};
use crate::keys::{Algorithm, PublicKey, SignError, Signer};

/// The size of a note, in bytes.
const MAX_NOTE: usize = 1 << 20;
/// The number of signatures in one note.
const MAX_SIGNATURES: usize = 100;
const PREFIX: &str = "\u{2014} ";

/// Why a note or key is malformed, or a note is not validly signed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoteError {
    /// It is not a note.
    #[error("it is not a signed note: {0}")]
    Malformed(&'static str),
    /// A known key's signature is invalid.
    #[error("the signature by `{0}` is invalid")]
    Broken(String),
    /// The required key did not sign it.
    #[error("it is not signed by `{0}`")]
    Unsigned(String),
    /// It is not a key of this kind.
    #[error("it is not a verifier key: {0}")]
    Key(&'static str),
}

/// The kind of a key, which says what it signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// Notes (a log's key).
    Ed25519,
    /// Checkpoints with the time at which they were seen (a witness's key).
    Cosignature,
}

impl KeyKind {
    const fn byte(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::Cosignature => 4,
        }
    }
}

/// A key that verifies notes, and the name that it signs under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    /// The name, without white space and `+`.
    pub name: String,
    /// The kind of the key, which says what its signatures cover.
    pub kind: KeyKind,
    key: PublicKey,
}

fn is_name(name: &str) -> bool {
    let is_bad = |c: char| c.is_whitespace() || c == '+' || c.is_control();
    !name.is_empty() && !name.contains(is_bad)
}

impl NoteKey {
    /// Makes a key with a name.
    ///
    /// # Errors
    /// When the name is not allowed in a note, or the key is not ed25519.
    pub fn new(name: &str, kind: KeyKind, key: &PublicKey) -> Result<Self, NoteError> {
        if !is_name(name) {
            return Err(NoteError::Key("a name must not contain white space or `+`"));
        }
        if key.algorithm() != Algorithm::Ed25519 {
            return Err(NoteError::Key("logs and witnesses sign with ed25519"));
        }
        Ok(Self {
            name: name.to_owned(),
            kind,
            key: key.clone(),
        })
    }

    fn typed(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind.byte()];
        bytes.extend_from_slice(self.key.point());
        bytes
    }

    /// Returns the id that its signatures carry.
    pub fn id(&self) -> [u8; 4] {
        let mut hashed = format!("{}\n", self.name).into_bytes();
        hashed.extend(self.typed());
        let digest = Digest::of(&hashed);
        let mut id = [0; 4];
        id.copy_from_slice(&digest.as_bytes()[..4]);
        id
    }

    /// Returns the key as it is published: `name+id+key`.
    pub fn to_text(&self) -> String {
        let key = encode_base64(&self.typed());
        format!("{}+{}+{key}", self.name, encode_hex(&self.id()))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When it is malformed, or its id belongs to another key.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::Key("expected `name+id+key`"));
        };
        let bytes = decode_base64(key).ok_or(NoteError::Key("its key is not base64"))?;
        let (kind, point) = match bytes.split_first() {
            Some((1, point)) => (KeyKind::Ed25519, point),
            Some((4, point)) => (KeyKind::Cosignature, point),
            _ => return Err(NoteError::Key("its algorithm is unknown")),
        };
        let point = point
            .try_into()
            .map_err(|_| NoteError::Key("an ed25519 key has 32 bytes"))?;
        let key = PublicKey::from_ed25519(point)
            .map_err(|_| NoteError::Key("it is not a usable ed25519 key"))?;
        let key = Self::new(name, kind, &key)?;
        if encode_hex(&key.id()) == id {
            Ok(key)
        } else {
            Err(NoteError::Key("its id does not match its key and name"))
        }
    }

    /// Returns the key itself, without name and kind.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// Returns `Some` if a signature by this key over `text` is valid, with its time if it has one.
    fn verify(&self, text: &str, bytes: &[u8]) -> Option<Option<u64>> {
        match self.kind {
            KeyKind::Ed25519 => self.key.verifies(text.as_bytes(), bytes).then_some(None),
            KeyKind::Cosignature => {
                let (time, signature) = bytes.split_first_chunk::<8>()?;
                let time = u64::from_be_bytes(*time);
                let message = cosigned_bytes(time, text);
                self.key.verifies(&message, signature).then_some(Some(time))
            }
        }
    }
}

fn cosigned_bytes(time: u64, text: &str) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// One signature of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the signer.
    pub name: String,
    /// The first bytes of the hash of the signer's name and key.
    pub id: [u8; 4],
    /// The signature, after its time if the key is a witness's.
    pub bytes: Vec<u8>,
}

/// A text with its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    /// The text, with its final newline.
    pub text: String,
    /// The signatures, none of them checked yet.
    pub signatures: Vec<NoteSignature>,
}

fn parse_signature(line: &str) -> Option<NoteSignature> {
    let (name, encoded) = line.strip_prefix(PREFIX)?.split_once(' ')?;
    let bytes = decode_base64(encoded).filter(|_| is_name(name))?;
    let (id, bytes) = bytes.split_first_chunk::<4>()?;
    (!bytes.is_empty()).then(|| NoteSignature {
        name: name.to_owned(),
        id: *id,
        bytes: bytes.to_vec(),
    })
}

impl SignedNote {
    /// Reads a note.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(note: &str) -> Result<Self, NoteError> {
        let fail = NoteError::Malformed;
        if note.len() > MAX_NOTE {
            return Err(fail("it is longer than a megabyte"));
        }
        if note.chars().any(|c| c.is_ascii_control() && c != '\n') {
            return Err(fail("it contains control characters"));
        }
        let at = note.rfind("\n\n").ok_or(fail("it has no blank line"))?;
        let (text, rest) = (&note[..=at], &note[at + 2..]);
        let rest = rest
            .strip_suffix('\n')
            .ok_or(fail("it does not end with a newline"))?;
        let mut signatures = Vec::new();
        for line in rest.split('\n') {
            if signatures.len() >= MAX_SIGNATURES {
                return Err(fail("it has more than 100 signatures"));
            }
            let signature = parse_signature(line).ok_or(fail("a signature line is malformed"))?;
            signatures.push(signature);
        }
        Ok(Self {
            text: text.to_owned(),
            signatures,
        })
    }

    /// Returns the note as it is stored.
    pub fn to_text(&self) -> String {
        let mut note = format!("{}\n", self.text);
        for signature in &self.signatures {
            let mut bytes = signature.id.to_vec();
            bytes.extend_from_slice(&signature.bytes);
            let encoded = encode_base64(&bytes);
            note.push_str(&format!("{PREFIX}{} {encoded}\n", signature.name));
        }
        note
    }

    /// Returns `None` if the key did not sign. For a witness's key the inner value is the time, by
    /// the witness's clock, at which it saw the note; for a log's key it is `None`.
    ///
    /// # Errors
    /// When the key's signature is invalid.
    pub fn signed_by(&self, key: &NoteKey) -> Result<Option<Option<u64>>, NoteError> {
        let id = key.id();
        let mut found = None;
        for signature in &self.signatures {
            if signature.name != key.name || signature.id != id {
                continue;
            }
            match key.verify(&self.text, &signature.bytes) {
                Some(time) => found = Some(time),
                None => return Err(NoteError::Broken(key.name.clone())),
            }
        }
        Ok(found)
    }
}

/// Signs a checkpoint's text as its log.
///
/// # Errors
/// When the name or key cannot sign notes, or the signer fails.
pub fn sign_checkpoint(
    text: &str,
    name: &str,
    signer: &dyn Signer,
) -> Result<SignedNote, SignError> {
    let key = NoteKey::new(name, KeyKind::Ed25519, signer.public_key())
        .map_err(|error| SignError(error.to_string()))?;
    let signature = NoteSignature {
        name: key.name.clone(),
        id: key.id(),
        bytes: signer.sign(text.as_bytes())?,
    };
    Ok(SignedNote {
        text: text.to_owned(),
        signatures: vec![signature],
    })
}

/// Cosigns a checkpoint's text as a witness that saw it at `time`, in seconds since 1970.
///
/// # Errors
/// When the name or key cannot sign notes, or the signer fails.
pub fn sign_cosignature(
    text: &str,
    name: &str,
    time: u64,
    signer: &dyn Signer,
) -> Result<NoteSignature, SignError> {
    let key = NoteKey::new(name, KeyKind::Cosignature, signer.public_key())
        .map_err(|error| SignError(error.to_string()))?;
    let mut bytes = time.to_be_bytes().to_vec();
    bytes.extend(signer.sign(&cosigned_bytes(time, text))?);
    Ok(NoteSignature {
        name: key.name.clone(),
        id: key.id(),
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::PrivateKey;

    /// The example of the signed-note specification.
    const KEY: &str = "example.com/foo+530d903a+AekBzAyZp3OmfYVWKZqLmH4nvB4Ci2qXCMmwXYTq8HyN";

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::from_ed25519_seed(&[seed; 32]).unwrap()
    }

    #[test]
    fn written_note_reads_back_and_is_valid() {
        let note = sign_checkpoint("log\n1\nx\n", "log", &key(1)).unwrap();
        let verifier = NoteKey::new("log", KeyKind::Ed25519, key(1).public_key()).unwrap();
        let read = SignedNote::parse(&note.to_text()).unwrap();
        assert_eq!(read, note);
        assert_eq!(read.signed_by(&verifier), Ok(Some(None)));
        assert_eq!(NoteKey::parse(&verifier.to_text()), Ok(verifier.clone()));
        // A signature under another name or by another key is ignored; a broken one is not.
        let other = NoteKey::new("log", KeyKind::Ed25519, key(2).public_key()).unwrap();
        assert_eq!(read.signed_by(&other), Ok(None));
        let mut broken = read;
        broken.text.insert(0, 'x');
        assert_eq!(
            broken.signed_by(&verifier),
            Err(NoteError::Broken("log".to_owned()))
        );
    }

    #[test]
    fn cosignature_has_a_time_and_is_not_a_log_signature() {
        let mut note = sign_checkpoint("log\n1\nx\n", "log", &key(1)).unwrap();
        let seen = sign_cosignature(&note.text, "w", 1_700_000_000, &key(2)).unwrap();
        note.signatures.push(seen.clone());
        let witness = NoteKey::new("w", KeyKind::Cosignature, key(2).public_key()).unwrap();
        assert_eq!(note.signed_by(&witness), Ok(Some(Some(1_700_000_000))));
        note.signatures[1].bytes[7] ^= 1;
        assert!(note.signed_by(&witness).is_err());
        let as_log = NoteKey::new("w", KeyKind::Ed25519, key(2).public_key()).unwrap();
        assert_eq!(note.signed_by(&as_log), Ok(None));
    }

    #[test]
    fn verifier_key_with_another_id_or_kind_is_refused() {
        let bad = KEY.replace("530d903a", "530d903b");
        assert!(NoteKey::parse(&bad).is_err());
        for text in ["", "a", "a+b", "a+00000000+AA==", "a b+00000000+AQ=="] {
            assert!(NoteKey::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn malformed_note_is_refused() {
        let good = sign_checkpoint("a\n", "n", &key(1)).unwrap().to_text();
        assert!(SignedNote::parse(&good).is_ok());
        for bad in [
            good.replace("\n\n", "\n"),
            good.trim_end().to_owned(),
            good.replace('\u{2014}', "-"),
            format!("{good}\n"),
            good.replace("a\n", "a\r\n"),
            "x".repeat(2 << 20),
        ] {
            assert!(SignedNote::parse(&bad).is_err(), "{bad}");
        }
    }
}
