//! The error type: a stable code, a sentence, and a way on.

use std::borrow::Cow;
use std::fmt;

use runseal_core::canon::{JsonError, NoCanonicalForm};
use runseal_core::diagnosis::{Diagnose, Location, with_cause};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: &'static str,
    message: String,
    hint: Option<Cow<'static, str>>,
    findings: Vec<Finding>,
}

impl Error {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            findings: Vec::new(),
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

    /// The error of a library, with the findings because of which it was refused.
    fn diagnosed(error: &dyn Diagnose, findings: Vec<Finding>) -> Self {
        let diagnosis = error.diagnosis();
        let message = match diagnosis.location {
            Location::Within(part) => format!("{}, at{part}", diagnosis.message),
            Location::InMessage | Location::Named => diagnosis.message,
        };
        Self {
            code: diagnosis.code,
            message,
            hint: diagnosis.hint,
            findings,
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

impl std::error::Error for Error {}

/// Errors that need nothing but their diagnosis.
macro_rules! diagnosed {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::diagnosed(&error, Vec::new())
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
);

impl From<SealError> for Error {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Rejected(findings) => Self {
                findings,
                ..Self::new("REJECTED", "nothing was sealed")
            },
            other => Self::diagnosed(&other, Vec::new()),
        }
    }
}

impl From<DeclareError> for Error {
    fn from(error: DeclareError) -> Self {
        match error {
            DeclareError::Seal(error) => error.into(),
            other => Self::diagnosed(&other, Vec::new()),
        }
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::AskedModels => Self::new("MODELS", error.to_string()),
            RecordError::NamesNoFiles
            | RecordError::ComparesExactly
            | RecordError::UsesNoDevices => Self::new("USAGE", error.to_string()),
            _ => Self::new("REPLAY", with_cause(&error)),
        }
    }
}

impl From<UnpackError> for Error {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Faults(findings) => Self {
                findings,
                ..Self::new("ARCHIVE", "the archive can be read in more than one way")
            },
            other => Self::diagnosed(&other, Vec::new()),
        }
    }
}
