//! `runseal verify -r` over a tree of job bundles, beside a plain loop that only reads and hashes
//! the same files on as many threads, and beside `sha256sum -c`.
//!
//! `cargo build --release -p runseal && cargo bench --bench verify` prints the tables. The data,
//! 100,000 files of 4 KB in 1,000 bundles, is made in the system's folder for temporary files.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

#[allow(dead_code)]
#[path = "job/data.rs"]
mod data;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use runseal_benches::render_table;
use sha2::{Digest, Sha256};

const BUNDLES: usize = 1000;
const FILES: usize = 100;
const SIZE: usize = 4096;

fn main() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let sums = make_tree(&tree);
    let names = files_below(&tree);
    let runseal = binary();
    let hello = make_hello(folder.path());

    let jobs = threads.to_string();
    let verify = |jobs: &str| {
        let mut command = Command::new(&runseal);
        command
            .args(["verify", "-r", "--jobs", jobs, "--format", "json"])
            .arg(&tree);
        command
    };
    let one = verify("1").output().unwrap().stdout;
    assert_eq!(
        one,
        verify("2").output().unwrap().stdout,
        "jobs must not show"
    );

    let times = best(
        3,
        &mut [
            &mut || succeed(&mut verify(&jobs)),
            &mut || plain_loop(&names, threads),
            &mut || {
                let mut command = Command::new("sha256sum");
                succeed(command.args(["-c", "--quiet"]).arg(&sums));
            },
        ],
    );
    let row = |name: &str, time: Duration| {
        let ratio = time.as_secs_f64() / times[1].as_secs_f64();
        vec![name.to_owned(), milliseconds(time), format!("{ratio:.2} ×")]
    };
    let header = ["100,000 files of 4 KB in 1,000 bundles", "ms", "plain loop"].map(str::to_owned);
    let rows = [
        row("runseal verify -r", times[0]),
        row("read and hash, nothing else", times[1]),
        row("sha256sum -c", times[2]),
    ];
    println!("{}", render_table(&header, &rows));
    println!(
        "memory of runseal verify -r: {} KB at the most\n",
        peak_memory(&mut verify(&jobs))
    );

    let bundle = folder.path().join("small");
    data::make_bundle(&bundle, 3, 1024);
    let times = best(
        30,
        &mut [
            &mut || succeed(Command::new(&runseal).arg("verify").arg(&bundle)),
            &mut || succeed(&mut Command::new(&hello)),
        ],
    );
    let header = ["one bundle of 3 files, start to end", "ms"].map(str::to_owned);
    let rows = [
        vec!["runseal verify".to_owned(), milliseconds(times[0])],
        vec![
            "a Rust program that prints hello".to_owned(),
            milliseconds(times[1]),
        ],
    ];
    println!("{}", render_table(&header, &rows));
}

/// Makes the bundles; gives the file for `sha256sum -c`.
fn make_tree(tree: &Path) -> PathBuf {
    let mut all = String::new();
    for at in 0..BUNDLES {
        let bundle = tree.join(format!("{at:04}"));
        data::make_bundle(&bundle, FILES, SIZE);
        for name in files_below(&bundle.join("artifacts")) {
            let digest = hex(&Sha256::digest(fs::read(&name).unwrap()));
            all.push_str(&format!("{digest}  {}\n", name.display()));
        }
    }
    let sums = tree.parent().unwrap().join("all-sums");
    fs::write(&sums, all).unwrap();
    sums
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

/// What there is to beat: every file read and hashed, and nothing else.
fn plain_loop(names: &[PathBuf], threads: usize) {
    let shares = Mutex::new(names.chunks(64));
    let work = || {
        let mut buffer = vec![0; 64 << 10];
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

fn make_hello(folder: &Path) -> PathBuf {
    let source = folder.join("hello.rs");
    fs::write(&source, "fn main() { println!(\"hello\"); }").unwrap();
    let program = folder.join("hello");
    succeed(
        Command::new("rustc")
            .arg("-O")
            .arg(&source)
            .arg("-o")
            .arg(&program),
    );
    program
}

fn succeed(command: &mut Command) {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.unwrap().success(), "{command:?}");
}

/// The most memory that a command had, in KB, as the kernel counts it.
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        thread::sleep(Duration::from_millis(5));
    }
    peak
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
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
