//! Recordings: what was asked and answered, on disk.
//!
//! While it is made, a recording is a *journal* beside its target (`<name>.journal`): lines that are
//! only ever added, so that whoever kills the program keeps what was answered before. At the end the
//! journal becomes `model_io.json`, with large bodies as files in `<name>.bodies/`, named by their
//! hash; then it is taken away. Everything in either has gone through `redact`.

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

/// Where the journal of a recording lies.
pub fn journal_path(recording: &Path) -> PathBuf {
    beside(recording, ".journal")
}

/// Where the large bodies of a recording lie.
pub fn bodies_path(recording: &Path) -> PathBuf {
    let name = recording.file_name().unwrap_or_default().to_string_lossy();
    recording.with_file_name(bodies_folder(&name))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// What was being recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter {
    /// HTTP, to the API of a model.
    HttpProxy,
    /// MCP on standard input and output.
    McpStdio,
    /// MCP over streamable HTTP.
    McpHttp,
}

impl Adapter {
    /// The name that recordings have it under.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HttpProxy => "http-proxy",
            Self::McpStdio => "mcp-stdio",
            Self::McpHttp => "mcp-http",
        }
    }

    /// The adapter of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::HttpProxy, Self::McpStdio, Self::McpHttp]
            .into_iter()
            .find(|adapter| adapter.name() == name)
    }
}

/// How a journal begins: what is recorded, and what it goes on from.
#[derive(Debug, Clone)]
pub struct Session {
    /// What is being recorded.
    pub adapter: Adapter,
    /// Members that matching leaves out.
    pub volatile: crate::matching::Volatile,
    /// The recording that this one goes on from.
    pub parent: Option<Parent>,
}

/// The recording that another one goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The file, as it was named.
    pub path: PathBuf,
    /// The hash of its bytes.
    pub sha256: String,
    /// The hash of its session, as `runseal model-io verify` prints it.
    pub model_io_hash: String,
    /// How many of its interactions come first here.
    pub interactions: usize,
    /// Whether the two part here: a fork. Otherwise this is the parent with more in it.
    pub is_fork: bool,
}
