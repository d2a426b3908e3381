//! Seconds since 1970 as the texts that RUN_META.json and run ids hold, and back to a yes or no.

/// A moment in UTC that four digits of year can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

impl Moment {
    /// The moment `seconds` after 1970-01-01T00:00:00Z; `None` outside the years 0 to 9999.
    pub fn from_unix(seconds: i64) -> Option<Self> {
        let days = seconds.div_euclid(86_400);
        let within = u32::try_from(seconds.rem_euclid(86_400)).ok()?;
        // Days are counted from 0000-03-01 in eras of 400 years, so that the leap day is last.
        let shifted = days.checked_add(719_468)?;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let day = u32::try_from(of_year - (153 * month_from_march + 2) / 5 + 1).ok()?;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (0..=9999).contains(&year).then_some(Self {
            year,
            month: u32::try_from(month).ok()?,
            day,
            hour: within / 3600,
            minute: within / 60 % 60,
            second: within % 60,
        })
    }

    /// `YYYY-MM-DDTHH:MM:SSZ`
    pub fn to_iso(self) -> String {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// `YYYYMMDDTHHMMSSZ`, as a run id has it.
    pub fn to_compact(self) -> String {
        self.to_iso().replace(['-', ':'], "")
    }
}

/// Whether `text` is `YYYY-MM-DDTHH:MM:SSZ`, with or without a fraction of the second, and a
/// day and time that exist.
pub fn is_iso_utc(text: &str) -> bool {
    let Some(rest) = text.strip_suffix('Z') else {
        return false;
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !fraction.is_none_or(digits) || whole.len() != 19 || !whole.is_ascii() {
        return false;
    }
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|&(at, mark)| whole.as_bytes()[at] != mark) {
        return false;
    }
    let number = |from: usize, to: usize| {
        let part = &whole[from..to];
        if digits(part) {
            part.parse::<u32>().ok()
        } else {
            None
        }
    };
    let parts = [
        number(0, 4),
        number(5, 7),
        number(8, 10),
        number(11, 13),
        number(14, 16),
        number(17, 19),
    ];
    let [
        Some(year),
        Some(month),
        Some(day),
        Some(hour),
        Some(minute),
        Some(second),
    ] = parts
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    // A leap second is written as 60.
    (1..=days).contains(&day) && hour < 24 && minute < 60 && second <= 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_known_seconds_have_their_dates() {
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
    fn iso_utc_a_fraction_passes_and_other_forms_do_not() {
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
