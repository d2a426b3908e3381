//! `runseal job init`: makes the store.

use runseal_core::verify::Outcome;
use runseal_engine::store::Store;

use super::place::{StoreArgs, store_error};
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
    let path = args.store.new_path();
    Store::create(&path).map_err(|error| store_error(&error))?;
    ui::print_line(&path.display().to_string())?;
    Ok(Outcome::Valid)
}
