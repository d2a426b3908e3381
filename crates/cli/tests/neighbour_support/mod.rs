//! Other people's tools that neighbours' formats are compared with; `.ci/neighbour-tools` installs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use runseal_testkit::skip::skip;
use serde_json::Value;

/// The folder of the virtual environment's programs, or nothing where it is not installed.
pub fn tools() -> Option<PathBuf> {
    let folder = match std::env::var_os("RUNSEAL_NEIGHBOUR_TOOLS") {
        Some(path) => PathBuf::from(path),
        None => project_root().join("target/neighbour-tools"),
    };
    let programs = folder.join("venv/bin");
    if programs.join("bagit.py").is_file() {
        return Some(programs);
    }
    skip("bagit, roc-validator and runcrate are missing; .ci/neighbour-tools installs them");
    None
}

/// A bench in a folder of its own.
pub fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

/// The vectors of a format.
pub fn vectors(format: &str) -> PathBuf {
    project_root().join("vectors").join(format)
}

/// Runs a program; its exit code and what it printed.
pub fn run(program: &Path, arguments: &[&str], folder: &Path) -> (i32, String) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// The exit code of `verify`, and the rules that found something.
pub fn verdict(bench: &Bench, path: &Path, options: &[&str]) -> (i32, Vec<String>) {
    let mut arguments = vec!["verify", "--format", "json"];
    arguments.extend(options);
    arguments.push(path.to_str().unwrap());
    let ran = bench.run(&arguments);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let results = answer["results"].as_array().unwrap();
    let violations = results
        .iter()
        .flat_map(|result| result["violations"].as_array().unwrap());
    let mut rules: Vec<String> = violations
        .map(|violation| violation["rule_id"].as_str().unwrap().to_owned())
        .collect();
    rules.dedup();
    (ran.code.unwrap(), rules)
}
