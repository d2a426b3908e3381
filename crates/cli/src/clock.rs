//! The current time, as commands ask for it.

use runseal_core::formats::run_bundle::time::Moment;
use runseal_fs::clock;

use crate::error::CliError;

/// The seconds since 1970 that SOURCE_DATE_EPOCH fixes, if it is set.
pub fn fixed_seconds() -> Result<Option<i64>, CliError> {
    Ok(clock::fixed_seconds()?)
}

/// The current time, or the one that SOURCE_DATE_EPOCH fixes.
pub fn now() -> Result<Moment, CliError> {
    Ok(clock::now()?)
}
