//! Runs the commands that the README shows, in the folder that the demo makes.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::Command;

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

const MARK: &str = "<!-- run in the demo's folder -->\n```sh\n";

#[test]
fn readme_commands_run_as_shown() {
    let readme = std::fs::read_to_string(project_root().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_runseal"));
    let bench = Bench::new(binary, folder.path());
    let demo = bench.run(&["demo", "--out", "demo"]);
    assert_eq!(demo.code, Some(0), "{}{}", demo.stdout, demo.stderr);
    check_demo(&demo.stdout);
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut count = 0;
    for block in readme.split(MARK).skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            let done = Command::new("sh")
                .args(["-ec", line])
                .current_dir(bench.path("demo"))
                .env_clear()
                .env("PATH", &path)
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{line}: {told}");
            count += 1;
        }
    }
    assert!(count > 12, "{count} commands");
}

/// The demo catches a changed byte in each of what it made.
fn check_demo(told: &str) {
    let caught = told
        .lines()
        .filter(|line| line.trim().starts_with("caught: "))
        .count();
    let not_run = told
        .lines()
        .filter(|line| line.contains("NOT RUN: the engine"))
        .count();
    assert_eq!(caught + not_run, 6, "{told}");
    assert!(told.contains("What to try next"), "{told}");
}

#[test]
fn readme_first_commands_are_the_demo_and_the_tests() {
    let readme = std::fs::read_to_string(project_root().join("README.md")).unwrap();
    let shown: Vec<_> = readme
        .split("```sh\n")
        .skip(1)
        .map(|block| block.lines().next().unwrap())
        .collect();
    assert_eq!(shown[0], "cargo run --release -- demo");
    assert_eq!(shown[1], "cargo test --workspace");
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
