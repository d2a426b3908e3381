//! Why a command was not recorded.

use std::io;
use std::path::PathBuf;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::source::SourceError;
use runseal_core::verify::{Finding, Outcome};
use runseal_sandbox::Limit;
use runseal_sandbox::outputs::OutputError;

use super::accesses::AccessError;
use super::run::RunError;
pub use super::searched::FoundSecret;
use crate::run::seal::SealError;
use crate::run::staging::RunFilesError;
use runseal_fs::models::{SECRET_HINT, SecretSearchError};

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
    #[error("the sealed run left {needed} {what}, and its replay may write {allowed}")]
    Room {
        /// `bytes` or `files`.
        what: &'static str,
        /// How many the sealed run left.
        needed: u64,
        /// How many may be written.
        allowed: u64,
        /// The option that allows more.
        option: &'static str,
    },
    /// What it read cannot be sealed.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Secrets stand in what would be sealed.
    #[error("secrets are not sealed unasked, and there are some in {}", list(.found))]
    Secrets {
        /// Where, and what they are.
        found: Vec<FoundSecret>,
        /// The folder where the command's results are kept, unsealed.
        kept: Option<PathBuf>,
    },
    /// It read the seed of a redactable bundle, which is for its owner alone.
    #[error("the command read `{0}`, the seed of a redactable bundle, which is for you alone")]
    Seed(String),
    /// A file changed while it was read.
    #[error("`{0}` changed while the command ran: what was read cannot be sealed")]
    Changed(String),
    /// It read a large file that is nearly all holes.
    #[error("`{path}` has {bytes} bytes, and hardly any of them are on disk: it is not sealed")]
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

impl Diagnose for RecordError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Run(error) => error.diagnosis(),
            Self::Files(error) => error.diagnosis(),
            Self::Read(error) => error.diagnosis(),
            Self::Failed { limit, .. } => {
                let failed = Diagnosis::invalid(self, "FAILED");
                match limit {
                    Some(limit) => failed.hint(limit_hint(*limit)),
                    None => failed,
                }
            }
            Self::Room { needed, option, .. } => Diagnosis::unreadable(self, "LIMIT")
                .message(format!("{self}: nothing was compared"))
                .hint(format!("`{option} {needed}` lets it write as much")),
            Self::Access(_) => Diagnosis::invalid(self, "NAME")
                .hint("rename the file, or keep the command from reading it"),
            Self::Secrets { kept, .. } => {
                let kept = kept.as_ref().map(|kept| {
                    format!(", and what the command left is in `{}`", kept.display())
                });
                Diagnosis::invalid(self, "SECRET")
                    .message(format!("{self}; nothing was sealed{}", kept.unwrap_or_default()))
                    .hint("`--hide PATH` keeps a file from the command, `--keep GLOB` leaves out files that it writes, `--secret NAME` gives it a variable unsealed; `--allow-secret GLOB` seals a file with what looks like one, and says so")
            }
            Self::Seed(_) => Diagnosis::invalid(self, "SEED")
                .message(format!("{self}; nothing was sealed"))
                .hint("keep the command from reading the folder of bundles, or keep bundles elsewhere with `--out DIR`"),
            Self::Changed(_) => Diagnosis::invalid(self, "CHANGED")
                .hint("record again while nothing else writes to the folder"),
            Self::Sparse { .. } => Diagnosis::invalid(self, "SPARSE")
                .message(format!("{self}, and neither is the run"))
                .hint("`--reference-above 64M` seals the hashes of large files only, which have to be read for it"),
            Self::Left { .. } => Diagnosis::invalid(self, "LEFT").hint(
                "`--keep GLOB` chooses which of the files it writes are sealed; the rest is left out",
            ),
            Self::Output(_) => Diagnosis::unreadable(self, "OUTPUT"),
            Self::Interrupted | Self::CommandInterrupted => {
                Diagnosis::of(self, Outcome::Interrupted, "INTERRUPTED")
            }
            Self::NoForm(_) => Diagnosis::of(self, Outcome::Malformed, "JSON"),
            Self::Models(_) => Diagnosis::invalid(self, "MODELS")
                .hint("`runseal proxy record --help` says what is recorded, and what is never kept"),
            Self::ModelReplay(_) => Diagnosis::invalid(self, "MODELS")
                .hint("model_io.json in the bundle has the calls; --fork-at names one of them"),
            // Its message has its cause.
            Self::ProxySecret(_) => Diagnosis::invalid(self, "SECRET")
                .message(format!("{self}; nothing was sealed"))
                .hint(SECRET_HINT),
            Self::AskedModels => Diagnosis::invalid(self, "MODELS"),
            Self::AskedNoModels => misused(
                self,
                "leave --fork-at out; `runseal record --proxy` records what models are asked",
            ),
            Self::NamesNoFiles => misused(self, "leave --input out"),
            Self::ComparesExactly => misused(self, "leave --compare out"),
            Self::UsesNoDevices => misused(self, "leave --device out"),
            Self::Rejected(_) => Diagnosis::invalid(self, "REJECTED"),
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Rejected(findings) => findings,
            _ => &[],
        }
    }
}

fn misused(error: &RecordError, hint: &'static str) -> Diagnosis {
    Diagnosis::of(error, Outcome::Usage, "USAGE").hint(hint)
}

/// How to raise the limit that a command reached.
pub fn limit_hint(limit: Limit) -> &'static str {
    match limit {
        Limit::WallTime => "`--timeout` gives it more time",
        Limit::WorkBytes => "`--disk` lets it write more",
        Limit::WorkFiles => {
            "`--files` lets it write more of them; folders may be nested 256 deep at the most"
        }
        Limit::Temporary => "`--env TMPDIR=$PWD` leads its temporary files into the folder",
        Limit::FreeSpace | Limit::FreeFiles => {
            "free some space, or set TMPDIR to a folder on a larger disk: what it writes is kept there"
        }
        Limit::SharedMemory => "it holds as much as the machine has memory, or as `--memory` says",
        Limit::Processes => "`--processes` lets it have more",
        Limit::Stdin => "`--stdin-bytes` lets more be read and sealed",
        Limit::Stdout | Limit::Stderr => {
            "let it write its output to a file: `sh -c 'COMMAND > out.txt'`"
        }
        Limit::Memory => "`--memory` lets it have more",
    }
}

fn list(found: &[FoundSecret]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = found.iter().take(SHOWN).map(ToString::to_string).collect();
    match found.len().saturating_sub(SHOWN) {
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
