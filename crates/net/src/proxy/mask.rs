//! Covers keys in responses: a client without a key must not learn it from an upstream that repeats
//! requests.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::HeaderValue;
use memchr::memmem;

use crate::redact::encodings;

/// What stands in place of every byte of a key. The length stays, because it may have been declared.
const COVER: u8 = b'*';

/// Covers keys in a body that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Mask {
    keys: Vec<Vec<u8>>,
    /// The end of the last piece, which may be the beginning of a key.
    held: Vec<u8>,
}

impl Mask {
    /// A mask for these keys, as they are and in common encodings.
    pub(super) fn new<'k>(keys: impl Iterator<Item = &'k str>) -> Self {
        let keys = keys.filter(|key| !key.is_empty());
        Self {
            keys: keys.flat_map(|key| encodings(key.as_bytes())).collect(),
            held: Vec::new(),
        }
    }

    /// Whether there is any key to cover.
    pub(super) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Covers keys in headers.
    pub(super) fn cover_headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut covered = value.as_bytes().to_vec();
            if self.cover(&mut covered)
                && let Ok(covered) = HeaderValue::from_bytes(&covered)
            {
                *value = covered;
            }
        }
    }

    /// Takes a piece; returns what can be passed on: all of it, unless its end may be the beginning of a
    /// key.
    pub(super) fn pass(&mut self, piece: Bytes) -> Bytes {
        if self.keys.is_empty() {
            return piece;
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(&piece);
        let is_changed = self.cover(&mut bytes);
        let held = bytes.split_off(bytes.len() - self.begun(&bytes));
        let is_same = !is_changed && held.is_empty() && bytes.len() == piece.len();
        self.held = held;
        if is_same { piece } else { Bytes::from(bytes) }
    }

    /// Returns what is still held, at the end of the body.
    pub(super) fn finish(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.held))
    }

    /// Covers whole keys; returns whether there were any.
    fn cover(&self, bytes: &mut [u8]) -> bool {
        let mut any = false;
        for key in &self.keys {
            let places: Vec<usize> = memmem::find_iter(bytes, key).collect();
            for at in places {
                any = true;
                if let Some(place) = bytes.get_mut(at..at + key.len()) {
                    place.fill(COVER);
                }
            }
        }
        any
    }

    /// Returns the length of the longest beginning of a key that `bytes` end with.
    fn begun(&self, bytes: &[u8]) -> usize {
        let longest = self.keys.iter().filter_map(|key| {
            let lengths = (1..key.len()).rev();
            let mut begun = lengths.filter_map(|length| key.get(..length));
            begun.find(|begun| bytes.ends_with(begun)).map(<[u8]>::len)
        });
        longest.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_covers_keys_at_any_piece_size_and_keeps_everything_else() {
        let keys = ["sk-aab-aab", "other"];
        let text = "x sk-aab-aab y sk-aab-aasother sk-aab-aabsk-aab-aab sk-aa";
        let covered = "x ********** y sk-aab-aas***** ******************** sk-aa";
        for size in 1..text.len() {
            let mut mask = Mask::new(keys.into_iter());
            let mut passed = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                passed.extend_from_slice(&mask.pass(Bytes::copy_from_slice(piece)));
            }
            passed.extend_from_slice(&mask.finish());
            assert_eq!(String::from_utf8_lossy(&passed), covered, "{size}");
        }
    }

    #[test]
    fn mask_covers_keys_that_are_encoded() {
        use base64ct::{Base64, Encoding as _};
        let key = "sk-victim-0123456789abcdef";
        let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        for front in ["", "a", "ab"] {
            let encoded = Base64::encode_string(format!("{front}{key} rest").as_bytes());
            for text in [encoded, hex.clone(), hex.to_uppercase()] {
                let mut mask = Mask::new([key].into_iter());
                let mut passed = Vec::new();
                for piece in text.as_bytes().chunks(5) {
                    passed.extend_from_slice(&mask.pass(Bytes::copy_from_slice(piece)));
                }
                passed.extend_from_slice(&mask.finish());
                let passed = String::from_utf8(passed).unwrap();
                assert_eq!(passed.len(), text.len());
                let covered = passed.bytes().filter(|byte| *byte == COVER).count();
                assert!(covered + 8 > key.len() * 4 / 3, "{text} {passed}");
            }
        }
    }
}
