//! Finds out, without converting, that a number is already written as every dialect prints it.
//!
//! A canonical number is the shortest decimal that reads back as the same double, and of those
//! the nearest. Decimals of up to 15 digits always are. For 16 and 17 digits it can be proved with
//! one multiplication: with the number as `w · 10^q`, the top 128 bits of `w · 5^q` show where it is
//! between two doubles, and how far away the next decimals of the same and of fewer digits are. If a
//! comparison is closer than the error of the multiplication, or the exponent is not in the table,
//! nothing is proved and the number is converted.

use super::scan::parse_up_to_eight_digits;

/// The decimal exponents of the table.
const LOWEST: i32 = -64;
const HIGHEST: i32 = 40;
const COUNT: usize = (HIGHEST - LOWEST + 1) as usize;

/// 5^q for each exponent, scaled into 2^127..2^128 and truncated; at most 128 units too small.
static POWERS: [u128; COUNT] = compute_powers();

/// Bits of a double's mantissa.
const MANTISSA_BITS: u32 = 53;

/// The distance between two neighbouring doubles, and half of it. Ten units of a sixteenth digit
/// are less than 2^7 times the distance, so all sums fit.
const STEP: i64 = 1 << 54;
const HALF: i64 = STEP / 2;

/// The bits of the product below one part of [`STEP`].
const CUT: u32 = 128 - MANTISSA_BITS - 54;

/// More than the sum of all errors: that of the product is far below one part, and truncation takes
/// less than one part from the number and from each unit.
const SLACK: i64 = 1 << 5;

/// The parts of the text of a number with a fraction or an exponent, as the reader finds them.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberParts<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// The start and number of the digits before the point.
    pub whole: (usize, usize),
    /// The start and number of the digits after the point; their number is 0 without a point.
    pub fraction: (usize, usize),
    /// The text after the `e` or `E`; empty without an exponent.
    pub exponent: &'a [u8],
}

impl NumberParts<'_> {
    /// Whether kernel, job and jcs are all known to print the number as it is written.
    #[inline(always)]
    pub(super) fn is_canonical_everywhere(&self) -> bool {
        let (whole_at, whole_digits) = self.whole;
        let (fraction_at, fraction_digits) = self.fraction;
        let starts_with_zero = self.text[whole_at] == b'0';
        if fraction_digits > 0 && self.text[fraction_at + fraction_digits - 1] == b'0' {
            return false;
        }
        let exponent = if self.exponent.is_empty() {
            0
        } else {
            match parse_shared_exponent(self.exponent) {
                Some(exponent) if whole_digits == 1 && !starts_with_zero => exponent,
                _ => return false,
            }
        };
        // Zeros between the point and the first significant digit.
        let mut zeros = 0;
        if starts_with_zero {
            let fraction = &self.text[fraction_at..fraction_at + fraction_digits];
            zeros = fraction.iter().take_while(|&&b| b == b'0').count();
            // Both ECMAScript and Python print no exponent down to 0.0001.
            if zeros > 3 {
                return false;
            }
        }
        let exponent = exponent - fraction_digits as i32;
        let is_in_table = (LOWEST..=HIGHEST).contains(&exponent);
        let count = fraction_digits - zeros + if starts_with_zero { 0 } else { whole_digits };
        if count <= SAFE_DIGITS {
            return is_in_table;
        }
        is_in_table
            && count <= MOST_DIGITS
            && self
                .digits_after(zeros)
                .is_some_and(|digits| is_proved(digits, exponent))
    }

    /// The at most 17 digits as one number; the fraction begins with `zeros` zeros.
    #[inline(always)]
    fn digits_after(&self, zeros: usize) -> Option<u64> {
        let (fraction_at, fraction_digits) = self.fraction;
        let fraction = parse_digits(self.text, fraction_at + zeros, fraction_digits - zeros)?;
        if zeros > 0 {
            return Some(fraction);
        }
        let whole = parse_digits(self.text, self.whole.0, self.whole.1)?;
        Some(whole * POWERS_OF_TEN[fraction_digits] + fraction)
    }
}

/// Different decimals of up to this many digits are different doubles, so each is the shortest text
/// of its double.
pub(super) const SAFE_DIGITS: usize = 15;

/// No double needs more digits.
const MOST_DIGITS: usize = 17;

const POWERS_OF_TEN: [u64; MOST_DIGITS + 1] = {
    let mut powers = [1; MOST_DIGITS + 1];
    let mut at = 1;
    while at <= MOST_DIGITS {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The value of up to 17 digits; `None` if they are too close to the end of the text to read whole
/// words.
#[inline(always)]
fn parse_digits(text: &[u8], at: usize, count: usize) -> Option<u64> {
    match count {
        0 => Some(0),
        1..=8 => parse_up_to_eight_digits(text, at, count),
        9..=16 => {
            let first = parse_up_to_eight_digits(text, at, 8)?;
            let rest = parse_up_to_eight_digits(text, at + 8, count - 8)?;
            Some(first * POWERS_OF_TEN[count - 8] + rest)
        }
        _ => {
            let digits = parse_digits(text, at, 16)?;
            Some(digits * 10 + u64::from(text[at + 16] & 15))
        }
    }
}

/// Parses an exponent that all dialects write, and write alike: `-10` and below, `+21` and above.
fn parse_shared_exponent(text: &[u8]) -> Option<i32> {
    let (&sign, digits) = text.split_first()?;
    // An exponent may have any number of digits; only short ones are parsed.
    if !(2..=3).contains(&digits.len()) || digits[0] == b'0' {
        return None;
    }
    let value = digits
        .iter()
        .fold(0, |value, &digit| value * 10 + i32::from(digit & 15));
    match sign {
        b'-' => Some(-value),
        b'+' if value >= 21 => Some(value),
        _ => None,
    }
}

/// Whether `digits · 10^exponent`, of 16 or 17 digits and not ending in zero, is proved to be the
/// shortest and nearest decimal of its double.
///
/// All lengths are in parts of the distance between two doubles at the number, [`STEP`] of them.
fn is_proved(digits: u64, exponent: i32) -> bool {
    let power = POWERS[(exponent - LOWEST) as usize];
    let zeros = digits.leading_zeros();
    let product = high_product(digits << zeros, power);
    // A product of two numbers with their top bits set has one of its top two bits set.
    let shift = u32::from(product >> 127 == 0);
    let product = product << shift;
    let mantissa = (product >> (128 - MANTISSA_BITS)) as u64;
    let above = (product >> CUT) as i64 & (STEP - 1);
    // The value of one unit of the last digit. Seventeen digits are 57 bits, sixteen are 50 or more,
    // so the shift is within the upper half of the power.
    let unit = ((power >> 64) as u64 >> (CUT - zeros - shift)) as i64;

    // From the nearest double to the number.
    let rounds_up = above > HALF;
    let offset = above - if rounds_up { STEP } else { 0 };
    let nearest = mantissa + u64::from(rounds_up);
    let last = (digits % 10) as i64;
    let shorter_below = offset - last * unit;
    let shorter_above = shorter_below + 10 * unit;
    // At a power of two the doubles below are closer together than those above.
    let is_inside = !nearest.is_power_of_two() & (HALF - offset.abs() >= SLACK);
    let no_shorter = (shorter_below < -HALF - SLACK) & (shorter_above > HALF + SLACK);
    let none_nearer = 2 * offset.abs() + SLACK < unit;
    is_inside & (last != 0) & no_shorter & none_nearer
}

/// The top 128 bits of a 192-bit product.
#[inline]
fn high_product(a: u64, b: u128) -> u128 {
    let a = u128::from(a);
    let low = a * (b & u128::from(u64::MAX));
    a * (b >> 64) + (low >> 64)
}

const fn compute_powers() -> [u128; COUNT] {
    let mut powers = [0; COUNT];
    let one = (-LOWEST) as usize;
    powers[one] = 1 << 127;
    let mut at = one;
    while at > 0 {
        at -= 1;
        powers[at] = divide_by_five(powers[at + 1]);
    }
    let mut exact: u128 = 1;
    at = one;
    while at + 1 < COUNT {
        at += 1;
        // 5^55 is the largest that fits.
        exact *= 5;
        powers[at] = exact << exact.leading_zeros();
    }
    powers
}

/// `value / 5`, scaled back into 2^127..2^128.
const fn divide_by_five(value: u128) -> u128 {
    let (whole, rest) = (value / 5, value % 5);
    let shift = whole.leading_zeros();
    (whole << shift) | ((rest << shift) / 5)
}

#[cfg(test)]
mod tests {
    use crate::canon::number::{write_ecmascript, write_python};

    /// Reads `text` as the reader does.
    fn is_canonical_everywhere(text: &str) -> bool {
        let padded = format!("[{text}                 ]");
        let document =
            crate::canon::parse_document(padded.as_bytes(), &Default::default()).unwrap();
        let number = document.root().items().next().unwrap();
        number.slot.flags() & crate::canon::slot::VERBATIM != 0
    }

    /// What the two printers print for `text`, if they agree.
    fn printed(text: &str) -> Option<String> {
        let (mut ecmascript, mut python) = (Vec::new(), Vec::new());
        assert!(write_ecmascript(&mut ecmascript, text) && write_python(&mut python, text));
        (ecmascript == python).then(|| String::from_utf8(ecmascript).unwrap())
    }

    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
    }

    #[test]
    fn proof_for_random_decimals_is_never_wrong() {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        let mut proved = 0;
        for _ in 0..200_000 {
            let digits =
                (dice.roll() % 90_000_000_000_000_000 + 10_000_000_000_000_000).to_string();
            let digits = &digits[..15 + (dice.roll() % 3) as usize];
            let text = match dice.roll() % 4 {
                0 => format!("0.{}{digits}", "0".repeat((dice.roll() % 5) as usize)),
                1 => {
                    let point = 1 + (dice.roll() % 14) as usize;
                    format!("{}.{}", &digits[..point], &digits[point..])
                }
                2 => format!("-{}.{}e-{}", &digits[..1], &digits[1..], dice.roll() % 70),
                _ => format!("{}.{}e+{}", &digits[..1], &digits[1..], dice.roll() % 60),
            };
            if is_canonical_everywhere(&text) {
                proved += 1;
                assert_eq!(printed(&text).as_deref(), Some(text.as_str()));
            }
        }
        assert!(proved > 20_000, "{proved}");
    }

    #[test]
    fn proof_for_printed_doubles_nearly_always_succeeds() {
        let mut dice = Dice(7);
        let (mut proved, mut tried) = (0, 0);
        for _ in 0..100_000 {
            let fraction = (dice.roll() >> 11) as f64 / (1_u64 << 53) as f64;
            let scale = 10_f64.powi((dice.roll() % 40) as i32 - 30);
            let text = format!("{:?}", fraction * scale);
            // What Rust prints is only a candidate.
            if printed(&text).as_deref() == Some(text.as_str()) && text.contains(['.', 'e']) {
                tried += 1;
                proved += u32::from(is_canonical_everywhere(&text));
            }
        }
        assert!(
            tried > 50_000 && f64::from(proved) > 0.99 * f64::from(tried),
            "{proved} of {tried}"
        );
    }

    #[test]
    fn proof_fails_for_every_other_spelling() {
        for text in [
            "-0",
            "1234567890123456",
            "0.0",
            "1.0",
            "1.50",
            "0.00001",
            "1e5",
            "1e+20",
            "1e-9",
            "1E-10",
            "1.5e21",
            "0.5e-10",
            "12.5e-10",
            "1e-010",
            "1.50e-10",
            "0e-10",
            "0.0e+30",
            "1e400",
            "123456789.123456789",
            "0.30000000000000005",
            "9007199254740993.5",
        ] {
            assert!(!is_canonical_everywhere(text), "{text}");
        }
        for text in [
            "0",
            "10",
            "0.1",
            "-0.0001",
            "1.5e-10",
            "2e+21",
            "0.30000000000000004",
            "1234567.8901234567",
        ] {
            assert!(is_canonical_everywhere(text), "{text}");
            assert_eq!(printed(text).as_deref(), Some(text));
        }
    }
}
