//! `runseal job index`: sections of text files.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_store::job::index::index_paths;

use super::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Index text files: the whole of each, and in Markdown each heading's section.
///
/// Files that .gitignore names and hidden files are left out. Only files that changed since the
/// last time are read again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job index docs README.md")]
pub struct Args {
    /// Files or folders below the root.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The root that section paths are relative to; by default the folder that contains .runseal, else the
    /// working folder.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut store = args.store.open()?;
    let root = args.store.root(args.root.as_deref());
    let summary = index_paths(&mut *store, &root, &args.paths)?;
    for (path, reason) in &summary.skipped {
        ui::tell_line(&format!("skipped {path}: {reason}"));
    }
    let mut printed = Value::object([
        ("files", summary.files),
        ("sections", summary.sections),
        ("changed", summary.changed),
    ]);
    printed.insert("index_hash", summary.index_hash.to_string().as_str());
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
