//! The end of a zip: the record that says where the list of entries is.

use std::io::{Read, Seek, SeekFrom};

use super::{Failure, ambiguous, damaged, has_end_mark, u16_at, u32_at, u64_at};

const RECORD: usize = 22;
const LOCATOR: u64 = 20;
const LARGE_RECORD: u64 = 56;

/// Where the list of entries is, as checked against where the end record is.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) list_start: u64,
    pub(super) list_length: u64,
    pub(super) count: u64,
}

/// Finds the one end record. It begins where the list ends, and ends with the archive.
pub(super) fn find_end<R: Read + Seek>(file: &mut R, size: u64) -> Result<End, Failure> {
    let tail_length = size.min((RECORD + usize::from(u16::MAX)) as u64);
    let tail_start = size - tail_length;
    file.seek(SeekFrom::Start(tail_start))?;
    let mut tail = vec![0; usize::try_from(tail_length).unwrap_or(0)];
    file.read_exact(&mut tail)?;
    let at = (0..(tail.len() + 1).saturating_sub(RECORD))
        .rev()
        .find(|at| tail[*at..].starts_with(b"PK\x05\x06"))
        .ok_or_else(|| damaged("it is cut off: the list of its entries is missing"))?;
    let record = &tail[at..];
    let comment = &record[RECORD..];
    if usize::from(u16_at(record, 20)) != comment.len() {
        let message = "the comment after the end of the list does not have the stated length; \
                       unpackers disagree on where the end is";
        return Err(ambiguous(None, message));
    }
    if has_end_mark(comment) {
        let message = "the comment contains another end mark";
        return Err(ambiguous(None, message));
    }
    let record_start = tail_start + at as u64;
    let large = read_large_record(file, record_start)?;
    combine(record, record_start, large)
}

/// The record for large archives: where it begins and what it says.
#[derive(Debug, Clone, Copy)]
struct LargeRecord {
    start: u64,
    end: End,
}

/// Reads the record for large archives, if there is one. Unpackers find it by its locator, directly
/// before the end record; some always use it, some only if a number does not fit the end record.
fn read_large_record<R: Read + Seek>(
    file: &mut R,
    record_start: u64,
) -> Result<Option<LargeRecord>, Failure> {
    let Some(locator_start) = record_start.checked_sub(LOCATOR) else {
        return Ok(None);
    };
    let mut locator = [0; LOCATOR as usize];
    file.seek(SeekFrom::Start(locator_start))?;
    file.read_exact(&mut locator)?;
    if !locator.starts_with(b"PK\x06\x07") {
        return Ok(None);
    }
    let refuse = |message: &str| ambiguous(None, message);
    let start = locator_start.checked_sub(LARGE_RECORD);
    let start = start.filter(|start| *start == u64_at(&locator, 8));
    let start = start.ok_or_else(|| {
        refuse("the record for large archives is not directly before its locator")
    })?;
    if u32_at(&locator, 4) != 0 || u32_at(&locator, 16) != 1 {
        return Err(refuse("it is one part of several"));
    }
    let mut large = [0; LARGE_RECORD as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut large)?;
    if !large.starts_with(b"PK\x06\x06") || u64_at(&large, 4) != LARGE_RECORD - 12 {
        return Err(refuse("the record for large archives is broken"));
    }
    if u32_at(&large, 16) != 0
        || u32_at(&large, 20) != 0
        || u64_at(&large, 24) != u64_at(&large, 32)
    {
        return Err(refuse("it is one part of several"));
    }
    let end = End {
        count: u64_at(&large, 32),
        list_length: u64_at(&large, 40),
        list_start: u64_at(&large, 48),
    };
    Ok(Some(LargeRecord { start, end }))
}

/// Combines both records, which must agree.
fn combine(record: &[u8], record_start: u64, large: Option<LargeRecord>) -> Result<End, Failure> {
    let refuse = |message: &str| ambiguous(None, message);
    if u16_at(record, 4) != 0 || u16_at(record, 6) != 0 || u16_at(record, 8) != u16_at(record, 10) {
        return Err(refuse("it is one part of several"));
    }
    let small = End {
        count: u64::from(u16_at(record, 10)),
        list_length: u64::from(u32_at(record, 12)),
        list_start: u64::from(u32_at(record, 16)),
    };
    let (end, list_end) = match large {
        None => (small, record_start),
        Some(large) => (large.end, large.start),
    };
    if large.is_some() {
        let (count_full, full) = (u64::from(u16::MAX), u64::from(u32::MAX));
        let pairs = [
            (small.count, end.count, count_full),
            (small.list_length, end.list_length, full),
            (small.list_start, end.list_start, full),
        ];
        let is_needed = pairs.iter().any(|(_, actual, full)| actual >= full);
        let agrees = |(small, actual, full): &(u64, u64, u64)| {
            small == actual || (small == full && actual >= full)
        };
        if !is_needed || !pairs.iter().all(agrees) {
            let message = "there is a record for large archives that is not needed or disagrees \
                           with the end record";
            return Err(refuse(message));
        }
    }
    if end.list_start.checked_add(end.list_length) != Some(list_end) {
        return Err(damaged(
            "the list of its entries is not where it should be; bytes were added before or \
             after it",
        ));
    }
    Ok(end)
}
