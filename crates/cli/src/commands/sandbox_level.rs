//! The sandbox's isolation level, chosen by name. It is never lowered automatically: if a layer is
//! missing, the error says which, how to allow it, and which is the strongest level that works
//! here.

use runseal_runs::isolation::diagnose;
use runseal_sandbox::{Isolation, Sandbox, SandboxError};

use crate::error::CliError;

/// How far commands are isolated from the machine.
#[derive(Debug, Clone, clap::Args)]
pub struct SandboxArgs {
    /// How far the command is isolated from this machine. It is recorded and shown, and never lowered
    /// automatically.
    #[arg(long = "sandbox", value_name = "LEVEL", default_value = "namespaces", value_parser = ["namespaces", "landlock", "none"])]
    level: String,
}

impl SandboxArgs {
    /// Whether it is the default level.
    pub fn is_default(&self) -> bool {
        self.level == Isolation::Full.name()
    }

    /// The name of the level.
    pub fn name(&self) -> &str {
        &self.level
    }

    /// The sandbox at the chosen level.
    pub fn find(&self) -> Result<Sandbox, SandboxError> {
        let level = Isolation::from_name(&self.level).unwrap_or(Isolation::Full);
        Ok(Sandbox::at(level)?)
    }

    /// Like `find`, with the error as the command line reports it.
    pub fn open(&self) -> Result<Sandbox, CliError> {
        self.find()
            .map_err(|error| CliError::diagnosed(diagnose(&error), None))
    }
}
