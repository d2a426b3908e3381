//! What the sandbox's errors say to whoever reports them. `crates/sandbox` depends on nothing of ours, so it does not
//! say it itself.

use runseal_core::diagnosis::Diagnosis;
use runseal_core::verify::Outcome;
use runseal_sandbox::{Isolation, Missing, Sandbox, SandboxError};

/// Why a command could not be run in the sandbox.
pub fn diagnose(error: &SandboxError) -> Diagnosis {
    match error {
        SandboxError::Missing(missing) => diagnose_missing(missing),
        SandboxError::Execute { .. } => Diagnosis::invalid(error, "EXECUTE").hint(
            "the engine's program must be in its folder and executable, or on the sandbox's PATH",
        ),
        SandboxError::Cancelled => Diagnosis::of(error, Outcome::Interrupted, "INTERRUPTED")
            .message("the command was ended, and nothing was made or left behind".to_owned()),
        _ => Diagnosis::unreadable(error, "SANDBOX"),
    }
}

/// A missing layer: how to allow it, and the strongest level that works here.
fn diagnose_missing(missing: &Missing) -> Diagnosis {
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
    Diagnosis::unreadable(missing, "NO_ISOLATION").hint(hint.join("\nhint: "))
}
