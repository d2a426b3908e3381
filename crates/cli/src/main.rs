//! The `runseal` command: makes, seals, verifies and replays run bundles.
//!
//! `commands/` has one file a command, `error.rs` what went wrong and how to go on, `ui.rs` how
//! it is said. Exit codes come from `runseal_core::verify::exit_code` alone.

mod clock;
mod commands;
mod error;
mod inside;
mod intent_input;
mod loaded;
mod places;
mod progress;
mod signing;
mod ui;
mod verdict;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(commands::run(std::env::args_os()))
}
