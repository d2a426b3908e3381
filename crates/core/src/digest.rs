//! SHA-256 digests as types.
//!
//! A [`Digest`] prints as 64 lower-case hex digits, a [`ContentHash`] as `sha256:` and those
//! digits. Both are parsed strictly: upper case, white space or another length is refused, so a
//! text that parses prints back to the same text.

use std::fmt;
use std::io;

use sha2::Digest as _;

/// The prefix of a [`ContentHash`].
const CONTENT_HASH_PREFIX: &str = "sha256:";

/// A SHA-256 digest. Prints as bare lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The text does not have 64 characters.
    #[error("a SHA-256 digest has 64 hex digits, not {actual}")]
    Length {
        /// The number of characters it has.
        actual: usize,
    },
    /// The text has a character other than `0-9a-f`.
    #[error("a SHA-256 digest is lower-case hex; found `{found}` at {at}")]
    NotLowerHex {
        /// The first such character.
        found: char,
        /// Its index, in characters from 0.
        at: usize,
    },
    /// The text does not begin with `sha256:`.
    #[error("a content hash begins with `sha256:`")]
    Prefix,
}

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// A digest from its 32 raw bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 lower-case hex digits.
    pub fn parse_hex(text: &str) -> Result<Self, DigestError> {
        if let Some(bytes) = decode_lower_hex(text) {
            return Ok(Self(bytes));
        }
        // Not a digest; the slow path finds out why.
        if text.len() != 64 {
            return Err(DigestError::Length {
                actual: text.chars().count(),
            });
        }
        let mut bytes = [0_u8; 32];
        for (at, found) in text.chars().enumerate() {
            let digit = lower_hex_value(found).ok_or(DigestError::NotLowerHex { found, at })?;
            bytes[at / 2] = (bytes[at / 2] << 4) | digit;
        }
        Ok(Self(bytes))
    }

    /// The first `digits` hex digits, as the documents' short ids use them.
    pub fn hex_prefix(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits);
        text
    }
}

/// Decodes exactly `N` bytes of lower-case hex; `None` for any other text.
pub fn decode_lower_hex<const N: usize>(text: impl AsRef<[u8]>) -> Option<[u8; N]> {
    let digits = text.as_ref();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    // A byte that is not a digit sets a high bit; checking once at the end is enough.
    let mut faults = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = (
            LOWER_HEX[usize::from(pair[0])],
            LOWER_HEX[usize::from(pair[1])],
        );
        faults |= high | low;
        *byte = high << 4 | low;
    }
    (faults < 16).then_some(bytes)
}

/// The value of each byte as a lower-case hex digit; 255 if it is not one.
const LOWER_HEX: [u8; 256] = {
    let mut values = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digit += 1;
    }
    values
};

fn lower_hex_value(c: char) -> Option<u8> {
    match c {
        '0'..='9' => Some(c as u8 - b'0'),
        'a'..='f' => Some(c as u8 - b'a' + 10),
        _ => None,
    }
}

/// Writes `bytes` into `text` as lower-case hex, two digits per byte.
pub fn encode_lower_hex(bytes: &[u8], text: &mut [u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = HEX[usize::from(byte >> 4)];
        pair[1] = HEX[usize::from(byte & 15)];
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0_u8; 64];
        encode_lower_hex(&self.0, &mut text);
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A digest in its prefixed form, `sha256:` and 64 hex digits (002 §2 ContentHash).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(Digest);

impl ContentHash {
    /// The content hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Digest::of(bytes))
    }

    /// The digest without its prefix.
    pub const fn digest(&self) -> Digest {
        self.0
    }

    /// Parses `sha256:` and 64 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let hex = text
            .strip_prefix(CONTENT_HASH_PREFIX)
            .ok_or(DigestError::Prefix)?;
        Digest::parse_hex(hex).map(Self)
    }
}

impl From<Digest> for ContentHash {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CONTENT_HASH_PREFIX}{}", self.0)
    }
}

/// SHA-256 over bytes that arrive in pieces. Uses the CPU's SHA instructions if it has them.
#[derive(Debug, Clone, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of everything added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn digest_of_abc_is_the_published_one() {
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        assert_eq!(ContentHash::of(b"abc").to_string(), format!("sha256:{ABC}"));
    }

    #[test]
    fn digest_text_parses_back_to_itself() {
        let digest = Digest::parse_hex(ABC).unwrap();
        assert_eq!(digest, Digest::of(b"abc"));
        assert_eq!(digest.hex_prefix(16), &ABC[..16]);
        assert_eq!(
            ContentHash::parse(&format!("sha256:{ABC}"))
                .unwrap()
                .digest(),
            digest
        );
    }

    #[test]
    fn digest_malformed_is_refused_with_the_place() {
        assert_eq!(
            Digest::parse_hex(""),
            Err(DigestError::Length { actual: 0 })
        );
        assert_eq!(
            Digest::parse_hex(&ABC.to_uppercase()),
            Err(DigestError::NotLowerHex { found: 'B', at: 0 })
        );
        assert_eq!(
            Digest::parse_hex(&ABC.replace("20015ad", "20015a ")),
            Err(DigestError::NotLowerHex { found: ' ', at: 63 })
        );
        assert_eq!(ContentHash::parse(ABC), Err(DigestError::Prefix));
        // 64 bytes that are not 64 characters.
        assert!(Digest::parse_hex(&"é".repeat(32)).is_err());
    }

    #[test]
    fn hasher_in_pieces_equals_whole() {
        let mut hasher = Hasher::new();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), Digest::of(b"abc"));
    }
}
