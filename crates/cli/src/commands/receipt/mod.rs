//! `runseal receipt`: receipts and chains of them.

mod attest;
mod load;
pub mod signer;
mod verify;

use runseal_core::verify::Outcome;

use crate::error::CliError;

/// Work with receipts, the proofs that job bundles were replayed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ReceiptCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ReceiptCommand {
    Verify(verify::Args),
    Attest(attest::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match &args.command {
        ReceiptCommand::Verify(args) => verify::run(args),
        ReceiptCommand::Attest(args) => attest::run(args),
    }
}
