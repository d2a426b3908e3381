//! What an error of a library says to whoever reports it: a code, how a command ends because of it, a message with
//! every cause, where it is, and advice.
//!
//! An error type implements [`Diagnose`] beside its definition. The command line, the Python package and the
//! WebAssembly module each turn a [`Diagnosis`] into their own kind of error in one place, so all of them report
//! the same code and the same words.

use std::borrow::Cow;
use std::error::Error;

use crate::verify::{Finding, Outcome};

/// An error that can be reported to people and programs.
pub trait Diagnose: Error {
    /// What to report.
    fn diagnosis(&self) -> Diagnosis;

    /// Why something was refused, rule by rule, if that is what happened.
    fn findings(&self) -> &[Finding] {
        &[]
    }
}

impl<E: Diagnose + ?Sized> Diagnose for &E {
    fn diagnosis(&self) -> Diagnosis {
        (**self).diagnosis()
    }

    fn findings(&self) -> &[Finding] {
        (**self).findings()
    }
}

/// An error as it is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// How a command ends because of it.
    pub outcome: Outcome,
    /// A stable name for programs and for searching, in capitals.
    pub code: &'static str,
    /// What is wrong, with its causes.
    pub message: String,
    /// Where it is.
    pub location: Location,
    /// What to do about it, in the words of the documentation and the command line.
    pub hint: Option<Cow<'static, str>>,
}

/// Where an error is, as far as its message does not say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The message says it.
    InMessage,
    /// In what the caller named.
    Named,
    /// In this part of what the caller named. The text follows the name: ` line 3 column 4`.
    Within(String),
}

impl Diagnosis {
    /// Reports `error` with its causes, as one whose message says where it is.
    pub fn of(error: &(impl Error + ?Sized), outcome: Outcome, code: &'static str) -> Self {
        Self {
            outcome,
            code,
            message: error_chain(error),
            location: Location::InMessage,
            hint: None,
        }
    }

    /// Reports an error because of which a command could not look.
    pub fn unreadable(error: &(impl Error + ?Sized), code: &'static str) -> Self {
        Self::of(error, Outcome::Unreadable, code)
    }

    /// Reports an error in what was given.
    pub fn invalid(error: &(impl Error + ?Sized), code: &'static str) -> Self {
        Self::of(error, Outcome::Invalid, code)
    }

    /// Reports an error that is a bug in this program.
    pub fn internal(error: &(impl Error + ?Sized)) -> Self {
        Self::of(error, Outcome::Internal, "INTERNAL").hint(BUG_HINT)
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says where the error is.
    #[must_use]
    pub fn located(mut self, location: Location) -> Self {
        self.location = location;
        self
    }

    /// Replaces the message.
    #[must_use]
    pub fn message(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    /// The place, in something that the caller calls `name`.
    pub fn place(&self, name: Option<&str>) -> Option<String> {
        match (&self.location, name) {
            (Location::InMessage, _) | (Location::Named, None) => None,
            (Location::Named, Some(name)) => Some(name.to_owned()),
            (Location::Within(part), Some(name)) => Some(format!("{name}{part}")),
            (Location::Within(part), None) => Some(part.trim_start().to_owned()),
        }
    }
}

/// The advice for an error that is a bug in this program.
pub const BUG_HINT: &str = "this is a fault of runseal: please report it with the input";

/// An error and all its causes, in one line.
pub fn error_chain(error: &(impl Error + ?Sized)) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}

/// An error and its nearest cause, in one line: for causes from libraries that repeat themselves.
pub fn with_cause(error: &(impl Error + ?Sized)) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};
    use crate::source::SourceError;

    #[test]
    fn diagnosis_of_an_error_names_its_causes_once() {
        let error = SourceError::Io {
            path: "a".to_owned(),
            source: std::io::Error::other("no disk"),
        };
        let diagnosis = error.diagnosis();
        assert_eq!(diagnosis.message, "`a` could not be read: no disk");
        assert_eq!((diagnosis.code, diagnosis.hint), ("IO", None));
    }

    #[test]
    fn place_of_a_diagnosis_follows_the_name_that_the_caller_has() {
        let error = parse_document(b"{,}", &ReadOptions::default()).unwrap_err();
        let diagnosis = error.diagnosis();
        assert_eq!(diagnosis.code, "JSON_UNEXPECTED");
        assert_eq!(
            diagnosis.place(Some("plan.json")).as_deref(),
            Some("plan.json line 1 column 2")
        );
        assert_eq!(diagnosis.place(None).as_deref(), Some("line 1 column 2"));
        assert!(!diagnosis.message.contains("line"), "{diagnosis:?}");
    }
}
