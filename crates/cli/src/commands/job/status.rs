//! `runseal job status`: counts by state, receipts, workers.

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_store::store::{FailedStep, JobId, JobRunId, JobStatus};

use super::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Show how far jobs are: steps by state, receipts by outcome, workers, and what failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job status run-1")]
pub struct Args {
    /// Only the jobs of this run.
    run_id: Option<JobRunId>,
    /// Only this job of the run.
    job_id: Option<JobId>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let store = args.store.read()?;
    let jobs = store.job_status(args.run_id.as_ref(), args.job_id.as_ref())?;
    if let (Some(run_id), true) = (&args.run_id, jobs.is_empty()) {
        let message = match &args.job_id {
            Some(job_id) => format!("run `{run_id}` has no job `{job_id}`"),
            None => format!("there is no run `{run_id}`"),
        };
        return Err(CliError::new(Outcome::Invalid, "UNKNOWN", message)
            .hint("`runseal job status` shows all of them"));
    }
    let printed = Value::object([("jobs", Value::array(jobs.iter().map(job)))]);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

fn job(status: &JobStatus) -> Value {
    let mut job = Value::object([
        ("run_id", status.run_id.as_str()),
        ("job_id", status.job_id.as_str()),
        ("intent", status.intent.as_str()),
    ]);
    let steps = Value::object([
        ("PENDING", status.states.pending),
        ("LEASED", status.states.leased),
        ("COMMITTED", status.states.committed),
    ]);
    job.insert("steps", steps);
    let receipts = Value::object([("SUCCESS", status.succeeded), ("FAILURE", status.failed)]);
    job.insert("receipts", receipts);
    job.insert(
        "workers",
        Value::array(status.workers.iter().map(String::as_str)),
    );
    job.insert(
        "failures",
        Value::array(status.failures.iter().map(failure)),
    );
    job
}

fn failure(failed: &FailedStep) -> Value {
    let mut shown = Value::object([("step_id", failed.step_id.as_str())]);
    shown.insert("ordinal", failed.ordinal);
    shown.insert("reason", failed.reason.as_str());
    shown
}
