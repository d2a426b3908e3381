//! Archives and compressed files of kinds that are not read here, by how they begin and by what they
//! are called.
//!
//! Unpackers that read many kinds try them all: a tar that begins like a bzip2 stream is one for them,
//! and a tar called `x.iso` is a disc if a disc can be found in it.

use crate::container::{Container, sniff};

/// How files of a kind begin, what such a file is called, and whether people pack folders into it.
type Beginning = (&'static [u8], &'static str, bool);

const BEGINNINGS: [Beginning; 24] = [
    (b"\xfd7zXZ\0", "an xz archive", true),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", true),
    (b"Rar!\x1a\x07", "a RAR archive", true),
    (b"LZIP", "an lzip archive", true),
    (b"LRZI", "an lrzip archive", true),
    (b"GRZip", "a grzip archive", true),
    (b"\x04\x22\x4d\x18", "an lz4 archive", true),
    (b"\x02\x21\x4c\x18", "an lz4 archive", true),
    (b"\x89LZO\0\r\n\x1a\n", "an lzop archive", true),
    (b"\x1f\x9d", "a compress (.Z) archive", true),
    (b"\x1f\xa0", "a compress (.Z) archive", true),
    (b"MSCF\0\0\0\0", "a cabinet archive", true),
    (b"xar!", "a xar archive", true),
    (b"070701", "a cpio archive", true),
    (b"070702", "a cpio archive", true),
    (b"070707", "a cpio archive", true),
    (b"\xc7\x71", "a cpio archive", false),
    (b"\x71\xc7", "a cpio archive", false),
    (b"\x5d\0\0", "an lzma archive", false),
    (b"\xed\xab\xee\xdb", "an RPM package", false),
    (b"!<arch>", "an ar archive", false),
    (b"WARC/", "a WARC archive", false),
    (b"#mtree", "an mtree list", false),
    (b"begin", "a uuencoded file", false),
];

/// The most bytes at the end of a zip in which its end record begins.
pub const ZIP_TAIL: usize = 22 + 0xffff;

/// Whether a file with these last bytes, at most [`ZIP_TAIL`], is a zip for unpackers that look for the end
/// record only.
pub fn ends_like_zip(tail: &[u8]) -> bool {
    tail.windows(4).any(|bytes| bytes == b"PK\x05\x06")
}

/// What a file with this beginning is for some unpackers, if it is anything but a tar for them.
pub(crate) fn kind_beside_tar(head: &[u8]) -> Option<&'static str> {
    match sniff(head) {
        Some(Container::TarGz) => return Some("a gzip file"),
        Some(Container::TarZst) => return Some("a zstd file"),
        Some(Container::Zip) => return Some("a zip"),
        Some(Container::Tar) | None => {}
    }
    if is_bzip2(head) {
        return Some("a bzip2 archive");
    }
    // Not every file whose name begins so: a mode has to follow.
    if head.starts_with(b"begin") && !is_uuencoded(head) {
        return None;
    }
    if matches!(head.get(2..5), Some(b"-lh" | b"-lz")) {
        return Some("an LHA archive");
    }
    let found = BEGINNINGS
        .iter()
        .find(|(begin, ..)| head.starts_with(begin));
    found.map(|(_, name, _)| *name)
}

/// What an archive with this beginning is called, if it is of a kind into which people pack folders
/// and which is not read here.
pub fn sniff_unread(head: &[u8]) -> Option<&'static str> {
    if is_bzip2(head) {
        return Some("a bzip2 archive");
    }
    let packed = BEGINNINGS
        .iter()
        .filter(|(.., packs_folders)| *packs_folders);
    let mut found = packed.filter(|(begin, ..)| head.starts_with(begin));
    found.next().map(|(_, name, _)| *name)
}

fn is_bzip2(head: &[u8]) -> bool {
    matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..])
}

fn is_uuencoded(head: &[u8]) -> bool {
    let rest = &head[b"begin".len()..];
    let rest = rest.strip_prefix(b"-base64").unwrap_or(rest);
    matches!(rest, [b' ', b'0'..=b'7', ..])
}

/// Endings by which unpackers choose another kind of archive, or of disc image, than is read here.
const ENDINGS: [&str; 62] = [
    "001", "7z", "a", "apfs", "apm", "ar", "arj", "b64", "bz2", "bzip2", "cab", "cpio", "cramfs",
    "deb", "dmg", "ext", "ext2", "ext3", "ext4", "fat", "gpt", "hfs", "hfsx", "ihex", "img", "iso",
    "lha", "lpimg", "lz", "lz4", "lzh", "lzma", "lzma86", "lzo", "mbr", "nsis", "ntfs", "obj",
    "pkg", "qcow", "qcow2", "r00", "rar", "rpm", "scap", "simg", "squashfs", "taz", "tbz", "tbz2",
    "tlz", "txz", "udf", "uefif", "vdi", "vhd", "vhdx", "vmdk", "wim", "xar", "xz", "z",
];

/// The ending of a file's name, if unpackers take what is called so for another kind of archive or
/// image than is read here.
pub fn foreign_ending(file_name: &str) -> Option<&str> {
    let (_, ending) = file_name.rsplit_once('.')?;
    let is_foreign = ENDINGS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(ending));
    is_foreign.then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_other_kinds_are_known_and_ordinary_names_are_not() {
        for (head, name) in [
            (b"BZh91AY&SY".as_slice(), "a bzip2 archive"),
            (b"\xfd7zXZ\0\0", "an xz archive"),
            (b"]\0\0\x80\0", "an lzma archive"),
            (b"\x1f\x8b\x08", "a gzip file"),
            (b"begin 644 x", "a uuencoded file"),
            (b"begin-base64 644 x", "a uuencoded file"),
            (b" x-lh0-", "an LHA archive"),
        ] {
            assert_eq!(kind_beside_tar(head), Some(name));
        }
        for name in [
            "BZhang.txt",
            "begin here.md",
            "0707-notes.json",
            "WARC-1.md",
            "]a",
            "./",
            "",
        ] {
            assert_eq!(kind_beside_tar(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn kinds_that_hold_no_folders_are_no_archives_of_interest() {
        assert_eq!(sniff_unread(b"7z\xbc\xaf\x27\x1c"), Some("a 7z archive"));
        assert_eq!(sniff_unread(b"WARC/1.0"), None);
        assert_eq!(sniff_unread(b"plain text"), None);
    }

    #[test]
    fn foreign_endings_are_told_in_any_letter_case() {
        assert_eq!(foreign_ending("a.tar.XZ"), Some("XZ"));
        assert_eq!(foreign_ending("a.img"), Some("img"));
        for name in ["a.tar", "a.ova", "a.zip", "a.jar", "a.gz", "iso", "a.bak"] {
            assert_eq!(foreign_ending(name), None, "{name}");
        }
    }
}
