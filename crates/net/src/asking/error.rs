//! Why a model gave no answer that can be used.

use std::time::Duration;

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::verify::Outcome;

use super::provider::Provider;
use crate::NetError;

/// The longest pause that a server may ask for before it is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The key cannot be sent.
    #[error("the key in {} has characters that cannot be sent", .0.key_variable())]
    BadKey(Provider),
    /// The server does not accept the key.
    #[error("{} does not accept the key (status {status}): {said}", .provider.name())]
    Key {
        /// Who was asked.
        provider: Provider,
        /// The status of the answer.
        status: u16,
        /// What the server said.
        said: String,
    },
    /// The server knows no such address or model.
    #[error("there is no such address or model (status 404): {0}")]
    NotFound(String),
    /// The server refuses the request.
    #[error("the server refused the request (status {status}): {said}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// What the server said.
        said: String,
    },
    /// The server has no time now, or counts too many requests.
    #[error("the server cannot answer now (status {status}, asked {tries} times): {said}")]
    Busy {
        /// The status of the answer.
        status: u16,
        /// What the server said.
        said: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
        /// How often it was asked.
        tries: u32,
    },
    /// Nobody can be reached at the address.
    #[error("{0}")]
    Unreachable(String),
    /// The answer did not come in time.
    #[error("the model did not answer within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The answer broke off.
    #[error("the answer broke off: {0}")]
    BrokenOff(String),
    /// The answer is longer than can be read.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    /// The model reached its limit before it had finished.
    #[error("the answer is truncated: the model reached the limit of its length")]
    Truncated,
    /// The answer does not have the demanded form.
    #[error("the model's answer cannot be read: {0}")]
    Unreadable(String),
    /// The recording has no such answer.
    #[error("the recording has no answer to this question: {0}")]
    Missed(String),
    /// The user stopped it.
    #[error("stopped by a signal while a model was asked")]
    Interrupted,
    /// The proxy could not be started, or did not forward the request.
    #[error("the question could not be recorded: {0}")]
    Proxy(String),
    /// The recording cannot be made or read.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl AskError {
    /// How long to wait before asking again; `None` if that is of no use.
    pub(super) fn pause_before_retry(&self, tries: u32) -> Option<Duration> {
        let Self::Busy { wait, .. } = self else {
            return None;
        };
        let pause = wait.unwrap_or(Duration::from_secs(1 << tries.min(6)));
        (pause <= LONGEST_PAUSE).then_some(pause)
    }

    /// The same error after `count` tries.
    pub(super) fn after(mut self, count: u32) -> Self {
        if let Self::Busy { tries, .. } = &mut self {
            *tries = count;
        }
        self
    }

    fn code(&self) -> &'static str {
        match self {
            Self::BadKey(_) | Self::Key { .. } => "MODEL_KEY",
            Self::NotFound(_) => "MODEL_NOT_FOUND",
            Self::Refused { .. } => "MODEL_REFUSED",
            Self::Busy { .. } => "MODEL_BUSY",
            Self::Unreachable(_) => "MODEL_UNREACHABLE",
            Self::TimedOut(_) => "MODEL_TIMEOUT",
            Self::BrokenOff(_) => "MODEL_BROKEN_OFF",
            Self::TooLong(_) => "MODEL_TOO_LONG",
            Self::Truncated => "MODEL_TRUNCATED",
            Self::Unreadable(_) => "MODEL_ANSWER",
            Self::Missed(_) => "MODEL_IO_MISS",
            Self::Interrupted => "INTERRUPTED",
            Self::Proxy(_) => "MODEL_PROXY",
            Self::Net(error) => error.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::BadKey(provider) | Self::Key { provider, .. } => {
                format!("check {}, and --base-url if the key is for another server", provider.key_variable())
            }
            Self::NotFound(_) => {
                "check --model and --base-url; the address of an OpenAI-compatible server ends with /v1".into()
            }
            Self::Refused { .. } => "the server says what it does not take; --model names another model".into(),
            Self::Busy { wait: Some(wait), .. } if *wait > LONGEST_PAUSE => {
                format!("the server asks to wait for {} seconds", wait.as_secs())
            }
            Self::Busy { .. } | Self::BrokenOff(_) => "try again later".into(),
            Self::Unreachable(_) => "check --base-url, and whether a server listens there".into(),
            Self::TimedOut(_) => "--timeout gives it longer".into(),
            Self::TooLong(_) | Self::Unreadable(_) => {
                "try again, or name another model with --model; not every model keeps to a form".into()
            }
            Self::Truncated => "name a model with longer answers with --model, or split the list".into(),
            Self::Missed(_) => {
                "recordings answer the same intent with the same --requests and the same version of runseal; \
                 with --provider as well, what is missing is asked"
                    .into()
            }
            Self::Interrupted => "run it again".into(),
            Self::Proxy(_) => "check the folder of the recording and its free space".into(),
            Self::Net(error) => error.hint().to_owned(),
        }
    }
}

impl Diagnose for AskError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Net(error) => error.diagnosis(),
            Self::Interrupted => {
                Diagnosis::of(self, Outcome::Interrupted, self.code()).hint(self.hint())
            }
            _ => Diagnosis::of(self, Outcome::Invalid, self.code()).hint(self.hint()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_grows_and_heeds_what_the_server_asks_for_within_bounds() {
        let busy = |wait| AskError::Busy {
            status: 429,
            said: String::new(),
            wait,
            tries: 0,
        };
        let seconds =
            |error: &AskError, tries| error.pause_before_retry(tries).map(|it| it.as_secs());
        assert_eq!(
            [1, 2, 3].map(|tries| seconds(&busy(None), tries)),
            [Some(2), Some(4), Some(8)]
        );
        assert_eq!(seconds(&busy(None), 99), None);
        assert_eq!(seconds(&busy(Some(Duration::from_secs(60))), 1), Some(60));
        assert_eq!(seconds(&busy(Some(Duration::from_secs(61))), 1), None);
        assert_eq!(AskError::Truncated.pause_before_retry(1), None);
    }
}
