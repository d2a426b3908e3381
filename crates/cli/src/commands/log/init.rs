//! `runseal log init`: a new log.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_engine::log::LogStore;
use runseal_trust::log::{KeyKind, NoteKey};

use super::log_error;
use crate::error::CliError;
use crate::signing::KeyArgs;
use crate::ui;

/// Make a new log: a folder.
///
/// Prints the folder, and with --key the verifier key that people need to check its checkpoints.
///
/// Exit 0: made. Exit 2: not made.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log init runs.log --origin example.com/runs --key log.key"
)]
pub struct Args {
    /// The folder to make.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The log's name, for good: it stands in every checkpoint. No white space, no `+`.
    #[arg(long, value_name = "NAME")]
    origin: String,
    #[command(flatten)]
    key: KeyArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let key = match args.key.key {
        Some(_) => {
            let key = args.key.open()?;
            let public = key.signer().public_key();
            let key = NoteKey::new(&args.origin, KeyKind::Ed25519, public);
            Some(key.map_err(|error| {
                CliError::new(Outcome::Unreadable, "KEY", error.to_string())
                    .hint("`runseal keygen -o FILE` makes an ed25519 key")
            })?)
        }
        None => None,
    };
    LogStore::init(&args.log, &args.origin).map_err(|error| log_error(&error, &args.log))?;
    ui::print_line(&args.log.display().to_string())?;
    if let Some(key) = key {
        ui::print_line(&key.to_text())?;
    }
    Ok(Outcome::Valid)
}
