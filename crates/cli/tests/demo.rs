//! The demo: it makes and checks everything, catches every change, and never writes into a folder that is in use.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::skip::need_root;

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

/// The superuser may write what is read-only; everybody else could not get past the first sealed file.
#[test]
fn demo_runs_for_an_ordinary_user() {
    if !need_root() {
        return; // The test above ran as one.
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("runseal");
    runseal_testkit::folders::copy_program(env!("CARGO_BIN_EXE_runseal"), &program);
    let mut command = Command::new(program);
    command
        .args(["demo", "--out", "demo"])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .uid(12345)
        .gid(12345);
    let demo = Ran::from(command.output().unwrap());
    assert_eq!(demo.code, Some(0), "{}{}", demo.stdout, demo.stderr);
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
