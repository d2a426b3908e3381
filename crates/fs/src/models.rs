//! Sessions that answer the model calls of a command.
//!
//! Whoever runs a command and whoever speaks to models meet here and know nothing else of each other:
//! a [`ModelSession`] takes over the listener that the command connects to, and reports at the end what
//! was exchanged.

mod admission;

use std::fmt::Debug;
use std::io::{self, Read};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::staged_files::{UnreadableFile, visit_files};

pub use admission::{Admission, Credentials};

/// What everything that is recorded has in place of a command's key; the session inserts the real one. In a
/// network namespace the command itself has it too, elsewhere it has a token of [`Credentials`].
pub const KEY_STAND_IN: &str = "runseal-keeps-the-key";

/// Answers model calls during a run.
pub trait ModelSession: Debug + Send + Sync {
    /// Takes over a listener that a command connects to, and answers whom `admission` allows; does not
    /// block.
    fn take(&self, listener: TcpListener, admission: Admission);

    /// Ends the session: nothing is answered any more.
    ///
    /// # Errors
    /// When the exchange cannot be stored; the text says why.
    fn finish(&self) -> Result<ModelTraffic, String>;

    /// The kind of the first secret in `content`, of those that the session came to know.
    ///
    /// # Errors
    /// When `content` cannot be read.
    fn find_secret(&self, content: &mut dyn Read) -> io::Result<Option<String>>;
}

/// Why what was staged must not get its name.
#[derive(Debug, thiserror::Error)]
pub enum SecretSearchError {
    /// A secret is in it.
    #[error("`{file}` holds a secret of kind `{kind}`, which went through the proxy")]
    Found {
        /// The file's path in the bundle or pack.
        file: String,
        /// What the secret is.
        kind: String,
    },
    /// It could not be looked for.
    #[error("`{file}` cannot be searched for secrets: {source}")]
    Read {
        /// The file's path in the bundle or pack.
        file: String,
        /// What the system said.
        source: io::Error,
    },
}

/// How to go on where a secret was found in what a run left.
pub const SECRET_HINT: &str = "nothing was kept; let the command neither print nor write it, or leave the file out with `--keep`";

/// Searches every file of a bundle or pack that is about to get its name for the secrets that `session`
/// knows: what a recording leaves out must not be beside it.
///
/// # Errors
/// When one is found, or a file cannot be read.
pub fn search_staged(session: &dyn ModelSession, folder: &Path) -> Result<(), SecretSearchError> {
    let found = visit_files(folder, |file, content| {
        Ok(match session.find_secret(content)? {
            Some(kind) => ControlFlow::Break(SecretSearchError::Found {
                file: file.to_owned(),
                kind,
            }),
            None => ControlFlow::Continue(()),
        })
    });
    match found {
        Ok(None) => Ok(()),
        Ok(Some(found)) => Err(found),
        Err(UnreadableFile { file, source }) => Err(SecretSearchError::Read { file, source }),
    }
}

/// The result of a session.
#[derive(Debug, Clone, Default)]
pub struct ModelTraffic {
    /// The recording that was made, named model_io.json; `None` if answers came from one.
    pub recording: Option<PathBuf>,
    /// What the recording may have missed.
    pub gaps: Vec<String>,
    /// Requests that the recording did not answer, as reported to the command.
    pub misses: Vec<String>,
    /// Requests that were turned away: they came from somebody other than the command.
    pub refused: u64,
    /// Requests that were answered from the recording.
    pub answered: u64,
    /// Recorded answers that nobody asked for.
    pub unused: u64,
    /// How the run went on from the recording by itself, where it was to.
    pub fork: Option<Fork>,
}

/// A run that parted from its recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The call from which on nothing was answered from the recording.
    pub at: usize,
    /// Calls that were answered from the recording.
    pub answered: u64,
    /// Calls that were answered live.
    pub live: usize,
    /// The recording of the fork.
    pub recording: PathBuf,
}

impl std::fmt::Display for Fork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            at,
            answered,
            live,
            recording,
        } = self;
        let recording = recording.display();
        write!(
            f,
            "FORKED at call {at}: {answered} answered from the recording, {live} live; {recording}"
        )
    }
}

/// Starts a session that answers from a recording.
pub type StartReplay<'a> = &'a dyn Fn(&Path) -> Result<Arc<dyn ModelSession>, String>;
