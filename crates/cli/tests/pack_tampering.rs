//! Every byte of every file of a pack, changed one at a time: caught by `pack verify --strict`, or
//! shown to be where no document protects it (white space, times, texts and hashes that nothing
//! else in the pack repeats). SECURITY.md lists those places.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test code: a failure is meant to stop the test"
)]

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_core::verify::Level;
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

/// Places that a valid pack does not vouch for, by file and member names.
const UNPROTECTED: &[&str] = &[
    // Times, and what is derived from them or from the machine.
    "run.json started_at",
    "evidence.json started_at",
    "evidence.json completed_at",
    "evidence.json total_duration_ms",
    "evidence.json executor_id",
    "evidence.json working_dir",
    "runner.json runner_id",
    "runner.json runner_version",
    "runner.json platform.node_version",
    "runner.json platform.npm_version",
    "runner.json platform.arch",
    "runner.json limits.max_memory_bytes",
    "runner.json context.env_allowlist",
    "runner.json context.locale",
    "runner.json context.timezone",
    "runner.json commands.shell",
    "runner.json warnings",
    "runner.json write_roots",
    "runner.json timing.duration_ms",
    // Names of members that may be absent: under another name they are unknown, and unknown
    // members are allowed.
    "evidence.json (a name)",
    "evidence.json action_results.(a name)",
    "evidence.json test_results.(a name)",
    "patch.json operations.(a name)",
    "runner.json (a name)",
    "runner.json limits.(a name)",
    "patch.json patch_schema_version",
    // What the recorder says it saw: the intent is not in the pack, outputs are not either.
    "run.json intent.path",
    "run.json decision.reasons",
    "run.json execution.cmd",
    "run.json execution.outputs.path",
    "run.json execution.outputs.sha256",
    "run.json execution.sandbox_id",
    "run.json execution.stdout_sha256",
    "run.json execution.stderr_sha256",
    "evidence.json action_results.action_id",
    "evidence.json action_results.path",
    "evidence.json action_results.action",
    "evidence.json action_results.stdout_sha256",
    "evidence.json action_results.stderr_sha256",
    "evidence.json test_results.actual",
    "evidence.json test_results.test_id",
    "evidence.json test_results.exit_code",
    "evidence.json test_results.stdout_sha256",
    "evidence.json test_results.stderr_sha256",
];

type Files = BTreeMap<String, Vec<u8>>;

fn is_valid(files: &Files) -> bool {
    let source = MemorySource::new(
        files
            .iter()
            .map(|(name, bytes)| (SafePath::parse(name).unwrap(), bytes.clone())),
    );
    let read = PackFiles::read(&source).unwrap();
    verify_pack(&PackView::new("pack", &read, Level::Form)).is_valid()
}

fn make_pack() -> Option<Files> {
    runseal_testkit::isolation::sandbox()?;
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let clear = std::fs::read_to_string(project_root().join("examples/intents/clear.json"));
    let extras = r#""context": {"proposal": {"commands": ["echo x > y"],
        "tests": [{"type": "command_success", "target": "true"}]}}"#;
    let clear = clear.unwrap();
    let (before, _) = clear.split_once("\"context\"").unwrap();
    bench.write("intent.json", format!("{before}{extras}}}"));
    let mode = [
        "run",
        "intent.json",
        "--mode",
        "execute-sandbox",
        "--policy",
        "dev",
    ];
    let ran = bench.command(&mode).args(["--pack", "p"]).output().unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let mut files = Files::new();
    for entry in std::fs::read_dir(bench.path("p")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, std::fs::read(entry.path()).unwrap());
    }
    Some(files)
}

/// The first place where two documents differ, by member names only.
fn find_difference(a: Node<'_>, b: Node<'_>) -> Option<String> {
    if a.to_value() == b.to_value() {
        return None;
    }
    let names = |node: Node<'_>| -> Vec<String> {
        node.members()
            .map(|(key, _)| key.to_lossy().into_owned())
            .collect()
    };
    if a.kind() == Kind::Object && names(a) == names(b) {
        for name in names(a) {
            let (x, y) = (a.get(&name).unwrap(), b.get(&name).unwrap());
            if let Some(below) = find_difference(x, y) {
                let dot = if below.is_empty() { "" } else { "." };
                return Some(format!("{name}{dot}{below}"));
            }
        }
    }
    if a.kind() == Kind::Object {
        return Some("(a name)".to_owned());
    }
    let below = a
        .items()
        .zip(b.items())
        .find_map(|(x, y)| find_difference(x, y));
    Some(below.unwrap_or_default())
}

#[test]
fn pack_with_any_byte_changed_is_caught_or_outside_what_is_protected() {
    let Some(files) = make_pack() else { return };
    assert!(is_valid(&files));
    let (mut caught, mut uncaught) = (0, BTreeSet::new());
    for (name, bytes) in &files {
        for at in 0..bytes.len() {
            let mut changed = files.clone();
            changed.get_mut(name).unwrap()[at] ^= 1;
            if !is_valid(&changed) {
                caught += 1;
                continue;
            }
            let parse = |bytes| parse_document(bytes, &ReadOptions::default()).unwrap();
            let (before, after) = (parse(bytes), parse(&changed[name]));
            if let Some(place) = find_difference(before.root(), after.root()) {
                uncaught.insert(format!("{name} {place}"));
            }
        }
    }
    let known: BTreeSet<String> = UNPROTECTED
        .iter()
        .map(|place| (*place).to_owned())
        .collect();
    let surprises: Vec<&String> = uncaught.difference(&known).collect();
    assert!(surprises.is_empty(), "not caught: {surprises:#?}");
    for name in ["bundle.json", "policy.json", "ledger.jsonl"] {
        let is_here = uncaught.iter().any(|place| place.starts_with(name));
        assert!(!is_here, "{name} is protected whole: {uncaught:?}");
    }
    println!(
        "{caught} changes caught; unprotected places: {}",
        uncaught.len()
    );
}
