//! Errors of recording and replaying, each with a code, a place and advice.

use std::io;
use std::path::{Path, PathBuf};

use runseal_core::canon::NoCanonicalForm;
use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::verify::Outcome;

/// Why recording or replaying failed.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The proxy cannot listen on the address.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address, with its port.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The upstream is not a valid address.
    #[error("`{url}` is not a valid upstream: {reason}")]
    Upstream {
        /// The given URL.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file could not be read.
    #[error("it cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("it cannot be written")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A recording with this name exists already.
    #[error("a recording already exists")]
    Exists {
        /// The existing file, which is never replaced.
        path: PathBuf,
    },
    /// The file is not a recording that can be replayed.
    #[error("it is not a recording that can be replayed: {reason}")]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The recording has fewer calls than the fork point.
    #[error("it has {calls} calls, so it cannot be forked at call {at}")]
    Fork {
        /// The recording.
        path: PathBuf,
        /// The requested fork point.
        at: usize,
        /// The number of calls in the recording.
        calls: usize,
    },
    /// The recording is still being made.
    #[error("it is still being recorded")]
    Live {
        /// The journal, which its recorder has locked.
        path: PathBuf,
    },
    /// A secret was found in the output, which was then deleted.
    #[error("a known secret of kind `{kind}` is at byte {offset}")]
    Secret {
        /// The deleted output.
        path: PathBuf,
        /// The kind of secret.
        kind: String,
        /// The offset of its first byte in that output.
        offset: usize,
    },
    /// The server could not be started.
    #[error("cannot start the server `{program}`")]
    Server {
        /// The program as it was given.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The system could not provide a thread, a signal handler or random bytes.
    #[error("the system refuses: {0}")]
    System(String),
}

impl Diagnose for NetError {
    fn diagnosis(&self) -> Diagnosis {
        let outcome = match self {
            Self::Upstream { .. } | Self::Fork { .. } => Outcome::Usage,
            Self::System(_) => Outcome::Internal,
            Self::Recording { .. } => Outcome::Malformed,
            Self::Listen { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Exists { .. }
            | Self::Live { .. }
            | Self::Server { .. } => Outcome::Unreadable,
            Self::Secret { .. } => Outcome::Invalid,
        };
        let location = match self.path() {
            Some(path) => Location::Within(path.display().to_string()),
            None => Location::InMessage,
        };
        Diagnosis::of(self, outcome, self.code())
            .located(location)
            .hint(self.hint())
    }
}

impl NetError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "LISTEN",
            Self::Upstream { .. } => "UPSTREAM",
            Self::Read { .. } => "READ",
            Self::Write { .. } => "WRITE",
            Self::Exists { .. } => "EXISTS",
            Self::Recording { .. } => "RECORDING",
            Self::Fork { .. } => "FORK",
            Self::Live { .. } => "LIVE",
            Self::Secret { .. } => "SECRET",
            Self::Server { .. } => "SERVER",
            Self::System(_) => "SYSTEM",
        }
    }

    /// Returns the file that the error concerns.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::Exists { path }
            | Self::Recording { path, .. }
            | Self::Fork { path, .. }
            | Self::Live { path }
            | Self::Secret { path, .. } => Some(path),
            Self::Listen { .. } | Self::Upstream { .. } | Self::Server { .. } | Self::System(_) => {
                None
            }
        }
    }

    /// Advice on how to proceed.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "`--listen 127.0.0.1:0` picks a free port",
            Self::Upstream { .. } => "write it as `https://host[:port][/path]`",
            Self::Read { .. } => "check the name and the permissions",
            Self::Write { path, source }
                if source.kind() != io::ErrorKind::NotFound
                    && path.extension().is_some_and(|ending| ending == "journal") =>
            {
                "free some space; `runseal proxy finish --recording FILE` then keeps what was answered so far"
            }
            Self::Write { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "create its folder first"
            }
            Self::Write { .. } => "check the folder, its permissions and its free space",
            Self::Exists { .. } => "recordings are not overwritten: name another file",
            Self::Fork { .. } => "calls are counted from 0: N answers come from the recording",
            Self::Live { .. } => "end the recorder first; it finishes the recording itself",
            Self::Recording { .. } => "`runseal model-io verify` says what is wrong with it",
            Self::Secret { .. } => {
                "add a pattern for it with `--redact FILE` and record again; nothing was kept"
            }
            Self::Server { .. } => "name the server's program and its arguments after `--`",
            Self::System(_) => "try again when the machine is less busy",
        }
    }

    pub(crate) fn no_form(path: &Path) -> impl Fn(NoCanonicalForm) -> Self + '_ {
        |error| Self::Recording {
            path: path.to_owned(),
            reason: format!("a request cannot be matched: {error}"),
        }
    }

    pub(crate) fn read(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}
