//! Answers whether something is in a log, from a log on this machine or from a proof.

use std::path::Path;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::source::SourceError;
use runseal_core::timestamp::format_utc;
use runseal_core::verify::authenticity::LogNote;
use runseal_survey::signing::AskedLog;
use runseal_trust::dsse::Envelope;
use runseal_trust::log::tree::leaf_hash;
use runseal_trust::log::{InclusionProof, LogEntry, LogPolicy, NoteKey, SignedNote};
use runseal_trust::statement::Target;
use thiserror::Error;

use super::{FolderLog, Log, LogError};
use runseal_fs::input::read_file;

/// The most bytes of a proof or policy.
const MAX_TEXT: u64 = 1 << 20;

/// Why a log cannot be queried.
#[derive(Debug, Error)]
pub enum LogQuestionError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is not a log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It is neither a log nor a proof.
    #[error("{0}")]
    Malformed(String),
}

impl Diagnose for LogQuestionError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Source(error) => error.diagnosis(),
            Self::Log(error) => error.diagnosis(),
            Self::Malformed(_) => Diagnosis::unreadable(self, "LOG")
                .located(Location::Named)
                .hint("docs/log.md says what logs, proofs and policies look like"),
        }
    }
}

fn read_text(path: &Path) -> Result<String, LogQuestionError> {
    let bytes = read_file(path, MAX_TEXT)?;
    String::from_utf8(bytes).map_err(|_| LogQuestionError::Malformed("it is not UTF-8".to_owned()))
}

/// Reads who must have signed a log's checkpoints: a policy file, or a log's key.
///
/// # Errors
/// When it is neither.
pub fn read_log_policy(
    policy: Option<&Path>,
    key: Option<&str>,
) -> Result<Option<LogPolicy>, LogQuestionError> {
    let fail = |error: &dyn std::fmt::Display| LogQuestionError::Malformed(error.to_string());
    match (policy, key) {
        (Some(path), _) => {
            let policy = LogPolicy::parse(&read_text(path)?);
            policy.map(Some).map_err(|error| fail(&error))
        }
        (None, Some(key)) => {
            let key = NoteKey::parse(key).map_err(|error| fail(&error))?;
            Ok(Some(LogPolicy::of_log(key)))
        }
        (None, None) => Ok(None),
    }
}

/// What is queried: a log or a proof.
#[derive(Debug)]
enum Asked {
    Log(Box<dyn Log>),
    Proof(Box<InclusionProof>),
}

/// A log or a proof that was opened.
#[derive(Debug)]
pub struct OpenLog {
    asked: Asked,
    shown: String,
    policy: Option<LogPolicy>,
}

impl AskedLog for OpenLog {
    fn ask(&self, statements: &[&Envelope], target: &Target, now: i64) -> LogNote {
        let entries = statements.iter();
        let entries = entries.filter_map(|envelope| LogEntry::of_envelope(envelope).ok());
        let entries: Vec<_> = entries.chain([LogEntry::of_target(target)]).collect();
        let answer = match &self.asked {
            Asked::Log(log) => self.ask_log(&**log, &entries, now),
            Asked::Proof(proof) => self.ask_proof(proof, &entries, now),
        };
        let (is_included, sentence) = match answer {
            Ok(sentence) => (true, sentence),
            Err(fault) => (false, fault),
        };
        LogNote {
            is_included,
            log: self.shown.clone(),
            sentence,
        }
    }
}

impl OpenLog {
    /// Opens the log (a folder) or proof (a file) at `path`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn open(path: &Path, policy: Option<LogPolicy>) -> Result<Self, LogQuestionError> {
        let asked = if path.is_dir() {
            Asked::Log(Box::new(FolderLog::open(path)?))
        } else {
            let proof = InclusionProof::parse(&read_text(path)?);
            let proof = proof.map_err(|error| LogQuestionError::Malformed(error.to_string()))?;
            Asked::Proof(Box::new(proof))
        };
        Ok(Self {
            asked,
            shown: path.display().to_string(),
            policy,
        })
    }

    /// Queries a log that is stored elsewhere; `shown` is its name in messages.
    pub fn of_log(log: Box<dyn Log>, shown: String, policy: Option<LogPolicy>) -> Self {
        Self {
            asked: Asked::Log(log),
            shown,
            policy,
        }
    }

    fn ask_proof(
        &self,
        proof: &InclusionProof,
        entries: &[LogEntry],
        now: i64,
    ) -> Result<String, String> {
        let mut fault = "there is nothing that could have an entry".to_owned();
        for entry in entries {
            let bytes = entry.to_bytes().map_err(|error| error.to_string())?;
            match proof.verify(&leaf_hash(&bytes)) {
                Ok(_) => return self.as_of(proof.index, &proof.checkpoint, now),
                Err(error) => fault = format!("the proof is of something else: {error}"),
            }
        }
        Err(fault)
    }

    fn ask_log(&self, log: &dyn Log, entries: &[LogEntry], now: i64) -> Result<String, String> {
        let message_of = |error: LogError| error.to_string();
        let mut wanted = std::collections::BTreeSet::new();
        for entry in entries {
            let bytes = entry.to_bytes().map_err(|error| error.to_string())?;
            wanted.insert(leaf_hash(&bytes));
        }
        let found = log.find(&wanted).map_err(message_of)?;
        let Some((leaf, index)) = found.into_iter().min_by_key(|(_, index)| *index) else {
            return Err(format!("not among its {} entries", log.size()));
        };
        let note = log.signed_checkpoint().map_err(message_of)?;
        let Some(note) = note else {
            return Err(format!(
                "entry {index}, but no checkpoint of the log is signed"
            ));
        };
        let checkpoint = runseal_trust::log::Checkpoint::parse(&note.text);
        let checkpoint = checkpoint.map_err(|error| error.to_string())?;
        if index >= checkpoint.size {
            return Err(format!(
                "entry {index}, beyond the newest signed checkpoint of {} entries",
                checkpoint.size
            ));
        }
        if !log.agrees_with(&checkpoint).map_err(message_of)? {
            return Err("the log's signed checkpoint does not match its tree".to_owned());
        }
        let path = log
            .prove_inclusion(index, checkpoint.size)
            .map_err(message_of)?;
        let proof = InclusionProof {
            entry: None,
            index,
            path,
            checkpoint: note,
        };
        proof.verify(&leaf).map_err(|error| error.to_string())?;
        self.as_of(index, &proof.checkpoint, now)
    }

    /// Returns which entry it is, as of when, and by whose word.
    fn as_of(&self, index: u64, note: &SignedNote, now: i64) -> Result<String, String> {
        let Some(policy) = &self.policy else {
            let checkpoint = runseal_trust::log::Checkpoint::parse(&note.text);
            let checkpoint = checkpoint.map_err(|error| error.to_string())?;
            return Err(format!(
                "entry {index} of {} in `{}`, not checked against a key: --log-key or --log-policy \
                 says who must have signed",
                checkpoint.size,
                checkpoint.origin.escape_debug()
            ));
        };
        let seen = policy.accept(note).map_err(|error| error.to_string())?;
        let when = match seen.seen_by_all() {
            Some(time) => {
                let time = i64::try_from(time).unwrap_or(i64::MAX).saturating_mul(1000);
                let names: Vec<_> = seen.witnesses.iter().map(|(name, _)| &**name).collect();
                let date =
                    format_utc(time).ok_or("a witness cosigned at a time beyond the calendar")?;
                let doubt = if time > now {
                    ", which is in the future by this machine's clock"
                } else {
                    ""
                };
                format!(", as of {date} by {}{doubt}", names.join(", "))
            }
            None => String::new(),
        };
        Ok(format!(
            "entry {index} of {} in `{}`{when}",
            seen.checkpoint.size,
            seen.log.escape_debug()
        ))
    }
}
