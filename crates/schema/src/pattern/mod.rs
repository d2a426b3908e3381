//! Regular expressions of ECMA-262 with the `u` flag, matched within a budget.
//!
//! A pattern is parsed (`parse`), compiled to a program (`program`) and searched for by following all
//! paths through the program at once (`search`): the time is bounded by the size of the program times
//! the length of the text, whatever the pattern. Only a back-reference needs `backtrack`, which tries
//! one path after the other. Both count their steps and stop when none are left.
//!
//! Beyond ECMA-262, the groups `(?i)`, `(?m)`, `(?s)` and `(?P<name>…)` and the anchors `\A` and `\z`
//! are supported, because schemas written for other libraries use them. What is not supported (atomic
//! groups, conditions, rarer Unicode properties) is refused, never guessed.

mod backtrack;
mod parse;
mod program;
mod search;
mod set;
mod unicode;

use program::Program;

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadPattern {
    /// It breaks the grammar.
    #[error("{what} at character {at}")]
    Syntax { what: &'static str, at: usize },
    /// Other libraries may support it; this one does not.
    #[error("{what} at character {at}, which is not supported here")]
    NotSupported { what: String, at: usize },
    /// Its program is too large.
    #[error("its program is too large")]
    TooLarge,
}

/// The steps of a match ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfFuel;

/// Steps that matching may still take.
#[derive(Debug)]
pub(crate) struct Fuel {
    left: u64,
}

impl Fuel {
    pub fn new(left: u64) -> Self {
        Self { left }
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    #[inline]
    fn burn(&mut self, steps: u64) -> Result<(), OutOfFuel> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(OutOfFuel)
            }
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    program: Program,
}

impl Pattern {
    /// Compiles `text` to a program of at most `largest` instructions.
    pub fn compile(text: &str, largest: usize) -> Result<Self, BadPattern> {
        let parsed = parse::parse(text)?;
        let program = program::compile(&parsed, largest)?;
        Ok(Self { program })
    }

    /// The number of instructions.
    pub fn size(&self) -> usize {
        self.program.code.len()
    }

    /// Whether the pattern matches anywhere in `text`.
    pub fn is_match(&self, text: &str, fuel: &mut Fuel) -> Result<bool, OutOfFuel> {
        if self.program.refers_back {
            backtrack::is_match(&self.program, text, fuel)
        } else {
            search::is_match(&self.program, text, fuel)
        }
    }
}

/// The character after (or before, if `backward`) `at`, and its other end.
#[inline]
fn step(text: &str, at: usize, backward: bool) -> Option<(char, usize)> {
    if backward {
        let c = text.get(..at)?.chars().next_back()?;
        return Some((c, at - c.len_utf8()));
    }
    match text.as_bytes().get(at) {
        Some(&byte) if byte < 0x80 => Some((char::from(byte), at + 1)),
        _ => {
            let c = text.get(at..)?.chars().next()?;
            Some((c, at + c.len_utf8()))
        }
    }
}

/// Whether an assertion without a body is true at `at`.
fn holds(assertion: program::Assertion, text: &str, at: usize) -> bool {
    use program::Assertion;
    let is_line_end = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = || step(text, at, true).map(|(c, _)| c);
    let after = || step(text, at, false).map(|(c, _)| c);
    match assertion {
        Assertion::Start => at == 0,
        Assertion::End => at == text.len(),
        Assertion::LineStart => before().is_none_or(is_line_end),
        Assertion::LineEnd => after().is_none_or(is_line_end),
        Assertion::Boundary => before().is_some_and(is_word) != after().is_some_and(is_word),
        Assertion::NoBoundary => before().is_some_and(is_word) == after().is_some_and(is_word),
    }
}

#[cfg(test)]
mod tests;
