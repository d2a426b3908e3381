//! Takes out of a text what matches a pattern, line by line, before it is compared.
//!
//! What matches is removed from each line; a line with nothing left is removed with its end. A line of more than
//! [`LONGEST_LINE`] bytes is left as it is. Patterns may come from a stranger: their automata are bounded, no search goes
//! back, and the work for one file has a bound that does not depend on the clock.

use std::io::{self, BufRead, BufReader, Read};

use regex::bytes::{Regex, RegexBuilder};

use super::RuleError;

/// The longest pattern in bytes.
const LONGEST_PATTERN: usize = 4096;

/// Longer lines are not searched.
const LONGEST_LINE: usize = 1 << 20;

/// The smallest bound for an automaton in bytes that is tried. What it takes to search a byte grows with the automaton.
const SMALLEST_AUTOMATON: usize = 8 << 10;

/// The largest automaton is this many times the smallest.
const LARGEST_AUTOMATON: usize = 32;

/// How many bytes may be searched with the smallest automaton; with one of twice the size, half as many.
const MOST_WORK: u64 = 1 << 29;

/// A regular expression.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    /// The size of its automaton, in units of the smallest.
    weight: u64,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        if text.is_empty() {
            return Err(RuleError::Regex(
                "`drop:` has no regular expression".to_owned(),
            ));
        }
        if text.len() > LONGEST_PATTERN {
            let fault = format!("a regular expression has more than {LONGEST_PATTERN} bytes");
            return Err(RuleError::Regex(fault));
        }
        let mut weight = 1;
        loop {
            let limit = SMALLEST_AUTOMATON * weight;
            let mut builder = RegexBuilder::new(text);
            builder.size_limit(limit).dfa_size_limit(2 << 20);
            match builder.nest_limit(50).build() {
                Ok(regex) => {
                    let weight = weight as u64;
                    return Ok(Self { regex, weight });
                }
                Err(regex::Error::CompiledTooBig(_)) if weight < LARGEST_AUTOMATON => weight *= 2,
                Err(regex::Error::CompiledTooBig(_)) => {
                    let fault = "the regular expression is too large when compiled";
                    return Err(RuleError::Regex(fault.to_owned()));
                }
                Err(error) => return Err(RuleError::Regex(describe(&error))),
            }
        }
    }

    /// Removes what matches; `None` if it is too much work.
    fn remove(&self, line: &mut Vec<u8>, work: &mut u64) -> Option<()> {
        let mut left = Vec::new();
        let (mut from, mut kept) = (0, 0);
        let mut has_match = false;
        while from <= line.len() {
            let searched = (line.len() - from + 1) as u64;
            *work = work.checked_sub(searched.checked_mul(self.weight)?)?;
            let Some(found) = self.regex.find_at(line, from) else {
                break;
            };
            has_match |= !found.is_empty();
            left.extend_from_slice(&line[kept..found.start()]);
            kept = found.end();
            from = if found.is_empty() {
                found.end() + 1
            } else {
                found.end()
            };
        }
        if has_match {
            left.extend_from_slice(&line[kept..]);
            *line = left;
        }
        Some(())
    }
}

/// The last line of what `regex` says, which names the fault; the others draw it.
fn describe(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    format!("not a regular expression: {last}")
}

/// A text without what the patterns match.
pub(super) struct Dropping<'p, R> {
    inner: BufReader<R>,
    patterns: Vec<&'p Pattern>,
    /// What is left of the line that is being read, and how far that was read.
    line: Vec<u8>,
    at: usize,
    /// Whether the rest of a line that is too long follows.
    is_within_line: bool,
    work: u64,
}

impl<'p, R: Read> Dropping<'p, R> {
    pub(super) fn new(inner: R, patterns: Vec<&'p Pattern>) -> Self {
        Self {
            inner: BufReader::with_capacity(64 << 10, inner),
            patterns,
            line: Vec::new(),
            at: 0,
            is_within_line: false,
            work: MOST_WORK,
        }
    }

    /// Reads lines until something is left of one; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            self.line.clear();
            self.at = 0;
            let most = LONGEST_LINE as u64 + 2;
            if self
                .inner
                .by_ref()
                .take(most)
                .read_until(b'\n', &mut self.line)?
                == 0
            {
                return Ok(false);
            }
            let is_ended = self.line.ends_with(b"\n") || (self.line.len() as u64) < most;
            let was_within = std::mem::replace(&mut self.is_within_line, !is_ended);
            if was_within || !is_ended || self.line.len() - self.end().len() > LONGEST_LINE {
                return Ok(true);
            }
            if self.drop_from_line()? {
                return Ok(true);
            }
        }
    }

    /// What ends the line.
    fn end(&self) -> &'static [u8] {
        match self.line.as_slice() {
            [.., b'\r', b'\n'] => b"\r\n",
            [.., b'\n'] => b"\n",
            _ => b"",
        }
    }

    /// Applies the patterns to a whole line; false if nothing is left of it.
    fn drop_from_line(&mut self) -> io::Result<bool> {
        let end = self.end();
        self.line.truncate(self.line.len() - end.len());
        let was_empty = self.line.is_empty();
        for pattern in &self.patterns {
            let done = pattern.remove(&mut self.line, &mut self.work);
            done.ok_or_else(|| io::Error::other("its regular expressions take too much work"))?;
        }
        if self.line.is_empty() && !was_empty {
            return Ok(false);
        }
        self.line.extend_from_slice(end);
        Ok(true)
    }
}

impl<R: Read> Read for Dropping<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() && !self.advance()? {
            return Ok(0);
        }
        let count = buffer.len().min(self.line.len() - self.at);
        buffer[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str, patterns: &[&str]) -> String {
        let patterns: Vec<_> = patterns
            .iter()
            .map(|it| Pattern::parse(it).unwrap())
            .collect();
        let mut left = String::new();
        Dropping::new(text.as_bytes(), patterns.iter().collect())
            .read_to_string(&mut left)
            .unwrap();
        left
    }

    #[test]
    fn matches_are_removed_and_lines_of_which_nothing_is_left() {
        let text = "3 passed in 4.14s\r\nDEBUG a\n\nend";
        assert_eq!(
            left(text, &[r" in \d+\.\d+s$"]),
            "3 passed\r\nDEBUG a\n\nend"
        );
        assert_eq!(left(text, &["^DEBUG.*"]), "3 passed in 4.14s\r\n\nend");
        assert_eq!(
            left(text, &["DEBUG", " a", "end"]),
            "3 passed in 4.14s\r\n\n"
        );
        assert_eq!(left("aXbXc\n", &["X"]), "abc\n");
        assert_eq!(left("12\n3\n", &[r"\d"]), "");
        // A match of nothing removes nothing.
        assert_eq!(left("abc\n\n", &["x*", "^", "$"]), "abc\n\n");
        assert_eq!(left("é3\n", &["é"]), "3\n");
    }

    #[test]
    fn line_that_is_too_long_is_left_as_it_is() {
        let long = "x".repeat(LONGEST_LINE + 1);
        for text in [
            format!("x1\n{long}\nx2\n"),
            format!("{long}{long}x\nx2"),
            long.clone(),
        ] {
            let lines = text.split_inclusive('\n');
            let expected: String = lines
                .map(|line| match line.len() > LONGEST_LINE {
                    true => line.to_owned(),
                    false => line.replace('x', ""),
                })
                .collect();
            assert!(left(&text, &["x"]) == expected);
        }
        let most = "x".repeat(LONGEST_LINE);
        assert_eq!(left(&format!("{most}\n"), &["x+"]), "");
    }

    /// Each search from a place looks at all that follows, and finds one letter.
    #[test]
    fn pattern_that_takes_too_much_work_ends_with_an_error() {
        let pattern = Pattern::parse(".*[^A-Z]|[A-Z]").unwrap();
        let text = "A".repeat(LONGEST_LINE);
        let began = std::time::Instant::now();
        let read = Dropping::new(text.as_bytes(), vec![&pattern]).read_to_end(&mut Vec::new());
        assert!(read.unwrap_err().to_string().contains("too much work"));
        assert!(began.elapsed().as_secs() < 60);
    }
}
