//! `runseal demo`: one of everything, made, verified, replayed and tampered with.
//!
//! Every line that begins with `$` is a command line with which this same program is started. So the
//! demo shows what a person would see, and fails if the product fails.

mod files;
mod shell;
mod sign;
mod walk;

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_fs::private::PrivateFolder;

use crate::error::CliError;
use shell::Shell;

/// See it all on built-in examples: make, verify, replay, tamper.
///
/// Takes a few seconds. If the sandbox cannot be set up, it says what was not run and why, and does the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal demo --out demo")]
pub struct Args {
    /// Where to put it: a folder that does not exist or is empty; by default a new temporary one. It stays.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let folder = prepare(args)?;
    let mut shell = Shell::new(&folder)?;
    walk::walk_through(&mut shell)?;
    Ok(Outcome::Valid)
}

fn prepare(args: &Args) -> Result<PathBuf, CliError> {
    let failed = |what: &str, error: &std::io::Error| {
        CliError::new(Outcome::Unreadable, "DEMO", format!("{what}: {error}"))
            .hint("name another folder with --out")
    };
    let folder = match &args.out {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .map_err(|error| failed("the folder cannot be made", &error))?;
            let mut entries = std::fs::read_dir(folder)
                .map_err(|error| failed("the folder cannot be read", &error))?;
            if entries.next().is_some() {
                return Err(CliError::new(
                    Outcome::Unreadable,
                    "EXISTS",
                    "the folder is not empty",
                )
                .at(folder.display().to_string())
                .hint("name a new folder with --out"));
            }
            folder.clone()
        }
        None => PrivateFolder::create("demo")
            .map_err(|error| failed("no temporary folder", &error))?
            .keep(),
    };
    files::write_examples(&folder)
        .map_err(|error| failed("the examples cannot be written", &error))?;
    Ok(folder)
}
