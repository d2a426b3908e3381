//! Which kind of archive bytes are, and unpacking with a bound on what comes out.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use runseal_core::limits::{ARCHIVE_FREE_BYTES, ARCHIVE_MAX_RATIO};
use ruzstd::decoding::StreamingDecoder;

/// A kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// Plain tar.
    Tar,
    /// tar in gzip.
    TarGz,
    /// tar in Zstandard.
    TarZst,
    /// zip.
    Zip,
}

/// Bytes of a file's beginning that tell an archive from anything else.
pub const HEAD: usize = 512;

/// The kind of archive that begins with `head`, by content alone.
pub fn sniff(head: &[u8]) -> Option<Container> {
    if head.starts_with(&[0x1f, 0x8b]) {
        Some(Container::TarGz)
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Some(Container::TarZst)
    } else if [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"]
        .iter()
        .any(|magic| head.starts_with(*magic))
    {
        Some(Container::Zip)
    } else if head.get(257..262) == Some(b"ustar") {
        Some(Container::Tar)
    } else {
        None
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "it unpacks to more than {ARCHIVE_MAX_RATIO} times its size (beyond {ARCHIVE_FREE_BYTES} bytes); \
     reading stopped"
)]
pub(super) struct Bomb;

pub(super) fn bomb() -> io::Error {
    io::Error::other(Bomb)
}

pub(super) fn is_bomb(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Bomb>())
}

/// Whether `unpacked` bytes out of `packed` ones are more than an archive may hold.
pub(super) fn is_beyond_ratio(packed: u64, unpacked: u64) -> bool {
    unpacked > ARCHIVE_FREE_BYTES && unpacked > packed.saturating_mul(ARCHIVE_MAX_RATIO)
}

/// The tar inside, with the ratio watched.
pub(super) fn unpack<'a>(
    container: Container,
    reader: impl Read + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    let packed = Rc::new(Cell::new(0));
    let counted = BufReader::with_capacity(
        128 << 10,
        Counted {
            inner: reader,
            count: Rc::clone(&packed),
        },
    );
    let decoder: Box<dyn Read + 'a> = match container {
        Container::Tar | Container::Zip => return Ok(Box::new(counted)),
        Container::TarGz => Box::new(MultiGzDecoder::new(counted)),
        Container::TarZst => Box::new(Frames::Between(Some(counted))),
    };
    let watched = Watched {
        inner: decoder,
        packed,
        unpacked: 0,
    };
    Ok(Box::new(BufReader::with_capacity(128 << 10, watched)))
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

struct Watched<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.unpacked += count as u64;
        if is_beyond_ratio(self.packed.get(), self.unpacked) {
            return Err(bomb());
        }
        Ok(count)
    }
}

/// Zstandard frames one after the other, as the `zstd` tool reads them.
enum Frames<R: io::BufRead> {
    Between(Option<R>),
    Inside(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Ended,
}

impl<R: io::BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self {
                Self::Ended => return Ok(0),
                Self::Between(reader) => {
                    let Some(mut reader) = reader.take() else {
                        *self = Self::Ended;
                        return Ok(0);
                    };
                    if reader.fill_buf()?.is_empty() {
                        *self = Self::Ended;
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(reader)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                    *self = Self::Inside(Box::new(decoder));
                }
                Self::Inside(decoder) => {
                    let count = decoder.read(buffer)?;
                    if count > 0 {
                        return Ok(count);
                    }
                    // The frame is at its end: its checksum, where it has one, must hold.
                    let inner = &decoder.decoder;
                    let stated = inner.get_checksum_from_data();
                    if stated.is_some() && stated != inner.get_calculated_checksum() {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidData,
                            "the checksum of the zstd frame does not hold",
                        ));
                    }
                    if let Self::Inside(decoder) = std::mem::replace(self, Self::Ended) {
                        *self = Self::Between(Some(decoder.into_inner()));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_is_known_by_its_first_bytes() {
        assert_eq!(sniff(b"\x1f\x8b\x08"), Some(Container::TarGz));
        assert_eq!(sniff(b"\x28\xb5\x2f\xfd"), Some(Container::TarZst));
        assert_eq!(sniff(b"PK\x03\x04"), Some(Container::Zip));
        assert_eq!(sniff(b"{\"a\":1}"), None);
        assert_eq!(sniff(b""), None);
        let mut tar = [0; HEAD];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(sniff(&tar), Some(Container::Tar));
    }

    #[test]
    fn ratio_counts_only_beyond_what_is_free() {
        assert!(!is_beyond_ratio(1, ARCHIVE_FREE_BYTES));
        assert!(is_beyond_ratio(1, ARCHIVE_FREE_BYTES + 1));
        assert!(!is_beyond_ratio(
            ARCHIVE_FREE_BYTES,
            ARCHIVE_FREE_BYTES * 200
        ));
        assert!(is_beyond_ratio(
            ARCHIVE_FREE_BYTES,
            ARCHIVE_FREE_BYTES * 200 + 1
        ));
    }
}
