//! `runseal log append`: adds an entry for each signed statement.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_trust::log::LogEntry;

use super::checkpoint::sign_state;
use super::{LogPlace, entries_beside, ledger_entries, signable_at};
use crate::error::CliError;
use crate::signing::KeyArgs;
use crate::ui;

/// Append the signed statements next to each PATH to a log, all of them or none.
///
/// What is in the log already is not appended again. An entry is about one thing: a statement that is about
/// something else or names more than PATH, or whose signature is not valid, is refused. With --key, the new
/// state is signed as the log's checkpoint.
///
/// Exit 0: everything is in the log, on disk. Exit 2: nothing was appended.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal log append runs.log RUN_BUNDLE/* --key log.key\n  runseal log append runs.log --ledger ledger.jsonl --key log.key"
)]
pub struct Args {
    /// The log.
    #[arg(value_name = "LOG")]
    log: LogPlace,
    /// What was signed: `<PATH>.intoto.jsonl` has its statements.
    #[arg(required_unless_present = "ledger", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// A ledger of packs: each of its lines becomes an entry, in order.
    #[arg(long, value_name = "FILE")]
    ledger: Vec<PathBuf>,
    /// Also log what is not signed, by its digests alone.
    #[arg(long)]
    unsigned: bool,
    #[command(flatten)]
    key: KeyArgs,
}

fn entries_of(args: &Args, path: &Path) -> Result<Vec<LogEntry>, CliError> {
    let signable = signable_at(path)?;
    let entries = entries_beside(path, &signable)?;
    if !entries.is_empty() {
        return entries.into_iter().collect();
    }
    if !args.unsigned {
        return Err(
            CliError::new(Outcome::Unreadable, "UNSIGNED", "nobody signed it")
                .at(path.display().to_string())
                .hint("`runseal sign` signs it; --unsigned logs its digests alone"),
        );
    }
    Ok(vec![LogEntry::of_target(&signable.target)])
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let fail = |error| args.log.error(&error);
    let key = args.key.open_named()?;
    let mut wanted = Vec::new();
    let mut want = |path: PathBuf, entry: &LogEntry| {
        let bytes = entry.to_bytes();
        let bytes = bytes.map_err(|error| CliError::internal(error.to_string()))?;
        wanted.push((path, bytes));
        Ok::<_, CliError>(())
    };
    for path in paths_of(args) {
        for entry in entries_of(args, path)? {
            want(path.clone(), &entry)?;
        }
    }
    for path in &args.ledger {
        for (run_id, entry) in ledger_entries(path)? {
            let line = format!("{}: {run_id}", path.display());
            want(PathBuf::from(line), &entry)?;
        }
    }
    let mut appender = args.log.open_to_append()?;
    appender.check_last().map_err(fail)?;
    let (paths, bytes): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    let appended = appender.append(&bytes).map_err(fail)?;
    if let Some(key) = &key {
        sign_state(&mut *appender, key, &args.log)?;
    }
    let entries = paths.iter().zip(&appended.places).map(|(path, index)| {
        Value::object([
            ("path", Value::from(path.display().to_string())),
            ("index", Value::from(*index)),
        ])
    });
    let state = appender.log().state();
    let answer = Value::object([
        ("appended", Value::from(appended.added)),
        ("size", Value::from(state.size)),
        ("root", Value::from(state.root.to_string())),
        ("entries", Value::array(entries)),
    ]);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// The paths to log. A shell's `*` also matches the signature files next to bundles; they are
/// skipped.
fn paths_of(args: &Args) -> impl Iterator<Item = &PathBuf> {
    const PASSED_OVER: [&str; 6] = ["jsonl", "sig", "minisig", "tlog-proof", "seed", "chain"];
    args.paths.iter().filter(|path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        args.paths.len() == 1 || !ending.is_some_and(|ending| PASSED_OVER.contains(&ending))
    })
}
