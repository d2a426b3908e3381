//! `runseal log verify`: checks a proof without the log.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_fs::input::read_file;
use runseal_store::log::read_log_policy;
use runseal_trust::log::tree::leaf_hash;
use runseal_trust::log::{
    Checkpoint, ConsistencyProof, InclusionProof, LogPolicy, ProofError, SignedNote,
};

use super::{entries_for, read_note};
use crate::error::{CliError, Named};
use crate::signing::trust_time;
use crate::ui;

/// Check a proof offline: that it leads to a checkpoint, and that the checkpoint is signed as asked.
///
/// With PATH, that the proof is of a statement signed about it; with --since, that a consistency proof begins
/// at that checkpoint. A proof is valid only with a key or a policy: anyone can write one that leads to their
/// own checkpoint.
///
/// Exit 0: it is valid. Exit 1: it is not. Exit 2: it could not be read.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal log verify run_1.tlog-proof run_1 --log-key 'example.com/runs+1234abcd+AQ...'"
)]
pub struct Args {
    /// The proof.
    #[arg(value_name = "PROOF")]
    proof: PathBuf,
    /// What the proof should be about.
    #[arg(value_name = "PATH", conflicts_with = "since")]
    path: Option<PathBuf>,
    /// The checkpoint that a consistency proof begins at.
    #[arg(long, value_name = "CHECKPOINT")]
    since: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// Who must have signed a checkpoint.
#[derive(Debug, clap::Args)]
pub struct PolicyArgs {
    /// The log's verifier key, as `log init` prints it.
    #[arg(long, value_name = "VKEY", conflicts_with = "log_policy")]
    log_key: Option<String>,
    /// A policy: which log, and which witnesses must have cosigned (docs/log.md).
    #[arg(long, value_name = "FILE")]
    log_policy: Option<PathBuf>,
}

impl PolicyArgs {
    /// Whether anything was demanded.
    pub fn is_given(&self) -> bool {
        self.log_key.is_some() || self.log_policy.is_some()
    }

    /// Reads the policy, if one was given.
    pub fn open(&self) -> Result<Option<LogPolicy>, CliError> {
        let place = self.log_policy.as_deref().unwrap_or(Path::new("--log-key"));
        read_log_policy(self.log_policy.as_deref(), self.log_key.as_deref()).named(place.display())
    }
}

/// Anyone can write a proof that leads to their own checkpoint.
const NO_KEY: &str =
    "who signed the checkpoint was not checked: --log-key or --log-policy says who must";

enum Proof {
    Inclusion(InclusionProof),
    Consistency(ConsistencyProof),
}

impl Proof {
    fn note(&self) -> &SignedNote {
        match self {
            Self::Inclusion(proof) => &proof.checkpoint,
            Self::Consistency(proof) => &proof.checkpoint,
        }
    }
}

fn read_proof(path: &Path) -> Result<Proof, CliError> {
    let text = String::from_utf8(read_file(path, 1 << 20)?).unwrap_or_default();
    let parsed = if InclusionProof::is_one(&text) {
        InclusionProof::parse(&text).map(Proof::Inclusion)
    } else {
        ConsistencyProof::parse(&text).map(Proof::Consistency)
    };
    parsed.map_err(|error| {
        CliError::new(Outcome::Unreadable, "PROOF", error.to_string())
            .at(path.display().to_string())
            .hint("`runseal log prove` writes one")
    })
}

fn check(args: &Args, proof: &Proof) -> Result<Checkpoint, String> {
    let message_of = |error: ProofError| error.to_string();
    match (proof, &args.path, &args.since) {
        (Proof::Inclusion(proof), None, None) => proof.verify_own().map_err(message_of),
        (Proof::Inclusion(proof), Some(path), _) => {
            let entries = entries_for(path).map_err(|error| error.to_string())?;
            let mut answer = Err("no entry is about it".to_owned());
            for entry in entries {
                let bytes = entry.to_bytes().map_err(|error| error.to_string())?;
                answer = proof.verify(&leaf_hash(&bytes)).map_err(message_of);
                if answer.is_ok() {
                    break;
                }
            }
            answer
        }
        (Proof::Consistency(proof), None, Some(since)) => {
            let old = read_note(since).map_err(|error| error.to_string())?;
            let old = Checkpoint::parse(&old.text).map_err(|error| error.to_string())?;
            proof.verify(&old).map_err(message_of)
        }
        (Proof::Inclusion(_), None, Some(_)) => Err("it is a proof of inclusion".to_owned()),
        (Proof::Consistency(_), _, _) => {
            Err("a proof of consistency is checked with --since CHECKPOINT".to_owned())
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let policy = args.policy.open()?;
    let proof = read_proof(&args.proof)?;
    let mut answer = check(args, &proof);
    if policy.is_none() && answer.is_ok() {
        answer = Err(NO_KEY.to_owned());
    }
    let mut signed = Value::Null;
    if let (Ok(_), Some(policy)) = (&answer, &policy) {
        match policy.accept(proof.note()) {
            Ok(seen) => {
                let now = u64::try_from(trust_time(None)? / 1000).unwrap_or_default();
                if seen.seen_by_all().is_some_and(|time| time > now) {
                    ui::tell("a witness cosigned it in the future by this machine's clock");
                }
                let witnesses = seen.witnesses.iter().map(|(name, time)| {
                    Value::object([
                        ("name", Value::from(name.as_str())),
                        ("time", Value::from(*time)),
                    ])
                });
                signed = Value::object([
                    ("log", Value::from(seen.log.as_str())),
                    ("witnesses", Value::array(witnesses)),
                ]);
            }
            Err(error) => answer = Err(error.to_string()),
        }
    }
    let mut shown = Value::object([("ok", answer.is_ok())]);
    shown.insert("signed", signed);
    if let Proof::Inclusion(proof) = &proof {
        shown.insert("index", proof.index);
    }
    let outcome = match answer {
        Ok(checkpoint) => {
            shown.insert("size", checkpoint.size);
            shown.insert("origin", checkpoint.origin);
            Outcome::Valid
        }
        Err(fault) => {
            ui::tell_line(&format!("{}: {fault}", args.proof.display()));
            shown.insert("reason", fault);
            Outcome::Invalid
        }
    };
    ui::print_json(&shown, Dialect::Kernel)?;
    Ok(outcome)
}
