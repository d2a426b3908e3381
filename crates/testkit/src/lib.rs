//! What the tests of several crates share: where the conformance data and the project's own
//! vectors are, how cases are run, and whether commands can be isolated. Used by tests only.
//!
//! Cases are read with our own reader: some have lone surrogates, which other readers refuse.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code: a failure is meant to stop the test"
)]

pub mod cli;
pub mod docker_registry;
pub mod folders;
pub mod forging;
pub mod isolation;
pub mod object_storage;
pub mod odd_registry;
pub mod postgres;
pub mod skip;
pub mod small_disk;
pub mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Node, ReadOptions, canonical_bytes, parse_document};
use runseal_core::verify::Report;

/// The root of the project.
pub fn project_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders in `folder`, sorted: vectors are discovered, not listed.
pub fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The conformance folder; `None`, with a message, if it is not part of the checkout.
pub fn conformance() -> Option<PathBuf> {
    let folder = project_root().join("../shared/conformance");
    if folder.is_dir() {
        return Some(folder);
    }
    skip::skip("../shared/conformance is missing");
    None
}

/// Calls `check` with each line of a `.jsonl` file and returns their number.
pub fn for_each_line(path: &Path, mut check: impl FnMut(Node<'_>)) -> usize {
    let text = fs::read_to_string(path).unwrap();
    for line in text.lines() {
        check(
            parse_document(line.as_bytes(), &ReadOptions::TEXT)
                .unwrap()
                .root(),
        );
    }
    text.lines().count()
}

/// The text of the member `name`.
pub fn text(node: Node<'_>, name: &str) -> Option<String> {
    node.get(name)?.as_str().map(Into::into)
}

/// The bytes that the member `name` has in hex.
pub fn unhex(node: Node<'_>, name: &str) -> Vec<u8> {
    let digits = text(node, name).unwrap();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks(2).map(byte).collect()
}

/// Runs every case of `kernel/<name>.jsonl`: `verify` returns the report of the text, or `None` if the
/// text is not JSON. Compares verdict, exit class and the set of (rule, path).
pub fn check_document_cases(name: &str, verify: impl Fn(&[u8], Node<'_>) -> Option<Report>) {
    let Some(folder) = conformance() else { return };
    let count = for_each_line(&folder.join(format!("kernel/{name}.jsonl")), |case| {
        let named = text(case, "name").unwrap();
        let bytes = match case.get("document") {
            Some(document) => canonical_bytes(document, Dialect::Kernel).unwrap(),
            None => text(case, "raw").unwrap().into_bytes(),
        };
        let report = verify(&bytes, case);
        let expect = case.get("expect").unwrap();
        let pair = |pair: Node<'_>| {
            let mut parts = pair.items().map(|part| part.as_str().map(String::from));
            (parts.next().unwrap().unwrap(), parts.next().unwrap())
        };
        let expected: BTreeSet<_> = expect
            .get("violations")
            .unwrap()
            .items()
            .map(pair)
            .collect();
        let found: BTreeSet<_> = report
            .iter()
            .flat_map(|report| report.findings())
            .map(|finding| {
                (
                    finding.rule_id.to_owned(),
                    finding.path().map(str::to_owned),
                )
            })
            .collect();
        assert_eq!(found, expected, "{named}");
        let valid = report.as_ref().is_some_and(Report::is_valid);
        assert_eq!(Some(valid), expect.get("ok").unwrap().as_bool(), "{named}");
        if let Some(exit) = expect.get("exit").and_then(|exit| exit.as_number()) {
            assert_eq!(report.is_none(), exit.text() == "2", "{named}");
        }
    });
    assert!(count > 50, "{count} cases of {name}");
    println!("{count} cases of {name}");
}
