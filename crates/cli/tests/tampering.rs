//! Tampering with everything that the demo makes: every byte, and every field dropped, retyped,
//! negated and replaced. Plain `verify` has to catch each.
//!
//! Packs of other producers have no list of their files. What such a pack repeats nowhere, so
//! that nothing can notice its being changed, is written to `docs/not-repeated.md` from here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use runseal_core::canon::{
    Dialect, Kind, Node, ReadOptions, Value, canonical_bytes, parse_document,
};
use runseal_core::formats::Format;
use runseal_core::formats::definition::{Judging, definition};
use runseal_core::formats::evidence::{CONTENTS, PROPOSAL};
use runseal_core::formats::pack::{FILES, SELF_HASH};
use runseal_core::path::SafePath;
use runseal_core::source::{MemorySource, NoThreads};
use runseal_core::verify::Level;
use runseal_runs::run::schema::LocalTools;
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

type Files = BTreeMap<String, Vec<u8>>;

/// Something that the demo made, in memory.
struct Made {
    name: &'static str,
    format: Format,
    /// The dialect that its JSON is stored in, and what follows the text.
    dialect: Dialect,
    end: &'static [u8],
    /// By name; a single document under "".
    files: Files,
}

impl Made {
    fn is_valid(&self, files: &Files) -> bool {
        let definition = definition(self.format);
        if let Some(bytes) = files.get("") {
            let judged = definition.judge_text(bytes, Level::Integrity).unwrap();
            return judged.is_ok_and(|judgement| judgement.report.is_valid());
        }
        let path = |name: &String| SafePath::parse(name).unwrap();
        let source = MemorySource::new(
            files
                .iter()
                .map(|(name, bytes)| (path(name), bytes.clone())),
        );
        let judging = Judging {
            path: "unit",
            level: Level::Integrity,
            tools: &LocalTools,
            threads: &NoThreads,
        };
        let judged = definition.judge_folder(&source, &judging).unwrap();
        judged.is_ok_and(|judgement| judgement.report.is_valid())
    }

    fn with(&self, name: &str, bytes: Vec<u8>) -> Files {
        let mut files = self.files.clone();
        files.insert(name.to_owned(), bytes);
        files
    }
}

fn read_folder(folder: &Path, below: &str, files: &mut Files) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            read_folder(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

fn run_demo() -> Option<Vec<Made>> {
    runseal_testkit::isolation::sandbox()?;
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let ran = bench.run(&["demo", "--out", "made"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let made = |name, path: &str, format, dialect, end: &'static [u8]| {
        let path = bench.path("made/good").join(path);
        let mut files = Files::new();
        if path.is_dir() {
            read_folder(&path, "", &mut files);
        } else {
            files.insert(String::new(), std::fs::read(path).unwrap());
        }
        Made {
            name,
            format,
            dialect,
            end,
            files,
        }
    };
    let (kernel, job, jcs) = (Dialect::Kernel, Dialect::Job, Dialect::Jcs);
    Some(vec![
        made(
            "context bundle",
            "bundle.json",
            Format::ContextBundle,
            kernel,
            b"\n",
        ),
        made("proposal", "proposal.json", Format::Proposal, kernel, b"\n"),
        made("pack", "pack", Format::Pack, kernel, b"\n"),
        made("job bundle", "job", Format::JobBundle, job, b"\n"),
        made("run bundle", "runs/first", Format::RunBundle, jcs, b""),
        made("receipt", "receipt.json", Format::Receipt, job, b"\n"),
    ])
}

#[test]
fn every_byte_that_is_flipped_is_caught_by_plain_verify() {
    let Some(all) = run_demo() else { return };
    for made in &all {
        assert!(made.is_valid(&made.files), "{}", made.name);
        let mut count = 0;
        for (name, bytes) in &made.files {
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                // Another bit each time, so that case, digits and structure are all hit.
                changed[at] ^= 1 << (at % 7);
                count += 1;
                assert!(
                    !made.is_valid(&made.with(name, changed)),
                    "{}: byte {at} of `{name}` was flipped and nobody noticed",
                    made.name
                );
            }
        }
        println!("{}: {count} of {count} flipped bytes caught", made.name);
    }
}

#[test]
fn every_field_that_is_edited_is_caught_by_plain_verify() {
    let Some(all) = run_demo() else { return };
    for made in &all {
        let mut count = 0;
        for (name, bytes) in &made.files {
            let Ok(document) = parse_document(bytes, &ReadOptions::default()) else {
                continue;
            };
            for (place, edited) in edits_of(document.root()) {
                // Without its signature a receipt is an unsigned one, which says so.
                if made.format == Format::Receipt && place == "had attestation replaced by null" {
                    continue;
                }
                let mut text = canonical_bytes(&edited, made.dialect).unwrap();
                text.extend_from_slice(made.end);
                count += 1;
                assert!(
                    !made.is_valid(&made.with(name, text)),
                    "{}: `{name}` {place} and nobody noticed",
                    made.name
                );
            }
        }
        println!("{}: {count} of {count} edits caught", made.name);
    }
}

/// Every document that one edit of one field gives.
fn edits_of(root: Node<'_>) -> Vec<(String, Value)> {
    let whole = root.to_value();
    let mut edits = Vec::new();
    let mut paths = vec![Vec::new()];
    collect_paths(root, &mut Vec::new(), &mut paths);
    for path in paths.iter().filter(|path| !path.is_empty()) {
        let old = at(&whole, path).clone();
        let shown = path.join("/");
        let mut dropped = whole.clone();
        drop_at(&mut dropped, path);
        edits.push((format!("lost {shown}"), dropped));
        for (what, new) in replacements(&old) {
            let mut changed = whole.clone();
            *at_mut(&mut changed, path) = new;
            edits.push((format!("had {shown} {what}"), changed));
        }
    }
    edits
}

fn replacements(old: &Value) -> Vec<(&'static str, Value)> {
    let mut new = match old {
        Value::Null => vec![("replaced", Value::from("x"))],
        Value::Bool(flag) => vec![
            ("negated", Value::from(!flag)),
            ("retyped", Value::from(flag.to_string())),
        ],
        Value::Number(number) => vec![
            ("replaced", Value::from(number.get().to_f64() as i64 + 1)),
            ("negated", Value::from(-(number.get().to_f64() as i64) - 1)),
            ("retyped", Value::from(number.get().text())),
        ],
        Value::String(text) => vec![
            ("replaced", Value::from(format!("{}x", text.to_lossy()))),
            ("emptied", Value::from("")),
            ("retyped", Value::from(1)),
        ],
        Value::Array(_) | Value::Object(_) => vec![("retyped", Value::from("x"))],
    };
    if !matches!(old, Value::Null) {
        new.push(("replaced by null", Value::Null));
    }
    new.retain(|(_, new)| new != old);
    new
}

fn collect_paths(node: Node<'_>, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let mut below = |name: String, node: Node<'_>| {
        path.push(name);
        paths.push(path.clone());
        collect_paths(node, path, paths);
        path.pop();
    };
    for (key, member) in node.members() {
        below(key.to_lossy().into_owned(), member);
    }
    for (index, item) in node.items().enumerate() {
        below(index.to_string(), item);
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |value, step| match value {
        Value::Object(members) => members.get(&step.as_str().into()).unwrap(),
        Value::Array(items) => &items[step.parse::<usize>().unwrap()],
        _ => panic!("no such place"),
    })
}

fn at_mut<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Object(members) => members.get_mut(&step.as_str().into()).unwrap(),
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        _ => panic!("no such place"),
    })
}

fn drop_at(value: &mut Value, path: &[String]) {
    let (last, above) = path.split_last().unwrap();
    match at_mut(value, above) {
        Value::Object(members) => drop(members.remove(&last.as_str().into())),
        Value::Array(items) => drop(items.remove(last.parse::<usize>().unwrap())),
        _ => panic!("no such place"),
    }
}

/// The page's beginning.
const PAGE: &str = "# What a pack does not repeat\n\n\
<!-- Made by the test `tampering`; RUNSEAL_BLESS=1 writes it anew. -->\n\n\
A pack of our harness lists the hash of every file, so any change shows. Another producer's pack\n\
may have no such list. Then a change shows where another file of the pack repeats or implies the\n\
value. The members below are repeated nowhere: each was changed in some way that plain `verify`\n\
could not notice. Do not rely on them without a signature.\n\n";

#[test]
fn members_that_an_outside_pack_repeats_nowhere_are_listed_in_the_docs() {
    let Some(all) = run_demo() else { return };
    let mut made = all
        .into_iter()
        .find(|made| made.format == Format::Pack)
        .unwrap();
    // As another producer writes it: no list of files, no contents.
    for (name, ours) in [
        ("run.json", [FILES, SELF_HASH]),
        ("evidence.json", [CONTENTS, PROPOSAL]),
    ] {
        let mut value = parse_document(&made.files[name], &ReadOptions::default())
            .unwrap()
            .root()
            .to_value();
        let Value::Object(members) = &mut value else {
            panic!("{name} is an object");
        };
        for member in ours {
            assert!(members.remove(&member.into()).is_some(), "{member}");
        }
        let mut text = canonical_bytes(&value, Dialect::Kernel).unwrap();
        text.push(b'\n');
        made.files.insert(name.to_owned(), text);
    }
    assert!(made.is_valid(&made.files));
    let mut unnoticed = BTreeSet::new();
    for (name, bytes) in &made.files {
        let Ok(document) = parse_document(bytes, &ReadOptions::default()) else {
            continue;
        };
        for (place, edited) in edits_of(document.root()) {
            let mut text = canonical_bytes(&edited, Dialect::Kernel).unwrap();
            text.push(b'\n');
            if made.is_valid(&made.with(name, text)) {
                unnoticed.insert(format!("{name} {}", without_indexes(&place)));
            }
        }
    }
    for file in ["bundle.json", "policy.json"] {
        let is_here = unnoticed.iter().any(|place| place.starts_with(file));
        assert!(!is_here, "{file} is covered whole: {unnoticed:#?}");
    }
    for decides in [
        "run.json `decision.accepted` negated",
        "run.json `execution.exit_code` replaced",
        "evidence.json `status` replaced",
        "evidence.json `action_results[].status` replaced",
        "evidence.json `test_results[].passed` negated",
        "patch.json `operations[].content` replaced",
        "runner.json `sandbox.network_blocked` negated",
        "runner.json `exit.timeout_killed` negated",
    ] {
        assert!(!unnoticed.contains(decides), "{decides}");
    }
    let mut page = PAGE.to_owned();
    for place in &unnoticed {
        writeln!(page, "- {place}").unwrap();
    }
    let path = project_root().join("docs/not-repeated.md");
    if std::env::var_os("RUNSEAL_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(stored, page, "stale: RUNSEAL_BLESS=1 writes it anew");
}

/// `lost action_results/0/path` as "`action_results[].path` lost".
fn without_indexes(place: &str) -> String {
    let (verb, rest) = place.split_once(' ').unwrap();
    let (path, what) = match verb {
        "lost" => (rest, "dropped"),
        _ => rest.split_once(' ').unwrap_or((rest, "")),
    };
    let mut shown = String::new();
    for step in path.split('/') {
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            shown.push_str("[]");
        } else {
            if !shown.is_empty() {
                shown.push('.');
            }
            shown.push_str(step);
        }
    }
    format!("`{shown}` {what}")
}

#[test]
fn kinds_of_documents_have_something_to_edit() {
    let text = br#"{"a":[true,{"b":null}],"c":1}"#;
    let document = parse_document(text, &ReadOptions::default()).unwrap();
    assert_eq!(document.root().kind(), Kind::Object);
    let edits = edits_of(document.root());
    let places: BTreeSet<&str> = edits.iter().map(|(place, _)| place.as_str()).collect();
    for wanted in [
        "lost a/1/b",
        "had a/0 negated",
        "had c retyped",
        "had a retyped",
    ] {
        assert!(places.contains(wanted), "{wanted}: {places:?}");
    }
}
