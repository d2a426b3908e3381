//! Models that a command asks over its loopback, which leads to whoever the caller put there.
//!
//! This crate has no network of its own: a [`ModelSession`] takes the listener that the command connects
//! to, and tells at the end what was said. In namespaces the port is always the same, since nobody else
//! lives there, so that a recorded environment is the same everywhere.

use std::fmt::Debug;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use runseal_sandbox::{Isolation, Loopback, Spec};

/// The port of the command's own loopback.
pub const MODEL_PORT: u16 = 4100;

/// What a command has in place of a key: whoever stands between puts the key in.
pub const KEY_STAND_IN: &str = "runseal-keeps-the-key";

/// Who answers for models during a run.
pub trait ModelSession: Debug + Send + Sync {
    /// Takes a listener that a command connects to; never waits for clients.
    fn take(&self, listener: TcpListener);

    /// Ends: nothing is answered any more.
    ///
    /// # Errors
    /// In words, where what was said cannot be kept.
    fn finish(&self) -> Result<ModelTraffic, String>;
}

/// What a session came to.
#[derive(Debug, Clone, Default)]
pub struct ModelTraffic {
    /// The recording that was made, called model_io.json; none where answers came from one.
    pub recording: Option<PathBuf>,
    /// What the recording cannot have seen.
    pub gaps: Vec<String>,
    /// Requests that no recording answered, as the command was told.
    pub misses: Vec<String>,
    /// Recorded answers that nobody asked for.
    pub unused: u64,
}

/// Starts a session that answers from a recording.
pub type StartReplay<'a> = &'a dyn Fn(&std::path::Path) -> Result<Arc<dyn ModelSession>, String>;

/// Lets the command of `spec` reach `session` and nothing else, and tells it where; gives the variables
/// that say so. What the caller gives the command by the same names stands above them.
///
/// # Errors
/// When there is no port to listen on.
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
        // The loopback is the host's, where the port may be anybody's.
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
