//! The errors that the command line reports: `CODE: what is wrong: where`, and a hint.

use std::error::Error as _;
use std::fmt;
use std::io;

use runseal_core::canon::{CanonError, JsonError, NoCanonicalForm};
use runseal_core::source::SourceError;
use runseal_core::verify::{Outcome, one_line};
use runseal_fs::atomic::WriteError;

/// An error as it is reported to people. Its exit code also depends on the command.
#[derive(Debug)]
pub struct CliError {
    /// How the command ended.
    pub outcome: Outcome,
    code: &'static str,
    message: String,
    place: Option<String>,
    hint: Option<String>,
}

impl CliError {
    /// A misuse of the command line.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Outcome::Usage, "USAGE", message).hint(hint)
    }

    /// A bug in this program.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Outcome::Internal, "INTERNAL", message)
            .hint("this is a fault of runseal: please report it with the input")
    }

    /// An error with its own code and message.
    pub fn new(outcome: Outcome, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            outcome,
            code,
            message: message.into(),
            place: None,
            hint: None,
        }
    }

    /// Adds a place.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Adds advice on what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// JSON that could not be parsed.
    pub fn json(error: &JsonError, place: &str) -> Self {
        let kind = &error.kind;
        Self::new(Outcome::Malformed, kind.code(), kind.to_string())
            .at(format!("{place} {}", error.position))
            .hint(kind.hint())
    }

    /// A value that has no canonical form in a dialect.
    pub fn no_form(error: &NoCanonicalForm, place: &str) -> Self {
        let kind = &error.kind;
        let place = match error.position {
            Some(position) => format!("{place} {position}"),
            None => place.to_owned(),
        };
        Self::new(Outcome::Malformed, kind.code(), kind.to_string())
            .at(place)
            .hint(kind.hint())
    }

    /// A canonical form that could not be produced.
    pub fn canon(error: &CanonError, place: &str) -> Self {
        match error {
            CanonError::Json(error) => Self::json(error, place),
            CanonError::NoForm(error) => Self::no_form(error, place),
            CanonError::Order(_) => Self::internal(error.to_string()),
            CanonError::Sink(error) => Self::output(error),
        }
    }

    /// Output that could not be written.
    pub fn output(error: &io::Error) -> Self {
        Self::new(Outcome::Unreadable, "OUTPUT", error.to_string()).at("standard output")
    }
}

impl From<&SourceError> for CliError {
    fn from(error: &SourceError) -> Self {
        let (code, hint) = match error {
            SourceError::NotFound { path } if path.contains("!/") => (
                "NOT_FOUND",
                Some("this command does not look inside archives; unpack it and name the folder"),
            ),
            SourceError::NotFound { .. } => ("NOT_FOUND", Some("check the name")),
            SourceError::NotAFile { .. } => (
                "NOT_A_FILE",
                Some("name a regular file, or pipe the text in and name `-`"),
            ),
            SourceError::NotAFolder { .. } => ("NOT_A_FOLDER", Some("name a folder")),
            SourceError::TooLarge { .. } => (
                "TOO_LARGE",
                Some("docs/limits.md lists the limits and what each one stops"),
            ),
            SourceError::TooMany { .. } => (
                "TOO_MANY",
                Some("docs/limits.md lists the limits and what each one stops"),
            ),
            SourceError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => (
                "NO_PERMISSION",
                Some("ask for the right to read it, or run as its owner"),
            ),
            SourceError::Io { .. } => ("IO", None),
        };
        let message = match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let error = Self::new(Outcome::Unreadable, code, message);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<SourceError> for CliError {
    fn from(error: SourceError) -> Self {
        Self::from(&error)
    }
}

impl From<WriteError> for CliError {
    fn from(error: WriteError) -> Self {
        Self::from(&error)
    }
}

impl From<&WriteError> for CliError {
    fn from(error: &WriteError) -> Self {
        let message = format!("{error}: {}", error.source);
        Self::new(Outcome::Unreadable, "WRITE", message)
            .hint("nothing was changed; check the folder, its rights and its space")
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name with a line break could draw another line, with a verdict on it.
        write!(f, "{}: {}", self.code, one_line(&self.message))?;
        if let Some(place) = &self.place {
            write!(f, ": {}", one_line(place))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
