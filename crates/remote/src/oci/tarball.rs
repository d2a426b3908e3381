//! Writes the blocks of a tar that depends only on names and contents.
//!
//! Owner, group and time are zero; files are readable by everyone and writable by no one, as sealed
//! files are. The format is GNU's, in which all common unpackers agree on names of any length and
//! files of any size (docs/archives.md).

/// The size of a tar's blocks in bytes.
pub const BLOCK: u64 = 512;

/// The end of a tar: two zero blocks.
pub const END: [u8; 2 * BLOCK as usize] = [0; 2 * BLOCK as usize];

const FILE_MODE: u32 = 0o444;
const PROGRAM_MODE: u32 = 0o555;
const FOLDER_MODE: u32 = 0o755;

/// The kind of entry that a header describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of this size.
    File(u64),
    /// An executable file of this size.
    Program(u64),
    /// A folder.
    Folder,
}

/// Returns the blocks before an entry's content.
pub fn header(name: &str, kind: Kind) -> Vec<u8> {
    let mut blocks = Vec::with_capacity(BLOCK as usize);
    let name = match kind {
        Kind::Folder => format!("{name}/"),
        Kind::File(_) | Kind::Program(_) => name.to_owned(),
    };
    let name = name.as_bytes();
    if name.len() > 100 {
        // A long name is the content of a preceding entry, terminated by NUL.
        let size = name.len() as u64 + 1;
        blocks.extend(block(b"././@LongLink", b'L', 0, size));
        blocks.extend_from_slice(name);
        blocks.resize(blocks.len() + 1 + padding(size), 0);
    }
    let short = &name[..name.len().min(100)];
    let (flag, mode, size) = match kind {
        Kind::File(size) => (b'0', FILE_MODE, size),
        Kind::Program(size) => (b'0', PROGRAM_MODE, size),
        Kind::Folder => (b'5', FOLDER_MODE, 0),
    };
    blocks.extend(block(short, flag, mode, size));
    blocks
}

/// Returns the number of bytes that fill the last block after content of this size.
pub fn padding(size: u64) -> usize {
    let beyond = size % BLOCK;
    if beyond == 0 {
        0
    } else {
        (BLOCK - beyond) as usize
    }
}

fn block(name: &[u8], flag: u8, mode: u32, size: u64) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(format!("{mode:07o}\0").as_bytes());
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    // Eleven octal digits suffice up to 8 GiB; larger sizes are binary, with the top bit set.
    if size < 1 << 33 {
        block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        block[124] = 0x80;
        block[128..136].copy_from_slice(&size.to_be_bytes());
    }
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = flag;
    block[257..265].copy_from_slice(b"ustar  \0");
    // The checksum is computed with blanks in its own field.
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use runseal_archive::{Container, InlineDigester, Record, read_stream};

    use super::*;

    #[test]
    fn tar_is_read_the_same_by_us_and_another_reader() {
        let long = format!("{}/file", "d".repeat(120));
        let mut bytes = header("folder", Kind::Folder);
        for (name, text) in [("folder/a", "1"), (long.as_str(), "22")] {
            bytes.extend(header(name, Kind::File(text.len() as u64)));
            bytes.extend(text.as_bytes());
            bytes.resize(bytes.len() + padding(text.len() as u64), 0);
        }
        bytes.extend(END);
        let mut digester = InlineDigester::default();
        let archive = read_stream(Container::Tar, &*bytes, "t", &mut digester).unwrap();
        assert_eq!(archive.faults(), []);
        assert!(matches!(archive.get("folder"), Some(Record::Folder)));
        let mut other = tar::Archive::new(&*bytes);
        let mut seen = Vec::new();
        for entry in other.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mode = entry.header().mode().unwrap();
            seen.push((name, text, mode));
        }
        let entry = |name: &str, text: &str, mode| (name.to_owned(), text.to_owned(), mode);
        let expected = [
            entry("folder/", "", 0o755),
            entry("folder/a", "1", 0o444),
            entry(&long, "22", 0o444),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn size_beyond_eight_gigabytes_is_binary() {
        let size = (1_u64 << 33) + 5;
        let header = header("x", Kind::File(size));
        let parsed = tar::Header::from_byte_slice(&header);
        assert_eq!(parsed.entry_size().unwrap(), size);
        assert_eq!(padding(0) + padding(512), 0);
        assert_eq!(padding(513), 511);
    }
}
