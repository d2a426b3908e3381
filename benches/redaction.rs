//! Redacting ten thousand files beside `sha256sum` of them, verifying the copy beside verifying the
//! whole bundle, and a log of a million entries beside plain appends that are flushed as often.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench redaction` prints the tables of
//! docs/performance.md. Names of parts (`redact`, `large`, `log`) run only those.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use runseal_benches::process::{binary, parts, succeed};
use runseal_benches::{best, milliseconds, render_table, times};
use runseal_store::log::{FolderAppender, FolderLog, Log};
use runseal_trust::log::tree::leaf_hash;

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

fn main() {
    let wants = parts();
    if wants("redact") {
        redact(
            "10,000 files of 16 KiB",
            10_000,
            16 << 10,
            "artifacts/f00007",
        );
    }
    if wants("large") {
        redact(
            "4 files of 64 MiB",
            4,
            64 << 20,
            "artifacts/f00001#bytes=0-9",
        );
    }
    if wants("log") {
        log();
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn redact(title: &str, count: usize, size: usize, place: &str) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("files")).unwrap();
    let mut state = 7u64;
    for n in 0..count {
        let bytes = (0..size).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        });
        fs::write(at(&format!("files/f{n:05}")), bytes.collect::<Vec<u8>>()).unwrap();
    }
    fs::write(at("output.json"), OUTPUT).unwrap();
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let runseal = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.args(arguments).current_dir(folder.path());
        succeed(quiet(&mut command));
    };
    let (engine, input) = (engine.to_str().unwrap(), engine.join("input.json"));
    let input = input.to_str().unwrap();
    let seal = ["seal", engine, input, "output.json", "--out", "out"];
    let more = ["--run-id", "r", "--artifacts", "files", "--redactable"];
    runseal(&[&seal[..], &more[..]].concat());
    runseal(&["redact", "out/r", "--drop", place, "-o", "copy"]);
    let number = Cell::new(0);
    let found = best(
        5,
        &mut [
            &mut || {
                let mut command = Command::new("sh");
                let line = "find out/r/artifacts -type f -print0 | xargs -0 sha256sum";
                succeed(quiet(command.args(["-c", line]).current_dir(folder.path())));
            },
            &mut || {
                number.set(number.get() + 1);
                let out = format!("copies/{}", number.get());
                runseal(&["redact", "out/r", "--drop", place, "-o", &out]);
            },
            &mut || {
                number.set(number.get() + 1);
                let mut command = Command::new("sh");
                let line = format!("cp -r out/r plain{} && sync -f plain{0}", number.get());
                succeed(quiet(
                    command.args(["-c", &line]).current_dir(folder.path()),
                ));
            },
            &mut || runseal(&["verify", "out/r"]),
            &mut || runseal(&["verify", "copy"]),
        ],
    );
    let names = [
        "sha256sum",
        "runseal redact",
        "cp -r, sync",
        "runseal verify, the whole",
        "runseal verify, the copy",
    ];
    let beside = [found[0], found[0], found[0], found[3], found[3]];
    let rows: Vec<Vec<String>> = (0..names.len())
        .map(|at| {
            vec![
                names[at].to_owned(),
                milliseconds(found[at]),
                times(found[at], beside[at]),
            ]
        })
        .collect();
    let header = [title, "ms", "beside"].map(str::to_owned);
    println!("{}", render_table(&header, &rows));
}

const ENTRIES: usize = 1_000_000;
const BATCH: usize = 500;

fn entry(at: usize) -> Vec<u8> {
    format!(r#"{{"envelope":"{at:064x}","signature":"{at:064x}","subjects":["sha256:{at:064x}"]}}"#)
        .into_bytes()
}

fn log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    FolderLog::init(&path, "example.com/million").unwrap();
    // The same bytes into one file, flushed after as many of them.
    let plain = folder.path().join("plain");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(plain)
        .unwrap();
    let mut appender = FolderAppender::open(&path).unwrap();
    let (mut ours, mut bare) = (Duration::ZERO, Duration::ZERO);
    for first in (0..ENTRIES).step_by(BATCH) {
        let batch: Vec<_> = (first..first + BATCH).map(entry).collect();
        let lines: Vec<_> = batch.iter().map(Vec::as_slice).collect();
        let begun = Instant::now();
        appender.append_all(&lines).unwrap();
        ours += begun.elapsed();
        let begun = Instant::now();
        let mut lines = Vec::new();
        for entry in &batch {
            lines.extend_from_slice(entry);
            lines.push(b'\n');
        }
        file.write_all(&lines).unwrap();
        file.sync_data().unwrap();
        bare += begun.elapsed();
    }
    drop(appender);
    let rate = |time: Duration| format!("{:.0}", ENTRIES as f64 / time.as_secs_f64());
    let header = [
        "a million entries, flushed every 500",
        "entries a second",
        "beside",
    ];
    let rows = [("plain appends", bare), ("runseal log", ours)];
    let rows = rows.map(|(name, time)| vec![name.to_owned(), rate(time), times(time, bare)]);
    println!("{}", render_table(&header.map(str::to_owned), &rows));
    let log = FolderLog::open(&path).unwrap();
    let mut proofs = Vec::new();
    for at in 0..2_000 {
        let begun = Instant::now();
        log.prove_inclusion((at * 7919) % ENTRIES as u64, ENTRIES as u64)
            .unwrap();
        proofs.push(begun.elapsed());
    }
    proofs.sort_unstable();
    let mut finds = Vec::new();
    for at in [ENTRIES - 1, 1, ENTRIES - 2] {
        let begun = Instant::now();
        assert_eq!(log.find(&[leaf_hash(&entry(at))].into()).unwrap().len(), 1);
        finds.push(begun.elapsed());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let peak = peak.unwrap().trim_start_matches("VmHWM:").trim();
    let rows = [
        (
            "inclusion proof, in the middle",
            milliseconds(proofs[1_000]),
        ),
        (
            "inclusion proof, the longest of 2,000",
            milliseconds(proofs[1_999]),
        ),
        ("finding an entry by its content", milliseconds(finds[0])),
        (
            "the second time, with the index made",
            milliseconds(finds[1]),
        ),
        ("the third time", milliseconds(finds[2])),
        ("most memory", peak.to_owned()),
    ];
    let rows = rows.map(|(name, text)| vec![name.to_owned(), text]);
    let header = ["of a million entries", "ms"].map(str::to_owned);
    println!("{}", render_table(&header, &rows));
}
