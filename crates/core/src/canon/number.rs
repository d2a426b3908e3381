//! JSON numbers, kept as written until a dialect or a rule asks what they are worth.

use std::cmp::Ordering;

/// A number of a document, by its text. The text follows the JSON grammar.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    text: &'a str,
}

impl<'a> Number<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The number as it was written.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The nearest double; infinite where the number is beyond the range of one.
    pub fn to_f64(&self) -> f64 {
        parse_double(self.text)
    }

    /// The integer this number is worth, if it is one that a double holds exactly: `50`, `50.0`
    /// and `5e1` are all 50. This is how ECMAScript sees a number.
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
    // JSON's grammar is a part of what Rust parses, and Rust rounds to the nearest double, as
    // ECMAScript and Python do.
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

/// What the reader saw of a number, so that most numbers are copied and not converted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberShape {
    /// Digits before the point.
    pub integer_digits: usize,
    /// Whether those are the single digit 0.
    pub integer_is_zero: bool,
    /// Digits after the point, 0 where there is none.
    pub fraction_digits: usize,
    /// Zeros directly after the point.
    pub fraction_leading_zeros: usize,
    /// Whether the last digit after the point is a zero.
    pub fraction_ends_in_zero: bool,
    /// Whether there is an exponent.
    pub exponent: bool,
    /// Whether there is a minus sign.
    pub negative: bool,
}

impl NumberShape {
    /// Whether every dialect prints the number exactly as it is written.
    ///
    /// Different decimals of up to 15 significant digits are different doubles, so such a
    /// decimal, written without superfluous zeros, is itself the shortest text of its double.
    /// The bounds on zeros keep to where both ECMAScript and Python print without an exponent.
    pub fn is_verbatim(&self) -> bool {
        const DIGITS: usize = 15;
        if self.exponent {
            return false;
        }
        if self.fraction_digits == 0 {
            let minus_zero = self.negative && self.integer_is_zero;
            return self.integer_digits <= DIGITS && !minus_zero;
        }
        if self.fraction_ends_in_zero {
            return false;
        }
        if self.integer_is_zero {
            let significant = self.fraction_digits - self.fraction_leading_zeros;
            return self.fraction_leading_zeros <= 3 && significant <= DIGITS;
        }
        self.integer_digits + self.fraction_digits <= DIGITS
    }
}

/// Appends the double of `text` as ECMAScript's Number::toString, or says that it is infinite.
pub(crate) fn write_ecmascript(out: &mut Vec<u8>, text: &str) -> bool {
    write_ecmascript_double(out, parse_double(text))
}

pub(crate) fn write_ecmascript_double(out: &mut Vec<u8>, value: f64) -> bool {
    if !value.is_finite() {
        return false;
    }
    if value == 0.0 {
        out.push(b'0');
    } else {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
    }
    true
}

/// Appends a number as Python's `json.dumps` prints what `json.loads` made of it: integers with
/// all their digits, everything else as `repr` of a float. Says whether it is finite.
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
    write_python_float(out, value);
    true
}

fn write_python_float(out: &mut Vec<u8>, value: f64) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.extend_from_slice(b"0.0");
        return;
    }
    let mut buffer = ryu_js::Buffer::new();
    let (digits, point) = split_decimal(buffer.format_finite(value.abs()));
    // `point` digits stand before the decimal point; Python's exponent is one less.
    match point {
        -3..=0 => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(&digits);
        }
        1..=16 => {
            let before = point as usize;
            let (whole, fraction) = digits.split_at(before.min(digits.len()));
            out.extend_from_slice(whole);
            out.resize(out.len() + (before - whole.len()), b'0');
            out.push(b'.');
            out.extend_from_slice(if fraction.is_empty() { b"0" } else { fraction });
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            out.extend_from_slice(first);
            if !rest.is_empty() {
                out.push(b'.');
                out.extend_from_slice(rest);
            }
            let exponent = point - 1;
            let sign = if exponent < 0 { '-' } else { '+' };
            out.extend_from_slice(format!("e{sign}{:02}", exponent.abs()).as_bytes());
        }
    }
}

/// The significant digits of an ECMAScript number text, without zeros at either end, and how
/// many of them stand before the decimal point (negative: zeros that stand after it).
fn split_decimal(text: &str) -> (Vec<u8>, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let leading = digits.iter().take_while(|&&b| b == b'0').count();
    let trailing = digits[leading..]
        .iter()
        .rev()
        .take_while(|&&b| b == b'0')
        .count();
    let point = whole.len() as i32 + exponent - leading as i32;
    (digits[leading..digits.len() - trailing].to_vec(), point)
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
