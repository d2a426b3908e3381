//! Why a command was not recorded.

use std::io;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::source::SourceError;
use runseal_core::verify::Finding;
use runseal_sandbox::Limit;
use runseal_sandbox::outputs::OutputError;

use super::accesses::AccessError;
use super::run::RunError;
use crate::run::seal::SealError;
use crate::run::staging::RunFilesError;
use runseal_fs::models::SecretSearchError;

/// Why nothing was sealed. Nothing is left behind either.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command was not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The command failed, was killed or reached a limit, and failures are not kept; or a limit
    /// stopped its replay.
    #[error("the command {how}")]
    Failed {
        /// For people: the exit code, signal or limit, with a verb.
        how: String,
        /// Its standard error, unchanged.
        stderr: Vec<u8>,
        /// Whether it was stopped by a limit.
        is_stopped: bool,
        /// The limit that it ran into, whatever it then did itself.
        limit: Option<Limit>,
        /// Which programs asked for the network and were refused, and what for.
        refused: Vec<String>,
    },
    /// A replay cannot give what was sealed within the limits, so nothing was run.
    #[error("the sealed run left {needed} bytes, and its replay may write {allowed}")]
    Room {
        /// How many bytes the sealed files have.
        needed: u64,
        /// How many may be written.
        allowed: u64,
    },
    /// What it read cannot be sealed.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The value of a secret variable stands in files that would be sealed.
    #[error("the value of `{name}` is not to be sealed, and stands in {}", list(.files))]
    Secret {
        /// The variable.
        name: String,
        /// Where in the bundle.
        files: Vec<String>,
    },
    /// It read the seed of a redactable bundle, which is for its owner alone.
    #[error("the command read `{0}`, the seed of a redactable bundle, which is for you alone")]
    Seed(String),
    /// A file changed while it was read.
    #[error("`{0}` changed while the command ran: what was read cannot be sealed")]
    Changed(String),
    /// It read a large file that is nearly all holes.
    #[error("`{path}` has {bytes} bytes, of which hardly any are on disk: it is not sealed")]
    Sparse {
        /// Its path.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// It left something that cannot be an artifact.
    #[error("the command left `{path}`, which cannot be sealed: {reason}")]
    Left {
        /// Its path, as the command sees it.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What it left could not be read.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The user interrupted the recording.
    #[error("interrupted")]
    Interrupted,
    /// The user interrupted the command, and failures are not kept.
    #[error("the command was interrupted")]
    CommandInterrupted,
    /// Something could not be read or written, or the target exists.
    #[error(transparent)]
    Files(#[from] RunFilesError),
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The command has a text without canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The exchange with models cannot be stored.
    #[error("what models were asked cannot be sealed: {0}")]
    Models(String),
    /// The recorded answers of models cannot be given in a replay.
    #[error("the recorded calls of models cannot be answered: {0}")]
    ModelReplay(String),
    /// A secret that went through the proxy is in what was to be sealed.
    #[error(transparent)]
    ProxySecret(#[from] SecretSearchError),
    /// The run asked models, and nobody answers for them.
    #[error(
        "the run asked models, and this library opens no sockets to answer for them; \
         `runseal replay` does, from what the bundle holds"
    )]
    AskedModels,
    /// A replay was to leave the recorded answers of models, and there are none.
    #[error("the run asked no models, so there is no call to fork at")]
    AskedNoModels,
    /// A replay was given files for an engine's run, which names none outside its bundle.
    #[error("an engine's run has all of its input in the bundle, so no file can be given for it")]
    NamesNoFiles,
    /// A replay of an engine's run was given rules for comparing.
    #[error("an engine's results are compared exactly, as document 004 demands")]
    ComparesExactly,
    /// A replay of an engine's run was given devices.
    #[error("an engine uses no devices")]
    UsesNoDevices,
    /// The bundle does not verify.
    #[error("the bundle would not verify")]
    Rejected(Vec<Finding>),
}

fn list(files: &[String]) -> String {
    const SHOWN: usize = 5;
    let name = |file: &String| format!("`{}`", file.escape_debug());
    let shown: Vec<String> = files.iter().take(SHOWN).map(name).collect();
    match files.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl From<SealError> for RecordError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Rejected(findings) => Self::Rejected(findings),
            SealError::Sandbox(error) => Self::Run(error.into()),
            SealError::Files(error) => Self::Files(error),
            SealError::Read(error) => Self::Read(error),
        }
    }
}

/// An error of the work folder as a recording error.
pub(crate) fn work_error(source: io::Error) -> RecordError {
    RecordError::Read(SourceError::Io {
        path: "the work folder".to_owned(),
        source,
    })
}
