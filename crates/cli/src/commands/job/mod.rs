//! `runseal job`: a job from index to replay; one file per command.

mod build;
mod copy;
mod index;
mod init;
pub mod place;
mod post;
mod replay;
mod status;
mod symbol;
pub mod verify;
pub mod work;

use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

/// Read texts by a plan and bundle exactly what was read.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: JobCommand,
}

commands! {
    /// The commands for jobs. Document 001 fixes the exit codes of those that check a bundle; the
    /// others have the exit codes of any command.
    enum JobCommand {
        Init(init),
        Index(index),
        Symbol(symbol),
        Post(post),
        Work(work),
        Status(status),
        Build(build),
        Copy(copy),
        Verify(verify) => |_| Surface::Format(Format::JobBundle),
        Replay(replay) => |_| Surface::Format(Format::JobBundle),
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
