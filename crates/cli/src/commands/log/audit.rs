//! `runseal log audit`: gaps, forks and rollbacks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::digest::Digest;
use runseal_core::verify::Outcome;
use runseal_store::log::audit_log;
use runseal_trust::log::tree::leaf_hash;
use runseal_trust::log::{Checkpoint, LogEntry};

use super::verify::PolicyArgs;
use super::{LogPlace, entries_for, ledger_entries, read_note};
use crate::error::CliError;
use crate::ui;

/// The most missing entries that are named one by one.
const MAX_MISSING: usize = 1_000;

/// Compute the whole log again and compare it with checkpoints that were kept elsewhere.
///
/// Names entries that were changed, forks (another root at the same size), rollbacks (fewer
/// entries than a checkpoint has), and with --have the entries whose bundle was not handed over.
///
/// Exit 0: nothing is wrong. Exit 1: something is. Exit 2: the log could not be read.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log audit runs.log last-year.txt --log-key VKEY --have RUN_BUNDLE/*"
)]
pub struct Args {
    /// The log.
    #[arg(value_name = "LOG")]
    log: LogPlace,
    /// Checkpoints that were kept.
    #[arg(value_name = "CHECKPOINT")]
    checkpoints: Vec<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    /// What was handed over: every entry must be of one of these.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    have: Vec<PathBuf>,
    /// A ledger of packs: each of its lines must be logged, in order.
    #[arg(long, value_name = "FILE")]
    ledger: Vec<PathBuf>,
}

/// Ledger lines that are not in the log, or not in the ledger's order.
fn check_lines(
    lines: &[(&PathBuf, String, Option<Digest>)],
    places: &BTreeMap<Digest, u64>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut last: Option<(&PathBuf, u64)> = None;
    for (path, run_id, leaf) in lines {
        let shown = path.display();
        match leaf.and_then(|leaf| places.get(&leaf)) {
            None => faults.push(format!("{shown}: the line of run `{run_id}` is not logged")),
            Some(place) => {
                if last.is_some_and(|(before, at)| before == *path && at > *place) {
                    faults.push(format!(
                        "{shown}: the line of run `{run_id}` was logged before the one above it"
                    ));
                }
                last = Some((path, *place));
            }
        }
    }
    faults
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let fail = |error| args.log.error(&error);
    let policy = args.policy.open()?;
    let log = args.log.open()?;
    let mut faults = Vec::new();
    let mut kept = Vec::new();
    let own = log.signed_checkpoint().map_err(fail)?;
    let own = own.map(|note| ("the log's own checkpoint".to_owned(), note));
    let given = args
        .checkpoints
        .iter()
        .map(|path| Ok((path.display().to_string(), read_note(path)?)));
    let given = given.collect::<Result<Vec<_>, CliError>>()?;
    for (name, note) in own.into_iter().chain(given) {
        if let Some(Err(error)) = policy.as_ref().map(|policy| policy.accept(&note)) {
            faults.push(format!("{name}: {error}"));
            continue;
        }
        match Checkpoint::parse(&note.text) {
            Ok(checkpoint) => kept.push((name, checkpoint)),
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    let mut handed_over: BTreeSet<Digest> = BTreeSet::new();
    let leaf_of = |entry: &LogEntry| entry.to_bytes().ok().map(|bytes| leaf_hash(&bytes));
    for path in &args.have {
        for entry in entries_for(path)? {
            handed_over.extend(leaf_of(&entry));
        }
    }
    let mut lines = Vec::new();
    for path in &args.ledger {
        let entries = ledger_entries(path)?.into_iter();
        lines.extend(entries.map(|(run_id, entry)| (path, run_id, leaf_of(&entry))));
    }
    handed_over.extend(lines.iter().filter_map(|(_, _, leaf)| *leaf));
    let mut places: BTreeMap<Digest, u64> = BTreeMap::new();
    let mut missing = Vec::new();
    let mut gaps = 0u64;
    let report = audit_log(&*log, &kept, &mut |index, entry| {
        let leaf = leaf_of(entry);
        if let Some(leaf) = leaf.filter(|leaf| handed_over.contains(leaf)) {
            places.entry(leaf).or_insert(index);
        }
        if !args.have.is_empty() && !leaf.is_some_and(|leaf| handed_over.contains(&leaf)) {
            gaps += 1;
            if missing.len() < MAX_MISSING {
                missing.push(index);
            }
        }
    });
    let report = report.map_err(fail)?;
    faults.extend(report.faults);
    if gaps > 0 {
        faults.push(format!(
            "gap: {gaps} of {} entries are about nothing that was handed over",
            report.entries
        ));
    }
    faults.extend(check_lines(&lines, &places));
    let is_ok = faults.is_empty();
    let answer = Value::object([
        ("ok", Value::from(is_ok)),
        ("entries", Value::from(report.entries)),
        ("checkpoints", Value::from(kept.len())),
        ("faults", Value::array(faults.iter().map(String::as_str))),
        ("missing", Value::array(missing)),
    ]);
    ui::print_json(&answer, Dialect::Kernel)?;
    for fault in &faults {
        ui::tell_line(fault);
    }
    Ok(if is_ok {
        Outcome::Valid
    } else {
        Outcome::Invalid
    })
}
