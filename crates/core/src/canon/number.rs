//! JSON numbers, kept as written until a dialect or a rule needs their value.

use std::cmp::Ordering;

use super::shortest::SAFE_DIGITS;
use super::value::Value;

/// A number of a document, as text that follows the JSON grammar.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    text: &'a str,
}

impl<'a> Number<'a> {
    /// The number that is written as `text`, which must follow the grammar.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The number as it was written.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The nearest double; infinite if the number is out of range.
    pub fn to_f64(&self) -> f64 {
        parse_double(self.text)
    }

    /// The value, if it is an integer that a double represents exactly: `50`, `50.0` and `5e1` are all
    /// 50. This is how ECMAScript sees a number.
    pub fn to_exact_i64(&self) -> Option<i64> {
        const LARGEST: f64 = 9_007_199_254_740_991.0;
        let value = self.to_f64();
        (value.fract() == 0.0 && value.abs() <= LARGEST).then_some(value as i64)
    }

    /// The number as an integer of any size, if it is written without fraction and exponent.
    pub fn as_integer(&self) -> Option<Integer<'a>> {
        is_integer_text(self.text).then(|| Integer::new(self.text))
    }
}

pub(crate) fn parse_double(text: &str) -> f64 {
    // Rust parses a superset of JSON's grammar and rounds to the nearest double, as ECMAScript and
    // Python do.
    text.parse().unwrap_or(f64::NAN)
}

fn is_integer_text(text: &str) -> bool {
    !text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'))
}

/// An integer of any size. Ordered by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer<'a> {
    negative: bool,
    /// Without sign and leading zeros; `0` for zero.
    digits: &'a str,
}

impl<'a> Integer<'a> {
    fn new(text: &'a str) -> Self {
        let digits = text.strip_prefix('-').unwrap_or(text);
        Self {
            negative: digits.len() < text.len() && digits != "0",
            digits,
        }
    }

    /// The integer as written, except that `-0` becomes `0`.
    pub fn to_text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}", self.digits)
    }

    /// The integer as an owned value.
    pub fn to_value(&self) -> Value {
        Value::number_from(Number::new(&self.to_text()))
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The value, if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        if self.negative {
            None
        } else {
            self.digits.parse().ok()
        }
    }
}

impl Ord for Integer<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let magnitude = || {
            self.digits
                .len()
                .cmp(&other.digits.len())
                .then_with(|| self.digits.cmp(other.digits))
        };
        match (self.negative, other.negative) {
            (false, false) => magnitude(),
            (true, true) => magnitude().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Integer<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Appends the double of `text` as ECMAScript's Number::toString prints it. Returns `false`, and
/// appends nothing, if it is infinite.
pub(crate) fn write_ecmascript(out: &mut Vec<u8>, text: &str) -> bool {
    // Most numbers of a bundle. Integers of so few digits are doubles and are printed as written.
    let is_short = text.len() <= SAFE_DIGITS && is_integer_text(text) && text != "-0";
    if is_short {
        out.extend_from_slice(text.as_bytes());
        return true;
    }
    let value = parse_double(text);
    if !value.is_finite() {
        return false;
    }
    if value == 0.0 {
        out.push(b'0');
        return true;
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(value);
    match split_exponent(shortest) {
        None => {
            let whole = shortest.strip_suffix(".0").unwrap_or(shortest);
            out.extend_from_slice(whole.as_bytes());
        }
        // ECMAScript omits the exponent over a slightly wider range, at both ends.
        Some((mantissa, exponent)) => match parse_exponent(exponent) {
            -6 => write_shifted_right(out, mantissa, 6),
            exponent @ 16..=20 => write_shifted_left(out, mantissa, exponent.unsigned_abs()),
            _ => out.extend_from_slice(shortest.as_bytes()),
        },
    }
    true
}

/// Appends a number as Python's `json.dumps` prints it after `json.loads`: integers with all their
/// digits, everything else as `repr` of a float. Returns `false`, and appends nothing, if it is
/// infinite.
pub(crate) fn write_python(out: &mut Vec<u8>, text: &str) -> bool {
    if is_integer_text(text) {
        let text = if text == "-0" { "0" } else { text };
        out.extend_from_slice(text.as_bytes());
        return true;
    }
    let value = parse_double(text);
    if !value.is_finite() {
        return false;
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(value);
    match split_exponent(shortest) {
        // Python writes an exponent slightly earlier: 0.00001 is 1e-05.
        None if value != 0.0 && value.abs() < 1e-4 => write_python_fifth(out, shortest),
        None => out.extend_from_slice(shortest.as_bytes()),
        // It writes at least two digits of the exponent.
        Some((mantissa, exponent)) => {
            out.extend_from_slice(mantissa.as_bytes());
            let (sign, digits) = exponent.split_at(1);
            out.push(b'e');
            out.extend_from_slice(sign.as_bytes());
            out.extend_from_slice(if digits.len() < 2 { b"0" } else { b"" });
            out.extend_from_slice(digits.as_bytes());
        }
    }
    true
}

/// Splits a shortest text such as `1.25e-7` at its exponent, which has a sign and one to three
/// digits.
fn split_exponent(shortest: &str) -> Option<(&str, &str)> {
    let bytes = shortest.as_bytes();
    let tail = bytes.len().saturating_sub(5);
    let at = tail + bytes[tail..].iter().position(|&b| b == b'e')?;
    Some((&shortest[..at], &shortest[at + 1..]))
}

/// Parses an exponent: a sign and digits.
fn parse_exponent(text: &str) -> i32 {
    text.parse().unwrap_or_default()
}

/// Splits a mantissa such as `-1.25` into its sign, its first digit and the other digits.
fn split_mantissa(mantissa: &str) -> (&str, &str, &str) {
    let digits = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let sign = &mantissa[..mantissa.len() - digits.len()];
    let (first, rest) = digits.split_once('.').unwrap_or((digits, ""));
    (sign, first, rest)
}

/// Appends a mantissa whose point moves to the left: `1.25` by 6 is `0.00000125`.
fn write_shifted_right(out: &mut Vec<u8>, mantissa: &str, places: usize) {
    let (sign, first, rest) = split_mantissa(mantissa);
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(b"0.");
    out.resize(out.len() + places - 1, b'0');
    out.extend_from_slice(first.as_bytes());
    out.extend_from_slice(rest.as_bytes());
}

/// Appends a mantissa whose point moves to the right, to or beyond its last digit: `1.25` by 4 is
/// `12500`. A double has at most 17 digits, so at most 16 follow the point, and callers move it by 16
/// places or more.
fn write_shifted_left(out: &mut Vec<u8>, mantissa: &str, places: u32) {
    let (sign, first, rest) = split_mantissa(mantissa);
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(first.as_bytes());
    out.extend_from_slice(rest.as_bytes());
    out.resize(out.len() + (places as usize - rest.len()), b'0');
}

/// Appends a number from 0.00001 up to 0.0001, such as `-0.0000125`, as Python does: `-1.25e-05`.
fn write_python_fifth(out: &mut Vec<u8>, plain: &str) {
    let digits = plain.trim_start_matches(['-', '0', '.']);
    out.extend_from_slice(if plain.starts_with('-') { b"-" } else { b"" });
    let (first, rest) = digits.split_at(1);
    out.extend_from_slice(first.as_bytes());
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest.as_bytes());
    }
    out.extend_from_slice(b"e-05");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(text: &str) -> String {
        let mut out = Vec::new();
        assert!(write_python(&mut out, text));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn python_numbers_print_as_repr_does() {
        for (text, repr) in [
            ("1.0", "1.0"),
            ("-0.0", "-0.0"),
            ("-0", "0"),
            ("1e16", "1e+16"),
            ("1e15", "1000000000000000.0"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("12345678901234567.0", "1.2345678901234568e+16"),
            ("1e-4", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e-7", "1e-07"),
            ("1.50", "1.5"),
            ("1e100", "1e+100"),
            ("1e22", "1e+22"),
            ("123e3", "123000.0"),
            ("5e-324", "5e-324"),
            ("1e-400", "0.0"),
            ("-1e-400", "-0.0"),
            (
                "5.684341886080801486968994140625e-14",
                "5.684341886080802e-14",
            ),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
        ] {
            assert_eq!(python(text), repr, "{text}");
        }
        assert!(!write_python(&mut Vec::new(), "1e400"));
    }

    #[test]
    fn ecmascript_numbers_agree_with_an_independent_printer() {
        // Every exponent, with mantissas that are round, odd, full and halfway.
        let mantissas = [
            0,
            1,
            1 << 51,
            (1 << 52) - 1,
            0x5_5555_5555_5555,
            0xA_AAAA_AAAA_AAAA,
        ];
        let mut dice = 1_u64;
        for exponent in 0..2047_u64 {
            for round in 0..40 {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let mantissa = mantissas.get(round).copied().unwrap_or(dice >> 12);
                for sign in [0, 1 << 63] {
                    let value = f64::from_bits(sign | exponent << 52 | mantissa);
                    let mut out = Vec::new();
                    assert!(write_ecmascript(&mut out, &format!("{value:e}")));
                    let expected = ryu_js::Buffer::new().format(value).to_owned();
                    assert_eq!(String::from_utf8(out).unwrap(), expected);
                }
            }
        }
    }

    #[test]
    fn integer_any_size_orders_by_value() {
        let integer = |text| Number::new(text).as_integer().unwrap();
        let ordered = [
            "-99999999999999999999",
            "-10",
            "-9",
            "0",
            "9",
            "10",
            "18446744073709551616",
        ];
        for (at, a) in ordered.iter().enumerate() {
            for (other, b) in ordered.iter().enumerate() {
                assert_eq!(integer(a).cmp(&integer(b)), at.cmp(&other), "{a} {b}");
            }
        }
        assert_eq!(integer("-0").cmp(&integer("0")), Ordering::Equal);
        assert_eq!(integer("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(integer("18446744073709551616").to_u64(), None);
        assert!(Number::new("1.0").as_integer().is_none());
    }

    #[test]
    fn exact_integer_depends_on_value_not_spelling() {
        for (text, value) in [
            ("50", Some(50)),
            ("5.0e1", Some(50)),
            ("50.0", Some(50)),
            ("-0", Some(0)),
            ("50.5", None),
            ("1e400", None),
            ("9007199254740993", None),
        ] {
            assert_eq!(Number::new(text).to_exact_i64(), value, "{text}");
        }
    }
}
