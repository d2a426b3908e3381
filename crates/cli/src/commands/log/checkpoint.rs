//! `runseal log checkpoint`: the log's state, signed.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_store::log::{Appender, add_signatures};
use runseal_trust::log::{SignedNote, sign_checkpoint};

use super::{LogPlace, read_note};
use crate::error::CliError;
use crate::output::put_bytes;
use crate::signing::{KeyArgs, OpenKey};

/// Sign the log's state, take in cosignatures of witnesses, print the newest checkpoint.
///
/// Nothing is signed if the checkpoint that was signed last is no longer of this log.
///
/// Exit 0: printed. Exit 2: there is none, or nothing was signed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log checkpoint runs.log --key log.key\n  runseal log checkpoint runs.log --merge from-witness.txt"
)]
pub struct Args {
    /// The log.
    #[arg(value_name = "LOG")]
    log: LogPlace,
    #[command(flatten)]
    key: KeyArgs,
    /// A copy of the newest checkpoint that a witness cosigned; may be given several times.
    #[arg(long, value_name = "FILE")]
    merge: Vec<PathBuf>,
    /// Write it to FILE instead of printing it; `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Signs the log's current state and stores it as the log's checkpoint. If that state was signed
/// before, its cosignatures are kept.
pub(super) fn sign_state(
    appender: &mut dyn Appender,
    key: &OpenKey,
    log: &LogPlace,
) -> Result<SignedNote, CliError> {
    let fail = |error| log.error(&error);
    let state = appender.log().state();
    let mut note = sign_checkpoint(&state.to_text(), &state.origin, key.signer())?;
    if let Some(last) = appender.log().signed_checkpoint().map_err(fail)?
        && last.text == note.text
    {
        add_signatures(&mut note, &last);
    }
    appender.keep_checkpoint(&note).map_err(fail)?;
    Ok(note)
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let fail = |error| args.log.error(&error);
    let key = args.key.open_named()?;
    let others = args.merge.iter().map(|path| Ok((path, read_note(path)?)));
    let others = others.collect::<Result<Vec<_>, CliError>>()?;
    let mut appender = args.log.open_to_append()?;
    let mut note = match &key {
        Some(key) => sign_state(&mut *appender, key, &args.log)?,
        None => {
            let last = appender.log().signed_checkpoint().map_err(fail)?;
            last.ok_or_else(|| {
                CliError::new(Outcome::Unreadable, "CHECKPOINT", "none was signed yet")
                    .at(args.log.to_string())
                    .hint("--key FILE signs one")
            })?
        }
    };
    for (path, other) in others {
        if other.text != note.text {
            return Err(CliError::new(
                Outcome::Unreadable,
                "CHECKPOINT",
                "it is of another state than the newest checkpoint",
            )
            .at(path.display().to_string())
            .hint("nothing was merged; a witness cosigns the newest checkpoint"));
        }
        add_signatures(&mut note, &other);
    }
    if !args.merge.is_empty() {
        appender.keep_checkpoint(&note).map_err(fail)?;
    }
    put_bytes(note.to_text().as_bytes(), args.output.as_deref())?;
    Ok(Outcome::Valid)
}
