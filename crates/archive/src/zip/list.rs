//! The list of entries at a zip's end.

use std::io::{Read, Seek, SeekFrom};

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::ARCHIVE_MAX_NAME;
use runseal_core::source::EntryKind;

use super::end::End;
use super::extra::{self, Extra};
use super::{Failure, ambiguous, damaged, failure, has_end_mark, u16_at, u32_at};
use crate::names::is_composed;
use crate::scan::{Scan, shown};

const FIXED: usize = 46;

/// The flags read here: compression level, a descriptor after the data, names in UTF-8.
const KNOWN_FLAGS: u16 = 0x0806 | DESCRIPTOR;
/// Sizes and checksum are after the data.
pub(super) const DESCRIPTOR: u16 = 0x0008;
const UTF8: u16 = 0x0800;
/// Encrypted, strongly encrypted, list encrypted.
const ENCRYPTED: u16 = 0x2041;

/// One entry of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    name_start: usize,
    name_length: u16,
    pub(super) flags: u16,
    pub(super) method: u16,
    /// Date and time as written.
    pub(super) time: u32,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) unpacked: u64,
    pub(super) offset: u64,
    pub(super) kind: EntryKind,
}

impl Listed {
    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }
}

/// The whole list, with all names in one buffer.
#[derive(Debug, Default)]
pub(super) struct List {
    names: Vec<u8>,
    entries: Vec<Listed>,
}

impl List {
    pub(super) fn entries(&self) -> &[Listed] {
        &self.entries
    }

    pub(super) fn name(&self, entry: &Listed) -> &[u8] {
        &self.names[entry.name_start..][..usize::from(entry.name_length)]
    }

    pub(super) fn sort_by_offset(&mut self) {
        self.entries.sort_by_key(|entry| entry.offset);
    }

    /// The sum of the stated unpacked sizes.
    pub(super) fn unpacked_bytes(&self) -> u64 {
        let sizes = self.entries.iter().map(|entry| entry.unpacked);
        sizes.fold(0, u64::saturating_add)
    }
}

/// Reads the list, which must have as many entries and bytes as the end record says.
pub(super) fn read_list<R: Read + Seek>(
    file: &mut R,
    end: &End,
    size: u64,
    scan: &mut Scan<'_>,
) -> Result<List, Failure> {
    let limit = scan.entries_limit().min(size / FIXED as u64);
    if end.count > limit {
        let message = format!("a list of {} entries: at most {limit} are read", end.count);
        return Err(failure(FaultKind::Limit, None, message));
    }
    file.seek(SeekFrom::Start(end.list_start))?;
    let mut bytes = file.take(end.list_length);
    let mut list = List::default();
    while bytes.limit() > 0 {
        if list.entries.len() as u64 >= end.count {
            let message = "the list has more entries than the end record says";
            return Err(ambiguous(None, message));
        }
        read_listed(&mut bytes, &mut list, scan)?;
    }
    if list.entries.len() as u64 == end.count {
        Ok(list)
    } else {
        let message = "the list has fewer entries than the end record says";
        Err(ambiguous(None, message))
    }
}

fn read_listed(bytes: &mut impl Read, list: &mut List, scan: &mut Scan<'_>) -> Result<(), Failure> {
    let mut fixed = [0; FIXED];
    let broken = |_| damaged("the list of its entries is broken");
    bytes.read_exact(&mut fixed).map_err(broken)?;
    if !fixed.starts_with(b"PK\x01\x02") {
        return Err(damaged("the list of its entries is broken"));
    }
    let lengths = [28, 30, 32].map(|at| usize::from(u16_at(&fixed, at)));
    let mut variable = vec![0; lengths.iter().sum()];
    bytes.read_exact(&mut variable).map_err(broken)?;
    let (name, rest) = variable.split_at(lengths[0]);
    let (extra, _comment) = rest.split_at(lengths[1]);
    if name.len() as u64 > ARCHIVE_MAX_NAME + 1 {
        let message = format!("a name of {} bytes", name.len());
        return Err(failure(FaultKind::Limit, None, message));
    }
    let refuse = |message: &str| ambiguous(Some(shown(name)), message);
    if has_end_mark(&variable) {
        return Err(refuse("its part of the list contains an end mark"));
    }
    let mut entry = Listed {
        name_start: list.names.len(),
        name_length: u16_at(&fixed, 28),
        flags: u16_at(&fixed, 8),
        method: u16_at(&fixed, 10),
        time: u32_at(&fixed, 12),
        crc: u32_at(&fixed, 16),
        packed: u64::from(u32_at(&fixed, 20)),
        unpacked: u64::from(u32_at(&fixed, 24)),
        offset: u64::from(u32_at(&fixed, 42)),
        kind: EntryKind::File,
    };
    let extra = Extra::parse(extra).map_err(refuse)?;
    let large = u64::from(u32::MAX);
    let values = [&mut entry.unpacked, &mut entry.packed, &mut entry.offset];
    let missing = values.into_iter().filter(|value| **value == large);
    extra::apply_large(extra.large, missing.collect()).map_err(refuse)?;
    if u16_at(&fixed, 34) != 0 {
        return Err(refuse("it begins in another part of the archive"));
    }
    check_version(u16_at(&fixed, 6)).map_err(refuse)?;
    if !entry.is_encrypted() && entry.flags & !KNOWN_FLAGS != 0 {
        return Err(refuse("it has unknown flags"));
    }
    entry.kind = kind_of(name, u16_at(&fixed, 4), u32_at(&fixed, 38)).map_err(refuse)?;
    if let Some((kind, message)) = name_fault(name, entry.flags) {
        // The entry is still read, to report whatever else is wrong with it.
        scan.fault(kind, Some(shown(name)), message);
    }
    list.names.extend_from_slice(name);
    list.entries.push(entry);
    Ok(())
}

/// Returns the fault of a name that only unpackers of zips disagree on.
fn name_fault(name: &[u8], flags: u16) -> Option<(FaultKind, &'static str)> {
    let is_version = |segment: &[u8]| {
        let digits = segment
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit());
        let end = segment.len() - digits.count();
        end > 0 && segment[end - 1] == b';'
    };
    if name
        .rsplit(|byte| *byte == b'/')
        .next()
        .is_some_and(is_version)
    {
        let message = "the name ends with `;`, or with `;` and a number, which unzip takes for \
                       a version and leaves out";
        return Some((FaultKind::Name, message));
    }
    if name.is_ascii() {
        return None;
    }
    if flags & UTF8 == 0 {
        let message = "the name is not marked as UTF-8, so unpackers disagree on its letters; pack \
                       it with a tool that marks names (7z, Python, bsdtar)";
        return Some((FaultKind::Unmarked, message));
    }
    let is_composed = str::from_utf8(name).is_ok_and(is_composed);
    let message = "the name is not in composed form (NFC), to which some unpackers convert it";
    (!is_composed).then_some((FaultKind::Name, message))
}

/// Checks the version needed: unpackers skip entries that ask for a later one.
pub(super) fn check_version(needed: u16) -> Result<(), &'static str> {
    match needed & 0xff {
        0..=45 => Ok(()),
        _ => Err("it asks for a later version of the format"),
    }
}

/// Returns the kind of an entry. Some unpackers go by the end of its name, some by Unix mode or DOS
/// attributes, depending on the system that the entry says it is from. So all of them have to
/// agree, whatever the system. It is a link if any of them says so.
fn kind_of(name: &[u8], made_by: u16, attributes: u32) -> Result<EntryKind, &'static str> {
    const DOS_FOLDER: u32 = 0x10;
    // A label, a device, a reparse point.
    const DOS_STRANGE: u32 = 0x448;
    // DOS, Unix, NTFS, VFAT, macOS.
    if !matches!(made_by >> 8, 0 | 3 | 10 | 14 | 19) {
        return Err("it is from a system whose attributes unpackers disagree on");
    }
    let by_mode = match (attributes >> 16) & 0o170_000 {
        0o120_000 => return Ok(EntryKind::Symlink),
        0o010_000 => return Ok(EntryKind::Fifo),
        0 => None,
        0o040_000 => Some(true),
        0o100_000 => Some(false),
        _ => return Ok(EntryKind::Special),
    };
    if attributes & DOS_STRANGE != 0 {
        return Err("its attributes say that it is neither a file nor a folder");
    }
    let is_folder = name.ends_with(b"/");
    let by_dos = (attributes & DOS_FOLDER != 0).then_some(true);
    if [by_mode, by_dos]
        .into_iter()
        .flatten()
        .any(|said| said != is_folder)
    {
        return Err("its name and its attributes disagree on whether it is a folder");
    }
    Ok(if is_folder {
        EntryKind::Directory
    } else {
        EntryKind::File
    })
}
