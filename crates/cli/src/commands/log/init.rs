//! `runseal log init`: creates a log.

use runseal_core::verify::Outcome;
use runseal_trust::log::{KeyKind, NoteKey};

use super::LogPlace;
use crate::error::CliError;
use crate::signing::KeyArgs;
use crate::ui;

/// Make a new log: a folder, or in a database.
///
/// Prints its place, and with --key the verifier key that people need to check its checkpoints.
///
/// Exit 0: made. Exit 2: not made.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log init runs.log --origin example.com/runs --key log.key\n  runseal log init postgres://runseal@db/evidence --origin example.com/runs"
)]
pub struct Args {
    /// The folder to make, or postgres://USER@HOST/DATABASE.
    #[arg(value_name = "LOG")]
    log: LogPlace,
    /// The log's name, for good: it is in every checkpoint. No white space, no `+`.
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
    ui::print_line(&args.log.init(&args.origin)?)?;
    if let Some(key) = key {
        ui::print_line(&key.to_text())?;
    }
    Ok(Outcome::Valid)
}
