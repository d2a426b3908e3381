//! Headers that describe the next entry: GNU's long names (`L`, `K`) and those of pax (`x`, `g`).
//!
//! Unpackers disagree on which of several such headers counts, so at most one of them may name an
//! entry.

use std::io::Read;

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::{ARCHIVE_MAX_EXTENDED, ARCHIVE_MAX_NAME};

use super::header::Header;
use super::{BLOCK, Stop, ambiguous, damaged, stop};
use crate::container::fill;
use crate::names::is_composed;

/// What the headers before an entry said about it.
#[derive(Debug, Default)]
pub(super) struct Extended {
    gnu_name: Option<Vec<u8>>,
    has_gnu_target: bool,
    pax: Option<Pax>,
}

/// What one pax header said.
#[derive(Debug, Default)]
struct Pax {
    path: Option<Vec<u8>>,
    has_link_path: bool,
    size: Option<u64>,
}

impl Extended {
    /// Whether no header waits for its entry.
    pub(super) fn is_empty(&self) -> bool {
        self.gnu_name.is_none() && !self.has_gnu_target && self.pax.is_none()
    }

    /// Whether the next entry's name is from a pax header and bsdtar would write it under another
    /// one. A name that is not UTF-8 is a fault anyway.
    pub(super) fn has_decomposed_path(&self) -> bool {
        let path = self.pax.as_ref().and_then(|pax| pax.path.as_ref());
        path.is_some_and(|path| str::from_utf8(path).is_ok_and(|text| !is_composed(text)))
    }

    /// Reads the content of one of these headers.
    pub(super) fn read(
        &mut self,
        header: &Header<'_>,
        reader: &mut dyn Read,
        last: &Option<String>,
    ) -> Result<(), Stop> {
        let is_gnu = matches!(header.kind(), b'L' | b'K');
        let (limit, what) = if is_gnu {
            (ARCHIVE_MAX_NAME + 1, "name")
        } else {
            (ARCHIVE_MAX_EXTENDED, "header")
        };
        let bytes = read_bounded(reader, header.size(), limit, what, last)?;
        let is_second = match header.kind() {
            b'L' => self.gnu_name.is_some() || self.pax.is_some(),
            b'K' => self.has_gnu_target || self.pax.is_some(),
            b'x' => !self.is_empty(),
            // Some unpackers take a global header here for the entry's own.
            _ => !self.is_empty(),
        };
        if is_second {
            let message = "after this entry, several headers describe the next one; unpackers \
                           disagree on which of them counts";
            return Err(ambiguous(last.clone(), message));
        }
        let refuse =
            |message: &str| ambiguous(last.clone(), format!("after this entry, {message}"));
        match header.kind() {
            b'L' => self.gnu_name = Some(parse_gnu_name(bytes).map_err(refuse)?),
            // The target does not matter: links are never followed.
            b'K' => {
                parse_gnu_name(bytes).map_err(refuse)?;
                self.has_gnu_target = true;
            }
            b'x' => self.pax = Some(parse_pax(&bytes).map_err(refuse)?),
            _ => {
                let global = parse_pax(&bytes).map_err(refuse)?;
                if global.path.is_some() || global.has_link_path || global.size.is_some() {
                    return Err(refuse("a global header gives a name or size of entries"));
                }
            }
        }
        Ok(())
    }

    /// Returns the name of the next entry, and forgets what the headers said about it.
    pub(super) fn take_name(&mut self, header: &Header<'_>) -> Result<Vec<u8>, &'static str> {
        let Self {
            gnu_name,
            has_gnu_target,
            pax,
        } = std::mem::take(self);
        let pax = pax.unwrap_or_default();
        let is_link = matches!(header.kind(), b'1' | b'2');
        if !is_link && (has_gnu_target || pax.has_link_path) {
            return Err("an entry that is not a link has a target");
        }
        // Unpackers that ignore the pax size would find entries inside the content.
        if pax.size.is_some_and(|size| size != header.size()) {
            return Err(
                "its size is in a pax header only, which not every unpacker reads; pack it \
                 with --format=gnu",
            );
        }
        Ok(gnu_name.or(pax.path).unwrap_or_else(|| header.name()))
    }
}

/// Parses a name with an optional NUL at its end.
fn parse_gnu_name(mut name: Vec<u8>) -> Result<Vec<u8>, &'static str> {
    if name.last() == Some(&0) {
        name.pop();
    }
    if name.is_empty() || name.contains(&0) {
        Err("a long name is empty or contains NUL")
    } else {
        Ok(name)
    }
}

/// Parses `<length> <key>=<value>\n` records.
fn parse_pax(mut text: &[u8]) -> Result<Pax, &'static str> {
    let mut pax = Pax::default();
    let mut keys: Vec<&[u8]> = Vec::new();
    while !text.is_empty() {
        let (record, rest) = split_record(text).ok_or("an extended header is broken")?;
        text = rest;
        let equals = record.iter().position(|byte| *byte == b'=');
        let (key, value) = record.split_at(equals.ok_or("an extended header is broken")?);
        let value = &value[1..];
        check_key(key, value)?;
        keys.push(key);
        match key {
            b"path" => pax.path = Some(parse_pax_name(value)?),
            b"linkpath" => pax.has_link_path = parse_pax_name(value).map(|_| true)?,
            b"size" => pax.size = Some(parse_size(value).ok_or("a pax size is not a number")?),
            _ => {}
        }
    }
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        Err("an extended header has a duplicate key")
    } else {
        Ok(pax)
    }
}

/// Splits off the first record, without its length and newline.
fn split_record(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().take(8).position(|byte| *byte == b' ')?;
    let length = usize::try_from(parse_size(&text[..space])?).ok()?;
    let record = text.get(space + 1..length)?.strip_suffix(b"\n")?;
    Some((record, &text[length..]))
}

/// Parses decimal digits without a sign, blanks or leading zeros.
fn parse_size(digits: &[u8]) -> Option<u64> {
    let is_plain =
        digits.iter().all(u8::is_ascii_digit) && (digits == b"0" || digits.first() != Some(&b'0'));
    str::from_utf8(digits)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()
}

fn parse_pax_name(value: &[u8]) -> Result<Vec<u8>, &'static str> {
    if value.is_empty() || value.contains(&0) {
        Err("a pax name is empty or contains NUL")
    } else {
        Ok(value.to_vec())
    }
}

/// Accepts keys that are read here or that affect neither the name nor the content.
fn check_key(key: &[u8], value: &[u8]) -> Result<(), &'static str> {
    let is_text = !key.is_empty() && key.iter().all(u8::is_ascii_graphic);
    let text = str::from_utf8(key).ok().filter(|_| is_text);
    let text = text.ok_or("an extended header has a key that is not a word")?;
    let is_harmless = match text {
        "path" | "linkpath" | "size" | "atime" | "ctime" | "mtime" | "uid" | "gid" | "uname"
        | "gname" | "comment" => true,
        "hdrcharset" => value == b"ISO-IR 10646 2000 UTF-8",
        "SCHILY.dev"
        | "SCHILY.ino"
        | "SCHILY.nlink"
        | "SCHILY.fflags"
        | "LIBARCHIVE.creationtime"
        | "RHT.security.selinux" => true,
        vendor => match vendor.split_once('.') {
            Some(("SCHILY", rest)) => rest.starts_with("xattr.") || rest.starts_with("acl."),
            Some(("LIBARCHIVE", rest)) => rest.starts_with("xattr."),
            // GNU.sparse and the like change the content; POSIX's own namespaces are not known.
            Some(("GNU" | "SUN" | "RHT" | "realtime" | "security" | "", _)) | None => false,
            // No common unpacker reads the keys of other vendors.
            Some(_) => true,
        },
    };
    if is_harmless {
        Ok(())
    } else {
        Err(
            "an extended header has a key that changes names or content for some unpackers \
             (sparse files, character sets); pack it without them",
        )
    }
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
            format!("after this entry, a {what} of {size} bytes: at most {limit} are read");
        return Err(stop(FaultKind::Limit, last.clone(), message));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size.next_multiple_of(BLOCK)];
    let filled = fill(reader, &mut bytes).map_err(|error| Stop::Read(error, last.clone()))?;
    if filled < bytes.len() {
        return Err(damaged(last.clone(), "it is cut off after this entry"));
    }
    bytes.truncate(size);
    Ok(bytes)
}
