//! `runseal job init`: makes the store.

use runseal_core::verify::Outcome;

use super::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Make the store, or bring an older one up to date.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job init")]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let (_, place) = args.store.create()?;
    ui::print_line(&place)?;
    Ok(Outcome::Valid)
}
