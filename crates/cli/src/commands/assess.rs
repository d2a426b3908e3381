//! `runseal assess`: asks a command for the findings that no rule can make.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_kernel::assess::{parse_assessment, with_findings};
use runseal_kernel::{Intent, Refusal};
use runseal_runs::assess::{ask_assessor, record_exchange, replay_exchange};

use crate::error::{CliError, Named};
use crate::intent_input::read_intent;
use crate::output::{file_named, put_json};
use crate::ui;

/// Ask an assessor of your own what an intent leaves open.
///
/// Only findings whose quotes are in the intent are kept.
///
/// CMD is run by /bin/sh. It reads the intent as JSON and writes
/// {"findings":[{"kind","quotes","message","options"}]}, where kind is contradiction, placeholder, gap or
/// choice, and every quote is in the intent, word for word. What counts is written to context.findings, and
/// `transform` makes questions of it without asking again. `examples/assessors` has examples.
///
/// Exit 0: the assessor was asked. Exit 1: it failed, did not answer in time, or nothing that it said counts. Exit 2: the intent
/// could not be read. Nothing is written in the last two cases.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal assess intent.json --with 'python3 examples/assessors/openai.py' -o assessed.json\n  \
                  runseal assess intent.json --replay exchange.json"
)]
pub struct Args {
    /// The intent, a JSON object with goal, constraints and context; `-` means standard input.
    intent: PathBuf,
    /// The command that reads the intent and writes findings.
    #[arg(long, value_name = "CMD", required_unless_present = "replay")]
    with: Option<String>,
    /// Take the answer from a recording of --model-io instead of running a command.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["with", "model_io"])]
    replay: Option<PathBuf>,
    /// Write the intent with its findings to FILE instead of printing it; `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record the exchange as model I/O; `-` means standard output, if -o names a file.
    #[arg(long, value_name = "FILE")]
    model_io: Option<PathBuf>,
    /// How long the command may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let prints_exchange = args.model_io.is_some() && file_named(args.model_io.as_deref()).is_none();
    if prints_exchange && file_named(args.output.as_deref()).is_none() {
        return Err(CliError::usage(
            "the exchange and the intent cannot both go to standard output",
            "name a file for one of them: -o FILE or --model-io FILE",
        ));
    }
    let intent = match read_intent(&args.intent)? {
        Ok(intent) => intent,
        Err(refusal) => {
            ui::tell(&refusal.to_string());
            return Ok(Outcome::Invalid);
        }
    };
    let prompt = prompt_of(&intent)?;
    let answer = match (&args.with, &args.replay) {
        (_, Some(recording)) => read_recorded(recording, &prompt)?,
        (Some(command), None) => ask_assessor(command, &prompt, Duration::from_secs(args.timeout))
            .map_err(|error| assessor_error("ASSESSOR", error.to_string()))?,
        (None, None) => {
            return Err(CliError::usage(
                "no assessor is named",
                "give --with CMD or --replay FILE",
            ));
        }
    };
    let assessed = take_findings(&intent, &answer)?;
    if let (Some(path), Some(command)) = (&args.model_io, &args.with) {
        put_json(
            &record_exchange(program_of(command), &prompt, &answer),
            Some(path),
        )?;
    }
    put_json(&assessed.to_value(), args.output.as_deref())?;
    Ok(Outcome::Valid)
}

fn assessor_error(code: &'static str, message: impl Into<String>) -> CliError {
    CliError::new(Outcome::Invalid, code, message)
        .hint("nothing was written; docs/kernel.md says what an assessor reads and writes")
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

fn read_recorded(path: &Path, prompt: &str) -> Result<String, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    replay_exchange(document.root(), prompt).ok_or_else(|| {
        assessor_error(
            "MODEL_IO_MISS",
            "the recording has no answer for this intent",
        )
        .at(input.shown())
    })
}

/// The intent with those findings of the answer that quote it; invented quotes are reported and
/// left out.
fn take_findings(intent: &Intent, answer: &str) -> Result<Intent, CliError> {
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
    for (at, quote) in &assessment.invented {
        ui::tell(&format!(
            "ASSESSOR_QUOTE: findings[{at}] quotes “{quote}”, which the intent does not contain; left out"
        ));
    }
    if assessment.counted.is_empty() && !assessment.invented.is_empty() {
        return Err(assessor_error(
            "ASSESSOR_QUOTE",
            "every finding quotes words that the intent does not contain",
        ));
    }
    with_findings(intent, &assessment.counted)
        .map_err(|refusal: Refusal| CliError::internal(refusal.to_string()))
}
