//! `runseal pack verify`: a pack, PK1-PK12 (document 002).

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::formats::pack::{PackView, render_unreadable, render_verdict, verify_pack};
use runseal_core::source::SourceError;
use runseal_core::verify::{Outcome, render_human, violations_json};
use runseal_survey::read_pack;

use crate::error::CliError;
use crate::places::files_for;
use crate::ui;
use crate::verdict::{StrictArgs, finding_line};

/// Work with packs, the folders in which runs are handed over.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: PackCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PackCommand {
    Verify(VerifyArgs),
}

/// Verify a pack.
///
/// Exit 0: valid. Exit 1: invalid. Exit 2: it could not be read. Exit 3: wrong arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal pack verify out/pack --strict")]
struct VerifyArgs {
    /// The folder, or an archive of it.
    folder: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let PackCommand::Verify(args) = &args.command;
    let shown = args.folder.to_string_lossy();
    let (files, wrapping) = match read_pack(files_for([args.folder.as_path()]), &args.folder) {
        Ok(read) => read,
        Err(error) => return unreadable(&shown, &error),
    };
    let view = PackView::new(&shown, &files, args.strict.level());
    let report = verify_pack(&view);
    let mut verdict = render_verdict(&view, &report);
    if !wrapping.is_empty() {
        // A fault of the archive is a fault of the pack.
        let mut findings = [report.findings(), &wrapping].concat();
        findings.sort();
        verdict.insert("ok", false);
        verdict.insert("violations", violations_json(&findings));
    }
    ui::print_json(&verdict, Dialect::Kernel)?;
    for finding in &wrapping {
        ui::tell(&finding_line(finding));
    }
    if report.is_valid() && wrapping.is_empty() {
        return Ok(Outcome::Valid);
    }
    if !report.is_valid() {
        ui::tell(&render_human(&report, &shown));
    }
    Ok(Outcome::Invalid)
}

/// Reports a pack that cannot be read: as a verdict on standard output, and as an error.
fn unreadable(shown: &str, error: &SourceError) -> Result<Outcome, CliError> {
    let message = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    ui::print_json(&render_unreadable(shown, &message), Dialect::Kernel)?;
    Err(CliError::from(error))
}
