//! How a command ended. Pure data; the caller turns it into evidence.

#[cfg(unix)]
use std::path::PathBuf;
use std::time::Duration;

#[cfg(unix)]
use crate::feed::TakenInput;
#[cfg(unix)]
use crate::layer::FolderLayer;
#[cfg(unix)]
use crate::observation::Observation;
use crate::streams::TerminalLog;

/// The limit that ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// It ran longer than allowed.
    WallTime,
    /// It read more from standard input than is kept.
    Stdin,
    /// It printed more to standard output than allowed.
    Stdout,
    /// It printed more to standard error than allowed.
    Stderr,
    /// All its processes together used more memory than allowed.
    Memory,
    /// The work folder took more space than allowed, or its files are longer together, holes
    /// included.
    WorkBytes,
    /// The work folder held more files and folders than allowed.
    WorkFiles,
    /// The private temporary folder took more than allowed, where the kernel does not keep it from that.
    Temporary,
    /// Less space was left on the disk than has to be.
    FreeSpace,
    /// Room for fewer files was left on the disk than has to be.
    FreeFiles,
    /// The shared memory in /dev/shm was full.
    SharedMemory,
    /// It had more processes and threads than allowed.
    Processes,
}

impl Limit {
    /// What became too much, in a few words that complete a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Limit::WallTime => "its time was over",
            Limit::Stdin => "it read too much from standard input",
            Limit::Stdout => "it printed too much on standard output",
            Limit::Stderr => "it printed too much on standard error",
            Limit::Memory => "it used too much memory",
            Limit::WorkBytes => "it wrote too many bytes",
            Limit::WorkFiles => "it wrote too many files",
            Limit::Temporary => "it wrote too much to its temporary folder",
            Limit::FreeSpace => "the disk was nearly full",
            Limit::FreeFiles => "the disk had hardly room for another file",
            Limit::SharedMemory => "its shared memory was full",
            Limit::Processes => "it had too many processes and threads",
        }
    }
}

/// How the command's first process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(u8),
    /// By a signal that was not ours.
    Signaled(i32),
    /// Stopped because it reached a limit.
    Stopped(Limit),
}

/// What one stream printed, up to its limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes, never more than the limit.
    pub bytes: Vec<u8>,
    /// Whether there were more.
    pub truncated: bool,
}

/// Who held a command to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enforcer {
    /// Nobody: the command ran without isolation.
    Nobody,
    /// A process of ours that looks every few milliseconds. A fast command can exceed the limit
    /// for that long.
    Watcher,
    /// The kernel, at every moment and for everything that counts.
    Kernel,
}

impl Enforcer {
    #[cfg(target_os = "linux")]
    pub(crate) fn kernel_if(is_kernel: bool) -> Enforcer {
        if is_kernel {
            Enforcer::Kernel
        } else {
            Enforcer::Watcher
        }
    }
}

/// Who held a command to the limits that not every machine and caller can have from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enforcement {
    /// Memory of all processes together: the kernel where a control group could be made.
    pub memory: Enforcer,
    /// Size of the work folder: the kernel up to [`crate::MOST_IN_MEMORY`].
    pub work_folder: Enforcer,
}

impl Enforcement {
    /// What can be said of two commands together.
    pub fn weakest(self, other: Enforcement) -> Enforcement {
        Enforcement {
            memory: self.memory.min(other.memory),
            work_folder: self.work_folder.min(other.work_folder),
        }
    }
}

/// How a command ended and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it ended by itself, by a signal or by a limit.
    pub ending: Ending,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// How long it took, set-up included. Differs between runs.
    pub duration: Duration,
    /// Who held it to its limits.
    pub enforcement: Enforcement,
    /// What it took of an input that was passed on while it ran.
    #[cfg(unix)]
    pub input: Option<TakenInput>,
    /// What happened on its terminal. What was shown there is in [`Outcome::stdout`], or in [`Outcome::stderr`] if
    /// standard output was something else.
    pub terminal: Option<TerminalLog>,
    /// The signal by which it was interrupted, however it ended then.
    pub interrupted: Option<i32>,
}

/// An outcome with all that was recorded beside it.
#[cfg(unix)]
#[derive(Debug)]
pub struct Recorded {
    /// How it ended and what it printed.
    pub outcome: Outcome,
    /// What changed in [`crate::Spec::layered`]; nothing without one, and nothing when a limit
    /// stopped a command that was not an ordinary one.
    pub layer: Option<FolderLayer>,
    /// Absolute paths at which the command changed something in a layered place of its view, sorted: what it
    /// wrote there is gone.
    pub written: Vec<PathBuf>,
    /// What was seen, where [`crate::Spec::observe`] asked for it.
    pub observation: Option<Observation>,
    /// The place that the program was executed from, as the command's file system has it: of several
    /// on PATH the one that the kernel took. Nothing where that is not known.
    pub program: Option<PathBuf>,
    /// The most memory that it had at once: in a control group of its own all of it together, otherwise the resident
    /// memory of its largest process. Nothing where that is not known, as with processes smaller than the sandbox's own,
    /// of which each begins as a copy.
    pub memory_bytes: Option<u64>,
}

impl Outcome {
    /// Whether the command ended by itself with exit code 0.
    pub fn success(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// The exit code, where the command ended by itself.
    pub fn exit_code(&self) -> Option<u8> {
        match self.ending {
            Ending::Exited(code) => Some(code),
            Ending::Signaled(_) | Ending::Stopped(_) => None,
        }
    }

    /// The signal that ended it, where it was one. A limit counts as SIGKILL.
    pub fn signal(&self) -> Option<i32> {
        match self.ending {
            Ending::Exited(_) => None,
            Ending::Signaled(signal) => Some(signal),
            Ending::Stopped(_) => Some(9),
        }
    }

    /// The limit it ran into.
    pub fn limit(&self) -> Option<Limit> {
        match self.ending {
            Ending::Stopped(limit) => Some(limit),
            Ending::Exited(_) | Ending::Signaled(_) => None,
        }
    }

    /// Whether the time limit ended it.
    pub fn timed_out(&self) -> bool {
        self.limit() == Some(Limit::WallTime)
    }

    /// Whether the memory limit ended it.
    pub fn out_of_memory(&self) -> bool {
        self.limit() == Some(Limit::Memory)
    }
}
