//! What tests of redaction share: an engine that takes anything, redactable runs, copies.

use std::fs;
use std::process::Stdio;

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::folders::files_of;
use runseal_testkit::project_root;

use crate::signing_support::ok;

/// An output with a name in it.
pub const OUTPUT: &str = r#"{"engine":{"engine_code":"OPEN","engine_version":"1.0.0"},
    "semantics":"RAW_TRUTH","outputs":{"answer":"the name is Mallory","score":7,"parts":[1,2,3]}}"#;

/// An engine that takes anything and gives anything.
pub fn open_engine(bench: &Bench) {
    let example = project_root().join("examples/engines/resonance-sweep");
    let read = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    let manifest = read("ENGINE_MANIFEST.json");
    let document = parse_document(manifest.as_bytes(), &ReadOptions::default()).unwrap();
    let mut manifest = document.root().to_value();
    manifest.insert("engine_code", "OPEN");
    let manifest = canonical_bytes(&manifest, Dialect::Jcs).unwrap();
    bench.write(
        "engine/ENGINE_MANIFEST.json",
        String::from_utf8(manifest).unwrap(),
    );
    bench.write("engine/INPUT_SCHEMA.json", "{}");
    bench.write("engine/OUTPUT_SCHEMA.json", "{}");
    bench.write("engine/COUPLING_RULES.json", read("COUPLING_RULES.json"));
    bench.write("engine/SEALING_SPEC.md", "as it is");
    // What the manifest's command names.
    for entry in fs::read_dir(&example).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file() && !bench.path(&format!("engine/{name}")).exists() {
            fs::copy(entry.path(), bench.path(&format!("engine/{name}"))).unwrap();
        }
    }
}

/// Seals a redactable run with this input, output and artifacts, at `out/<id>`.
pub fn seal(bench: &Bench, id: &str, input: &str, output: &str, artifacts: &[(&str, &str)]) {
    seal_with(bench, id, (input, output), artifacts, &[]);
}

/// The same with more options.
pub fn seal_with(
    bench: &Bench,
    id: &str,
    (input, output): (&str, &str),
    artifacts: &[(&str, &str)],
    more: &[&str],
) {
    if !bench.path("engine").exists() {
        open_engine(bench);
    }
    bench.write("input.json", input);
    bench.write("output.json", output);
    let _ = fs::remove_dir_all(bench.path("files"));
    bench.write("files/.keep", "");
    fs::remove_file(bench.path("files/.keep")).unwrap();
    for (name, text) in artifacts {
        bench.write(&format!("files/{name}"), text);
    }
    let options = [
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "out",
        "--run-id",
        id,
        "--artifacts",
        "files",
        "--redactable",
    ];
    let mut command = bench.command(&[&options[..], more].concat());
    command
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .stdin(Stdio::null());
    ok(command.output().unwrap().into());
}

pub fn redact(bench: &Bench, id: &str, drops: &[&str], out: &str) -> Ran {
    let path = format!("out/{id}");
    let mut arguments = vec!["redact", &path, "-o", out, "--reason", "personal"];
    for drop in drops {
        arguments.extend(["--drop", drop]);
    }
    bench.run(&arguments)
}

/// An input with a name in it.
pub const INPUT: &str =
    r#"{"context":{"city":"Ulm","name":"Mallory","age":41},"prompt":"say the name"}"#;

/// An intent with a secret in it.
pub const INTENT: &str = r#"{"goal":"Write a greeting file for the user PIN4711 with Python 3.11 in the command line tool; on failure exit with code 1 and print the error","constraints":["The file is named hello.txt","The output is UTF-8 text"],"context":{"proposal":{"files":[{"path":"hello.txt","content":"PIN4711"},{"path":"b.txt","content":"second\n"}],"commands":["cat hello.txt","cat b.txt"],"tests":[{"type":"file_exists","target":"hello.txt"}]}}}"#;

/// Runs an intent with a secret in it, and gives whether commands could be executed.
pub fn pack(bench: &Bench, more: &[&str]) -> bool {
    bench.write("intent.json", INTENT);
    let mut arguments = vec![
        "run",
        "intent.json",
        "--policy",
        "default",
        "--pack",
        "pack",
        "--redactable",
    ];
    let executes = runseal_testkit::isolation::sandbox().is_some();
    if executes {
        arguments.extend(["--mode", "execute-sandbox", "--approve", "--allow", "cat"]);
    }
    arguments.extend(more);
    let ran = bench.run(&arguments);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    executes
}

/// Everything that somebody gets: the copy, the names in it, and what was signed.
pub fn handed_over(bench: &Bench, copy: &str) -> String {
    let mut text = String::new();
    for (path, bytes) in files_of(&bench.path(copy)) {
        text.push_str(&path.to_string_lossy());
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    let beside = bench.path(&format!("{copy}.intoto.jsonl"));
    for line in fs::read(beside)
        .unwrap_or_default()
        .split(|byte| *byte == b'\n')
    {
        if let Ok(envelope) = runseal_trust::dsse::Envelope::parse(line) {
            text.push_str(&String::from_utf8_lossy(&envelope.payload));
        }
    }
    text
}
