//! Small archives that would exhaust memory: each is stopped by a bound that its finding names, and
//! all of them together stay below 256 MB.
//!
//! One test for all of them, because memory is measured for the whole process.

use std::fs;
use std::io::Write;

use crate::hostile::tars::{entry, header, long};
use crate::hostile::zips::{Zip, part};
use crate::hostile::{Case, Dice};
use flate2::Compression;
use flate2::write::GzEncoder;
use runseal_archive::{InlineDigester, read_stream, sniff};
use runseal_core::formats::archive::FaultKind;

/// The largest packed archive here: 10 MB.
const PACKED: usize = 10 << 20;

/// The most memory that reading may take: 256 MB.
const MEMORY: u64 = 256 << 20;

fn gz(write: impl FnOnce(&mut GzEncoder<Vec<u8>>)) -> Vec<u8> {
    gz_at(Compression::fast(), write)
}

fn gz_at(level: Compression, write: impl FnOnce(&mut GzEncoder<Vec<u8>>)) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    write(&mut encoder);
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap()
}

fn many_entries() -> Vec<u8> {
    gz(|tar| {
        for at in 0..400_000 {
            tar.write_all(&header(format!("{at}").as_bytes(), b'0', 0))
                .unwrap();
        }
    })
}

fn long_names() -> Vec<u8> {
    gz(|tar| {
        for at in 0..20_000 {
            tar.write_all(&long(b'L', &format!("{at}{}", "n".repeat(4000))))
                .unwrap();
            tar.write_all(&header(b"x", b'0', 0)).unwrap();
        }
    })
}

fn deep_folders() -> Vec<u8> {
    gz(|tar| {
        for at in 0..300 {
            tar.write_all(&long(b'L', &format!("{at}{}x", "/d".repeat(2000))))
                .unwrap();
            tar.write_all(&header(b"x", b'0', 0)).unwrap();
        }
    })
}

/// Shrinks to a fiftieth, which the ratio allows.
fn documents() -> Vec<u8> {
    let mut dice = Dice::new(8);
    gz(|tar| {
        for at in 0..150 {
            let noise: Vec<u8> = (0..20_000).map(|_| b'a' + dice.below(26) as u8).collect();
            let name = format!("{at}.md");
            tar.write_all(&entry(name.as_bytes(), b'0', &noise.repeat(50)))
                .unwrap();
        }
    })
}

fn zeros() -> Vec<u8> {
    gz_at(Compression::best(), |tar| {
        tar.write_all(&header(b"zeros", b'0', (1 << 33) - 1))
            .unwrap();
        let zeros = vec![0; 1 << 20];
        for _ in 0..400 {
            tar.write_all(&zeros).unwrap();
        }
    })
}

/// A frame with a window of 1 KiB times two to the power of `exponent`, and a document to fill it.
fn large_window(exponent: u8) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3];
    let mut block = |kind: u32, length: usize, bytes: &[u8]| {
        let header = u32::try_from(length).unwrap() << 3 | kind << 1;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(bytes);
    };
    block(0, 512, &header(b"document.md", b'0', 100 << 20));
    for _ in 0..800 {
        block(1, 128 << 10, b" ");
    }
    // The end is valid: a decoder that works ahead would notice a bad one first.
    frame.extend([1, 0, 0]);
    frame
}

fn colliding_zip() -> Vec<u8> {
    let names = (0..20_000).flat_map(|at| [format!("a{at}"), format!("A{at}")]);
    let parts: Vec<_> = names.map(|name| part(&name, "x")).collect();
    Zip::of(&parts).bytes()
}

/// A piece of the finding, the file's ending, the function that makes the archive, the fault.
type Bound = (&'static str, &'static str, fn() -> Vec<u8>, FaultKind);

/// The peak memory of this process, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

#[test]
fn ten_megabyte_archives_are_read_in_bounded_memory() {
    use FaultKind::{Bomb, Duplicate, Limit};
    let cases: [Bound; 8] = [
        ("entries", "tar.gz", many_entries, Limit),
        ("names", "tar.gz", long_names, Limit),
        ("folders above them", "tar.gz", deep_folders, Limit),
        ("too large to be kept", "tar.gz", documents, Limit),
        ("times its size", "tar.gz", zeros, Bomb),
        ("times its size", "tar.zst", || large_window(16), Bomb),
        ("window", "tar.zst", || large_window(17), Limit),
        ("things are wrong", "zip", colliding_zip, Limit),
    ];
    for (bound, ending, make, kind) in cases {
        let case = Case {
            name: bound.to_owned(),
            ending,
            bytes: make(),
        };
        assert!(case.bytes.len() < PACKED, "{bound}: {}", case.bytes.len());
        let container = sniff(&case.bytes[..512]).unwrap();
        let mut digester = InlineDigester::default();
        let archive = read_stream(container, case.bytes.as_slice(), "x", &mut digester).unwrap();
        let named = archive
            .faults()
            .iter()
            .find(|fault| fault.kind == kind && fault.message.contains(bound));
        println!(
            "{ending} {bound}: {} packed bytes, peak {} MB",
            case.bytes.len(),
            peak() >> 20
        );
        assert!(named.is_some(), "{bound}: {:?}", archive.faults().first());
        let twice = archive
            .faults()
            .iter()
            .filter(|fault| fault.kind == Duplicate);
        assert!(twice.count() <= 1000);
    }
    assert!(peak() < MEMORY, "{} bytes", peak());
}
