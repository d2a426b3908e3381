//! `runseal job post`: a plan becomes a job.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_text, parse_document};
use runseal_core::formats::job_bundle::plan::{Plan, PlanFault};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_store::job::post::{PostError, post_plan};

use super::place::StoreArgs;
use crate::error::{CliError, Named};
use crate::ui;

/// Post a plan of reads; the same run and idempotency key always give the same job.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job post examples/jobs/read-the-docs.json")]
pub struct Args {
    /// The plan; `-` means standard input.
    plan: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let input = Input::from_argument(Some(&args.plan));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    // A text that is not JSON is an invalid plan, just like one with a wrong field.
    let document = parse_document(&bytes, &options).map_err(|error| {
        let mut refused = CliError::within(error, input.shown());
        refused.outcome = Outcome::Invalid;
        refused
    })?;
    // The store keeps the plan's canonical text. A plan may have a million steps, so from here on
    // only that text is used, and the original is freed.
    let canonical = canonical_text(document.root(), Dialect::Job).map_err(|error| {
        CliError::new(Outcome::Invalid, "PLAN", error.to_string()).at(input.shown())
    })?;
    drop(document);
    drop(bytes);
    let document = parse_document(canonical.as_bytes(), &options).named(input.shown())?;
    let plan = Plan::parse(document.root()).map_err(|faults| invalid(&faults, &input.shown()))?;
    let mut store = args.store.open()?;
    let posted = post_plan(&mut *store, &plan).map_err(|error| match error {
        PostError::Faults(faults) => invalid(&faults, &input.shown()),
        other => CliError::within(other, input.shown()),
    })?;
    if posted.differs {
        ui::tell(
            "note: this run and key were posted before with another plan; that job stays as it is",
        );
    }
    let mut printed = Value::object([
        ("message_id", posted.message_id.as_str()),
        ("job_id", posted.job_id.as_str()),
        ("run_id", plan.run_id.as_str()),
    ]);
    printed.insert("steps", posted.steps);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// The most faults that are reported one by one.
const SHOWN: usize = 20;

/// Reports the first faults and the number of the others; the last one reported is the command's error.
fn invalid(faults: &[PlanFault], shown: &str) -> CliError {
    let place = |fault: &PlanFault| format!("{shown} {}", fault.path);
    let more = faults.len().saturating_sub(SHOWN);
    let faults = &faults[..faults.len() - more];
    if let Some((_, before)) = faults.split_last() {
        for fault in before {
            ui::tell_line(&format!("PLAN: {}: {}", fault.message, place(fault)));
        }
    }
    if more > 0 {
        ui::tell(&format!(
            "note: {more} more faults of the plan are not shown"
        ));
    }
    match faults.last() {
        Some(fault) => CliError::new(Outcome::Invalid, "PLAN", fault.message.clone())
            .at(place(fault))
            .hint("docs/job-bundles.md shows a plan and what each field means"),
        None => CliError::new(Outcome::Invalid, "PLAN", "the plan is invalid"),
    }
}
