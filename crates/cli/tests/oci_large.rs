//! Large runs: pushed in spite of kills, and pushed, pulled and verified in little memory.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::Bench;
use runseal_testkit::docker_registry::DockerRegistry;

use crate::oci_support::{answer, assert_same, bench, give_large, left_over, ok, seal};

/// Bytes of memory that a command may take: 64 MiB.
const ROOM: u64 = 64 << 20;

fn spawn(bench: &Bench, arguments: &[&str]) -> Child {
    bench
        .command(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Bytes that were written below a folder so far.
fn size_below(folder: &std::path::Path) -> u64 {
    let mut total = 0;
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        // The registry moves files while this looks.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => waiting.push(entry.path()),
                Ok(metadata) => total += metadata.len(),
                Err(_) => {}
            }
        }
    }
    total
}

#[test]
fn push_and_pull_killed_five_times_go_on_and_give_the_same_digest() {
    let (_folder, bench) = bench();
    give_large(&bench, "large.bin", 1000 << 20);
    seal(&bench, "r1");
    let Some(registry) = DockerRegistry::start() else {
        return;
    };
    let reference = format!("{}/team/run:v1", registry.host());
    let mut kills = 0;
    for step in 1..=5_u64 {
        let mut child = spawn(&bench, &["push", "out/r1", &reference]);
        // Killed once more than a piece of 128 MiB has arrived, in the middle of the next.
        while size_below(&registry.data()) < step * (150 << 20) {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        kills += u32::from(child.wait().unwrap().signal() == Some(9));
        let pulled = bench.run(&["pull", &reference, "-o", "early"]);
        assert_eq!(
            pulled.code,
            Some(2),
            "half of it is visible: {}",
            pulled.stdout
        );
    }
    assert_eq!(kills, 5);
    let pushed = bench.run(&["push", "out/r1", &reference]);
    let told = pushed.stderr.clone();
    let digest = answer(pushed)["digest"].clone();
    let whole = answer(bench.run(&["push", "out/r1", "oci-layout:layout:v1"]));
    assert_eq!(whole["digest"], digest);
    // Every piece that had arrived whole was there already.
    let there = told.split(" bytes sent, ").nth(1).unwrap();
    let there: u64 = there.split(' ').next().unwrap().parse().unwrap();
    assert!(there >= 256 << 20, "{told}");
    ok(bench.run(&["verify", &format!("oci://{reference}")]));
    let unfinished = || {
        let names = fs::read_dir(bench.path("")).unwrap().flatten();
        let names = names.filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(".runseal-unfinished-")
        });
        names.map(|entry| size_below(&entry.path())).max()
    };
    for step in 1..=5_u64 {
        let mut child = spawn(&bench, &["pull", &reference, "-o", "pulled"]);
        while unfinished().unwrap_or(0) < step * (150 << 20) {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert!(!bench.path("pulled").exists());
    }
    ok(bench.run(&["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    assert_eq!(left_over(&bench), ["layout", "pulled"]);
}

/// The most memory that a command had at once, which must have ended well.
fn memory_of(bench: &Bench, arguments: &[&str]) -> u64 {
    let mut command = std::process::Command::new("/usr/bin/python3");
    command
        .args([
            "-c",
            "import os, resource, subprocess, sys\n\
             code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
             print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)",
            env!("CARGO_BIN_EXE_runseal"),
        ])
        .args(arguments)
        .current_dir(bench.path(""));
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let (code, bytes) = said.trim().split_once(' ').unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(code, "0", "{arguments:?}: {errors}");
    bytes.parse().unwrap()
}

#[test]
fn large_run_is_pushed_verified_and_pulled_in_little_memory() {
    let (_folder, bench) = bench();
    give_large(&bench, "large.bin", 1 << 30);
    seal(&bench, "r1");
    fs::remove_dir_all(bench.path("given")).unwrap();
    let Some(registry) = DockerRegistry::start() else {
        return;
    };
    let reference = format!("{}/team/run:v1", registry.host());
    let artifact = format!("oci://{reference}");
    for arguments in [
        ["push", "out/r1", reference.as_str(), "--quiet"],
        ["verify", artifact.as_str(), "--quiet", "--require-accepted"],
        ["pull", reference.as_str(), "-o", "pulled"],
    ] {
        let arguments = match arguments[0] {
            "verify" => &arguments[..3],
            _ => &arguments[..],
        };
        let bytes = memory_of(&bench, arguments);
        assert!(bytes < ROOM, "{arguments:?} took {bytes} bytes");
    }
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
}
