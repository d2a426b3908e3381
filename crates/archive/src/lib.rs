//! Archives as sources of files, without unpacking: .tar, .tar.gz, .tar.zst and .zip.
//!
//! An archive is evidence only if everyone who unpacks it gets what was verified. So there is one
//! way to read it, and whatever a common unpacker could read in another way is a fault: bytes that
//! belong to no entry, two headers that disagree, two names for one entry, names that become one on
//! another system. `docs/archives.md` lists them.
//!
//! An archive is read once, from start to end (a zip in the order of its bytes), so a pipe will do.
//! For each file, its size, digest and whatever else rules need to know about its bytes are kept;
//! JSON documents and small files are kept whole, within limits. Memory is bounded by the limits of
//! `runseal_core::limits`, whatever the archive unpacks to. Archives inside archives are not
//! opened.
//!
//! This crate only computes: it opens no files, starts no threads and reads no clock. Callers bring
//! the bytes as [`std::io::Read`] or as `Read + Seek`, and may bring their own way to hash large
//! files ([`ContentDigester`]).

mod bags;
mod catalogue;
mod container;
mod foreign;
mod gz;
mod names;
mod pieces;
mod scan;
mod source;
mod tar;
mod zip;
mod zst;

use std::io::{self, BufReader, Cursor, Read, Seek};

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::ARCHIVE_MAX_PIPED;
use runseal_core::source::{SourceError, read_bounded};

pub use bags::BagDigester;
pub use catalogue::{Archive, FileRecord, Record};
pub use container::{
    Beginning, Container, HEAD, PACKED_HEAD, PackedBytes, Unpacked, fill, is_archive, sniff,
};
pub use foreign::{ZIP_TAIL, ends_like_zip, foreign_ending, sniff_unread};
pub use pieces::PieceDigester;
pub use scan::{ContentDigester, InlineDigester};
pub use source::ArchiveSource;
pub use zst::ZstdDecoder;

use scan::Scan;

/// How many unpacked bytes to ask for at a time: headers are small, but decoders work best in large
/// pieces.
const BUFFER: usize = 128 << 10;

/// Reads a tar from its unpacked bytes, which arrive once. Bounds grow with `packed`: the size of
/// the packed archive if it is known, else how much of it was read so far.
///
/// # Errors
/// If reading fails. A truncated archive is a fault, not an error.
pub fn read_tar(
    reader: &mut dyn Read,
    packed: PackedBytes,
    digester: &mut dyn ContentDigester,
) -> io::Result<Archive> {
    let mut scan = Scan::new(packed, digester);
    let mut reader = BufReader::with_capacity(BUFFER, reader);
    match tar::scan_tar(&mut reader, &mut scan) {
        Ok(()) => {}
        Err(tar::Stop::Fault(fault)) => scan.add_fault(fault),
        Err(tar::Stop::Read(error, path)) => scan.stop(error, path)?,
    }
    Ok(scan.finish())
}

/// Reads a zip of `size` bytes.
///
/// # Errors
/// If reading fails. A truncated archive is a fault, not an error.
pub fn read_zip(
    file: impl Read + Seek,
    size: u64,
    digester: &mut dyn ContentDigester,
) -> io::Result<Archive> {
    let packed = PackedBytes::default();
    packed.add(size);
    let mut scan = Scan::new(packed, digester);
    zip::scan_zip(file, size, &mut scan)?;
    Ok(scan.finish())
}

/// Reads an archive of any kind from bytes that arrive once. `shown` is their name in errors.
///
/// # Errors
/// If reading fails, or if a zip is too large to hold in memory: its list of entries is at its end,
/// so it has to be held whole.
pub fn read_stream(
    container: Container,
    reader: impl Read,
    shown: &str,
    digester: &mut dyn ContentDigester,
) -> Result<Archive, SourceError> {
    let archive = match container {
        Container::Zip => {
            let bytes = read_bounded(reader, shown, 0, ARCHIVE_MAX_PIPED)?;
            let size = bytes.len() as u64;
            read_zip(Cursor::new(bytes), size, digester)
        }
        container => {
            let mut unpacked = Unpacked::new(container, reader);
            let packed = unpacked.packed();
            read_tar(&mut unpacked, packed, digester)
        }
    };
    archive.map_err(|source| SourceError::Io {
        path: shown.to_owned(),
        source,
    })
}

impl Scan<'_> {
    /// Notes what ended the reading early. A failure of the system is an error; a complaint of a
    /// decoder about the content is a fault.
    fn stop(&mut self, error: io::Error, path: Option<String>) -> io::Result<()> {
        if error.raw_os_error().is_some() {
            return Err(error);
        }
        let (kind, message) = match container::fault_of(&error) {
            Some(kind) => (kind, error.to_string()),
            None => (
                FaultKind::Damaged,
                format!("the archive is damaged from here on: {error}"),
            ),
        };
        self.fault(kind, path, message);
        Ok(())
    }
}
