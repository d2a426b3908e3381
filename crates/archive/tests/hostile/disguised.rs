//! Tars that other readers take for something else: they begin like another format, or the name in
//! a header is not the name of its entry.

use super::Cases;
use super::streams::{gz, zst};
use super::tars::{entry, file, long, patched, pax, pax_record, tar};

/// A whole bzip2 stream of a tar in which `bundle.json` says `evil`.
const BZIP2: &str = "425a68393141592653590aaf39e20000215b80c98040014500020056358b00002820005450681a00d0f506453f5434d36a3407a75229da0454681a99a21806bd7224c221e35b384c9c4c5b99ba274003975fc5dc914e142402abce7880";

/// The beginning of an lzma stream, for a file whose name begins with `]`.
const LZMA: &str = "5d00000004ffffffffffffffff00329d89565e4c7c4acc4b4bab9cd91409ceb944aadae23a9b3f249944e3934aaa33899aa6637af2ff58edffffe3093e80";

fn decode(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// The beginnings of formats that unpackers look for before a tar.
fn beginnings() -> Vec<(&'static str, Vec<u8>)> {
    let plain: [(&str, &[u8]); 20] = [
        ("xz", b"\xfd7zXZ\0\x00\x04"),
        ("lz4", b"\x04\x22\x4d\x18\x64\x40\xa7"),
        ("lzip", b"LZIP\x01\x0c"),
        ("lrzip", b"LRZI\0\x06"),
        ("grzip", b"GRZipII\0\x02\x04:)"),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"),
        ("compress", b"\x1f\x9d\x90"),
        ("zstd", b"\x28\xb5\x2f\xfd\x24\x01"),
        ("rpm", b"\xed\xab\xee\xdb\x03\0\0\0"),
        ("uuencode", b"begin 644 evil\n$979I;```\n`\nend\n"),
        ("base64", b"begin-base64 644 evil\nZXZpbA==\n====\n"),
        (
            "ar",
            b"!<arch>\nevil/           0           0     0     644     4         `\nevil",
        ),
        ("cabinet", b"MSCF\0\0\0\0"),
        ("xar", b"xar!\0\x1c\0\x01"),
        ("WARC", b"WARC/1.0\r\nWARC-Type: resource\r\n"),
        ("7z", b"7z\xbc\xaf\x27\x1c\0\x04"),
        ("RAR", b"Rar!\x1a\x07\0"),
        ("cpio", b"070707"),
        ("LHA", b"  -lh0-"),
        ("mtree", b"#mtree\nevil type=file\n"),
    ];
    let plain = plain
        .into_iter()
        .map(|(name, bytes)| (name, bytes.to_vec()));
    let streams = [("bzip2", decode(BZIP2)), ("lzma", decode(LZMA))];
    plain.chain(streams).collect()
}

/// Adds a tar plain and compressed in each way.
fn add_wrapped(cases: &mut Cases, name: &str, bytes: &[u8]) {
    cases.add(name, "tar", bytes.to_vec());
    cases.add(name, "tar.gz", gz(bytes, 0, b""));
    cases.add(name, "tar.zst", zst(bytes));
}

pub fn add_hostile(cases: &mut Cases) {
    let good = || file("bundle.json", "{}");
    let comment = pax_record(b"comment", b"x");
    for (what, begin) in beginnings() {
        for (kind, content) in [
            (b'x', comment.as_slice()),
            (b'g', &comment),
            (b'L', b"bundle.json\0"),
        ] {
            let name = format!(
                "a first header {} that begins like {what}",
                char::from(kind)
            );
            let first = entry(&begin, kind, content);
            add_wrapped(cases, &name, &tar(&[first.clone(), good()]));
            let v7 = patched(first, &[(257, &[0; 8])]);
            cases.add(
                format!("{name}, v7"),
                "tar.gz",
                gz(&tar(&[v7, good()]), 0, b""),
            );
        }
        let name = format!("a first file that begins like {what}");
        add_wrapped(cases, &name, &tar(&[entry(&begin, b'0', b"x"), good()]));
    }
    add_wrapped(
        cases,
        "a first file named like bzip2",
        &tar(&[file("BZh91AY&SYabc", "x"), good()]),
    );
    cases.add(
        "gzip in gzip",
        "tar.gz",
        gz(&gz(&tar(&[good()]), 0, b""), 0, b""),
    );
    let mut add = |name: &str, entries: &[Vec<u8>]| cases.add(name, "tar", tar(entries));
    add(
        "more after the NUL of a name",
        &[good(), entry(b"y\0../../z", b'0', b"x")],
    );
    add(
        "a later header x whose name is a stream",
        &[
            good(),
            entry(&decode(BZIP2), b'x', &comment),
            file("y", "x"),
        ],
    );
    add(
        "an lzma header without a limit as the name of a header",
        &[
            entry(b"]\xff\xff\xff\xff\xff\xff\xff\xff", b'x', &comment),
            good(),
        ],
    );
    for kind in [b'x', b'g'] {
        let header = patched(pax(kind, &[("comment", "x")]), &[(157, b"target")]);
        add("a target in an extended header", &[header, good()]);
    }
    add(
        "a target after a NUL",
        &[patched(good(), &[(158, b"target")])],
    );
    // Type NUL and a name that ends with `/` make it a folder for Python, whatever its final name.
    let folder = |content: &[u8]| entry(b"y/", 0, content);
    let hidden = file("bundle.json", "[]");
    add(
        "pax path over an old folder",
        &[good(), pax(b'x', &[("path", "notes.bin")]), folder(&hidden)],
    );
    add(
        "long name over an old folder",
        &[good(), long(b'L', "notes.bin"), folder(&hidden)],
    );
    add(
        "pax path over an old folder of v7",
        &[
            good(),
            pax(b'x', &[("path", "notes.bin")]),
            patched(folder(&hidden), &[(257, &[0; 8])]),
        ],
    );
    add(
        "a pax path that is not composed",
        &[good(), pax(b'x', &[("path", "e\u{301}")]), file("x", "x")],
    );
}

pub fn add_unusual(cases: &mut Cases) {
    let good = || file("bundle.json", "{}");
    let mut add = |name: &str, entries: &[Vec<u8>]| cases.add(name, "tar", tar(entries));
    add(
        "names that begin almost like other formats",
        &[file("BZhang.txt", "x"), file("begin here.md", "x"), good()],
    );
    // Writers cut off the names of headers in the middle of a character.
    let cut = format!("PaxHeaders/{}", "\u{e9}".repeat(60));
    add(
        "a header whose name was cut off",
        &[
            entry(&cut.as_bytes()[..100], b'x', &pax_record(b"path", b"long")),
            patched(file("", "x"), &[(0, &cut.as_bytes()[..100])]),
        ],
    );
    add(
        "a file whose cut name ends with a slash",
        &[long(b'L', "a/b"), entry(b"a/", b'0', b"x"), good()],
    );
    add(
        "a global header with the name that GNU tar gives it",
        &[
            entry(b"/tmp/GlobalHead.1", b'g', &pax_record(b"comment", b"x")),
            good(),
        ],
    );
    cases.add(
        "v7",
        "tar.gz",
        gz(&tar(&[patched(good(), &[(257, &[0; 8])])]), 0, b""),
    );
}
