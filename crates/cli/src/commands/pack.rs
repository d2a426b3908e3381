//! `runseal pack verify`: a pack, PK1-PK12 (document 002).

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::formats::pack::{
    PackFiles, PackView, render_unreadable, render_verdict, verify_pack,
};
use runseal_core::source::SourceError;
use runseal_core::verify::{Outcome, render_human};
use runseal_engine::directory::{DirectorySource, RootLink};

use crate::error::CliError;
use crate::ui;
use crate::verdict::StrictArgs;

/// Work with packs, the folders that runs are handed over as.
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
    /// The folder.
    folder: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let PackCommand::Verify(args) = &args.command;
    let shown = args.folder.to_string_lossy();
    let files = DirectorySource::open(&args.folder, RootLink::Refuse)
        .and_then(|source| PackFiles::read(&source));
    let files = match files {
        Ok(files) => files,
        Err(error) => return unreadable(&shown, &error),
    };
    let view = PackView::new(&shown, &files, args.strict.strictness());
    let report = verify_pack(&view);
    ui::print_json(&render_verdict(&view, &report), Dialect::Kernel)?;
    if report.is_valid() {
        return Ok(Outcome::Valid);
    }
    ui::tell(&render_human(&report, &shown));
    Ok(Outcome::Invalid)
}

/// A pack that cannot be read is a verdict too: printed, and told as the error it is.
fn unreadable(shown: &str, error: &SourceError) -> Result<Outcome, CliError> {
    let message = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    ui::print_json(&render_unreadable(shown, &message), Dialect::Kernel)?;
    Err(CliError::from(error))
}
