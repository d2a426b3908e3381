//! `runseal job work`: executes pending steps.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_store::job::worker::{WorkOptions, run_workers};
use runseal_store::store::JobRunId;

use super::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Execute steps until every one is committed with its receipt.
///
/// Several workers, in one process or in many, share the steps. A step whose worker vanished is
/// taken over when its lease has run out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job work --workers 4")]
pub struct Args {
    /// Only the steps of this run.
    #[arg(long, value_name = "RUN_ID")]
    run: Option<JobRunId>,
    /// The number of workers.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// How long a worker may hold a step before others take it over.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = parse_lease)]
    lease: f64,
    /// The name that receipts carry; several workers add their number.
    #[arg(long, value_name = "ID", default_value = "worker")]
    worker_id: String,
    /// The root of the sources; by default the folder that contains .runseal, else the working folder.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Reads a lease in seconds.
pub fn parse_lease(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86400.0 => Ok(seconds),
        _ => Err("a lease lasts more than 0 and at most 86400 seconds".to_owned()),
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let options = WorkOptions {
        run_id: args.run.clone(),
        workers: usize::from(args.workers),
        lease_seconds: args.lease,
        worker_id: args.worker_id.clone(),
    };
    let root = args.store.root(args.root.as_deref());
    let summary = run_workers(args.store.open()?, &root, &options)?;
    let committed = summary.succeeded + summary.failed;
    let printed = Value::object([("committed", committed), ("failed", summary.failed)]);
    ui::print_json(&printed, Dialect::Kernel)?;
    if summary.failed == 0 {
        return Ok(Outcome::Valid);
    }
    ui::tell(&format!(
        "STEPS: {} of {committed} steps failed\nhint: `runseal job status` names them",
        summary.failed
    ));
    Ok(Outcome::Invalid)
}
