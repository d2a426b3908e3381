//! Killed at random moments, 200 times: never a half pack, never a lost or merged ledger line.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::ledger::parse_lines;
use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::verify::Level;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

const ROUNDS: u64 = 200;

/// Moments spread over the time a run takes, the same every time the test runs.
fn moment(round: u64, longest: Duration) -> Duration {
    let mixed = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let share = f64::from(u32::try_from(mixed).unwrap()) / f64::from(1_u32 << 24);
    longest.mul_f64(share)
}

/// How many unfinished packs lie about.
fn unfinished(bench: &Bench) -> usize {
    let entries = std::fs::read_dir(bench.path("packs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with(".runseal-unfinished-"))
        .count()
}

#[test]
fn export_and_ledger_survive_being_killed() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let clear = std::fs::read(project_root().join("examples/intents/clear.json")).unwrap();
    bench.write("intent.json", clear);
    let arguments = |round: u64| {
        let (id, pack) = (format!("r{round}"), format!("packs/p{round}"));
        [
            "run",
            "intent.json",
            "--ledger",
            "ledger.jsonl",
            "--run-id",
            &id,
            "--pack",
            &pack,
        ]
        .map(str::to_owned)
    };
    std::fs::create_dir(bench.path("packs")).unwrap();
    let began = std::time::Instant::now();
    let whole = arguments(ROUNDS).map(|part| part);
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    assert_eq!(bench.run(&whole).code, Some(0));
    let longest = began.elapsed().mul_f64(1.3);

    let mut left = 0;
    let mut finished = BTreeSet::from([format!("r{ROUNDS}")]);
    for round in 0..ROUNDS {
        let arguments = arguments(round);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut child = bench
            .command(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(moment(round, longest));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            finished.insert(format!("r{round}"));
        }
        left += unfinished(&bench);
    }
    assert!(left > 0, "no run was killed while it exported");
    // What the killed ones left is gone after the next run, and was never taken for a pack.
    let arguments = arguments(ROUNDS + 1);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_eq!(bench.run(&arguments).code, Some(0));
    finished.insert(format!("r{}", ROUNDS + 1));
    assert_eq!(unfinished(&bench), 0);

    // Every pack that is there under its name is whole.
    let mut packs = 0;
    for entry in std::fs::read_dir(bench.path("packs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with(".runseal-unfinished-") {
            continue;
        }
        let path = bench.path(&format!("packs/{name}"));
        let source = DirectorySource::open(&path, RootLink::Refuse).unwrap();
        let files = PackFiles::read(&source).unwrap();
        let report = verify_pack(&PackView::new("pack", &files, Level::Form));
        assert!(report.is_valid(), "{name}: {:?}", report.findings());
        packs += 1;
    }
    assert!(packs >= finished.len());

    // Every line of the ledger is a whole entry, and every run that said it was done has one.
    let bytes = std::fs::read(bench.path("ledger.jsonl")).unwrap();
    let mut seen = BTreeSet::new();
    for line in parse_lines(&bytes) {
        let text = line
            .entry
            .unwrap()
            .root()
            .get("run_id")
            .unwrap()
            .as_str()
            .map(String::from);
        assert!(
            seen.insert(text.unwrap()),
            "line {} repeats a run",
            line.number
        );
    }
    assert!(finished.is_subset(&seen));
    assert_eq!(
        bench.run(&["ledger", "verify", "ledger.jsonl"]).code,
        Some(0)
    );
    // And each entry's pack is there, since it is exported first.
    for run in &seen {
        let pack = run.replacen('r', "packs/p", 1);
        let run_json = std::fs::read(bench.path(&format!("{pack}/run.json"))).unwrap();
        let document = parse_document(&run_json, &ReadOptions::default()).unwrap();
        let named = document
            .root()
            .get("run_id")
            .unwrap()
            .as_str()
            .map(String::from);
        assert_eq!(named.as_ref(), Some(run));
    }
}
