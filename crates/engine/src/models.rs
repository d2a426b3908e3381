//! Model calls that a command makes over its loopback interface, answered by a session of the
//! caller.
//!
//! This crate has no network access of its own: a [`ModelSession`] takes over the listener that the
//! command connects to, and reports at the end what was exchanged. In a network namespace the port
//! is always the same, since nobody else uses it, so a recorded environment is the same everywhere.

mod admission;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runseal_sandbox::{Isolation, Loopback, Spec};

use crate::staged_files::{UnreadableFile, visit_files};

pub use admission::{Admission, Credentials};

/// The port on the command's own loopback interface.
pub const MODEL_PORT: u16 = 4100;

/// What stands for a command's key in everything that is recorded; the session inserts the real one. In a
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
/// knows: what a recording leaves out must not stand beside it.
///
/// # Errors
/// When one is found, or a file cannot be read.
pub(crate) fn search_staged(
    session: &dyn ModelSession,
    folder: &Path,
) -> Result<(), SecretSearchError> {
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

/// The variables that tell a command about its session.
#[derive(Debug)]
pub(crate) struct Connection {
    /// With values that are the same for every run of the command.
    recorded: Vec<(String, String)>,
    /// Those of them that the command gets with another value, which is recorded nowhere.
    private: Vec<(String, String)>,
}

impl Connection {
    /// Adds the variables to those that the caller chose, which take precedence. Returns what to add once
    /// the environment is recorded.
    pub(crate) fn describe(
        self,
        variables: &mut BTreeMap<String, String>,
    ) -> Vec<(String, String)> {
        let Self { recorded, private } = self;
        let is_free = |name: &str| !variables.contains_key(name);
        let private = private.into_iter().filter(|(name, _)| is_free(name));
        let private = private.collect();
        for (name, value) in recorded {
            variables.entry(name).or_insert(value);
        }
        private
    }
}

/// Lets the command of `spec` reach `session` and nothing else, and says which variables tell it how.
/// `secrets` are values that the caller passes to the command, which may be keys of its own.
///
/// # Errors
/// When no port is available, or no random bytes are.
pub(crate) fn connect(
    spec: &mut Spec,
    session: &Arc<dyn ModelSession>,
    isolation: Isolation,
    secrets: &BTreeMap<String, String>,
) -> io::Result<Connection> {
    let (port, token) = match isolation {
        Isolation::Full => {
            let session = Arc::clone(session);
            spec.loopback = Some(Loopback::inside(MODEL_PORT, move |listener| {
                session.take(listener, Admission::Everyone);
            }));
            (MODEL_PORT, None)
        }
        // The loopback interface is the host's, where the port may be in use, and others live.
        Isolation::Landlock | Isolation::None => {
            let credentials = Credentials::generate(secrets.values().cloned())?;
            let token = credentials.token().to_owned();
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            session.take(listener, Admission::Holders(credentials));
            spec.loopback = Some(Loopback::on_host(port));
            (port, Some(token))
        }
    };
    let address = format!("http://127.0.0.1:{port}");
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let recorded = [
        ("ANTHROPIC_API_KEY", KEY_STAND_IN),
        ("ANTHROPIC_BASE_URL", &address),
        ("OPENAI_API_KEY", KEY_STAND_IN),
        ("OPENAI_BASE_URL", &format!("{address}/v1")),
    ];
    let recorded: Vec<_> = recorded.map(own).into();
    let mut private = Vec::new();
    if let Some(token) = token {
        private.clone_from(&recorded);
        private.retain(|(_, value)| value == KEY_STAND_IN);
        for (_, value) in &mut private {
            value.clone_from(&token);
        }
    }
    Ok(Connection { recorded, private })
}
