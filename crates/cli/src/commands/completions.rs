//! `runseal completions`: a script that teaches a shell the commands.

use std::fmt::Write as _;

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
    let mut line = command_line();
    clap_complete::generate(args.shell, &mut line, "runseal", &mut script);
    if args.shell == clap_complete::Shell::Fish {
        script.extend(third_level(&line).into_bytes());
    }
    ui::print_bytes(&script)?;
    Ok(Outcome::Valid)
}

/// What clap_complete leaves out for fish: the options of commands two levels below a command, such as
/// `job symbol add`.
fn third_level(line: &clap::Command) -> String {
    let mut text = String::new();
    let named = |command: &clap::Command| command.get_name() != "help";
    for first in line.get_subcommands().filter(|first| named(first)) {
        for second in first.get_subcommands().filter(|second| named(second)) {
            for third in second.get_subcommands().filter(|third| named(third)) {
                let place = format!(
                    "__fish_runseal_using_subcommand {}; and __fish_seen_subcommand_from {}; and \
                     __fish_seen_subcommand_from {}",
                    first.get_name(),
                    second.get_name(),
                    third.get_name()
                );
                for option in third.get_opts() {
                    let Some(long) = option.get_long() else {
                        continue;
                    };
                    let help = option.get_help().map(ToString::to_string);
                    let help = help.unwrap_or_default().replace('\\', "\\\\");
                    let help = help.replace('\'', "\\'").replace('\n', " ");
                    // Writing into a string cannot fail.
                    let _ = writeln!(
                        text,
                        "complete -c runseal -n \"{place}\" -l {long} -d '{help}' -r"
                    );
                }
            }
        }
    }
    text
}
