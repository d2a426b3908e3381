//! `runseal lint`: what the rules find in intents and requirement lists.
//!
//! `source` reads a file as an intent and remembers where each text was; `render` prints the
//! findings.

mod list;
mod render;
mod source;

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::verify::Outcome;
use runseal_kernel::find::{Finding, Origin};
use runseal_kernel::measure::{Measurement, measure};
use runseal_kernel::question::message_of;
use runseal_kernel::rules::Matcher;

use super::assessor::{Assessment, Assessor, AssessorArgs};
use crate::error::CliError;
use crate::ui;
use source::{Source, read_source};

/// Find what a list of requirements leaves open or contradicts.
///
/// Findings are placeholders, contradictions, gaps and open choices.
///
/// An intent is a JSON object with goal, constraints and context. Plain text and Markdown are read as intents too: the first
/// heading is the goal, list items are the constraints.
///
/// With --provider or --with, a model or a command is asked too, as `assess` does; what it finds is marked as its word, not a rule's.
///
/// Exit 0: nothing to ask. Exit 1: something to ask. Exit 2: something could not be read, or the assessor failed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal lint examples/intents/vague.json\n  runseal lint docs/requirements.md --format sarif\n  \
                  runseal lint docs/requirements.md --provider openai --model-io asked.json"
)]
pub struct Args {
    /// Intents, or requirement lists in Markdown or plain text; `-` means standard input.
    #[arg(required = true, value_name = "INTENT")]
    intents: Vec<PathBuf>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = LintFormat::Human)]
    format: LintFormat,
    /// Explain each rule that found something.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    assessor: AssessorArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LintFormat {
    /// Rule, place, quote, why it matters and what to do.
    Human,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0.
    Sarif,
}

/// A finding, and where it is in its file.
struct Remark {
    path: String,
    /// `goal`, `constraints[3]`, or `line 12` of a list.
    place: String,
    line: Option<usize>,
    finding: Finding,
    message: String,
}

impl Remark {
    /// Whether an assessor says it, and no rule.
    fn is_of_assessor(&self) -> bool {
        self.finding.rule.matcher == Matcher::Given
    }

    /// Who says it, in answers.
    fn by(&self) -> &'static str {
        match self.is_of_assessor() {
            true => "assessor",
            false => "rule",
        }
    }
}

/// What became of asking an assessor about one file.
struct Asked {
    /// A name for the assessor.
    by: String,
    said: Result<Assessment, CliError>,
}

/// What was found in one file.
struct Linted {
    source: Source,
    remarks: Vec<Remark>,
    measured: Measurement,
    asked: Option<Asked>,
}

impl Linted {
    fn new(source: Source, asked: Option<Asked>) -> Self {
        let intent = &source.intent;
        let mut measured = measure(intent.goal(), intent.constraints(), intent.declared());
        let findings = measured.open.drain(..).chain(measured.notes.drain(..));
        let mut remarks: Vec<Remark> = findings
            .map(|finding| {
                let origin = finding
                    .places
                    .first()
                    .map_or(Origin::Goal, |place| place.origin);
                let (place, line) = source.place(origin);
                let message = message_of(&finding);
                Remark {
                    path: source.path.clone(),
                    place,
                    line,
                    finding,
                    message,
                }
            })
            .collect();
        let order = |remark: &Remark| {
            (
                remark.finding.rule.severity,
                source.order(remark.finding.places.first().map(|place| place.origin)),
            )
        };
        remarks.sort_by(|a, b| (order(a), &a.finding.rule.id).cmp(&(order(b), &b.finding.rule.id)));
        Self {
            source,
            remarks,
            measured,
            asked,
        }
    }

    fn asks(&self) -> bool {
        self.remarks.iter().any(|remark| remark.finding.asks())
    }

    /// Why the assessor could not be asked, if so.
    fn failure(&self) -> Option<&CliError> {
        self.asked.as_ref()?.said.as_ref().err()
    }
}

/// Asks about one file; what the assessor finds goes into the context of its intent.
fn ask_about(source: &mut Source, assessor: &mut Assessor) -> Asked {
    let by = assessor.name().to_owned();
    let said = assessor.assess(&source.intent);
    if let Ok(assessment) = &said {
        source.intent = assessment.intent.clone();
    }
    Asked { by, said }
}

/// How the command ends because of an assessor's failure. Nothing is known about the list, as if it could not be read.
fn outcome_of(failure: &CliError) -> Outcome {
    match failure.outcome {
        Outcome::Invalid => Outcome::Unreadable,
        other => other,
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    if args.assessor.prints_recording() {
        return Err(CliError::usage(
            "the recording and the findings cannot both go to standard output",
            "name a file with --model-io FILE",
        ));
    }
    let mut assessor = args.assessor.start()?;
    let mut linted = Vec::new();
    let (mut unreadable, mut unread) = (None, 0);
    for path in &args.intents {
        match read_source(path) {
            Ok(mut source) => {
                let asked = assessor
                    .as_mut()
                    .map(|assessor| ask_about(&mut source, assessor));
                let file = Linted::new(source, asked);
                if let Some(failure) = file.failure() {
                    ui::tell_error(failure);
                    unreadable = Some(outcome_of(failure));
                }
                linted.push(file);
                if unreadable == Some(Outcome::Interrupted) {
                    break;
                }
            }
            Err(error) => {
                ui::tell_error(&error);
                unreadable = Some(error.outcome);
                unread += 1;
            }
        }
    }
    let recorded = assessor.map_or(Ok(()), Assessor::finish);
    match args.format {
        // A summary of nothing would read like a verdict.
        LintFormat::Human if linted.is_empty() => {}
        LintFormat::Human => {
            ui::print_text(&render::human(&linted, unread, args.explain))?;
        }
        LintFormat::Json => ui::print_json(&render::json(&linted, args.explain), Dialect::Kernel)?,
        LintFormat::Sarif => ui::print_json(&render::sarif(&linted), Dialect::Kernel)?,
    }
    recorded?;
    Ok(match unreadable {
        Some(outcome) => outcome,
        None if linted.iter().any(Linted::asks) => Outcome::Invalid,
        None => Outcome::Valid,
    })
}
