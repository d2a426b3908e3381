//! Exact arithmetic on the decimal texts of doubles.

/// A positive number as an integer without trailing zeros, times a power of ten.
struct Decimal {
    digits: u128,
    exponent: i32,
}

/// Whether `value` is an integer times `factor`, which is positive. Both are taken as the shortest
/// decimals that read back as them: 0.3 is a multiple of 0.1.
pub(crate) fn is_multiple(value: f64, factor: f64) -> bool {
    if value == 0.0 {
        return true;
    }
    let (Some(value), Some(factor)) = (decimal(value.abs()), decimal(factor)) else {
        return false;
    };
    let shift = value.exponent - factor.exponent;
    if shift < 0 {
        // The value has more decimal places, so its digits must be divisible by the power of ten too.
        let scale = 10_u128.checked_pow(shift.unsigned_abs());
        let divisor = scale.and_then(|scale| scale.checked_mul(factor.digits));
        return divisor.is_some_and(|divisor| value.digits.is_multiple_of(divisor));
    }
    // All three are below 10^17, so no product overflows.
    let mut rest = value.digits % factor.digits;
    for _ in 0..shift {
        if rest == 0 {
            break;
        }
        rest = rest * 10 % factor.digits;
    }
    rest == 0
}

fn decimal(value: f64) -> Option<Decimal> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    // `{:e}` writes no zeros at the end of the mantissa.
    Some(Decimal {
        digits,
        exponent: exponent - fraction.len() as i32,
    })
}

#[cfg(test)]
mod tests {
    use super::is_multiple;

    #[test]
    fn is_multiple_compares_decimal_digits() {
        for (value, factor, expected) in [
            (0.3, 0.1, true),
            (0.0075, 0.0001, true),
            (0.00751, 0.0001, false),
            (4.5, 1.5, true),
            (35.0, 1.5, false),
            (1e300, 7.0, false),
            (7e300, 7.0, true),
            (1e308, 1e-300, true),
            (1e-300, 1e308, false),
            (9_007_199_254_740_992.0, 2.0, true),
            (12_391_239_123.0, 1e-8, true),
            (-0.5, 0.25, true),
            (-0.0, 3.0, true),
            (0.1, 3.0, false),
            (5e-324, 5e-324, true),
        ] {
            assert_eq!(is_multiple(value, factor), expected, "{value} of {factor}");
        }
    }
}
