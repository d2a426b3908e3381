//! `runseal log cosign`: a witness says when it saw a checkpoint.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_fs::atomic::write_bytes;
use runseal_fs::input::read_file;
use runseal_store::log::read_log_policy;
use runseal_trust::log::{Checkpoint, ConsistencyProof, KeyKind, NoteKey, sign_cosignature};

use super::read_note;
use crate::clock;
use crate::error::{CliError, Named};
use crate::signing::{KeyArgs, before_1970, trust_time};
use crate::ui;

/// Cosign a checkpoint as a witness, if it only adds to the one that was seen last.
///
/// The file of --last is what this witness saw last. If it exists, --proof must show that the new checkpoint
/// only adds to it; it is replaced by the new one before anything is printed.
///
/// Exit 0: cosigned. Exit 1: it does not add to what was seen last. Exit 2: it could not be read.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log cosign checkpoint.txt --log-key VKEY --as w1 --key w1.key --last seen.txt --proof consistency.txt"
)]
pub struct Args {
    /// The checkpoint.
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,
    /// The log's verifier key, as `log init` prints it.
    #[arg(long, value_name = "VKEY")]
    log_key: String,
    /// The name that this witness signs under.
    #[arg(long = "as", value_name = "NAME")]
    name: String,
    #[command(flatten)]
    key: KeyArgs,
    /// What this witness saw last; made if it is missing.
    #[arg(long, value_name = "FILE")]
    last: PathBuf,
    /// A consistency proof, as `log prove --since` writes it.
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
}

fn refuse(message: &str, place: String) -> CliError {
    CliError::new(Outcome::Invalid, "LOG_FORKED", message)
        .at(place)
        .hint("nothing was cosigned; keep both checkpoints: together they prove what the log did")
}

fn check_last(args: &Args, new: &Checkpoint) -> Result<(), CliError> {
    if !args.last.exists() {
        return Ok(());
    }
    let place = args.checkpoint.display().to_string();
    let last = Checkpoint::parse(&read_note(&args.last)?.text)
        .map_err(|error| refuse(&error.to_string(), args.last.display().to_string()))?;
    if last == *new {
        return Ok(());
    }
    if last.origin != new.origin || new.size <= last.size {
        return Err(refuse("it does not add to what was seen last", place));
    }
    let Some(path) = &args.proof else {
        let hint = "--proof FILE names the proof; `runseal log prove LOG --since` writes it";
        return Err(CliError::usage("a newer checkpoint needs a proof", hint));
    };
    let bytes = read_file(path, 1 << 20)?;
    let proof = ConsistencyProof::parse(&String::from_utf8_lossy(&bytes));
    let shown = proof.and_then(|proof| proof.verify(&last));
    match shown {
        Ok(shown) if shown == *new => Ok(()),
        _ => Err(refuse("the proof does not show that it only adds", place)),
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut note = read_note(&args.checkpoint)?;
    let policy = read_log_policy(None, Some(&args.log_key))
        .named(args.checkpoint.display())?
        .unwrap_or_default();
    let place = args.checkpoint.display().to_string();
    let seen = policy.accept(&note).map_err(|error| {
        CliError::new(Outcome::Invalid, "CHECKPOINT", error.to_string())
            .at(place)
            .hint("nothing was cosigned")
    })?;
    check_last(args, &seen.checkpoint)?;
    let key = args.key.open()?;
    let time = match clock::fixed_seconds()? {
        Some(seconds) => seconds,
        None => trust_time(None)? / 1000,
    };
    let time = u64::try_from(time).map_err(|_| before_1970())?;
    let signature = sign_cosignature(&note.text, &args.name, time, key.signer())?;
    // Write this before printing: a witness that forgets what it cosigned could be made to cosign a
    // fork.
    write_bytes(&args.last, note.to_text().as_bytes())?;
    note.signatures.push(signature);
    ui::print_bytes(note.to_text().as_bytes())?;
    if let Ok(key) = NoteKey::new(&args.name, KeyKind::Cosignature, key.signer().public_key()) {
        ui::tell(&format!("cosigned as {}", key.to_text()));
    }
    Ok(Outcome::Valid)
}
