//! What a command's standard streams lead to: pipes, files in memory, or a terminal.

use std::time::Duration;

#[cfg(unix)]
use std::fs::File;
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::sync::Arc;

use crate::spec::Stream;

/// What a command reads on standard input.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// A file in memory with these bytes.
    Bytes(Vec<u8>),
    /// A file in memory with the content of this one, from its first byte.
    #[cfg(unix)]
    File(Arc<File>),
    /// A pipe, into which what comes from elsewhere is passed while the command runs.
    #[cfg(unix)]
    Pipe(PipedInput),
}

impl From<Vec<u8>> for Stdin {
    fn from(bytes: Vec<u8>) -> Stdin {
        Stdin::Bytes(bytes)
    }
}

/// Input that is passed on as it comes.
#[cfg(unix)]
#[derive(Debug, Clone)]
pub struct PipedInput {
    /// Where it comes from. Only read when something is there, and its flags stay as they are: others may
    /// share it.
    pub from: Arc<OwnedFd>,
    /// An empty file that gets what the command took; nothing is kept without.
    pub kept: Option<Arc<File>>,
    /// The most bytes. A command that wants more is stopped ([`crate::Limit::Stdin`]).
    pub most: u64,
}

/// A pseudo terminal for a command: its controlling terminal, and what these of its streams lead to.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// Whether standard input is the terminal. [`crate::Spec::stdin`] means nothing then.
    pub stdin: bool,
    /// Whether standard output is.
    pub stdout: bool,
    /// Whether standard error is.
    pub stderr: bool,
    /// Its size when the command starts.
    pub size: TerminalSize,
    /// The caller's own terminal. Its size is followed, and while the caller is in its foreground, its keys are
    /// passed on as they are. Without one nobody types anything.
    #[cfg(unix)]
    pub own: Option<Arc<OwnedFd>>,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// How many characters a line has.
    pub columns: u16,
    /// How many lines there are.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> TerminalSize {
        TerminalSize {
            columns: 80,
            rows: 24,
        }
    }
}

/// What happened on a command's terminal, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalLog {
    /// The captured stream that holds what was shown. None if the terminal was neither standard output nor
    /// standard error.
    pub stream: Option<Stream>,
    /// What was shown, if no captured stream holds it.
    pub alone: Vec<u8>,
    /// What happened, in order.
    pub events: Vec<TerminalEvent>,
    /// How many bytes of what was typed the command took. Keys that only sent it a signal do not count.
    pub typed: u64,
}

/// Something that happened on a terminal, at a time since the command was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalEvent {
    /// When.
    pub at: Duration,
    /// What.
    pub what: TerminalChange,
}

/// A change of what a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalChange {
    /// So many further bytes were shown.
    Shown(usize),
    /// It got another size.
    Resized(TerminalSize),
}
