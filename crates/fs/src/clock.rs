//! The current time, for fields that need it, and the only reader of SOURCE_DATE_EPOCH.

use std::time::{SystemTime, UNIX_EPOCH};

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::verify::Outcome;

/// Makes builds reproducible: if it is set, it replaces the current time.
const FIXED: &str = "SOURCE_DATE_EPOCH";

/// Why there is no usable time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// SOURCE_DATE_EPOCH is not an integer.
    #[error("{FIXED} `{0}` is no integer")]
    NoInteger(String),
    /// The time is beyond the calendar's range.
    #[error("the time `{0}` is outside the years 0 to 9999")]
    OutOfRange(i64),
    /// The system clock is before 1970, which cannot be right.
    #[error("the system's clock is before 1970")]
    Before1970,
}

impl Diagnose for ClockError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self, Outcome::Usage, "USAGE")
            .hint("SOURCE_DATE_EPOCH is the seconds since 1970-01-01T00:00:00Z, such as 1700000000")
    }
}

/// The seconds since 1970 that SOURCE_DATE_EPOCH fixes, if it is set.
///
/// # Errors
/// When it is not a valid time.
pub fn fixed_seconds() -> Result<Option<i64>, ClockError> {
    let Some(text) = std::env::var_os(FIXED) else {
        return Ok(None);
    };
    let seconds = text.to_str().and_then(|text| text.parse::<i64>().ok());
    let shown = || text.to_string_lossy().escape_debug().to_string();
    let seconds = seconds.ok_or_else(|| ClockError::NoInteger(shown()))?;
    moment(seconds).map(|_| Some(seconds))
}

/// The current time, or the one that SOURCE_DATE_EPOCH fixes.
///
/// # Errors
/// When there is no usable time.
pub fn now() -> Result<Moment, ClockError> {
    if let Some(seconds) = fixed_seconds()? {
        return moment(seconds);
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok());
    moment(seconds.ok_or(ClockError::Before1970)?)
}

fn moment(seconds: i64) -> Result<Moment, ClockError> {
    Moment::from_unix(seconds).ok_or(ClockError::OutOfRange(seconds))
}
