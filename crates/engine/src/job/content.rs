//! Reads one file to its [`ContentFact`]: size, SHA-256, UTF-8, final newlines.

use std::fs::File;
use std::io;

use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::facts::ContentFact;

use crate::stream::digest_through;

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
            // A sequence has at most four bytes, so a few of this piece decide.
            while let Some((&byte, rest)) = piece.split_first() {
                self.tail.push(byte);
                piece = rest;
                match std::str::from_utf8(&self.tail) {
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
            && let Err(error) = std::str::from_utf8(piece)
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

/// How many LF end the bytes seen so far, up to two.
fn final_newlines(before: u8, piece: &[u8]) -> u8 {
    match piece {
        [.., b'\n', b'\n'] => 2,
        [b'\n'] => (before + 1).min(2),
        [.., b'\n'] => 1,
        [] => before,
        _ => 0,
    }
}

/// What text that arrives in pieces shows besides its digest.
#[derive(Debug, Default)]
pub(crate) struct TextCheck {
    utf8: Utf8Check,
    newlines: u8,
}

impl TextCheck {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.utf8.update(piece);
        self.newlines = final_newlines(self.newlines, piece);
    }

    pub(crate) fn finish(self, (sha256, bytes): (Digest, u64)) -> ContentFact {
        ContentFact {
            bytes,
            sha256,
            bad_utf8: self.utf8.finish(),
            final_newlines: self.newlines,
        }
    }
}

/// Scratch space for reading: most artifacts are one read of it.
pub(super) const SMALL: usize = 32 << 10;

/// Reads a file that was listed as a regular one to its end. `buffer` is scratch space.
///
/// Another file may have taken its place since. What is read of it is judged by its hash like
/// anything else, so a small file is not asked again what it is, which would be a fifth of its
/// cost; but where the buffer was filled it is, because a device has no end.
pub(super) fn read_content(file: &File, buffer: &mut [u8]) -> io::Result<ContentFact> {
    let mut text = TextCheck::default();
    let room = buffer.len();
    let mut is_asked = false;
    let digest = digest_through(&mut &*file, 0, buffer, |piece| {
        if piece.len() >= room && !is_asked {
            if !file.metadata()?.is_file() {
                return Err(io::Error::other(
                    "it was listed as a regular file and is none",
                ));
            }
            is_asked = true;
        }
        text.update(piece);
        Ok(())
    })?;
    Ok(text.finish(digest))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

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
    fn content_of_a_device_without_end_is_refused() {
        let device = File::open("/dev/zero").unwrap();
        let refused = read_content(&device, &mut vec![0; SMALL]).unwrap_err();
        assert!(refused.to_string().contains("listed as a regular file"));
    }

    #[test]
    fn content_small_and_large_agree_with_the_plain_digest() {
        let line = "0123456789 é\n".as_bytes();
        for repeats in [0usize, 1, 20_000, 700_000] {
            let bytes = line.repeat(repeats);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            let mut buffer = vec![0; SMALL];
            let fact = read_content(&file, &mut buffer).unwrap();
            assert_eq!(fact.bytes, bytes.len() as u64);
            assert_eq!(fact.sha256, Digest::of(&bytes));
            assert_eq!(fact.bad_utf8, None);
            assert_eq!(fact.final_newlines, u8::from(repeats > 0));
        }
    }
}
