//! Hashing what streams by, and copying it on the way, in memory that does not grow with it.
//!
//! A small file is one read. A large one goes through a few buffers between two threads, one
//! reading, the other hashing and writing, so that the hash alone sets the pace.

use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::thread;

use runseal_core::digest::{Digest, Hasher};

use crate::input::fill;

/// One buffer: large enough to make reads cheap, small enough to stay in the cache.
pub const BUFFER: usize = 256 << 10;

/// Buffers on their way between the two threads.
const IN_FLIGHT: usize = 4;

/// From this many bytes on a second thread pays.
const LARGE: u64 = 8 << 20;

/// Reads `reader` to its end, gives everything to `sink`, and gives the digest and the number of
/// bytes. `buffer` is scratch space, kept by the caller from file to file.
pub fn digest_through(
    reader: &mut (dyn Read + Send),
    sink: &mut dyn Write,
    buffer: &mut Vec<u8>,
) -> io::Result<(Digest, u64)> {
    buffer.resize(BUFFER, 0);
    let mut hasher = Hasher::new();
    let mut total = 0;
    while total < LARGE {
        let count = fill(reader, buffer)?;
        hasher.update(&buffer[..count]);
        sink.write_all(&buffer[..count])?;
        total += count as u64;
        if count < buffer.len() {
            return Ok((hasher.finish(), total));
        }
    }
    let rest = digest_rest(reader, sink, &mut hasher)?;
    Ok((hasher.finish(), total + rest))
}

fn digest_rest(
    reader: &mut (dyn Read + Send),
    sink: &mut dyn Write,
    hasher: &mut Hasher,
) -> io::Result<u64> {
    let (full, filled) = mpsc::sync_channel::<io::Result<(Vec<u8>, usize)>>(IN_FLIGHT);
    let (empty, emptied) = mpsc::channel::<Vec<u8>>();
    for _ in 0..IN_FLIGHT {
        // The other end is alive: it is in this function.
        let _ = empty.send(vec![0; BUFFER]);
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            // Ends when everything is read, or when nobody takes it any more.
            while let Ok(mut buffer) = emptied.recv() {
                let read = fill(reader, &mut buffer);
                let last = !matches!(read, Ok(count) if count == buffer.len());
                if full.send(read.map(|count| (buffer, count))).is_err() || last {
                    return;
                }
            }
        });
        let mut total = 0;
        // Taken into the scope, so that leaving it early also stops the reader.
        let (filled, empty) = (filled, empty);
        for read in &filled {
            let (buffer, count) = read?;
            hasher.update(&buffer[..count]);
            sink.write_all(&buffer[..count])?;
            total += count as u64;
            let _ = empty.send(buffer);
        }
        Ok(total)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_through_any_size_is_the_plain_digest_and_copy() {
        let mut buffer = Vec::new();
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
            let mut copy = Vec::new();
            let found = digest_through(&mut bytes.as_slice(), &mut copy, &mut buffer).unwrap();
            assert_eq!(found, (Digest::of(&bytes), size as u64));
            assert!(copy == bytes, "{size}");
        }
    }

    #[test]
    fn digest_through_a_sink_that_fails_ends_with_its_error() {
        struct Full(u64);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self
                    .0
                    .checked_sub(bytes.len() as u64)
                    .ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for room in [0, LARGE + 10] {
            let error = digest_through(&mut io::repeat(7), &mut Full(room), &mut Vec::new());
            assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }
}
