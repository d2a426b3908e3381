//! Now, for the one field that asks for it: `sealed_at`.

use std::time::{SystemTime, UNIX_EPOCH};

use runseal_core::formats::run_bundle::time::Moment;

use crate::error::CliError;

/// What makes builds repeatable: where it is set, it is now.
const FIXED: &str = "SOURCE_DATE_EPOCH";

/// The time, or the one that SOURCE_DATE_EPOCH fixes.
pub fn now() -> Result<Moment, CliError> {
    let hint = "SOURCE_DATE_EPOCH is the seconds since 1970-01-01T00:00:00Z, such as 1700000000";
    let seconds = match std::env::var_os(FIXED) {
        Some(text) => text
            .to_str()
            .and_then(|text| text.parse::<i64>().ok())
            .ok_or_else(|| {
                let shown = text.to_string_lossy();
                CliError::usage(
                    format!("{FIXED} `{}` is no integer", shown.escape_debug()),
                    hint,
                )
            })?,
        None => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok())
            .unwrap_or_default(),
    };
    Moment::from_unix(seconds).ok_or_else(|| {
        CliError::usage(
            format!("{FIXED} `{seconds}` is outside the years 0 to 9999"),
            hint,
        )
    })
}
