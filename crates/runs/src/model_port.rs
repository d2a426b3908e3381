//! Connects a command to the session that answers its model calls, and to nothing else.
//!
//! In a network namespace the port is always the same, since nobody else uses it, so a recorded
//! environment is the same everywhere.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use runseal_fs::models::{Admission, Credentials, KEY_STAND_IN, ModelSession};
use runseal_sandbox::{Isolation, Loopback, Spec};

/// The port on the command's own loopback interface.
const MODEL_PORT: u16 = 4100;

/// The variables that tell a command about its session.
#[derive(Debug)]
pub struct Connection {
    /// With values that are the same for every run of the command.
    recorded: Vec<(String, String)>,
    /// Those of them that the command gets with another value, which is recorded nowhere.
    private: Vec<(String, String)>,
}

impl Connection {
    /// Adds the variables to those that the caller chose, which take precedence. Returns what to add once
    /// the environment is recorded.
    pub fn describe(self, variables: &mut BTreeMap<String, String>) -> Vec<(String, String)> {
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

/// The variables that say where models are, and with which key.
pub(crate) const MODEL_VARIABLES: [&str; 4] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
];

/// Lets the command of `spec` reach `session` and nothing else, and says which variables tell it how.
/// `secrets` are values that the caller passes to the command, which may be keys of its own.
///
/// # Errors
/// When no port is available, or no random bytes are.
pub fn connect(
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
