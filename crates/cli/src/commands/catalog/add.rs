//! `runseal catalog add`: verifies bundles and adds the valid ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_fs::survey::Tally;
use runseal_store::catalog::add::{AddOptions, AddReport, Refused, add_paths};
use runseal_store::catalog::{Catalog, Existing, check_tag};

use super::place::CatalogArgs;
use crate::error::CliError;
use crate::places::files_for;
use crate::progress::with_progress;
use crate::signing::TrustArgs;
use crate::ui;

/// Verify everything at and below each PATH, and add what is valid to the catalogue.
///
/// A unit is identified by the digest of its content: the same run under two names, or in a folder and in an
/// archive, is one entry, seen at two places. Adding again changes nothing. What is not valid is named and
/// not added.
///
/// Exit 1: something is not valid, or not trusted though --trust was given. Exit 2: something could not
/// be read, nothing was found, or the catalogue cannot be used.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog add runs/ --tag baseline\n  runseal catalog add evidence.zip 'evidence.zip!/runs/one'"
)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// A tag for everything that is added; may be given several times.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    #[command(flatten)]
    store: CatalogArgs,
}

/// The paths to verify and how to verify them, for `add` and `rebuild`.
#[derive(Debug, clap::Args)]
pub struct SourceArgs {
    /// Bundles, archives, or folders with such things in them; something inside an archive as
    /// `evidence.zip!/run`.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    /// The number of threads that verify; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

impl SourceArgs {
    /// Refuses standard input: the catalogue could not say where it came from.
    pub fn check(&self) -> Result<(), CliError> {
        if self.paths.iter().any(|path| path == Path::new("-")) {
            Err(CliError::usage(
                "standard input has no path for the catalogue to remember",
                "save it to a file and name the file",
            ))
        } else {
            Ok(())
        }
    }

    /// Verifies everything below the paths and adds what is valid.
    pub fn add_to(
        &self,
        catalog: &mut dyn Catalog,
        tags: BTreeSet<String>,
        existing: Existing,
    ) -> Result<AddReport, CliError> {
        let trust = self.trust.open()?;
        let options = AddOptions {
            files: files_for(self.paths.iter().map(PathBuf::as_path)),
            threads: self.jobs.map(usize::from),
            question: trust.question(),
            tags,
            existing,
        };
        let tally = Tally::default();
        let report = with_progress(&tally, || add_paths(catalog, &self.paths, &options, &tally));
        report.map_err(CliError::from)
    }
}

/// Checks the tags given on the command line; duplicates collapse.
pub fn parse_tags(tags: &[String]) -> Result<BTreeSet<String>, CliError> {
    for tag in tags {
        check_tag(tag)?;
    }
    Ok(tags.iter().cloned().collect())
}

/// Reports what was refused on standard error, and returns the summary to print.
pub fn print_report(report: &AddReport) -> Value {
    for refused in &report.refused {
        let code = if refused.is_readable {
            refused.rule.unwrap_or("NOT_ADDED")
        } else {
            "UNREADABLE"
        };
        let error = CliError::new(report.outcome(), code, refused.reason.clone());
        ui::tell_error(&error.at(refused.place.clone()));
    }
    let mut printed = Value::object([("added", report.added.added), ("known", report.added.known)]);
    printed.insert(
        "refused",
        Value::array(report.refused.iter().map(render_refused)),
    );
    printed
}

fn render_refused(refused: &Refused) -> Value {
    let mut printed = Value::object([
        ("path", refused.place.as_str()),
        ("reason", refused.reason.as_str()),
    ]);
    printed.insert("rule", refused.rule);
    printed
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    args.source.check()?;
    let tags = parse_tags(&args.tags)?;
    let mut catalog = args.store.create()?;
    let report = args.source.add_to(&mut *catalog, tags, Existing::Keep)?;
    ui::print_json(&print_report(&report), Dialect::Jcs)?;
    Ok(report.outcome())
}
