//! Kinds of archives and compressed files that are not read here, by their first bytes and by their
//! file names.
//!
//! Unpackers that read many kinds try them all: they take a tar that begins like a bzip2 stream for
//! one, and look for a disc in a tar called `x.iso`.

use crate::container::{Container, sniff};

/// How files of a kind begin, what to call one, and whether people pack folders into it.
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

/// How close to the end of a zip its end record begins, in bytes.
pub const ZIP_TAIL: usize = 22 + 0xffff;

/// Whether unpackers that look only for the end record take a file with these last bytes, at most
/// [`ZIP_TAIL`], for a zip.
pub fn ends_like_zip(tail: &[u8]) -> bool {
    tail.windows(4).any(|bytes| bytes == b"PK\x05\x06")
}

/// Returns what some unpackers take a file with this beginning for, if not for a tar.
pub(crate) fn sniff_not_tar(head: &[u8]) -> Option<&'static str> {
    match sniff(head) {
        Some(Container::TarGz) => return Some("a gzip file"),
        Some(Container::TarZst) => return Some("a zstd file"),
        Some(Container::Zip) => return Some("a zip"),
        Some(Container::Tar) | None => {}
    }
    if is_bzip2(head) {
        return Some("a bzip2 archive");
    }
    // A tar may begin with a file named `begin…`; uuencoding has a mode next.
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

/// Returns what to call an archive with this beginning, if it is of a kind that people pack folders
/// into and that is not read here.
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

/// Endings that make unpackers expect another kind of archive, or a disc image.
const ENDINGS: [&str; 62] = [
    "001", "7z", "a", "apfs", "apm", "ar", "arj", "b64", "bz2", "bzip2", "cab", "cpio", "cramfs",
    "deb", "dmg", "ext", "ext2", "ext3", "ext4", "fat", "gpt", "hfs", "hfsx", "ihex", "img", "iso",
    "lha", "lpimg", "lz", "lz4", "lzh", "lzma", "lzma86", "lzo", "mbr", "nsis", "ntfs", "obj",
    "pkg", "qcow", "qcow2", "r00", "rar", "rpm", "scap", "simg", "squashfs", "taz", "tbz", "tbz2",
    "tlz", "txz", "udf", "uefif", "vdi", "vhd", "vhdx", "vmdk", "wim", "xar", "xz", "z",
];

/// Returns the ending of a file's name, if it makes unpackers expect a kind of archive or image
/// that is not read here.
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
            assert_eq!(sniff_not_tar(head), Some(name));
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
            assert_eq!(sniff_not_tar(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn kinds_without_folders_are_not_reported() {
        assert_eq!(sniff_unread(b"7z\xbc\xaf\x27\x1c"), Some("a 7z archive"));
        assert_eq!(sniff_unread(b"WARC/1.0"), None);
        assert_eq!(sniff_unread(b"plain text"), None);
    }

    #[test]
    fn foreign_ending_is_known_in_any_letter_case() {
        assert_eq!(foreign_ending("a.tar.XZ"), Some("XZ"));
        assert_eq!(foreign_ending("a.img"), Some("img"));
        for name in ["a.tar", "a.ova", "a.zip", "a.jar", "a.gz", "iso", "a.bak"] {
            assert_eq!(foreign_ending(name), None, "{name}");
        }
    }
}
