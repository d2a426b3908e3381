//! A command that reads an intent and writes findings, and the recording of that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_fs::input::Input;
use runseal_kernel::Intent;
use runseal_kernel::assess::{Heard, parse_assessment};
use runseal_runs::assess::{Exchange, ask_assessor, record_exchanges, replay_exchange};

use super::assessor_error;
use crate::error::{CliError, Named};
use crate::output::put_json;

/// A command of the user's.
pub struct CommandAssessor {
    command: String,
    name: String,
    patience: Duration,
    recording: Option<PathBuf>,
    exchanges: Vec<Exchange>,
}

impl CommandAssessor {
    pub(super) fn new(command: &str, patience: Duration, recording: Option<PathBuf>) -> Self {
        Self {
            command: command.to_owned(),
            name: program_of(command).to_owned(),
            patience,
            recording,
            exchanges: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn ask(&mut self, intent: &Intent) -> Result<Heard, CliError> {
        let prompt = prompt_of(intent)?;
        let answer = ask_assessor(&self.command, &prompt, self.patience)
            .map_err(|error| assessor_error("ASSESSOR", error.to_string()))?;
        let heard = parse_answer(intent, &answer);
        self.exchanges.push(Exchange { prompt, answer });
        heard
    }

    pub(super) fn finish(self) -> Result<(), CliError> {
        match &self.recording {
            Some(path) if !self.exchanges.is_empty() => {
                put_json(&record_exchanges(&self.name, &self.exchanges), Some(path))
            }
            _ => Ok(()),
        }
    }
}

/// What a command answered when it was recorded.
pub struct RecordedCommand {
    bytes: Vec<u8>,
    shown: String,
    name: String,
}

impl RecordedCommand {
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let input = Input::from_argument(Some(path));
        let options = ReadOptions::default();
        let bytes = input.read(options.limits.max_bytes)?;
        let shown = input.shown();
        let document = parse_document(&bytes, &options).named(&shown)?;
        let name = document.root().get("model_id").and_then(|id| id.as_str());
        let name = name.map_or_else(|| "recording".to_owned(), |name| name.into_owned());
        Ok(Self { bytes, shown, name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn ask(&self, intent: &Intent) -> Result<Heard, CliError> {
        let prompt = prompt_of(intent)?;
        let document = parse_document(&self.bytes, &ReadOptions::default()).named(&self.shown)?;
        let answer = replay_exchange(document.root(), &prompt).ok_or_else(|| {
            assessor_error(
                "MODEL_IO_MISS",
                "the recording has no answer for this intent",
            )
            .at(self.shown.as_str())
        })?;
        parse_answer(intent, &answer)
    }
}

/// What the assessor reads: the canonical intent and one LF.
fn prompt_of(intent: &Intent) -> Result<String, CliError> {
    let mut bytes = canonical_bytes(&intent.to_value(), Dialect::Kernel).named("the intent")?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|_| CliError::internal("canonical JSON is not UTF-8"))
}

/// The program's name for recordings, without its folder, environment variables or arguments: those
/// may contain keys, or differ from machine to machine.
fn program_of(command: &str) -> &str {
    let program = command
        .split_whitespace()
        .find(|word| !word.contains('='))
        .unwrap_or("command");
    program.rsplit('/').next().unwrap_or(program)
}

/// Takes those findings of the answer that quote the intent; the others are told.
fn parse_answer(intent: &Intent, answer: &str) -> Result<Heard, CliError> {
    let document = parse_document(answer.as_bytes(), &ReadOptions::TEXT).map_err(|error| {
        assessor_error(
            "ASSESSOR_ANSWER",
            format!(
                "the answer is not JSON: {} at {}",
                error.kind, error.position
            ),
        )
    })?;
    let value: Value = document.root().to_value();
    let assessment = parse_assessment(&value, intent)
        .map_err(|fault| assessor_error("ASSESSOR_ANSWER", fault))?;
    let left_out = assessment.invented.iter().map(|(at, quote)| {
        format!("findings[{at}] quotes “{quote}”, which the intent does not contain")
    });
    Ok(Heard {
        left_out: left_out.collect(),
        invented: assessment.invented.len(),
        counted: assessment.counted,
    })
}
