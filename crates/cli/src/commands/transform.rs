//! `runseal transform`: from an intent to a context bundle.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_kernel::context::Declared;
use runseal_kernel::{Bundle, ResultKind, apply_answers, result_value, transform};

use crate::error::CliError;
use crate::intent_input::{internal, read_answers, read_intent};
use crate::output::put_json;
use crate::ui;

/// Make the context bundle of an intent, with any open questions.
///
/// Exit 0: nothing is left to ask (BUNDLE). Exit 1: questions are open (CLARIFY) or the intent is
/// refused (REFUSE). Exit 2: it could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal transform examples/intents/clear.json -o bundle.json")]
pub struct Args {
    /// The intent, a JSON object with goal, constraints and context; `-` means standard input.
    intent: PathBuf,
    /// Answers to open questions: `{"<question id>": "answer"}`.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print {"kernel_result_kind","decision","bundle"} instead of the bundle alone.
    #[arg(long)]
    result: bool,
    /// Write to FILE instead of printing; it appears whole or not at all.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let answers = args.answers.as_deref().map(read_answers).transpose()?;
    let mut declared = Declared::default();
    let made = match read_intent(&args.intent)? {
        Err(refusal) => Err(refusal),
        Ok(intent) => {
            declared = intent.declared().clone();
            let intent = match &answers {
                Some(answers) => apply_answers(&intent, answers).map_err(|e| internal(&e))?,
                None => intent,
            };
            Ok(transform(&intent).map_err(|e| internal(&e))?)
        }
    };
    let output = args.output.as_deref();
    if args.result {
        put_json(&result_value(&made), output)?;
    } else if let Ok(bundle) = &made {
        put_json(bundle.value(), output)?;
    }
    match made {
        Ok(bundle) => {
            tell_misfits(&bundle, &declared);
            if bundle.kind() == ResultKind::Bundle {
                return Ok(Outcome::Valid);
            }
            for (at, question) in bundle.questions.iter().enumerate() {
                ui::tell_line(&format!("{}. {} [{}]", at + 1, question.text, question.id));
            }
            if let Some(failure) = &bundle.failure {
                ui::tell_line(failure);
            }
        }
        Err(refusal) => ui::tell_line(&refusal.to_string()),
    }
    Ok(Outcome::Invalid)
}

/// Reports waivers and findings in the intent's context that match nothing.
fn tell_misfits(bundle: &Bundle, declared: &Declared) {
    let measured = &bundle.root.measured;
    for waiver in measured
        .unused_waivers
        .iter()
        .filter_map(|at| declared.waivers.get(*at))
    {
        ui::tell(&format!(
            "note: the waiver of {} for “{}” fits nothing",
            waiver.rule, waiver.quote
        ));
    }
    for at in &measured.stale {
        ui::tell(&format!(
            "note: context.findings[{at}] quotes words that the intent does not contain"
        ));
    }
}
