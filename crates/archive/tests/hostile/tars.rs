//! Handmade tars.

use super::Cases;

/// A header block with a right checksum.
pub fn header(name: &[u8], kind: u8, size: u64) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name);
    let number = |value: u64, digits: usize| format!("{value:0digits$o}").into_bytes();
    block[100..107].copy_from_slice(&number(0o644, 7));
    block[108..115].copy_from_slice(&number(0, 7));
    block[116..123].copy_from_slice(&number(0, 7));
    block[124..135].copy_from_slice(&number(size, 11));
    block[136..147].copy_from_slice(&number(1_700_000_000, 11));
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    seal(&mut block);
    block
}

/// Sets the checksum.
pub fn seal(block: &mut [u8]) {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block[..512].iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Sets the checksum over signed bytes.
fn seal_signed(block: &mut [u8]) {
    block[148..156].copy_from_slice(b"        ");
    let sum: i32 = block[..512]
        .iter()
        .map(|byte| i32::from(byte.cast_signed()))
        .sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// An entry with its content and padding.
pub fn entry(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, kind, content.len() as u64);
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

pub fn file(name: &str, content: &str) -> Vec<u8> {
    entry(name.as_bytes(), b'0', content.as_bytes())
}

/// The entry with other bytes in its header, and a right checksum.
pub fn patched(mut entry: Vec<u8>, patches: &[(usize, &[u8])]) -> Vec<u8> {
    for (at, bytes) in patches {
        entry[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    seal(&mut entry);
    entry
}

fn gnu(entry: Vec<u8>) -> Vec<u8> {
    patched(entry, &[(257, b"ustar  \0")])
}

/// A pax header of these records.
pub fn pax(kind: u8, records: &[(&str, &str)]) -> Vec<u8> {
    let mut text = Vec::new();
    for (key, value) in records {
        text.extend(pax_record(key.as_bytes(), value.as_bytes()));
    }
    entry(b"PaxHeaders/x", kind, &text)
}

pub fn pax_record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = [b" ", key, b"=", value, b"\n"].concat();
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    [length.to_string().as_bytes(), &rest].concat()
}

fn pax_text(text: &[u8]) -> Vec<u8> {
    entry(b"PaxHeaders/x", b'x', text)
}

/// GNU's long name (`L`) or long link target (`K`).
pub fn long(kind: u8, name: &str) -> Vec<u8> {
    gnu(entry(
        b"././@LongLink",
        kind,
        &[name.as_bytes(), b"\0"].concat(),
    ))
}

pub fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

fn symlink(name: &str, target: &str) -> Vec<u8> {
    patched(
        entry(name.as_bytes(), b'2', b""),
        &[(157, target.as_bytes())],
    )
}

pub fn add_hostile(cases: &mut Cases) {
    let mut add = |name: &str, entries: &[Vec<u8>]| cases.add(name, "tar", tar(entries));
    let good = || file("good.json", "{}");
    let hidden = || file("hidden.json", "[]");
    // Entries hidden in the content of something that is not a file.
    for (kind, what) in [
        (b'5', "folder"),
        (b'1', "hard link"),
        (b'2', "symbolic link"),
        (b'3', "character device"),
        (b'4', "block device"),
        (b'6', "pipe"),
        (b'7', "contiguous file"),
        (b'D', "dump directory"),
        (b'M', "continuation"),
        (b'N', "old long name"),
        (b'V', "volume label"),
        (b'X', "Solaris header"),
        (b'A', "Solaris access list"),
        (b'I', "inode"),
        (b'S', "sparse file"),
        (b'Z', "unknown type"),
    ] {
        let name = if kind == b'5' { "sub/" } else { "sub" };
        add(
            &format!("a {what} with content that hides an entry"),
            &[good(), entry(name.as_bytes(), kind, &hidden())],
        );
    }
    add("a contiguous file", &[entry(b"a", b'7', b"")]);
    add("a volume label", &[entry(b"label", b'V', b""), good()]);
    add("a folder of type file", &[entry(b"sub/", b'0', b"")]);
    add(
        "a folder of type file with content",
        &[entry(b"sub/", b'0', b"x")],
    );
    add("an old folder of type file", &[entry(b"sub/", 0, b"")]);
    // Two sources of one name.
    let x = |path: &str| pax(b'x', &[("path", path)]);
    let l = |path: &str| long(b'L', path);
    add("x then L", &[x("one"), l("two"), good()]);
    add("L then x", &[l("one"), x("two"), good()]);
    add("L then L", &[l("one"), l("two"), good()]);
    add("x then x", &[x("one"), x("two"), good()]);
    add(
        "x with a time then L",
        &[pax(b'x', &[("mtime", "1")]), l("two"), good()],
    );
    add(
        "x then x with a time",
        &[x("one"), pax(b'x', &[("mtime", "1")]), good()],
    );
    add(
        "x then g",
        &[x("one"), pax(b'g', &[("comment", "c")]), good()],
    );
    add(
        "L then g",
        &[l("one"), pax(b'g', &[("comment", "c")]), good()],
    );
    add(
        "K then K",
        &[long(b'K', "t"), long(b'K', "u"), symlink("a", "b")],
    );
    add("x then K", &[x("one"), long(b'K', "u"), symlink("a", "b")]);
    add("K then x", &[long(b'K', "u"), x("one"), symlink("a", "b")]);
    add("K before a file", &[long(b'K', "u"), good()]);
    add(
        "linkpath before a file",
        &[pax(b'x', &[("linkpath", "u")]), good()],
    );
    add(
        "linkname in a file",
        &[patched(good(), &[(157, b"target")])],
    );
    add(
        "linkname in a folder",
        &[patched(entry(b"d/", b'5', b""), &[(157, b"target")])],
    );
    add("L at the end", &[good(), l("two")]);
    add("x at the end", &[good(), x("two")]);
    add("L with NUL inside", &[l("one\0two"), good()]);
    add(
        "L that is empty",
        &[gnu(entry(b"././@LongLink", b'L', b"\0")), good()],
    );
    add(
        "path with NUL inside",
        &[pax(b'x', &[("path", "one\0two")]), good()],
    );
    add("path that is empty", &[x(""), good()]);
    add(
        "path twice",
        &[pax(b'x', &[("path", "one"), ("path", "two")]), good()],
    );
    add("path climbs", &[x("../up"), good()]);
    add("path absolute", &[x("/tmp/runseal-absolute"), good()]);
    add("L climbs", &[l("../up"), good()]);
    // Sizes and sparse files.
    add(
        "size in x is smaller",
        &[pax(b'x', &[("size", "0")]), entry(b"a", b'0', &hidden())],
    );
    add(
        "size in x is larger",
        &[pax(b'x', &[("size", "1024")]), file("a", ""), hidden()],
    );
    add(
        "size in g",
        &[pax(b'g', &[("size", "0")]), entry(b"a", b'0', &hidden())],
    );
    add("path in g", &[pax(b'g', &[("path", "other")]), good()]);
    add(
        "linkpath in g",
        &[pax(b'g', &[("linkpath", "other")]), good()],
    );
    for kind in [b'x', b'g'] {
        let letter = char::from(kind);
        for (key, value) in [
            ("GNU.sparse.major", "1"),
            ("GNU.sparse.size", "100"),
            ("GNU.sparse.realsize", "100"),
            ("GNU.sparse.name", "other"),
            ("GNU.sparse.map", "0,1"),
            ("GNU.sparse.numblocks", "1"),
            ("GNU.dumpdir", "Yx"),
            ("SCHILY.realsize", "100"),
            ("SCHILY.filetype", "sparse"),
            ("SUN.holesdata", " 0 1"),
            ("hdrcharset", "BINARY"),
            ("charset", "ISO-IR 8859 1 1998"),
            ("unknown", "1"),
        ] {
            add(
                &format!("{key} in {letter}"),
                &[pax(kind, &[(key, value)]), good()],
            );
        }
    }
    add(
        "size in x with a sign",
        &[pax(b'x', &[("size", "+2")]), good()],
    );
    add(
        "size in x in octal",
        &[pax(b'x', &[("size", "02")]), good()],
    );
    for (what, text) in [
        ("length too short", b"5 path=a\n".as_slice()),
        ("length too long", b"99 path=a\n"),
        ("length with a sign", b"+10 path=a\n"),
        ("length with a zero", b"010 path=a\n"),
        ("no newline", b"9 path=ab"),
        ("no equals sign", b"9 pathab\n"),
        ("NUL after", b"10 path=a\n\0\0"),
        ("blank in front", b" 10 path=a\n"),
        ("empty key", b"6 =ab\n"),
        ("blank in the key", b"11 pa th=a\n"),
    ] {
        add(&format!("pax record: {what}"), &[pax_text(text), good()]);
    }
    // Fields of the header.
    let prefix = |magic: &'static [u8]| patched(good(), &[(257, magic), (345, b"prefix")]);
    add("GNU magic with a prefix", &[prefix(b"ustar  \0")]);
    add("v7 with a prefix", &[good(), prefix(&[0; 8])]);
    add("odd version with a prefix", &[prefix(b"ustar\0 0")]);
    add("odd magic with a prefix", &[prefix(b"ustar 00")]);
    add("odd magic", &[patched(good(), &[(257, b"ustarX00")])]);
    add(
        "GNU times in the place of a prefix",
        &[patched(gnu(good()), &[(345, b"14617464321\0")])],
    );
    let long_prefix = [b'p'; 155];
    add(
        "star times after a prefix",
        &[patched(
            good(),
            &[(345, b"p"), (476, b"14617464321 14617464321 ")],
        )],
    );
    add(
        "tail after a full prefix",
        &[patched(good(), &[(345, &long_prefix), (508, b"tar\0")])],
    );
    let (mode, owner, group, size, time) = (100, 108, 116, 124, 136);
    for (what, at, text) in [
        ("mode that is not a number", mode, b"abcdefg\0".as_slice()),
        ("mode that is empty", mode, b"\0\0\0\0\0\0\0\0"),
        ("owner that is not a number", owner, b"-000001\0"),
        ("group that is not a number", group, b"0x00000\0"),
        ("time that is not a number", time, b"9999999999\0\0"),
        ("time in base 64", time, b"+AAAAAAAAAA\0"),
        ("size with blanks in front", size, b"          2\0"),
        ("size with a tail", size, b"2\x000000000000"),
        ("size with digits of ten", size, b"00000000008\0"),
        ("size that is empty", size, b"\0\0\0\0\0\0\0\0\0\0\0\0"),
        (
            "size that is negative",
            size,
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe",
        ),
        ("size with a sign", size, b"-0000000002\0"),
        ("size in base 64", size, b"+AAAAAAAAAC\0"),
        ("size of 95 bits", size, b"\x80\0\0\x01\0\0\0\0\0\0\0\x02"),
        (
            "size of 64 bits",
            size,
            b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        ),
        (
            "size with stray bits",
            size,
            b"\x81\0\0\0\0\0\0\0\0\0\0\x02",
        ),
        ("device that is not a number", 329, b"zzzzzzz\0"),
    ] {
        add(
            what,
            &[file("first", "1"), patched(good(), &[(at, text)]), hidden()],
        );
    }
    let mut signed = entry("n\u{fc}".as_bytes(), b'0', b"x");
    seal_signed(&mut signed);
    add("a checksum over signed bytes", &[good(), signed]);
    let mut unsealed = good();
    unsealed[148..156].copy_from_slice(b"0000000\0");
    add("no checksum", &[good(), unsealed]);
    // Names.
    for name in [
        "../up",
        "a/../../up",
        "/tmp/runseal-absolute",
        "//tmp/x",
        "a//b",
        "a/./b",
        "a/..",
        "..",
        "a\\b",
        "..\\up",
        "a\\..\\..\\up",
        "C:\\x",
        "C:x",
        "c:/x",
        "a\nb",
        "a\u{7f}",
        "\u{1b}[2J",
    ] {
        add(&format!("named {name:?}"), &[file(name, "x")]);
    }
    add(
        "a name that is not UTF-8",
        &[entry(b"\xff\xfe", b'0', b"x")],
    );
    add("an empty name", &[file("", "x")]);
    add("a file named as the root", &[file("./", "x")]);
    add("a file named .", &[file(".", "x")]);
    for (one, other) in [
        ("a", "a"),
        ("a", "./a"),
        ("a", "A"),
        ("sub/a", "SUB/b"),
        ("\u{e9}", "e\u{301}"),
        ("\u{c9}", "e\u{301}"),
        ("stra\u{df}e", "STRASSE"),
        ("a", "a."),
        ("a", "a "),
        ("a", "a\u{200d}"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("\u{212a}", "k"),
    ] {
        add(
            &format!("both {one:?} and {other:?}"),
            &[file(one, "1"), file(other, "2")],
        );
    }
    add(
        "a folder and a file",
        &[entry(b"a/", b'5', b""), file("a", "x")],
    );
    add(
        "a file below a link",
        &[symlink("a", "b"), file("a/b", "x")],
    );
    add("a link", &[symlink("a", "/etc/passwd")]);
    add(
        "a hard link",
        &[
            good(),
            patched(entry(b"b", b'1', b""), &[(157, b"good.json")]),
        ],
    );
    add("a pipe", &[entry(b"p", b'6', b"")]);
    add("a device", &[entry(b"p", b'3', b"")]);
    // The end.
    let bytes = |parts: &[&[u8]]| parts.concat();
    let mut raw = |name: &str, bytes: Vec<u8>| cases.add(name, "tar", bytes);
    raw("no end", good());
    raw("one empty block", bytes(&[&good(), &[0; 512]]));
    raw(
        "one empty block and more",
        bytes(&[&good(), &[0; 512], &tar(&[hidden()])]),
    );
    raw("two tars", bytes(&[&tar(&[good()]), &tar(&[hidden()])]));
    raw("a tail", bytes(&[&tar(&[good()]), b"tail"]));
    raw(
        "a tail that is not a block",
        bytes(&[&tar(&[good()]), &[0; 100]]),
    );
    raw(
        "a tail far after the end",
        bytes(&[&tar(&[good()]), &[0; 100_000], b"x"]),
    );
    raw(
        "breaks off in content",
        file("a", &"x".repeat(600))[..900].to_vec(),
    );
    raw(
        "breaks off in a header",
        bytes(&[&good(), &hidden()[..300]]),
    );
    raw("breaks off in padding", file("a", "x")[..600].to_vec());
}

pub fn add_unusual(cases: &mut Cases) {
    let mut add = |name: &str, entries: &[Vec<u8>]| cases.add(name, "tar", tar(entries));
    let good = || file("good.json", "{}");
    let name = format!("{}/{}", "d".repeat(90), "f".repeat(90));
    add("GNU long name", &[long(b'L', &name), gnu(good())]);
    let bare = gnu(entry(b"././@LongLink", b'L', name.as_bytes()));
    add("GNU long name without NUL", &[bare, gnu(good())]);
    add(
        "pax path",
        &[pax(b'x', &[("path", &name), ("mtime", "1.5")]), good()],
    );
    add(
        "pax path in Unicode",
        &[pax(b'x', &[("path", "\u{fc}/\u{4e2d}")]), good()],
    );
    add(
        "pax size that is the same",
        &[pax(b'x', &[("size", "2")]), good()],
    );
    add(
        "pax owner",
        &[
            pax(b'x', &[("uname", "\u{fc}"), ("uid", "3000000")]),
            good(),
        ],
    );
    add(
        "pax attributes",
        &[
            pax(b'x', &[("SCHILY.xattr.user.a", "b"), ("VENDOR.key", "v")]),
            good(),
        ],
    );
    add(
        "pax charset",
        &[
            pax(b'x', &[("hdrcharset", "ISO-IR 10646 2000 UTF-8")]),
            good(),
        ],
    );
    add(
        "global comment",
        &[pax(b'g', &[("comment", "c0ffee")]), good()],
    );
    add("global time", &[pax(b'g', &[("mtime", "5")]), good()]);
    add("ustar prefix", &[patched(good(), &[(345, b"some/folder")])]);
    add(
        "full prefix and name",
        &[patched(
            entry(&[b'n'; 100], b'0', b"x"),
            &[(345, &[b'p'; 155])],
        )],
    );
    add("GNU header", &[gnu(good())]);
    add(
        "v7 header behind another",
        &[good(), patched(file("b", "x"), &[(257, &[0; 8])])],
    );
    add("type NUL", &[entry(b"a", 0, b"x")]);
    add(
        "folders",
        &[
            entry(b"./", b'5', b""),
            entry(b"./a/", b'5', b""),
            file("./a/b", "x"),
        ],
    );
    add(
        "a folder without slash",
        &[entry(b"a", b'5', b""), file("a/b", "x")],
    );
    add(
        "a folder twice",
        &[
            entry(b"a/", b'5', b""),
            entry(b"a/", b'5', b""),
            file("a/b", "x"),
        ],
    );
    add(
        "a folder after its file",
        &[file("a/b", "x"), entry(b"a/", b'5', b"")],
    );
    let size = |text: &[u8]| patched(good(), &[(124, text)]);
    add(
        "size in binary",
        &[size(b"\x80\0\0\0\0\0\0\0\0\0\0\x02"), good_two()],
    );
    add(
        "size of twelve digits",
        &[size(b"000000000002"), good_two()],
    );
    add(
        "size with a blank after",
        &[size(b"00000000002 "), good_two()],
    );
    add(
        "size in few digits",
        &[size(b"2\0\0\0\0\0\0\0\0\0\0\0"), good_two()],
    );
    add(
        "no owner",
        &[patched(good(), &[(108, &[0; 16])]), good_two()],
    );
    add(
        "a time before 1970",
        &[patched(gnu(good()), &[(136, &[0xff; 12])]), good_two()],
    );
    let named: Vec<_> = NAMES.iter().map(|name| file(name, name)).collect();
    add("odd names", &named);
    add("many zeros after", &[good(), vec![0; 20 * 512]]);
    add("empty file", &[file("a", "")]);
    add(
        "a file of whole blocks",
        &[file("a", &"x".repeat(1024)), good()],
    );
    add("a name that is not composed", &[file("e\u{301}", "x")]);
    add(
        "a name with a number after a semicolon",
        &[file("a;1", "x")],
    );
    add(
        "an end mark in content",
        &[entry(b"a", b'0', &[0; 2048]), good()],
    );
    add(
        "a tar in a tar",
        &[entry(b"a.tar", b'0', &tar(&[good()])), good_two()],
    );
}

fn good_two() -> Vec<u8> {
    file("good-two.json", "[2]")
}

/// Names that are odd and mean the same everywhere.
pub const NAMES: [&str; 36] = [
    "with blank",
    " blank first",
    "a;1b",
    "ab:c",
    "1:2",
    "per%cent",
    "dollar$x",
    "star*",
    "quest?ion",
    "quote\"d",
    "apostrophe's",
    "-dash",
    "--double",
    "@at",
    "#hash",
    "tilde~1",
    "~home",
    "[a]",
    "{a,b}",
    "pipe|",
    "<angle>",
    "a&b",
    "a!b",
    "a=b",
    "con",
    "nul.txt",
    "a^b",
    "a`b",
    "...",
    "..a",
    "a.",
    "\u{fc}ml\u{e4}ut",
    "\u{4e2d}\u{6587}",
    "\u{1f600}",
    "\u{202e}rtl",
    "b\u{a0}b",
];
