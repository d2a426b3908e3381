//! Goldens: our own intents and the hashes of their bundles (000 §7.3).
//!
//! A changed hash breaks what the kernel promises. To accept one, run the test with
//! `UPDATE_GOLDENS=1`, look at the diff, and say why in `CHANGELOG_GOLDENS.md`.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_kernel::{parse_intent, transform};
use runseal_testkit::project_root;
use std::fmt::Write as _;

#[test]
fn golden_bundle_hashes_are_unchanged() {
    let folder = project_root().join("goldens");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 25, "{} goldens", files.len());
    let mut table = String::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(file).unwrap();
        let document = parse_document(&bytes, &ReadOptions::INTENT).unwrap();
        match parse_intent(&document) {
            Err(refusal) => writeln!(table, "{name} REFUSE {refusal}").unwrap(),
            Ok(intent) => {
                let bundle = transform(&intent).unwrap();
                let hash = bundle.compute_hash().unwrap();
                let open = bundle.questions.len();
                writeln!(table, "{name} {} {open} {hash}", bundle.kind().name()).unwrap();
            }
        }
    }
    let stored = folder.join("hashes.txt");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&stored, &table).unwrap();
    }
    assert_eq!(table, std::fs::read_to_string(&stored).unwrap());
}

#[test]
fn golden_intent_written_differently_has_the_same_hash() {
    let table = std::fs::read_to_string(project_root().join("goldens/hashes.txt")).unwrap();
    let hash_of = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!(hash_of("01-clear"), hash_of("02-clear-reordered"));
    assert_eq!(hash_of("19-unicode"), hash_of("20-unicode-decomposed"));
}
