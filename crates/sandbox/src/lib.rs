//! Runs one command with nothing but what it was given.
//!
//! A [`Spec`] says what to run, in which work folder, with which files, environment, input and
//! [`Limits`]. [`Sandbox::run`] gives back an [`Outcome`]: how the command ended, which limit it
//! ran into if any, and what it printed.
//!
//! Invariants:
//! - Every run of an isolating sandbox sets every layer up before the command starts. A layer that
//!   cannot be set up is a [`Missing`] with its name and reason, and the command does not run;
//!   isolation is never weakened silently. Running without isolation is another constructor
//!   ([`Sandbox::without_isolation`]) that a caller must ask for.
//! - When `run` returns, no process of the command is left.
//! - Memory used for captured output is bounded by the limits.
//! - Nothing of the host's environment, home, network or process list reaches the command.
//!
//! What it does not do: it does not judge the files that a command leaves behind ([`outputs`]
//! lists them safely, the caller decides), it keeps no records and reads no policy files.
//! SECURITY.md has the threat model.

mod error;
mod outcome;
#[cfg(unix)]
pub mod outputs;
mod spec;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod plain;
#[cfg(unix)]
mod pump;

pub use error::{Layer, Missing, SandboxError, SpecError};
pub use outcome::{Captured, Ending, Enforcement, Enforcer, Limit, Outcome};
pub use spec::{
    FIXED_ENVIRONMENT, INSIDE_HOME, INSIDE_TMP, INSIDE_WORK, Limits, MOST_IN_MEMORY, Mount, Spec,
};

/// How commands are kept apart from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Namespaces, seccomp, Landlock and resource limits, all of them.
    Full,
    /// None: the command runs as an ordinary child with a clean environment, a time limit and
    /// bounded output. Only by [`Sandbox::without_isolation`].
    None,
}

/// What this machine's kernel offered when it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The newest Landlock version all of whose rights the kernel enforces, 1 or more.
    pub landlock_abi: u32,
    /// Whether the caller is root, so that commands run under another, unprivileged uid.
    pub drops_root: bool,
}

/// Something that runs commands; see the crate's documentation.
#[derive(Debug, Clone)]
pub struct Sandbox {
    capabilities: Option<Capabilities>,
}

impl Sandbox {
    /// A sandbox that isolates, for callers whose next step is a run: it only checks what needs
    /// no process. A layer that proves missing refuses the run itself.
    ///
    /// # Errors
    /// [`Missing`] names a layer that this machine certainly does not offer, and why.
    pub fn with_isolation() -> Result<Sandbox, Missing> {
        #[cfg(target_os = "linux")]
        return linux::find_capabilities().map(Sandbox::isolating);
        #[cfg(not(target_os = "linux"))]
        return Err(unsupported());
    }

    /// The same, but sets every layer of isolation up once, for an empty command, before it
    /// answers: for callers who need to know before they begin whether they could run anything.
    ///
    /// # Errors
    /// [`Missing`] names the first layer that this machine does not offer, and why.
    pub fn probe() -> Result<Sandbox, Missing> {
        #[cfg(target_os = "linux")]
        return linux::probe().map(Sandbox::isolating);
        #[cfg(not(target_os = "linux"))]
        return Err(unsupported());
    }

    #[cfg(target_os = "linux")]
    fn isolating(capabilities: Capabilities) -> Sandbox {
        Sandbox {
            capabilities: Some(capabilities),
        }
    }

    /// A "sandbox" that isolates nothing. It exists for people who ask for it by name; records
    /// made with it must say [`Isolation::None`].
    pub fn without_isolation() -> Sandbox {
        Sandbox { capabilities: None }
    }

    /// Which isolation commands of this sandbox get.
    pub fn isolation(&self) -> Isolation {
        if self.capabilities.is_some() {
            Isolation::Full
        } else {
            Isolation::None
        }
    }

    /// What the kernel offered; nothing without isolation.
    pub fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_ref()
    }

    /// Runs the command of `spec` to its end or to its first limit.
    ///
    /// # Errors
    /// [`SandboxError`] means that the command was not run or that its end is not known. A
    /// command that fails, crashes or is stopped by a limit is an [`Outcome`].
    pub fn run(&self, spec: &Spec) -> Result<Outcome, SandboxError> {
        spec.check()?;
        match &self.capabilities {
            #[cfg(target_os = "linux")]
            Some(capabilities) => linux::run(spec, capabilities),
            #[cfg(not(target_os = "linux"))]
            Some(_) => Err(SandboxError::Unsupported),
            #[cfg(unix)]
            None => plain::run(spec),
            #[cfg(not(unix))]
            None => Err(SandboxError::Unsupported),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn unsupported() -> Missing {
    Missing {
        layer: Layer::Platform,
        reason: format!(
            "`{}` has no sandbox here, only Linux has",
            std::env::consts::OS
        ),
    }
}
