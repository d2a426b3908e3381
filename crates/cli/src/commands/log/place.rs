//! Where a log is: in a folder or on a server.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use runseal_store::log::{Appender, FolderAppender, FolderLog, Log, LogError, OpenLog};
use runseal_trust::log::LogPolicy;

use crate::commands::job::place::is_server;
use crate::error::{CliError, Named};

/// How long to wait while another process appends to a log, and how often to look again. Otherwise runs
/// that are sealed at the same moment would not be logged.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// A log, as named on the command line.
#[derive(Clone, PartialEq, Eq)]
pub enum LogPlace {
    /// A folder; or a file, if a proof is accepted too.
    Folder(PathBuf),
    /// postgres://USER@HOST/DATABASE, followed by `#` and the log's name if the database has
    /// several.
    Server(String),
}

impl From<OsString> for LogPlace {
    fn from(text: OsString) -> Self {
        match text.to_str() {
            Some(text) if is_server(text) => Self::Server(text.to_owned()),
            _ => Self::Folder(text.into()),
        }
    }
}

impl std::str::FromStr for LogPlace {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(OsString::from(text).into())
    }
}

impl fmt::Display for LogPlace {
    /// The address for messages, without a user and password before the `@`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Server(address) => {
                let behind = address.rsplit_once('@').map_or_else(
                    || address.split_once("://").map_or("", |(_, rest)| rest),
                    |(_, behind)| behind,
                );
                // Options may contain a password too.
                let (behind, name) = match behind.split_once('#') {
                    Some((behind, name)) => (behind, Some(name)),
                    None => (behind, None),
                };
                let host = behind.split('?').next().unwrap_or_default();
                write!(f, "postgres://{host}")?;
                match name {
                    Some(name) => write!(f, "#{name}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Debug for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl LogPlace {
    /// Creates a new log; returns its place without a password.
    pub fn init(&self, origin: &str) -> Result<String, CliError> {
        let made = match self {
            Self::Folder(path) => {
                FolderLog::init(path, origin).map(|()| path.display().to_string())
            }
            Self::Server(address) => server::init(address, origin),
        };
        made.map_err(|error| self.error(&error))
    }

    /// Opens the log for reading.
    pub fn open(&self) -> Result<Box<dyn Log>, CliError> {
        let opened = match self {
            Self::Folder(path) => FolderLog::open(path).map(|log| Box::new(log) as Box<dyn Log>),
            Self::Server(address) => server::open(address),
        };
        opened.map_err(|error| self.error(&error))
    }

    /// Opens the log for appending; waits a while if another process does.
    pub fn open_to_append(&self) -> Result<Box<dyn Appender>, CliError> {
        let open = || match self {
            Self::Folder(path) => {
                FolderAppender::open(path).map(|log| Box::new(log) as Box<dyn Appender>)
            }
            Self::Server(address) => server::open_to_append(address),
        };
        let began = Instant::now();
        loop {
            match open() {
                Err(LogError::Busy) if began.elapsed() < PATIENCE => thread::sleep(PAUSE),
                opened => return opened.map_err(|error| self.error(&error)),
            }
        }
    }

    /// Opens the log, or a proof file instead of it, to ask whether it has an entry.
    pub fn open_to_ask(&self, policy: Option<LogPolicy>) -> Result<OpenLog, CliError> {
        match self {
            Self::Folder(path) => OpenLog::open(path, policy).named(path.display()),
            Self::Server(_) => Ok(OpenLog::of_log(self.open()?, self.to_string(), policy)),
        }
    }

    /// An error of this log as the command line reports it.
    pub fn error(&self, error: &LogError) -> CliError {
        CliError::within(error, self)
    }
}

/// Logs on a server.
#[cfg(feature = "postgres")]
mod server {
    use runseal_postgres::{PostgresAppender, PostgresLog};
    use runseal_store::log::{Appender, Log, LogError};

    pub fn init(address: &str, origin: &str) -> Result<String, LogError> {
        PostgresLog::init(address, origin)
    }

    pub fn open(address: &str) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(PostgresLog::open(address)?))
    }

    pub fn open_to_append(address: &str) -> Result<Box<dyn Appender>, LogError> {
        Ok(Box::new(PostgresAppender::open(address)?))
    }
}

/// Stands in for the server when built without the `postgres` feature: every call fails.
#[cfg(not(feature = "postgres"))]
mod server {
    use runseal_store::log::{Appender, Log, LogError};

    const MISSING: LogError = LogError::NoLog("this program was built without logs on a server");

    pub fn init(_: &str, _: &str) -> Result<String, LogError> {
        Err(MISSING)
    }

    pub fn open(_: &str) -> Result<Box<dyn Log>, LogError> {
        Err(MISSING)
    }

    pub fn open_to_append(_: &str) -> Result<Box<dyn Appender>, LogError> {
        Err(MISSING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_a_log_is_shown_without_secrets() {
        let shown = |text: &str| LogPlace::from(OsString::from(text)).to_string();
        for (given, expected) in [
            ("runs.log", "runs.log"),
            ("postgres://me:s3cret@db/x?a=s3cret#n", "postgres://db/x#n"),
            ("postgresql://me:s3@cret@db:1/x", "postgres://db:1/x"),
            ("postgres://db/x", "postgres://db/x"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }
}
