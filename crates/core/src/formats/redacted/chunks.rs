//! Large files that are not JSON: committed to piece by piece, so that a stretch of bytes can be
//! withheld. In a copy zeros stand in place of withheld bytes, so that the rest keeps its place. The
//! commitment of the pieces is computed in every copy, also where the file is shown whole: it is what binds.

use super::commit::{Key, Salt, commit_array, commit_bytes, commit_large};
use crate::canon::Value;
use crate::digest::Digest;

pub use crate::source::{PIECE, PiecedFile, read_pieces};

/// Files with more bytes than this are committed to in pieces.
pub const LARGE: u64 = 1 << 20;
/// What opens one piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkOpening {
    /// The piece is shown, and this key opens it.
    Shown(Key),
    /// The piece is withheld, with this commitment.
    Withheld(Digest),
}

impl ChunkOpening {
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Shown(key) => Value::object([("key", key.to_hex())]),
            Self::Withheld(commitment) => Value::object([("commitment", commitment.to_string())]),
        }
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let Value::Object(members) = value else {
            return None;
        };
        match (value.get("key"), value.get("commitment"), members.len()) {
            (Some(key), None, 1) => Some(Self::Shown(Key::parse(key.as_str()?)?)),
            (None, Some(digest), 1) => {
                let digest = Digest::parse_hex(digest.as_str()?).ok()?;
                Some(Self::Withheld(digest))
            }
            _ => None,
        }
    }
}

/// The keys of a large file's two halves: all its bytes at once, and its pieces.
fn halves(key: &Key) -> (Key, Key) {
    (key.member(&"whole".into()), key.member(&"pieces".into()))
}

/// The number of pieces of a file of `size` bytes.
pub fn count_chunks(size: u64) -> u64 {
    size.div_ceil(PIECE)
}

/// What opens a large file of which pieces are withheld.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiecesOpening {
    /// The salt of the file.
    pub salt: Salt,
    /// The commitment of all its bytes at once, which cannot be opened.
    pub whole: Digest,
    /// The salt of its pieces.
    pub pieces: Salt,
    /// The opening or commitment of each piece, in order.
    pub chunks: Vec<ChunkOpening>,
}

impl PiecedFile {
    /// The key of a piece of the file with this key.
    pub fn chunk_key(key: &Key, at: usize) -> Key {
        halves(key).1.element(at)
    }

    /// The commitment of the pieces, if all of them are shown.
    pub fn commit_pieces(&self, key: &Key) -> Digest {
        let pieces = halves(key).1;
        let chunks = self.pieces.iter().enumerate();
        let parts =
            chunks.map(|(at, chunk)| commit_bytes(&chunk.sha256, &pieces.element(at).salt()));
        commit_array(&parts.collect::<Vec<_>>(), &pieces.salt())
    }

    /// The commitment of the file.
    pub fn commit(&self, key: &Key) -> Digest {
        let whole = commit_bytes(&self.sha256, &halves(key).0.salt());
        commit_large(self.size, &whole, &self.commit_pieces(key), &key.salt())
    }

    /// The commitment of the file where it is shown whole, and `pieces` is said to be that of its pieces. It is computed
    /// all the same: else one commitment would open to one file as a whole and to another in pieces.
    ///
    /// # Errors
    /// Where its pieces have another commitment.
    pub fn commit_whole(&self, key: &Key, pieces: &Digest) -> Result<Digest, String> {
        if self.commit_pieces(key) == *pieces {
            Ok(self.commit(key))
        } else {
            Err("its pieces are not those that were sealed".to_owned())
        }
    }

    /// The opening of the file without the pieces for which `is_withheld` is true.
    pub fn open_pieces(&self, key: &Key, is_withheld: impl Fn(usize) -> bool) -> PiecesOpening {
        let (whole, pieces) = halves(key);
        let chunks = self.pieces.iter().enumerate();
        let chunks = chunks.map(|(at, chunk)| {
            let key = pieces.element(at);
            if is_withheld(at) {
                ChunkOpening::Withheld(commit_bytes(&chunk.sha256, &key.salt()))
            } else {
                ChunkOpening::Shown(key)
            }
        });
        PiecesOpening {
            salt: key.salt(),
            whole: commit_bytes(&self.sha256, &whole.salt()),
            chunks: chunks.collect(),
            pieces: pieces.salt(),
        }
    }

    /// The commitment from what is shown; the places of withheld pieces are added to `withheld`.
    ///
    /// # Errors
    /// Says what is wrong with the file.
    pub fn commit_shown(
        &self,
        opening: &PiecesOpening,
        withheld: &mut Vec<String>,
    ) -> Result<Digest, String> {
        if opening.chunks.len() != self.pieces.len() {
            return Err("it has another number of pieces than the sealed file".to_owned());
        }
        let mut parts = Vec::with_capacity(self.pieces.len());
        for (at, (how, chunk)) in opening.chunks.iter().zip(&self.pieces).enumerate() {
            parts.push(match how {
                ChunkOpening::Shown(key) => commit_bytes(&chunk.sha256, &key.salt()),
                ChunkOpening::Withheld(commitment) => {
                    let place = chunk_place(at, self.size);
                    if !chunk.is_blank {
                        return Err(format!("{place} is withheld, but its bytes are not zero"));
                    }
                    withheld.push(place);
                    *commitment
                }
            });
        }
        let pieces = commit_array(&parts, &opening.pieces);
        let PiecesOpening { salt, whole, .. } = opening;
        Ok(commit_large(self.size, whole, &pieces, salt))
    }
}

/// The place of a piece in a file of `size` bytes, as people write it.
pub fn chunk_place(at: usize, size: u64) -> String {
    let first = at as u64 * PIECE;
    let last = (first + PIECE).min(size).saturating_sub(1);
    format!("bytes={first}-{last}")
}

/// Parses `bytes=FIRST-LAST`.
pub fn parse_byte_range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| text.parse::<u64>().ok()).flatten()
    };
    let range = (number(first)?, number(last)?);
    (range.0 <= range.1).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::super::commit::Seed;
    use super::*;

    #[test]
    fn chunked_file_opens_with_withheld_pieces() {
        let mut bytes: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
        let key = Seed::from_bytes([9; 32]).file_key("big.bin");
        let whole = read_pieces(&mut bytes.as_slice(), |_| ()).unwrap();
        assert_eq!((whole.size, whole.pieces.len()), (200_000, 4));
        assert_eq!(whole.sha256, Digest::of(&bytes));
        let sealed = whole.commit(&key);
        bytes[65_536..131_072].fill(0);
        let shown = read_pieces(&mut bytes.as_slice(), |_| ()).unwrap();
        let openings = whole.open_pieces(&key, |at| at == 1);
        let mut withheld = Vec::new();
        let found = shown.commit_shown(&openings, &mut withheld);
        assert_eq!(found, Ok(sealed));
        assert_eq!(withheld, ["bytes=65536-131071"]);
        assert_eq!(chunk_place(3, 200_000), "bytes=196608-199999");
        // Bytes smuggled in where others are withheld.
        bytes[70_000] = 1;
        let forged = read_pieces(&mut bytes.as_slice(), |_| ()).unwrap();
        assert!(forged.commit_shown(&openings, &mut withheld).is_err());
        // Bytes cut off the end.
        let cut = read_pieces(&mut &bytes[..199_999], |_| ()).unwrap();
        assert_ne!(cut.commit_shown(&openings, &mut withheld), Ok(sealed));
        // Shown whole it opens by its key.
        let pieces = whole.commit_pieces(&key);
        assert_eq!(whole.commit_whole(&key, &pieces), Ok(sealed));
        assert_eq!(count_chunks(200_000), 4);
    }

    #[test]
    fn commitment_over_two_files_opens_to_the_one_of_its_pieces_alone() {
        let read = |byte: u8| read_pieces(&mut [byte; 200_000].as_slice(), |_| ()).unwrap();
        let (first, second) = (read(1), read(2));
        let key = Seed::from_bytes([9; 32]).file_key("big.bin");
        // Sealed by somebody who takes the bytes of one file and the pieces of another.
        let whole = commit_bytes(&first.sha256, &halves(&key).0.salt());
        let pieces = second.commit_pieces(&key);
        let sealed = commit_large(200_000, &whole, &pieces, &key.salt());
        let stated = [first.commit_pieces(&key), pieces];
        for (file, pieces) in [&first, &second]
            .into_iter()
            .flat_map(|file| stated.map(|pieces| (file, pieces)))
        {
            assert_ne!(file.commit_whole(&key, &pieces), Ok(sealed));
        }
    }

    #[test]
    fn byte_range_is_read_strictly() {
        assert_eq!(parse_byte_range("bytes=0-9"), Some((0, 9)));
        for text in ["bytes=9-0", "bytes=", "bytes=+1-2", "bytes=1", "1-2", "/a"] {
            assert_eq!(parse_byte_range(text), None, "{text}");
        }
    }
}
