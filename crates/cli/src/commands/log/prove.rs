//! `runseal log prove`: proves that something is in a log, or that the log only grew.

use std::path::{Path, PathBuf};

use runseal_core::verify::Outcome;
use runseal_fs::atomic::{Readers, write_bytes, write_derived};
use runseal_store::log::{Log, LogError};
use runseal_trust::log::tree::leaf_hash;
use runseal_trust::log::{Checkpoint, ConsistencyProof, InclusionProof, ProofError, SignedNote};

use super::{LogPlace, entries_for, read_note};
use crate::error::CliError;
use crate::inside::refuse_inside;
use crate::ui;

/// Prove that what is at PATH is in the log (inclusion), or that the log only grew (--since).
///
/// The proof leads to the log's newest signed checkpoint. The proof of a PATH is written next to it, as
/// `<PATH>.tlog-proof`, and carries its entry; others are printed.
///
/// Exit 0: proved. Exit 1: it is not in the log, or the log did not only grow. Exit 2: the log could not be
/// read, or is damaged.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log prove runs.log RUN_BUNDLE/run_1\n  runseal log prove runs.log --since old-checkpoint.txt"
)]
pub struct Args {
    /// The log.
    #[arg(value_name = "LOG")]
    log: LogPlace,
    /// What to prove is in the log.
    #[arg(value_name = "PATH", required_unless_present_any = ["index", "since"])]
    path: Option<PathBuf>,
    /// The entry at this place, counted from 0.
    #[arg(long, value_name = "N", conflicts_with = "path")]
    index: Option<u64>,
    /// Prove that the log has only grown since this checkpoint.
    #[arg(long, value_name = "CHECKPOINT", conflicts_with_all = ["path", "index"])]
    since: Option<PathBuf>,
    /// The proof's file; `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn find_entry(args: &Args, log: &dyn Log, path: &Path) -> Result<u64, CliError> {
    let entries = entries_for(path)?;
    let leaves = entries
        .iter()
        .filter_map(|entry| Some(leaf_hash(&entry.to_bytes().ok()?)))
        .collect();
    let found = log.find(&leaves).map_err(|error| args.log.error(&error))?;
    found.into_values().min().ok_or_else(|| {
        let message = format!("it is not among the log's {} entries", log.size());
        CliError::new(Outcome::Invalid, "NOT_LOGGED", message)
            .at(path.display().to_string())
            .hint("`runseal log append` appends it")
    })
}

fn prove_growth(args: &Args, log: &dyn Log, since: &Path) -> Result<String, CliError> {
    let (note, new) = newest(args, log)?;
    let old = Checkpoint::parse(&read_note(since)?.text);
    let old = old.map_err(|error| {
        CliError::new(Outcome::Unreadable, "CHECKPOINT", error.to_string())
            .at(since.display().to_string())
    })?;
    let fail = |error| args.log.error(&error);
    if old.size > new.size || !log.agrees_with(&old).map_err(fail)? {
        let message = if old.size > new.size {
            "the checkpoint is from the log's future: the log was rolled back, or is another"
        } else {
            "the log is not a continuation of the checkpoint"
        };
        return Err(CliError::new(Outcome::Invalid, "LOG_FORKED", message)
            .at(since.display().to_string())
            .hint("`runseal log audit` says more; keep the checkpoint"));
    }
    let path = log.prove_consistency(old.size, new.size).map_err(fail)?;
    let proof = ConsistencyProof {
        old: old.size,
        path,
        checkpoint: note,
    };
    proof.verify(&old).map_err(|error| damaged(args, &error))?;
    Ok(proof.to_text())
}

/// The error for a proof that leads nowhere, which is the log's fault. It is not written.
fn damaged(args: &Args, error: &ProofError) -> CliError {
    let message = format!("the log's content gives no proof: {error}");
    CliError::new(Outcome::Unreadable, "LOG_DAMAGED", message)
        .at(args.log.to_string())
        .hint("nothing was written; `runseal log audit` says what is wrong")
}

/// The newest signed checkpoint, which must be of this tree.
fn newest(args: &Args, log: &dyn Log) -> Result<(SignedNote, Checkpoint), CliError> {
    let fail = |error| args.log.error(&error);
    let note = log.signed_checkpoint().map_err(fail)?;
    let parsed = note.and_then(|note| {
        let checkpoint = Checkpoint::parse(&note.text).ok()?;
        Some((note, checkpoint))
    });
    let Some((note, checkpoint)) = parsed else {
        return Err(CliError::new(
            Outcome::Unreadable,
            "CHECKPOINT",
            "no checkpoint of the log is signed",
        )
        .at(args.log.to_string())
        .hint("`runseal log checkpoint LOG --key FILE` signs one"));
    };
    if log.agrees_with(&checkpoint).map_err(fail)? {
        Ok((note, checkpoint))
    } else {
        Err(fail(LogError::Forked(checkpoint.size)))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let fail = |error| args.log.error(&error);
    let log = args.log.open()?;
    let text = match &args.since {
        Some(since) => prove_growth(args, &*log, since)?,
        None => {
            let index = match (&args.path, args.index) {
                (Some(path), _) => find_entry(args, &*log, path)?,
                (None, index) => index.unwrap_or_default(),
            };
            let (note, checkpoint) = newest(args, &*log)?;
            if index >= checkpoint.size {
                let message = format!(
                    "entry {index} is beyond the newest signed checkpoint of {} entries",
                    checkpoint.size
                );
                return Err(CliError::new(Outcome::Unreadable, "CHECKPOINT", message)
                    .at(args.log.to_string())
                    .hint("`runseal log checkpoint LOG --key FILE` signs a newer one"));
            }
            let proof = InclusionProof {
                entry: Some(log.entry(index).map_err(fail)?),
                index,
                path: log.prove_inclusion(index, checkpoint.size).map_err(fail)?,
                checkpoint: note,
            };
            proof.verify_own().map_err(|error| damaged(args, &error))?;
            proof.to_text()
        }
    };
    let beside = args.path.as_ref().map(|path| {
        let mut name = path.components().as_path().as_os_str().to_owned();
        name.push(".tlog-proof");
        PathBuf::from(name)
    });
    let is_named = args.output.is_some();
    match args.output.clone().or(beside) {
        Some(path) if path.as_os_str() != "-" => {
            refuse_inside(&path)?;
            if is_named {
                write_bytes(&path, text.as_bytes())?
            } else {
                write_derived(&path, text.as_bytes(), Readers::AsUmask)?
            }
            ui::print_line(&path.display().to_string())?;
        }
        _ => ui::print_bytes(text.as_bytes())?,
    }
    Ok(Outcome::Valid)
}
