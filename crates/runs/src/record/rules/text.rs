//! Compares two texts that may differ in numbers alone.
//!
//! Both are read once, in pieces, whatever their size and the length of their lines. A number is a decimal number that no
//! letter, digit, underscore or point touches, but for a unit of up to three letters behind it (`4.14s`, `12GiB`); a version,
//! a digest or an identifier is text. Blanks beside a number may differ in number, as in tables whose columns are aligned.
//! All else has to be the same, byte by byte. What has a NUL is not a text.

use std::io::{self, Read};

use super::compared::{Measure, Place};

/// The size of a buffer.
const BUFFER: usize = 128 << 10;

/// The most blanks on one side of a number that belong to it.
const MOST_BLANKS: usize = 1024;

/// The longest number in bytes.
const LONGEST_NUMBER: usize = 1024;

/// The longest unit behind a number.
const LONGEST_UNIT: usize = 3;

/// How far a reader looks ahead.
const AHEAD: usize = 2 * MOST_BLANKS + LONGEST_NUMBER + LONGEST_UNIT + 2;

/// Why two texts differ in more than numbers.
#[derive(Debug)]
pub(super) enum TextFault {
    /// Something other than a number differs here.
    Differs(Place),
    /// One of them is not a text.
    NoText,
    Read(io::Error),
}

/// Compares two texts; numbers go to `measure`. `separator` is the one of a table's cells.
pub(super) fn compare_texts(
    before: impl Read,
    now: impl Read,
    separator: Option<u8>,
    measure: &mut Measure,
) -> Result<(), TextFault> {
    let (mut a, mut b) = (
        Scanner::new(before, separator),
        Scanner::new(now, separator),
    );
    loop {
        skip_same_lines(&mut a, &mut b)?;
        let place = a.place();
        let (old, new) = (a.next()?, b.next()?);
        match (old, new) {
            (Token::End, Token::End) => return Ok(()),
            (Token::Number(old), Token::Number(new)) => {
                measure.add(old.text(&a), new.text(&b), || place);
                // The unit is text that both have to have.
            }
            (Token::Byte(old), Token::Byte(new)) if old == new => {}
            _ => return Err(TextFault::Differs(place)),
        }
    }
}

/// Skips whole lines that are the same, if both readers are at the beginning of one.
fn skip_same_lines<A: Read, B: Read>(
    a: &mut Scanner<A>,
    b: &mut Scanner<B>,
) -> Result<(), TextFault> {
    while a.is_at_line() && b.is_at_line() {
        a.look_ahead()?;
        b.look_ahead()?;
        let (old, new) = (a.ahead(), b.ahead());
        let most = old.len().min(new.len());
        let same = match old[..most] == new[..most] {
            true => most,
            false => old.iter().zip(new).take_while(|(a, b)| a == b).count(),
        };
        let Some(last) = memchr::memrchr(b'\n', &old[..same]) else {
            return Ok(());
        };
        if memchr::memchr(0, &old[..=last]).is_some() {
            return Err(TextFault::NoText);
        }
        a.skip_lines(last + 1);
        b.skip_lines(last + 1);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Token {
    End,
    Byte(u8),
    Number(Span),
}

/// Where a number is in the buffer of its reader, until that reads on.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

impl Span {
    fn text<R>(self, scanner: &Scanner<R>) -> &str {
        str::from_utf8(&scanner.buffer[self.from..self.to]).unwrap_or_default()
    }
}

struct Scanner<R> {
    reader: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    is_at_end: bool,
    /// The byte before.
    previous: u8,
    /// How many bytes are not part of a number.
    plain: usize,
    separator: Option<u8>,
    line: u64,
    cell: u64,
    is_quoted: bool,
}

impl<R> Scanner<R> {
    fn ahead(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    fn is_at_line(&self) -> bool {
        self.previous == b'\n'
    }

    fn place(&self) -> Place {
        Place::Line {
            line: self.line,
            column: self.separator.map(|_| self.cell),
        }
    }

    fn skip_lines(&mut self, count: usize) {
        let skipped = &self.buffer[self.at..self.at + count];
        self.line += memchr::memchr_iter(b'\n', skipped).count() as u64;
        self.at += count;
    }

    /// Moves over bytes that were looked at.
    fn consume(&mut self, count: usize) {
        for byte in &self.buffer[self.at..self.at + count] {
            match *byte {
                b'\n' => {
                    self.line += 1;
                    self.cell = 1;
                    self.is_quoted = false;
                }
                b'"' => self.is_quoted = !self.is_quoted,
                byte if Some(byte) == self.separator && !self.is_quoted => self.cell += 1,
                _ => {}
            }
            self.previous = *byte;
        }
        self.at += count;
    }
}

impl<R: Read> Scanner<R> {
    fn new(reader: R, separator: Option<u8>) -> Self {
        Self {
            reader,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            is_at_end: false,
            previous: b'\n',
            plain: 0,
            separator,
            line: 1,
            cell: 1,
            is_quoted: false,
        }
    }

    /// Has the bytes in the buffer that a number may need.
    fn look_ahead(&mut self) -> Result<(), TextFault> {
        if self.end - self.at >= AHEAD || self.is_at_end {
            return Ok(());
        }
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        while self.end < self.buffer.len() {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TextFault::Read(error)),
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Token, TextFault> {
        self.look_ahead()?;
        let Some(byte) = self.ahead().first().copied() else {
            return Ok(Token::End);
        };
        if self.plain == 0 {
            let blanks = count_blanks(self.ahead());
            let may_begin = blanks > 0 || !is_of_word(self.previous);
            let rest = &self.ahead()[blanks..];
            if let Some(length) = may_begin.then(|| number_length(rest)).flatten() {
                let from = self.at + blanks;
                let after = count_blanks(&rest[length..]);
                let to = from + length;
                self.consume(blanks + length + after);
                return Ok(Token::Number(Span { from, to }));
            }
            self.plain = blanks.max(1);
        }
        if byte == 0 {
            return Err(TextFault::NoText);
        }
        self.plain -= 1;
        self.consume(1);
        Ok(Token::Byte(byte))
    }
}

fn count_blanks(text: &[u8]) -> usize {
    let blanks = text.iter().take(MOST_BLANKS);
    blanks
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// Whether a number cannot begin behind this byte.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || !byte.is_ascii()
}

/// The length of the number that a text begins with.
fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default().iter();
        rest.take(LONGEST_NUMBER)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = digits(at);
    at += whole;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if whole + fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        at += match exponent {
            0 => 0,
            _ => 1 + sign + exponent,
        };
    }
    let rest = text.get(at..).unwrap_or_default();
    let unit = rest.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let unit = unit.take(LONGEST_UNIT + 1).count();
    let is_free = match (unit, rest.get(unit)) {
        (0, Some(b'.')) => !rest.get(1).is_some_and(u8::is_ascii_digit),
        (0..=LONGEST_UNIT, Some(next)) => {
            !(next.is_ascii_digit() || *next == b'_' || !next.is_ascii())
        }
        (_, None) => unit <= LONGEST_UNIT,
        _ => false,
    };
    (is_free && at <= LONGEST_NUMBER).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::super::number::Tolerance;
    use super::*;

    const WIDE: Tolerance = Tolerance {
        relative: None,
        absolute: Some(100.0),
    };

    fn compare(before: &str, now: &str) -> Result<u64, TextFault> {
        let mut measure = Measure::new(WIDE);
        compare_texts(before.as_bytes(), now.as_bytes(), Some(b','), &mut measure)?;
        Ok(measure.differing())
    }

    #[test]
    fn numbers_may_differ_and_all_else_may_not() {
        for (before, now, differing) in [
            ("a 1.5, b 2\n", "a 1.6, b 2\n", 1),
            ("in 4.14s", "in 12s", 1),
            ("   9.9 x", " 10.0  x", 1),
            ("[ 1. -2.]", "[-1.  2.]", 2),
            ("1e-9", "1.5e-12", 1),
            ("x=-3", "x=4", 1),
            ("2026-11-17", "2026-11-18", 1),
            ("1,2\n", "1.0,2e0\n", 0),
            ("5%", "6%", 1),
            ("", "", 0),
        ] {
            assert_eq!(compare(before, now).unwrap(), differing, "{before} {now}");
        }
        for (before, now) in [
            ("1.2.3", "1.2.4"),
            ("3fa9", "4fa9"),
            ("run_1", "run_2"),
            ("a1", "a2"),
            ("1 2", "12"),
            ("1", ""),
            ("1\n", "1\n2\n"),
            ("1\n2", "1 2"),
            ("nan", "1"),
            ("4s", "4m"),
            ("a  b", "a b"),
            ("5kilo", "6kilo"),
            ("é1", "é2"),
            ("1\n\n", "1\n"),
        ] {
            assert!(compare(before, now).is_err(), "{before:?} {now:?}");
        }
        assert!(matches!(compare("1\0", "2\0"), Err(TextFault::NoText)));
        assert!(matches!(
            compare("a\n\0\n", "a\n\0\n"),
            Err(TextFault::NoText)
        ));
    }

    #[test]
    fn place_is_the_line_and_the_cell_of_a_table() {
        let before = format!("{}a,\"b,1\",x\n", "same,1\n".repeat(50_000));
        let now = before.replace("b,1", "c,1");
        let Err(TextFault::Differs(place)) = compare(&before, &now) else {
            panic!("they differ");
        };
        let column = Some(2);
        assert_eq!(
            place,
            Place::Line {
                line: 50_001,
                column
            }
        );
    }

    #[test]
    fn numbers_at_the_ends_of_buffers_are_whole() {
        for shift in 0..40 {
            let begin = "x".repeat(BUFFER - AHEAD - 20 + shift);
            let text = |number: &str| format!("{begin} {number} {} 7\n", " ".repeat(3000));
            assert_eq!(compare(&text("1234.5678"), &text("1234.5679")).unwrap(), 1);
        }
        let digits = "1".repeat(LONGEST_NUMBER + 1);
        assert!(compare(&format!("{digits}1"), &format!("{digits}2")).is_err());
    }
}
