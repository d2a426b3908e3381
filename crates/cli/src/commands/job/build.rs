//! `runseal job build`: the bundle of a completed job.

use std::path::PathBuf;

use runseal_core::canon::{CanonError, Dialect};
use runseal_core::verify::Outcome;
use runseal_fs::staging::StagingError;
use runseal_store::job::build::{BuildError, build_redactable};
use runseal_store::store::{JobId, JobRunId};

use super::place::{StoreArgs, store_error};
use super::verify::summary_json;
use crate::commands::redact::{RedactableArgs, redact_error};
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
    let built = build_redactable(&*store, &root, ids, &place, redactable.as_ref());
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
    let error = match error {
        BuildError::Commitment(error) => return redact_error(error, "the job"),
        other => other,
    };
    match &error {
        BuildError::Commitment(error) => CliError::internal(error.to_string()),
        BuildError::Incomplete(reasons) => {
            reasons_error("INCOMPLETE", reasons).hint("`runseal job work` executes what is pending")
        }
        BuildError::Unbundled(reasons) => reasons_error("UNBUNDLED", reasons)
            .hint("index again, post a plan that can be read, and work it"),
        BuildError::Canon(CanonError::Sink(error)) => {
            CliError::new(Outcome::Unreadable, "WRITE", error.to_string())
                .hint("nothing was left behind; check the folder, its rights and its space")
        }
        BuildError::Canon(error) => CliError::new(Outcome::Invalid, "UNBUNDLED", error.to_string()),
        BuildError::Staging(StagingError::Exists(_)) => {
            CliError::new(Outcome::Unreadable, "TAKEN", error.to_string())
                .hint("name a folder that does not exist yet")
        }
        BuildError::Staging(StagingError::Write(error)) => {
            let message = format!("{error}: {}", error.source);
            CliError::new(Outcome::Unreadable, "WRITE", message)
                .hint("nothing was left behind; check the folder, its rights and its space")
        }
        BuildError::Corrupt(_) => CliError::new(Outcome::Unreadable, "WRITE", error.to_string())
            .hint("nothing was left behind; check the disk"),
        BuildError::Source(error) => CliError::from(error),
        BuildError::Store(error) => store_error(error),
    }
}

/// Prints every reason but the last, which becomes the command's error.
fn reasons_error(code: &'static str, reasons: &[String]) -> CliError {
    let (last, before) = match reasons.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("the job cannot be bundled", reasons),
    };
    for reason in before {
        ui::tell_line(&format!("{code}: {reason}"));
    }
    CliError::new(Outcome::Invalid, code, last)
}
