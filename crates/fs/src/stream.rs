//! Reads a file once, in bounded memory: computes its SHA-256, and shows its bytes to others that
//! need them.
//!
//! Every reader of file contents goes through here: job bundles, run bundles, archives and sealing.
//! A small file is one read on the caller's thread. From 8 MiB on, hashing moves to a thread of its
//! own, so that it alone sets the pace. With only one processor it stays: handing the bytes over
//! would only evict them from the cache. It stays, too, where the system refuses a thread.

use std::io::{self, Read};
use std::sync::mpsc;
use std::thread;

use runseal_core::digest::{Digest, Hasher};

use crate::threads::{help_with, processors};

/// The size of a buffer: large enough for cheap reads, small enough to stay in the cache.
pub const BUFFER: usize = 256 << 10;

/// Buffers in flight between the two threads of a large file.
const IN_FLIGHT: usize = 4;

/// From this many bytes on, a second thread pays off.
const LARGE: u64 = 8 << 20;

/// Reads `reader` to its end and calls `see` with every piece; returns the digest and the number of
/// bytes.
///
/// `expected` is the presumed size, 0 if unknown; it only affects how the file is read. `buffer` is
/// scratch space of at least one byte, which the caller reuses from file to file.
pub fn digest_through(
    reader: &mut (impl Read + ?Sized),
    expected: u64,
    buffer: &mut [u8],
    mut see: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(Digest, u64)> {
    let mut hasher = Hasher::new();
    let mut total = 0;
    let mut is_alone = None;
    loop {
        if total.max(expected) >= LARGE && !*is_alone.get_or_insert_with(is_one_processor) {
            match digest_rest(reader, hasher, &mut see) {
                Ok(rest) => return rest.map(|(digest, rest)| (digest, total + rest)),
                Err(unchanged) => hasher = unchanged,
            }
            is_alone = Some(true);
        }
        let count = read_some(reader, buffer)?;
        hasher.update(&buffer[..count]);
        see(&buffer[..count])?;
        total += count as u64;
        // A short read that reaches the known size is the end of the file; another call to confirm
        // that would be a quarter of the cost of a small file.
        if count == 0 || (total == expected && count < buffer.len()) {
            return Ok((hasher.finish(), total));
        }
    }
}

/// Whether a second thread would only take turns with this one.
fn is_one_processor() -> bool {
    processors() == 1
}

/// The caller's thread reads and shows; the other one hashes. Returns the hasher, before anything is
/// read, where the system refuses another thread.
fn digest_rest(
    reader: &mut (impl Read + ?Sized),
    hasher: Hasher,
    see: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<io::Result<(Digest, u64)>, Hasher> {
    let (full, filled) = mpsc::sync_channel::<(Vec<u8>, usize)>(IN_FLIGHT);
    let (empty, emptied) = mpsc::channel::<Vec<u8>>();
    for _ in 0..IN_FLIGHT {
        // Cannot fail: the receiver is in this function.
        let _ = empty.send(vec![0; BUFFER]);
    }
    thread::scope(|scope| {
        let hashing = help_with(scope, hasher, move |mut hasher: Hasher| {
            for (buffer, count) in &filled {
                hasher.update(&buffer[..count]);
                // Fails only after everything was read, when the buffer is no longer needed.
                let _ = empty.send(buffer);
            }
            hasher.finish()
        })?;
        let total = pass_on(reader, see, full, emptied);
        let broken = |_| io::Error::other("the hashing thread broke down");
        let digest = hashing.join().map_err(broken);
        Ok(total.and_then(|total| Ok((digest?, total))))
    })
}

/// Reads to the end, shows every piece and passes it on. Takes the channels, so that coming back, even
/// early, ends the thread at their other ends.
fn pass_on(
    reader: &mut (impl Read + ?Sized),
    mut see: impl FnMut(&[u8]) -> io::Result<()>,
    full: mpsc::SyncSender<(Vec<u8>, usize)>,
    emptied: mpsc::Receiver<Vec<u8>>,
) -> io::Result<u64> {
    let mut total = 0;
    while let Ok(mut buffer) = emptied.recv() {
        let count = read_some(reader, &mut buffer)?;
        if count == 0 {
            break;
        }
        see(&buffer[..count])?;
        total += count as u64;
        if full.send((buffer, count)).is_err() {
            break;
        }
    }
    Ok(total)
}

fn read_some(reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn digest_through_any_size_and_expectation_is_the_plain_digest_and_copy() {
        let mut buffer = vec![0; BUFFER];
        let large = LARGE as usize;
        for size in [
            0,
            1,
            BUFFER - 1,
            BUFFER,
            BUFFER + 1,
            large,
            large + 1,
            large + 3 * BUFFER,
        ] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            for expected in [0, 1, size as u64, LARGE, u64::MAX] {
                let mut copy = Vec::new();
                let see = |piece: &[u8]| copy.write_all(piece);
                let found = digest_through(&mut bytes.as_slice(), expected, &mut buffer, see);
                assert_eq!(found.unwrap(), (Digest::of(&bytes), size as u64));
                assert!(copy == bytes, "{size} {expected}");
            }
        }
    }

    #[test]
    fn digest_through_a_viewer_that_fails_ends_with_its_error() {
        for room in [0, LARGE + 10] {
            let mut left = room;
            let see = |piece: &[u8]| {
                let rest = u64::checked_sub(left, piece.len() as u64);
                left = rest.ok_or(io::ErrorKind::StorageFull)?;
                Ok(())
            };
            let found = digest_through(&mut io::repeat(7), 0, &mut vec![0; BUFFER], see);
            assert_eq!(found.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn digest_through_a_reader_that_fails_ends_with_its_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
        for sound in [0, 5, LARGE, 2 * LARGE] {
            let mut reader = io::repeat(7).take(sound).chain(Broken);
            let found = digest_through(&mut reader, 0, &mut vec![0; BUFFER], |_| Ok(()));
            assert_eq!(found.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
    }
}
