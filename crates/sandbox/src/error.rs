//! What can keep a command from running. Every error names the thing that failed; nothing here
//! describes how a command itself ended (that is an [`crate::Outcome`]).

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// One layer of the isolation, or one step of putting it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Layer {
    /// The operating system or processor has no sandbox.
    Platform = 1,
    /// A new process for the sandbox.
    Process,
    /// The capabilities that root needs to build the sandbox.
    RootCapabilities,
    /// A user namespace, in which the caller is root.
    UserNamespace,
    /// Mount, PID, network, IPC, UTS and cgroup namespaces.
    Namespaces,
    /// The user and group mapping of the user namespace.
    IdMap,
    /// A private /proc for the PID namespace.
    Proc,
    /// The new root with its read-only system folders.
    Root,
    /// The writable work folder.
    WorkFolder,
    /// A read-only mount that the caller asked for.
    ExtraMount,
    /// The change into the new root.
    Pivot,
    /// Giving up user, groups and capabilities.
    Privileges,
    /// Resource limits of the process (`setrlimit`).
    ResourceLimits,
    /// Landlock, enforced in full.
    Landlock,
    /// The seccomp filter, which refuses system calls.
    Seccomp,
    /// The working directory inside.
    WorkingDirectory,
    /// Standard input, output and error.
    StandardStreams,
    /// The layered folder: neither an overlay nor a copy of it could be made.
    LayeredFolder,
    /// Notifications of what the command opens; a run goes on without.
    Observation,
    /// A loopback interface of the command's own, with a listener that is handed out.
    Loopback,
    /// Overlays that show the host's folders without what is hidden in them.
    View,
    /// A terminal of the command's own.
    Terminal,
}

impl Layer {
    /// All of them, in the order of their numbers.
    pub const ALL: [Layer; 22] = [
        Layer::Platform,
        Layer::Process,
        Layer::RootCapabilities,
        Layer::UserNamespace,
        Layer::Namespaces,
        Layer::IdMap,
        Layer::Proc,
        Layer::Root,
        Layer::WorkFolder,
        Layer::ExtraMount,
        Layer::Pivot,
        Layer::Privileges,
        Layer::ResourceLimits,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::WorkingDirectory,
        Layer::StandardStreams,
        Layer::LayeredFolder,
        Layer::Observation,
        Layer::Loopback,
        Layer::View,
        Layer::Terminal,
    ];

    /// The layer with this number, as the set-up process reports it.
    #[cfg(target_os = "linux")]
    pub(crate) fn from_number(number: u8) -> Option<Layer> {
        Layer::ALL.into_iter().find(|layer| *layer as u8 == number)
    }

    /// A few words for people.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Platform => "platform support",
            Layer::Process => "a new process",
            Layer::RootCapabilities => "root's capabilities",
            Layer::UserNamespace => "user namespace",
            Layer::Namespaces => "mount, PID, network, IPC and UTS namespaces",
            Layer::IdMap => "user and group mapping",
            Layer::Proc => "private /proc",
            Layer::Root => "read-only system folders",
            Layer::WorkFolder => "work folder",
            Layer::ExtraMount => "extra read-only mount",
            Layer::Pivot => "change of root",
            Layer::Privileges => "dropping privileges",
            Layer::ResourceLimits => "resource limits",
            Layer::Landlock => "Landlock",
            Layer::Seccomp => "seccomp filter",
            Layer::WorkingDirectory => "working directory",
            Layer::StandardStreams => "standard streams",
            Layer::LayeredFolder => "layered folder",
            Layer::Observation => "observation",
            Layer::Loopback => "a loopback of its own",
            Layer::View => "view of the host's folders",
            Layer::Terminal => "a terminal of its own",
        }
    }

    fn is_or_are(self) -> &'static str {
        match self {
            Layer::RootCapabilities
            | Layer::Namespaces
            | Layer::Root
            | Layer::ResourceLimits
            | Layer::StandardStreams => "are",
            _ => "is",
        }
    }

    /// How a person could make the layer available; empty where there is nothing to say.
    pub fn hint(self) -> &'static str {
        match self {
            Layer::Platform => "run on Linux (x86_64 or aarch64), or ask for no isolation",
            Layer::UserNamespace | Layer::Namespaces | Layer::IdMap => {
                "user namespaces may be forbidden: see sysctl user.max_user_namespaces, \
                 kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, \
                 or the container's seccomp profile"
            }
            Layer::RootCapabilities => {
                "run as an ordinary user, or give root CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID \
                 and CAP_CHOWN"
            }
            Layer::Proc => "a container that masks parts of /proc forbids mounting another one",
            Layer::Root | Layer::Pivot => {
                "AppArmor or the container may forbid mounts inside user namespaces"
            }
            Layer::Landlock => "needs Linux 5.13 or later with `landlock` among its active LSMs",
            Layer::Seccomp => "needs a kernel with CONFIG_SECCOMP_FILTER",
            _ => "",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A layer that could not be put up, and what the system said.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no isolation: {layer} {} missing: {reason}", .layer.is_or_are())]
pub struct Missing {
    /// The layer that is missing.
    pub layer: Layer,
    /// What the system said.
    pub reason: String,
}

impl Missing {
    /// How to go on, for the `hint:` line; empty where there is nothing to say.
    pub fn hint(&self) -> &'static str {
        self.layer.hint()
    }
}

/// A [`crate::Spec`] that cannot be run by anyone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// There is no program to run.
    #[error("the command is empty")]
    EmptyCommand,
    /// A NUL cannot be passed to a program.
    #[error("{what} holds a NUL character")]
    Nul {
        /// The part of the specification that holds it.
        what: &'static str,
    },
    /// An environment name that is empty or holds `=`.
    #[error("environment name `{name}` is empty or holds `=`")]
    EnvironmentName {
        /// The name as it was given.
        name: String,
    },
    /// A path on the host that is not absolute.
    #[error("host path `{}` is not absolute", path.display())]
    HostPath {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A path inside that is relative, climbs, or lies where the sandbox has its own things.
    #[error("inside path `{}` is not absolute, climbs, or is reserved", path.display())]
    InsidePath {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A folder that cannot be layered, or a path that cannot be shown at its own place.
    #[error("`{}` cannot be shown at its own place: {reason}", path.display())]
    Place {
        /// The path as it was given.
        path: PathBuf,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// A limit of zero would let nothing run.
    #[error("limit `{name}` is zero")]
    ZeroLimit {
        /// The name of the member of [`crate::Limits`].
        name: &'static str,
    },
    /// A loopback of the command's own needs namespaces, and only there the host's is out of reach.
    #[error(
        "a loopback of the command's own belongs to full isolation, one of the host's to the others"
    )]
    Loopback,
}

/// Why a command was not run, or why its end is not known.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The specification itself is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Isolation could not be put up for this run.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The program is not there or cannot be executed.
    #[error("cannot execute `{program}`")]
    Execute {
        /// The program as given.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A system call outside the sandbox failed.
    #[error("cannot {what}")]
    System {
        /// The step that failed, as a phrase for the message.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The caller's [`crate::CancelToken`] ended it; no process is left.
    #[error("cancelled")]
    Cancelled,
    /// The processes ended without saying how; the command's end is unknown.
    #[error("the sandbox ended without a report")]
    NoReport,
    /// This operating system cannot run commands here.
    #[error("commands cannot be run on this operating system")]
    Unsupported,
}

#[cfg(test)]
mod tests {
    use super::Layer;

    #[test]
    fn layer_numbers_are_unique_and_in_order() {
        let numbers: Vec<u8> = Layer::ALL.iter().map(|layer| *layer as u8).collect();
        assert_eq!(numbers, (1..=22).collect::<Vec<u8>>());
    }
}
