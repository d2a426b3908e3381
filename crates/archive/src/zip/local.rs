//! One entry in place: the local header, the bytes, and the descriptor after them.

use std::io::{self, BufReader, Read, Seek};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use runseal_core::formats::archive::FaultKind;
use runseal_core::source::EntryKind;

use super::extra::Extra;
use super::list::{DESCRIPTOR, Listed, check_version};
use super::{Failure, ambiguous, failure, u16_at, u32_at, u64_at};
use crate::scan::{Scan, shown};

const FIXED: usize = 30;
const FULL: u32 = u32::MAX;

/// What the header before an entry's bytes says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    pub(super) data_start: u64,
    /// Whether sizes have 64 bits, in this header and in the descriptor.
    has_large: bool,
}

/// Reads the header at an entry's offset and compares it with the list. `file` must be at it.
pub(super) fn read_local<R: Read + Seek>(
    file: &mut BufReader<R>,
    entry: &Listed,
    name: &[u8],
    list_start: u64,
) -> Result<Local, Failure> {
    let path = || Some(shown(name));
    let outside = || {
        failure(
            FaultKind::Damaged,
            path(),
            "its bytes are outside the archive",
        )
    };
    let mut fixed = [0; FIXED];
    if entry.offset.saturating_add(FIXED as u64) > list_start {
        return Err(outside());
    }
    file.read_exact(&mut fixed)?;
    if !fixed.starts_with(b"PK\x03\x04") {
        let message = "there is no file where the list says";
        return Err(failure(FaultKind::Damaged, path(), message));
    }
    let lengths = [26, 28].map(|at| usize::from(u16_at(&fixed, at)));
    let data_start = entry.offset + (FIXED + lengths[0] + lengths[1]) as u64;
    if data_start.saturating_add(entry.packed) > list_start {
        return Err(outside());
    }
    let mut variable = vec![0; lengths[0] + lengths[1]];
    file.read_exact(&mut variable)?;
    let (local_name, extra) = variable.split_at(lengths[0]);
    if local_name != name {
        let message = format!("the file itself is named `{}`", shown(local_name));
        return Err(ambiguous(path(), message));
    }
    let refuse = |message: &str| ambiguous(path(), message);
    check_version(u16_at(&fixed, 4)).map_err(refuse)?;
    let extra = Extra::parse(extra).map_err(refuse)?;
    let said = (u16_at(&fixed, 6), u16_at(&fixed, 8), u32_at(&fixed, 10));
    if said != (entry.flags, entry.method, entry.time) {
        return Err(refuse(
            "its flags, method or time in the list and before the file disagree",
        ));
    }
    let sizes = [22, 18].map(|at| u32_at(&fixed, at));
    let has_large = extra.large.is_some();
    check_sizes(entry, u32_at(&fixed, 14), sizes, extra.large).map_err(refuse)?;
    Ok(Local {
        data_start,
        has_large,
    })
}

/// Checks that checksum and sizes are those of the list. If a descriptor follows, each may be zero,
/// because it was not known yet.
fn check_sizes(
    entry: &Listed,
    crc: u32,
    sizes: [u32; 2],
    large: Option<&[u8]>,
) -> Result<(), &'static str> {
    let is_late = entry.flags & DESCRIPTOR != 0;
    let agrees = |said: u64, listed: u64| said == listed || (is_late && said == 0);
    if !agrees(u64::from(crc), u64::from(entry.crc)) {
        return Err("its checksums in the list and before the file disagree");
    }
    let said = match large {
        None => sizes.map(u64::from),
        Some(field) if sizes == [FULL, FULL] && field.len() == 16 => {
            [u64_at(field, 0), u64_at(field, 8)]
        }
        Some(_) => return Err("an extra field has sizes that are not needed"),
    };
    if agrees(said[0], entry.unpacked) && agrees(said[1], entry.packed) {
        Ok(())
    } else {
        Err("its sizes in the list and before the file disagree")
    }
}

/// Reads an entry's bytes. `file` must be at them.
pub(super) fn read_data<R: Read + Seek>(
    file: &mut BufReader<R>,
    entry: &Listed,
    name: &[u8],
    scan: &mut Scan<'_>,
) -> Result<(), Failure> {
    let path = || Some(shown(name));
    let refuse = |message: &str| ambiguous(path(), message);
    if entry.is_encrypted() {
        return Err(failure(FaultKind::Encrypted, path(), "it is encrypted"));
    }
    match entry.kind {
        EntryKind::File => {}
        EntryKind::Directory => {
            scan.add_folder(name);
            return match (entry.packed, entry.unpacked, entry.crc) {
                (0, 0, 0) => Ok(()),
                _ => Err(refuse("a folder that has content")),
            };
        }
        kind => {
            scan.add_other(name, kind);
            return Ok(());
        }
    }
    let mut packed = file.take(entry.packed);
    // One byte more than stated, to notice if there is more.
    let most = entry.unpacked.saturating_add(1);
    let (bytes, crc, is_used_up) = match entry.method {
        0 => {
            if entry.packed != entry.unpacked {
                return Err(refuse("it is stored uncompressed but has two sizes"));
            }
            if entry.flags & DESCRIPTOR != 0 && entry.packed > 0 {
                return Err(refuse(
                    "it is stored uncompressed and its size is after it, so it cannot be \
                     read as a stream",
                ));
            }
            let mut checked = Checked::new(&mut packed);
            let read = scan.add_file(name, 0, &mut checked)?;
            (read.bytes, checked.crc.sum(), true)
        }
        8 => {
            let mut decoder = DeflateDecoder::new(&mut packed);
            let mut checked = Checked::new((&mut decoder).take(most));
            let read = scan.add_file(name, 0, &mut checked)?;
            let crc = checked.crc.sum();
            (read.bytes, crc, decoder.total_in() == entry.packed)
        }
        other => {
            let message = format!("it is compressed by method {other}, which is not read");
            return Err(failure(FaultKind::Damaged, path(), message));
        }
    };
    let damaged = |message: String| failure(FaultKind::Damaged, path(), message);
    if bytes != entry.unpacked {
        let message = format!("expected {} bytes, actual {bytes}", entry.unpacked);
        return Err(damaged(message));
    }
    if crc != entry.crc {
        return Err(damaged("wrong checksum".to_owned()));
    }
    if is_used_up {
        Ok(())
    } else {
        Err(refuse("there are packed bytes after its end"))
    }
}

/// Reads the descriptor after the bytes; returns its length. `file` must be at it.
pub(super) fn read_descriptor<R: Read + Seek>(
    file: &mut BufReader<R>,
    entry: &Listed,
    name: &[u8],
    local: &Local,
    list_start: u64,
) -> Result<u64, Failure> {
    if entry.flags & DESCRIPTOR == 0 {
        return Ok(0);
    }
    let refuse = |message: &str| ambiguous(Some(shown(name)), message);
    let length = if local.has_large { 24 } else { 16 };
    let start = local.data_start + entry.packed;
    let mut bytes = [0; 24];
    let bytes = &mut bytes[..length];
    if start + length as u64 > list_start {
        return Err(refuse("the descriptor after its bytes is missing"));
    }
    file.read_exact(bytes)?;
    let sizes = if local.has_large {
        [8, 16].map(|at| u64_at(bytes, at))
    } else {
        [8, 12].map(|at| u64::from(u32_at(bytes, at)))
    };
    let agrees = bytes.starts_with(b"PK\x07\x08")
        && u32_at(bytes, 4) == entry.crc
        && sizes == [entry.packed, entry.unpacked];
    if agrees {
        Ok(length as u64)
    } else {
        Err(refuse(
            "the descriptor after its bytes is missing or disagrees with the list",
        ))
    }
}

/// Computes the checksum of what is read through it.
struct Checked<R> {
    inner: R,
    crc: Crc,
}

impl<R> Checked<R> {
    fn new(inner: R) -> Self {
        let crc = Crc::new();
        Self { inner, crc }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}
