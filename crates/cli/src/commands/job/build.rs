//! `runseal job build`: the bundle of a completed job.

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::diagnosis::Diagnose;
use runseal_core::verify::Outcome;
use runseal_store::job::build::{BuildError, build_job_bundle};
use runseal_store::store::{JobId, JobRunId};

use super::place::StoreArgs;
use super::verify::summary_json;
use crate::commands::redact::RedactableArgs;
use crate::error::CliError;
use crate::ui;

/// Build the bundle of a completed job: the slices that were read, and nothing else.
///
/// The same job gives the same bytes, whoever builds it and whenever.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job build run-1 job_0123456789abcdef -o out/bundle")]
pub struct Args {
    /// The run.
    run_id: JobRunId,
    /// The job.
    job_id: JobId,
    /// The folder to make, here or in object storage (`s3://BUCKET/PREFIX/NAME`); it must not exist, or
    /// be empty.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The root of the sources; by default the folder that contains .runseal, else the working folder.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    redactable: RedactableArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let store = args.store.read()?;
    let root = args.store.root(args.root.as_deref());
    let redactable = args.redactable.open()?;
    let ids = (&args.run_id, &args.job_id);
    let outgoing = args.redactable.outgoing(&args.output)?;
    let place = outgoing.place();
    let built = build_job_bundle(&*store, &root, ids, &place, redactable.as_ref());
    let (summary, seed) = built.map_err(build_error)?;
    outgoing.finish(&place)?;
    let mut printed = summary_json(&summary);
    if let Some(seed) = seed {
        printed.insert("seed", seed.display().to_string());
    }
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

fn build_error(error: BuildError) -> CliError {
    if let BuildError::Incomplete(reasons) | BuildError::Unbundled(reasons) = &error {
        return reasons_error(&error, reasons);
    }
    CliError::within(error, "the job")
}

/// Prints every reason but the last, which becomes the command's error.
fn reasons_error(error: &BuildError, reasons: &[String]) -> CliError {
    let diagnosis = error.diagnosis();
    let (last, before) = match reasons.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("the job cannot be bundled", reasons),
    };
    for reason in before {
        ui::tell_line(&format!("{}: {reason}", diagnosis.code));
    }
    CliError::from(error).message(last)
}
