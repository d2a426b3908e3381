//! The error type: a stable code, a sentence, and a way on.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use runseal_core::canon::{JsonError, NoCanonicalForm};
use runseal_core::diagnosis::{Diagnose, Location};
use runseal_core::source::SourceError;
use runseal_core::verify::Finding;
use runseal_fs::clock::ClockError;
use runseal_fs::signing::PolicyFileError;
use runseal_fs::survey::load::LoadError;
use runseal_runs::record::seal::RecordError;
use runseal_runs::record::unpack::UnpackError;
use runseal_runs::run::declared::DeclareError;
use runseal_runs::run::seal::SealError;

/// Why something could not be done. What is wrong with evidence is not an error: it is in a
/// [`Report`](crate::Report).
#[derive(Debug, Clone)]
pub struct Error {
    code: &'static str,
    message: String,
    hint: Option<Cow<'static, str>>,
    findings: Vec<Finding>,
    /// The error of a library that this one reports. Only its cause is shown: its type may change.
    origin: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            findings: Vec::new(),
            origin: None,
        }
    }

    /// The code, in capitals: `NOT_FOUND`, `JSON_EMPTY`, `REJECTED` …
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What to do about it, if anything is known, in the words of the command line.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Why a run was rejected, rule by rule.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The error of a library.
    fn diagnosed(error: impl Diagnose + Send + Sync + 'static) -> Self {
        let diagnosis = error.diagnosis();
        let message = match diagnosis.location {
            Location::Within(part) => format!("{}, at{part}", diagnosis.message),
            Location::InMessage | Location::Named => diagnosis.message,
        };
        Self {
            code: diagnosis.code,
            message,
            hint: diagnosis.hint,
            findings: error.findings().to_vec(),
            origin: Some(Arc::new(error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        for finding in &self.findings {
            let place = finding.path().map(|path| format!("{path}: "));
            let place = place.unwrap_or_default();
            write!(f, "\n  {} {place}{}", finding.rule_id, finding.message)?;
        }
        Ok(())
    }
}

/// The message names its causes already; this gives the first of them as a value, such as an [`std::io::Error`].
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.origin.as_ref()?.source()
    }
}

/// Errors are equal if they report the same.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let reported = |error: &Self| (error.code, error.message.clone(), error.hint.clone());
        reported(self) == reported(other) && self.findings == other.findings
    }
}

impl Eq for Error {}

/// The libraries' errors, which say all of it themselves.
macro_rules! diagnosed {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::diagnosed(error)
            }
        })*
    };
}

diagnosed!(
    SourceError,
    JsonError,
    NoCanonicalForm,
    LoadError,
    ClockError,
    PolicyFileError,
    SealError,
    DeclareError,
    RecordError,
    UnpackError,
);

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use super::*;

    #[test]
    fn library_error_keeps_its_code_hint_and_findings() {
        let changed = Error::from(RecordError::Changed("a".to_owned()));
        assert_eq!(changed.code(), "CHANGED");
        assert!(changed.hint().is_some());
        assert_eq!(Error::from(RecordError::NamesNoFiles).code(), "USAGE");
        let finding = Finding::about_whole("RB1", "wrong");
        let rejected = Error::from(SealError::Rejected(vec![finding.clone()]));
        assert_eq!(rejected.findings(), [finding]);
        assert_eq!(
            rejected.to_string(),
            "REJECTED: nothing was sealed\n  RB1 wrong"
        );
    }

    #[test]
    fn library_error_has_its_cause_as_a_value() {
        let error = Error::from(SourceError::Io {
            path: "a".to_owned(),
            source: io::Error::from_raw_os_error(36),
        });
        let cause = error.source().and_then(|cause| cause.downcast_ref());
        assert_eq!(cause.and_then(io::Error::raw_os_error), Some(36));
        assert!(error.to_string().starts_with("IO: `a` could not be read: "));
    }
}
