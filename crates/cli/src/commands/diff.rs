//! `runseal diff`: where two things of the same format differ.

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::verify::{Level, Outcome};
use runseal_runs::compare::{compare, render_comparison_human, render_comparison_json};

use super::inspect::FormatArgs;
use crate::error::CliError;
use crate::loaded::load_path;
use crate::ui;

/// Compare two things of the same format, by meaning and by bytes.
///
/// Differences of meaning (inputs, steps, outputs) come first, then those of bytes.
///
/// Exit 0: no difference. Exit 1: they differ. Exit 2: not readable, or not of the same format.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal diff yesterday/bundle today/bundle.zip")]
pub struct Args {
    /// The first: a folder, file or archive.
    a: PathBuf,
    /// The second.
    b: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let before = load_path(&args.a, Level::Integrity)?;
    let after = load_path(&args.b, Level::Integrity)?;
    let changes = compare(&before, &after).map_err(|error| {
        CliError::new(Outcome::Unreadable, "NOT_ALIKE", error.to_string())
            .at(format!("{}, {}", args.a.display(), args.b.display()))
            .hint("name two of the same format; `runseal inspect` says what each is")
    })?;
    if args.format.is_json() {
        ui::print_asked_json(&render_comparison_json(&changes), Dialect::Kernel)?;
    } else {
        ui::print_text(&render_comparison_human(&changes))?;
    }
    Ok(if changes.is_empty() {
        Outcome::Valid
    } else {
        Outcome::Invalid
    })
}
