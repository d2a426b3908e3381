//! `runseal proxy replay`.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_net::proxy::{Keys, Mode, OnMiss, Proxy, ProxyOptions, Upstream};
use runseal_net::recording::Adapter;

use super::options::{OpenArgs, RedactArgs, attend, listen, secrets_of_environment, tell_refused};
use crate::error::CliError;
use crate::ui;

/// Answer requests from a recording, without the API.
///
/// Requests are matched by method, path and body; the same one asked several times gets its answers in the
/// recorded order. Exit 0: every request had its answer. Exit 1: one had none, and the client got the nearest
/// recording and the first difference; or the recording cannot be used.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal proxy replay --recording model_io.json --listen 127.0.0.1:4100\n  runseal proxy replay --recording model_io.json --fork-at 3 --upstream https://api.openai.com --out fork.json"
)]
pub struct Args {
    /// The recording to answer from.
    #[arg(long, value_name = "FILE")]
    recording: PathBuf,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    matching: MatchArgs,
    /// The API to ask when the recording does not answer.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    #[command(flatten)]
    redact: RedactArgs,
}

/// How requests are matched, and what happens to one that matches nothing.
#[derive(Debug, clap::Args)]
pub struct MatchArgs {
    /// Requests must come in the recorded order.
    #[arg(long)]
    strict_order: bool,
    /// What to do with a request that was not recorded.
    #[arg(long, value_enum, default_value_t = Missing::Fail)]
    on_miss: Missing,
    /// Answer from the recording before interaction N and ask the upstream from there on; the result is a new
    /// recording, sealed with the digest of this one.
    #[arg(long, value_name = "N", requires = "out")]
    fork_at: Option<usize>,
    /// Where the fork, or the recording with what was missing, goes.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Missing {
    /// It is answered with an error that names the nearest recording.
    Fail,
    /// The upstream is asked, and the recording gets the answer.
    Record,
}

impl MatchArgs {
    /// The mode that the arguments ask for.
    pub fn mode(&self) -> Mode {
        Mode::Replay {
            strict_order: self.strict_order,
            on_miss: match self.on_miss {
                Missing::Fail => OnMiss::Fail,
                Missing::Record => OnMiss::Record,
            },
            fork_at: self.fork_at,
        }
    }

    /// Where new recordings are written.
    pub fn output(&self) -> Option<PathBuf> {
        self.out.clone()
    }
}

/// Serves a recording until told to stop, then reports the result.
pub fn serve_recording(options: ProxyOptions, address: &str) -> Result<Outcome, CliError> {
    // Listen before anything is written: if the address is not available, nothing is left behind.
    let listener = listen(address)?;
    let proxy = Proxy::start(options)?;
    attend(&proxy, listener, address)?;
    let outcome = proxy.finish()?;
    tell_refused(outcome.refused);
    if let Some(finished) = &outcome.finished {
        super::tell_finished(finished);
    }
    Ok(tell_replayed(
        outcome.replayed,
        outcome.unused,
        &outcome.misses,
    ))
}

/// Reports the result of a replay, for people; a miss makes it fail.
pub fn tell_replayed(replayed: u64, unused: u64, misses: &[String]) -> Outcome {
    ui::note(&format!(
        "{replayed} answered from the recording, {unused} of its interactions not asked for"
    ));
    for miss in misses {
        ui::tell(&format!("MISS: {miss}"));
    }
    if misses.is_empty() {
        Outcome::Valid
    } else {
        Outcome::Invalid
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let upstream = args.upstream.as_deref().map(Upstream::parse).transpose();
    let options = ProxyOptions {
        mode: args.matching.mode(),
        adapter: Adapter::HttpProxy,
        recording: args.recording.clone(),
        output: args.matching.output(),
        upstream: upstream?,
        volatile: args.redact.volatile()?,
        rules: args.redact.rules()?,
        secrets: secrets_of_environment(),
        keys: Keys::default(),
        allowed_models: Vec::new(),
    };
    serve_recording(options, &args.open.listen)
}
