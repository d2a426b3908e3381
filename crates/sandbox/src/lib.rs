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

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod advice;
mod cancel;
mod error;
#[cfg(unix)]
mod feed;
#[cfg(unix)]
mod layer;
mod level;
mod limits;
mod loopback;
#[cfg(unix)]
mod mounted;
mod observation;
mod outcome;
#[cfg(unix)]
pub mod outputs;
mod places;
mod spec;
mod streams;
mod view;
#[cfg(unix)]
mod winding;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod plain;
#[cfg(unix)]
mod pump;

pub use advice::{Advice, Place};
pub use cancel::CancelToken;
pub use error::{Layer, Missing, SandboxError, SpecError};
#[cfg(unix)]
pub use feed::TakenInput;
#[cfg(unix)]
pub use layer::{Change, Changed, FolderLayer, LayerKind};
pub use level::Isolation;
pub use limits::{Limits, MOST_IN_MEMORY, machine_memory};
pub use loopback::Loopback;
#[cfg(unix)]
pub use mounted::is_mounted;
pub use observation::{
    FirstUse, Gap, LeftProcess, NEVER_SEEN, NetworkAttempt, Observation, Observe, ObservedFile,
    ObservedKind,
};
#[cfg(unix)]
pub use outcome::Recorded;
pub use outcome::{Captured, Ending, Enforcement, Enforcer, Limit, Outcome};
pub use places::{check_own_place, is_system_place};
pub use spec::{
    FIXED_ENVIRONMENT, INSIDE_HOME, INSIDE_TMP, INSIDE_WORK, Layered, Mount, OnFile, OnOutput,
    Ordinary, Spec, Stream,
};
#[cfg(unix)]
pub use streams::PipedInput;
pub use streams::{Stdin, Terminal, TerminalChange, TerminalEvent, TerminalLog, TerminalSize};
pub use view::{PROGRAM_FOLDERS, View, ViewAccess, ViewPlace, is_program_place};

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
    level: Isolation,
    capabilities: Option<Capabilities>,
}

impl Sandbox {
    /// A sandbox of exactly this level, for callers whose next step is a run: it only checks what needs no
    /// process. A layer that proves missing refuses the run itself.
    ///
    /// # Errors
    /// [`Missing`] names a layer of that level that this machine certainly does not offer.
    pub fn at(level: Isolation) -> Result<Sandbox, Missing> {
        if level == Isolation::None {
            return Ok(Sandbox::without_isolation());
        }
        #[cfg(target_os = "linux")]
        return linux::find_capabilities(level).map(|found| Sandbox::isolating(level, found));
        #[cfg(not(target_os = "linux"))]
        return Err(unsupported());
    }

    /// The same for full isolation, but sets every layer up once, for an empty command, before it answers:
    /// for callers who need to know before they begin whether they could run anything.
    ///
    /// # Errors
    /// [`Missing`] names the first layer that this machine does not offer, and why.
    pub fn probe() -> Result<Sandbox, Missing> {
        Sandbox::probe_at(Isolation::Full)
    }

    /// [`Sandbox::probe`] for one level.
    ///
    /// # Errors
    /// [`Missing`] names the first layer of that level that this machine does not offer, and why.
    pub fn probe_at(level: Isolation) -> Result<Sandbox, Missing> {
        if level == Isolation::None {
            return Ok(Sandbox::without_isolation());
        }
        #[cfg(target_os = "linux")]
        return linux::probe(level).map(|found| Sandbox::isolating(level, found));
        #[cfg(not(target_os = "linux"))]
        return Err(unsupported());
    }

    /// The strongest level that works here, for a message that offers it by name, never to be
    /// used without being asked for. Every stronger one comes with what it lacks.
    pub fn find_strongest() -> (Isolation, Vec<(Isolation, Missing)>) {
        let mut lacking = Vec::new();
        for level in Isolation::ALL {
            match Sandbox::probe_at(level) {
                Ok(_) => return (level, lacking),
                Err(missing) => lacking.push((level, missing)),
            }
        }
        (Isolation::None, lacking)
    }

    #[cfg(target_os = "linux")]
    fn isolating(level: Isolation, capabilities: Capabilities) -> Sandbox {
        Sandbox {
            level,
            capabilities: Some(capabilities),
        }
    }

    /// A "sandbox" that isolates nothing. It exists for people who ask for it by name; records
    /// made with it must say [`Isolation::None`].
    pub fn without_isolation() -> Sandbox {
        Sandbox {
            level: Isolation::None,
            capabilities: None,
        }
    }

    /// Which isolation commands of this sandbox get.
    pub fn isolation(&self) -> Isolation {
        self.level
    }

    /// What the kernel offered; nothing without isolation.
    pub fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_ref()
    }

    /// Runs the command of `spec` to its end or to its first limit.
    ///
    /// # Errors
    /// [`SandboxError`] means that the command was not run, was cancelled, or that its end is
    /// not known. A command that fails, crashes or is stopped by a limit is an [`Outcome`].
    #[cfg(unix)]
    pub fn run(&self, spec: &Spec) -> Result<Outcome, SandboxError> {
        self.record(spec).map(|recorded| recorded.outcome)
    }

    /// The same, and gives back what changed in a layered folder and what was observed.
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    #[cfg(unix)]
    pub fn record(&self, spec: &Spec) -> Result<Recorded, SandboxError> {
        spec.check()?;
        #[cfg(target_os = "linux")]
        return linux::run(spec, self.level, self.capabilities.as_ref());
        #[cfg(not(target_os = "linux"))]
        {
            if self.level != Isolation::None || spec.layered.is_some() {
                return Err(SandboxError::Unsupported);
            }
            plain::run(spec)
        }
    }

    /// Commands cannot be run here.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn run(&self, spec: &Spec) -> Result<Outcome, SandboxError> {
        spec.check()?;
        Err(SandboxError::Unsupported)
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
