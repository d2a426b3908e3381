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
        "hz" | "hertz" => ("hz", 1.0),
        "khz" => ("hz", 1e3),
        "mhz" => ("hz", 1e6),
        "ghz" => ("hz", 1e9),
        "w" | "watt" | "watts" => ("w", 1.0),
        "kw" | "kilowatt" | "kilowatts" => ("w", 1e3),
        "wh" => ("wh", 1.0),
        "kwh" => ("wh", 1e3),
        "mah" => ("mah", 1.0),
        "mg" | "milligram" | "milligrams" => ("g", 1e-3),
        "g" | "gram" | "grams" => ("g", 1.0),
        "kg" | "kilo" | "kilos" | "kilogram" | "kilograms" => ("g", 1e3),
        "t" | "tonne" | "tonnes" | "ton" | "tons" => ("g", 1e6),
        "mm" | "millimetre" | "millimetres" => ("m", 1e-3),
        "cm" | "centimetre" | "centimetres" => ("m", 1e-2),
        "inch" | "inches" => ("m", 0.0254),
        "ft" | "foot" | "feet" => ("m", 0.3048),
        "m" | "metre" | "metres" | "meter" | "meters" => ("m", 1.0),
        "km" | "kilometre" | "kilometres" | "kilometers" => ("m", 1e3),
        "mile" | "miles" => ("m", 1609.0),
        "ml" | "millilitre" | "millilitres" => ("l", 1e-3),
        "cl" => ("l", 1e-2),
        "l" | "litre" | "litres" | "liter" | "liters" => ("l", 1.0),
        "hl" => ("l", 100.0),
        "cent" | "cents" => ("euro", 0.01),
        "euro" | "euros" | "eur" => ("euro", 1.0),
        "usd" | "dollar" | "dollars" => ("usd", 1.0),
        "gbp" => ("gbp", 1.0),
        "chf" | "franc" | "francs" => ("chf", 1.0),
        "mv" => ("v", 1e-3),
        "v" | "volt" | "volts" => ("v", 1.0),
        "kv" => ("v", 1e3),
        "ma" => ("a", 1e-3),
        "ampere" | "amperes" | "amps" => ("a", 1.0),
        "mbar" | "hpa" => ("bar", 1e-3),
        "bar" => ("bar", 1.0),
        "kbit" => ("bit", 1e3),
        "mbit" => ("bit", 1e6),
        "gbit" => ("bit", 1e9),
        "pt" => ("pt", 1.0),
        "px" | "pixel" | "pixels" => ("px", 1.0),
        "db" | "decibel" | "decibels" => ("db", 1.0),
        "lux" => ("lux", 1.0),
        "rpm" => ("rpm", 1.0),
        "fps" => ("fps", 1.0),
        "dpi" => ("dpi", 1.0),
        "ppm" => ("ppm", 1.0),
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
        "eleven" => 11.0,
        "twelve" | "dozen" => 12.0,
        "thirteen" => 13.0,
        "fourteen" => 14.0,
        "fifteen" => 15.0,
        "sixteen" => 16.0,
        "seventeen" => 17.0,
        "eighteen" => 18.0,
        "nineteen" => 19.0,
        "twenty" => 20.0,
        "thirty" => 30.0,
        "forty" => 40.0,
        "fifty" => 50.0,
        "sixty" => 60.0,
        "seventy" => 70.0,
        "eighty" => 80.0,
        "ninety" => 90.0,
        "half" => 0.5,
        "hundred" => 100.0,
        // `twenty-five`
        _ => {
            let (tens, ones) = word.split_once('-')?;
            let (tens, ones) = (numeral(tens)?, numeral(ones)?);
            return (tens >= 20.0 && ones < 10.0).then_some(tens + ones);
        }
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
