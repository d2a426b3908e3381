//! Times as the documents write them: ISO 8601, UTC, `Z`, whole seconds or milliseconds.

const SECONDS_PER_DAY: i64 = 86_400;

/// More seconds than there are between 1970 and the years 0 and 9999.
const LONGEST: i64 = 400_000_000_000;

/// Returns milliseconds since 1970, if `text` is `YYYY-MM-DDTHH:MM:SSZ` or
/// `YYYY-MM-DDTHH:MM:SS.mmmZ` and that moment exists.
pub fn parse_utc(text: &str) -> Option<i64> {
    let (whole, milliseconds) = match text.strip_suffix('Z')?.split_once('.') {
        None => (text.strip_suffix('Z')?, 0),
        Some((whole, fraction)) if fraction.len() == 3 => {
            (whole, digits(fraction.as_bytes(), 0, 3)?)
        }
        Some(_) => return None,
    };
    Some(parse_seconds(whole)? * 1000 + milliseconds)
}

/// Whether `text` is `YYYY-MM-DDTHH:MM:SSZ`, optionally with a fraction of the second of any
/// length, and that moment exists.
pub fn is_iso_utc(text: &str) -> bool {
    let Some(rest) = text.strip_suffix('Z') else {
        return false;
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    fraction.is_none_or(is_number) && parse_seconds(whole).is_some()
}

/// Returns seconds since 1970, if `whole` is `YYYY-MM-DDTHH:MM:SS` and that moment exists. A leap
/// second is the 60th of the last minute of a day, and counts as the second after it.
fn parse_seconds(whole: &str) -> Option<i64> {
    let bytes = whole.as_bytes();
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let has_marks = marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark));
    if !has_marks || bytes.len() != 19 {
        return None;
    }
    let (year, month, day) = (
        digits(bytes, 0, 4)?,
        digits(bytes, 5, 2)?,
        digits(bytes, 8, 2)?,
    );
    let (hour, minute, second) = (
        digits(bytes, 11, 2)?,
        digits(bytes, 14, 2)?,
        digits(bytes, 17, 2)?,
    );
    let exists = (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && (second < 60 || (hour, minute, second) == (23, 59, 60));
    let of_day = (hour * 60 + minute) * 60 + second;
    exists.then(|| days_from_epoch(year, month, day) * SECONDS_PER_DAY + of_day)
}

/// Formats milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.mmmZ`; `None` beyond the years 0 to 9999.
pub fn format_utc(milliseconds: i64) -> Option<String> {
    let millis = milliseconds.rem_euclid(1000);
    let whole = format_whole(milliseconds.div_euclid(1000))?;
    Some(format!("{whole}.{millis:03}Z"))
}

/// Formats seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`; `None` beyond the years 0 to 9999.
pub fn format_utc_seconds(seconds: i64) -> Option<String> {
    Some(format!("{}Z", format_whole(seconds)?))
}

fn format_whole(seconds: i64) -> Option<String> {
    // A moment this far off has no four-digit year, and counting its days would overflow.
    if !(-LONGEST..LONGEST).contains(&seconds) {
        return None;
    }
    let (days, rest) = (
        seconds.div_euclid(SECONDS_PER_DAY),
        seconds.rem_euclid(SECONDS_PER_DAY),
    );
    let (year, month, day) = date_from_days(days);
    (0..=9999).contains(&year).then(|| {
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            rest / 3600,
            rest / 60 % 60,
            rest % 60
        )
    })
}

fn digits(bytes: &[u8], from: usize, count: usize) -> Option<i64> {
    let mut value = 0;
    for byte in bytes.get(from..from + count)? {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Some(value)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, counting years from March so that the leap day comes last.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_utc_known_moments_have_their_numbers() {
        for (text, milliseconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.001Z", 1),
            ("2000-02-29T23:59:59.999Z", 951_868_799_999),
            ("2026-11-15T20:00:00Z", 1_794_772_800_000),
            ("1969-12-31T23:59:59Z", -1000),
            ("1969-12-31T23:59:60Z", 0),
        ] {
            assert_eq!(parse_utc(text), Some(milliseconds), "{text}");
            assert!(is_iso_utc(text), "{text}");
        }
    }

    #[test]
    fn parse_utc_other_texts_are_none() {
        for text in [
            "",
            "2026-02-14T08:15:30",
            "2026-02-14T08:15:30z",
            "2026-02-14T08:15:30.000000Z",
            "2026-02-14T24:00:00Z",
            "2026-02-14T08:15:60Z",
            "2026-02-14T23:58:60Z",
            "2026-02-14T23:59:61Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-14 08:15:30Z",
            "2026-02-14T08:15:30Z\n",
            "2026-02-14T08:15:30+00:00",
        ] {
            assert_eq!(parse_utc(text), None, "{text}");
        }
    }

    #[test]
    fn format_utc_and_parse_utc_agree_over_four_hundred_years() {
        let mut milliseconds = -6_000_000_000_000;
        while milliseconds < 7_000_000_000_000 {
            let text = format_utc(milliseconds).unwrap();
            assert_eq!(parse_utc(&text), Some(milliseconds), "{text}");
            milliseconds += 12_345_678_901;
        }
    }
}
