//! Reads a tar (ustar, GNU or pax) as a stream.
//!
//! Written here because every length in a header has to be bounded before it is believed, and
//! because what unpackers read in different ways has to be reported, not smoothed over: content
//! after a folder's header hides entries from one of them; of two headers that name the next entry,
//! one takes the first and another the last; and so on. Reading stops at such a place.

mod extended;
mod header;

use std::io::{self, Read};

use runseal_core::formats::archive::{ArchiveFault, FaultKind};
use runseal_core::source::EntryKind;

use crate::container::fill;
use crate::foreign::sniff_not_tar;
use crate::scan::{Room, Scan, shown};
use extended::Extended;
use header::Header;

pub(crate) use header::has_checksum;

const BLOCK: usize = 512;

/// Why reading ended before the archive did.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A fault of the archive.
    Fault(ArchiveFault),
    /// Reading failed, at this entry if any.
    Read(io::Error, Option<String>),
}

fn stop(kind: FaultKind, path: Option<String>, message: impl Into<String>) -> Stop {
    Stop::Fault(ArchiveFault {
        kind,
        path,
        message: message.into(),
    })
}

fn damaged(path: Option<String>, message: impl Into<String>) -> Stop {
    stop(FaultKind::Damaged, path, message)
}

fn ambiguous(path: Option<String>, message: impl Into<String>) -> Stop {
    stop(FaultKind::Ambiguous, path, message)
}

/// Reads a tar to its end.
pub(crate) fn scan_tar(reader: &mut dyn Read, scan: &mut Scan<'_>) -> Result<(), Stop> {
    let mut extended = Extended::default();
    let mut is_first = true;
    // The last name, to say where damage is. Turned into text only when needed.
    let mut last: Vec<u8> = Vec::new();
    let place = |last: &[u8]| (!last.is_empty()).then(|| shown(last));
    loop {
        let mut block = [0; BLOCK];
        match fill(reader, &mut block).map_err(|error| Stop::Read(error, place(&last)))? {
            BLOCK => {}
            0 => {
                let message = "it is cut off: the end mark is missing";
                return Err(damaged(None, message));
            }
            _ => return Err(damaged(place(&last), "it is cut off after this entry")),
        }
        if block.iter().all(|byte| *byte == 0) {
            return scan_end(reader, &extended);
        }
        if std::mem::take(&mut is_first)
            && let Some(kind) = sniff_not_tar(&block)
        {
            let message = format!("it begins like {kind}, and some unpackers take it for one");
            return Err(ambiguous(None, message));
        }
        let header = Header::new(&block).map_err(|fault| fault.into_stop(place(&last)))?;
        let is_extended = matches!(header.kind(), b'L' | b'K' | b'x' | b'g');
        if is_extended || !extended.is_empty() {
            header
                .check_unused_name()
                .map_err(|message| ambiguous(place(&last), message))?;
        }
        if is_extended {
            extended.read(&header, reader, &place(&last))?;
            continue;
        }
        if scan.room() == Room::None {
            return Ok(());
        }
        let is_decomposed = extended.has_decomposed_path();
        let name = extended.take_name(&header).map_err(|message| {
            let name = header.name();
            ambiguous(Some(shown(&name)), message)
        })?;
        if is_decomposed {
            let message = "the name is in a pax header and not in composed form (NFC), to which \
                           bsdtar converts it; pack it with --format=gnu";
            scan.fault(FaultKind::Name, Some(shown(&name)), message);
        }
        scan_entry(&header, &name, reader, scan)?;
        last = name;
    }
}

/// Reads one entry and the padding after it.
fn scan_entry(
    header: &Header<'_>,
    name: &[u8],
    reader: &mut dyn Read,
    scan: &mut Scan<'_>,
) -> Result<(), Stop> {
    let at = || Some(shown(name));
    let size = header.size();
    let is_link = matches!(header.kind(), b'1' | b'2');
    if !matches!(header.kind(), b'0' | b'\0') && size > 0 {
        let message = format!(
            "an entry that is not a file states {size} bytes of content: some unpackers skip them, \
             some read entries in them"
        );
        return Err(ambiguous(at(), message));
    }
    // Python goes by the name in this header, even if another header names the entry.
    let is_old_folder = header.kind() == 0 && header.name().ends_with(b"/");
    match header.kind() {
        b'0' | b'\0' if name.ends_with(b"/") || is_old_folder => {
            let message = "a file name ends with `/`: some unpackers make it a folder";
            return Err(ambiguous(at(), message));
        }
        b'0' | b'\0' => {
            let mut content = reader.take(size);
            let read = scan
                .add_file(name, size, &mut content)
                .map_err(|error| Stop::Read(error, at()))?;
            let padding = size.next_multiple_of(BLOCK as u64) - size;
            let skipped = skip(reader, padding).map_err(|error| Stop::Read(error, at()))?;
            if read.bytes < size || skipped < padding {
                return Err(damaged(at(), "it is cut off in this entry"));
            }
        }
        b'5' => scan.add_folder(name),
        b'1' => {
            let message = "a hard link has no content; it was not followed";
            scan.fault(FaultKind::Link, at(), message);
        }
        b'2' => scan.add_other(name, EntryKind::Symlink),
        b'6' => scan.add_other(name, EntryKind::Fifo),
        b'3' | b'4' => scan.add_other(name, EntryKind::Special),
        b'S' => {
            let message = "sparse files are not read; pack it without --sparse";
            return Err(damaged(at(), message));
        }
        other => {
            let message = format!("entries of type `{}` are not read", other.escape_ascii());
            return Err(damaged(at(), message));
        }
    }
    if !is_link && header.has_link_name() {
        let message = "an entry that is not a link has a target";
        return Err(ambiguous(at(), message));
    }
    Ok(())
}

/// Checks that the first empty block is followed by a second, and by nothing but empty blocks.
fn scan_end(reader: &mut dyn Read, extended: &Extended) -> Result<(), Stop> {
    if !extended.is_empty() {
        let message = "a header at the end describes an entry that does not follow";
        return Err(ambiguous(None, message));
    }
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let filled = fill(reader, &mut buffer).map_err(|error| Stop::Read(error, None))?;
        if buffer[..filled].iter().any(|byte| *byte != 0) {
            let message = "there are bytes after the end mark: some unpackers continue there";
            return Err(ambiguous(None, message));
        }
        total += filled;
        if filled < buffer.len() {
            break;
        }
    }
    if total < BLOCK || !total.is_multiple_of(BLOCK) {
        let message = "it is cut off: the end mark is two empty blocks";
        return Err(damaged(None, message));
    }
    Ok(())
}

/// Skips `count` bytes, at most one block; returns how many there were.
fn skip(reader: &mut dyn Read, count: u64) -> io::Result<u64> {
    let mut block = [0; BLOCK];
    let count = usize::try_from(count).unwrap_or(BLOCK).min(BLOCK);
    fill(reader, &mut block[..count]).map(|filled| filled as u64)
}
