//! The errors that the command line reports: `CODE: what is wrong: where`, and a hint.

use std::borrow::Cow;
use std::fmt;
use std::io;

use runseal_core::diagnosis::{BUG_HINT, Diagnose, Diagnosis};
use runseal_core::verify::{Outcome, one_line};

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
        Self::new(Outcome::Internal, "INTERNAL", message).hint(BUG_HINT)
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

    /// The code for programs.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What is wrong, without place and hint.
    pub fn text(&self) -> &str {
        &self.message
    }

    /// Adds a place.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Replaces how the command ends and the code.
    pub fn instead(mut self, outcome: Outcome, code: &'static str) -> Self {
        self.outcome = outcome;
        self.code = code;
        self
    }

    /// Replaces the message.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds advice on what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error of a library, in what is called `name` here.
    pub fn within(error: impl Diagnose, name: impl fmt::Display) -> Self {
        Self::diagnosed(error.diagnosis(), Some(&name.to_string()))
    }

    /// A diagnosis as the command line reports it, in what is called `name` here.
    pub fn diagnosed(diagnosis: Diagnosis, name: Option<&str>) -> Self {
        Self {
            place: diagnosis.place(name),
            outcome: diagnosis.outcome,
            code: diagnosis.code,
            message: diagnosis.message,
            hint: diagnosis.hint.map(Cow::into_owned),
        }
    }

    /// Output that could not be written.
    pub fn output(error: &io::Error) -> Self {
        Self::new(Outcome::Unreadable, "OUTPUT", error.to_string()).at("standard output")
    }
}

impl<E: Diagnose> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::diagnosed(error.diagnosis(), None)
    }
}

/// A library's result, for what has a name here.
pub trait Named<T> {
    /// Reports an error as one in what is called `name`.
    fn named(self, name: impl fmt::Display) -> Result<T, CliError>;
}

impl<T, E: Diagnose> Named<T> for Result<T, E> {
    fn named(self, name: impl fmt::Display) -> Result<T, CliError> {
        self.map_err(|error| CliError::within(error, name))
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
