//! `runseal trust`: the policy that says whose signatures count.

mod add;
mod check;
mod explain;
mod init;
mod rotate;

use runseal_core::verify::{Outcome, Surface};

use super::commands;
use crate::error::CliError;

/// Say whose signatures count and for what, and ask why.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: TrustCommand,
}

commands! {
    /// The commands for policies.
    enum TrustCommand {
        Init(init),
        Add(add),
        Rotate(rotate),
        Check(check),
        Explain(explain),
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
