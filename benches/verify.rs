//! `runseal verify` over a tree of job bundles, beside a plain loop that only reads and hashes
//! the same files on as many threads, and beside `sha256sum -c`.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench verify` prints the tables. The data,
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
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use runseal_benches::plain::{files_below, hash_files};
use runseal_benches::process::{binary, make_hello, peak_memory, succeed};
use runseal_benches::{best, milliseconds, render_table, times};
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
            .args(["verify", "--jobs", jobs, "--format", "json"])
            .arg(&tree);
        command
    };
    let one = verify("1").output().unwrap().stdout;
    assert_eq!(
        one,
        verify("2").output().unwrap().stdout,
        "jobs must not show"
    );

    let found = best(
        3,
        &mut [
            &mut || succeed(&mut verify(&jobs)),
            &mut || hash_files(&names, threads),
            &mut || {
                let mut command = Command::new("sha256sum");
                succeed(command.args(["-c", "--quiet"]).arg(&sums));
            },
        ],
    );
    let row = |name: &str, time: Duration| {
        vec![name.to_owned(), milliseconds(time), times(time, found[1])]
    };
    let header = ["100,000 files of 4 KB in 1,000 bundles", "ms", "plain loop"].map(str::to_owned);
    let rows = [
        row("runseal verify", found[0]),
        row("read and hash, nothing else", found[1]),
        row("sha256sum -c", found[2]),
    ];
    println!("{}", render_table(&header, &rows));
    println!(
        "memory of runseal verify: {} KB at the most\n",
        peak_memory(&mut verify(&jobs))
    );

    let bundle = folder.path().join("small");
    data::make_bundle(&bundle, 3, 1024);
    let found = best(
        30,
        &mut [
            &mut || succeed(Command::new(&runseal).arg("verify").arg(&bundle)),
            &mut || succeed(&mut Command::new(&hello)),
        ],
    );
    let header = ["one bundle of 3 files, start to end", "ms"].map(str::to_owned);
    let rows = [
        vec!["runseal verify".to_owned(), milliseconds(found[0])],
        vec![
            "a Rust program that prints hello".to_owned(),
            milliseconds(found[1]),
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
