//! Random bundles, random drops: every copy verifies, no forged copy does, and no digest of a
//! withheld value is left.

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::LARGE;
use runseal_core::formats::redacted::commit::{Key, Seed, commit_scalar, read_marker};
use runseal_core::formats::redacted::documents::{FileKind, REDACTED, REDACTION};
use runseal_core::formats::redacted::redactable::redactable;
use runseal_core::formats::redacted::{RULES, RedactedView};
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_core::verify::{Level, run_rules};
use runseal_redact::{
    Committing, Drop, DropKind, Original, RedactError, plan_redaction, render_copy,
};

/// The number of copies to make and forge. Most random drops ask for something that must stay
/// visible, and make no copy.
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

/// Makes the files of a bundle as sealing leaves them, with hashes of some of them in others.
fn bundle(numbers: &mut Numbers, seed: &Seed, format: &str) -> Files {
    let (mut files, main) = match format {
        "pack" => pack(numbers),
        "job-bundle" => job(numbers),
        _ => (run_bundle(numbers), None),
    };
    let mut committing = Committing::begin(redactable(format).unwrap(), seed);
    for (path, content) in &files {
        let fact = (Digest::of(content), content.len() as u64);
        let added = committing.add(path, fact, || Ok(content.as_slice()));
        added.unwrap();
    }
    match main {
        None => {
            let (redaction, _) = committing.end();
            files.insert(REDACTION.to_owned(), bytes(&redaction.to_value().unwrap()));
        }
        Some((path, mut document)) => {
            committing.end_in(path, &mut document).unwrap();
            files.insert(path.to_owned(), bytes(&document));
        }
    }
    files
}

fn run_bundle(numbers: &mut Numbers) -> Files {
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
    if numbers.next(50) == 0 {
        // A large file, with a digest of the input somewhere in it.
        let mut content = vec![b'x'; LARGE as usize + 1 + numbers.next(200_000) as usize];
        let at = numbers.next(LARGE - 100) as usize;
        let digest = format!(" {} ", Digest::of(&input_bytes));
        content[at..at + digest.len()].copy_from_slice(digest.as_bytes());
        files.insert("artifacts/large.bin".to_owned(), content);
    }
    files.insert("RUN_INPUT.json".to_owned(), input_bytes);
    files.insert("RUN_OUTPUT.json".to_owned(), bytes(&output));
    files.insert("RUN_META.json".to_owned(), bytes(&meta));
    files
}

type Main = Option<(&'static str, Value)>;

/// Makes the parts of a pack that matter here: a bundle whose id and hash are stated elsewhere,
/// lines, and run.json.
fn pack(numbers: &mut Numbers) -> (Files, Main) {
    let mut files = Files::new();
    let mut inner = Value::object([("goal", numbers.value(2)), ("more", numbers.value(3))]);
    let id = format!("bundle_{}", Digest::of(&bytes(&inner)).hex_prefix(16));
    inner.insert("id", id.as_str());
    let hash = format!("sha256:{}", Digest::of(&bytes(&inner)));
    let line = Value::object([("bundle_sha256", hash.as_str()), ("run_id", "r")]);
    files.insert("bundle.json".to_owned(), bytes(&inner));
    files.insert(
        "ledger.jsonl".to_owned(),
        [bytes(&line), b"\n".to_vec()].concat(),
    );
    let printed = format!("printed {}", numbers.next(100));
    let key = format!("sha256:{}", Digest::of(printed.as_bytes()));
    let mut contents = Value::object::<Value>([]);
    contents.insert(&key, Value::object([("text", printed.as_str())]));
    let results = Value::array([Value::object([("stdout_sha256", key.as_str())])]);
    let evidence = Value::object([("contents", contents), ("action_results", results)]);
    files.insert("evidence.json".to_owned(), bytes(&evidence));
    let reference = Value::object([("bundle_id", id.as_str()), ("sha256", hash.as_str())]);
    let intent = format!("sha256:{}", Digest::of(b"intent"));
    let run = Value::object([
        ("run_id", Value::from("r")),
        ("bundle", reference),
        ("intent", Value::object([("sha256", intent.as_str())])),
        ("files", Value::from("in no copy")),
    ]);
    (files, Some(("run.json", run)))
}

/// Makes the parts of a job bundle that matter here: slices whose names and digests are in the
/// manifest.
fn job(numbers: &mut Numbers) -> (Files, Main) {
    let mut files = Files::new();
    let mut artifacts = Vec::new();
    for at in 0..1 + numbers.next(3) {
        let content = format!("slice {}\n", numbers.next(99)).into_bytes();
        let section = Digest::of(&[&content[..], b"section"].concat()).to_string();
        let id = Digest::of(format!("{section}_head({at})").as_bytes()).hex_prefix(16);
        let path = format!("artifacts/{id}.txt");
        artifacts.push(Value::object([
            ("artifact_id", id.as_str()),
            ("path", path.as_str()),
            ("ref", section.as_str()),
            ("sha256", Digest::of(&content).to_string().as_str()),
        ]));
        files.insert(path, content);
    }
    let root = Digest::of(&bytes(&Value::array(artifacts.clone()))).to_string();
    let manifest = Value::object([
        ("run_id", Value::from("r")),
        ("job_id", Value::from("j")),
        ("artifacts", Value::array(artifacts)),
        ("hashes", Value::object([("root_hash", root)])),
        ("steps", Value::array([numbers.value(2)])),
        ("plan_hash", Value::from(Digest::of(b"plan").to_string())),
        ("bundle_id", Value::from("in no copy")),
        ("provenance", Value::object::<Value>([])),
    ]);
    (files, Some(("bundle.json", manifest)))
}

fn source(files: &Files) -> MemorySource {
    let files = files.iter();
    MemorySource::new(
        files.map(|(path, content)| (SafePath::parse(path).unwrap(), content.clone())),
    )
}

fn verifies(files: &Files) -> bool {
    let view = RedactedView::collect(&source(files)).unwrap();
    // These bundles are made for their commitments and break the rules of their formats (RD7).
    run_rules(&RULES, &view, Level::Document).is_valid()
}

/// Returns every place of a bundle that may be requested.
fn places(files: &Files) -> Vec<String> {
    let mut found = Vec::new();
    for (path, content) in files.iter().filter(|(path, _)| *path != REDACTION) {
        found.push(path.clone());
        if path.ends_with("large.bin") {
            found.push(format!("{path}#bytes=0-9"));
            found.push(format!("{path}#bytes=65000-66000"));
        }
        if !path.ends_with(".json") {
            continue;
        }
        let options = runseal_core::canon::ReadOptions::default();
        let document = runseal_core::canon::parse_document(content, &options).unwrap();
        let mut waiting = vec![(String::new(), document.root())];
        while let Some((pointer, node)) = waiting.pop() {
            for (at, item) in node.items().enumerate() {
                waiting.push((format!("{pointer}/{at}"), item));
            }
            for (key, value) in node.members() {
                let step = key.to_lossy().replace('~', "~0").replace('/', "~1");
                waiting.push((format!("{pointer}/{step}"), value));
            }
            let left_out = ["/redaction", "/files", "/provenance", "/bundle_id"];
            let is_left_out = left_out.iter().any(|name| pointer.starts_with(name));
            if !pointer.is_empty() && !is_left_out {
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
        let format = ["run-bundle", "pack", "job-bundle"][case as usize % 3];
        let files = bundle(&mut numbers, &seed, format);
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
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for file in contents.copied {
            let mut content = files[&file.from].clone();
            for at in file.blank {
                let end = content.len().min((at + 1) * 65_536);
                content[at * 65_536..end].fill(0);
            }
            names.insert(file.from, file.to.clone());
            copy.insert(file.to, content);
        }
        assert!(verifies(&copy), "case {case}: {drops:?}");
        copies += 1;
        check_digests(&files, &copy, &names, case);
        for _ in 0..3 {
            let Some(changed) = forge(&mut numbers, &copy) else {
                continue;
            };
            assert!(!verifies(&changed), "case {case}: a forged copy verifies");
            forged += 1;
        }
    }
    assert!(forged > COPIES, "{forged} forged");
}

/// Checks that a copy has no digest of a file that it does not show whole, nor of anything derived
/// from it.
fn check_digests(files: &Files, copy: &Files, names: &BTreeMap<String, String>, case: u64) {
    let mut text = String::new();
    for (path, content) in copy.iter().filter(|(path, _)| *path != REDACTION) {
        text.push_str(path);
        text.push_str(&String::from_utf8_lossy(content));
    }
    for (path, content) in files {
        let name = names.get(path).unwrap_or(path);
        if copy.get(name) == Some(content) || path == REDACTION {
            continue;
        }
        // Another file with the same content is shown, so the digest reveals nothing.
        let mut shown = files
            .iter()
            .filter(|(path, _)| copy.get(*path) == files.get(*path));
        if shown.any(|(_, other)| other == content) {
            continue;
        }
        let digest = Digest::of(content).to_string();
        assert!(
            !text.contains(&digest[..16]),
            "case {case}: the digest of {path} is left"
        );
        if let Some(id) = path
            .strip_prefix("artifacts/")
            .filter(|_| names.len() < files.len())
        {
            let id = id.split('.').next().unwrap();
            let is_derived_id = id.len() == 16;
            assert!(
                !is_derived_id || !text.contains(id),
                "case {case}: {path} is named"
            );
        }
    }
}

/// Changes a copy at random; `None` if the change has no effect.
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
            // A reason is free text by the redactor, so it is not forged.
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
fn salt_of_one_path_opens_only_that_path() {
    let seed = Seed::from_bytes([9; 32]);
    let mut files = Files::new();
    let input = br#"{"pin":"4711","code":"0815","list":["4711","0815"]}"#;
    files.insert("RUN_INPUT.json".to_owned(), input.to_vec());
    files.insert("RUN_META.json".to_owned(), br#"{"run_id":"r"}"#.to_vec());
    let mut committing = Committing::begin(redactable("run-bundle").unwrap(), &seed);
    for (path, content) in &files {
        let fact = (Digest::of(content), content.len() as u64);
        let added = committing.add(path, fact, || Ok(content.as_slice()));
        added.unwrap();
    }
    files.insert(
        REDACTION.to_owned(),
        bytes(&committing.end().0.to_value().unwrap()),
    );
    let original = Original::read(Box::new(source(&files)), seed.clone()).unwrap();
    let drop = |place: &str| Drop {
        kind: DropKind::Place(format!("RUN_INPUT.json#{place}")),
        reason: "secret".to_owned(),
    };
    let drops = ["/pin", "/code", "/list/0", "/list/1"].map(drop);
    let plan = plan_redaction(&original, &drops).unwrap();
    let copy = render_copy(&original, &plan).unwrap().documents;
    let shown = FileKind::Json.read(&copy["RUN_INPUT.json"]).unwrap();
    let list = shown.get("list").unwrap();
    let Value::Array(list) = list else {
        panic!("{list:?}")
    };
    let markers = [
        shown.get("pin"),
        shown.get("code"),
        list.first(),
        list.get(1),
    ];
    let commitments = markers.map(|marker| read_marker(marker.unwrap()).unwrap());
    // An attacker who got the key of one of the four tries every number of four digits on all of
    // them, with the key and with everything that can be derived from it.
    let leaked = seed.file_key("RUN_INPUT.json").member(&"pin".into());
    let mut keys = vec![leaked.clone()];
    let derive = |key: &Key| {
        let members = ["pin", "code", "list"].map(|name| key.member(&name.into()));
        [members.to_vec(), vec![key.element(0), key.element(1)]].concat()
    };
    keys.extend(derive(&leaked));
    keys.extend(keys.clone().iter().flat_map(derive).collect::<Vec<_>>());
    let mut opened = std::collections::BTreeSet::new();
    for guess in 0..10_000 {
        let guess = Value::from(format!("{guess:04}"));
        for key in &keys {
            let found = commit_scalar(&guess, &key.salt()).unwrap();
            let at = commitments.iter().position(|sealed| *sealed == found);
            opened.extend(at.map(|at| (at, guess.as_str().unwrap().to_owned())));
        }
    }
    assert_eq!(opened, [(0, "4711".to_owned())].into());
    assert!(!copy[REDACTED].is_empty());
}
