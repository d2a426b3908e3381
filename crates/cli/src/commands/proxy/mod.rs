//! `runseal proxy`: records and replays what a program says to a model's API.

mod finish;
mod options;
mod record;
mod replay;

use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

pub(super) use options::{
    RedactArgs, attend, describe_redacted, listen, secrets_of_environment, tell_finished,
    tell_refused,
};
pub(super) use replay::{serve_recording, tell_replayed};

/// Record and replay what a program says to a model's API.
///
/// The program is pointed to the proxy by its base URL: OPENAI_BASE_URL=http://127.0.0.1:PORT/v1,
/// ANTHROPIC_BASE_URL=http://127.0.0.1:PORT. See docs/agents.md.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ProxyCommand,
}

commands! {
    /// The commands of the proxy.
    enum ProxyCommand {
        Record(record) => |_| Surface::Proxy,
        Replay(replay) => |_| Surface::Proxy,
        Finish(finish) => |_| Surface::Proxy,
    }
}

impl Args {
    /// Whose exit codes the command has.
    pub fn surface(&self) -> Surface {
        self.command.surface()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    args.command.run()
}
