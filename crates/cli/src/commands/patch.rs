//! `runseal patch verify`: patch.json, PS1-PS9.

use std::path::PathBuf;

use runseal_core::formats::patch::{MAX_TOTAL_BYTES, PatchView, verify_patch};
use runseal_core::verify::Outcome;

use crate::error::CliError;
use crate::verdict::{self, StrictArgs};

/// Work with patch sets, the file operations of a proposal.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: PatchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PatchCommand {
    Verify(VerifyArgs),
}

/// Verify a patch set.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal patch verify pack/patch.json")]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
    /// The bytes that all contents together may have.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_TOTAL_BYTES)]
    max_total_bytes: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let PatchCommand::Verify(args) = &args.command;
    verdict::verify_document(&args.file, |root| {
        let view = PatchView {
            root,
            max_total_bytes: args.max_total_bytes,
        };
        verify_patch(&view, args.strict.level())
    })
}
