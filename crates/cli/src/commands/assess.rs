//! `runseal assess`: asks a command or a model for the findings that no rule can make.

use std::path::PathBuf;

use runseal_core::verify::Outcome;

use super::assessor::AssessorArgs;
use crate::error::CliError;
use crate::intent_input::read_intent;
use crate::output::{file_named, put_json};
use crate::ui;

/// Ask a model or a program of yours what an intent leaves open.
///
/// Only findings whose quotes are in the intent are kept.
///
/// A model is asked for pairs of constraints that contradict each other. CMD is run by /bin/sh. It reads the intent as JSON and writes
/// {"findings":[{"kind","quotes","message","options"}]}, where kind is contradiction, placeholder, gap or
/// choice, and every quote is in the intent, word for word. What counts is written to context.findings, and
/// `transform` makes questions of it without asking again. `examples/assessors` has examples.
///
/// Exit 0: the assessor was asked. Exit 1: it failed, did not answer in time, or nothing that it said counts. Exit 2: the intent
/// could not be read. No intent is written in the last two cases; what a model answered is recorded all the same.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal assess intent.json --provider anthropic --model-io asked.json -o assessed.json\n  \
                  runseal assess intent.json --provider openai --base-url http://127.0.0.1:8080/v1 --model llama -o assessed.json\n  \
                  runseal assess intent.json --with 'python3 examples/assessors/openai.py' -o assessed.json\n  \
                  runseal assess intent.json --replay asked.json"
)]
pub struct Args {
    /// The intent, a JSON object with goal, constraints and context; `-` means standard input.
    intent: PathBuf,
    #[command(flatten)]
    assessor: AssessorArgs,
    /// Write the intent with its findings to FILE instead of printing it; `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    if args.assessor.prints_recording() && file_named(args.output.as_deref()).is_none() {
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
    let Some(mut assessor) = args.assessor.start()? else {
        return Err(CliError::usage(
            "no assessor is named",
            "give --provider, --with CMD or --replay FILE",
        ));
    };
    let name = assessor.name().to_owned();
    let assessed = assessor.assess(&intent);
    let recorded = assessor.finish();
    let assessed = match (assessed, &recorded) {
        (Ok(assessed), _) => assessed,
        (Err(error), Ok(())) => return Err(error),
        (Err(error), Err(other)) => {
            ui::tell_error(other);
            return Err(error);
        }
    };
    if assessed.coverage.is_some() {
        ui::note(&format!(
            "{} more to ask, on the word of {name}",
            assessed.added
        ));
    }
    put_json(&assessed.intent.to_value(), args.output.as_deref())?;
    // The findings are worth keeping even if their recording is not.
    recorded.map(|()| Outcome::Valid)
}
