//! Slice expressions: the bounded part of a text that a step may read.
//!
//! `lines[a:b]` and `chars[a:b]` are 0-based and half open, `head(n)` and `tail(n)` take the first
//! or last `n` characters. Characters are Unicode scalar values, lines end at LF only. Every slice
//! is a borrowed part of the text: applying one never copies. A slice that would read everything
//! (`ALL`) is refused, because document 001 §3.1 forbids unbounded reads.

use std::cmp::Ordering;

use thiserror::Error;

/// White space that may surround an expression.
const BLANK: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

/// A parsed slice expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// `lines[start:end]`.
    Lines {
        /// The first line, from 0.
        start: u64,
        /// The line after the last one.
        end: u64,
    },
    /// `chars[start:end]`.
    Chars {
        /// The first character, from 0.
        start: u64,
        /// The character after the last one.
        end: u64,
    },
    /// `head(n)`, cut to the length of the text.
    Head(u64),
    /// `tail(n)`, cut to the length of the text.
    Tail(u64),
}

/// Why an expression is not a slice, or not one of this text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SliceError {
    /// Nothing but white space.
    #[error("the slice is empty")]
    Empty,
    /// The unbounded slice.
    #[error("slice `ALL` is forbidden: a read must be bounded")]
    All,
    /// Not one of the four forms.
    #[error("`{0}` is not a slice: expected `lines[a:b]`, `chars[a:b]`, `head(n)` or `tail(n)`")]
    Malformed(String),
    /// `a` is not below `b`.
    #[error("the start of `{0}` is not below its end")]
    Reversed(String),
    /// `head(0)` or `tail(0)`.
    #[error("`{0}` takes nothing: the count must be above 0")]
    Zero(String),
    /// `b` is beyond the text.
    #[error("the slice ends at {unit} {end}, but the text has {length}")]
    OutOfRange {
        /// `line` or `character`.
        unit: &'static str,
        /// The requested end.
        end: u64,
        /// How many there are.
        length: u64,
    },
}

/// Whether the expression is `ALL`, in any letter case, with or without white space around it.
pub fn is_all(text: &str) -> bool {
    text.trim_matches(BLANK).eq_ignore_ascii_case("all")
}

/// Whether the expression is empty or white space only.
pub fn is_blank(text: &str) -> bool {
    text.trim_matches(BLANK).is_empty()
}

/// Whether the expression reads everything: `ALL`, or blank.
pub fn is_unbounded(text: &str) -> bool {
    // Every other slice begins with one of four letters, so the first byte decides most cases.
    !matches!(text.as_bytes().first(), Some(b'l' | b'c' | b'h' | b't'))
        && (is_all(text) || is_blank(text))
}

/// A count as written: its value, saturated at 64 bits, and its digits without leading zeros. No
/// text has more than 2^64 characters, so saturation changes no result.
struct Count<'a> {
    value: u64,
    digits: &'a str,
}

impl<'a> Count<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = text.trim_start_matches('0');
        let value = if digits.is_empty() {
            0
        } else {
            digits.parse().unwrap_or(u64::MAX)
        };
        Some(Self { value, digits })
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.digits
            .len()
            .cmp(&other.digits.len())
            .then_with(|| self.digits.cmp(other.digits))
    }
}

/// Parses an expression.
pub fn parse_slice(text: &str) -> Result<Slice, SliceError> {
    let expression = text.trim_matches(BLANK);
    if expression.is_empty() {
        return Err(SliceError::Empty);
    }
    if is_all(expression) {
        return Err(SliceError::All);
    }
    let malformed = || SliceError::Malformed(shorten(expression));
    let range = |inside: &str| -> Result<(u64, u64), SliceError> {
        let (a, b) = inside.split_once(':').ok_or_else(malformed)?;
        let a = Count::parse(a).ok_or_else(malformed)?;
        let b = Count::parse(b).ok_or_else(malformed)?;
        match a.compare(&b) {
            Ordering::Less => Ok((a.value, b.value)),
            _ => Err(SliceError::Reversed(shorten(expression))),
        }
    };
    let count = |inside: &str| -> Result<u64, SliceError> {
        match Count::parse(inside).ok_or_else(malformed)?.value {
            0 => Err(SliceError::Zero(shorten(expression))),
            n => Ok(n),
        }
    };
    let inside = |open: &str, close: char| {
        expression
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
    };
    if let Some(text) = inside("lines[", ']') {
        range(text).map(|(start, end)| Slice::Lines { start, end })
    } else if let Some(text) = inside("chars[", ']') {
        range(text).map(|(start, end)| Slice::Chars { start, end })
    } else if let Some(text) = inside("head(", ')') {
        count(text).map(Slice::Head)
    } else if let Some(text) = inside("tail(", ')') {
        count(text).map(Slice::Tail)
    } else {
        Err(malformed())
    }
}

impl Slice {
    /// The part of `content` that this slice selects.
    pub fn apply(self, content: &str) -> Result<&str, SliceError> {
        match self {
            Slice::Lines { start, end } => {
                let out_of_range = || SliceError::OutOfRange {
                    unit: "line",
                    end,
                    length: content.split('\n').count() as u64,
                };
                // The end of line n is the n-th LF or the end of the text.
                let from = match start {
                    0 => 0,
                    n => nth_line_end(content, n - 1).ok_or_else(out_of_range)? + 1,
                };
                let rest = content.get(from..).ok_or_else(out_of_range)?;
                let to = nth_line_end(rest, end - start - 1).ok_or_else(out_of_range)?;
                Ok(&rest[..to])
            }
            Slice::Chars { start, end } => {
                let out_of_range = || SliceError::OutOfRange {
                    unit: "character",
                    end,
                    length: content.chars().count() as u64,
                };
                let from = char_offset(content, start).ok_or_else(out_of_range)?;
                let rest = &content[from..];
                let to = char_offset(rest, end - start).ok_or_else(out_of_range)?;
                Ok(&rest[..to])
            }
            Slice::Head(n) => Ok(&content[..char_offset(content, n).unwrap_or(content.len())]),
            Slice::Tail(n) => {
                let back = usize::try_from(n).unwrap_or(usize::MAX) - 1;
                let from = content
                    .char_indices()
                    .rev()
                    .nth(back)
                    .map_or(0, |(at, _)| at);
                Ok(&content[from..])
            }
        }
    }
}

/// The offset at which line `n` of the text ends (its LF, or the end of the text for the last one).
fn nth_line_end(text: &str, n: u64) -> Option<usize> {
    let n = usize::try_from(n).ok()?;
    text.bytes()
        .enumerate()
        .filter(|&(_, byte)| byte == b'\n')
        .map(|(at, _)| at)
        .chain(std::iter::once(text.len()))
        .nth(n)
}

/// The offset at which character `n` begins; the text's length is the offset after its last
/// character.
fn char_offset(text: &str, n: u64) -> Option<usize> {
    let n = usize::try_from(n).ok()?;
    text.char_indices()
        .map(|(at, _)| at)
        .chain(std::iter::once(text.len()))
        .nth(n)
}

/// Shortens an absurdly long expression for an error message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut<'a>(content: &'a str, slice: &str) -> Result<&'a str, SliceError> {
        parse_slice(slice)?.apply(content)
    }

    #[test]
    fn lines_after_final_newline_include_empty_last_line() {
        assert_eq!(cut("a\nb\n", "lines[1:3]"), Ok("b\n"));
        assert_eq!(cut("a\nb\n", "lines[2:3]"), Ok(""));
        assert_eq!(
            cut("a\nb\n", "lines[2:4]"),
            Err(SliceError::OutOfRange {
                unit: "line",
                end: 4,
                length: 3
            })
        );
    }

    #[test]
    fn chars_beyond_text_are_refused_with_its_length() {
        assert_eq!(cut("é😀", "chars[1:2]"), Ok("😀"));
        assert_eq!(
            cut("é😀", "chars[0:3]"),
            Err(SliceError::OutOfRange {
                unit: "character",
                end: 3,
                length: 2
            })
        );
    }

    #[test]
    fn head_and_tail_beyond_text_are_cut_to_it() {
        assert_eq!(cut("héé", "head(99999999999999999999999)"), Ok("héé"));
        assert_eq!(cut("héé", "tail(2)"), Ok("éé"));
        assert_eq!(cut("", "tail(2)"), Ok(""));
    }

    #[test]
    fn numbers_longer_than_64_bits_are_compared_exactly() {
        let reversed = parse_slice("lines[99999999999999999999:99999999999999999998]");
        assert!(matches!(reversed, Err(SliceError::Reversed(_))));
        let ordered = parse_slice("lines[0099999999999999999998:99999999999999999999]");
        assert_eq!(
            ordered,
            Ok(Slice::Lines {
                start: u64::MAX,
                end: u64::MAX
            })
        );
    }

    #[test]
    fn saturated_range_is_out_of_range_not_a_panic() {
        assert!(matches!(
            cut("abc", "chars[18446744073709551616:18446744073709551617]"),
            Err(SliceError::OutOfRange { .. })
        ));
        assert!(matches!(
            cut("abc", "lines[18446744073709551616:18446744073709551617]"),
            Err(SliceError::OutOfRange { .. })
        ));
    }

    #[test]
    fn all_in_any_case_is_refused() {
        for text in ["ALL", "all", " aLl\t", "\u{b}ALL"] {
            assert_eq!(parse_slice(text), Err(SliceError::All), "{text:?}");
        }
        assert!(matches!(
            parse_slice("\u{a0}ALL"),
            Err(SliceError::Malformed(_))
        ));
    }
}
