//! Archives that mean harm or are broken: each is a finding with the entry's name.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a failure is meant to stop the test"
)]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use runseal_core::formats::archive::FaultKind;
use runseal_fs::archive::{Archive, Container, read_archive_file, read_archive_stream, sniff};
use zip::unstable::write::FileOptionsExt;
use zip::write::SimpleFileOptions;

type Faults = Vec<(FaultKind, Option<String>)>;

fn faults(archive: &Archive) -> Faults {
    let fault =
        |fault: &runseal_core::formats::archive::ArchiveFault| (fault.kind, fault.path.clone());
    archive.faults().iter().map(fault).collect()
}

fn read(bytes: &[u8]) -> Archive {
    let container = sniff(&bytes[..bytes.len().min(512)]).unwrap();
    let streamed = read_archive_stream(container, bytes, "x").unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x");
    fs::write(&path, bytes).unwrap();
    let from_file = read_archive_file(&path).unwrap().unwrap();
    assert_eq!(faults(&streamed), faults(&from_file));
    streamed
}

fn at(kind: FaultKind, path: &str) -> (FaultKind, Option<String>) {
    (kind, Some(path.to_owned()))
}

/// A tar header by hand: writers refuse most of what is tested here.
fn header(name: &str, kind: u8, size: u64) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..107].copy_from_slice(b"0000644");
    block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, kind, content.len() as u64);
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Changes every occurrence of a name, which must keep its length.
fn rename(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut start = 0;
    while let Some(found) = bytes[start..]
        .windows(from.len())
        .position(|window| window == from.as_bytes())
    {
        bytes[start + found..][..to.len()].copy_from_slice(to.as_bytes());
        start += found + to.len();
    }
    bytes
}

#[test]
fn tar_with_names_that_leave_the_folder_names_each_and_keeps_none() {
    let archive = read(&tar(&[
        entry("../up.json", b'0', b"{}"),
        entry("/etc/x", b'0', b""),
        entry("ok/../../y", b'0', b""),
        entry("fine", b'0', b"x"),
    ]));
    use FaultKind::Name;
    let expected = [
        at(Name, "../up.json"),
        at(Name, "/etc/x"),
        at(Name, "ok/../../y"),
    ];
    assert_eq!(faults(&archive), expected);
    let names: Vec<_> = archive.below("").map(|(name, _)| name).collect();
    assert_eq!(names, [b"fine"]);
}

#[test]
fn zip_slip_and_the_same_name_twice_are_named() {
    let slip = rename(&zip(&[("aa/x.json", b"{}")]), "aa/x.json", "../x.json");
    assert_eq!(faults(&read(&slip)), [at(FaultKind::Name, "../x.json")]);
    let twice = rename(
        &zip(&[("a.json", b"1"), ("b.json", b"2")]),
        "b.json",
        "a.json",
    );
    assert_eq!(faults(&read(&twice)), [at(FaultKind::Duplicate, "a.json")]);
}

#[test]
fn tar_links_pipes_and_devices_are_told_apart() {
    let archive = read(&tar(&[
        entry("file", b'0', b"x"),
        entry("hard", b'1', b""),
        entry("soft", b'2', b""),
        entry("pipe", b'6', b""),
        entry("device", b'3', b""),
        entry("strange", b'Z', b"abc"),
    ]));
    let expected = [
        at(FaultKind::Link, "hard"),
        at(FaultKind::Ambiguous, "strange"),
    ];
    assert_eq!(faults(&archive), expected);
    assert_eq!(archive.below("").count(), 4);
}

#[test]
fn tar_with_a_name_of_two_gigabytes_is_refused_by_its_size() {
    let mut bytes = entry("before", b'0', b"x");
    bytes.extend(header("././@LongLink", b'L', 2 << 30));
    bytes.resize(bytes.len() + 4096, b'a');
    assert_eq!(faults(&read(&bytes)), [at(FaultKind::Limit, "before")]);
    let mut bytes = header("pax", b'x', 2 << 30);
    bytes.resize(bytes.len() + 4096, b'a');
    assert_eq!(faults(&read(&bytes)), [(FaultKind::Limit, None)]);
}

#[test]
fn tar_that_breaks_off_is_named_at_every_length() {
    let whole = tar(&[
        entry("a.json", b'0', b"{}"),
        entry("b.json", b'0', &[b'1'; 600]),
    ]);
    assert_eq!(faults(&read(&whole)), []);
    for length in (512..whole.len() - 1024).step_by(100) {
        let found = faults(&read(&whole[..length]));
        assert_eq!(found.len(), 1, "{length}");
        assert_eq!(found[0].0, FaultKind::Damaged, "{length}");
    }
    let packed = gz(&whole);
    for length in 20..packed.len() {
        let found = faults(&read(&packed[..length]));
        assert!(
            found.iter().any(|(kind, _)| *kind == FaultKind::Damaged),
            "{length}"
        );
    }
}

#[test]
fn tar_changed_anywhere_in_gzip_is_a_fault() {
    let packed = gz(&tar(&[entry("a.json", b'0', b"{\"a\":1}")]));
    for at in 10..packed.len() {
        let mut changed = packed.clone();
        changed[at] ^= 1;
        // Some bits of a deflate stream say nothing: then nothing may change.
        let (changed, whole) = (read(&changed), read(&packed));
        let told = |archive: &Archive| format!("{:?}", archive.below("").collect::<Vec<_>>());
        assert!(
            !changed.faults().is_empty() || told(&changed) == told(&whole),
            "byte {at}"
        );
    }
}

#[test]
fn tar_with_more_behind_its_end_is_ambiguous() {
    let mut bytes = tar(&[entry("a", b'0', b"x")]);
    bytes.extend(entry("hidden", b'0', b"y"));
    assert_eq!(faults(&read(&bytes)), [(FaultKind::Ambiguous, None)]);
}

#[test]
fn zip_that_breaks_off_or_is_encrypted_is_named() {
    let whole = zip(&[("a.json", b"{}"), ("b.json", b"[1,2,3]")]);
    assert_eq!(faults(&read(&whole)), []);
    for length in (30..whole.len() - 1).step_by(7) {
        assert_eq!(
            faults(&read(&whole[..length])),
            [(FaultKind::Damaged, None)],
            "{length}"
        );
    }
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .with_deprecated_encryption(b"secret")
        .unwrap();
    writer.start_file("a.json", options).unwrap();
    writer.write_all(b"{}").unwrap();
    let encrypted = writer.finish().unwrap().into_inner();
    assert_eq!(
        faults(&read(&encrypted)),
        [at(FaultKind::Encrypted, "a.json")]
    );
}

#[test]
fn zip_whose_lists_disagree_or_whose_content_was_changed_is_damaged() {
    let whole = zip(&[("a.json", b"{\"some\":\"content\"}")]);
    let mut renamed = whole.clone();
    renamed[30] = b'b';
    assert_eq!(
        faults(&read(&renamed)),
        [at(FaultKind::Ambiguous, "a.json")]
    );
    let mut prepended = b"PK\x03\x04hidden".to_vec();
    prepended.extend_from_slice(&whole);
    assert_eq!(faults(&read(&prepended)), [(FaultKind::Damaged, None)]);
}

#[test]
fn bombs_stop_early_and_are_named() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("bomb.tar.gz");
    let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::best());
    encoder.write_all(&header("zeros", b'0', 1 << 30)).unwrap();
    for _ in 0..80 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap();
    let archive = read_archive_file(&path).unwrap().unwrap();
    assert_eq!(faults(&archive), [at(FaultKind::Bomb, "zeros")]);

    let zeros = vec![0; 80 << 20];
    let bytes = zip(&[("zeros", &zeros)]);
    assert!(bytes.len() < 1 << 20);
    assert_eq!(faults(&read(&bytes)), [(FaultKind::Bomb, None)]);
}

#[test]
fn zip_entries_that_share_bytes_are_a_bomb() {
    let whole = zip(&[("a.json", b"{}"), ("b.json", b"{}")]);
    // The second entry of the list points to the first one's file.
    let list = whole
        .windows(4)
        .rposition(|window| window == b"PK\x01\x02")
        .unwrap();
    let mut shared = whole.clone();
    shared[list + 42..list + 46].copy_from_slice(&[0; 4]);
    assert_eq!(faults(&read(&shared)), [at(FaultKind::Bomb, "b.json")]);
}

#[test]
fn real_tools_write_archives_that_are_read() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("folder");
    let deep = "long-name-".repeat(12);
    fs::create_dir_all(folder.join(&deep).join(&deep)).unwrap();
    fs::write(folder.join(&deep).join(&deep).join("file.txt"), "content\n").unwrap();
    for (format, options) in [("gnu", ""), ("pax", ""), ("ustar", ""), ("gnu", "-z")] {
        let target = place.path().join("out");
        let mut command = std::process::Command::new("tar");
        command
            .arg("-C")
            .arg(&folder)
            .arg(format!("--format={format}"));
        if !options.is_empty() {
            command.arg(options);
        }
        let done = command.arg("-cf").arg(&target).arg(".").output().unwrap();
        // ustar has no room for such a name; tar says so and leaves it out.
        assert!(done.status.success() || format == "ustar");
        let archive = read_archive_file(&target).unwrap().unwrap();
        assert_eq!(faults(&archive), [], "{format}");
        let name = format!("{deep}/{deep}/file.txt");
        assert_eq!(
            archive.get(&name).is_some(),
            done.status.success(),
            "{format}"
        );
    }
}

#[test]
fn archive_named_as_another_kind_is_ambiguous() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.zip");
    fs::write(&path, tar(&[entry("a.json", b'0', b"{}")])).unwrap();
    let archive = read_archive_file(&path).unwrap().unwrap();
    assert_eq!(faults(&archive), [(FaultKind::Ambiguous, None)]);
}

#[test]
fn what_is_not_an_archive_is_not_opened_as_one() {
    let place = tempfile::tempdir().unwrap();
    let path: PathBuf = place.path().join("x.zip");
    fs::write(&path, "{}").unwrap();
    assert!(read_archive_file(&path).unwrap().is_none());
    assert!(read_archive_file(Path::new("/nonexistent")).is_err());
    assert_eq!(sniff(b"PK\x03\x04"), Some(Container::Zip));
}
