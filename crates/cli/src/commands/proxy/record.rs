//! `runseal proxy record`.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_net::proxy::{Keys, Mode, Proxy, ProxyOptions, Upstream};
use runseal_net::recording::Adapter;

use super::options::{OpenArgs, RedactArgs, attend, listen, secrets_of_environment, tell_refused};
use crate::error::CliError;

/// Pass requests on to a model's API and record what is asked and answered.
///
/// Prints {"listening":"http://127.0.0.1:PORT"} and works until SIGINT, SIGTERM or the end of a pipe
/// on standard input; then it writes the recording. Secrets are replaced before anything is written.
/// Exit 0: recorded. Exit 1: not, or a secret was found in what was recorded, and nothing is kept.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal proxy record --recording model_io.json --listen 127.0.0.1:4100 &\n  OPENAI_BASE_URL=http://127.0.0.1:4100/v1 python3 agent.py\n  kill %1"
)]
pub struct Args {
    /// The recording to make; never overwrites one.
    #[arg(long, value_name = "FILE")]
    recording: PathBuf,
    #[command(flatten)]
    open: OpenArgs,
    /// The API to ask, for example http://127.0.0.1:8000; by default the public address of OpenAI
    /// or Anthropic.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Let only this model be asked; may be given several times. Another one is refused with 403.
    #[arg(long, value_name = "MODEL", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    allow_model: Vec<String>,
    #[command(flatten)]
    redact: RedactArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let upstream = args.upstream.as_deref().map(Upstream::parse).transpose();
    let options = ProxyOptions {
        mode: Mode::Record,
        adapter: Adapter::HttpProxy,
        recording: args.recording.clone(),
        output: None,
        upstream: upstream?,
        volatile: args.redact.volatile()?,
        rules: args.redact.rules()?,
        secrets: secrets_of_environment(),
        keys: Keys::default(),
        allowed_models: args.allow_model.clone(),
    };
    // Listen before anything is written: if the address is not available, nothing is left behind.
    let listener = listen(&args.open.listen)?;
    let proxy = Proxy::start(options)?;
    attend(&proxy, listener, &args.open.listen)?;
    let outcome = proxy.finish()?;
    tell_refused(outcome.refused);
    if let Some(finished) = &outcome.finished {
        super::tell_finished(finished);
    }
    Ok(Outcome::Valid)
}
