//! What starting costs: `runseal verify` of one small bundle with the static program of a release, beside a Rust program
//! that prints hello.
//!
//! `.ci/release && cargo bench --bench release` prints the table; RUNSEAL_RELEASE names another program than the one that
//! `.ci/release` built. Processes are started one after the other, in turns, and the best and the middle round count.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

#[allow(dead_code)]
#[path = "job/data.rs"]
mod data;

use std::path::PathBuf;
use std::process::Command;

use runseal_benches::process::{make_hello, succeed};
use runseal_benches::{best_and_median, milliseconds, render_table, times};

const ROUNDS: usize = 300;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let runseal = released();
    let hello = make_hello(folder.path());
    let bundle = folder.path().join("small");
    data::make_bundle(&bundle, 3, 1024);
    let found = best_and_median(
        ROUNDS,
        &mut [
            &mut || succeed(Command::new(&runseal).arg("verify").arg(&bundle)),
            &mut || succeed(Command::new(&runseal).arg("--version")),
            &mut || succeed(&mut Command::new(&hello)),
        ],
    );
    let header = [
        "start to end",
        "best, ms",
        "of hello",
        "middle, ms",
        "of hello",
    ];
    let names = [
        "runseal verify, one bundle of 3 files",
        "runseal --version",
        "a Rust program that prints hello",
    ];
    let rows: Vec<_> = names
        .iter()
        .zip(&found)
        .map(|(name, [best, middle])| {
            vec![
                (*name).to_owned(),
                milliseconds(*best),
                times(*best, found[2][0]),
                milliseconds(*middle),
                times(*middle, found[2][1]),
            ]
        })
        .collect();
    println!("{}", render_table(&header.map(str::to_owned), &rows));
}

/// The static program: the one that was named, or the one that was built last.
fn released() -> PathBuf {
    if let Some(named) = std::env::var_os("RUNSEAL_RELEASE") {
        return PathBuf::from(named);
    }
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(3).unwrap();
    let path = target
        .join(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .join("dist/runseal");
    assert!(path.is_file(), ".ci/release comes first");
    path
}
