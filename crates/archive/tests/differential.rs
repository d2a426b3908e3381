//! Whatever a common unpacker writes from an archive that is accepted here is, byte for byte, what
//! was verified.
//!
//! The archives are made by hand to be malicious, made by hand to be unusual, or written by common
//! tools. Each one that the reader accepts is unpacked by unzip, Python's zipfile and tarfile, GNU
//! tar, bsdtar (from a file and from a pipe) and 7z.

use std::collections::BTreeMap;
use std::fs;

use crate::hostile::{Case, Dice, hostile, unusual};
use crate::unpackers::{ALL, Node, Tree, Unpacker, read_tree};
use runseal_archive::{Archive, InlineDigester, Record, read_stream, sniff};
use runseal_core::digest::Digest;
use runseal_core::source::EntryKind;
use runseal_testkit::skip::skip;

fn read(case: &Case) -> Option<Archive> {
    let container = sniff(&case.bytes[..case.bytes.len().min(512)])?;
    let mut digester = InlineDigester::default();
    Some(read_stream(container, case.bytes.as_slice(), "case", &mut digester).unwrap())
}

/// Whether nothing is wrong with an archive. Links and devices are not faults, but findings of
/// callers that look at entries.
fn is_accepted(archive: &Archive) -> bool {
    let is_plain = |kind| matches!(kind, EntryKind::File | EntryKind::Directory);
    archive.faults().is_empty() && archive.below("").all(|(_, record)| is_plain(record.kind()))
}

/// Returns the unpackers installed here. CI must have all of them.
fn available() -> Vec<Unpacker> {
    let (there, missing): (Vec<_>, Vec<_>) =
        ALL.iter().partition(|unpacker| unpacker.is_installed());
    if !missing.is_empty() {
        skip(&format!("unpackers are missing: {missing:?}"));
    }
    there
}

/// How often an unpacker wrote the same, and how often it refused.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    same: usize,
    refused: usize,
}

#[derive(Debug, Default)]
struct Table(BTreeMap<Unpacker, Tally>);

impl Table {
    fn print(&self, title: &str) {
        println!("{title}");
        for (unpacker, tally) in &self.0 {
            println!(
                "  {unpacker:?}: {} the same, {} refused",
                tally.same, tally.refused
            );
        }
    }
}

/// Returns the differences between what was verified and what was unpacked.
fn differences(archive: &Archive, tree: &Tree, is_whole: bool) -> Vec<String> {
    let mut different = Vec::new();
    let mut verified = BTreeMap::new();
    for (name, record) in archive.below("") {
        verified.insert(name.to_vec(), record);
    }
    for (name, node) in tree {
        let is_same = match (verified.get(name), node) {
            (Some(Record::Folder), Node::Folder) => true,
            (Some(Record::File(file)), Node::File(bytes)) => {
                file.content.sha256 == Digest::of(bytes)
                    && file.kept.is_none_or(|kept| kept == bytes)
            }
            _ => false,
        };
        if !is_same {
            different.push(format!("`{}` is unpacked as {node:?}", name.escape_ascii()));
        }
    }
    if is_whole {
        let missing = verified.keys().filter(|name| !tree.contains_key(*name));
        different.extend(missing.map(|name| format!("`{}` is missing", name.escape_ascii())));
    }
    different
}

/// Unpacks an accepted archive with every unpacker that reads it; returns what differs.
fn compare(
    case: &Case,
    archive: &Archive,
    unpackers: &[Unpacker],
    table: &mut Table,
) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(format!("case.{}", case.ending));
    fs::write(&path, &case.bytes).unwrap();
    let mut different = Vec::new();
    for unpacker in unpackers
        .iter()
        .filter(|unpacker| unpacker.reads(case.ending))
    {
        let target = place.path().join(format!("{unpacker:?}"));
        fs::create_dir(&target).unwrap();
        let has_succeeded = unpacker.unpack(&path, case.ending, &target);
        let tally = table.0.entry(*unpacker).or_default();
        if has_succeeded {
            tally.same += 1;
        } else {
            tally.refused += 1;
        }
        // An unpacker that fails may stop early, but may not write anything else.
        for difference in differences(archive, &read_tree(&target), has_succeeded) {
            different.push(format!(
                "{} {}: {unpacker:?}: {difference}",
                case.ending, case.name
            ));
        }
    }
    different
}

#[test]
fn hostile_archives_are_all_refused() {
    let cases = hostile();
    let mut by_ending: BTreeMap<&str, usize> = BTreeMap::new();
    let mut accepted = Vec::new();
    for case in &cases {
        *by_ending.entry(case.ending).or_default() += 1;
        // Bytes not recognized as an archive are never verified as one.
        if read(case).is_some_and(|archive| is_accepted(&archive)) {
            accepted.push(format!("{} {}", case.ending, case.name));
        }
    }
    println!("{} hostile archives: {by_ending:?}", cases.len());
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
    assert!(cases.len() >= 150);
}

#[test]
fn unusual_archives_are_accepted_and_unpack_to_what_was_verified() {
    let unpackers = available();
    let mut table = Table::default();
    let mut different = Vec::new();
    for case in unusual() {
        let archive = read(&case).unwrap();
        let faults = archive.faults();
        if faults.is_empty() {
            different.extend(compare(&case, &archive, &unpackers, &mut table));
        } else {
            different.push(format!("{} {}: {faults:?}", case.ending, case.name));
        }
    }
    table.print("unusual archives");
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn archives_of_common_tools_are_accepted_and_unpack_to_what_was_packed() {
    let unpackers = available();
    let mut table = Table::default();
    let mut different = Vec::new();
    let (cases, packed) = crate::tools::cases();
    println!("{} archives of common tools", cases.len());
    for case in cases {
        let archive = read(&case).unwrap();
        let faults = archive.faults();
        assert_eq!(faults, [], "{} {}", case.ending, case.name);
        let of_tree = differences(&archive, &packed, true);
        assert_eq!(of_tree, [""; 0], "{} {}", case.ending, case.name);
        different.extend(compare(&case, &archive, &unpackers, &mut table));
    }
    table.print("archives of common tools");
    assert!(different.is_empty(), "{different:#?}");
    let refused: usize = table.0.values().map(|tally| tally.refused).sum();
    assert_eq!(refused, 0, "{table:?}");
}

/// Changes one to three bytes of an archive, or cuts or doubles a stretch of it.
fn mutate(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        match dice.below(8) {
            0 => bytes[at] = 0,
            1 => bytes[at] = 0xff,
            2 => bytes[at] = bytes[at].wrapping_add(1),
            3 => bytes[at] = b"/\\.. 01257xgLKPK\x03\x05"[dice.below(18)],
            4 => {
                let end = (at + 1 + dice.below(4)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                let end = (at + 1 + dice.below(30)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => bytes[at] ^= 1 << dice.below(8),
        }
        if bytes.len() < 4 {
            break;
        }
    }
    bytes
}

/// Sets a tar's checksums, so that mutants get past them.
fn reseal(bytes: &mut [u8]) {
    for at in (0..bytes.len().saturating_sub(511)).step_by(512) {
        let block = &mut bytes[at..at + 512];
        if &block[257..262] == b"ustar" {
            crate::hostile::tars::seal(block);
        }
    }
}

#[test]
fn mutants_that_are_accepted_unpack_to_what_was_verified() {
    let unpackers = available();
    let mut table = Table::default();
    let mut different = Vec::new();
    let mut dice = Dice::new(14);
    let seeds: Vec<_> = unusual().into_iter().chain(hostile()).collect();
    let (mut tried, mut compared) = (0, 0);
    while compared < 60 && tried < 60_000 {
        tried += 1;
        let seed = &seeds[dice.below(seeds.len())];
        if seed.bytes.len() > 5000 {
            continue;
        }
        let mut bytes = mutate(&seed.bytes, &mut dice);
        if seed.ending == "tar" {
            reseal(&mut bytes);
        }
        let case = Case {
            name: format!("mutant {tried} of {}", seed.name),
            ending: seed.ending,
            bytes,
        };
        let Some(archive) = read(&case).filter(is_accepted) else {
            continue;
        };
        // Most accepted mutants differ in times and owners; a tenth of them is enough.
        if dice.below(10) == 0 {
            compared += 1;
            different.extend(compare(&case, &archive, &unpackers, &mut table));
        }
    }
    println!("{tried} mutants, {compared} compared");
    table.print("mutants");
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn differences_are_found() {
    let case = unusual()
        .into_iter()
        .find(|case| case.name == "folders")
        .unwrap();
    let archive = read(&case).unwrap();
    let mut tree = Tree::new();
    for (name, record) in archive.below("") {
        let node = match record {
            Record::Folder => Node::Folder,
            Record::File(file) => Node::File(file.kept.unwrap().to_vec()),
            Record::Other(_) => Node::Other("other"),
        };
        tree.insert(name.to_vec(), node);
    }
    assert_eq!(differences(&archive, &tree, true), [""; 0]);
    let changes: [(&[u8], Option<Node>); 4] = [
        (b"extra", Some(Node::File(Vec::new()))),
        (b"a/b", None),
        (b"a/b", Some(Node::File(b"y".to_vec()))),
        (b"a/b", Some(Node::Other("link"))),
    ];
    for (name, node) in changes {
        let mut changed = tree.clone();
        match node {
            Some(node) => changed.insert(name.to_vec(), node),
            None => changed.remove(name),
        };
        assert_eq!(differences(&archive, &changed, true).len(), 1);
    }
}
