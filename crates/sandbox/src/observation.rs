//! What a command was seen to do, as far as it can be seen. Pure data.
//!
//! A recorder, not a guard: the kernel tells of each call before it happens, the path is read
//! from the caller's memory then, and nothing keeps the caller from changing it afterwards. What
//! is not seen at all is in [`Observation::gaps`] where it depends on the run, and in
//! [`NEVER_SEEN`] where it never is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Missing;

/// What no observation sees, one sentence each, for people.
pub const NEVER_SEEN: [&str; 7] = [
    "reading the clock: programs ask the kernel's shared page, not the kernel",
    "reading environment variables and arguments",
    "looking at a file's times and owner; in the folders of programs also whether it exists, its size and where a link leads",
    "instructions for random numbers, cycle counters and processor features (RDRAND, RDTSC, CPUID)",
    "whether an open succeeded, and how much of a file was read",
    "calls of programs for another architecture, such as 32-bit ones",
    "what the kernel answers about itself: processors that may be used, memory, limits, priorities, free space",
];

/// Bounds on what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observe {
    /// Distinct paths that are kept; more are counted and make a [`Gap::TooManyFiles`].
    pub most_files: usize,
    /// Distinct programs that are kept for each of network, randomness and threads.
    pub most_programs: usize,
    /// Whether looking at names in folders of programs is noted too.
    pub looks_at_programs: bool,
}

impl Default for Observe {
    fn default() -> Self {
        Observe {
            most_files: 100_000,
            most_programs: 1_000,
            looks_at_programs: false,
        }
    }
}

/// What kind of thing a path was when it was first opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObservedKind {
    /// Regular file.
    File,
    /// Folder: opening one for reading lists it.
    Folder,
    /// Character or block device, /dev/urandom say.
    Device,
    /// Named pipe.
    Pipe,
    /// Unix socket.
    Socket,
    /// Nothing yet: the command made it by opening it.
    New,
}

/// What was done first with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FirstUse {
    /// Opened for reading (perhaps for writing too): the content from before the run counts.
    Read,
    /// Opened for writing only.
    Write,
    /// Executed, or loaded by the kernel to execute something else (the `#!` program, the
    /// loader of shared libraries).
    Execute,
}

/// One path that was opened or executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    /// Absolute path as the command's file system has it, links resolved. Below a layered folder
    /// it is the path in the real folder, also where the command worked in a copy elsewhere.
    pub path: PathBuf,
    /// What it was when it was first opened.
    pub kind: ObservedKind,
    /// Whether it was opened for reading at least once.
    pub is_read: bool,
    /// Whether it was opened for writing at least once.
    pub is_written: bool,
    /// Whether it was executed at least once.
    pub is_executed: bool,
    /// Whether it was to get another name at least once: what it held, or everything below it, is read
    /// there.
    pub is_renamed: bool,
    /// Whether it was first read, written or executed.
    pub first: FirstUse,
    /// Whether what it held before the run counts: it was read, executed, or opened for writing
    /// without being emptied, and nothing had emptied it by then.
    pub needs_original: bool,
    /// Size when it was first opened; 0 for what is not a file.
    pub bytes: u64,
    /// Time of last change then, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Time of the last change of anything about it then, its name included.
    pub status_changed_ns: i128,
    /// Further absolute names that lead to it over symbolic links, sorted; at most 16.
    pub also_as: Vec<PathBuf>,
}

/// A socket that was asked for, or a connection where sockets are allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkAttempt {
    /// The program that asked.
    pub program: PathBuf,
    /// What it asked for: `IPv4`, `IPv6`, `a Unix socket`, `netlink` or `family N`; for a connection with
    /// the address behind it.
    pub target: String,
    /// Whether the sandbox refused it.
    pub is_refused: bool,
}

/// A process that a command left running.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftProcess {
    /// Its name, as the kernel has it: 15 bytes at the most.
    pub name: String,
    /// The first word that it was started with.
    pub started_as: String,
}

/// What observation could not tell about this run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// Nothing was observed at all.
    NotObserved {
        /// The layer that was missing, and what the system said.
        reason: String,
    },
    /// More distinct paths than are kept.
    TooManyFiles {
        /// How many opens and executions had a path that was not kept.
        not_kept: u64,
    },
    /// More names were looked at, or given to something, than are kept.
    TooManyLooks {
        /// How many looks and renames were at a name that was not kept.
        not_kept: u64,
    },
    /// More distinct programs than are kept used randomness, threads or the network.
    TooManyPrograms,
    /// Opens whose path could not be read or resolved, because the process ended or changed it.
    Unresolved {
        /// How many opens could not be resolved.
        count: u64,
    },
    /// A file was written to, and what it held before is still there under another name of it, unlike without a
    /// layer.
    SplitNames {
        /// The file, by the name it was written by.
        path: PathBuf,
    },
    /// File systems that are mounted below the layered folder: they are not in it.
    MountBelow {
        /// The mount point.
        path: PathBuf,
    },
    /// Processes that still ran when the command ended, and were ended with it.
    LeftRunning {
        /// Which, as far as they are named.
        processes: Vec<LeftProcess>,
    },
    /// Of /proc only the processes were shown: a container around the sandbox covers parts of its own.
    PartialProc,
    /// The host's folders were shown as they are, and sockets were refused: there can be no overlays here.
    NoOverlay {
        /// What the system said.
        reason: String,
    },
    /// The command ran in a copy of the folder, under another path.
    CopiedFolder {
        /// The path of the copy, which no longer exists.
        path: PathBuf,
    },
}

/// Everything that was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    /// Every path that was opened or executed, sorted by its bytes.
    pub files: Vec<ObservedFile>,
    /// Absolute names below a layered folder, or outside the folders of programs, that were looked at without being opened, that were
    /// entered, or that a folder was to be made at; sorted, links unresolved, whether or not there was
    /// something. Below a copy, the names are those of the real folder.
    pub looks: Vec<PathBuf>,
    /// Absolute names that were to be opened and were not there for the command, sorted, links
    /// unresolved, outside the folders of programs; as many as are kept. Below a copy, the names are those of the
    /// real folder.
    pub missing: Vec<PathBuf>,
    /// Absolute names that something was to be renamed or linked to, sorted, links unresolved: whatever
    /// was there is not what is there now. Below a copy, the names are those of the real folder.
    pub given_names: Vec<PathBuf>,
    /// The program that the command's first process became in the end: a script's interpreter, or
    /// what a program that only finds others executed in its place.
    pub became: Option<PathBuf>,
    /// Sockets and connections, sorted, each once.
    pub network: Vec<NetworkAttempt>,
    /// Programs that asked the kernel for random bytes, with the number of calls. The first
    /// eight bytes that a program takes without waiting do not count, since glibc's allocator takes them at every start; reading
    /// /dev/urandom is among the files.
    pub randomness: BTreeMap<PathBuf, u64>,
    /// Programs that started threads, with their number.
    pub threads: BTreeMap<PathBuf, u64>,
    /// What could not be told, sorted.
    pub gaps: Vec<Gap>,
    /// How many calls were looked at.
    pub notifications: u64,
}

impl Observation {
    /// An observation of nothing, with the reason.
    pub fn none(missing: &Missing) -> Observation {
        Observation {
            gaps: vec![Gap::NotObserved {
                reason: missing.to_string(),
            }],
            ..Observation::default()
        }
    }

    /// Whether anything was observed.
    pub fn is_there(&self) -> bool {
        !self
            .gaps
            .iter()
            .any(|gap| matches!(gap, Gap::NotObserved { .. }))
    }
}
