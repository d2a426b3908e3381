//! The one way to skip a test: it says why, counts in `.ci/run`, and fails in CI where CI can do otherwise.
//!
//! `if !need_isolation() || !need_program("git") { return; }` begins a test. What a machine can be given, it must
//! have with `CI=true`; what a kernel or a user decides (root, control groups) is counted there too.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use rustix::process::geteuid;

use crate::isolation;

/// Names a file that gets one line for each test, or part of one, that is skipped.
const SKIPS: &str = "RUNSEAL_SKIPS";

/// Whether nothing may be skipped that this machine could be given.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Skips a test, or part of it, because this machine lacks what it could be given. With CI=true, panics.
pub fn skip(reason: &str) {
    assert!(!is_ci(), "CI must have it: {reason}");
    count(reason);
}

/// Skips a test, or part of it, because of what not every machine can be given: a feature of the kernel,
/// another user, somebody else's data. With CI=true too, where it is counted.
pub fn skip_even_in_ci(reason: &str) {
    count(reason);
}

fn count(reason: &str) {
    println!("SKIPPED: {reason}");
    let Some(path) = std::env::var_os(SKIPS) else {
        return;
    };
    let opened = fs::File::options().create(true).append(true).open(path);
    let mut file = match opened {
        Ok(file) => file,
        // Tests run themselves again as an ordinary user, whose skips are not those of this machine.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return,
        Err(error) => panic!("{SKIPS}: {error}"),
    };
    // One write, because several tests append at once.
    let line = format!("{}\n", reason.replace('\n', " "));
    file.write_all(line.as_bytes()).unwrap();
}

/// Whether `is_there`; if not, the test is skipped because `what` is missing.
pub fn need(is_there: bool, what: &str) -> bool {
    if !is_there {
        skip(&format!("{what} is missing"));
    }
    is_there
}

/// Whether a program is on the PATH, or at this absolute path.
pub fn need_program(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Joined to a folder, an absolute path stays what it is.
    let is_there = Path::new(program).is_file()
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    need(is_there, program)
}

/// Whether the system's own Python is there, which commands find in the sandbox.
pub fn need_python() -> bool {
    need_program("/usr/bin/python3")
}

/// Whether commands can be isolated.
pub fn need_isolation() -> bool {
    isolation::sandbox().is_some()
}

/// Whether this process is root's.
pub fn need_root() -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        skip_even_in_ci("only root can do this");
    }
    is_root
}
