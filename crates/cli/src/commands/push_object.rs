//! `push` to object storage and `pull` from it.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::digest::ContentHash;
use runseal_core::timestamp::is_iso_utc;
use runseal_core::verify::{Outcome, Survey};
use runseal_engine::survey::{SurveyOptions, Tally, survey_paths};
use runseal_remote::landing::land;
use runseal_remote::place::{PutOptions, Retention, RetentionMode, RunPlace};
use runseal_remote::s3::S3Place;

use crate::error::CliError;
use crate::places::storage_error;
use crate::ui;

/// How long what is pushed may not be deleted.
#[derive(Debug, clap::Args)]
pub struct RetentionArgs {
    /// Lock everything of the run until this moment, such as 2030-01-01T00:00:00Z or 2030-01-01; the
    /// bucket must have been made for object lock.
    #[arg(long, value_name = "DATE")]
    retain_until: Option<String>,
    /// Who may lift the lock: those with a special permission (governance), or nobody (compliance).
    #[arg(long, value_name = "MODE", default_value = "governance", requires = "retain_until", value_parser = ["governance", "compliance"])]
    retain_mode: String,
}

impl RetentionArgs {
    /// Fails if a lock was asked for: only object storage has locks.
    pub fn refuse_elsewhere(&self) -> Result<(), CliError> {
        match self.retain_until {
            Some(_) => Err(CliError::usage(
                "only object storage locks what is pushed",
                "push to `s3://…`, or leave --retain-until out",
            )),
            None => Ok(()),
        }
    }

    fn retention(&self) -> Result<Option<Retention>, CliError> {
        let Some(text) = &self.retain_until else {
            return Ok(None);
        };
        let until = match text.len() {
            10 => format!("{text}T00:00:00Z"),
            _ => text.clone(),
        };
        if until.len() != 20 || !is_iso_utc(&until) {
            let message = format!("`{}` is no date", text.escape_debug());
            let hint = "write 2030-01-01, or 2030-01-01T00:00:00Z";
            return Err(CliError::usage(message, hint));
        }
        let mode = match self.retain_mode.as_str() {
            "compliance" => RetentionMode::Compliance,
            _ => RetentionMode::Governance,
        };
        Ok(Some(Retention { mode, until }))
    }
}

/// Whether a reference is an address in object storage.
pub fn is_object_address(reference: &str) -> bool {
    reference.starts_with("s3://")
}

/// Verifies the run in a folder and puts it at an address.
pub fn push_run(
    path: &Path,
    reference: &str,
    retention: &RetentionArgs,
) -> Result<Outcome, CliError> {
    let options = PutOptions {
        retention: retention.retention()?,
    };
    let fail = |error| storage_error(&error, reference);
    let place = S3Place::open(reference).map_err(fail)?;
    verify_first(path)?;
    let pushed = place.put_run(path, &options).map_err(fail)?;
    let there = pushed.bytes.saturating_sub(pushed.sent);
    ui::note(&format!("{} bytes sent, {there} were there", pushed.sent));
    let answer = Value::object([
        ("digest", ContentHash::from(pushed.digest).to_string()),
        ("reference", pushed.reference),
    ]);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// Fails unless what is at `path` verifies.
fn verify_first(path: &Path) -> Result<(), CliError> {
    let paths = [path.to_owned()];
    let survey: Survey = survey_paths(&paths, SurveyOptions::default(), &Tally::default());
    match survey.outcome() {
        Outcome::Valid => Ok(()),
        outcome => Err(CliError::new(
            outcome,
            "NOT_VALID",
            "it does not verify, so it was not pushed",
        )
        .at(path.display().to_string())
        .hint("`runseal verify` says what is wrong with it")),
    }
}

/// Fetches the run at an address into a new folder.
pub fn pull_run(reference: &str, output: Option<&Path>) -> Result<Outcome, CliError> {
    let fail = |error| storage_error(&error, reference);
    let place = S3Place::open(reference).map_err(fail)?;
    let run = place.get_run().map_err(fail)?;
    let target = output.map_or_else(|| PathBuf::from(place.run_name()), Path::to_owned);
    land(&run, &target).map_err(fail)?;
    let answer = Value::object([
        ("digest", ContentHash::from(run.digest).to_string()),
        ("path", target.display().to_string()),
        ("reference", place.pinned(run.digest)),
    ]);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
