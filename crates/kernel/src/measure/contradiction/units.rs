//! Units and number words: what `200 ms`, `half a day`, `6 a.m.` and `thirty` amount to.

use crate::text::lex::Lexed;

pub(super) fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" | "nanosecond" => 1e-9,
        "us" | "µs" | "microsecond" | "microseconds" => 1e-6,
        "ms" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "min" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" | "night" | "nights" => 86_400.0,
        "week" | "weeks" => 604_800.0,
        "fortnight" => 1_209_600.0,
        "month" | "months" => 2_592_000.0,
        "quarter" | "quarters" => 7_776_000.0,
        "year" | "years" => 31_536_000.0,
        _ => return None,
    })
}

pub(super) fn bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "b" | "byte" | "bytes" => 1.0,
        "kb" | "kib" | "kilobyte" | "kilobytes" => 1024.0,
        "mb" | "mib" | "megabyte" | "megabytes" => 1_048_576.0,
        "gb" | "gib" | "gigabyte" | "gigabytes" => 1_073_741_824.0,
        "tb" | "tib" | "terabyte" | "terabytes" => 1_099_511_627_776.0,
        _ => return None,
    })
}

/// Physical units that come in steps: a family and how many of its base unit.
pub(super) fn scaled(unit: &str) -> Option<(&'static str, f64)> {
    Some(match unit {
        "hz" => ("hz", 1.0),
        "khz" => ("hz", 1e3),
        "mhz" => ("hz", 1e6),
        "ghz" => ("hz", 1e9),
        "w" | "watt" | "watts" => ("w", 1.0),
        "kw" => ("w", 1e3),
        "g" => ("g", 1.0),
        "kg" => ("g", 1e3),
        "t" | "tonne" | "tonnes" | "ton" => ("g", 1e6),
        "mm" => ("m", 1e-3),
        "cm" => ("m", 1e-2),
        "m" | "metre" | "metres" | "meter" | "meters" => ("m", 1.0),
        "km" => ("m", 1e3),
        "cent" | "cents" => ("euro", 0.01),
        "euro" | "euros" | "eur" => ("euro", 1.0),
        _ => return None,
    })
}

pub(super) fn numeral(word: &str) -> Option<f64> {
    Some(match word {
        "a" | "an" | "one" => 1.0,
        "single" => 1.0,
        "two" | "several" | "multiple" | "many" => 2.0,
        "three" => 3.0,
        "four" => 4.0,
        "five" => 5.0,
        "six" => 6.0,
        "seven" => 7.0,
        "eight" => 8.0,
        "nine" => 9.0,
        "ten" => 10.0,
        "twelve" => 12.0,
        "fifteen" => 15.0,
        "twenty" => 20.0,
        "thirty" => 30.0,
        "forty" => 40.0,
        "fifty" => 50.0,
        "sixty" => 60.0,
        "half" => 0.5,
        "hundred" => 100.0,
        _ => return None,
    })
}

/// `04:00` as minutes since midnight.
pub(super) fn clock(text: &str) -> Option<f64> {
    let (h, m) = text.split_once(':')?;
    let (h, m): (u32, u32) = (h.parse().ok()?, m.parse().ok()?);
    (h < 25 && m < 60).then(|| f64::from(h * 60 + m))
}

/// `6 a.m.`, `10 pm`, `noon` as minutes since midnight.
pub(super) fn half_day(lexed: &Lexed<'_>, at: usize) -> Option<f64> {
    match lexed.word(at) {
        "noon" => return Some(720.0),
        "midnight" => return Some(1440.0),
        _ => {}
    }
    let hour = number(lexed.word(at)).filter(|h| (1.0..=12.0).contains(h))?;
    match lexed.word(at + 1) {
        "am" | "a.m" => Some(hour % 12.0 * 60.0),
        "pm" | "p.m" => Some((hour % 12.0 + 12.0) * 60.0),
        _ => None,
    }
}

pub(super) fn number(text: &str) -> Option<f64> {
    // Most words are none, and are not looked at any further.
    let may_be = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    if !may_be || text.contains(':') {
        return None;
    }
    if !text.contains(',') {
        return text.parse().ok();
    }
    let plain: String = text.chars().filter(|c| *c != ',').collect();
    plain.parse().ok()
}

/// Number words that count what follows.
pub(super) fn is_count(word: &str) -> bool {
    any_of!(word, "single" "two" "three" "four" "five" "six" "seven" "eight" "nine" "ten" "several" "multiple" "many" "one")
}
