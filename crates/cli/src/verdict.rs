//! Verifies one JSON document and prints the verdict, for all single-document verifiers.

use std::path::Path;

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, parse_document};
use runseal_core::verify::{Finding, Level, Outcome, Report, one_line, render_human, render_json};
use runseal_fs::input::Input;

use crate::error::{CliError, Named};
use crate::ui;

/// `--strict`, for commands of a single format.
#[derive(Debug, clap::Args)]
pub struct StrictArgs {
    /// Check integrity and form as well: not only what the document demands.
    #[arg(long)]
    strict: bool,
}

impl StrictArgs {
    /// The level that `--strict` selects.
    pub fn level(&self) -> Level {
        if self.strict {
            Level::Form
        } else {
            Level::Document
        }
    }
}

/// `--strict` and `--lenient`, for commands that take any format.
#[derive(Debug, clap::Args)]
pub struct LevelArgs {
    /// Check form as well: whether everything is stored canonically, with nothing unknown in a job bundle.
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,
    /// Check only what the documents demand, not whether ids, hashes and statements agree.
    #[arg(long)]
    lenient: bool,
}

impl LevelArgs {
    /// The level that the options select.
    pub fn level(&self) -> Level {
        match (self.strict, self.lenient) {
            (true, _) => Level::Form,
            (false, true) => Level::Document,
            (false, false) => Level::Integrity,
        }
    }
}

/// Reads and verifies the document at `path`, prints the verdict as JSON, and reports findings on
/// standard error. A document that cannot be read or parsed prints nothing.
pub fn verify_document(
    path: &Path,
    verify: impl FnOnce(Node<'_>) -> Report,
) -> Result<Outcome, CliError> {
    verify_document_with(path, verify, |_| Vec::new())
}

/// Like [`verify_document`], with further members for a valid verdict.
pub fn verify_document_with(
    path: &Path,
    verify: impl FnOnce(Node<'_>) -> Report,
    besides: impl FnOnce(Node<'_>) -> Vec<(&'static str, Value)>,
) -> Result<Outcome, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    let report = verify(document.root());
    if !report.is_valid() {
        return print_verdict(&report, &input.shown());
    }
    let mut verdict = render_json(&report);
    for (name, value) in besides(document.root()) {
        verdict.insert(name, value);
    }
    ui::print_json(&verdict, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// Prints a report as JSON; if it is not valid, also reports the findings on standard error.
pub fn print_verdict(report: &Report, shown: &str) -> Result<Outcome, CliError> {
    ui::print_json(&render_json(report), Dialect::Kernel)?;
    if report.is_valid() {
        return Ok(Outcome::Valid);
    }
    ui::tell(&render_human(report, shown));
    Ok(Outcome::Invalid)
}

/// A finding on one line.
pub fn finding_line(finding: &Finding) -> String {
    let place = finding.path().map(|path| format!("{path}: "));
    let place = place.unwrap_or_default();
    one_line(&format!("  {} {place}{}", finding.rule_id, finding.message))
}
