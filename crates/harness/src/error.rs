//! What prevents the harness from producing a result: RUN_E001-RUN_E007.

use std::borrow::Cow;
use std::path::PathBuf;

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_fs::models::{SECRET_HINT, SecretSearchError};

/// An error of the harness. A plan that fails is not an error, but a run that is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The intent or another given file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The intent or another given file is not JSON.
    #[error("{0}")]
    NotJson(String),
    /// The intent's additions or the given proposal are not valid.
    #[error("{0}")]
    Invalid(String),
    /// The policy forbids what was asked for.
    #[error("POLICY_VIOLATION: {0}")]
    Policy(String),
    /// The sandbox cannot be set up, or it failed.
    #[error("{message}")]
    Sandbox {
        /// The message, which names what is missing.
        message: String,
        /// Advice on how to proceed.
        hint: String,
    },
    /// The evidence does not fit the proposal.
    #[error("{0}")]
    Evidence(String),
    /// The pack contains a secret that went through the proxy.
    #[error(transparent)]
    Secret(#[from] SecretSearchError),
    /// The target of the export exists and is not empty.
    #[error("`{}` exists and is not empty", .0.display())]
    TargetExists(PathBuf),
    /// A bug in this program, with what is known about it.
    #[error("{0}")]
    Internal(String),
}

impl Diagnose for HarnessError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis {
            hint: self.hint().map(Cow::Owned),
            ..Diagnosis::unreadable(self, self.code()).message(self.to_string())
        }
    }
}

impl HarnessError {
    /// The error code defined in the companion text.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "RUN_E001",
            Self::NotJson(_) => "RUN_E002",
            Self::Invalid(_) => "RUN_E003",
            Self::Policy(_) => "RUN_E004",
            Self::Sandbox { .. } => "RUN_E005",
            Self::Evidence(_) | Self::Secret(_) => "RUN_E006",
            Self::TargetExists(_) | Self::Internal(_) => "RUN_E007",
        }
    }

    /// Advice for the hint line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable(_) => Some("check the name and the right to read it".to_owned()),
            Self::NotJson(_) => Some("the file must be one JSON document".to_owned()),
            Self::Invalid(_) => Some("docs/harness.md says what a plan may contain".to_owned()),
            Self::Policy(_) => Some("`--policy dev` allows models; see docs/harness.md".to_owned()),
            Self::Sandbox { hint, .. } => (!hint.is_empty()).then(|| hint.clone()),
            Self::TargetExists(_) => Some("name a folder that does not exist yet".to_owned()),
            Self::Secret(_) => Some(SECRET_HINT.to_owned()),
            Self::Evidence(_) | Self::Internal(_) => None,
        }
    }
}
