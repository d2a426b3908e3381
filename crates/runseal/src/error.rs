//! The error type: a stable code, a sentence, and a way on.

use std::fmt;

use runseal_core::canon::{JsonError, NoCanonicalForm};
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
    findings: Vec<Finding>,
}

impl Error {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            findings: Vec::new(),
        }
    }

    /// The code, in capitals: `NOT_FOUND`, `JSON`, `REJECTED` …
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Why a run was rejected, rule by rule.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub(crate) fn json(error: JsonError) -> Self {
        Self::new("JSON", format!("{}, at {}", error.kind, error.position))
    }

    pub(crate) fn no_form(error: NoCanonicalForm) -> Self {
        Self::new("NO_FORM", error.to_string())
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

/// A message with its cause.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        let code = match &error {
            SourceError::NotFound { .. } => "NOT_FOUND",
            _ => "IO",
        };
        Self::new(code, chain(&error))
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Source(error) => error.into(),
            LoadError::Json(error) => Self::json(error),
            other @ LoadError::Unknown { .. } => Self::new("UNKNOWN_FORMAT", other.to_string()),
            other => Self::new("UNREADABLE", other.to_string()),
        }
    }
}

impl From<SealError> for Error {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Rejected(findings) => Self {
                findings,
                ..Self::new("REJECTED", "nothing was sealed")
            },
            SealError::Read(error) => error.into(),
            other => Self::new("SEAL", chain(&other)),
        }
    }
}

impl From<DeclareError> for Error {
    fn from(error: DeclareError) -> Self {
        match error {
            DeclareError::Read(error) => error.into(),
            DeclareError::Seal(error) => error.into(),
            other @ DeclareError::Work(_) => Self::new("IO", other.to_string()),
            other => Self::new("NAME", other.to_string()),
        }
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::AskedModels => Self::new("MODELS", error.to_string()),
            RecordError::NamesNoFiles => Self::new("USAGE", error.to_string()),
            _ => Self::new("REPLAY", chain(&error)),
        }
    }
}

impl From<UnpackError> for Error {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Read(error) => error.into(),
            UnpackError::Faults(findings) => Self {
                findings,
                ..Self::new("ARCHIVE", "the archive can be read in more than one way")
            },
            other => Self::new("UNKNOWN_FORMAT", other.to_string()),
        }
    }
}

impl From<ClockError> for Error {
    fn from(error: ClockError) -> Self {
        Self::new("CLOCK", error.to_string())
    }
}

impl From<PolicyFileError> for Error {
    fn from(error: PolicyFileError) -> Self {
        Self::new("POLICY", chain(&error))
    }
}
