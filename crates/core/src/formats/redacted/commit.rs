//! Salted commitments: they represent a value, a document or a file without revealing it.
//!
//! Every value has a key, derived from the seed along its path; its salt and the keys below it are
//! derived from its key. A key opens its value and everything below it, and nothing else; a salt
//! opens one commitment. Without the salt, which has 256 bits, a commitment cannot be guessed even
//! for a value of one letter.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::canon::{
    Dialect, JsonString, NoCanonicalForm, Value, canonical_bytes, canonical_string,
};
use crate::digest::{Digest, Hasher, decode_lower_hex, encode_lower_hex};

/// The member that replaces a withheld value, with its commitment.
pub const MARKER: &str = "runseal.redacted";

const SALT: u8 = 0;
const MEMBER: u8 = 1;
const ELEMENT: u8 = 2;

const SCALAR: u8 = 0;
const OBJECT: u8 = 1;
const ARRAY: u8 = 2;
const BYTES: u8 = 3;
const LARGE_FILE: u8 = 4;

/// The secret from which everything is derived: random, made when sealing, kept by the maker.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed([u8; 32]);

/// Opens one value and everything below it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// Opens one commitment and nothing below it.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt([u8; 32]);

macro_rules! secret_as_hex {
    ($($name:ident)*) => {$(
        impl $name {
            /// Parses 64 lower-case hex digits.
            pub fn parse(text: &str) -> Option<Self> {
                decode_lower_hex::<32>(text).map(Self)
            }

            /// 64 lower-case hex digits.
            pub fn to_hex(&self) -> String {
                let mut text = [0; 64];
                encode_lower_hex(&self.0, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
        }

        // Secrets must not be printed by accident.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )*};
}
secret_as_hex!(Seed Key Salt);

fn derive(key: &[u8; 32], purpose: u8, name: &[u8]) -> [u8; 32] {
    // HMAC pads shorter keys with zeros, so this is HMAC of the plain key.
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(&[purpose]);
    mac.update(name);
    mac.finalize().into_bytes().into()
}

impl Seed {
    /// Makes a seed from these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of a file.
    pub fn file_key(&self, path: &str) -> Key {
        Key(derive(&self.0, MEMBER, path.as_bytes()))
    }

    /// Digits for a name that must not reveal what it is derived from.
    pub fn blind(&self, digest: &Digest) -> Digest {
        Digest::from_bytes(derive(&self.0, SALT, digest.as_bytes()))
    }
}

impl Key {
    /// What opens only this value's commitment.
    pub fn salt(&self) -> Salt {
        Salt(derive(&self.0, SALT, b""))
    }

    /// The key of a member.
    pub fn member(&self, name: &JsonString) -> Self {
        Self(derive(&self.0, MEMBER, &canonical_string(name)))
    }

    /// The key of an element.
    pub fn element(&self, index: usize) -> Self {
        Self(derive(&self.0, ELEMENT, index.to_string().as_bytes()))
    }
}

/// The commitment of a value that is neither an object nor an array, or is empty.
///
/// # Errors
/// If it has no canonical form.
pub fn commit_scalar(value: &Value, salt: &Salt) -> Result<Digest, NoCanonicalForm> {
    let bytes = canonical_bytes(value, Dialect::Jcs)?;
    Ok(hash(SCALAR, salt, [bytes.as_slice()]))
}

fn hash<'a>(kind: u8, salt: &Salt, parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[kind]);
    hasher.update(&salt.0);
    for part in parts {
        hasher.update(part);
    }
    hasher.finish()
}

/// The commitment of an object, from those of its members, in any order. Names are hashed as JSON,
/// in which lone surrogates have bytes too.
pub fn commit_object<'a>(
    members: impl IntoIterator<Item = (&'a JsonString, Digest)>,
    salt: &Salt,
) -> Digest {
    let mut parts: Vec<_> = members
        .into_iter()
        .map(|(name, digest)| (canonical_string(name), digest))
        .collect();
    parts.sort();
    let mut bytes = Vec::new();
    for (name, digest) in parts {
        bytes.extend_from_slice(&(name.len() as u64).to_be_bytes());
        bytes.extend_from_slice(&name);
        bytes.extend_from_slice(digest.as_bytes());
    }
    hash(OBJECT, salt, [bytes.as_slice()])
}

/// The commitment of an array, from those of its elements.
pub fn commit_array(elements: &[Digest], salt: &Salt) -> Digest {
    let elements = elements.iter().map(|digest| digest.as_bytes().as_slice());
    hash(ARRAY, salt, elements)
}

/// The commitment of a file that is not JSON, from the digest of its bytes.
pub fn commit_bytes(content: &Digest, salt: &Salt) -> Digest {
    hash(BYTES, salt, [content.as_bytes().as_slice()])
}

/// The commitment of a large file, from its size, the commitment of its bytes and that of its
/// pieces. The pieces are what binds: every copy has to show that they give theirs.
pub fn commit_large(size: u64, whole: &Digest, pieces: &Digest, salt: &Salt) -> Digest {
    let size = size.to_be_bytes();
    hash(
        LARGE_FILE,
        salt,
        [size.as_slice(), whole.as_bytes(), pieces.as_bytes()],
    )
}

/// The commitment of a value that is shown whole, and the number of scalars and empty containers in
/// it.
///
/// # Errors
/// If a value has no canonical form.
pub fn commit_value(value: &Value, key: &Key) -> Result<(Digest, u64), NoCanonicalForm> {
    let salt = key.salt();
    let mut count = 0;
    let digest = match value {
        Value::Object(members) if !members.is_empty() => {
            let mut parts = Vec::with_capacity(members.len());
            for (name, member) in members {
                let (digest, below) = commit_value(member, &key.member(name))?;
                count += below;
                parts.push((name, digest));
            }
            commit_object(parts, &salt)
        }
        Value::Array(elements) if !elements.is_empty() => {
            let mut parts = Vec::with_capacity(elements.len());
            for (at, element) in elements.iter().enumerate() {
                let (digest, below) = commit_value(element, &key.element(at))?;
                count += below;
                parts.push(digest);
            }
            commit_array(&parts, &salt)
        }
        scalar => {
            count = 1;
            commit_scalar(scalar, &salt)?
        }
    };
    Ok((digest, count))
}

/// The value that replaces a withheld one.
pub fn marker(commitment: &Digest) -> Value {
    Value::object([(MARKER, commitment.to_string())])
}

/// The commitment in a marker; `None` if the value is not a marker.
pub fn read_marker(value: &Value) -> Option<Digest> {
    match value {
        Value::Object(members) if members.len() == 1 => {
            Digest::parse_hex(value.get(MARKER)?.as_str()?).ok()
        }
        _ => None,
    }
}

/// Whether a value or anything below it could be mistaken for a marker.
pub fn has_marker(value: &Value) -> bool {
    match value {
        Value::Object(members) => value.get(MARKER).is_some() || members.values().any(has_marker),
        Value::Array(elements) => elements.iter().any(has_marker),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    fn value(text: &str) -> Value {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        document.root().to_value()
    }

    fn key() -> Key {
        Seed::from_bytes([7; 32]).file_key("a.json")
    }

    #[test]
    fn commitment_depends_on_value_name_place_and_key() {
        let texts = [
            "{}",
            "[]",
            "null",
            "0",
            "\"\"",
            "{\"a\":1}",
            "{\"b\":1}",
            "{\"a\":2}",
            "[1]",
            "[1,1]",
            "[[1]]",
            "{\"a\":{}}",
            "{\"a\":[]}",
            "{\"a\":null}",
            "{\"a\":\"1\"}",
        ];
        let commit = |text: &str, key: &Key| commit_value(&value(text), key).unwrap().0;
        let mut all: Vec<_> = texts.iter().map(|text| commit(text, &key())).collect();
        let other = Seed::from_bytes([7; 32]).file_key("b.json");
        all.extend(texts.iter().map(|text| commit(text, &other)));
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(
            commit("{\"a\":1,\"b\":2}", &key()),
            commit("{\"b\":2,\"a\":1}", &key())
        );
    }

    #[test]
    fn key_opens_only_its_own_path() {
        let whole = value(r#"{"a":{"b":1,"c":2},"d":3}"#);
        let root = key();
        let a = root.member(&"a".into());
        let (inner, count) = commit_value(whole.get("a").unwrap(), &a).unwrap();
        assert_eq!(count, 2);
        let d = commit_value(whole.get("d").unwrap(), &root.member(&"d".into()))
            .unwrap()
            .0;
        let names: [JsonString; 2] = ["a".into(), "d".into()];
        let again = commit_object([(&names[0], inner), (&names[1], d)], &root.salt());
        assert_eq!(again, commit_value(&whole, &root).unwrap().0);
        // What is derived from one key says nothing about its siblings.
        assert_ne!(
            a.member(&"b".into()).to_hex(),
            root.member(&"b".into()).to_hex()
        );
        assert_ne!(a.salt().to_hex(), root.salt().to_hex());
    }

    #[test]
    fn marker_round_trips_and_lookalikes_are_detected() {
        let digest = Digest::of(b"x");
        assert_eq!(read_marker(&marker(&digest)), Some(digest));
        assert!(has_marker(&value(r#"[{"x":{"runseal.redacted":1}}]"#)));
        assert!(!has_marker(&value(r#"["runseal.redacted"]"#)));
        assert_eq!(read_marker(&value(r#"{"runseal.redacted":"00"}"#)), None);
    }

    #[test]
    fn derivation_is_standard_hmac() {
        // HMAC-SHA256 of the byte 1 and `a` under 32 bytes of 7, by Python's hmac.
        let key = Seed::from_bytes([7; 32]).file_key("a");
        assert_eq!(key.to_hex(), EXPECTED);
    }

    const EXPECTED: &str = "96ae86b0a6ea67f40bb1ae3f9c8421015188f64c265a4ada18335e7b6aa5ad5c";
}
