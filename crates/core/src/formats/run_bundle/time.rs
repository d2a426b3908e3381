//! Formats seconds since 1970 for RUN_META.json and run ids, and checks such texts.

use crate::timestamp::format_utc_seconds;

pub use crate::timestamp::is_iso_utc;

/// A moment in UTC, in a year of four digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment(String);

impl Moment {
    /// The moment `seconds` after 1970-01-01T00:00:00Z; `None` outside the years 0 to 9999.
    pub fn from_unix(seconds: i64) -> Option<Self> {
        format_utc_seconds(seconds).map(Self)
    }

    /// `YYYY-MM-DDTHH:MM:SSZ`
    pub fn to_iso(&self) -> String {
        self.0.clone()
    }

    /// `YYYYMMDDTHHMMSSZ`, as a run id has it.
    pub fn to_compact(&self) -> String {
        self.0.replace(['-', ':'], "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_formats_known_seconds() {
        for (seconds, iso) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let moment = Moment::from_unix(seconds).unwrap();
            assert_eq!(moment.to_iso(), iso);
            assert!(is_iso_utc(iso));
        }
        assert_eq!(
            Moment::from_unix(1_700_000_000).unwrap().to_compact(),
            "20231114T221320Z"
        );
        for beyond in [253_402_300_800, i64::MAX, i64::MIN] {
            assert_eq!(Moment::from_unix(beyond), None);
        }
    }

    #[test]
    fn iso_utc_accepts_fractions_and_no_other_forms() {
        for good in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.123456Z",
            "2024-02-29T00:00:00.0Z",
        ] {
            assert!(is_iso_utc(good), "{good}");
        }
        for bad in [
            "",
            "Z",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05+00:00",
            "2026-01-02 03:04:05Z",
            "2026-1-2T03:04:05Z",
            "2026-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:60:05Z",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05.1aZ",
            "2026-01-02t03:04:05Z",
            "+026-01-02T03:04:05Z",
            "２０２６-01-02T03:04Z",
        ] {
            assert!(!is_iso_utc(bad), "{bad}");
        }
    }
}
