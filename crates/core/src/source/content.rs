//! Facts about a file's bytes, collected in one pass: size, SHA-256, UTF-8, final newlines.

use std::io::{self, Read};

use crate::digest::{Digest, Hasher};

/// What one pass over a file's bytes finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentFact {
    /// The number of bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes.
    pub sha256: Digest,
    /// The offset of the first byte that is not UTF-8.
    pub bad_utf8: Option<u64>,
    /// The number of LF at the end; 2 stands for two or more.
    pub final_newlines: u8,
}

impl ContentFact {
    /// Reads `file` to its end.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(mut file: impl Read) -> io::Result<Self> {
        let mut hasher = Hasher::new();
        let mut text = TextCheck::default();
        let mut buffer = vec![0; 64 << 10];
        let mut bytes = 0u64;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(text.finish((hasher.finish(), bytes))),
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    text.update(&buffer[..count]);
                    bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Checks that bytes arriving in pieces are UTF-8.
#[derive(Debug, Default)]
struct Utf8Check {
    /// Bytes seen before the current piece.
    seen: u64,
    /// An unfinished sequence at the end of the last piece.
    tail: Vec<u8>,
    bad: Option<u64>,
}

impl Utf8Check {
    fn update(&mut self, mut piece: &[u8]) {
        let begin = self.seen;
        self.seen += piece.len() as u64;
        if self.bad.is_some() {
            return;
        }
        if !self.tail.is_empty() {
            let started = begin - self.tail.len() as u64;
            // A sequence has at most four bytes, so a few bytes of this piece decide.
            while let Some((&byte, rest)) = piece.split_first() {
                self.tail.push(byte);
                piece = rest;
                match str::from_utf8(&self.tail) {
                    Ok(_) => {
                        self.tail.clear();
                        break;
                    }
                    Err(error) if error.error_len().is_some() => {
                        self.bad = Some(started);
                        return;
                    }
                    Err(_) => {}
                }
            }
            if !self.tail.is_empty() {
                return;
            }
        }
        if simdutf8::basic::from_utf8(piece).is_err()
            && let Err(error) = str::from_utf8(piece)
        {
            let place = self.seen - piece.len() as u64 + error.valid_up_to() as u64;
            match error.error_len() {
                Some(_) => self.bad = Some(place),
                None => self.tail.extend_from_slice(&piece[error.valid_up_to()..]),
            }
        }
    }

    fn finish(self) -> Option<u64> {
        let unfinished = self.seen - self.tail.len() as u64;
        self.bad.or((!self.tail.is_empty()).then_some(unfinished))
    }
}

/// Counts the LF at the end of the bytes seen so far, up to two.
fn final_newlines(before: u8, piece: &[u8]) -> u8 {
    match piece {
        [.., b'\n', b'\n'] => 2,
        [b'\n'] => (before + 1).min(2),
        [.., b'\n'] => 1,
        [] => before,
        _ => 0,
    }
}

/// Collects the facts of a [`ContentFact`] other than size and digest, from bytes that arrive in pieces.
#[derive(Debug, Default)]
pub struct TextCheck {
    utf8: Utf8Check,
    newlines: u8,
}

impl TextCheck {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.utf8.update(piece);
        self.newlines = final_newlines(self.newlines, piece);
    }

    /// Returns the facts of all pieces, given their digest and size.
    pub fn finish(self, (sha256, bytes): (Digest, u64)) -> ContentFact {
        ContentFact {
            bytes,
            sha256,
            bad_utf8: self.utf8.finish(),
            final_newlines: self.newlines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad_at(pieces: &[&[u8]]) -> Option<u64> {
        let mut check = Utf8Check::default();
        for piece in pieces {
            check.update(piece);
        }
        check.finish()
    }

    #[test]
    fn utf8_split_at_every_place_gives_the_same_verdict() {
        let cases: [&[u8]; 7] = [
            "aé😀z".as_bytes(),
            b"a\xC3",
            b"ab\xF0\x9F\x98",
            b"a\xED\xA0\x80b",
            b"\xC0\x80",
            b"abc\xFFd",
            b"\xF4\x90\x80\x80",
        ];
        for bytes in cases {
            let expected = std::str::from_utf8(bytes)
                .err()
                .map(|e| e.valid_up_to() as u64);
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(bad_at(&pieces), expected, "{bytes:?} {first} {second}");
                }
            }
        }
    }

    #[test]
    fn final_newlines_are_counted_across_pieces() {
        assert_eq!(final_newlines(0, b"a\n"), 1);
        assert_eq!(final_newlines(1, b"\n"), 2);
        assert_eq!(final_newlines(2, b"x"), 0);
        assert_eq!(final_newlines(0, b"a\n\n\n"), 2);
    }

    #[test]
    fn content_fact_of_a_reader_is_that_of_its_bytes() {
        let fact = ContentFact::read("é\n\n".as_bytes()).unwrap();
        assert_eq!(fact.sha256, Digest::of("é\n\n".as_bytes()));
        assert_eq!(
            (fact.bytes, fact.bad_utf8, fact.final_newlines),
            (4, None, 2)
        );
    }
}
