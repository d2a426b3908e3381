//! Job bundles: verification beside a plain loop that only reads and hashes, beside
//! `sha256sum -c`, and beside a Python program with the same checks; the store beside a plain
//! loop of SQLite transactions.
//!
//! `cargo build --release -p runseal && cargo bench --bench job` prints the tables of
//! docs/performance.md. Names of parts (`growth`, `large`, `python`, `store`) run only those.
//! The data is made in the system's folder for temporary files: about 3 GB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

#[path = "job/data.rs"]
mod data;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use data::{make_bundle, make_job};
use runseal_benches::render_table;
use runseal_engine::job::verify::{VerifyOptions, verify_job_bundle};
use runseal_engine::job::worker::{WorkOptions, run_workers};
use runseal_engine::store::Store;
use sha2::{Digest, Sha256};

fn main() {
    let asked: BTreeSet<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wants = |part: &str| asked.is_empty() || asked.contains(part);
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

/// The best of some rounds, in turns, so that what else the machine does hits all alike.
fn best(rounds: usize, contenders: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; contenders.len()];
    for _ in 0..rounds {
        for (best, contender) in best.iter_mut().zip(contenders.iter_mut()) {
            let begun = Instant::now();
            contender();
            *best = begun.elapsed().min(*best);
        }
    }
    best
}

fn ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

fn times(a: Duration, b: Duration) -> String {
    format!("{:.2} ×", a.as_secs_f64() / b.as_secs_f64())
}

/// The `runseal` of the release build beside this benchmark.
fn binary() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.ancestors().nth(2).unwrap().join("runseal");
    assert!(
        path.is_file(),
        "cargo build --release -p runseal comes first"
    );
    path
}

fn run(program: &Path, arguments: &[&str], folder: &Path) {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{} {arguments:?}", program.display());
}

/// What there is to beat: every file read and hashed, on as many threads, and nothing else.
fn plain_loop(folder: &Path, threads: usize) {
    let names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let shares = Mutex::new(names.chunks(64));
    let work = || {
        let mut buffer = vec![0; 256 << 10];
        loop {
            let Some(share) = shares.lock().unwrap().next() else {
                return;
            };
            for name in share {
                let mut file = fs::File::open(name).unwrap();
                let mut hasher = Sha256::new();
                loop {
                    let count = file.read(&mut buffer).unwrap();
                    if count == 0 {
                        break;
                    }
                    hasher.update(&buffer[..count]);
                }
                std::hint::black_box(hasher.finalize());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

fn verify(bundle: &Path, threads: usize) {
    let options = VerifyOptions {
        threads: Some(threads),
        ..VerifyOptions::default()
    };
    assert!(verify_job_bundle(bundle, options).report.is_valid());
}

fn python(folder: &Path) {
    let bundle = folder.join("python");
    make_bundle(&bundle, 500, 4096);
    let ours = binary();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_job_bundle.py");
    let shown = bundle.to_str().unwrap();
    let script = script.to_str().unwrap();
    let python = Path::new("python3");
    let found = best(
        20,
        &mut [
            &mut || run(&ours, &["job", "verify", shown], folder),
            &mut || run(python, &[script, "--jsonschema", shown], folder),
            &mut || run(python, &[script, shown], folder),
            &mut || run(python, &["-c", ""], folder),
            &mut || run(&ours, &["--version"], folder),
        ],
    );
    println!("\n500 artifacts of 4 KB, whole processes, ms:\n");
    let header = ["program", "ms", "beside ours"].map(str::to_owned);
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
        .map(|(name, time)| vec![(*name).to_owned(), ms(*time), times(*time, found[0])])
        .collect();
    println!("{}", render_table(&header, &rows));
}

fn growth(folder: &Path, threads: usize) {
    let ours = binary();
    let mut rows = Vec::new();
    for count in [1, 10, 100, 1_000, 10_000, 100_000] {
        let bundle = folder.join(format!("growth-{count}"));
        make_bundle(&bundle, count, 4096);
        let artifacts = bundle.join("artifacts");
        let shown = bundle.to_str().unwrap();
        let rounds = if count >= 100_000 { 5 } else { 9 };
        let found = best(
            rounds,
            &mut [
                &mut || verify(&bundle, threads),
                &mut || plain_loop(&artifacts, threads),
                &mut || run(&ours, &["job", "verify", shown], folder),
                &mut || run(Path::new("sha256sum"), &["-c", "--quiet", "sums"], &bundle),
            ],
        );
        rows.push(vec![
            count.to_string(),
            ms(found[0]),
            ms(found[1]),
            times(found[0], found[1]),
            ms(found[2]),
            ms(found[3]),
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
    let memory = vec![b'x'; 64 << 20];
    let bare = || {
        let mut hasher = Sha256::new();
        for _ in 0..SIZE / memory.len() {
            hasher.update(&memory);
        }
        std::hint::black_box(hasher.finalize());
    };
    let found = best(3, &mut [&mut || verify(&bundle, 1), &mut || bare()]);
    let speed = |time: Duration| SIZE as f64 / time.as_secs_f64() / 1e6;
    println!("\nOne artifact of 2 GiB:\n");
    println!("  verify        {:.0} MB/s", speed(found[0]));
    println!("  bare SHA-256  {:.0} MB/s", speed(found[1]));
    println!(
        "  verify / bare {:.1} %",
        100.0 * speed(found[0]) / speed(found[1])
    );
    println!("  peak memory   {} KB", peak_memory(&binary(), &bundle));
    fs::remove_dir_all(&bundle).unwrap();
}

/// The largest resident memory of a verifying process, as the kernel last told it.
fn peak_memory(program: &Path, bundle: &Path) -> u64 {
    let mut child = Command::new(program)
        .args(["job", "verify"])
        .arg(bundle)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = found.unwrap_or(peak).max(peak);
        thread::sleep(Duration::from_millis(2));
    }
    peak
}

fn store(folder: &Path) {
    const STEPS: usize = 20_000;
    let mut rows = Vec::new();
    for workers in [1, 2, 4, 8] {
        let root = folder.join(format!("store-{workers}"));
        fs::create_dir(&root).unwrap();
        make_job(&root, STEPS);
        let options = WorkOptions {
            run_id: None,
            workers,
            lease_seconds: 60.0,
            worker_id: "w".to_owned(),
        };
        let begun = Instant::now();
        let done = run_workers(Store::open(&root.join("jobs.db")).unwrap(), &root, &options);
        let time = begun.elapsed();
        let done = done.unwrap();
        assert_eq!(
            (done.succeeded, done.failed, done.overtaken),
            (STEPS as u64, 0, 0)
        );
        let store = Store::open(&root.join("jobs.db")).unwrap();
        let status = &store.job_status(None, None).unwrap()[0];
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
