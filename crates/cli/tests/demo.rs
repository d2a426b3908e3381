//! The demo: it makes and checks everything, catches every change, and never writes into a folder that is in use.

#![allow(clippy::unwrap_used, reason = "test code")]

use runseal_testkit::cli::Bench;

#[test]
fn demo_catches_a_changed_byte_in_each_of_what_it_made() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let demo = bench.run(&["demo", "--out", "demo"]);
    assert_eq!(demo.code, Some(0), "{}{}", demo.stdout, demo.stderr);
    let lines = demo.stdout.lines().map(str::trim);
    let caught = lines.clone().filter(|line| line.starts_with("caught: "));
    let not_run = lines.filter(|line| line.contains("NOT RUN: the engine"));
    assert_eq!(caught.count() + not_run.count(), 6, "{}", demo.stdout);
    assert!(demo.stdout.contains("What to try next"), "{}", demo.stdout);
}

#[test]
fn demo_into_a_folder_with_something_in_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    bench.write("demo/file", "x");
    let ran = bench.run(&["demo", "--out", "demo"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("EXISTS: "), "{}", ran.stderr);
}
