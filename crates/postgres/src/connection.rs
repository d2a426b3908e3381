//! One connection to the server, re-established when it is lost.
//!
//! Work is done by functions that may be called several times: after a serialization failure or a
//! deadlock, and after the connection was lost. Each has to find out whether a lost attempt took
//! effect; functions that cannot are called only once.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use postgres::config::SslNegotiation;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, NoTls};
use runseal_store::store::{ServerFault, StoreError};

use crate::address::{Address, Encryption};
use crate::error::{DatabaseError, Remedy, remedy, report, report_given_up};
use crate::guard::{Guard, PasswordRequested};
use crate::tls::connector;

/// How long to wait for a lost server, and how often to retry after conflicts.
const PATIENCE: Duration = Duration::from_secs(60);
const TRIES: u32 = 30;
/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// A connection that re-establishes itself.
pub(crate) struct Connection {
    address: Arc<Address>,
    client: Mutex<Option<Client>>,
}

impl Connection {
    /// Connects. Fails at once if no server answers, but waits for one that is starting.
    pub(crate) fn open(address: Arc<Address>) -> Result<Self, StoreError> {
        let connection = Self {
            client: Mutex::new(None),
            address,
        };
        let begun = Instant::now();
        let mut pause = PAUSES.0;
        loop {
            match connection.connect() {
                Ok(client) => {
                    *connection.lock() = Some(client);
                    return Ok(connection);
                }
                Err(DatabaseError::Sql(error))
                    if error.code().is_some()
                        && remedy(&error) == Remedy::Reconnect
                        && begun.elapsed() < PATIENCE =>
                {
                    thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(DatabaseError::Sql(error)) => return Err(report(connection.place(), &error)),
                Err(DatabaseError::Store(error)) => return Err(error),
            }
        }
    }

    /// Opens a second connection to the same server.
    pub(crate) fn again(&self) -> Result<Self, StoreError> {
        Self::open(self.address.clone())
    }

    /// Returns the server's address, without a password.
    pub(crate) fn place(&self) -> &str {
        self.address.shown()
    }

    fn connect(&self) -> Result<Client, DatabaseError> {
        let config = &self.address.config;
        let connected = match self.address.encryption {
            Encryption::Needless => config.connect(NoTls),
            Encryption::Never => connect_without_tls(config),
            Encryption::Always => config.connect(connector(&self.address)?),
            Encryption::IfOffered => match config.connect(connector(&self.address)?) {
                Err(error) if offers_no_tls(&error) => connect_without_tls(config),
                other => other,
            },
        };
        connected.map_err(|error| match password_asked(&error) {
            Some(asked) => StoreError::Server {
                place: self.place().to_owned(),
                fault: ServerFault::Insecure,
                problem: "cannot be spoken to securely",
                source: Box::new(asked),
            }
            .into(),
            None => error.into(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Client>> {
        // If a panic left the connection in a bad state, the next statement notices.
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work`, and again while that may help. `work` gets the number of earlier tries.
    pub(crate) fn run<T>(
        &self,
        mut work: impl FnMut(&mut Client, u32) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let mut slot = self.lock();
        let begun = Instant::now();
        let mut pause = PAUSES.0;
        let mut tries = 0;
        loop {
            let error = match self.attempt(&mut slot, tries, &mut work) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let error = match error {
                DatabaseError::Store(error) => return Err(error),
                DatabaseError::Sql(error) => error,
            };
            let remedy = match slot.as_ref() {
                Some(client) if client.is_closed() => Remedy::Reconnect,
                Some(_) => remedy(&error),
                // The connection was lost earlier and could not be re-established.
                None => Remedy::Reconnect,
            };
            match remedy {
                Remedy::Report => return Err(report(self.place(), &error)),
                Remedy::Retry if tries >= TRIES => {
                    return Err(report_given_up(self.place(), &error));
                }
                Remedy::Retry => {}
                Remedy::Reconnect if begun.elapsed() >= PATIENCE || is_final(&error) => {
                    return Err(report_given_up(self.place(), &error));
                }
                Remedy::Reconnect => *slot = None,
            }
            tries += 1;
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Calls `work` only once, even if a second try could succeed.
    pub(crate) fn run_once<T>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let mut slot = self.lock();
        if slot.as_ref().is_none_or(Client::is_closed) {
            *slot = Some(self.connect().map_err(|error| self.to_store_error(error))?);
        }
        match slot.as_mut() {
            Some(client) => work(client).map_err(|error| self.to_store_error(error)),
            None => Err(StoreError::NoStore(self.place().to_owned())),
        }
    }

    fn attempt<T>(
        &self,
        slot: &mut Option<Client>,
        tries: u32,
        work: &mut impl FnMut(&mut Client, u32) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        if let Some(client) = slot.as_mut()
            && !client.is_closed()
        {
            return work(client, tries);
        }
        *slot = None;
        let mut client = self.connect()?;
        let done = work(&mut client, tries);
        *slot = Some(client);
        done
    }

    /// Waits until there may be work, but at most for `at_most`. This is only a hint, because behind a
    /// connection pooler no notification may arrive: callers have to look for work anyway.
    pub(crate) fn wait(&self, channel: &str, at_most: Duration) {
        let begun = Instant::now();
        let mut slot = self.lock();
        if let Some(client) = slot.as_mut().filter(|client| !client.is_closed())
            && client.batch_execute(&format!("LISTEN {channel}")).is_ok()
        {
            // Ignore the result: if the connection was lost, the next statement notices.
            let _ = client.notifications().timeout_iter(at_most).next();
            let _ = client.batch_execute(&format!("UNLISTEN {channel}"));
            return;
        }
        drop(slot);
        thread::sleep(at_most.saturating_sub(begun.elapsed()));
    }

    fn to_store_error(&self, error: DatabaseError) -> StoreError {
        match error {
            DatabaseError::Sql(error) => report(self.place(), &error),
            DatabaseError::Store(error) => error,
        }
    }
}

/// Connects without encryption, and without ever sending the password.
fn connect_without_tls(config: &Config) -> Result<Client, postgres::Error> {
    let mut config = config.clone();
    // The guard replaces TLS, from the first byte.
    config.ssl_negotiation(SslNegotiation::Direct);
    config.connect(Guard)
}

/// The library's message for a server without TLS.
const NO_TLS: &str = "server does not support TLS";

fn offers_no_tls(error: &postgres::Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.to_string() == NO_TLS)
}

fn password_asked(error: &postgres::Error) -> Option<PasswordRequested> {
    let source = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    let inner = source.and_then(io::Error::get_ref)?;
    inner.downcast_ref().copied()
}

/// Whether waiting cannot help, because the server is up but rejects us.
fn is_final(error: &postgres::Error) -> bool {
    let code = error.code().map(postgres::error::SqlState::code);
    code.is_some_and(|code| code.starts_with("28") || code == "3D000")
}
