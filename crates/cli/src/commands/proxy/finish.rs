//! `runseal proxy finish`: turns what a killed recorder left into a recording.

use std::path::PathBuf;

use runseal_core::verify::Outcome;

use crate::error::CliError;

/// Finish a recording whose recorder was killed.
///
/// What was answered before is kept; what was under way is marked as unfinished, and the recording says that
/// it was cut off. Exit 0: finished. Exit 1: there is nothing to finish.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal proxy finish --recording model_io.json")]
pub struct Args {
    /// The recording that was being made; its journal is next to it.
    #[arg(long, value_name = "FILE")]
    recording: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match runseal_net::proxy::recover(&args.recording)? {
        Some(finished) => {
            super::tell_finished(&finished);
            Ok(Outcome::Valid)
        }
        None => Err(CliError::new(
            Outcome::Invalid,
            "RECORDING",
            "there is no journal of a recording that is not finished",
        )
        .at(args.recording.display().to_string())
        .hint("name the file that was given to `--recording`")),
    }
}
