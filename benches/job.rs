//! Job bundles: verification beside a plain loop that only reads and hashes, beside
//! `sha256sum -c`, and beside a Python program with the same checks; the store beside a plain
//! loop of SQLite transactions.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench job` prints the tables of
//! docs/performance.md. Names of parts (`growth`, `large`, `python`, `store`) run only those.
//! The data is made in the system's folder for temporary files: about 3 GB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

#[path = "job/data.rs"]
mod data;
#[path = "job/plan.rs"]
mod plan;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use data::make_bundle;
use plan::post_job;
use runseal_benches::plain::{files_below, hash_files, hash_memory};
use runseal_benches::process::{binary, parts, peak_memory, succeed};
use runseal_benches::{
    best, best_and_median, megabytes_per_second, milliseconds, render_table, times,
};
use runseal_store::job::verify::verify_job_bundle;
use runseal_store::job::worker::{WorkOptions, run_workers};
use runseal_store::store::StoreReader;
use runseal_store::store::sqlite::SqliteStore;
use runseal_survey::VerifyOptions;

fn main() {
    let wants = parts();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir().unwrap();
    if wants("python") {
        python(folder.path());
    }
    if wants("growth") {
        growth(folder.path(), threads);
    }
    if wants("large") {
        large(folder.path());
    }
    if wants("store") {
        store(folder.path());
    }
}

fn verify(bundle: &Path, threads: usize) {
    let options = VerifyOptions {
        threads: Some(threads),
        ..VerifyOptions::default()
    };
    assert!(verify_job_bundle(bundle, options).report.is_valid());
}

fn job_verify(bundle: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(["job", "verify"]).arg(bundle);
    command
}

fn python(folder: &Path) {
    let bundle = folder.join("python");
    make_bundle(&bundle, 500, 4096);
    let ours = binary();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_job_bundle.py");
    // What stands under that name may be a script that looks for the interpreter first.
    let told = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let interpreter = String::from_utf8(told.stdout).unwrap();
    let python = || Command::new(interpreter.trim());
    let found = best_and_median(
        40,
        &mut [
            &mut || succeed(&mut job_verify(&bundle)),
            &mut || {
                let mut checks = python();
                succeed(checks.arg(&script).arg("--jsonschema").arg(&bundle));
            },
            &mut || succeed(python().arg(&script).arg(&bundle)),
            &mut || succeed(python().args(["-c", ""])),
            &mut || succeed(Command::new(&ours).arg("--version")),
        ],
    );
    println!("\n500 artifacts of 4 KB, whole processes, ms:\n");
    let header = ["program", "best", "beside ours", "median", "beside ours"].map(str::to_owned);
    let names = [
        "runseal job verify",
        "Python, check 2 with jsonschema",
        "Python, check 2 by hand",
        "Python, nothing",
        "runseal --version",
    ];
    let rows: Vec<_> = names
        .iter()
        .zip(&found)
        .map(|(name, [best, median])| {
            vec![
                (*name).to_owned(),
                milliseconds(*best),
                times(*best, found[0][0]),
                milliseconds(*median),
                times(*median, found[0][1]),
            ]
        })
        .collect();
    println!("{}", render_table(&header, &rows));
}

fn growth(folder: &Path, threads: usize) {
    let mut rows = Vec::new();
    for count in [1, 10, 100, 1_000, 10_000, 100_000] {
        let bundle = folder.join(format!("growth-{count}"));
        make_bundle(&bundle, count, 4096);
        let artifacts = bundle.join("artifacts");
        let rounds = if count >= 100_000 { 5 } else { 9 };
        let found = best(
            rounds,
            &mut [
                &mut || verify(&bundle, threads),
                &mut || hash_files(&files_below(&artifacts), threads),
                &mut || succeed(&mut job_verify(&bundle)),
                &mut || {
                    let mut sums = Command::new("sha256sum");
                    succeed(sums.args(["-c", "--quiet", "sums"]).current_dir(&bundle));
                },
            ],
        );
        rows.push(vec![
            count.to_string(),
            milliseconds(found[0]),
            milliseconds(found[1]),
            times(found[0], found[1]),
            milliseconds(found[2]),
            milliseconds(found[3]),
            times(found[3], found[2]),
        ]);
        fs::remove_dir_all(&bundle).unwrap();
    }
    println!("\nArtifacts of 4 KB, {threads} threads, ms:\n");
    let header = [
        "artifacts",
        "verify",
        "plain loop",
        "verify / loop",
        "process",
        "sha256sum -c",
        "sha256sum / process",
    ];
    println!("{}", render_table(&header.map(str::to_owned), &rows));
}

fn large(folder: &Path) {
    const SIZE: usize = 2 << 30;
    let bundle = folder.join("large");
    make_bundle(&bundle, 1, SIZE);
    let memory = vec![b'x'; 1 << 20];
    let mut bare = || hash_memory(&memory, SIZE as u64);
    let found = best(3, &mut [&mut || verify(&bundle, 1), &mut bare]);
    let [ours, bare] = [found[0], found[1]].map(|time| megabytes_per_second(SIZE, time));
    println!("\nOne artifact of 2 GiB:\n");
    println!("  verify        {ours:.0} MB/s");
    println!("  bare SHA-256  {bare:.0} MB/s");
    println!("  verify / bare {:.1} %", 100.0 * ours / bare);
    println!(
        "  peak memory   {} KB",
        peak_memory(&mut job_verify(&bundle))
    );
    fs::remove_dir_all(&bundle).unwrap();
}

fn store(folder: &Path) {
    const STEPS: usize = 20_000;
    let mut rows = Vec::new();
    for workers in [1, 2, 4, 8] {
        let root = folder.join(format!("store-{workers}"));
        fs::create_dir(&root).unwrap();
        let mut store = SqliteStore::create(&root.join("jobs.db")).unwrap();
        post_job(&mut store, &root, STEPS);
        drop(store);
        let options = WorkOptions {
            run_id: None,
            workers,
            lease_seconds: 60.0,
            worker_id: "w".to_owned(),
        };
        let begun = Instant::now();
        let done = run_workers(
            Box::new(SqliteStore::open(&root.join("jobs.db")).unwrap()),
            &root,
            &options,
        );
        let time = begun.elapsed();
        let done = done.unwrap();
        assert_eq!(
            (done.succeeded, done.failed, done.overtaken),
            (STEPS as u64, 0, 0)
        );
        let store = SqliteStore::open(&root.join("jobs.db")).unwrap();
        let status = &StoreReader::job_status(&store, None, None).unwrap()[0];
        assert_eq!(
            (status.states.committed, status.succeeded),
            (STEPS as u64, STEPS as u64)
        );
        rows.push(vec![
            format!("{workers} workers, {STEPS} steps"),
            format!("{:.0}", STEPS as f64 / time.as_secs_f64()),
        ]);
    }
    let time = plain_transactions(&folder.join("plain.db"), STEPS);
    rows.push(vec![
        "plain loop, one row a transaction".to_owned(),
        format!("{:.0}", STEPS as f64 / time.as_secs_f64()),
    ]);
    println!("\nStore, no receipt lost or doubled:\n");
    let header = ["what", "steps or transactions a second"].map(str::to_owned);
    println!("{}", render_table(&header, &rows));
}

/// What there is to beat: one row of a receipt's size in each transaction, and nothing else.
fn plain_transactions(path: &Path, count: usize) -> Duration {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    connection
        .pragma_update(None, "synchronous", "NORMAL")
        .unwrap();
    connection
        .execute_batch("CREATE TABLE t(id TEXT PRIMARY KEY, body TEXT)")
        .unwrap();
    let body = "x".repeat(300);
    let begun = Instant::now();
    let mut insert = connection.prepare("INSERT INTO t VALUES(?1, ?2)").unwrap();
    for at in 0..count {
        insert.execute([&format!("rcpt_{at:016x}"), &body]).unwrap();
    }
    begun.elapsed()
}
