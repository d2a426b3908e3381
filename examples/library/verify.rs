//! Verifies what the arguments name and prints what is wrong, as `runseal verify` does.
//!
//! `cargo run -p runseal --example verify -- PATH…`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() {
        eprintln!("usage: verify PATH…");
        return ExitCode::from(3);
    }
    let report = runseal::Verify::new().paths(&paths);
    for unit in report.units() {
        let format = unit.format().map_or("unknown", |format| format.name());
        let state = match (unit.is_valid(), unit.not_checked()) {
            (true, _) => "valid".to_owned(),
            (false, Some(reason)) => format!("not checked: {reason}"),
            (false, None) => format!("not valid, {} findings", unit.findings().len()),
        };
        println!("{}  {format}  {state}", unit.path());
        for finding in unit.findings() {
            println!("    {} {}", finding.rule_id, finding.message);
        }
    }
    ExitCode::from(report.exit_code())
}
