//! `runseal catalog`: many sealed runs, listed, searched and compared; one file per command.

mod add;
mod compare;
mod export;
mod list;
mod place;
mod rebuild;
mod remove;
mod search;
mod show;
mod table;
mod tag;

use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

/// Keep a catalogue of sealed runs.
///
/// Runs are verified before they are added, listed and searched by parameters and metrics, and compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: CatalogCommand,
}

commands! {
    /// The commands of the catalogue.
    enum CatalogCommand {
        Add(add),
        List(list),
        Show(show),
        Search(search),
        Compare(compare),
        Export(export),
        Tag(tag),
        Remove(remove),
        Rebuild(rebuild),
    }
}

impl Args {
    /// Whose exit codes the command has.
    pub fn surface(&self) -> Surface {
        self.command.surface()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    args.command.run()
}
