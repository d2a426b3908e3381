//! Reads a zip in the order of its bytes.
//!
//! A zip says everything twice: before each file, and in the list at its end. Unpackers believe one
//! or the other, look for the list in different ways, and skip bytes that neither mentions. So the
//! bytes are covered here without a gap: entry by entry, then the list, then its end; and what is
//! said twice must agree.

mod end;
mod extra;
mod list;
mod local;

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use runseal_core::formats::archive::{ArchiveFault, FaultKind};

use crate::container::{bomb, fault_of, is_beyond_ratio};
use crate::scan::{Room, Scan, shown};
use crate::tar::has_checksum;
use list::Listed;

/// What ends the reading of a zip or an entry.
#[derive(Debug)]
enum Failure {
    Fault(ArchiveFault),
    Read(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

fn failure(kind: FaultKind, path: Option<String>, message: impl Into<String>) -> Failure {
    Failure::Fault(ArchiveFault {
        kind,
        path,
        message: message.into(),
    })
}

/// Damage of the archive as a whole.
fn damaged(message: impl Into<String>) -> Failure {
    failure(FaultKind::Damaged, None, message)
}

fn ambiguous(path: Option<String>, message: impl Into<String>) -> Failure {
    failure(FaultKind::Ambiguous, path, message)
}

/// Reads a zip of `size` bytes.
pub(crate) fn scan_zip(file: impl Read + Seek, size: u64, scan: &mut Scan<'_>) -> io::Result<()> {
    let mut file = BufReader::with_capacity(64 << 10, file);
    match scan_all(&mut file, size, scan) {
        Ok(()) => Ok(()),
        Err(Failure::Fault(fault)) => {
            scan.add_fault(fault);
            Ok(())
        }
        Err(Failure::Read(error)) => scan.stop(error, None),
    }
}

fn scan_all<R: Read + Seek>(
    file: &mut BufReader<R>,
    size: u64,
    scan: &mut Scan<'_>,
) -> Result<(), Failure> {
    check_is_zip_only(file, size)?;
    let end = end::find_end(file, size)?;
    let mut list = list::read_list(file, &end, size, scan)?;
    if is_beyond_ratio(size, list.unpacked_bytes()) {
        return Err(bomb().into());
    }
    list.sort_by_offset();
    file.seek(SeekFrom::Start(0))?;
    let mut reached = 0;
    for entry in list.entries() {
        if scan.room() == Room::None {
            return Ok(());
        }
        let name = list.name(entry);
        check_begin(entry, name, reached)?;
        reached = scan_entry(file, entry, name, end.list_start, scan)?;
    }
    if reached != end.list_start {
        return Err(gap(None, end.list_start - reached, "the list of entries"));
    }
    Ok(())
}

fn gap(path: Option<String>, bytes: u64, before: &str) -> Failure {
    let message = format!(
        "{bytes} bytes before {before} belong to no listed entry; some unpackers find files there"
    );
    ambiguous(path, message)
}

/// Checks that an entry begins where the one before it ended.
fn check_begin(entry: &Listed, name: &[u8], reached: u64) -> Result<(), Failure> {
    if entry.offset < reached {
        let message = "it shares bytes with another entry";
        return Err(failure(FaultKind::Bomb, Some(shown(name)), message));
    }
    match entry.offset - reached {
        0 => Ok(()),
        bytes => Err(gap(Some(shown(name)), bytes, "this entry")),
    }
}

/// Reads one entry; returns the offset after it. Faults in its content are noted, and reading
/// continues; but its end must be known.
fn scan_entry<R: Read + Seek>(
    file: &mut BufReader<R>,
    entry: &Listed,
    name: &[u8],
    list_start: u64,
    scan: &mut Scan<'_>,
) -> Result<u64, Failure> {
    let local = local::read_local(file, entry, name, list_start)?;
    let data_end = local.data_start + entry.packed;
    match local::read_data(file, entry, name, scan) {
        Ok(()) => {}
        Err(Failure::Fault(fault)) => scan.add_fault(fault),
        Err(Failure::Read(error)) => match fault_of(&error) {
            Some(FaultKind::Bomb) => return Err(error.into()),
            _ => scan.stop(error, Some(shown(name)))?,
        },
    }
    // Usually at `data_end` already, and this stays within the buffer.
    let position = file.stream_position()?;
    file.seek_relative(data_end.wrapping_sub(position).cast_signed())?;
    let descriptor = local::read_descriptor(file, entry, name, &local, list_start)?;
    Ok(data_end + descriptor)
}

/// Checks for other formats that some unpackers look for first: a tar's header in the first block,
/// a disc's descriptor in the seventeenth sector.
fn check_is_zip_only<R: Read + Seek>(file: &mut BufReader<R>, size: u64) -> Result<(), Failure> {
    const DISC: u64 = (32 << 10) + 1;
    if size >= 512 {
        let mut block = [0; 512];
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut block)?;
        if has_checksum(&block) || &block[257..262] == b"ustar" {
            return Err(ambiguous(None, "it can also be read as a tar"));
        }
    }
    if size >= DISC + 5 {
        let mut mark = [0; 5];
        file.seek(SeekFrom::Start(DISC))?;
        file.read_exact(&mut mark)?;
        if &mark == b"CD001" {
            return Err(ambiguous(None, "it can also be read as a disc image"));
        }
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Whether bytes contain a mark by which unpackers find the end of the list.
fn has_end_mark(bytes: &[u8]) -> bool {
    let is_mark = |window: &[u8]| matches!(window, b"PK\x05\x06" | b"PK\x06\x06" | b"PK\x06\x07");
    bytes.windows(4).any(is_mark)
}
