//! `runseal pull`: gets evidence from object storage.

use std::path::PathBuf;

use runseal_core::verify::Outcome;

use super::push_object::pull_run;
use crate::error::CliError;

/// Pull a run from object storage into a new folder.
///
/// Everything that arrives is compared with its digest, and nothing that exists is replaced. A pull
/// that was interrupted goes on where it stopped. Prints the digest, the folder and the reference
/// that names exactly this run.
///
/// Exit 0: it is there. Exit 1: something is not what was declared. Exit 2: it could not be read or
/// written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal pull s3://bucket/evidence/run_1 -o run_1")]
pub struct Args {
    /// What to pull: `s3://BUCKET/PREFIX/NAME[@sha256:…]`.
    reference: String,
    /// The folder that it becomes; where not given, the last part of its name.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    pull_run(&args.reference, args.output.as_deref())
}
