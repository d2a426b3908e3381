//! `runseal receipt`: receipts and their chains.

mod attest;
mod load;
pub mod signer;
mod trusted;
mod verify;

use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

/// Work with receipts, the proofs that job bundles were replayed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ReceiptCommand,
}

commands! {
    /// The commands for receipts.
    enum ReceiptCommand {
        Verify(verify) => |_| Surface::Format(Format::Receipt),
        Attest(attest) => |_| Surface::Format(Format::Receipt),
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
