//! What went wrong, where, and how to go on: `CODE: what is wrong: where`, and a hint.

use std::error::Error as _;
use std::fmt;
use std::io;

use runseal_core::canon::{CanonError, JsonError, NoCanonicalForm, Position};
use runseal_core::source::SourceError;
use runseal_core::verify::Outcome;
use runseal_engine::atomic::WriteError;

/// An error as it is told to a person. How it ends the program depends on the command.
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
    /// An error of the command line.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Usage,
            code: "USAGE",
            message: message.into(),
            place: None,
            hint: Some(hint.into()),
        }
    }

    /// A document that was read and is not what it should be.
    pub fn content(
        code: &'static str,
        message: impl Into<String>,
        place: &str,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            outcome: Outcome::Malformed,
            code,
            message: message.into(),
            place: Some(place.to_owned()),
            hint: Some(hint.into()),
        }
    }

    /// A fault of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Internal,
            code: "INTERNAL",
            message: message.into(),
            place: None,
            hint: Some("this is a fault of runseal: please report it with the input".to_owned()),
        }
    }

    /// An error that a command words itself.
    pub fn new(outcome: Outcome, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            outcome,
            code,
            message: message.into(),
            place: None,
            hint: None,
        }
    }

    /// The same error with a place.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The same error with advice on how to go on.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A JSON text that could not be read.
    pub fn json(error: &JsonError, place: &str) -> Self {
        Self {
            outcome: Outcome::Malformed,
            code: error.kind.code(),
            message: error.kind.to_string(),
            place: Some(format!("{place} {}", error.position)),
            hint: Some(error.kind.hint().to_owned()),
        }
    }

    /// A value that a dialect has no form for.
    pub fn no_form(error: &NoCanonicalForm, place: &str) -> Self {
        let at = error
            .position
            .map(|position: Position| format!(" {position}"));
        Self {
            outcome: Outcome::Malformed,
            code: error.kind.code(),
            message: error.kind.to_string(),
            place: Some(format!("{place}{}", at.unwrap_or_default())),
            hint: Some(error.kind.hint().to_owned()),
        }
    }

    /// A canonical text that could not be made.
    pub fn canon(error: &CanonError, place: &str) -> Self {
        match error {
            CanonError::Json(error) => Self::json(error, place),
            CanonError::NoForm(error) => Self::no_form(error, place),
            CanonError::Sink(error) => Self::output(error),
        }
    }

    /// Output that could not be written.
    pub fn output(error: &io::Error) -> Self {
        Self {
            outcome: Outcome::Unreadable,
            code: "OUTPUT",
            message: error.to_string(),
            place: Some("standard output".to_owned()),
            hint: None,
        }
    }
}

impl From<&SourceError> for CliError {
    fn from(error: &SourceError) -> Self {
        let (code, hint) = match error {
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
        Self {
            outcome: Outcome::Unreadable,
            code,
            message,
            place: None,
            hint: hint.map(str::to_owned),
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
        Self {
            outcome: Outcome::Unreadable,
            code: "WRITE",
            message: format!("{error}: {}", error.source),
            place: None,
            hint: Some(
                "nothing was changed; check the folder, its rights and its space".to_owned(),
            ),
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if let Some(place) = &self.place {
            write!(f, ": {place}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
