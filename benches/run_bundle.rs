//! Run bundles: verification beside `sha256sum -c SHA256SUMS.txt` and beside bare SHA-256 of the
//! same files, for many small artifacts and for one large one.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench run_bundle` prints the tables of
//! docs/performance.md. Names of parts (`many`, `large`) run only those. The data is made in the
//! system's folder for temporary files: about 2.1 GB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use runseal_benches::data::{block, seal, write_large};
use runseal_benches::plain::{files_below, hash_file, hash_files, hash_memory};
use runseal_benches::process::{binary, parts, peak_memory, succeed};
use runseal_benches::{best, render_table};

fn main() {
    let wants = parts();
    let folder = tempfile::tempdir().unwrap();
    if wants("many") {
        many(folder.path());
    }
    if wants("large") {
        large(folder.path());
    }
}

fn verify(bundle: &Path) -> Command {
    let mut command = Command::new(binary());
    command.arg("verify").arg(bundle);
    command
}

fn sha256sum(bundle: &Path) -> Command {
    let mut command = Command::new("sha256sum");
    command
        .args(["--quiet", "-c", "SHA256SUMS.txt"])
        .current_dir(bundle);
    command
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
    let bundle = seal(folder, "many", Some(&artifacts));
    let sealed = bundle.join("artifacts");
    let times = best(
        5,
        &mut [
            &mut || succeed(&mut verify(&bundle)),
            &mut || succeed(&mut sha256sum(&bundle)),
            &mut || hash_files(&files_below(&sealed), 1),
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
    write_large(&artifacts, SIZE);
    let bundle = seal(folder, "large", Some(&artifacts));
    fs::remove_dir_all(&artifacts).unwrap();
    let sealed = bundle.join("artifacts/large.bin");
    let block = block();
    let mut buffer = vec![0; 256 << 10];
    let times = best(
        3,
        &mut [
            &mut || succeed(&mut verify(&bundle)),
            &mut || succeed(&mut sha256sum(&bundle)),
            &mut || hash_file(&sealed, &mut buffer),
            &mut || hash_memory(&block, SIZE),
        ],
    );
    let names = [
        "runseal verify",
        "sha256sum -c",
        "read and hash in turns",
        "bare SHA-256, nothing read",
    ];
    print("one artifact of 2 GiB", &names, &times, SIZE);
    let peak = peak_memory(&mut verify(&bundle));
    println!(
        "peak memory of `runseal verify`: {:.1} MB",
        peak as f64 / 1024.0
    );
}
