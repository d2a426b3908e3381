//! Model calls that a command makes over its loopback interface, answered by a session of the
//! caller.
//!
//! This crate has no network access of its own: a [`ModelSession`] takes over the listener that the
//! command connects to, and reports at the end what was exchanged. In a network namespace the port
//! is always the same, since nobody else uses it, so a recorded environment is the same everywhere.

use std::fmt::Debug;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use runseal_sandbox::{Isolation, Loopback, Spec};

/// The port on the command's own loopback interface.
pub const MODEL_PORT: u16 = 4100;

/// What a command gets instead of a key: the session inserts the real one.
pub const KEY_STAND_IN: &str = "runseal-keeps-the-key";

/// Answers model calls during a run.
pub trait ModelSession: Debug + Send + Sync {
    /// Takes over a listener that a command connects to; does not block.
    fn take(&self, listener: TcpListener);

    /// Ends the session: nothing is answered any more.
    ///
    /// # Errors
    /// When the exchange cannot be stored; the text says why.
    fn finish(&self) -> Result<ModelTraffic, String>;
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
    /// Recorded answers that were not requested.
    pub unused: u64,
}

/// Starts a session that answers from a recording.
pub type StartReplay<'a> = &'a dyn Fn(&std::path::Path) -> Result<Arc<dyn ModelSession>, String>;

/// Lets the command of `spec` reach `session` and nothing else, and tells it the address through
/// variables, which are returned. Variables that the caller sets under the same names take
/// precedence.
///
/// # Errors
/// When no port is available.
pub(crate) fn connect(
    spec: &mut Spec,
    session: &Arc<dyn ModelSession>,
    isolation: Isolation,
) -> io::Result<Vec<(String, String)>> {
    let port = match isolation {
        Isolation::Full => {
            let session = Arc::clone(session);
            spec.loopback = Some(Loopback::inside(MODEL_PORT, move |listener| {
                session.take(listener);
            }));
            MODEL_PORT
        }
        // The loopback interface is the host's, where the port may be in use.
        Isolation::Landlock | Isolation::None => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            session.take(listener);
            spec.loopback = Some(Loopback::on_host(port));
            port
        }
    };
    let address = format!("http://127.0.0.1:{port}");
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok([
        ("ANTHROPIC_API_KEY", KEY_STAND_IN),
        ("ANTHROPIC_BASE_URL", &address),
        ("OPENAI_API_KEY", KEY_STAND_IN),
        ("OPENAI_BASE_URL", &format!("{address}/v1")),
    ]
    .map(own)
    .to_vec())
}
