//! `runseal queue`: work for whichever machine is free; one file per command.

mod add;
mod results;
mod status;

use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

use add::{replay, verify};

/// Queue sealed runs for `runseal work` to verify or replay.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: QueueCommand,
}

commands! {
    /// The commands of the queue.
    enum QueueCommand {
        Verify(verify),
        Replay(replay),
        Status(status),
        Results(results),
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
