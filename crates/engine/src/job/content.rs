//! Reads one file to its [`ContentFact`]: size, SHA-256, UTF-8, final newlines.
//!
//! A small file is one read into the thread's buffer. A large one goes through a pipe of a few
//! buffers between two threads, one reading and checking UTF-8, the other hashing, so that the
//! hash alone sets the pace and memory stays the same for a file of any size.

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc;
use std::thread;

use runseal_core::digest::Hasher;
use runseal_core::formats::job_bundle::facts::ContentFact;

/// One buffer: large enough to make reads cheap, small enough to stay in the cache.
pub(super) const BUFFER: usize = 256 << 10;

/// Buffers on their way between the two threads of a large file.
const IN_FLIGHT: usize = 4;

/// From this size on a second thread pays.
const LARGE: u64 = 8 << 20;

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

/// Sums up bytes that arrive in pieces.
#[derive(Debug)]
pub(crate) struct ContentMeter {
    hasher: Hasher,
    utf8: Utf8Check,
    newlines: u8,
    bytes: u64,
}

impl ContentMeter {
    pub(crate) fn new() -> Self {
        Self {
            hasher: Hasher::new(),
            utf8: Utf8Check::default(),
            newlines: 0,
            bytes: 0,
        }
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.utf8.update(piece);
        self.newlines = final_newlines(self.newlines, piece);
        self.bytes += piece.len() as u64;
    }

    pub(crate) fn finish(self) -> ContentFact {
        ContentFact {
            bytes: self.bytes,
            sha256: self.hasher.finish(),
            bad_utf8: self.utf8.finish(),
            final_newlines: self.newlines,
        }
    }
}

/// Reads a regular file of `size` bytes to its end. `buffer` has [`BUFFER`] bytes.
pub(super) fn read_content(
    file: &mut File,
    size: u64,
    buffer: &mut [u8],
) -> io::Result<ContentFact> {
    if size >= LARGE {
        return read_large(file);
    }
    let mut meter = ContentMeter::new();
    loop {
        let count = read_some(file, buffer)?;
        if count == 0 {
            break;
        }
        meter.update(&buffer[..count]);
        // A read that stops short of the buffer at the known size is the end of the file; one
        // more call to hear so would be a quarter of the cost of a small file.
        if meter.bytes == size && count < buffer.len() {
            break;
        }
    }
    Ok(meter.finish())
}

fn read_large(file: &mut File) -> io::Result<ContentFact> {
    let (full_sender, full) = mpsc::sync_channel::<(Vec<u8>, usize)>(IN_FLIGHT);
    let (free_sender, free) = mpsc::channel::<Vec<u8>>();
    for _ in 0..IN_FLIGHT {
        // The receiver lives in this function, so this cannot fail.
        let _ = free_sender.send(vec![0; BUFFER]);
    }
    thread::scope(|scope| {
        let hashing = scope.spawn(move || {
            let mut hasher = Hasher::new();
            while let Ok((buffer, count)) = full.recv() {
                hasher.update(&buffer[..count]);
                if free_sender.send(buffer).is_err() {
                    break;
                }
            }
            hasher.finish()
        });
        let mut utf8 = Utf8Check::default();
        let mut newlines = 0;
        let mut bytes = 0u64;
        let read = loop {
            let Ok(mut buffer) = free.recv() else {
                break Err(io::Error::other("the hashing thread ended early"));
            };
            match read_some(file, &mut buffer) {
                Ok(0) => break Ok(()),
                Ok(count) => {
                    let piece = &buffer[..count];
                    utf8.update(piece);
                    newlines = final_newlines(newlines, piece);
                    bytes += count as u64;
                    if full_sender.send((buffer, count)).is_err() {
                        break Err(io::Error::other("the hashing thread ended early"));
                    }
                }
                Err(error) => break Err(error),
            }
        };
        drop(full_sender);
        let sha256 = hashing
            .join()
            .map_err(|_| io::Error::other("the hashing thread ended early"))?;
        read?;
        Ok(ContentFact {
            bytes,
            sha256,
            bad_utf8: utf8.finish(),
            final_newlines: newlines,
        })
    })
}

fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use runseal_core::digest::Digest;

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
    fn content_small_and_large_agree_with_the_plain_digest() {
        let line = "0123456789 é\n".as_bytes();
        for repeats in [0usize, 1, 20_000, 700_000] {
            let bytes = line.repeat(repeats);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            let mut buffer = vec![0; BUFFER];
            let fact = read_content(&mut file, bytes.len() as u64, &mut buffer).unwrap();
            assert_eq!(fact.bytes, bytes.len() as u64);
            assert_eq!(fact.sha256, Digest::of(&bytes));
            assert_eq!(fact.bad_utf8, None);
            assert_eq!(fact.final_newlines, u8::from(repeats > 0));
        }
    }
}
