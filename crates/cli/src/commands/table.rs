//! Tables of commands: what can be typed, and what is done then.
//!
//! Defining every command to clap takes longer than verifying a small bundle. Where a typed word
//! names a command of a table, only that one is defined; otherwise, as for help and for words
//! that no command has, all of them are.

use clap::ArgMatches;
use clap::error::ErrorKind;
use runseal_core::verify::{Outcome, Surface};

use crate::error::CliError;

/// A command: its name, and what it does.
pub struct Entry {
    pub name: &'static str,
    pub does: Does,
}

/// What a command does.
pub enum Does {
    /// Work of its own: what can be typed after it, and what is done with that.
    Work {
        define: fn(clap::Command) -> clap::Command,
        run: fn(&ArgMatches) -> Result<Ran, clap::Error>,
    },
    /// It leads to the commands of another table.
    Lead {
        about: &'static str,
        table: &'static [Entry],
    },
}

/// How a command ended, and which table its exit code is taken from.
pub struct Ran {
    pub surface: Surface,
    pub ended: Result<Outcome, CliError>,
}

/// The entry of the command in `$module`, which has an `Args` type and `run`. Its exit codes are
/// those of `$surface`.
macro_rules! command {
    ($name:literal, $module:ident, $surface:expr) => {
        $crate::commands::table::Entry {
            name: $name,
            does: $crate::commands::table::Does::Work {
                define: <$module::Args as clap::Args>::augment_args,
                run: |matches| {
                    let args = <$module::Args as clap::FromArgMatches>::from_arg_matches(matches)?;
                    let surface: fn(&$module::Args) -> runseal_core::verify::Surface = $surface;
                    Ok($crate::commands::table::Ran {
                        surface: surface(&args),
                        ended: $module::run(&args),
                    })
                },
            },
        }
    };
    ($name:literal, $module:ident) => {
        $crate::commands::table::command!($name, $module, |_| {
            runseal_core::verify::Surface::Command
        })
    };
}
pub(super) use command;

/// The entry of a command that leads to the table `COMMANDS` in `$module`, which also says what
/// those are `ABOUT`.
macro_rules! group {
    ($name:literal, $module:ident) => {
        $crate::commands::table::Entry {
            name: $name,
            does: $crate::commands::table::Does::Lead {
                about: $module::ABOUT,
                table: &$module::COMMANDS,
            },
        }
    };
}
pub(super) use group;

/// The command that the first word names, and the words after it.
fn find<'w, 't>(table: &'t [Entry], words: &'w [&'w str]) -> Option<(&'t Entry, &'w [&'w str])> {
    let (first, rest) = words.split_first()?;
    let entry = table.iter().find(|entry| entry.name == *first)?;
    Some((entry, rest))
}

/// Adds commands of a table to `line`: the one that `words` begin with, else all.
pub fn define(line: clap::Command, table: &[Entry], words: &[&str]) -> clap::Command {
    let (entries, rest) = match find(table, words) {
        Some((entry, rest)) => (std::slice::from_ref(entry), rest),
        None => (table, &[][..]),
    };
    let defined = entries.iter().map(|entry| {
        let command = clap::Command::new(entry.name);
        match &entry.does {
            Does::Work { define, .. } => define(command),
            Does::Lead { about, table } => {
                let command = command.about(*about).subcommand_required(true);
                define(command.arg_required_else_help(true), table, rest)
            }
        }
    });
    line.subcommands(defined)
}

/// Runs the command of a table that was typed.
pub fn run(table: &[Entry], matches: &ArgMatches) -> Result<Ran, clap::Error> {
    let (name, given) = matches.subcommand().unwrap_or(("", matches));
    match find(table, &[name]).map(|(entry, _)| &entry.does) {
        Some(Does::Work { run, .. }) => run(given),
        Some(Does::Lead { table, .. }) => run(table, given),
        // clap refuses such a line itself, before this is reached.
        None => Err(clap::Error::new(ErrorKind::MissingSubcommand)),
    }
}

/// The names of the commands that `words` begin with, from the outermost on.
pub fn named(table: &[Entry], words: &[&str]) -> Vec<&'static str> {
    match find(table, words) {
        Some((entry, rest)) => {
            let below = match &entry.does {
                Does::Work { .. } => Vec::new(),
                Does::Lead { table, .. } => named(table, rest),
            };
            [vec![entry.name], below].concat()
        }
        None => Vec::new(),
    }
}
