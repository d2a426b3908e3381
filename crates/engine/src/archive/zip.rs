//! Reads a zip in the order of its list of entries.
//!
//! Written here because readers in use keep one of two entries with the same name and believe
//! the list at the end; a verifier has to see both entries and to compare the list with what
//! stands before each file.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::{ARCHIVE_MAX_ENTRIES, ARCHIVE_MAX_NAME};
use runseal_core::source::EntryKind;

use super::container::{bomb, is_beyond_ratio, is_bomb};
use super::scan::{Room, Scan, shown};

const END: usize = 22;
const LOCAL: usize = 30;
const LISTED: usize = 46;

/// One entry of the list.
#[derive(Debug)]
struct Listed {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
    offset: u64,
    kind: EntryKind,
}

/// What is wrong: `None` as path is the archive.
struct Fault(FaultKind, Option<String>, String);

enum Failure {
    Fault(Fault),
    Read(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

fn damaged(path: Option<String>, message: impl Into<String>) -> Failure {
    Failure::Fault(Fault(FaultKind::Damaged, path, message.into()))
}

/// Reads a zip of `size` bytes.
pub(super) fn scan_zip(file: impl Read + Seek, size: u64, scan: &mut Scan) -> io::Result<()> {
    let mut file = BufReader::with_capacity(64 << 10, file);
    match scan_entries(&mut file, size, scan) {
        Ok(()) => Ok(()),
        Err(Failure::Fault(Fault(kind, path, message))) => {
            scan.fault(kind, path, message);
            Ok(())
        }
        Err(Failure::Read(error)) => scan.stop(error, None),
    }
}

fn scan_entries<R: Read + Seek>(
    file: &mut BufReader<R>,
    size: u64,
    scan: &mut Scan,
) -> Result<(), Failure> {
    let (list_start, count) = find_list(file, size)?;
    let entries = read_list(file, list_start, count)?;
    check_extents(&entries, list_start)?;
    let declared = entries
        .iter()
        .fold(0u64, |sum, entry| sum.saturating_add(entry.unpacked));
    if is_beyond_ratio(size, declared) {
        return Err(bomb().into());
    }
    for entry in &entries {
        if scan.room() == Room::None {
            break;
        }
        match scan_entry(file, entry, scan) {
            Ok(()) => {}
            Err(Failure::Fault(Fault(kind, path, message))) => scan.fault(kind, path, message),
            Err(Failure::Read(error)) if is_bomb(&error) => return Err(error.into()),
            Err(Failure::Read(error)) => scan.stop(error, Some(shown(&entry.name)))?,
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

/// Where the list begins and how many entries it has.
fn find_list<R: Read + Seek>(file: &mut R, size: u64) -> Result<(u64, u64), Failure> {
    let tail_length = size.min((END + usize::from(u16::MAX)) as u64);
    let tail_start = size - tail_length;
    file.seek(SeekFrom::Start(tail_start))?;
    let mut tail = vec![0; usize::try_from(tail_length).unwrap_or(0)];
    file.read_exact(&mut tail)?;
    let is_end = |at: &usize| {
        tail[*at..].starts_with(b"PK\x05\x06")
            && at + END + usize::from(u16_at(&tail, at + 20)) == tail.len()
    };
    let at = (0..(tail.len() + 1).saturating_sub(END))
        .rev()
        .find(is_end)
        .ok_or_else(|| damaged(None, "it breaks off: the list of its entries is missing"))?;
    let end = &tail[at..];
    let end_start = tail_start + at as u64;
    if u16_at(end, 4) != 0 && u16_at(end, 4) != u16::MAX {
        return Err(damaged(None, "it is one of several parts"));
    }
    let mut count = u64::from(u16_at(end, 10));
    let mut length = u64::from(u32_at(end, 12));
    let mut start = u64::from(u32_at(end, 16));
    let mut list_end = end_start;
    let is_large = count == u64::from(u16::MAX)
        || length == u64::from(u32::MAX)
        || start == u64::from(u32::MAX);
    if is_large && end_start >= 20 {
        file.seek(SeekFrom::Start(end_start - 20))?;
        let mut locator = [0; 20];
        file.read_exact(&mut locator)?;
        if locator.starts_with(b"PK\x06\x07") {
            list_end = u64_at(&locator, 8);
            file.seek(SeekFrom::Start(list_end))?;
            let mut large = [0; 56];
            file.read_exact(&mut large)?;
            if !large.starts_with(b"PK\x06\x06") {
                return Err(damaged(
                    None,
                    "the list of its entries is not where it should be",
                ));
            }
            count = u64_at(&large, 32);
            length = u64_at(&large, 40);
            start = u64_at(&large, 48);
        }
    }
    if start.checked_add(length) != Some(list_end) {
        return Err(damaged(
            None,
            "the list of its entries is not where it should be; something was put before or \
             behind it",
        ));
    }
    if count > ARCHIVE_MAX_ENTRIES as u64 || count * LISTED as u64 > length {
        let message = format!("a list of {count} entries in {length} bytes");
        return Err(Failure::Fault(Fault(FaultKind::Limit, None, message)));
    }
    Ok((start, count))
}

fn read_list<R: Read + Seek>(file: &mut R, start: u64, count: u64) -> Result<Vec<Listed>, Failure> {
    file.seek(SeekFrom::Start(start))?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let mut fixed = [0; LISTED];
        file.read_exact(&mut fixed)?;
        if !fixed.starts_with(b"PK\x01\x02") {
            return Err(damaged(None, "the list of its entries is broken"));
        }
        let mut name = vec![0; usize::from(u16_at(&fixed, 28))];
        file.read_exact(&mut name)?;
        let mut extra = vec![0; usize::from(u16_at(&fixed, 30))];
        file.read_exact(&mut extra)?;
        let comment = u64::from(u16_at(&fixed, 32));
        io::copy(&mut file.by_ref().take(comment), &mut io::sink())?;
        if name.len() as u64 > ARCHIVE_MAX_NAME {
            let message = format!("a name of {} bytes", name.len());
            return Err(Failure::Fault(Fault(FaultKind::Limit, None, message)));
        }
        let mut entry = Listed {
            flags: u16_at(&fixed, 8),
            method: u16_at(&fixed, 10),
            crc: u32_at(&fixed, 16),
            packed: u64::from(u32_at(&fixed, 20)),
            unpacked: u64::from(u32_at(&fixed, 24)),
            offset: u64::from(u32_at(&fixed, 42)),
            kind: kind_of(&name, u16_at(&fixed, 4), u32_at(&fixed, 38)),
            name,
        };
        apply_large(&mut entry, &extra);
        entries.push(entry);
    }
    Ok(entries)
}

/// Sizes that do not fit 32 bits stand in an extra field, in this order.
fn apply_large(entry: &mut Listed, mut extra: &[u8]) {
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(mut field) = extra.get(4..4 + length) else {
            return;
        };
        if id == 1 {
            let large = u64::from(u32::MAX);
            for value in [&mut entry.unpacked, &mut entry.packed, &mut entry.offset] {
                if *value == large && field.len() >= 8 {
                    *value = u64_at(field, 0);
                    field = &field[8..];
                }
            }
        }
        extra = &extra[4 + length..];
    }
}

fn kind_of(name: &[u8], made_by: u16, attributes: u32) -> EntryKind {
    const UNIX: u16 = 3;
    const MACOS: u16 = 19;
    let mode = (attributes >> 16) & 0o170_000;
    match mode {
        0o120_000 if matches!(made_by >> 8, UNIX | MACOS) => EntryKind::Symlink,
        0o010_000 if made_by >> 8 == UNIX => EntryKind::Fifo,
        0o020_000 | 0o060_000 | 0o140_000 if made_by >> 8 == UNIX => EntryKind::Special,
        _ if name.ends_with(b"/") => EntryKind::Directory,
        _ => EntryKind::File,
    }
}

/// No two entries may share bytes: that is how a small zip unpacks to petabytes.
fn check_extents(entries: &[Listed], list_start: u64) -> Result<(), Failure> {
    let mut extents: Vec<_> = entries
        .iter()
        .map(|entry| {
            let header = (LOCAL + entry.name.len()) as u64;
            let end = entry.offset.saturating_add(header);
            (entry.offset, end.saturating_add(entry.packed), entry)
        })
        .collect();
    extents.sort_unstable_by_key(|(start, end, _)| (*start, *end));
    let mut reached = 0;
    for (start, end, entry) in extents {
        if end > list_start {
            let message = "its bytes lie outside of the archive";
            return Err(damaged(Some(shown(&entry.name)), message));
        }
        if start < reached {
            let message = "it shares bytes with another entry";
            let path = Some(shown(&entry.name));
            return Err(Failure::Fault(Fault(
                FaultKind::Bomb,
                path,
                message.to_owned(),
            )));
        }
        reached = end;
    }
    Ok(())
}

fn scan_entry<R: Read + Seek>(
    file: &mut BufReader<R>,
    entry: &Listed,
    scan: &mut Scan,
) -> Result<(), Failure> {
    let path = || Some(shown(&entry.name));
    file.seek(SeekFrom::Start(entry.offset))?;
    let mut local = [0; LOCAL];
    file.read_exact(&mut local)?;
    if !local.starts_with(b"PK\x03\x04") {
        return Err(damaged(path(), "there is no file where the list says"));
    }
    let mut name = vec![0; usize::from(u16_at(&local, 26))];
    file.read_exact(&mut name)?;
    if name != entry.name {
        let message = format!("the file itself is named `{}`", shown(&name));
        return Err(damaged(path(), message));
    }
    file.seek_relative(i64::from(u16_at(&local, 28)))?;
    // Bit 0: encrypted. Bit 13: the list is. The local flags count too.
    if (entry.flags | u16_at(&local, 6)) & 0x2001 != 0 {
        let message = "it is encrypted".to_owned();
        return Err(Failure::Fault(Fault(FaultKind::Encrypted, path(), message)));
    }
    match entry.kind {
        EntryKind::File => {}
        EntryKind::Directory => {
            scan.add_folder(&entry.name);
            return Ok(());
        }
        kind => {
            scan.add_other(&entry.name, kind);
            return Ok(());
        }
    }
    let packed = file.take(entry.packed);
    let mut content: Box<dyn Read + '_> = match entry.method {
        0 => Box::new(packed),
        8 => Box::new(DeflateDecoder::new(packed)),
        93 => Box::new(
            ruzstd::decoding::StreamingDecoder::new(packed)
                .map_err(|error| damaged(path(), error.to_string()))?,
        ),
        other => {
            let message = format!("it is compressed by method {other}, which is not read");
            return Err(damaged(path(), message));
        }
    };
    // One byte more than declared shows that there is more.
    let mut checked = Checked {
        inner: (&mut content).take(entry.unpacked.saturating_add(1)),
        crc: Crc::new(),
    };
    let read = scan.add_file(&entry.name, &mut checked)?;
    if read.bytes != entry.unpacked {
        let message = format!("expected {} bytes, actual {}", entry.unpacked, read.bytes);
        return Err(damaged(path(), message));
    }
    if checked.crc.sum() != entry.crc {
        return Err(damaged(path(), "its checksum does not hold"));
    }
    Ok(())
}

struct Checked<R> {
    inner: R,
    crc: Crc,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}
