//! Finds the end of a string, or of a run of digits, eight or sixteen bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Finds the end of a plain run of a string: the first quote, backslash or control character at or
/// after `from`, or the end of the text. Also returns whether the run has a byte outside
/// U+0020-U+007E.
#[inline]
pub(super) fn plain_run(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    let mut wide = 0_u64;
    while let Some(word) = word_at(bytes, at) {
        // A byte is flagged in its high bit. The subtraction may also flag bytes above a flagged
        // one, never below, so the lowest flag is exact.
        let stops = (zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\')))
            | (word.wrapping_sub(ONES * 0x20) & !word))
            & HIGH;
        // 7F is flagged by the addition; no byte of UTF-8 is FF, so nothing carries over.
        let not_printable = (word | word.wrapping_add(ONES)) & HIGH;
        if stops != 0 {
            let before_stop = (stops & stops.wrapping_neg()) - 1;
            return (
                at + (stops.trailing_zeros() / 8) as usize,
                (wide | (not_printable & before_stop)) != 0,
            );
        }
        wide |= not_printable;
        at += 8;
    }
    let mut wide = wide != 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\\' | 0..=0x1F => break,
            0x7F.. => wide = true,
            _ => {}
        }
        at += 1;
    }
    (at, wide)
}

const WIDE_ONES: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;
const WIDE_HIGH: u128 = WIDE_ONES << 7;

/// Finds the first byte at or after `from` that is not an ASCII digit. Sixteen bytes at a time, so
/// most numbers take a single step, whatever their length.
#[inline]
pub(super) fn digits_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(word) = wide_word_at(bytes, at) {
        // 30-39 is the only range that neither wraps below zero nor reaches the high bit.
        let others =
            (word.wrapping_add(WIDE_ONES * 0x46) | word.wrapping_sub(WIDE_ONES * 0x30)) & WIDE_HIGH;
        if others != 0 {
            // A borrow or carry starts at a byte that is itself flagged, so the lowest is exact.
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 16;
    }
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Returns the value of the `count` ASCII digits at `at`, one to eight of them; `None` if fewer than
/// eight bytes are left. Joins all pairs at once, then all fours, then all eight.
#[inline]
pub(super) fn parse_up_to_eight_digits(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    // Shifts out what follows the digits, and zeros in before them.
    let digits = (word_at(bytes, at)? & (ONES * 0x0F)) << (64 - 8 * count);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
}

#[inline]
fn wide_word_at(bytes: &[u8], at: usize) -> Option<u128> {
    let mut word = [0; 16];
    word.copy_from_slice(bytes.get(at..at + 16)?);
    Some(u128::from_le_bytes(word))
}

#[inline]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.copy_from_slice(bytes.get(at..at + 8)?);
    Some(u64::from_le_bytes(word))
}

#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_up_to_eight_digits_is_their_value() {
        for count in 1..=8 {
            for value in [0, 1, 9, 10, 12_345_678, 87_654_321, 99_999_999] {
                let value = value % 10_u64.pow(count as u32);
                let text = format!("x{value:0count$}.9999999");
                assert_eq!(
                    parse_up_to_eight_digits(text.as_bytes(), 1, count),
                    Some(value)
                );
            }
        }
        assert_eq!(parse_up_to_eight_digits(b"1234567", 0, 3), None);
    }

    /// Like [`plain_run`], one byte at a time.
    fn plain_run_slowly(bytes: &[u8], from: usize) -> (usize, bool) {
        let is_stop = |b: &u8| matches!(b, b'"' | b'\\' | 0..=0x1F);
        let end = bytes[from..]
            .iter()
            .position(is_stop)
            .map_or(bytes.len(), |at| from + at);
        (end, bytes[from..end].iter().any(|&b| b >= 0x7F))
    }

    #[test]
    fn plain_run_and_digits_end_agree_with_the_slow_way_for_every_byte_and_place() {
        for fill in [b'a', b'!', b' ', b'~', b'0', b'9', 0xC3] {
            for byte in 0..=0xFE_u8 {
                for at in 0..20 {
                    for second in [b'a', b'"', 0x7F, 0x1F] {
                        let mut bytes = [fill; 20];
                        bytes[at] = byte;
                        bytes[(at + 3) % 20] = second;
                        assert_eq!(plain_run(&bytes, 0), plain_run_slowly(&bytes, 0));
                        assert_eq!(plain_run(&bytes, 3), plain_run_slowly(&bytes, 3));
                        let digit = |at: &usize| bytes.get(*at).is_some_and(u8::is_ascii_digit);
                        let end = (0..).find(|at| !digit(at)).unwrap();
                        assert_eq!(digits_end(&bytes, 0), end);
                    }
                }
            }
        }
    }
}
