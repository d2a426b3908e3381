//! `runseal mcp record`.

use std::ffi::OsString;
use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_net::mcp::{StdioOptions, record};
use runseal_net::proxy::{Keys, Mode, Proxy, ProxyOptions, Upstream};
use runseal_net::recording::Adapter;

use super::super::proxy::{
    RedactArgs, attend, listen, secrets_of_environment, tell_finished, tell_refused,
};
use crate::error::CliError;

/// Stand between an MCP client and its server, and record the session.
///
/// With `-- SERVER…` over standard input and output, until either side ends; with --listen and
/// --upstream over HTTP, until SIGINT, SIGTERM or the end of a pipe on standard input. Exit 0:
/// recorded. Exit 1: not.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal mcp record --recording tools.json -- npx -y @modelcontextprotocol/server-everything stdio\n  runseal mcp record --recording tools.json --listen 127.0.0.1:4200 --upstream http://127.0.0.1:3001"
)]
pub struct Args {
    /// The recording to make; never overwrites one.
    #[arg(long, value_name = "FILE")]
    recording: PathBuf,
    /// Over HTTP: the address to listen on; port 0 takes a free one.
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "upstream",
        conflicts_with = "server"
    )]
    listen: Option<String>,
    /// Over HTTP: the server, without the path that clients ask for.
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    upstream: Option<String>,
    #[command(flatten)]
    redact: RedactArgs,
    /// Over standard input and output: the server's program and its arguments.
    #[arg(last = true, value_name = "SERVER")]
    server: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let Some(upstream) = &args.upstream else {
        if args.server.is_empty() {
            return Err(CliError::usage(
                "no server was named",
                "name its program after `--`, or its address with --upstream",
            ));
        }
        let options = StdioOptions {
            recording: args.recording.clone(),
            command: args.server.clone(),
            volatile: args.redact.volatile()?,
            rules: args.redact.rules()?,
            secrets: secrets_of_environment(),
        };
        tell_finished(&record(&options)?);
        return Ok(Outcome::Valid);
    };
    let options = ProxyOptions {
        mode: Mode::Record,
        adapter: Adapter::McpHttp,
        recording: args.recording.clone(),
        output: None,
        upstream: Some(Upstream::parse(upstream)?),
        volatile: args.redact.volatile()?,
        rules: args.redact.rules()?,
        secrets: secrets_of_environment(),
        keys: Keys::default(),
        allowed_models: Vec::new(),
    };
    let address = args.listen.as_deref().unwrap_or("127.0.0.1:0");
    // Listen before anything is written: if the address is not available, nothing is left behind.
    let listener = listen(address)?;
    let proxy = Proxy::start(options)?;
    attend(&proxy, listener, address)?;
    let outcome = proxy.finish()?;
    tell_refused(outcome.refused);
    if let Some(finished) = &outcome.finished {
        tell_finished(finished);
    }
    Ok(Outcome::Valid)
}
