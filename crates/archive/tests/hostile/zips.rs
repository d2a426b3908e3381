//! Handmade zips: everything that is said twice can be made to differ.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::Cases;
use super::tars::NAMES;

/// What a header says about an entry, before it or in the list.
#[derive(Debug, Clone)]
pub struct Said {
    pub made_by: u16,
    pub version: u16,
    pub flags: u16,
    pub method: u16,
    pub time: u32,
    pub crc: u32,
    pub packed: u32,
    pub unpacked: u32,
    pub name: Vec<u8>,
    pub extra: Vec<u8>,
    pub comment: Vec<u8>,
    pub disk: u16,
    pub attributes: u32,
    /// Where the entry begins, if that is to be wrong.
    pub offset: Option<u32>,
}

/// An entry: bytes before it, its header, its bytes, what follows them, its line of the list.
#[derive(Debug, Clone)]
pub struct Part {
    pub before: Vec<u8>,
    pub local: Said,
    pub data: Vec<u8>,
    pub after: Vec<u8>,
    pub listed: Option<Said>,
}

/// A zip whose end can say anything.
#[derive(Debug, Clone, Default)]
pub struct Zip {
    pub parts: Vec<Part>,
    /// Between the last entry and the list.
    pub gap: Vec<u8>,
    /// After the list's entries, counted as a part of it.
    pub list_tail: Vec<u8>,
    /// Between the list and its end record.
    pub before_end: Vec<u8>,
    pub count: Option<u16>,
    pub count_here: Option<u16>,
    pub disk: u16,
    pub list_length: Option<u32>,
    pub list_start: Option<u32>,
    pub comment_length: Option<u16>,
    pub comment: Vec<u8>,
    pub after: Vec<u8>,
    /// The order of the list, if not that of the entries.
    pub order: Vec<usize>,
}

pub fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An uncompressed file.
pub fn part(name: &str, content: &str) -> Part {
    let size = u32::try_from(content.len()).unwrap();
    let said = Said {
        made_by: 0x0314,
        version: 20,
        flags: if name.is_ascii() { 0 } else { 0x800 },
        method: 0,
        time: 0x5a21_6000,
        crc: crc(content.as_bytes()),
        packed: size,
        unpacked: size,
        name: name.as_bytes().to_vec(),
        extra: Vec::new(),
        comment: Vec::new(),
        disk: 0,
        attributes: 0o100_644 << 16,
        offset: None,
    };
    Part {
        before: Vec::new(),
        local: said.clone(),
        data: content.as_bytes().to_vec(),
        after: Vec::new(),
        listed: Some(said),
    }
}

impl Part {
    /// Changes what both headers say.
    pub fn both(mut self, change: impl Fn(&mut Said)) -> Self {
        change(&mut self.local);
        self.listed.as_mut().map(change);
        self
    }

    pub fn local(mut self, change: impl Fn(&mut Said)) -> Self {
        change(&mut self.local);
        self
    }

    pub fn listed(mut self, change: impl Fn(&mut Said)) -> Self {
        self.listed.as_mut().map(change);
        self
    }

    pub fn deflated(mut self) -> Self {
        self.data = deflate(&self.data);
        let packed = u32::try_from(self.data.len()).unwrap();
        self.both(|said| {
            said.method = 8;
            said.packed = packed;
        })
    }

    /// Puts its sizes after its bytes, as in a stream.
    pub fn streamed(mut self) -> Self {
        let said = self.local.clone();
        let numbers = [said.crc, said.packed, said.unpacked].map(u32::to_le_bytes);
        self.after = [b"PK\x07\x08".as_slice(), &numbers.concat()].concat();
        self.both(|said| said.flags |= 8).local(|said| {
            said.crc = 0;
            said.packed = 0;
            said.unpacked = 0;
        })
    }
}

fn folder(name: &str) -> Part {
    part(name, "").both(|said| said.attributes = 0o40_755 << 16 | 0x10)
}

fn field(id: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    [id.to_le_bytes().as_slice(), &length.to_le_bytes(), content].concat()
}

fn local_bytes(said: &Said) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    for number in [said.version, said.flags, said.method] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [said.time, said.crc, said.packed, said.unpacked] {
        bytes.extend(number.to_le_bytes());
    }
    for part in [&said.name, &said.extra] {
        bytes.extend(u16::try_from(part.len()).unwrap().to_le_bytes());
    }
    bytes.extend(&said.name);
    bytes.extend(&said.extra);
    bytes
}

fn listed_bytes(said: &Said, offset: u32) -> Vec<u8> {
    let mut bytes = b"PK\x01\x02".to_vec();
    for number in [said.made_by, said.version, said.flags, said.method] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [said.time, said.crc, said.packed, said.unpacked] {
        bytes.extend(number.to_le_bytes());
    }
    for part in [&said.name, &said.extra, &said.comment] {
        bytes.extend(u16::try_from(part.len()).unwrap().to_le_bytes());
    }
    bytes.extend(said.disk.to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(said.attributes.to_le_bytes());
    bytes.extend(said.offset.unwrap_or(offset).to_le_bytes());
    for part in [&said.name, &said.extra, &said.comment] {
        bytes.extend(part);
    }
    bytes
}

fn end_bytes(count: u16, length: u32, start: u32) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
    bytes.extend([count, count].map(u16::to_le_bytes).concat());
    bytes.extend([length, start].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

/// The record for large archives, which is at `start`, and its locator.
fn large_end(count: u64, length: u64, list_start: u64, start: u64) -> Vec<u8> {
    let mut bytes = b"PK\x06\x06".to_vec();
    bytes.extend(44u64.to_le_bytes());
    bytes.extend([45u16, 45].map(u16::to_le_bytes).concat());
    bytes.extend([0; 8]);
    bytes.extend(
        [count, count, length, list_start]
            .map(u64::to_le_bytes)
            .concat(),
    );
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(start.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes
}

impl Zip {
    pub fn of(parts: &[Part]) -> Self {
        let parts = parts.to_vec();
        Self {
            parts,
            ..Self::default()
        }
    }

    /// The bytes before the list, the list, and its number of entries.
    fn body(&self) -> (Vec<u8>, Vec<u8>, usize) {
        let mut bytes = Vec::new();
        let mut lines = Vec::new();
        for part in &self.parts {
            bytes.extend(&part.before);
            let offset = u32::try_from(bytes.len()).unwrap();
            lines.push(part.listed.as_ref().map(|said| listed_bytes(said, offset)));
            bytes.extend(local_bytes(&part.local));
            bytes.extend(&part.data);
            bytes.extend(&part.after);
        }
        bytes.extend(&self.gap);
        let order: Vec<usize> = if self.order.is_empty() {
            (0..lines.len()).collect()
        } else {
            self.order.clone()
        };
        let lines: Vec<_> = order.iter().filter_map(|at| lines[*at].clone()).collect();
        let list = [lines.concat(), self.list_tail.clone()].concat();
        (bytes, list, lines.len())
    }

    pub fn bytes(&self) -> Vec<u8> {
        let (mut bytes, list, lines) = self.body();
        let list_start = u32::try_from(bytes.len()).unwrap();
        bytes.extend(&list);
        bytes.extend(&self.before_end);
        let count = self.count.unwrap_or(u16::try_from(lines).unwrap());
        bytes.extend(b"PK\x05\x06");
        bytes.extend([self.disk, self.disk].map(u16::to_le_bytes).concat());
        bytes.extend(self.count_here.unwrap_or(count).to_le_bytes());
        bytes.extend(count.to_le_bytes());
        let length = u32::try_from(list.len()).unwrap();
        bytes.extend(self.list_length.unwrap_or(length).to_le_bytes());
        bytes.extend(self.list_start.unwrap_or(list_start).to_le_bytes());
        let comment = u16::try_from(self.comment.len()).unwrap();
        bytes.extend(self.comment_length.unwrap_or(comment).to_le_bytes());
        bytes.extend(&self.comment);
        bytes.extend(&self.after);
        bytes
    }
}

pub fn add_hostile(cases: &mut Cases) {
    add_hostile_ends(cases);
    add_hostile_entries(cases);
    add_hostile_names(cases);
}

fn add_hostile_ends(cases: &mut Cases) {
    let good = || part("good.json", "{}");
    let hidden = || part("hidden.json", "[]");
    let base = || Zip::of(&[good()]);
    let mut add = |name: &str, zip: Zip| cases.add(name, "zip", zip.bytes());
    let two = Zip::of(&[good(), hidden()]);
    let (body, list, _) = two.body();
    let first = listed_bytes(&good().local, 0).len();
    let (start, first) = (
        u32::try_from(body.len()).unwrap(),
        u32::try_from(first).unwrap(),
    );
    let all = u32::try_from(list.len()).unwrap();
    let inner = end_bytes(2, all, start);
    add(
        "a second end in the comment",
        Zip {
            comment: inner.clone(),
            ..base()
        },
    );
    add(
        "a second end in the comment that ends it",
        Zip {
            comment: [b"x".as_slice(), &inner].concat(),
            ..two.clone()
        },
    );
    add(
        "an end mark in the comment",
        Zip {
            comment: b"some PK\x05\x06 text".to_vec(),
            ..base()
        },
    );
    add(
        "a locator mark in the comment",
        Zip {
            comment: b"PK\x06\x07".to_vec(),
            ..base()
        },
    );
    add(
        "a large end mark in the comment",
        Zip {
            comment: b"PK\x06\x06".to_vec(),
            ..base()
        },
    );
    add(
        "more entries than counted",
        Zip {
            count: Some(1),
            ..two.clone()
        },
    );
    add(
        "fewer entries than counted",
        Zip {
            count: Some(3),
            ..two.clone()
        },
    );
    add(
        "counts that differ",
        Zip {
            count_here: Some(1),
            ..two.clone()
        },
    );
    add(
        "no entries counted",
        Zip {
            count: Some(0),
            ..two.clone()
        },
    );
    add(
        "a list that is longer than it says",
        Zip {
            count: Some(1),
            list_length: Some(first),
            ..two.clone()
        },
    );
    add(
        "a list that is shorter than it says",
        Zip {
            list_length: Some(all + 1),
            ..two.clone()
        },
    );
    add(
        "a list that begins later",
        Zip {
            list_start: Some(start + 1),
            ..two.clone()
        },
    );
    add(
        "a list that begins at its second entry",
        Zip {
            count: Some(1),
            list_start: Some(start + first),
            list_length: Some(all - first),
            ..two.clone()
        },
    );
    add(
        "a list of length zero",
        Zip {
            count: Some(0),
            list_length: Some(0),
            ..two.clone()
        },
    );
    add(
        "a tail of the list",
        Zip {
            list_tail: b"tail".to_vec(),
            ..base()
        },
    );
    add(
        "a signature after the list",
        Zip {
            list_tail: b"PK\x05\x05\x02\0ab".to_vec(),
            ..base()
        },
    );
    add(
        "bytes between the list and its end",
        Zip {
            before_end: vec![0; 10],
            ..base()
        },
    );
    add(
        "a gap before the list",
        Zip {
            gap: b"gap".to_vec(),
            ..base()
        },
    );
    add(
        "an entry before the list that is not listed",
        Zip {
            gap: local_bytes(&hidden().local),
            ..base()
        },
    );
    add(
        "bytes after the end",
        Zip {
            after: b"x".to_vec(),
            ..base()
        },
    );
    add(
        "zeros after the end",
        Zip {
            after: vec![0; 512],
            ..base()
        },
    );
    add(
        "another zip after the end",
        Zip {
            after: Zip::of(&[hidden()]).bytes(),
            ..base()
        },
    );
    add(
        "a comment that is longer than said",
        Zip {
            comment: b"comment".to_vec(),
            comment_length: Some(3),
            ..base()
        },
    );
    add(
        "a comment that is shorter than said",
        Zip {
            comment: b"abc".to_vec(),
            comment_length: Some(30),
            ..base()
        },
    );
    add("one of several parts", Zip { disk: 1, ..base() });
    let list_end = u64::from(start + all);
    let small = u64::from(first);
    add(
        "a large end beside an end",
        Zip {
            before_end: large_end(1, small, u64::from(start), list_end),
            ..two.clone()
        },
    );
    add(
        "a large end that says the same",
        Zip {
            before_end: large_end(2, u64::from(all), u64::from(start), list_end),
            ..two.clone()
        },
    );
    add(
        "a large end with another list",
        Zip {
            count: Some(u16::MAX),
            before_end: large_end(1, small, u64::from(start + first), list_end),
            ..two.clone()
        },
    );
    add(
        "a large end for a count that is small",
        Zip {
            count: Some(u16::MAX),
            before_end: large_end(2, u64::from(all), u64::from(start), list_end),
            ..two.clone()
        },
    );
    add(
        "a large end for a start that is small",
        Zip {
            list_start: Some(u32::MAX),
            before_end: large_end(2, u64::from(all), u64::from(start), list_end),
            ..two.clone()
        },
    );
    let mut detached = large_end(2, u64::from(all), u64::from(start), list_end);
    detached.splice(56..56, [0; 7]);
    add(
        "a large end away from its locator",
        Zip {
            count: Some(u16::MAX),
            before_end: detached,
            ..two.clone()
        },
    );
    add(
        "a locator alone",
        Zip {
            before_end: large_end(2, u64::from(all), u64::from(start), 0)[56..].to_vec(),
            ..two.clone()
        },
    );
    add(
        "a locator that points to the beginning",
        Zip {
            before_end: large_end(2, u64::from(all), u64::from(start), 0),
            ..two.clone()
        },
    );
    add(
        "a large end where the count says so and no locator",
        Zip {
            count: Some(u16::MAX),
            ..two.clone()
        },
    );
    // Before the first entry.
    let before = |bytes: &[u8]| {
        let mut zip = base();
        zip.parts[0].before = bytes.to_vec();
        zip
    };
    add("a script in front", before(b"#!/bin/sh\nexit\n"));
    add("a mark of parts in front", before(b"PK\x07\x08"));
    add(
        "an unlisted entry in front",
        before(&Zip::of(&[hidden()]).body().0),
    );
    let mut shifted = b"prefix".to_vec();
    shifted.extend(base().bytes());
    cases.add("a prefix that the offsets do not count", "zip", shifted);
    // Other formats in the same bytes.
    let mut tar = super::tars::header(b"", b'0', 0);
    let mut zip =
        Zip::of(&[part("x", &"y".repeat(2000)).both(|said| said.extra = field(0xcafe, &[0; 460]))]);
    let bytes = zip.bytes();
    tar[..148].copy_from_slice(&bytes[..148]);
    super::tars::seal(&mut tar);
    zip.parts[0] = zip.parts[0]
        .clone()
        .both(|said| said.extra = field(0xcafe, &tar[35..495]));
    cases.add("a tar header in an extra field", "zip", zip.bytes());
    let mut disc = vec![b'x'; 40_000];
    disc[32_769 - 31..][..5].copy_from_slice(b"CD001");
    let zip = Zip::of(&[part("x", str::from_utf8(&disc).unwrap())]);
    cases.add("a disc image in a stored file", "zip", zip.bytes());
}

fn add_hostile_entries(cases: &mut Cases) {
    let good = || part("good.json", "{}");
    let hidden = || part("hidden.json", "[]");
    let mut add = |name: &str, parts: &[Part]| cases.add(name, "zip", Zip::of(parts).bytes());
    let unlisted = || Part {
        listed: None,
        ..hidden()
    };
    add("an entry that is not listed, last", &[good(), unlisted()]);
    add("an entry that is not listed, first", &[unlisted(), good()]);
    add(
        "an entry that is not listed, between",
        &[good(), unlisted(), part("b", "x")],
    );
    add(
        "bytes between entries",
        &[
            good(),
            Part {
                before: vec![0; 4],
                ..hidden()
            },
        ],
    );
    add(
        "two entries with the same bytes",
        &[good(), good().listed(|said| said.offset = Some(0))],
    );
    add(
        "overlapping entries",
        &[good(), hidden().listed(|said| said.offset = Some(10))],
    );
    let inner = Zip::of(&[hidden()]).body().0;
    let outer = part("outer", str::from_utf8(&inner).unwrap_or("x"));
    let at = u32::try_from(local_bytes(&outer.local).len()).unwrap();
    let within = Part {
        local: outer.local.clone(),
        data: Vec::new(),
        ..hidden()
    };
    let mut quoted = Zip::of(&[outer]);
    quoted.list_tail = listed_bytes(&within.listed.unwrap(), at);
    quoted.count = Some(2);
    add(
        "an offset after the archive",
        &[good().listed(|said| said.offset = Some(5000))],
    );
    add(
        "an offset at the list",
        &[
            good(),
            hidden().listed(|said| said.offset = Some(u32::MAX - 1)),
        ],
    );
    // What is said twice.
    add(
        "another name before the file",
        &[good().local(|said| said.name = b"evil.json".to_vec())],
    );
    add(
        "another case before the file",
        &[good().local(|said| said.name = b"GOOD.json".to_vec())],
    );
    add(
        "another method",
        &[good().deflated().local(|said| said.method = 0)],
    );
    add("other flags", &[good().local(|said| said.flags = 0x800)]);
    add(
        "a descriptor flag in the list only",
        &[good().listed(|said| said.flags = 8)],
    );
    add(
        "a descriptor flag before the file only",
        &[good().deflated().streamed().listed(|said| said.flags = 0)],
    );
    add("another time", &[good().local(|said| said.time = 1)]);
    add("another checksum", &[good().local(|said| said.crc ^= 1)]);
    add("a wrong checksum", &[good().both(|said| said.crc ^= 1)]);
    add(
        "another packed size",
        &[good().local(|said| said.packed = 1)],
    );
    add(
        "another unpacked size",
        &[good().local(|said| said.unpacked = 1)],
    );
    add(
        "a smaller size in both",
        &[good().both(|said| said.unpacked = 1)],
    );
    add(
        "a larger size in both",
        &[good().deflated().both(|said| said.unpacked = 3)],
    );
    add(
        "no sizes before the file",
        &[good().local(|said| {
            said.packed = 0;
            said.unpacked = 0;
            said.crc = 0;
        })],
    );
    add(
        "more packed bytes than are used",
        &[{
            let mut more = good().deflated();
            more.data.extend(b"PK");
            more.both(|said| said.packed += 2)
        }],
    );
    add(
        "a stream that is not deflate",
        &[good().both(|said| said.method = 8)],
    );
    // Descriptors.
    let streamed = || good().deflated().streamed();
    add("a descriptor of a stored file", &[good().streamed()]);
    add(
        "no descriptor",
        &[
            Part {
                after: Vec::new(),
                ..streamed()
            },
            hidden(),
        ],
    );
    add(
        "a descriptor without its mark",
        &[{
            let mut bare = streamed();
            bare.after.drain(..4);
            bare
        }],
    );
    for at in [4, 8, 12] {
        let mut wrong = streamed();
        wrong.after[at] ^= 1;
        add(&format!("a descriptor with a wrong byte {at}"), &[wrong]);
    }
    add(
        "a descriptor of 64 bits",
        &[{
            let mut wide = streamed();
            let said = wide.listed.clone().unwrap();
            wide.after.truncate(8);
            wide.after.extend(
                [said.packed, said.unpacked]
                    .map(|n| u64::from(n).to_le_bytes())
                    .concat(),
            );
            wide
        }],
    );
    add(
        "bytes after a descriptor",
        &[
            {
                let mut more = streamed();
                more.after.push(0);
                more
            },
            hidden(),
        ],
    );
    // Extra fields.
    let unicode = |name: &str| {
        let check = crc(b"good.json").to_le_bytes();
        field(0x7075, &[&[1], check.as_slice(), name.as_bytes()].concat())
    };
    add(
        "a Unicode path in the list",
        &[good().listed(|said| said.extra = unicode("evil.json"))],
    );
    add(
        "a Unicode path before the file",
        &[good().local(|said| said.extra = unicode("evil.json"))],
    );
    add(
        "a Unicode path in both",
        &[good().both(|said| said.extra = unicode("evil.json"))],
    );
    add(
        "a Unicode path that is the same",
        &[good().both(|said| said.extra = unicode("good.json"))],
    );
    for (id, what) in [
        (0x6375, "a Unicode comment"),
        (0x756e, "a mode of another kind"),
        (0x6c78, "a stream's attributes"),
        (0x9901, "another encryption"),
        (0x0017, "strong encryption"),
        (0x07c8, "Macintosh, old"),
        (0x334d, "Macintosh"),
        (0x0007, "reserved"),
        (0xbeef, "unknown"),
    ] {
        add(
            &format!("extra field: {what}"),
            &[good().both(|said| said.extra = field(id, &[0; 12]))],
        );
    }
    let times = field(0x5455, &[1, 0, 0, 0, 0]);
    add(
        "extra field twice",
        &[good().both(|said| said.extra = times.repeat(2))],
    );
    add(
        "extra field that breaks off",
        &[good().both(|said| said.extra = times[..7].to_vec())],
    );
    add(
        "extra field of two bytes",
        &[good().both(|said| said.extra = vec![1, 0])],
    );
    let large = |numbers: &[u64]| {
        field(
            1,
            &numbers
                .iter()
                .flat_map(|n| n.to_le_bytes())
                .collect::<Vec<_>>(),
        )
    };
    add(
        "large sizes that are not asked for",
        &[good().listed(|said| said.extra = large(&[2, 2]))],
    );
    add(
        "large sizes before the file that are not asked for",
        &[good().local(|said| said.extra = large(&[2, 2]))],
    );
    add(
        "large sizes that are missing",
        &[good().listed(|said| said.unpacked = u32::MAX)],
    );
    add(
        "large sizes, one too many",
        &[good().listed(|said| {
            said.unpacked = u32::MAX;
            said.extra = large(&[2, 2]);
        })],
    );
    add(
        "large sizes, one too few",
        &[good().listed(|said| {
            said.unpacked = u32::MAX;
            said.packed = u32::MAX;
            said.extra = large(&[2]);
        })],
    );
    add(
        "a large offset that is another",
        &[
            good(),
            hidden().listed(|said| {
                said.offset = Some(u32::MAX);
                said.extra = large(&[0]);
            }),
        ],
    );
    add(
        "large sizes before the file, one",
        &[good().local(|said| {
            said.unpacked = u32::MAX;
            said.extra = large(&[2]);
        })],
    );
    add(
        "large sizes before the file that differ",
        &[good().local(|said| {
            said.unpacked = u32::MAX;
            said.packed = u32::MAX;
            said.extra = large(&[2, 3]);
        })],
    );
    // What an entry is.
    for (host, what) in [
        (0, "DOS"),
        (1, "Amiga"),
        (2, "VMS"),
        (3, "Unix"),
        (7, "Macintosh"),
        (10, "NTFS"),
        (16, "BeOS"),
        (19, "macOS"),
        (30, "AtheOS"),
        (77, "nobody"),
    ] {
        let link = good().listed(|said| {
            said.made_by = host << 8 | 20;
            said.attributes = 0o120_777 << 16;
        });
        add(&format!("a link from {what}"), &[link]);
    }
    for (mode, what) in [
        (0o010_644u32, "a pipe"),
        (0o020_644, "a device"),
        (0o060_644, "a block device"),
        (0o140_644, "a socket"),
        (0o160_644, "a door"),
    ] {
        add(what, &[good().listed(|said| said.attributes = mode << 16)]);
    }
    add("from Amiga", &[good().listed(|said| said.made_by = 1 << 8)]);
    add("from VMS", &[good().listed(|said| said.made_by = 2 << 8)]);
    add(
        "a folder by mode",
        &[good().listed(|said| said.attributes = 0o40_755 << 16)],
    );
    add(
        "a folder by attribute",
        &[good().listed(|said| said.attributes = 0x10)],
    );
    add(
        "a file by mode with the name of a folder",
        &[part("sub/", "").listed(|said| said.attributes = 0o100_644 << 16)],
    );
    add("a label", &[good().listed(|said| said.attributes = 0x08)]);
    add(
        "a reparse point",
        &[good().listed(|said| said.attributes = 0x400)],
    );
    add(
        "a folder with content",
        &[part("sub/", "content").listed(|said| said.attributes = 0x10)],
    );
    add(
        "a folder with packed content",
        &[part("sub/", "")
            .deflated()
            .listed(|said| said.attributes = 0x10)],
    );
    add(
        "a folder with a checksum",
        &[folder("sub/").both(|said| said.crc = 5)],
    );
    for (flags, what) in [
        (0x0001, "encrypted"),
        (0x0040, "strongly encrypted"),
        (0x2000, "a list that is encrypted"),
        (0x0020, "patched"),
        (0x0010, "enhanced"),
        (0x1000, "reserved flag"),
        (0x8000, "last flag"),
    ] {
        add(what, &[good().both(|said| said.flags = flags)]);
    }
    add(
        "encrypted before the file only",
        &[good().local(|said| said.flags = 1)],
    );
    for method in [1, 6, 9, 12, 14, 93, 95, 97, 98, 99, 500] {
        add(
            &format!("method {method}"),
            &[good().both(|said| said.method = method)],
        );
    }
    add("a later version", &[good().both(|said| said.version = 63)]);
    add(
        "a later version before the file",
        &[good().local(|said| said.version = 63)],
    );
    add("in another part", &[good().listed(|said| said.disk = 1)]);
    add(
        "an end mark in an entry's comment",
        &[good().listed(|said| said.comment = end_bytes(1, 1, 1))],
    );
    let mut bytes = Zip::of(&[good()]).bytes();
    bytes[0] = b'Q';
    bytes.splice(0..0, *b"PK\x07\x08");
    cases.add("no mark before the file", "zip", bytes);
}

fn add_hostile_names(cases: &mut Cases) {
    let mut add = |name: &str, parts: &[Part]| cases.add(name, "zip", Zip::of(parts).bytes());
    for name in [
        "../up",
        "a/../../up",
        "/tmp/runseal-absolute",
        "a//b",
        "a/./b",
        "..",
        "a\\b",
        "..\\up",
        "C:\\x",
        "C:x",
        "a\nb",
        "a\0b",
        "good\0.json",
        "\u{1b}[2J",
        "",
    ] {
        add(&format!("named {name:?}"), &[part(name, "x")]);
    }
    add(
        "a name that is not UTF-8 and said to be",
        &[part("x", "1").both(|said| {
            said.name = vec![0xff];
            said.flags = 0x800;
        })],
    );
    add("a name that is not composed", &[part("e\u{301}", "x")]);
    for name in ["a;1", "a;", "sub/a;123"] {
        add(
            &format!("named {name:?}, which unzip shortens"),
            &[part(name, "x")],
        );
    }
    add(
        "a name in an old code page",
        &[part("x", "1").both(|said| said.name = b"n\x81me".to_vec())],
    );
    add(
        "a name in UTF-8 that is not marked",
        &[part("\u{fc}", "1").both(|said| said.flags = 0)],
    );
    add(
        "a name in UTF-8 that is marked before the file only",
        &[part("\u{fc}", "1").listed(|said| said.flags = 0)],
    );
    for (one, other) in [
        ("a", "a"),
        ("a", "./a"),
        ("a", "A"),
        ("s/a", "S/b"),
        ("\u{e9}", "e\u{301}"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("a", "a."),
    ] {
        add(
            &format!("both {one:?} and {other:?}"),
            &[part(one, "1"), part(other, "2")],
        );
    }
    add("a folder and a file", &[folder("a/"), part("a", "x")]);
}

pub fn add_unusual(cases: &mut Cases) {
    let good = || part("good.json", "{}");
    let mut add = |name: &str, zip: Zip| cases.add(name, "zip", zip.bytes());
    let base = |parts: &[Part]| Zip::of(parts);
    add("empty", base(&[]));
    add(
        "empty with a comment",
        Zip {
            comment: b"comment".to_vec(),
            ..base(&[])
        },
    );
    add(
        "a comment",
        Zip {
            comment: b"a comment".to_vec(),
            ..base(&[good()])
        },
    );
    add(
        "an entry's comment",
        base(&[good().listed(|said| said.comment = b"comment".to_vec())]),
    );
    add(
        "deflated",
        base(&[
            good().deflated(),
            part("b", &"text ".repeat(1000)).deflated(),
        ]),
    );
    add(
        "streamed",
        base(&[
            good().deflated().streamed(),
            part("b", "c").deflated().streamed(),
        ]),
    );
    add(
        "streamed with known sizes",
        base(&[{
            let sizes = good().deflated();
            let streamed = sizes.clone().streamed();
            streamed.local(|said| {
                said.crc = sizes.local.crc;
                said.packed = sizes.local.packed;
                said.unpacked = 2;
            })
        }]),
    );
    add(
        "an empty file that is streamed",
        base(&[part("a", "").streamed(), good()]),
    );
    add(
        "a list in another order",
        Zip {
            order: vec![1, 0],
            ..base(&[good(), part("b", "x")])
        },
    );
    add(
        "folders",
        base(&[folder("a/"), folder("a/b/"), part("a/b/c", "x")]),
    );
    add(
        "a folder after its file",
        base(&[part("a/b", "x"), folder("a/")]),
    );
    add(
        "a folder without a mode",
        base(&[part("a/", "").both(|said| said.attributes = 0)]),
    );
    add(
        "times and owners",
        base(&[good().both(|said| {
            said.extra = [
                field(0x5455, &[1, 0, 0, 0, 0x60]),
                field(0x7875, &[1, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0]),
            ]
            .concat()
        })]),
    );
    add(
        "NTFS times",
        base(&[good().listed(|said| said.extra = field(0x000a, &[0; 32]))]),
    );
    add(
        "from DOS",
        base(&[good().listed(|said| {
            said.made_by = 20;
            said.attributes = 0x20;
        })]),
    );
    add(
        "from NTFS",
        base(&[good().listed(|said| {
            said.made_by = 10 << 8 | 20;
            said.attributes = 0x20;
        })]),
    );
    add(
        "from macOS",
        base(&[good().listed(|said| said.made_by = 19 << 8 | 20)]),
    );
    add(
        "no attributes",
        base(&[good().listed(|said| said.attributes = 0)]),
    );
    add(
        "a file without rights",
        base(&[good().listed(|said| said.attributes = 0o100_000 << 16)]),
    );
    let large = field(1, &[2u64, 2].map(u64::to_le_bytes).concat());
    add(
        "large sizes before the file",
        base(&[good().local(|said| {
            said.packed = u32::MAX;
            said.unpacked = u32::MAX;
            said.version = 45;
            said.extra = large.clone();
        })]),
    );
    add(
        "large sizes in the list",
        base(&[good().both(|said| {
            said.packed = u32::MAX;
            said.unpacked = u32::MAX;
            said.version = 45;
            said.extra = large.clone();
        })]),
    );
    add(
        "large sizes after the file",
        base(&[{
            let mut wide = good().deflated().streamed();
            let said = wide.listed.clone().unwrap();
            wide.after.truncate(8);
            wide.after.extend(
                [said.packed, said.unpacked]
                    .map(|n| u64::from(n).to_le_bytes())
                    .concat(),
            );
            wide.local(|said| {
                said.packed = u32::MAX;
                said.unpacked = u32::MAX;
                said.version = 45;
                said.extra = field(1, &[0; 16]);
            })
        }]),
    );
    add(
        "a zip in a zip",
        base(&[{
            let inner = base(&[good()]).bytes();
            let mut outer = part("inner.zip", "");
            let size = u32::try_from(inner.len()).unwrap();
            outer.data = inner.clone();
            outer.both(|said| {
                said.crc = crc(&inner);
                said.packed = size;
                said.unpacked = size;
            })
        }]),
    );
    add(
        "marks in content",
        base(&[
            part("a", "PK\x03\x04PK\x01\x02PK\x07\x08PK\x05\x06 and on"),
            good(),
        ]),
    );
    let mut named: Vec<_> = NAMES.iter().map(|name| part(name, name)).collect();
    named.extend(["./c", "#U00fc", "[Content_Types].xml", "d;1/e"].map(|name| part(name, name)));
    add("odd names", base(&named));
    let many: Vec<_> = (0..300).map(|at| part(&format!("{at}"), "x")).collect();
    add("many entries", base(&many));
}
