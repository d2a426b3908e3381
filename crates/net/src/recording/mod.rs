//! Recordings on disk: what was requested and answered.
//!
//! While it is being made, a recording is a *journal* next to its target (`<name>.journal`): an
//! append-only file, so that what was answered is kept even if the program is killed. At the end
//! the journal becomes `model_io.json`, with large bodies as files in `<name>.bodies/` named by
//! their hash, and is then deleted. Everything in either has passed through `redact`.

mod document;
mod exchange;
mod interaction;
mod journal;
mod load;
mod notes;
mod recorder;

use std::path::{Path, PathBuf};

use runseal_core::formats::model_io::bodies::bodies_folder;

pub use document::{Finished, Finishing, finish_recording};
pub use exchange::{End, Exchange};
pub use journal::{Journal, JournalReader};
pub use load::{Recorded, Recording};
pub use notes::{Note, Notes, RequestNote};
pub use recorder::Recorder;

/// Returns the path of a recording's journal.
pub fn journal_path(recording: &Path) -> PathBuf {
    with_suffix(recording, ".journal")
}

/// Returns the folder of a recording's large bodies.
pub fn bodies_path(recording: &Path) -> PathBuf {
    let name = recording.file_name().unwrap_or_default().to_string_lossy();
    recording.with_file_name(bodies_folder(&name))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter {
    /// HTTP requests to a model's API.
    HttpProxy,
    /// MCP on standard input and output.
    McpStdio,
    /// MCP over streamable HTTP.
    McpHttp,
}

impl Adapter {
    /// Returns the name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HttpProxy => "http-proxy",
            Self::McpStdio => "mcp-stdio",
            Self::McpHttp => "mcp-http",
        }
    }

    /// Returns the adapter with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::HttpProxy, Self::McpStdio, Self::McpHttp]
            .into_iter()
            .find(|adapter| adapter.name() == name)
    }
}

/// The beginning of a journal: what is recorded, and which recording it continues.
#[derive(Debug, Clone)]
pub struct Session {
    /// What is being recorded.
    pub adapter: Adapter,
    /// Members that matching ignores.
    pub volatile: crate::matching::Volatile,
    /// The recording that this one continues, if any.
    pub parent: Option<Parent>,
}

/// A recording that another one continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The file, as it was given.
    pub path: PathBuf,
    /// The hash of its bytes.
    pub sha256: String,
    /// The hash of its session, as `runseal model-io verify` prints it.
    pub model_io_hash: String,
    /// How many of its interactions this one begins with.
    pub interactions: usize,
    /// Whether this is a fork; otherwise it is the parent with further interactions.
    pub is_fork: bool,
}
