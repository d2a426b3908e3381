//! `runseal job`: a job from index to replay, one file a command.

mod build;
mod index;
mod init;
mod place;
mod post;
mod replay;
mod status;
mod symbol;
pub mod verify;
mod work;

use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface};

use crate::error::CliError;

/// Work with jobs: index sources, post a plan, work it, bundle it, verify and replay the bundle.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: JobCommand,
}

#[derive(Debug, clap::Subcommand)]
enum JobCommand {
    Init(init::Args),
    Index(index::Args),
    Symbol(symbol::Args),
    Post(post::Args),
    Work(work::Args),
    Status(status::Args),
    Build(build::Args),
    Verify(verify::Args),
    Replay(replay::Args),
}

impl Args {
    /// Document 001 has exit codes for those who check a bundle; the others are ours.
    pub fn surface(&self) -> Surface {
        match self.command {
            JobCommand::Verify(_) | JobCommand::Replay(_) => Surface::Format(Format::JobBundle),
            _ => Surface::Command,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match &args.command {
        JobCommand::Init(args) => init::run(args),
        JobCommand::Index(args) => index::run(args),
        JobCommand::Symbol(args) => symbol::run(args),
        JobCommand::Post(args) => post::run(args),
        JobCommand::Work(args) => work::run(args),
        JobCommand::Status(args) => status::run(args),
        JobCommand::Build(args) => build::run(args),
        JobCommand::Verify(args) => verify::run(args),
        JobCommand::Replay(args) => replay::run(args),
    }
}
