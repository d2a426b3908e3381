//! A model that is asked for contradictions with our own words, through the recording proxy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_fs::private::PrivateFolder;
use runseal_kernel::Intent;
use runseal_kernel::assess::{Heard, PROMPT, parse_words, plan_questions, question};
use runseal_net::NetError;
use runseal_net::asking::{Answering, AskError, AskOptions, Asker, Provider, asked_in};
use runseal_net::proxy::{Upstream, recover};
use runseal_net::recording::Adapter;

use super::{AssessorArgs, Coverage};
use crate::commands::models::{RECORDING, private_folder};
use crate::commands::proxy::{secrets_of_environment, tell_finished};
use crate::error::{CliError, Named};
use crate::ui;

/// Which model is asked, and how much.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Ask a model for contradictions: OpenAI's chat completions or a server that speaks them too, or Anthropic's
    /// messages. The key is taken from OPENAI_API_KEY or ANTHROPIC_API_KEY.
    #[arg(long, value_enum, conflicts_with = "with")]
    provider: Option<ProviderName>,
    /// The model; default: gpt-5 or claude-sonnet-4-5.
    #[arg(long, requires = "provider", conflicts_with = "with", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// The server's address, for example http://127.0.0.1:8080/v1; default: OPENAI_BASE_URL or ANTHROPIC_BASE_URL, else the
    /// provider's own.
    #[arg(
        long,
        value_name = "URL",
        requires = "provider",
        conflicts_with = "with"
    )]
    base_url: Option<String>,
    /// The most questions to a model about one intent. Up to 80 constraints take one; what is far apart in a longer list is
    /// compared as far as questions are left.
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1000))]
    requests: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProviderName {
    /// OpenAI, or a server that speaks its chat completions.
    Openai,
    /// Anthropic, or a server that speaks its messages.
    Anthropic,
}

impl ProviderName {
    const fn provider(self) -> Provider {
        match self {
            Self::Openai => Provider::OpenAi,
            Self::Anthropic => Provider::Anthropic,
        }
    }
}

/// A variable of the environment that has a value.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?.trim().to_owned();
    (!value.is_empty()).then_some(value)
}

impl ModelArgs {
    /// Prepares the model that was named, or the recording of one.
    pub(super) fn start(
        &self,
        args: &AssessorArgs,
        patience: Duration,
    ) -> Result<Option<ModelAssessor>, CliError> {
        // A program that was killed may have left a recording unfinished. Standard input can be read only once.
        let replay = args.replay.as_ref().filter(|path| *path != Path::new("-"));
        if let Some(path) = replay {
            recover(path)?;
        }
        let recorded = match replay {
            Some(path) if self.provider.is_some() || is_of_model(path)? => asked_in(path)?,
            _ => None,
        };
        let named = self.provider.map(ProviderName::provider);
        let Some(provider) = named.or(recorded.as_ref().map(|(provider, _)| *provider)) else {
            return Ok(None);
        };
        if args.prints_recording() || args.replay.is_some() && replay.is_none() {
            return Err(CliError::usage(
                "the recording of a model cannot go through a pipe",
                "large answers are files beside it: name a file with --model-io or --replay",
            ));
        }
        let of_recording = recorded.filter(|(other, _)| *other == provider);
        let model = self.model.clone().or(of_recording.map(|(_, model)| model));
        let model = model.unwrap_or_else(|| provider.default_model().to_owned());
        let (answering, key) = match (named, replay) {
            (None, _) => (Answering::Recorded, None),
            (Some(_), replay) => {
                let (server, key) = self.server(provider)?;
                match replay {
                    Some(_) => (Answering::Continued(server), key),
                    None => (Answering::Live(server), key),
                }
            }
        };
        let (recording, folder) = match replay.or(args.model_io.as_ref()) {
            Some(path) => (path.clone(), None),
            None => {
                let folder = private_folder()?;
                (folder.path().join(RECORDING), Some(folder))
            }
        };
        let name = format!("{} {model}", provider.name());
        let is_live = answering != Answering::Recorded;
        let options = AskOptions {
            provider,
            model,
            answering,
            key,
            recording,
            secrets: secrets_of_environment(),
            patience,
        };
        Ok(Some(ModelAssessor {
            options,
            asker: None,
            name,
            most: usize::from(self.requests),
            is_live,
            is_complete: true,
            folder,
        }))
    }

    /// The server's address and the key for it.
    fn server(&self, provider: Provider) -> Result<(Upstream, Option<String>), CliError> {
        let key = variable(provider.key_variable());
        let base = self
            .base_url
            .clone()
            .or_else(|| variable(provider.base_variable()));
        if key.is_none() && base.is_none() {
            return Err(CliError::new(
                Outcome::Usage,
                "NO_KEY",
                format!(
                    "{} needs a key, and {} is not set",
                    provider.name(),
                    provider.key_variable()
                ),
            )
            .hint("set it, or name a server of your own with --base-url"));
        }
        let base = base.unwrap_or_else(|| provider.own_base().to_owned());
        Ok((provider.parse_base(&base)?, key))
    }
}

/// Whether a recording was made by the proxy. Any other is one of a command.
fn is_of_model(path: &Path) -> Result<bool, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::TEXT;
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    let adapter = document.root().get("adapter_id").and_then(|id| id.as_str());
    Ok(adapter.and_then(|id| Adapter::parse(&id)) == Some(Adapter::HttpProxy))
}

/// A model, and the proxy through which it is asked.
pub struct ModelAssessor {
    options: AskOptions,
    /// Started with the first question, so that nothing is left behind if there is none.
    asker: Option<Asker>,
    name: String,
    most: usize,
    is_live: bool,
    /// Whether every question so far had its answer.
    is_complete: bool,
    /// Where the recording is made if the user named no place for it.
    folder: Option<PrivateFolder>,
}

impl ModelAssessor {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn asker(&mut self) -> Result<&mut Asker, AskError> {
        let asker = match self.asker.take() {
            Some(asker) => asker,
            None => Asker::start(self.options.clone())?,
        };
        Ok(self.asker.insert(asker))
    }

    /// Asks about all constraints, some at a time.
    pub(super) fn ask(&mut self, intent: &Intent) -> Result<(Heard, Option<Coverage>), CliError> {
        let plan = plan_questions(intent, self.most).map_err(|needed| {
            CliError::usage(
                format!(
                    "the list takes {needed} questions, and --requests allows {}",
                    self.most
                ),
                format!("give --requests {needed}, or split the list"),
            )
        })?;
        if plan.chunks.is_empty() {
            ui::note("there are no constraints to compare, so no model was asked");
        }
        let mut heard = Heard::default();
        let was_complete = std::mem::replace(&mut self.is_complete, false);
        for (at, chunk) in plan.chunks.iter().enumerate() {
            if self.is_live && plan.chunks.len() > 1 {
                ui::note(&format!(
                    "question {} of {} to {}",
                    at + 1,
                    plan.chunks.len(),
                    self.name
                ));
            }
            let words = question(intent, &plan, chunk);
            let words = canonical_bytes(&words, Dialect::Kernel).named("the question")?;
            let words = String::from_utf8_lossy(&words);
            let said = self
                .asker()?
                .ask(PROMPT, &words, |text| parse_words(text, intent, &plan))?;
            heard.counted.extend(said.counted);
            heard.left_out.extend(said.left_out);
            heard.invented += said.invented;
        }
        self.is_complete = was_complete;
        let coverage = Coverage {
            questions: plan.chunks.len(),
            pairs: plan.pairs,
            unseen: plan.unseen,
            reach: plan.reach,
        };
        if coverage.unseen > 0 {
            ui::tell_line(&format!("warning: {}", coverage.describe()));
        }
        Ok((heard, Some(coverage)))
    }

    /// Writes the recording, and says where it is.
    pub(super) fn finish(self) -> Result<(), CliError> {
        let Some(asker) = self.asker else {
            return Ok(());
        };
        let outcome = match asker.finish() {
            Ok(outcome) => outcome,
            Err(error) => {
                // What was answered is in the journal then, unless that holds a secret.
                if !matches!(error, NetError::Secret { .. }) {
                    let _kept: Option<PathBuf> = self.folder.map(PrivateFolder::keep);
                }
                return Err(error.into());
            }
        };
        if let Some(finished) = outcome.finished.filter(|it| it.interactions > 0) {
            tell_finished(&finished);
            if let Some(folder) = self.folder {
                let _kept: PathBuf = folder.keep();
            }
        }
        if outcome.unused > 0 && self.is_complete && !self.is_live {
            ui::note(&format!(
                "the recording has more answers than were asked for ({}); --requests may have been another number",
                outcome.unused
            ));
        }
        Ok(())
    }
}
