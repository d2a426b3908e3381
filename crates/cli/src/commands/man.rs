//! `runseal man`: the manual pages, one per command, for `man` or as Markdown for the
//! documentation's reference.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use runseal_core::verify::Outcome;
use runseal_fs::atomic::{self, WriteError};

use super::{CommandLine, reference};
use crate::error::CliError;
use crate::ui;

/// Write the manual pages into a folder, one for each command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal man ~/.local/share/man/man1")]
pub struct Args {
    /// The folder; made if it does not exist.
    folder: PathBuf,
    /// How pages are written: for `man`, or as Markdown with an index.
    #[arg(long, value_enum, default_value = "roff")]
    format: PageFormat,
}

/// What pages are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PageFormat {
    Roff,
    Markdown,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    std::fs::create_dir_all(&args.folder).map_err(|source| WriteError {
        path: args.folder.clone(),
        source,
    })?;
    let mut command = CommandLine::command().disable_help_subcommand(true);
    command.build();
    let count = match args.format {
        PageFormat::Roff => write_pages(&command, &args.folder)?,
        PageFormat::Markdown => write_reference(&command, &args.folder)?,
    };
    ui::tell(&format!(
        "{count} manual pages written to {}",
        args.folder.display()
    ));
    Ok(Outcome::Valid)
}

fn write_reference(command: &clap::Command, folder: &Path) -> Result<usize, CliError> {
    let pages = reference::pages(command);
    for page in &pages {
        atomic::write_bytes(&folder.join(&page.name), page.text.as_bytes())?;
    }
    Ok(pages.len())
}

fn write_pages(command: &clap::Command, folder: &Path) -> Result<usize, CliError> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    // No date: it would be that of the build, and pages of the same version must be the same
    // everywhere. The synopsis is that of `--help`: clap_mangen's own leaves out what options take.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    clap_mangen::Man::new(command.clone().override_usage(usage))
        .date("")
        .source(concat!("runseal ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)
        .map_err(|source| WriteError {
            path: path.clone(),
            source,
        })?;
    atomic::write_bytes(&path, &page)?;
    let mut count = 1;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        count += write_pages(sub, folder)?;
    }
    Ok(count)
}
