//! Writes a zip of uncompressed files in a given order, without times and permissions of their own,
//! so that the same files give the same bytes. Does not support files of 4 GiB and more.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};

/// Why a zip was not written.
#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    /// It would need extensions that not every reader supports.
    #[error("a zip for every reader holds less than 4 GiB and 65535 files; write a folder")]
    TooLarge,
    /// A file could not be read, or the zip could not be written.
    #[error("the zip could not be written")]
    Io(#[from] io::Error),
}

impl Diagnose for ZipError {
    fn diagnosis(&self) -> Diagnosis {
        let code = match self {
            Self::TooLarge => "TOO_LARGE",
            Self::Io(_) => "WRITE",
        };
        Diagnosis::unreadable(self, code).located(Location::Named)
    }
}

/// 1980-01-01 00:00, the earliest time in a zip.
const NO_TIME: [u8; 4] = [0, 0, 0x21, 0];
/// The version that a reader needs for plain files.
const NEEDED: u16 = 20;
/// Made on Unix, so that the mode is honoured.
const MADE_BY: u16 = 3 << 8 | NEEDED;
/// A name in UTF-8.
const UTF8: u16 = 1 << 11;
/// A regular file that everybody may read.
const MODE: u32 = 0o100_644 << 16;

struct Entry<'a> {
    name: &'a str,
    crc: u32,
    size: u32,
    offset: u32,
}

/// Writes the files of these names below `folder`.
///
/// # Errors
/// [`ZipError`].
pub(super) fn write_stored(
    folder: &Path,
    names: &[String],
    out: &mut dyn Write,
) -> Result<(), ZipError> {
    let count = u16::try_from(names.len()).map_err(|_| ZipError::TooLarge)?;
    let mut offset = 0_u64;
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let path = folder.join(name);
        let (crc, size) = sum_up(File::open(&path)?)?;
        let entry = Entry {
            name,
            crc,
            size,
            offset: u32::try_from(offset).map_err(|_| ZipError::TooLarge)?,
        };
        let head = local_header(&entry)?;
        out.write_all(&head)?;
        let copied = io::copy(&mut File::open(&path)?, out)?;
        offset += head.len() as u64 + copied;
        entries.push(entry);
    }
    let start = u32::try_from(offset).map_err(|_| ZipError::TooLarge)?;
    let mut list = Vec::new();
    for entry in &entries {
        add_to_list(&mut list, entry)?;
    }
    let length = u32::try_from(list.len()).map_err(|_| ZipError::TooLarge)?;
    out.write_all(&list)?;
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend([count, count].into_iter().flat_map(u16::to_le_bytes));
    end.extend([length, start].into_iter().flat_map(u32::to_le_bytes));
    end.extend([0, 0]);
    out.write_all(&end)?;
    Ok(())
}

/// The part that both headers of an entry share, from the version on.
fn shared(entry: &Entry<'_>) -> Result<Vec<u8>, ZipError> {
    let name = u16::try_from(entry.name.len()).map_err(|_| ZipError::TooLarge)?;
    let mut bytes = Vec::new();
    bytes.extend([NEEDED, UTF8, 0].into_iter().flat_map(u16::to_le_bytes));
    bytes.extend(NO_TIME);
    let numbers = [entry.crc, entry.size, entry.size];
    bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
    bytes.extend([name, 0].into_iter().flat_map(u16::to_le_bytes));
    Ok(bytes)
}

fn local_header(entry: &Entry<'_>) -> Result<Vec<u8>, ZipError> {
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(shared(entry)?);
    bytes.extend(entry.name.as_bytes());
    Ok(bytes)
}

fn add_to_list(list: &mut Vec<u8>, entry: &Entry<'_>) -> Result<(), ZipError> {
    list.extend(b"PK\x01\x02");
    list.extend(MADE_BY.to_le_bytes());
    list.extend(shared(entry)?);
    // No comment, one disk, not marked as text.
    list.extend([0; 6]);
    list.extend(MODE.to_le_bytes());
    list.extend(entry.offset.to_le_bytes());
    list.extend(entry.name.as_bytes());
    Ok(())
}

/// The checksum and size of a file.
fn sum_up(mut file: File) -> Result<(u32, u32), ZipError> {
    let mut buffer = vec![0; 64 << 10];
    let (mut crc, mut size) = (u32::MAX, 0_u64);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => {
                crc = buffer[..count]
                    .iter()
                    .fold(crc, |crc, byte| next_crc(crc, *byte));
                size += count as u64;
            }
        }
    }
    let size = u32::try_from(size).map_err(|_| ZipError::TooLarge)?;
    Ok((!crc, size))
}

/// Processes one byte of CRC-32 with zip's polynomial, using a table of 256 values.
fn next_crc(crc: u32, byte: u8) -> u32 {
    (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)]
}

static TABLE: [u32; 256] = make_table();

const fn make_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = match value & 1 {
                1 => (value >> 1) ^ 0xedb8_8320,
                _ => value >> 1,
            };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_the_check_text_is_the_published_one() {
        let crc = b"123456789"
            .iter()
            .fold(u32::MAX, |crc, byte| next_crc(crc, *byte));
        assert_eq!(!crc, 0xcbf4_3926);
    }

    #[test]
    fn zip_written_is_read_back_without_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/é.txt"), "1").unwrap();
        std::fs::write(folder.path().join("b"), "").unwrap();
        let names = ["a/é.txt".to_owned(), "b".to_owned()];
        let zip = folder.path().join("x.zip");
        let mut out = File::create(&zip).unwrap();
        write_stored(folder.path(), &names, &mut out).unwrap();
        let archive = runseal_fs::archive::read_archive_file(&zip)
            .unwrap()
            .unwrap();
        assert_eq!(archive.faults(), []);
        let read: Vec<_> = archive.below("").map(|(name, _)| name.to_vec()).collect();
        assert_eq!(read, [b"a".as_slice(), "a/é.txt".as_bytes(), b"b"]);
    }
}
