//! `runseal verify`: finds out what each path is, and verifies it.
//!
//! A format joins by a line in [`verify_one`]; what it is by `runseal_engine::detect`.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::Format;
use runseal_core::source::SourceError;
use runseal_core::verify::{Outcome, Report, render_human};
use runseal_engine::detect::detect;
use runseal_engine::job::verify::{VerifyOptions, verify_job_bundle};
use runseal_engine::run::verify::verify_run_folder;

use super::job::verify::JobsArgs;
use crate::error::CliError;
use crate::ui;
use crate::verdict::{StrictArgs, violations_json};

/// Verify anything: each path is looked at, recognized and checked by its format's rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal verify RUN_BUNDLE/run_1 --strict --format json")]
pub struct Args {
    /// What to verify.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    strict: StrictArgs,
    /// How to print.
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    format: String,
    #[command(flatten)]
    jobs: JobsArgs,
}

/// What became of one path.
struct Checked {
    shown: String,
    format: Option<Format>,
    result: Result<Report, CliError>,
}

impl Checked {
    fn outcome(&self) -> Outcome {
        match &self.result {
            Ok(report) if report.is_valid() => Outcome::Valid,
            Ok(_) => Outcome::Invalid,
            Err(error) => error.outcome,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let options = args.jobs.options(&args.strict);
    let mut checked: Vec<Checked> = args.paths.iter().map(|path| check(path, options)).collect();
    checked.sort_by(|a, b| a.shown.cmp(&b.shown));
    if args.format == "json" {
        ui::print_json(&render_json(&checked), Dialect::Kernel)?;
    }
    for one in &checked {
        match &one.result {
            Ok(report) if args.format == "human" => {
                ui::print_bytes(render_human(report, &one.shown).as_bytes())?;
            }
            Ok(_) => {}
            Err(error) => ui::tell(&error.to_string()),
        }
    }
    // What could not be read weighs more than what is invalid: the highest code counts.
    let worst = [Outcome::Unreadable, Outcome::Invalid];
    let is_there = |wanted: &Outcome| checked.iter().any(|one| one.outcome() == *wanted);
    Ok(worst.into_iter().find(is_there).unwrap_or(Outcome::Valid))
}

fn check(path: &Path, options: VerifyOptions) -> Checked {
    let shown = path.display().to_string();
    match detect(path) {
        Err(error) => Checked {
            shown,
            format: None,
            result: Err(error.into()),
        },
        Ok(format) => Checked {
            result: verify_one(path, format, options),
            shown,
            format,
        },
    }
}

fn verify_one(
    path: &Path,
    format: Option<Format>,
    options: VerifyOptions,
) -> Result<Report, CliError> {
    let read = |report: Result<Report, SourceError>| report.map_err(CliError::from);
    match format {
        Some(Format::RunBundle) => read(verify_run_folder(path, options)),
        Some(Format::JobBundle) => Ok(verify_job_bundle(path, options).report),
        _ => Err(CliError::new(
            Outcome::Unreadable,
            "UNKNOWN_FORMAT",
            "it is none of the formats that can be verified here",
        )
        .at(path.display().to_string())
        .hint("name the folder of a run bundle or of a job bundle; `runseal --help` lists the verifiers of other formats")),
    }
}

fn render_json(checked: &[Checked]) -> Value {
    let is_valid = |one: &&Checked| one.outcome() == Outcome::Valid;
    let valid = checked.iter().filter(is_valid).count();
    let results = checked.iter().map(|one| {
        let violations = match &one.result {
            Ok(report) => violations_json(report.findings()),
            Err(error) => Value::array([Value::object([
                ("rule_id", "IO"),
                (
                    "message",
                    error.to_string().lines().next().unwrap_or_default(),
                ),
            ])]),
        };
        let mut result = Value::object([("path", one.shown.as_str())]);
        result.insert("format", one.format.map(Format::name));
        result.insert("ok", is_valid(&one));
        result.insert("violations", violations);
        result
    });
    let mut printed = Value::object([("ok", valid == checked.len())]);
    printed.insert("checked", checked.len());
    printed.insert("invalid", checked.len() - valid);
    printed.insert("results", Value::array(results));
    printed
}
