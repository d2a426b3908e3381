//! The sandbox's isolation level, chosen by name. It is never lowered automatically: if a layer is
//! missing, the error says which, how to allow it, and which is the strongest level that works
//! here.

use runseal_core::verify::Outcome;
use runseal_sandbox::{Isolation, Missing, Sandbox, SandboxError};

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

    /// The sandbox at the chosen level.
    pub fn find(&self) -> Result<Sandbox, SandboxError> {
        let level = Isolation::from_name(&self.level).unwrap_or(Isolation::Full);
        Ok(Sandbox::at(level)?)
    }

    /// Like `find`, with the error as the command line reports it.
    pub fn open(&self) -> Result<Sandbox, CliError> {
        self.find()
            .map_err(|error| super::seal::sandbox_error(&error))
    }
}

/// Reports a missing layer: how to allow it, and the strongest level that works here.
pub fn missing_layer(missing: &Missing) -> CliError {
    let mut hint: Vec<String> = missing.advice().iter().map(ToString::to_string).collect();
    if hint.is_empty() && !missing.hint().is_empty() {
        hint.push(missing.hint().to_owned());
    }
    let (strongest, _) = Sandbox::find_strongest();
    if strongest != Isolation::Full {
        hint.push(format!(
            "or take the strongest level that works here, `--sandbox {strongest}`: {}",
            strongest.weakness()
        ));
    }
    CliError::new(Outcome::Unreadable, "NO_ISOLATION", missing.to_string())
        .hint(hint.join("\nhint: "))
}
