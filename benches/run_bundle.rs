//! Run bundles: verification beside `sha256sum -c SHA256SUMS.txt` and beside bare SHA-256 of the
//! same files, for many small artifacts and for one large one.
//!
//! `cargo build --release -p runseal && cargo bench --bench run_bundle` prints the tables of
//! docs/performance.md. Names of parts (`many`, `large`) run only those. The data is made in the
//! system's folder for temporary files: about 2.1 GB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use runseal_benches::render_table;
use sha2::{Digest, Sha256};

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

fn main() {
    let asked: BTreeSet<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wants = |part: &str| asked.is_empty() || asked.contains(part);
    let folder = tempfile::tempdir().unwrap();
    if wants("many") {
        many(folder.path());
    }
    if wants("large") {
        large(folder.path());
    }
}

/// The `runseal` of the release build beside this benchmark.
fn binary() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.ancestors().nth(2).unwrap().join("runseal");
    assert!(
        path.exists(),
        "cargo build --release -p runseal comes first"
    );
    path
}

/// Seals a run with the artifacts of a folder; gives the bundle.
fn seal(folder: &Path, name: &str, artifacts: &Path) -> PathBuf {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let output = folder.join("output.json");
    fs::write(&output, OUTPUT).unwrap();
    let sealed = Command::new(binary())
        .arg("seal")
        .args([&engine, &engine.join("input.json"), &output])
        .args(["--run-id", name, "--out"])
        .arg(folder.join("out"))
        .arg("--artifacts")
        .arg(artifacts)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(sealed.success());
    folder.join("out").join(name)
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

fn verify(bundle: &Path) {
    let status = Command::new(binary())
        .arg("verify")
        .arg(bundle)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

fn sha256sum(bundle: &Path) {
    let status = Command::new("sha256sum")
        .args(["--quiet", "-c", "SHA256SUMS.txt"])
        .current_dir(bundle)
        .status()
        .unwrap();
    assert!(status.success());
}

fn print(title: &str, names: &[&str], times: &[Duration], bytes: u64) {
    let header = [title, "ms", "MB/s", "ours is"].map(str::to_owned);
    let row = |(name, time): (&&str, &Duration)| {
        let seconds = time.as_secs_f64();
        vec![
            (*name).to_owned(),
            format!("{:.1}", seconds * 1e3),
            format!("{:.0}", bytes as f64 / seconds / 1e6),
            format!("{:.2} × as fast", seconds / times[0].as_secs_f64()),
        ]
    };
    let rows: Vec<_> = names.iter().zip(times).map(row).collect();
    println!("\n{}", render_table(&header, &rows));
}

/// 10,000 artifacts of 4 KB.
fn many(folder: &Path) {
    const COUNT: u64 = 10_000;
    const SIZE: usize = 4096;
    let artifacts = folder.join("many");
    fs::create_dir(&artifacts).unwrap();
    for n in 0..COUNT {
        let bytes: Vec<u8> = (0..SIZE).map(|at| (at as u64 * 31 + n * 7) as u8).collect();
        fs::write(artifacts.join(format!("{n:05}.bin")), bytes).unwrap();
    }
    let bundle = seal(folder, "many", &artifacts);
    let mut loop_over = || {
        for n in 0..COUNT {
            let bytes = fs::read(bundle.join(format!("artifacts/{n:05}.bin"))).unwrap();
            std::hint::black_box(Sha256::digest(&bytes));
        }
    };
    let times = best(
        5,
        &mut [
            &mut || verify(&bundle),
            &mut || sha256sum(&bundle),
            &mut loop_over,
        ],
    );
    let names = [
        "runseal verify",
        "sha256sum -c",
        "a plain loop, one thread, no checks",
    ];
    print(
        "10,000 artifacts of 4 KB",
        &names,
        &times,
        COUNT * SIZE as u64,
    );
}

/// One artifact of 2 GiB.
fn large(folder: &Path) {
    const SIZE: u64 = 2 << 30;
    let artifacts = folder.join("large");
    fs::create_dir(&artifacts).unwrap();
    let mut file = File::create(artifacts.join("large.bin")).unwrap();
    let block: Vec<u8> = (0..1 << 20)
        .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for _ in 0..SIZE >> 20 {
        file.write_all(&block).unwrap();
    }
    drop(file);
    let bundle = seal(folder, "large", &artifacts);
    fs::remove_dir_all(&artifacts).unwrap();
    // The limit: the same bytes hashed in memory, nothing read.
    let mut bare = || {
        let mut hasher = Sha256::new();
        for _ in 0..SIZE >> 20 {
            hasher.update(std::hint::black_box(&block));
        }
        std::hint::black_box(hasher.finalize());
    };
    let mut plain = || {
        let mut file = File::open(bundle.join("artifacts/large.bin")).unwrap();
        let mut buffer = vec![0; 256 << 10];
        let mut hasher = Sha256::new();
        loop {
            let count = file.read(&mut buffer).unwrap();
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
        }
        std::hint::black_box(hasher.finalize());
    };
    let times = best(
        3,
        &mut [
            &mut || verify(&bundle),
            &mut || sha256sum(&bundle),
            &mut plain,
            &mut bare,
        ],
    );
    let names = [
        "runseal verify",
        "sha256sum -c",
        "read and hash in turns",
        "bare SHA-256, nothing read",
    ];
    print("one artifact of 2 GiB", &names, &times, SIZE);
    println!(
        "peak memory of `runseal verify`: {} MB",
        peak_memory(&bundle)
    );
}

/// The most memory that `runseal verify` held, in MB, as the kernel counted it.
fn peak_memory(bundle: &Path) -> String {
    let mut child = Command::new(binary())
        .arg("verify")
        .arg(bundle)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0_u64;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    format!("{:.1}", peak as f64 / 1024.0)
}
