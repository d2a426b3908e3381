//! `runseal push`: hands evidence over through object storage.

use std::path::PathBuf;

use runseal_core::verify::Outcome;

use super::push_object::{RetentionArgs, push_run};
use crate::error::CliError;

/// Push a run to object storage, where others can verify it without a copy.
///
/// It is verified first; what does not hold is not pushed. What is there already is not sent again,
/// and a push that was interrupted goes on where it stopped. The run can be seen once all of it has
/// arrived. Prints the digest and the reference that names exactly this run.
///
/// Exit 0: pushed. Exit 1: it does not verify. Exit 2: it could not be read or stored; nothing can be
/// seen of it then.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal push RUN_BUNDLE/run_1 s3://bucket/evidence/run_1")]
pub struct Args {
    /// A folder: a run bundle, job bundle or pack.
    path: PathBuf,
    /// Where to: `s3://BUCKET/PREFIX/NAME`.
    reference: String,
    #[command(flatten)]
    retention: RetentionArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    push_run(&args.path, &args.reference, &args.retention)
}
