//! The `runseal` command: makes, seals, verifies and replays run bundles.
//!
//! `commands/` has one file per command, `error.rs` the errors and their hints, `ui.rs` all output.
//! Exit codes come from `runseal_core::verify::exit_code` alone.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod clock;
mod commands;
mod error;
mod inside;
mod intent_input;
mod loaded;
mod output;
mod places;
mod progress;
mod signing;
mod ui;
mod verdict;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(commands::run(std::env::args_os()))
}
