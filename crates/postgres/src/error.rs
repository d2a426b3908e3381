//! Classifies the server's errors: what they mean, and which are worth a retry.

use std::error::Error as _;
use std::io;

use postgres::Error;
use runseal_store::store::{ServerFault, StoreError};
use thiserror::Error as ThisError;

/// What can go wrong during work on the server.
#[derive(Debug)]
pub(crate) enum DatabaseError {
    /// An error of the server, which may be worth a retry.
    Sql(Error),
    /// An error of ours, which is not.
    Store(StoreError),
}

impl From<Error> for DatabaseError {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for DatabaseError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How to react to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Report it: another try would fail too.
    Report,
    /// Try again on the same connection: it conflicted with others.
    Retry,
    /// Try again on a new connection.
    Reconnect,
}

/// Returns how to react to this error.
pub(crate) fn remedy(error: &Error) -> Remedy {
    let Some(code) = error.code() else {
        return if error.is_closed() || is_broken(error) {
            Remedy::Reconnect
        } else {
            Remedy::Report
        };
    };
    match code.code() {
        // Serialization failure, deadlock, lock not available in time.
        "40001" | "40P01" | "55P03" => Remedy::Retry,
        // Shut down, crashed, starting; terminated for idling in a transaction; too many
        // connections at the moment.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" => Remedy::Reconnect,
        code if code.starts_with("08") => Remedy::Reconnect,
        _ => Remedy::Report,
    }
}

/// Whether an established connection was lost.
fn is_broken(error: &Error) -> bool {
    let mut source = error.source();
    while let Some(inner) = source {
        if inner.downcast_ref::<io::Error>().is_some() {
            return true;
        }
        source = inner.source();
    }
    false
}

/// The server's message on one line, without the data that we sent.
#[derive(Debug, ThisError)]
#[error("{0}")]
struct ServerMessage(String);

/// Converts an error to a store's error.
pub(crate) fn report(place: &str, error: &Error) -> StoreError {
    let (fault, problem) = meaning(error);
    StoreError::Server {
        place: place.to_owned(),
        fault,
        problem,
        source: Box::new(ServerMessage(message_of(error))),
    }
}

/// Like [`report`], for an error that persisted through all tries.
pub(crate) fn report_given_up(place: &str, error: &Error) -> StoreError {
    let (fault, problem) = match meaning(error) {
        (ServerFault::Failed, _) if remedy(error) == Remedy::Retry => (
            ServerFault::Busy,
            "is busy: others held the needed locks on every try",
        ),
        (ServerFault::Failed, _) => (
            ServerFault::Unreachable,
            "was lost and did not come back in time",
        ),
        other => other,
    };
    StoreError::Server {
        place: place.to_owned(),
        fault,
        problem,
        source: Box::new(ServerMessage(message_of(error))),
    }
}

fn meaning(error: &Error) -> (ServerFault, &'static str) {
    let unreachable = (ServerFault::Unreachable, "cannot be reached");
    let Some(code) = error.code() else {
        return if tls_failed(error) {
            (ServerFault::Insecure, "cannot be reached securely")
        } else if message_of(error).contains("password missing") {
            (
                ServerFault::Denied,
                "asks for a password, but none was given",
            )
        } else if error.is_closed()
            || is_broken(error)
            || error.to_string().contains("timed out")
            || error.to_string().contains("connecting to server")
        {
            unreachable
        } else {
            (ServerFault::Failed, "failed")
        };
    };
    match code.code() {
        "28P01" | "28000" => (ServerFault::Denied, "refuses the name or the password"),
        "42501" => (ServerFault::Forbidden, "does not allow it"),
        "3D000" => (ServerFault::Failed, "has no such database"),
        "53100" => (ServerFault::Full, "is full"),
        "53200" => (ServerFault::Full, "is out of memory"),
        "57P01" | "57P02" | "57P03" => unreachable,
        code if code.starts_with("08") => unreachable,
        _ => (ServerFault::Failed, "failed"),
    }
}

fn tls_failed(error: &Error) -> bool {
    error.to_string().contains("TLS handshake")
}

/// Returns the server's message, or the system's. Details about a row are left out, because they may
/// quote data.
fn message_of(error: &Error) -> String {
    if let Some(database) = error.as_db_error() {
        let code = database.code().code();
        return format!("{} (SQLSTATE {code})", database.message());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}
