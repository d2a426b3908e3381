//! `runseal mcp`: records and replays what a program says to its tools over MCP.

mod record;
mod replay;

use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

/// Record and replay what a program says to its tools over MCP.
///
/// Over standard input and output, the command takes the place of the server's command; over HTTP, point the
/// client to the address that is printed. See docs/agents.md.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: McpCommand,
}

commands! {
    /// The commands for MCP.
    enum McpCommand {
        Record(record) => |_| Surface::Proxy,
        Replay(replay) => |_| Surface::Proxy,
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
