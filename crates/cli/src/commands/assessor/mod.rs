//! Whoever is asked for what no rule can find: a command of the user's, a model, or a recording of either.
//!
//! What they say becomes findings in the context of the intent, so that rules and assessors are measured,
//! asked about and waived alike. `exchange` is a command and its recording, `model` a model and its.

mod exchange;
#[cfg(feature = "net")]
mod model;

use std::path::PathBuf;
use std::time::Duration;

use runseal_core::verify::Outcome;
use runseal_kernel::Intent;
use runseal_kernel::assess::{Heard, merge_findings, with_findings};

use crate::error::CliError;
use crate::output::file_named;
use crate::ui;
use exchange::{CommandAssessor, RecordedCommand};

/// Who is asked, and where that is recorded.
#[derive(Debug, clap::Args)]
pub struct AssessorArgs {
    /// The command that reads the intent and writes findings.
    #[arg(long, value_name = "CMD")]
    with: Option<String>,
    #[cfg(feature = "net")]
    #[command(flatten)]
    model: model::ModelArgs,
    /// Take the answers from a recording of --model-io instead. With --provider, a model is asked for what the recording
    /// does not answer, and the recording gets that too.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["with", "model_io"])]
    replay: Option<PathBuf>,
    /// Record the exchange as model I/O; `-` means standard output, if that is free. What a model is asked is always
    /// recorded: without this option in the folder for temporary files.
    #[arg(long, value_name = "FILE")]
    model_io: Option<PathBuf>,
    /// How long the command, or an answer of the model, may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

/// How much of an intent a model was shown.
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "nobody asks a model"))]
#[derive(Debug, Clone, Copy)]
pub struct Coverage {
    /// The number of questions.
    pub questions: usize,
    /// The number of pairs of constraints.
    pub pairs: u64,
    /// How many of them no question showed together.
    pub unseen: u64,
    /// Constraints up to this far apart in the list were shown together.
    pub reach: usize,
}

impl Coverage {
    /// What was not looked at, for people.
    pub fn describe(&self) -> String {
        format!(
            "{} of {} pairs of constraints were not looked at: they are more than {} apart in the list, and none of the {} \
             questions showed them together",
            self.unseen, self.pairs, self.reach, self.questions
        )
    }
}

/// What an assessor said about an intent.
#[derive(Debug)]
pub struct Assessment {
    /// The intent with what counts in its context.
    pub intent: Intent,
    /// How many findings that added.
    pub added: usize,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// How many findings the intent, a rule or another finding had already.
    pub repeated: usize,
    /// What a model was shown; a command gets everything.
    pub coverage: Option<Coverage>,
}

/// Somebody to ask.
pub enum Assessor {
    Command(CommandAssessor),
    Recording(RecordedCommand),
    #[cfg(feature = "net")]
    Model(Box<model::ModelAssessor>),
}

impl AssessorArgs {
    /// Whether the recording goes to standard output.
    pub fn prints_recording(&self) -> bool {
        self.model_io.is_some() && file_named(self.model_io.as_deref()).is_none()
    }

    /// Prepares whoever was named; `None` if nobody was.
    pub fn start(&self) -> Result<Option<Assessor>, CliError> {
        let patience = Duration::from_secs(self.timeout);
        #[cfg(feature = "net")]
        if let Some(model) = self.model.start(self, patience)? {
            return Ok(Some(Assessor::Model(Box::new(model))));
        }
        if let Some(path) = &self.replay {
            return RecordedCommand::open(path).map(|it| Some(Assessor::Recording(it)));
        }
        let Some(command) = &self.with else {
            return match self.model_io {
                Some(_) => Err(CliError::usage(
                    "--model-io records what an assessor is asked, and none is named",
                    "name one with --with or --provider, or leave --model-io out",
                )),
                None => Ok(None),
            };
        };
        let recording = self.model_io.clone();
        let assessor = CommandAssessor::new(command, patience, recording);
        Ok(Some(Assessor::Command(assessor)))
    }
}

impl Assessor {
    /// A name for answers: the program, or the provider and the model.
    pub fn name(&self) -> &str {
        match self {
            Self::Command(command) => command.name(),
            Self::Recording(recording) => recording.name(),
            #[cfg(feature = "net")]
            Self::Model(model) => model.name(),
        }
    }

    /// Asks about one intent, and tells people what was left out.
    pub fn assess(&mut self, intent: &Intent) -> Result<Assessment, CliError> {
        let (heard, coverage) = match self {
            Self::Command(command) => (command.ask(intent)?, None),
            Self::Recording(recording) => (recording.ask(intent)?, None),
            #[cfg(feature = "net")]
            Self::Model(model) => model.ask(intent)?,
        };
        let Heard {
            counted,
            left_out,
            invented,
        } = heard;
        for reason in &left_out {
            ui::tell_line(&format!("ASSESSOR_QUOTE: {reason}; left out"));
        }
        if counted.is_empty() && invented > 0 {
            return Err(assessor_error(
                "ASSESSOR_QUOTE",
                "every finding quotes words that the intent does not contain",
            ));
        }
        let (new, repeated) = merge_findings(intent, counted);
        if repeated > 0 {
            ui::note(&format!(
                "left out, since a rule, the intent or another finding says the same: {repeated} of the assessor's findings"
            ));
        }
        let intent = with_findings(intent, &new)
            .map_err(|refusal| assessor_error("ASSESSOR_ANSWER", refusal.message()))?;
        Ok(Assessment {
            intent,
            added: new.len(),
            left_out,
            repeated,
            coverage,
        })
    }

    /// Writes the recording: also of answers that could not be read, since they may have been paid for.
    pub fn finish(self) -> Result<(), CliError> {
        match self {
            Self::Command(command) => command.finish(),
            Self::Recording(_) => Ok(()),
            #[cfg(feature = "net")]
            Self::Model(model) => model.finish(),
        }
    }
}

fn assessor_error(code: &'static str, message: impl Into<String>) -> CliError {
    CliError::new(Outcome::Invalid, code, message)
        .hint("docs/assess.md says what an assessor reads and writes")
}
