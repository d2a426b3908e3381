//! `runseal report`: one page to look at.

use std::path::PathBuf;

use runseal_core::page::render_page;
use runseal_core::verify::Outcome;
use runseal_engine::atomic::write_bytes;

use crate::error::CliError;
use crate::loaded::{load_path, with_page};
use crate::signing::TrustArgs;
use crate::ui;
use crate::verdict::LevelArgs;

/// Write one self-contained HTML page: verdict, picture, contents, files, every rule.
///
/// The page fetches nothing, runs no script and opens from disk. Exit 0: it was written, whatever
/// the verdict. Exit 2: something could not be read or written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal report out/bundle -o report.html")]
pub struct Args {
    /// A folder, file or archive; standard input where `-`.
    path: PathBuf,
    /// Where the page goes; standard output where `-`.
    #[arg(long, short, value_name = "FILE.html")]
    output: PathBuf,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let level = args.level.level();
    let loaded = load_path(&args.path, level)?;
    let trust = args.trust.open()?;
    let html = with_page(&loaded, level, &trust, render_page);
    if args.output.as_os_str() == "-" {
        ui::print_bytes(html.as_bytes())?;
    } else {
        write_bytes(&args.output, html.as_bytes())?;
    }
    Ok(Outcome::Valid)
}
