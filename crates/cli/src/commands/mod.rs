//! The commands, one file each: an `Args` type that defines its arguments, and `run`.
//!
//! To add one, write its file and add a line to [`Command`] or to the enum of its parent command.
//! Help, man pages and completions follow from the `Args` types.

mod assess;
mod assessor;
mod bundle;
mod canon;
mod catalog;
mod clarify;
mod completions;
mod deferred;
mod demo;
mod diff;
mod engine;
mod evidence;
mod export;
mod extract;
mod groups;
mod hash;
mod inspect;
mod job;
mod keygen;
mod ledger;
mod lint;
mod log;
mod man;
#[cfg(feature = "net")]
mod mcp;
mod model_io;
#[cfg(feature = "net")]
mod models;
mod pack;
mod patch;
mod proposal;
#[cfg(feature = "net")]
mod proxy;
#[cfg(feature = "remote")]
mod pull;
#[cfg(feature = "remote")]
mod push;
#[cfg(feature = "remote")]
mod push_object;
mod queue;
mod receipt;
mod record;
mod record_error;
mod record_streams;
mod record_variables;
mod record_world;
mod redact;
mod reference;
mod replay;
mod replay_intent;
mod replay_job;
mod replay_pack;
mod replay_refused;
mod report;
mod report_site;
mod report_whole;
mod rules;
mod run;
mod runner;
mod sandbox_level;
mod schema;
mod seal;
mod sign;
mod transform;
mod trust;
mod unredact;
mod verify;
mod work;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface, exit_code};

use crate::error::CliError;
use crate::ui;

/// The command line: the options that apply everywhere, and a command.
#[derive(Debug, Parser)]
#[command(
    name = "runseal",
    about = "Makes, seals, verifies and replays run bundles: evidence of what a run took in, did and \
             produced, that others can check offline",
    version,
    propagate_version = true
)]
#[command(max_term_width = 100)]
struct CommandLine {
    /// Print only errors: no progress, no hints.
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

/// Declares the commands in the order of the help. Each is a variant and its module, which has an
/// `Args` type and `run`. If a document fixes the exit codes of a command, the surface follows
/// `=>`, as a function of its arguments.
macro_rules! commands {
    ($(#[$doc:meta])* $visibility:vis enum $name:ident {
        $($(#[$gate:meta])* $variant:ident($module:ident) $(=> $surface:expr)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one, and it is parsed once")]
        $visibility enum $name {
            $($(#[$gate])* $variant($crate::commands::deferred::Deferred<$module::Args>),)*
        }

        impl $name {
            /// Whose exit codes the command has.
            $visibility fn surface(&self) -> runseal_core::verify::Surface {
                match self {
                    $($(#[$gate])* Self::$variant(_args) => {
                        let surface = runseal_core::verify::Surface::Command;
                        $(
                            let _ = surface;
                            let of: fn(&$module::Args) -> runseal_core::verify::Surface = $surface;
                            let surface = of(_args);
                        )?
                        surface
                    })*
                }
            }

            /// Runs the command.
            $visibility fn run(
                &self,
            ) -> Result<runseal_core::verify::Outcome, $crate::error::CliError> {
                match self {
                    $($(#[$gate])* Self::$variant(args) => $module::run(args),)*
                }
            }
        }
    };
}
use commands;

commands! {
    /// Every command.
    enum Command {
        Demo(demo),
        Verify(verify) => |_| Surface::Verify,
        Inspect(inspect),
        Diff(diff),
        Report(report),
        Replay(replay),
        Extract(extract),
        Transform(transform),
        Clarify(clarify),
        Lint(lint),
        Assess(assess),
        Bundle(bundle) => |_| Surface::Format(Format::ContextBundle),
        Proposal(proposal) => |_| Surface::Format(Format::Proposal),
        Run(run),
        Pack(pack) => |_| Surface::Format(Format::Pack),
        Canon(canon),
        Hash(hash),
        Patch(patch) => |_| Surface::Format(Format::Patch),
        ModelIo(model_io) => |_| Surface::Format(Format::ModelIo),
        Runner(runner) => |_| Surface::Format(Format::Runner),
        Evidence(evidence) => |_| Surface::Format(Format::Evidence),
        Ledger(ledger) => |_| Surface::Format(Format::Ledger),
        Job(job) => job::Args::surface,
        Queue(queue) => queue::Args::surface,
        Catalog(catalog) => catalog::Args::surface,
        Work(work),
        Receipt(receipt) => receipt::Args::surface,
        Keygen(keygen),
        Sign(sign),
        Trust(trust) => trust::Args::surface,
        Record(record),
        Log(log) => log::Args::surface,
        Redact(redact),
        Unredact(unredact),
        Engine(engine) => engine::Args::surface,
        Seal(seal),
        #[cfg(feature = "remote")]
        Push(push),
        #[cfg(feature = "remote")]
        Pull(pull),
        #[cfg(feature = "net")]
        Proxy(proxy) => proxy::Args::surface,
        #[cfg(feature = "net")]
        Mcp(mcp) => mcp::Args::surface,
        Export(export) => export::Args::surface,
        Rules(rules),
        Schema(schema),
        Completions(completions),
        Man(man),
    }
}

/// The command line with every command described.
fn command_line() -> clap::Command {
    let mut line = CommandLine::command();
    line.build();
    line
}

/// Runs the command line; returns the exit code.
pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments: Vec<_> = arguments.collect();
    let line = match CommandLine::try_parse_from(&arguments) {
        Ok(line) => line,
        Err(error) => return refuse(&error, &arguments),
    };
    ui::set_quiet(line.quiet);
    let surface = line.command.surface();
    match line.command.run() {
        Ok(outcome) => exit_code(surface, outcome),
        Err(error) => {
            ui::tell_error(&error);
            exit_code(surface, error.outcome)
        }
    }
}

/// The names of the commands that the arguments begin with, outermost first.
fn named_commands(arguments: &[OsString]) -> Vec<String> {
    let words = arguments
        .iter()
        .skip(1)
        .map_while(|argument| argument.to_str());
    let mut command = command_line();
    let mut names = Vec::new();
    for word in words.filter(|word| !word.starts_with('-')) {
        let Some(below) = command.find_subcommand(word) else {
            break;
        };
        names.push(below.get_name().to_owned());
        command = below.clone();
    }
    names
}

/// Prints help with commands in groups, or the version as clap prints it; reports usage errors in
/// our own format.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> u8 {
    if error.kind() == ErrorKind::DisplayVersion {
        // If standard output is closed, nobody wants the text.
        let _ = error.print();
        return exit_code(Surface::Command, Outcome::Valid);
    }
    // clap suggests a command for one that was mistyped, but not behind `help`.
    if let (ErrorKind::InvalidSubcommand, [program, help, asked @ ..]) = (error.kind(), arguments)
        && help == "help"
    {
        let asked: Vec<_> = [program].into_iter().chain(asked).cloned().collect();
        if let Err(error) = CommandLine::try_parse_from(&asked)
            && error.kind() == ErrorKind::InvalidSubcommand
        {
            return refuse(&error, &asked);
        }
    }
    let named = &named_commands(arguments);
    let surface = match named.first().map(String::as_str) {
        Some("pack") => Surface::Format(Format::Pack),
        Some("verify") => Surface::Verify,
        _ => Surface::Command,
    };
    match error.kind() {
        ErrorKind::DisplayHelp => {
            print_help(error, arguments);
            return exit_code(surface, Outcome::Valid);
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if named.is_empty() => {
            ui::tell(&groups::short_overview(&command_line()));
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => print_help(error, arguments),
        _ => ui::tell(&usage_error(error, named).to_string()),
    }
    exit_code(surface, Outcome::Usage)
}

/// Prints the help that was asked for. It lists commands with their summaries, so it needs a command
/// line on which every command is described.
fn print_help(error: &clap::Error, arguments: &[OsString]) {
    let line = groups::with_groups(command_line());
    let again = line.try_get_matches_from(arguments).err();
    // If standard output is closed, nobody wants the text.
    let _ = again.as_ref().unwrap_or(error).print();
}

fn usage_error(error: &clap::Error, named: &[String]) -> CliError {
    let rendered = error.render().to_string();
    // clap's first paragraph says what is wrong, sometimes over several lines.
    let said = rendered.split("\n\n").next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let message = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks_command = matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument
    );
    let help = if named.is_empty() {
        "`runseal --help` lists the commands".to_owned()
    } else if named == ["record"] && lacks_command {
        "the command comes after `--`: `runseal record -- python3 analyse.py`".to_owned()
    } else {
        format!("`runseal {} --help` shows what it takes", named.join(" "))
    };
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg]
        .into_iter()
        .find_map(|kind| match error.get(kind)? {
            ContextValue::String(one) => Some(one.clone()),
            // The most similar one comes last.
            ContextValue::Strings(several) => several.last().cloned(),
            _ => None,
        });
    // clap suggests `inspect` for `nope`: what is only a little alike misleads.
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => Some(typed.as_str()),
        _ => None,
    };
    let suggested = suggested.filter(|meant| typed.is_none_or(|typed| is_like(typed, meant)));
    let hint = match suggested {
        Some(suggested) => format!("did you mean `{suggested}`? {help}"),
        None => help,
    };
    CliError::usage(message, hint)
}

/// Whether one word may be a mistyped other: at most every second letter is wrong.
fn is_like(typed: &str, meant: &str) -> bool {
    let meant: Vec<char> = meant.chars().collect();
    // The edits that turn what was typed so far into each beginning of what was meant.
    let mut edits: Vec<usize> = (0..=meant.len()).collect();
    for (row, letter) in typed.chars().enumerate() {
        let mut before = row;
        edits[0] = row + 1;
        for (at, other) in meant.iter().enumerate() {
            let replaced = before + usize::from(letter != *other);
            before = edits[at + 1];
            edits[at + 1] = replaced.min(before + 1).min(edits[at] + 1);
        }
    }
    edits[meant.len()] * 2 <= meant.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent_and_every_command_explains_itself() {
        CommandLine::command().debug_assert();
        check_help(&command_line());
    }

    #[test]
    fn mistyped_commands_and_options_get_the_most_similar_as_a_hint() {
        for (typed, meant) in [
            (["runseal", "vrify", "x"], "`verify`"),
            (["runseal", "verfy", "x"], "`verify`"),
            (["runseal", "inspekt", "x"], "`inspect`"),
            (["runseal", "verify", "--strct"], "`--strict`"),
        ] {
            let error = CommandLine::try_parse_from(typed).unwrap_err();
            let message = usage_error(&error, &[]).to_string();
            assert!(
                message.contains(&format!("did you mean {meant}?")),
                "{message}"
            );
        }
    }

    #[test]
    fn mistyped_command_unlike_any_gets_no_suggestion() {
        for typed in ["nope", "x", "help-me", "frobnicate"] {
            let error = CommandLine::try_parse_from(["runseal", typed]).unwrap_err();
            let message = usage_error(&error, &[]).to_string();
            assert!(!message.contains("did you mean"), "{message}");
        }
        for (typed, meant, like) in [
            ("verify", "verify", true),
            ("vreify", "verify", true),
            ("sing", "sign", true),
            ("", "log", false),
            ("inspect", "in", false),
        ] {
            assert_eq!(is_like(typed, meant), like, "{typed} {meant}");
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
                let name = sub.get_bin_name().unwrap_or_default();
                assert!(shown.contains(name), "no example is one of `{name}`");
            }
        }
    }
}
