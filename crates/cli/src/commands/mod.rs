//! The commands, one file each: an `Args` type that says what can be typed, and `run`.
//!
//! To add one: write the file and add a line to [`COMMANDS`], or to the table of the command that
//! it stands below. Help, man pages and completions follow from the `Args` types.

mod bundle;
mod canon;
mod clarify;
mod completions;
mod demo;
mod diff;
mod engine;
mod evidence;
mod hash;
mod inspect;
mod job;
mod keygen;
mod ledger;
mod man;
mod model_io;
mod pack;
mod patch;
mod proposal;
mod receipt;
mod replay;
mod replay_intent;
mod report;
mod rules;
mod run;
mod runner;
mod seal;
mod table;
mod transform;
mod verify;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface, exit_code};

use crate::error::CliError;
use crate::ui;
use table::{Entry, Ran, command, group};

/// What stands before every command: the tool's name, summary and version, and what applies
/// everywhere.
#[derive(Debug, Parser)]
#[command(
    name = "runseal",
    about = "Makes, seals, verifies and replays run bundles: evidence of what a run took in, did and \
             produced, that others can check offline",
    version,
    propagate_version = true,
    subcommand_required = true
)]
#[command(arg_required_else_help = true, max_term_width = 100)]
struct Everywhere {
    /// Say nothing for people beyond errors: no progress, no hints.
    #[arg(long, short, global = true)]
    quiet: bool,
}

/// Every command, in the order of the help.
static COMMANDS: [Entry; 27] = [
    command!("demo", demo),
    command!("verify", verify, |_| Surface::Verify),
    command!("inspect", inspect),
    command!("diff", diff),
    command!("report", report),
    command!("replay", replay),
    command!("transform", transform),
    command!("clarify", clarify),
    command!("bundle", bundle, |_| Surface::Format(Format::ContextBundle)),
    command!("proposal", proposal, |_| Surface::Format(Format::Proposal)),
    command!("run", run),
    command!("pack", pack, |_| Surface::Format(Format::Pack)),
    command!("canon", canon),
    command!("hash", hash),
    command!("patch", patch, |_| Surface::Format(Format::Patch)),
    command!("model-io", model_io, |_| Surface::Format(Format::ModelIo)),
    command!("runner", runner, |_| Surface::Format(Format::Runner)),
    command!("evidence", evidence, |_| Surface::Format(Format::Evidence)),
    command!("ledger", ledger, |_| Surface::Format(Format::Ledger)),
    group!("job", job),
    group!("receipt", receipt),
    command!("keygen", keygen),
    command!("engine", engine, engine::Args::surface),
    command!("seal", seal),
    command!("rules", rules),
    command!("completions", completions),
    command!("man", man),
];

/// The whole command line as clap knows it.
fn command_line() -> clap::Command {
    table::define(Everywhere::command(), &COMMANDS, None, None)
}

/// Runs what was typed; gives the exit code.
pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments: Vec<_> = arguments.collect();
    let word = |at: usize| arguments.get(at).and_then(|argument| argument.to_str());
    let mut line = table::define(Everywhere::command(), &COMMANDS, word(1), word(2));
    let parsed = line.try_get_matches_from_mut(&arguments);
    // The process is about to do its work and end; taking the definitions apart is in its way.
    std::mem::forget(line);
    let ran = parsed.and_then(|matches| {
        ui::set_quiet(matches.get_flag("quiet"));
        table::run(&COMMANDS, &matches)
    });
    match ran {
        Ok(Ran { surface, ended }) => match ended {
            Ok(outcome) => exit_code(surface, outcome),
            Err(error) => {
                ui::tell_error(&error);
                exit_code(surface, error.outcome)
            }
        },
        Err(error) => refuse(&error, word(1).unwrap_or_default()),
    }
}

/// Shows help and the version as clap has them, and words usage errors as ours.
fn refuse(error: &clap::Error, asked_for: &str) -> u8 {
    let surface = match asked_for {
        "pack" => Surface::Format(Format::Pack),
        "verify" => Surface::Verify,
        _ => Surface::Command,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed standard output is nobody's loss here.
            let _ = error.print();
            return exit_code(surface, Outcome::Valid);
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
        }
        _ => ui::tell(&usage_error(error, asked_for).to_string()),
    }
    exit_code(surface, Outcome::Usage)
}

fn usage_error(error: &clap::Error, asked_for: &str) -> CliError {
    let rendered = error.render().to_string();
    // clap's first paragraph says what is wrong, sometimes over several lines.
    let said = rendered.split("\n\n").next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let message = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = if table::find(&COMMANDS, asked_for).is_some() {
        format!("`runseal {asked_for} --help` shows what it takes")
    } else {
        "`runseal --help` lists the commands".to_owned()
    };
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg]
        .into_iter()
        .find_map(|kind| match error.get(kind)? {
            ContextValue::String(one) => Some(one.clone()),
            ContextValue::Strings(several) => several.first().cloned(),
            _ => None,
        });
    let hint = match suggested {
        Some(suggested) => format!("did you mean `{suggested}`? {help}"),
        None => help,
    };
    CliError::usage(message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent_and_every_command_explains_itself() {
        let mut command = command_line();
        command.clone().debug_assert();
        command.build();
        check_help(&command);
    }

    fn check_help(command: &clap::Command) {
        for sub in command
            .get_subcommands()
            .filter(|sub| sub.get_name() != "help")
        {
            assert!(
                sub.get_about().is_some(),
                "`{}` has no summary",
                sub.get_name()
            );
            if sub.has_subcommands() {
                check_help(sub);
            } else {
                let shown = sub
                    .get_after_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                assert!(
                    shown.contains("Example"),
                    "`{}` shows no example",
                    sub.get_name()
                );
            }
        }
    }
}
