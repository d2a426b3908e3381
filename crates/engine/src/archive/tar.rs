//! Reads a tar, ustar or GNU or pax, as it goes by.
//!
//! Written here because every length in a header has to be bounded before it is believed, and
//! because what is unusual (sparse files, links, data behind the end) has to be named instead of
//! being smoothed over.

use std::io::{self, Read};

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::{ARCHIVE_MAX_EXTENDED, ARCHIVE_MAX_NAME};
use runseal_core::source::EntryKind;

use super::scan::{Room, Scan, shown};
use crate::input::fill;

const BLOCK: usize = 512;

/// Why reading ended before the archive did.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something about the archive.
    Fault(FaultKind, Option<String>, String),
    /// Reading failed; where.
    Read(io::Error, Option<String>),
}

fn damaged(path: Option<String>, message: &str) -> Stop {
    Stop::Fault(FaultKind::Damaged, path, message.to_owned())
}

/// What extended headers said about the next entry.
#[derive(Debug, Default)]
struct Extended {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Reads a tar to its end.
pub(super) fn scan_tar(reader: &mut dyn Read, scan: &mut Scan) -> Result<(), Stop> {
    let mut extended = Extended::default();
    let mut last: Option<String> = None;
    loop {
        let mut block = [0; BLOCK];
        let filled = fill(reader, &mut block).map_err(|error| Stop::Read(error, last.clone()))?;
        match filled {
            BLOCK => {}
            0 => {
                return Err(damaged(
                    None,
                    "it breaks off: the mark of its end is missing",
                ));
            }
            _ => return Err(damaged(last, "it breaks off behind this entry")),
        }
        if block.iter().all(|byte| *byte == 0) {
            return scan_end(reader);
        }
        let header = Header(&block);
        if !header.has_checksum() {
            return Err(damaged(last, "the header behind this entry is none of tar"));
        }
        let stated = header.size().ok_or_else(|| {
            damaged(
                Some(shown(&header.name())),
                "the header's size is no number",
            )
        })?;
        match header.kind() {
            b'L' => {
                let name = read_bounded(reader, stated, ARCHIVE_MAX_NAME, "name", &last)?;
                let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
                extended.name = Some(name[..end].to_vec());
                continue;
            }
            // The target of a link does not matter: it is never followed.
            b'K' => {
                read_bounded(reader, stated, ARCHIVE_MAX_NAME, "link target", &last)?;
                continue;
            }
            b'x' => {
                let text = read_bounded(reader, stated, ARCHIVE_MAX_EXTENDED, "header", &last)?;
                parse_pax(&text, &mut extended)
                    .ok_or_else(|| damaged(last.clone(), "the extended header is broken"))?;
                continue;
            }
            b'g' => {
                let text = read_bounded(reader, stated, ARCHIVE_MAX_EXTENDED, "header", &last)?;
                let mut global = Extended::default();
                let parsed = parse_pax(&text, &mut global);
                if parsed.is_none() || global.name.is_some() || global.size.is_some() {
                    let message = "a global header that changes names or sizes is not read";
                    return Err(damaged(last, message));
                }
                continue;
            }
            _ => {}
        }
        let Extended {
            name,
            size,
            is_sparse,
        } = std::mem::take(&mut extended);
        let name = name.unwrap_or_else(|| header.name());
        let size = size.unwrap_or(stated);
        let at = Some(shown(&name));
        if scan.room() == Room::None {
            return Ok(());
        }
        if is_sparse || header.kind() == b'S' {
            return Err(damaged(
                at,
                "sparse files are not read; pack it without --sparse",
            ));
        }
        let left = scan_entry(header.kind(), &name, size, reader, scan)
            .map_err(|error| Stop::Read(error, at.clone()))?;
        if left > 0 {
            return Err(damaged(at, "it breaks off in the middle of this entry"));
        }
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        skip(reader, padding).map_err(|error| Stop::Read(error, at.clone()))?;
        last = at;
    }
}

/// Reads one entry; gives the bytes that are missing of it.
fn scan_entry(
    kind: u8,
    name: &[u8],
    size: u64,
    reader: &mut dyn Read,
    scan: &mut Scan,
) -> io::Result<u64> {
    let mut content = reader.take(size);
    match kind {
        b'0' | b'\0' | b'7' if !name.ends_with(b"/") => {
            let read = scan.add_file(name, &mut content)?;
            return Ok(size - read.bytes);
        }
        b'5' | b'0' | b'\0' => scan.add_folder(name),
        b'1' => {
            let message = "a hard link has no content of its own; it was not followed";
            scan.fault(FaultKind::Link, Some(shown(name)), message);
        }
        b'2' => scan.add_other(name, EntryKind::Symlink),
        b'6' => scan.add_other(name, EntryKind::Fifo),
        b'3' | b'4' => scan.add_other(name, EntryKind::Special),
        other => {
            let message = format!("entries of type `{}` are not read", other.escape_ascii());
            scan.fault(FaultKind::Damaged, Some(shown(name)), message);
        }
    }
    skip(&mut content, u64::MAX)?;
    Ok(content.limit())
}

/// Behind the mark of the end there may be nothing but padding.
fn scan_end(reader: &mut dyn Read) -> Result<(), Stop> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let filled = fill(reader, &mut buffer).map_err(|error| Stop::Read(error, None))?;
        if buffer[..filled].iter().any(|byte| *byte != 0) {
            return Err(damaged(None, "there is more behind the mark of its end"));
        }
        if filled < buffer.len() {
            return Ok(());
        }
    }
}

fn skip(reader: &mut dyn Read, count: u64) -> io::Result<()> {
    io::copy(&mut reader.take(count), &mut io::sink()).map(|_| ())
}

/// Reads the content of a header that describes another entry, with its padding.
fn read_bounded(
    reader: &mut dyn Read,
    size: u64,
    limit: u64,
    what: &str,
    last: &Option<String>,
) -> Result<Vec<u8>, Stop> {
    if size > limit {
        let message =
            format!("behind this entry, a {what} of {size} bytes: at most {limit} are read");
        return Err(Stop::Fault(FaultKind::Limit, last.clone(), message));
    }
    let padded = usize::try_from(size.next_multiple_of(BLOCK as u64)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; padded];
    let filled = fill(reader, &mut bytes).map_err(|error| Stop::Read(error, last.clone()))?;
    if filled < padded {
        return Err(damaged(last.clone(), "it breaks off behind this entry"));
    }
    bytes.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    Ok(bytes)
}

/// Reads `<length> <key>=<value>\n` records.
fn parse_pax(mut text: &[u8], extended: &mut Extended) -> Option<()> {
    while !text.is_empty() {
        let space = text.iter().position(|byte| *byte == b' ')?;
        let length: usize = str::from_utf8(&text[..space]).ok()?.parse().ok()?;
        let record = text.get(space + 1..length)?.strip_suffix(b"\n")?;
        text = &text[length..];
        let equals = record.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        match key {
            b"path" => extended.name = Some(value.to_vec()),
            b"size" => extended.size = Some(str::from_utf8(value).ok()?.parse().ok()?),
            key if key.starts_with(b"GNU.sparse.") => extended.is_sparse = true,
            _ => {}
        }
    }
    Some(())
}

struct Header<'a>(&'a [u8; BLOCK]);

impl Header<'_> {
    fn field(&self, range: std::ops::Range<usize>) -> &[u8] {
        let field = &self.0[range];
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        &field[..end]
    }

    fn name(&self) -> Vec<u8> {
        let name = self.field(0..100);
        // GNU uses the place of the prefix for other things.
        let prefix = if &self.0[257..263] == b"ustar\0" {
            self.field(345..500)
        } else {
            b""
        };
        if prefix.is_empty() {
            return name.to_vec();
        }
        [prefix, b"/", name].concat()
    }

    fn kind(&self) -> u8 {
        self.0[156]
    }

    fn size(&self) -> Option<u64> {
        parse_number(&self.0[124..136])
    }

    fn has_checksum(&self) -> bool {
        let in_field = |at: usize| (148..156).contains(&at);
        let sum: u64 = (self.0.iter().enumerate())
            .map(|(at, byte)| u64::from(if in_field(at) { b' ' } else { *byte }))
            .sum();
        parse_number(&self.0[148..156]) == Some(sum)
    }
}

/// An octal number, or GNU's binary one for what octal digits have no room for.
fn parse_number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        if field[0] != 0x80 {
            return None;
        }
        return field[1..].iter().try_fold(0u64, |number, byte| {
            number.checked_mul(256)?.checked_add(u64::from(*byte))
        });
    }
    let text = str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|c| c == ' ' || c == '\0');
    if digits.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(digits, 8).ok()
}
