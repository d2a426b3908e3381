//! What judging a unit gives: to a survey, which lists it, and to whoever shows this one unit.

use std::io;

use runseal_core::canon::JsonError;
use runseal_core::formats::Format;
use runseal_core::formats::definition::Judgement;
use runseal_core::source::SourceError;
use runseal_core::verify::{NO_FORMAT, NO_JSON, UnitResult};

use super::content::{Keep, UnitContent};
use super::load::{Judged, LoadError};
use super::observer::Kept;
use super::{NOTHING_FOUND, error_chain};

/// A unit that was judged, or why it could not be.
#[derive(Debug)]
pub(super) struct UnitAnswer {
    pub(super) judgement: Result<Judgement, Unjudged>,
    /// How much of it was to be kept.
    pub(super) keep: Keep,
    /// What was kept; `None` if nothing was to be, or it could not be read.
    pub(super) content: Option<UnitContent>,
}

/// Why something was not judged.
#[derive(Debug)]
pub(super) enum Unjudged {
    /// Nothing can be looked at under this path.
    Lost(String, io::Error),
    /// It could not be opened or read.
    Unread(Option<Format>, SourceError),
    /// Something in it could not be read while it was judged.
    Unverified(Format, SourceError),
    /// It is not looked at, for this reason.
    Refused(String),
    /// It has no known format, or several, or is only a part of a unit of this format.
    Unknown(Option<Format>, String),
    /// It is not JSON.
    NotJson(Option<Format>, JsonError),
}

impl From<Unjudged> for UnitAnswer {
    fn from(why: Unjudged) -> Self {
        Self {
            judgement: Err(why),
            keep: Keep::Verdict,
            content: None,
        }
    }
}

impl UnitAnswer {
    /// Whether it has this format, as far as that is known.
    pub(super) fn is_of(&self, format: Format) -> bool {
        let known = match &self.judgement {
            Ok(judgement) => Some(judgement.report.format()),
            Err(Unjudged::Unverified(format, _)) => Some(*format),
            Err(
                Unjudged::Unread(format, _)
                | Unjudged::Unknown(format, _)
                | Unjudged::NotJson(format, _),
            ) => *format,
            Err(Unjudged::Lost(..) | Unjudged::Refused(_)) => None,
        };
        known == Some(format)
    }

    /// Its result in a survey, and what an observer gets to see of it.
    pub(super) fn into_result(self, path: String) -> (UnitResult, Kept) {
        match (self.judgement, self.content) {
            (Ok(judgement), Some(content)) if self.keep == Keep::Everything => {
                let judged = Judged::new(&path, judgement, content);
                (judged.to_checked(), Kept::Judged(Box::new(judged)))
            }
            (judgement, content) => {
                let result = match judgement {
                    Ok(judgement) => UnitResult::of_judgement(path, judgement),
                    Err(why) => why.into_checked(path),
                };
                (result, content.map_or(Kept::Nothing, Kept::UnitContent))
            }
        }
    }

    /// The same for whoever shows this one unit; everything of it must have been kept.
    pub(super) fn into_judged(self, path: &str) -> Result<Judged, LoadError> {
        match (self.judgement?, self.content) {
            (judgement, Some(content)) => Ok(Judged::new(path, judgement, content)),
            (_, None) => Err(LoadError::Unknown {
                message: NOTHING_FOUND.to_owned(),
            }),
        }
    }
}

impl Unjudged {
    fn into_checked(self, path: String) -> UnitResult {
        match self {
            Self::Lost(_, error) => {
                let reason = match error.kind() {
                    io::ErrorKind::NotFound => "nothing has this name".to_owned(),
                    _ => error.to_string(),
                };
                UnitResult::not_checked(path, None, reason)
            }
            Self::Unread(format, error) => {
                UnitResult::not_checked(path, format, error_chain(&error))
            }
            Self::Unverified(format, error) => {
                UnitResult::not_checked(path, Some(format), error_chain(&error))
            }
            Self::Refused(reason) => UnitResult::not_checked(path, None, reason),
            Self::Unknown(format, message) => UnitResult::invalid(path, format, NO_FORMAT, message),
            Self::NotJson(format, error) => {
                let message = format!("{}, at {}", error.kind, error.position);
                UnitResult::invalid(path, format, NO_JSON, message)
            }
        }
    }
}

impl From<Unjudged> for LoadError {
    fn from(why: Unjudged) -> Self {
        match why {
            Unjudged::Lost(path, source) => Self::Source(match source.kind() {
                io::ErrorKind::NotFound => SourceError::NotFound { path },
                _ => SourceError::Io { path, source },
            }),
            Unjudged::Unread(_, error) => Self::Source(error),
            Unjudged::Unverified(_, error) => Self::Unverified {
                message: error_chain(&error),
            },
            Unjudged::Refused(message) | Unjudged::Unknown(_, message) => Self::Unknown { message },
            Unjudged::NotJson(_, error) => Self::Json(error),
        }
    }
}
