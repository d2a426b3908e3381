//! `push` to object storage and `pull` from it.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::timestamp::is_iso_utc;
use runseal_core::verify::{Level, Outcome};
use runseal_fs::survey::{Tally, VerifyOptions, survey_paths, without_climbing};
use runseal_remote::RemoteError;
use runseal_remote::error::shown_address;
use runseal_remote::place::{PutOptions, Retention, RetentionMode, RunPlace};
use runseal_remote::s3::{S3Place, pull};
use runseal_remote::verified::check_survey;

use crate::error::{CliError, Named};
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
            let message = format!("`{}` is not a date", text.escape_debug());
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

/// Verifies what is at a path, and puts it at an address.
pub fn push_run(
    path: &Path,
    reference: &str,
    level: Level,
    retention: &RetentionArgs,
) -> Result<Outcome, CliError> {
    let options = PutOptions {
        retention: retention.retention()?,
    };
    let place = S3Place::open(reference).named(shown_address(reference))?;
    verify_first(path, level)?;
    let pushed = place.put_run(path, &options).map_err(|error| {
        let reported = CliError::within(&error, shown_address(reference));
        match (&error, &options.retention) {
            // Servers answer this in many ways, some of them general, but never as their own failure.
            (RemoteError::Refused { status: 400..=499 | 501, .. }, Some(_)) => reported.hint(
                "locks need a bucket that was made for them; leave --retain-until out, or name such a bucket",
            ),
            _ => reported,
        }
    })?;
    let there = pushed.bytes.saturating_sub(pushed.sent);
    tell_sent(pushed.sent, there, &pushed.attached);
    let answer = Value::object([
        ("digest", ContentHash::from(pushed.digest).to_string()),
        ("reference", pushed.reference),
    ]);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// Fails unless what is at `path` is one valid unit.
fn verify_first(path: &Path, level: Level) -> Result<(), CliError> {
    let options = VerifyOptions {
        level,
        threads: None,
    };
    let survey = survey_paths(&[without_climbing(path)], options, &Tally::default());
    check_survey(survey.results()).named(path.display())
}

/// Reports what a push did.
pub fn tell_sent(sent: u64, there: u64, attached: &[impl AsRef<str>]) {
    let attached: Vec<_> = attached.iter().map(AsRef::as_ref).collect();
    let attached = match attached.as_slice() {
        [] => "nothing attached".to_owned(),
        some => format!("attached {}", some.join(", ")),
    };
    ui::note(&format!(
        "{sent} bytes sent, {there} were there; {attached}"
    ));
}

/// Brings the run at an address into a new folder.
pub fn pull_run(reference: &str, output: Option<&Path>, level: Level) -> Result<Outcome, CliError> {
    let pulled = pull(reference, output, level).named(shown_address(reference))?;
    print_pulled(
        pulled.digest,
        pulled.reference,
        &pulled.path,
        &pulled.attached,
    )
}

/// Prints what was pulled, from wherever it came.
pub fn print_pulled(
    digest: Digest,
    reference: String,
    path: &Path,
    attached: &Result<Vec<PathBuf>, String>,
) -> Result<Outcome, CliError> {
    let mut answer = Value::object([
        ("digest", ContentHash::from(digest).to_string()),
        ("path", path.display().to_string()),
        ("reference", reference),
    ]);
    match attached {
        Ok(files) => {
            let files = files.iter().map(|file| file.display().to_string());
            answer.insert("attached", Value::array(files));
        }
        Err(why) => {
            ui::note(&format!(
                "cannot tell whether signatures are attached: {why}"
            ));
            answer.insert("attached", "cannot-tell");
        }
    }
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
