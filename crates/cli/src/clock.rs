//! The current time, as commands ask for it.

use runseal_core::formats::run_bundle::time::Moment;
use runseal_fs::clock::{self, ClockError};

use crate::error::CliError;

const HINT: &str =
    "SOURCE_DATE_EPOCH is the seconds since 1970-01-01T00:00:00Z, such as 1700000000";

fn clock_error(error: ClockError) -> CliError {
    CliError::usage(error.to_string(), HINT)
}

/// The seconds since 1970 that SOURCE_DATE_EPOCH fixes, if it is set.
pub fn fixed_seconds() -> Result<Option<i64>, CliError> {
    clock::fixed_seconds().map_err(clock_error)
}

/// The current time, or the one that SOURCE_DATE_EPOCH fixes.
pub fn now() -> Result<Moment, CliError> {
    clock::now().map_err(clock_error)
}
