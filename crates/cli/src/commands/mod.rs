//! The commands, one file each: an `Args` type that says what can be typed, and `run`.
//!
//! To add one: write the file, add a variant to [`Command`] and a line to each of its two
//! matches. Help, man pages and completions follow from the `Args` types.

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
mod transform;
mod verify;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface, exit_code};

use crate::error::CliError;
use crate::ui;

/// Makes, seals, verifies and replays run bundles: evidence of what a run took in, did and
/// produced, that others can check offline.
#[derive(Debug, Parser)]
#[command(
    name = "runseal",
    version,
    propagate_version = true,
    subcommand_required = true
)]
#[command(arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    /// Say nothing for people beyond errors: no progress, no hints.
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Verify(verify::Args),
    Inspect(inspect::Args),
    Diff(diff::Args),
    Report(report::Args),
    Replay(replay::Args),
    Transform(transform::Args),
    Clarify(clarify::Args),
    Bundle(bundle::Args),
    Proposal(proposal::Args),
    Run(run::Args),
    Pack(pack::Args),
    Canon(canon::Args),
    Hash(hash::Args),
    Patch(patch::Args),
    #[command(name = "model-io")]
    ModelIo(model_io::Args),
    Runner(runner::Args),
    Evidence(evidence::Args),
    Ledger(ledger::Args),
    Job(job::Args),
    Receipt(receipt::Args),
    Keygen(keygen::Args),
    Engine(engine::Args),
    Seal(seal::Args),
    Rules(rules::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    fn surface(&self) -> Surface {
        match self {
            Self::Verify(_) => Surface::Verify,
            Self::Engine(args) => args.surface(),
            Self::Patch(_) => Surface::Format(Format::Patch),
            Self::ModelIo(_) => Surface::Format(Format::ModelIo),
            Self::Runner(_) => Surface::Format(Format::Runner),
            Self::Evidence(_) => Surface::Format(Format::Evidence),
            Self::Ledger(_) => Surface::Format(Format::Ledger),
            Self::Proposal(_) => Surface::Format(Format::Proposal),
            Self::Pack(_) => Surface::Format(Format::Pack),
            Self::Bundle(_) => Surface::Format(Format::ContextBundle),
            Self::Job(args) => args.surface(),
            Self::Receipt(_) => Surface::Format(Format::Receipt),
            Self::Transform(_)
            | Self::Demo(_)
            | Self::Inspect(_)
            | Self::Diff(_)
            | Self::Report(_)
            | Self::Run(_)
            | Self::Replay(_)
            | Self::Seal(_)
            | Self::Clarify(_)
            | Self::Canon(_)
            | Self::Hash(_)
            | Self::Keygen(_)
            | Self::Rules(_)
            | Self::Completions(_)
            | Self::Man(_) => Surface::Command,
        }
    }

    fn run(&self) -> Result<Outcome, CliError> {
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Inspect(args) => inspect::run(args),
            Self::Diff(args) => diff::run(args),
            Self::Report(args) => report::run(args),
            Self::Replay(args) => replay::run(args),
            Self::Transform(args) => transform::run(args),
            Self::Clarify(args) => clarify::run(args),
            Self::Bundle(args) => bundle::run(args),
            Self::Canon(args) => canon::run(args),
            Self::Hash(args) => hash::run(args),
            Self::Patch(args) => patch::run(args),
            Self::ModelIo(args) => model_io::run(args),
            Self::Runner(args) => runner::run(args),
            Self::Evidence(args) => evidence::run(args),
            Self::Ledger(args) => ledger::run(args),
            Self::Proposal(args) => proposal::run(args),
            Self::Run(args) => run::run(args),
            Self::Pack(args) => pack::run(args),
            Self::Job(args) => job::run(args),
            Self::Receipt(args) => receipt::run(args),
            Self::Keygen(args) => keygen::run(args),
            Self::Engine(args) => engine::run(args),
            Self::Seal(args) => seal::run(args),
            Self::Rules(args) => rules::run(args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }
    }
}

/// The whole command line as clap knows it.
fn command_line() -> clap::Command {
    Cli::command()
}

/// Runs what was typed; gives the exit code.
pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments: Vec<_> = arguments.collect();
    let parsed = command_line()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &arguments),
    };
    ui::set_quiet(cli.quiet);
    let surface = cli.command.surface();
    match cli.command.run() {
        Ok(outcome) => exit_code(surface, outcome),
        Err(error) => {
            let text = error.to_string();
            let shown = if cli.quiet {
                text.lines().next().unwrap_or_default()
            } else {
                &text
            };
            ui::tell(shown);
            exit_code(surface, error.outcome)
        }
    }
}

/// Shows help and the version as clap has them, and words usage errors as ours.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> u8 {
    let asked_for = arguments
        .get(1)
        .and_then(|argument| argument.to_str())
        .unwrap_or_default();
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
    let known = command_line().find_subcommand(asked_for).is_some();
    let help = if known {
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
