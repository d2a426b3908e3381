//! Now, for the fields that ask for it, and the one reader of SOURCE_DATE_EPOCH.

use std::time::{SystemTime, UNIX_EPOCH};

use runseal_core::formats::run_bundle::time::Moment;

use crate::error::CliError;

/// What makes builds repeatable: where it is set, it is now.
const FIXED: &str = "SOURCE_DATE_EPOCH";

const HINT: &str =
    "SOURCE_DATE_EPOCH is the seconds since 1970-01-01T00:00:00Z, such as 1700000000";

/// The seconds since 1970 that SOURCE_DATE_EPOCH fixes, where it is set.
pub fn fixed_seconds() -> Result<Option<i64>, CliError> {
    let Some(text) = std::env::var_os(FIXED) else {
        return Ok(None);
    };
    let seconds = text.to_str().and_then(|text| text.parse::<i64>().ok());
    let Some(seconds) = seconds else {
        let shown = text.to_string_lossy();
        return Err(CliError::usage(
            format!("{FIXED} `{}` is no integer", shown.escape_debug()),
            HINT,
        ));
    };
    moment(seconds).map(|_| Some(seconds))
}

/// The time, or the one that SOURCE_DATE_EPOCH fixes.
pub fn now() -> Result<Moment, CliError> {
    if let Some(seconds) = fixed_seconds()? {
        return moment(seconds);
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok());
    let before = || CliError::usage("the system's clock stands before 1970", HINT);
    moment(seconds.ok_or_else(before)?)
}

fn moment(seconds: i64) -> Result<Moment, CliError> {
    Moment::from_unix(seconds).ok_or_else(|| {
        CliError::usage(
            format!("the time `{seconds}` is outside the years 0 to 9999"),
            HINT,
        )
    })
}
