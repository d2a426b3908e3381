//! `runseal completions`: a script that teaches a shell the commands.

use runseal_core::verify::Outcome;

use super::command_line;
use crate::error::CliError;
use crate::ui;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal completions bash > ~/.local/share/bash-completion/completions/runseal"
)]
pub struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line(), "runseal", &mut script);
    ui::print_bytes(&script)?;
    Ok(Outcome::Valid)
}
