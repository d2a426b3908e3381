//! `runseal job verify`: the ten checks of document 001.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::{Outcome, render_human, render_json};
use runseal_store::job::verify::{Summary, Verification, verify_job_bundle};
use runseal_survey::VerifyOptions;

use crate::error::CliError;
use crate::places::{bring_here, check_outside_archive};
use crate::ui;
use crate::verdict::StrictArgs;

/// Verify a job bundle: the ten checks of its document, and with --strict five more.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job verify out/bundle --strict")]
pub struct Args {
    /// The bundle's folder, or its bundle.json.
    path: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
    #[command(flatten)]
    jobs: JobsArgs,
}

/// `--jobs`, for commands that read in parallel.
#[derive(Debug, clap::Args)]
pub struct JobsArgs {
    /// The number of threads that read; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

impl JobsArgs {
    /// The options for verifying with this many threads.
    pub fn options(&self, strict: &StrictArgs) -> VerifyOptions {
        VerifyOptions {
            level: strict.level(),
            threads: self.jobs.map(usize::from),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    check_outside_archive(&args.path)?;
    let here = bring_here(&args.path)?;
    let path = here.as_ref().map_or(&args.path, |(_, path)| path);
    let found = verify_job_bundle(path, args.jobs.options(&args.strict));
    print_verification(&found, &args.path.display().to_string())
}

/// Prints the verdict as JSON; if the bundle is invalid, also reports the findings on standard
/// error.
pub fn print_verification(found: &Verification, shown: &str) -> Result<Outcome, CliError> {
    match &found.summary {
        Some(summary) => {
            let mut printed = summary_json(summary);
            printed.insert("ok", true);
            ui::print_json(&printed, Dialect::Kernel)?;
        }
        None => {
            let mut printed = render_json(&found.report);
            printed.insert("check", found.check());
            ui::print_json(&printed, Dialect::Kernel)?;
            ui::tell(&render_human(&found.report, shown));
        }
    }
    Ok(found.outcome())
}

/// The ids of a bundle.
pub fn summary_json(summary: &Summary) -> Value {
    let mut printed = Value::object([
        ("bundle_id", summary.bundle_id.to_string().as_str()),
        ("root_hash", summary.root_hash.to_string().as_str()),
    ]);
    printed.insert("artifact_count", summary.artifact_count);
    printed
}
