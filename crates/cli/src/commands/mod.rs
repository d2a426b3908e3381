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
mod schema;
mod seal;
mod sign;
mod table;
mod transform;
mod trust;
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
static COMMANDS: [Entry; 30] = [
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
    command!("sign", sign),
    group!("trust", trust),
    command!("engine", engine, engine::Args::surface),
    command!("seal", seal),
    command!("rules", rules),
    command!("schema", schema),
    command!("completions", completions),
    command!("man", man),
];

/// The whole command line as clap knows it.
fn command_line() -> clap::Command {
    table::define(Everywhere::command(), &COMMANDS, &[])
}

/// Runs what was typed; gives the exit code.
pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments: Vec<_> = arguments.collect();
    let words: Vec<_> = arguments
        .iter()
        .skip(1)
        .map_while(|argument| argument.to_str())
        .collect();
    let mut line = table::define(Everywhere::command(), &COMMANDS, &words);
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
        Err(error) => refuse(&error, &table::named(&COMMANDS, &words)),
    }
}

/// Shows help and the version as clap has them, and words usage errors as ours.
fn refuse(error: &clap::Error, named: &[&str]) -> u8 {
    let surface = match named.first() {
        Some(&"pack") => Surface::Format(Format::Pack),
        Some(&"verify") => Surface::Verify,
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
        _ => ui::tell(&usage_error(error, named).to_string()),
    }
    exit_code(surface, Outcome::Usage)
}

fn usage_error(error: &clap::Error, named: &[&str]) -> CliError {
    let rendered = error.render().to_string();
    // clap's first paragraph says what is wrong, sometimes over several lines.
    let said = rendered.split("\n\n").next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let message = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = if named.is_empty() {
        "`runseal --help` lists the commands".to_owned()
    } else {
        format!("`runseal {} --help` shows what it takes", named.join(" "))
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

    /// The help of a command and of all below it.
    fn helps(command: &mut clap::Command) -> Vec<String> {
        let mut found = vec![command.render_long_help().to_string()];
        for below in command.get_subcommands_mut() {
            found.extend(helps(below));
        }
        found
    }

    #[test]
    fn command_defined_alone_is_the_same_as_among_all() {
        let mut all = command_line();
        for command in all.get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let mut paths = vec![vec![name.clone()]];
            let below = command.get_subcommands().map(|below| below.get_name());
            paths.extend(below.map(|below| vec![name.clone(), below.to_owned()]));
            for path in paths {
                let words: Vec<_> = path.iter().map(String::as_str).collect();
                let mut alone = table::define(Everywhere::command(), &COMMANDS, &words);
                let mut found = alone.get_subcommands_mut();
                let (first, rest) = (found.next().unwrap(), found.next());
                assert!(rest.is_none(), "{words:?}");
                let pair = match words[1..] {
                    [below] => [&mut *first, &mut *command]
                        .map(|command| helps(command.find_subcommand_mut(below).unwrap())),
                    _ => [helps(first), helps(command)],
                };
                assert_eq!(pair[0], pair[1], "{words:?}");
            }
        }
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
