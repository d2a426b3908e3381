//! `runseal export`: evidence in the formats of other tools.

#[cfg(feature = "net")]
mod otel;
mod ro_crate;
mod slsa;

use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

/// Write it in the formats of other tools.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ExportCommand,
}

commands! {
    /// The formats.
    enum ExportCommand {
        RoCrate(ro_crate),
        Slsa(slsa),
        #[cfg(feature = "net")]
        Otel(otel),
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
