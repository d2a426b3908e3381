//! Tables of commands: what can be typed, and what is done then.
//!
//! Defining every command to clap takes longer than verifying a small bundle. Where a typed word
//! names a command of a table, only that one is defined; otherwise, as for help and for words
//! that no command has, all of them are.

use clap::ArgMatches;
use clap::error::ErrorKind;
use runseal_core::verify::{Outcome, Surface};

use crate::error::CliError;

/// A command: its name, what can be typed after it, and what it does with that.
pub struct Entry {
    pub name: &'static str,
    /// Adds to the command what can be typed after it; the word that follows is known.
    pub define: fn(clap::Command, Option<&str>) -> clap::Command,
    pub run: fn(&ArgMatches) -> Result<Ran, clap::Error>,
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
            define: |line, _| <$module::Args as clap::Args>::augment_args(line),
            run: |matches| {
                let args = <$module::Args as clap::FromArgMatches>::from_arg_matches(matches)?;
                let surface: fn(&$module::Args) -> runseal_core::verify::Surface = $surface;
                Ok($crate::commands::table::Ran {
                    surface: surface(&args),
                    ended: $module::run(&args),
                })
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

/// The entry of a command that only leads to others: those of the table `COMMANDS` in `$module`,
/// which also says what they are `ABOUT`.
macro_rules! group {
    ($name:literal, $module:ident) => {
        $crate::commands::table::Entry {
            name: $name,
            define: |line, word| {
                let line = line
                    .about($module::ABOUT)
                    .subcommand_required(true)
                    .arg_required_else_help(true);
                $crate::commands::table::define(line, &$module::COMMANDS, word, None)
            },
            run: |matches| $crate::commands::table::run(&$module::COMMANDS, matches),
        }
    };
}
pub(super) use group;

/// The command with this name.
pub fn find<'a>(table: &'a [Entry], name: &str) -> Option<&'a Entry> {
    table.iter().find(|entry| entry.name == name)
}

/// Adds the commands of a table to `line`: the one that `word` names, else all. `next` is the
/// word after that.
pub fn define(
    line: clap::Command,
    table: &[Entry],
    word: Option<&str>,
    next: Option<&str>,
) -> clap::Command {
    let named = word.and_then(|word| find(table, word));
    let (entries, next) = match named {
        Some(entry) => (std::slice::from_ref(entry), next),
        None => (table, None),
    };
    let defined = entries
        .iter()
        .map(|entry| (entry.define)(clap::Command::new(entry.name), next));
    line.subcommands(defined)
}

/// Runs the command of a table that was typed.
pub fn run(table: &[Entry], matches: &ArgMatches) -> Result<Ran, clap::Error> {
    // clap itself refuses a line without a command, before this is reached.
    let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
    let (name, given) = matches.subcommand().ok_or_else(missing)?;
    let entry = find(table, name).ok_or_else(missing)?;
    (entry.run)(given)
}
