//! `runseal runner verify`: runner.json, RN1-RN12.

use std::path::PathBuf;

use runseal_core::canon::{Node, Value};
use runseal_core::formats::runner::{RunnerView, compute_runner_hash, verify_runner};
use runseal_core::verify::Outcome;

use crate::error::CliError;
use crate::verdict::{self, StrictArgs};

/// Work with runner records, which say where a run ran.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: RunnerCommand,
}

#[derive(Debug, clap::Subcommand)]
enum RunnerCommand {
    Verify(VerifyArgs),
}

/// Verify a runner record.
///
/// Exit 0: valid. Exit 1: it could not be read. Exit 2: it is not JSON. Exit 3: invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal runner verify pack/runner.json")]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let RunnerCommand::Verify(args) = &args.command;
    let verify = |root: Node<'_>| verify_runner(&RunnerView { root }, args.strict.level());
    verdict::verify_document_with(&args.file, verify, |root| {
        let hash = compute_runner_hash(root).map(|hash| hash.to_string());
        vec![("runner_hash", Value::from(hash))]
    })
}
