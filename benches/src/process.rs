//! Whole processes: ours and the peers', run to their end.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Five gigabytes: the size that the targets for large runs are about.
pub const FIVE_GIGABYTES: u64 = 5_000_000_000;

/// The size of a large run in bytes: `RUNSEAL_BENCH_BYTES`, or five gigabytes with `--full`, or `usual`.
pub fn asked_bytes(usual: u64) -> u64 {
    match std::env::var("RUNSEAL_BENCH_BYTES") {
        Ok(text) => text.parse().unwrap(),
        Err(_) if std::env::args().any(|argument| argument == "--full") => FIVE_GIGABYTES,
        Err(_) => usual,
    }
}

/// Tells which parts of a benchmark are asked for: those named as arguments, or all.
pub fn parts() -> impl Fn(&str) -> bool {
    let asked: BTreeSet<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    move |part| asked.is_empty() || asked.contains(part)
}

/// The `runseal` that is optimized as releases are, below the same target folder as this benchmark;
/// or the one that `RUNSEAL_BINARY` names.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("RUNSEAL_BINARY") {
        return path.into();
    }
    let here = std::env::current_exe().unwrap();
    let path = here.ancestors().nth(3).unwrap().join("dist/runseal");
    assert!(
        path.is_file(),
        "cargo build --profile dist -p runseal-cli comes first"
    );
    path
}

/// Runs a command to its end, which must be a good one. Cargo's list of places for libraries is
/// taken away: a program that a person starts does not search them first.
pub fn succeed(command: &mut Command) {
    let command = command.env_remove("LD_LIBRARY_PATH");
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.unwrap().success(), "{command:?}");
}

/// The most memory that a command held, in KB, as the kernel counts it.
pub fn peak_memory(command: &mut Command) -> u64 {
    watch(command).1
}

/// The time that a command took, which must end well, and the most memory that it held, in KB.
pub fn watch(command: &mut Command) -> (Duration, u64) {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success(), "{command:?}");
    (begun.elapsed(), peak)
}

/// A Rust program that prints hello: what starting a process costs at the least.
pub fn make_hello(folder: &Path) -> PathBuf {
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
