//! `runseal hash`: the SHA-256 of a JSON text, over the bytes that its dialect hashes.

use runseal_core::canon::{ReadOptions, compute_text_digest};
use runseal_core::verify::Outcome;

use super::canon::TextArgs;
use crate::error::{CliError, Named};
use crate::ui;

/// Print the SHA-256 over what a dialect hashes of a JSON text.
///
/// The kernel dialect hashes the canonical text and one LF; job and jcs the text alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal hash --dialect kernel bundle.json")]
pub struct Args {
    #[command(flatten)]
    text: TextArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let dialect = args.text.dialect()?;
    let (text, shown) = args.text.read()?;
    let digest = compute_text_digest(&text, dialect, &ReadOptions::TEXT).named(shown)?;
    ui::print_line(&digest.to_string())?;
    Ok(Outcome::Valid)
}
