//! gzip and Zstandard around a tar, by hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::Cases;
use super::tars::{file, tar};

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A gzip member with these flags and the header fields that they announce.
pub fn gz(bytes: &[u8], flags: u8, fields: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let mut member = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
    member.extend_from_slice(fields);
    member.extend(deflate(bytes));
    member.extend(crc.sum().to_le_bytes());
    member.extend(crc.amount().to_le_bytes());
    member
}

pub fn zst(bytes: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(bytes, level)
}

/// A frame of uncompressed blocks: descriptor, window, size, blocks, no checksum.
pub fn stored_frame(head: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut frame = [&[0x28, 0xb5, 0x2f, 0xfd], head].concat();
    let mut blocks = bytes.chunks(100_000).peekable();
    while let Some(block) = blocks.next() {
        let is_last = u32::from(blocks.peek().is_none());
        let header = u32::try_from(block.len()).unwrap() << 3 | is_last;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

fn skippable(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_le_bytes();
    [&[0x50, 0x2a, 0x4d, 0x18], length.as_slice(), content].concat()
}

pub fn add_hostile(cases: &mut Cases) {
    let inner = tar(&[file("good.json", "{}")]);
    let other = tar(&[file("hidden.json", "[]")]);
    let plain = gz(&inner, 0, b"");
    let mut add = |name: &str, parts: &[&[u8]]| cases.add(name, "tar.gz", parts.concat());
    add("two members", &[&plain, &gz(&other, 0, b"")]);
    add(
        "a tar in two members",
        &[&gz(&inner[..700], 0, b""), &gz(&inner[700..], 0, b"")],
    );
    add("an empty member after", &[&plain, &gz(b"", 0, b"")]);
    add("an empty member in front", &[&gz(b"", 0, b""), &plain]);
    add("a tail", &[&plain, b"tail"]);
    add("a tail of zeros", &[&plain, &[0; 512]]);
    add(
        "a tail that begins like a member",
        &[&plain, &[0x1f, 0x8b, 0x08]],
    );
    add("a zip after", &[&plain, b"PK\x05\x06", &[0; 18]]);
    add("reserved flags", &[&gz(&inner, 0x20, b"")]);
    add("a checksum of the header", &[&gz(&inner, 2, b"\0\0")]);
    add("a name without an end", &[&gz(&inner, 8, b"x")[..12]]);
    add(
        "an extra field that breaks off",
        &[&gz(&inner, 4, b"\xff\xff")],
    );
    add("an extra field", &[&gz(&inner, 4, b"\x06\0AB\x02\0xy")]);
    add("a stored zip inside", &[&gz(b"PK\x05\x06", 0, b"")]);
    add(
        "two tars in one member",
        &[&gz(&[inner.clone(), other.clone()].concat(), 0, b"")],
    );
    for (what, back) in [("size", 1), ("checksum", 8)] {
        let mut wrong = plain.clone();
        let at = wrong.len() - back;
        wrong[at] ^= 1;
        add(&format!("a wrong {what}"), &[&wrong]);
    }
    let mut method = plain.clone();
    method[2] = 7;
    add("an unknown method", &[&method]);
    add("no trailer", &[&plain[..plain.len() - 8]]);
    add("half a trailer", &[&plain[..plain.len() - 4]]);

    let plain = zst(&inner);
    let mut add = |name: &str, parts: &[&[u8]]| cases.add(name, "tar.zst", parts.concat());
    add("two frames", &[&plain, &zst(&other)]);
    add(
        "a tar in two frames",
        &[&zst(&inner[..700]), &zst(&inner[700..])],
    );
    add("a frame to skip in front", &[&skippable(b"hidden"), &plain]);
    add("a frame to skip after", &[&plain, &skippable(b"hidden")]);
    add("a tail", &[&plain, b"tail"]);
    add("a tail of zeros", &[&plain, &[0; 8]]);
    add("half a frame", &[&plain[..plain.len() / 2]]);
    add("a dictionary", &[&stored_frame(&[0x01, 0x50, 7], &inner)]);
    add(
        "a dictionary of four bytes",
        &[&stored_frame(&[0x03, 0x50, 7, 0, 0, 0], &inner)],
    );
    add("a reserved flag", &[&stored_frame(&[0x08, 0x50], &inner)]);
    add("an unused flag", &[&stored_frame(&[0x10, 0x50], &inner)]);
    add(
        "a window of gigabytes",
        &[&stored_frame(&[0x00, 0xf8], &inner)],
    );
    add(
        "a segment of gigabytes",
        &[&stored_frame(&[0xa0, 0, 0, 0, 0xf0], &inner)],
    );
    let size = u32::try_from(inner.len()).unwrap();
    for wrong in [size - 1, size + 1] {
        let head = [&[0xa0], wrong.to_le_bytes().as_slice()].concat();
        add(
            &format!("a size that is off: {wrong}"),
            &[&stored_frame(&head, &inner)],
        );
    }
    let head = [&[0xa4], size.to_le_bytes().as_slice()].concat();
    add("a wrong checksum", &[&stored_frame(&head, &inner), b"abcd"]);
}

pub fn add_unusual(cases: &mut Cases) {
    let inner = tar(&[file("good.json", "{}"), file("b/c", &"text ".repeat(5000))]);
    let mut add = |name: &str, bytes: Vec<u8>| cases.add(name, "tar.gz", bytes);
    add("plain", gz(&inner, 0, b""));
    add("with a name", gz(&inner, 8, b"other.tar\0"));
    add("with a comment", gz(&inner, 16, b"comment\0"));
    add("with both", gz(&inner, 24, b"name.tar\0comment\0"));
    add("marked as text", gz(&inner, 1, b""));
    let mut add = |name: &str, bytes: Vec<u8>| cases.add(name, "tar.zst", bytes);
    add("plain", zst(&inner));
    add("stored", stored_frame(&[0x00, 0x50], &inner));
    let size = u32::try_from(inner.len()).unwrap().to_le_bytes();
    add(
        "of a known size",
        stored_frame(&[&[0xa0], size.as_slice()].concat(), &inner),
    );
}
