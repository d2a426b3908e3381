//! `runseal mcp replay`.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_net::mcp::{ReplayOptions, replay};
use runseal_net::proxy::{Keys, Mode, OnMiss, ProxyOptions};
use runseal_net::recording::Adapter;

use super::super::proxy::{self, RedactArgs, secrets_of_environment, tell_replayed};
use crate::error::CliError;

/// Serve a recorded MCP session, without the server.
///
/// Without --listen over standard input and output, as the recorded server did; with it over HTTP. Only the
/// ids of messages and progress tokens are rewritten. Exit 0: every message was found in the recording. Exit
/// 1: one was not, and the client got the nearest one and the first difference; or the recording cannot be
/// used.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal mcp replay --recording tools.json\n  runseal mcp replay --recording tools.json --listen 127.0.0.1:4200"
)]
pub struct Args {
    /// The recording to answer from.
    #[arg(long, value_name = "FILE")]
    recording: PathBuf,
    /// Over HTTP: the address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Messages must come in the recorded order.
    #[arg(long)]
    strict_order: bool,
    #[command(flatten)]
    redact: RedactArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let (volatile, rules) = (args.redact.volatile()?, args.redact.rules()?);
    let secrets = secrets_of_environment();
    let Some(address) = &args.listen else {
        let options = ReplayOptions {
            recording: args.recording.clone(),
            strict_order: args.strict_order,
            volatile,
            rules,
            secrets,
        };
        let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
        let replayed = replay(&options, &mut input, &mut output)?;
        return Ok(tell_replayed(
            replayed.replayed,
            replayed.unused,
            &replayed.misses,
        ));
    };
    let options = ProxyOptions {
        mode: Mode::Replay {
            strict_order: args.strict_order,
            on_miss: OnMiss::Fail,
            fork_at: None,
        },
        adapter: Adapter::McpHttp,
        recording: args.recording.clone(),
        output: None,
        upstream: None,
        volatile,
        rules,
        secrets,
        keys: Keys::default(),
        allowed_models: Vec::new(),
    };
    proxy::serve_recording(options, address)
}
