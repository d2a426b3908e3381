//! Random bundles, random drops: every copy verifies, every forged copy does not, and no digest of
//! what is withheld is left.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::Seed;
use runseal_core::formats::redacted::documents::{REDACTION, Redaction};
use runseal_core::formats::redacted::{RULES, RedactedView};
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_core::verify::{Level, run_rules};
use runseal_engine::redact::{
    Drop, DropKind, Original, RedactError, commit_file, plan_redaction, render_copy,
};

/// Copies that are made and forged; most random drops ask for something that stays, and make none.
const COPIES: u64 = 2_000;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.next(if depth == 0 { 5 } else { 8 }) {
            0 => Value::Null,
            1 => Value::from(self.next(2) == 0),
            2 => Value::from(self.next(1000)),
            3 => Value::from(format!("w{}", self.next(50))),
            4 => Value::from(["", "a/b", "~", "é", "\u{1f600}"][self.next(5) as usize]),
            5 => Value::array(
                (0..self.next(4))
                    .map(|_| self.value(depth - 1))
                    .collect::<Vec<_>>(),
            ),
            _ => {
                let mut object = Value::object::<Value>([]);
                for _ in 0..self.next(5) {
                    let name = ["a", "b", "c/d", "e~f", "", "é", "0"][self.next(7) as usize];
                    let value = self.value(depth - 1);
                    object.insert(name, value);
                }
                object
            }
        }
    }
}

type Files = BTreeMap<String, Vec<u8>>;

fn bytes(value: &Value) -> Vec<u8> {
    canonical_bytes(value, Dialect::Jcs).unwrap()
}

/// The files of a bundle as sealing leaves them, with hashes of some of them in others.
fn bundle(numbers: &mut Numbers, seed: &Seed) -> Files {
    let mut files = Files::new();
    let input = numbers.value(4);
    let input_bytes = bytes(&input);
    let mut output = Value::object([
        (
            "inputs_hash",
            Value::from(Digest::of(&input_bytes).to_string()),
        ),
        ("semantics", Value::from("RAW_TRUTH")),
        ("outputs", numbers.value(4)),
    ]);
    let outputs_hash = Digest::of(&bytes(&output)).to_string();
    output.insert("outputs_hash", outputs_hash);
    let engine = Value::object([("engine_code", "E"), ("engine_version", "1.0.0")]);
    output.insert("engine", engine);
    let mut meta = Value::object([
        ("run_id", "r"),
        ("engine_code", "E"),
        ("engine_version", "1.0.0"),
    ]);
    for at in 0..numbers.next(3) {
        let content = format!("content {}", numbers.next(9)).into_bytes();
        let note = format!("{} is a digest", Digest::of(&content).hex_prefix(16));
        meta.insert(&format!("about_{at}"), note);
        files.insert(format!("artifacts/f{at}.txt"), content);
    }
    if numbers.next(2) == 0 {
        files.insert("artifacts/d.json".to_owned(), bytes(&numbers.value(3)));
    }
    files.insert("RUN_INPUT.json".to_owned(), input_bytes);
    files.insert("RUN_OUTPUT.json".to_owned(), bytes(&output));
    files.insert("RUN_META.json".to_owned(), bytes(&meta));
    let committed = files.iter().map(|(path, content)| {
        commit_file(seed, path, Digest::of(content), || Ok(content.clone())).unwrap()
    });
    let redaction = Redaction {
        format: "run-bundle".to_owned(),
        files: committed.collect(),
    };
    files.insert(REDACTION.to_owned(), bytes(&redaction.to_value()));
    files
}

fn source(files: &Files) -> MemorySource {
    let files = files.iter();
    MemorySource::new(
        files.map(|(path, content)| (SafePath::parse(path).unwrap(), content.clone())),
    )
}

fn holds(files: &Files) -> bool {
    let view = RedactedView::collect(&source(files)).unwrap();
    run_rules(&RULES, &view, Level::Form).is_valid()
}

/// Every place of a bundle that may be asked for.
fn places(files: &Files) -> Vec<String> {
    let mut found = Vec::new();
    for (path, content) in files.iter().filter(|(path, _)| *path != REDACTION) {
        found.push(path.clone());
        let text = std::str::from_utf8(content).unwrap();
        if !path.ends_with(".json") {
            continue;
        }
        let options = runseal_core::canon::ReadOptions::default();
        let document = runseal_core::canon::parse_document(text.as_bytes(), &options).unwrap();
        let mut waiting = vec![(String::new(), document.root())];
        while let Some((pointer, node)) = waiting.pop() {
            for (at, item) in node.items().enumerate() {
                waiting.push((format!("{pointer}/{at}"), item));
            }
            for (key, value) in node.members() {
                let step = key.to_lossy().replace('~', "~0").replace('/', "~1");
                waiting.push((format!("{pointer}/{step}"), value));
            }
            if !pointer.is_empty() {
                found.push(format!("{path}#{pointer}"));
            }
        }
    }
    found
}

#[test]
fn copies_of_random_bundles_verify_and_forged_ones_do_not() {
    let mut numbers = Numbers(0x2545_F491_4F6C_DD1D);
    let (mut copies, mut forged) = (0, 0);
    let mut case: u64 = 0;
    while copies < COPIES {
        case += 1;
        assert!(
            case < 20 * COPIES,
            "only {copies} of {case} drops made a copy"
        );
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&case.to_be_bytes());
        let seed = Seed::from_bytes(seed);
        let files = bundle(&mut numbers, &seed);
        let all = places(&files);
        let drops: Vec<Drop> = (0..1 + numbers.next(3))
            .map(|_| Drop {
                kind: DropKind::Place(all[numbers.next(all.len() as u64) as usize].clone()),
                reason: "asked".to_owned(),
            })
            .collect();
        let original = Original::read(Box::new(source(&files)), seed).unwrap();
        let plan = match plan_redaction(&original, &drops) {
            Ok(plan) => plan,
            Err(RedactError::Stays { .. }) => continue,
            Err(error) => panic!("case {case}: {error} {drops:?}"),
        };
        let contents = render_copy(&original, &plan).unwrap();
        let mut copy: Files = contents.documents;
        for path in contents.whole {
            copy.insert(path.clone(), files[&path].clone());
        }
        assert!(holds(&copy), "case {case}: {drops:?}");
        copies += 1;
        check_digests(&files, &copy, case);
        for _ in 0..3 {
            let Some(changed) = forge(&mut numbers, &copy) else {
                continue;
            };
            assert!(!holds(&changed), "case {case}: a forged copy holds");
            forged += 1;
        }
    }
    assert!(forged > COPIES, "{forged} forged");
}

/// No digest of a file that a copy does not show whole is left in it.
fn check_digests(files: &Files, copy: &Files, case: u64) {
    let mut text = String::new();
    for (path, content) in copy.iter().filter(|(path, _)| *path != REDACTION) {
        text.push_str(path);
        text.push_str(&String::from_utf8_lossy(content));
    }
    for (path, content) in files {
        if copy.get(path) != Some(content) && path != REDACTION {
            let digest = Digest::of(content).to_string();
            assert!(
                !text.contains(&digest[..16]),
                "case {case}: the digest of {path} is left"
            );
        }
    }
}

/// A copy that somebody changed; none where the change is none.
fn forge(numbers: &mut Numbers, copy: &Files) -> Option<Files> {
    let mut changed = copy.clone();
    let names: Vec<&String> = copy.keys().collect();
    let name = names[numbers.next(names.len() as u64) as usize].clone();
    match numbers.next(4) {
        0 => {
            changed.remove(&name);
        }
        1 => {
            changed.insert(
                format!("artifacts/new{}.txt", numbers.next(9)),
                b"x".to_vec(),
            );
        }
        _ => {
            let content = changed.get_mut(&name)?;
            if content.is_empty() {
                return None;
            }
            // A reason is its redactor's word, and so is free text.
            let at = numbers.next(content.len() as u64) as usize;
            if name == "REDACTED.json" {
                let text = String::from_utf8_lossy(content).into_owned();
                let start = text.find("\"key\":\"").map(|at| at + 7)?;
                let offset = numbers.next(64) as usize;
                content[start + offset] = if content[start + offset] == b'0' {
                    b'1'
                } else {
                    b'0'
                };
            } else {
                content[at] ^= 1 << numbers.next(7);
            }
        }
    }
    (changed != *copy).then_some(changed)
}

#[test]
fn salt_of_one_path_opens_that_path_alone() {
    // Two bundles of one seed that differ in one value differ in that value's commitment and in
    // what holds it; its sibling's commitment is the same, so its salt says nothing of the other.
    let seed = Seed::from_bytes([9; 32]);
    let commit = |text: &str| {
        let content = text.as_bytes().to_vec();
        commit_file(
            &seed,
            "a.json",
            Digest::of(&content),
            || Ok(content.clone()),
        )
        .unwrap()
    };
    let first = commit(r#"{"x":"one","y":"two"}"#);
    let second = commit(r#"{"x":"six","y":"two"}"#);
    assert_ne!(first.commitment, second.commitment);
    let key = seed.file_key("a.json");
    let (x, y) = (key.member(&"x".into()), key.member(&"y".into()));
    assert_ne!(x.salt().to_hex(), y.salt().to_hex());
    // The key of x derives keys below x, none of which is y's.
    let below = [x.member(&"y".into()), x.element(0), x.member(&"".into())];
    assert!(below.iter().all(|key| key.to_hex() != y.to_hex()));
}
