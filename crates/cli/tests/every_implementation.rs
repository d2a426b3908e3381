//! One gate for every way to verify: the same cases through the command line, the WebAssembly module in
//! Node, the same module in Chromium and the Python package give the same bytes and exit codes.
//!
//! Another implementation joins by `RUNSEAL_GATE_OTHER="name=program arg…"`: the program is called with the
//! list of cases ({root, path, level, trust?, at?} each) as its last argument, and writes a line
//! `{"code":…,"text":…}` for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_testkit::cli::Bench;
use runseal_testkit::skip::{need_program, skip};
use runseal_testkit::{conformance, folders_in, for_each_line, project_root, text};
use serde_json::{Value, json};

/// Whether a tree can be handed over as a list of files: no links, pipes or names that are not text.
fn is_plain(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    if path.file_name().is_some_and(|name| name.to_str().is_none()) {
        return false;
    }
    match kind.is_dir() {
        true => fs::read_dir(path)
            .unwrap()
            .all(|entry| is_plain(&entry.unwrap().path())),
        false => kind.is_file(),
    }
}

#[derive(Default)]
struct Cases {
    cases: Vec<Value>,
    /// Cases that only a file system can hold.
    passed_over: usize,
}

impl Cases {
    fn add(&mut self, root: &Path, path: &str, levels: &[&str]) {
        if !is_plain(&root.join(path)) {
            self.passed_over += 1;
            return;
        }
        for level in levels {
            let case = json!({"root": root.to_str(), "path": path, "level": level});
            self.cases.push(case);
        }
    }
}

const ALL_LEVELS: [&str; 3] = ["document", "integrity", "form"];

/// The vectors of every format, at every level.
fn add_vectors(cases: &mut Cases) {
    let vectors = project_root().join("vectors").canonicalize().unwrap();
    for format in folders_in(&vectors) {
        for case in folders_in(&format) {
            for entry in fs::read_dir(&case).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.starts_with("input") {
                    cases.add(&case, &name, &ALL_LEVELS);
                }
            }
        }
    }
}

/// The conformance data: folders as they are, documents out of their lists.
fn add_conformance(cases: &mut Cases, folder: &Path, bench: &Bench) {
    let folder = folder.canonicalize().unwrap();
    for (at, trees) in ["kernel/packs", "jobbundle/bundles"].iter().enumerate() {
        for tree in folders_in(&folder.join(trees)) {
            let name = tree.file_name().unwrap().to_str().unwrap().to_owned();
            let level = ALL_LEVELS[at + 1];
            cases.add(tree.parent().unwrap(), &name, &[level]);
        }
    }
    for (list, member) in [
        ("kernel/bundle", "document"),
        ("kernel/model_io", "document"),
        ("kernel/patch", "document"),
        ("kernel/proposal", "document"),
        ("kernel/runner", "document"),
        ("jobbundle/attestations", "receipt"),
        ("jobbundle/receipts", "receipt"),
    ] {
        let mut number = 0;
        for_each_line(&folder.join(format!("{list}.jsonl")), |line| {
            let bytes = match (line.get(member), text(line, "text")) {
                (Some(document), _) => canonical_bytes(document, Dialect::Kernel).ok(),
                (None, text) => text.map(String::into_bytes),
            };
            let Some(bytes) = bytes else { return };
            number += 1;
            let short = list.rsplit('/').next().unwrap();
            let name = format!("{short}-{number}.json");
            bench.write(&format!("documents/{name}"), bytes);
            cases.add(&bench.path("documents"), &name, &["integrity"]);
        });
        assert!(number > 10, "{list}: {number}");
    }
}

/// Signed bundles, asked about with a policy: trusted, of somebody else, changed after signing.
fn add_signed(cases: &mut Cases, bench: &Bench) {
    let run = |arguments: &[&str]| {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    };
    let vectors = project_root().join("vectors").canonicalize().unwrap();
    let copy = |from: &str, to: &str| {
        let from = vectors.join(from);
        copy_tree(&from, &bench.path(to));
    };
    fs::create_dir_all(bench.path("signed")).unwrap();
    run(&["keygen", "-o", "signed/one.key", "--public"]);
    let two = ["keygen", "-o", "signed/two.key", "--type", "ecdsa-p256"];
    run(&two);
    run(&["trust", "init", "signed/trust.toml"]);
    let key = ["--key", "signed/one.key.pub"];
    run(&[
        ["trust", "add", "signed/trust.toml", "one"].as_slice(),
        &key,
    ]
    .concat());
    for (name, from, key) in [
        ("run", "run-bundle/ok-upstream/input", "one"),
        ("pack", "pack/ok-executed/input", "two"),
        ("changed", "run-bundle/ok-recorded/input", "one"),
    ] {
        let path = format!("signed/{name}");
        copy(from, &path);
        run(&["sign", &path, "--key", &format!("signed/{key}.key")]);
    }
    let meta = bench.path("signed/changed/SHA256SUMS.txt");
    let bytes = fs::read(&meta).unwrap();
    fs::write(&meta, [bytes.as_slice(), b"\n"].concat()).unwrap();
    for name in ["run", "pack", "changed"] {
        let root = bench.path("signed");
        for at in ["2027-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z"] {
            cases
                .cases
                .push(json!({"root": root, "path": name, "level": "integrity",
                "trust": "trust.toml", "at": at}));
        }
        cases.add(&root, name, &ALL_LEVELS);
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// What the command line says.
fn ask_native(case: &Value) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runseal"));
    command.current_dir(case["root"].as_str().unwrap()).args([
        "verify",
        case["path"].as_str().unwrap(),
        "--format",
        "json",
    ]);
    match case["level"].as_str().unwrap() {
        "document" => drop(command.arg("--lenient")),
        "form" => drop(command.arg("--strict")),
        _ => {}
    }
    if let (Some(trust), Some(at)) = (case["trust"].as_str(), case["at"].as_str()) {
        command.args(["--trust", trust, "--at", at]);
    }
    let output = command.output().unwrap();
    json!({"code": output.status.code(), "text": String::from_utf8(output.stdout).unwrap()})
}

fn ask_all_native(cases: &[Value]) -> Vec<Value> {
    let half = cases.len().div_ceil(2).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = cases
            .chunks(half)
            .map(|part| scope.spawn(|| part.iter().map(ask_native).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

fn lines_of(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The module and its caller, in Node or Chromium.
fn driver(place: &str, list: &Path) -> Command {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("node");
    command
        .arg(here.join("tests/outside/verify_cases.mjs"))
        .arg(place)
        .arg(list)
        .arg(here.join("module/runseal.wasm.gz"))
        .arg(here.join("../report/src/page/verifier.js"))
        .arg(here.join("../../target/page-tools"));
    command
}

#[test]
fn every_implementation_gives_the_same_bytes_for_every_case() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let mut cases = Cases::default();
    add_vectors(&mut cases);
    let of_vectors = cases.cases.len();
    assert!(of_vectors > 1_000, "{of_vectors}");
    add_signed(&mut cases, &bench);
    if let Some(shared) = conformance() {
        add_conformance(&mut cases, &shared, &bench);
    }
    let list = bench.write("cases.json", Value::from(cases.cases.clone()).to_string());
    if !need_program("node") {
        return;
    }
    let native = ask_all_native(&cases.cases);
    let mut ways = vec![("node", lines_of(&mut driver("node", &list)))];
    let tools = project_root().join("target/page-tools/node_modules/playwright-core");
    if tools.is_dir() && Path::new("/usr/bin/chromium").exists() {
        ways.push(("chromium", lines_of(&mut driver("chromium", &list))));
    } else {
        skip("no Chromium or playwright-core; .ci/page-tools installs them");
    }
    let python = project_root().join("target/python-package/bin/python");
    if python.exists() {
        let script = "crates/cli/tests/outside/verify_cases.py";
        let mut command = Command::new(python);
        command.arg(project_root().join(script)).arg(&list);
        ways.push(("python", lines_of(&mut command)));
    } else {
        skip("no Python package; .ci/python-package builds it");
    }
    let other = std::env::var("RUNSEAL_GATE_OTHER").unwrap_or_default();
    if let Some((name, command)) = other.split_once('=') {
        let mut words = command.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg(&list);
        ways.push((name, lines_of(&mut command)));
    }
    for (name, answers) in &ways {
        assert_eq!(answers.len(), native.len(), "{name}");
        for ((case, native), answer) in cases.cases.iter().zip(&native).zip(answers) {
            assert_eq!(answer, native, "{name}: {case}");
        }
    }
    let count = |code: i64| {
        native
            .iter()
            .filter(|answer| answer["code"] == code)
            .count()
    };
    let names: Vec<_> = ways.iter().map(|(name, _)| *name).collect();
    println!(
        "{} cases through native, {}: byte-equal ({} hold, {} do not, {} cannot be read); {} more need a file system",
        native.len(),
        names.join(", "),
        count(0),
        count(1),
        count(2),
        cases.passed_over
    );
    assert!(
        count(0) > 100 && count(1) > 500,
        "the cases tell too little"
    );
}
