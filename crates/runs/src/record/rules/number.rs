//! When two numbers are close enough.
//!
//! Numbers are compared by value, as they are written: `1`, `1.0` and `1e0` are the same, and so are `0` and `-0`. Integers
//! are compared as integers, so that none beyond 2^53 loses a digit. Two numbers that are not the same and that a double
//! cannot tell apart differ by as much as doubles of that size do.

/// How far two numbers may be apart; either bound is enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    /// Relative to the larger of the two.
    pub(super) relative: Option<f64>,
    pub(super) absolute: Option<f64>,
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Close {
    Same,
    /// Within the relative tolerance, by this much of the larger one.
    Relative(f64),
    /// Within the absolute tolerance alone, by this much.
    Absolute(f64),
    /// Within neither, by this much.
    Beyond(f64),
}

impl Tolerance {
    /// Compares two numbers of a text. Both must be decimal numbers, as JSON or programs write them.
    pub(super) fn compare_texts(&self, before: &str, now: &str) -> Close {
        if before == now {
            return Close::Same;
        }
        if let (Ok(before), Ok(now)) = (before.parse::<i128>(), now.parse::<i128>()) {
            return self.compare_integers(before, now);
        }
        let parse = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        let (a, b) = (parse(before), parse(now));
        if a == b && is_same_decimal(before, now) {
            return Close::Same;
        }
        if a == b {
            let step = (a.abs() * f64::EPSILON).max(f64::from_bits(1));
            return self.judge(step, a.abs());
        }
        self.compare_doubles(a, b)
    }

    pub(super) fn compare_integers(&self, before: i128, now: i128) -> Close {
        match before == now {
            true => Close::Same,
            false => {
                let larger = before.unsigned_abs().max(now.unsigned_abs());
                self.judge(before.abs_diff(now) as f64, larger as f64)
            }
        }
    }

    /// Compares two doubles. NaN is the same as NaN, and an infinity as itself; neither is close to anything else.
    pub(super) fn compare_doubles(&self, before: f64, now: f64) -> Close {
        if before == now || before.is_nan() && now.is_nan() {
            return Close::Same;
        }
        if !before.is_finite() || !now.is_finite() {
            return Close::Beyond(f64::INFINITY);
        }
        self.judge((before - now).abs(), before.abs().max(now.abs()))
    }

    fn judge(&self, difference: f64, larger: f64) -> Close {
        if !difference.is_finite() || !larger.is_finite() {
            return Close::Beyond(f64::INFINITY);
        }
        if self
            .relative
            .is_some_and(|most| difference <= most * larger)
        {
            return Close::Relative(difference / larger);
        }
        match self.absolute.is_some_and(|most| difference <= most) {
            true => Close::Absolute(difference),
            false => Close::Beyond(difference),
        }
    }
}

/// Whether two decimal numbers have the same value, whatever their size.
fn is_same_decimal(a: &str, b: &str) -> bool {
    match (Decimal::parse(a), Decimal::parse(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// A decimal number: digits without zeros at either end, times a power of ten. Zero has no digits.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let is_negative = text.starts_with('-');
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let mut exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent = exponent.checked_add(1)?;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        Some(match digits.is_empty() {
            true => Self {
                is_negative: false,
                digits,
                exponent: 0,
            },
            false => Self {
                is_negative,
                digits,
                exponent,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Tolerance = Tolerance {
        relative: Some(0.0),
        absolute: Some(0.0),
    };

    fn relative(most: f64) -> Tolerance {
        Tolerance {
            relative: Some(most),
            absolute: None,
        }
    }

    fn absolute(most: f64) -> Tolerance {
        Tolerance {
            relative: None,
            absolute: Some(most),
        }
    }

    #[test]
    fn same_value_written_otherwise_is_the_same() {
        for (a, b) in [
            ("1", "1.0"),
            ("1.", "1e0"),
            ("-0", "0.0"),
            ("-0.0", "0"),
            ("100", "1E2"),
            ("0.10", "+.1"),
            ("9007199254740993", "9007199254740993.0"),
            ("1e400", "10e399"),
        ] {
            assert_eq!(EXACT.compare_texts(a, b), Close::Same, "{a} {b}");
        }
    }

    #[test]
    fn numbers_that_a_double_cannot_tell_apart_are_not_the_same() {
        for (a, b) in [
            ("9007199254740992", "9007199254740993"),
            ("9007199254740992.0", "9007199254740993.0"),
            ("0.1", "0.10000000000000001"),
            (
                "340282366920938463463374607431768211456",
                "340282366920938463463374607431768211457",
            ),
            ("1e400", "2e400"),
            ("1e400", "-1e400"),
            ("1e-400", "0"),
        ] {
            let close = EXACT.compare_texts(a, b);
            assert!(matches!(close, Close::Beyond(_)), "{a} {b} {close:?}");
        }
        let close = relative(1e-15).compare_texts("9007199254740992", "9007199254740993");
        assert!(matches!(close, Close::Relative(_)), "{close:?}");
    }

    #[test]
    fn bounds_are_inclusive_and_do_not_overflow() {
        assert_eq!(
            absolute(0.5).compare_texts("1", "1.5"),
            Close::Absolute(0.5)
        );
        assert_eq!(
            absolute(0.5).compare_texts("1", "1.6"),
            Close::Beyond(0.6000000000000001)
        );
        assert_eq!(relative(0.5).compare_texts("1", "2"), Close::Relative(0.5));
        let far = absolute(f64::MAX).compare_doubles(f64::MAX, -f64::MAX);
        assert_eq!(far, Close::Beyond(f64::INFINITY));
        let least = i128::MIN.to_string();
        assert!(matches!(
            relative(0.9).compare_texts(&least, "1"),
            Close::Beyond(_)
        ));
        // A tolerance relative to zero tolerates nothing.
        assert_eq!(
            relative(0.9).compare_texts("0", "1e-300"),
            Close::Beyond(1e-300)
        );
        let both = Tolerance {
            relative: Some(1e-9),
            absolute: Some(1e-9),
        };
        assert_eq!(both.compare_texts("0", "1e-10"), Close::Absolute(1e-10));
    }

    #[test]
    fn nan_and_infinities_are_close_to_themselves_alone() {
        let wide = Tolerance {
            relative: Some(0.9),
            absolute: Some(1e308),
        };
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for (a, b) in [(nan, -nan), (inf, inf), (-inf, -inf), (-0.0, 0.0)] {
            assert_eq!(wide.compare_doubles(a, b), Close::Same, "{a} {b}");
        }
        for (a, b) in [(nan, 0.0), (inf, -inf), (inf, 1e308), (1.0, nan)] {
            assert_eq!(wide.compare_doubles(a, b), Close::Beyond(inf), "{a} {b}");
        }
    }
}
