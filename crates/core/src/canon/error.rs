//! What can be wrong with a JSON text, and where.

use std::fmt;

use crate::diagnosis::{BUG_HINT, Diagnose, Diagnosis, Location};
use crate::verify::Outcome;

/// A place in a text, for people: both numbers count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The character within the line, from 1.
    pub column: u32,
}

impl Position {
    /// The position of byte `offset` in `bytes`, which only need to be valid UTF-8 before it.
    pub(crate) fn of(bytes: &[u8], offset: usize) -> Self {
        let before = &bytes[..offset.min(bytes.len())];
        let line_start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let is_character = |b: &&u8| **b & 0xC0 != 0x80;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1);
        Self {
            line: count(before.iter().filter(|&&b| b == b'\n').count()),
            column: count(before[line_start..].iter().filter(is_character).count()),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// A text that is not one strict JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {position}")]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// The first character that is wrong.
    pub position: Position,
}

impl Diagnose for JsonError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(&self.kind, Outcome::Malformed, self.kind.code())
            .located(Location::Within(format!(" {}", self.position)))
            .hint(self.kind.hint())
    }
}

/// What is wrong with a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// There is no value at all.
    #[error("the text is empty")]
    Empty,
    /// The bytes are not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// A byte order mark precedes the text.
    #[error("the text begins with a byte order mark")]
    ByteOrderMark,
    /// The text has more bytes than the limit.
    #[error("the text has {actual} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The bytes it has.
        actual: u64,
        /// The most bytes that are read.
        limit: u64,
    },
    /// More brackets are open than the limit.
    #[error("more than {limit} brackets are open")]
    TooDeep {
        /// The most brackets that may be open at once.
        limit: u32,
    },
    /// There are more elements and members than a text of this size may have.
    #[error(
        "there are more than {limit} elements and members, the limit for a text of {bytes} bytes"
    )]
    TooManyValues {
        /// The most elements and members it may have.
        limit: usize,
        /// The bytes it has.
        bytes: usize,
    },
    /// One string has more bytes than the limit.
    #[error("a string has more than {limit} bytes")]
    StringTooLong {
        /// The most bytes that a string may have, as written.
        limit: u32,
    },
    /// An object has a key twice.
    #[error("key {key} appears twice, first at {first}")]
    DuplicateKey {
        /// The key, quoted and cut to a readable length.
        key: String,
        /// Where it appears first.
        first: Position,
    },
    /// The text ends too early.
    #[error("the text ends where {expected} was expected")]
    UnexpectedEnd {
        /// What could follow here.
        expected: &'static str,
    },
    /// A character that is not expected here.
    #[error("found {found} where {expected} was expected")]
    Unexpected {
        /// The character, quoted.
        found: String,
        /// What is expected here.
        expected: &'static str,
    },
    /// More text follows the document.
    #[error("found {found} after the end of the document")]
    TrailingText {
        /// The first character that follows, quoted.
        found: String,
    },
    /// `NaN`, `Infinity` or `-Infinity`.
    #[error("JSON has no NaN and no Infinity")]
    NotANumber,
    /// A number that the grammar does not have, such as `01`, `1.` or `+1`.
    #[error("malformed number: {reason}")]
    BadNumber {
        /// Which part of the grammar it breaks.
        reason: &'static str,
    },
    /// An escape that the grammar does not have.
    #[error("malformed escape: {reason}")]
    BadEscape {
        /// Which part of the grammar it breaks.
        reason: &'static str,
    },
    /// A raw control character inside a string.
    #[error("raw control character U+{:04X} in a string", *.found as u32)]
    ControlCharacter {
        /// The character.
        found: char,
    },
}

impl JsonErrorKind {
    /// A stable name for programs and for searching.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "JSON_EMPTY",
            Self::NotUtf8 => "JSON_NOT_UTF8",
            Self::ByteOrderMark => "JSON_BOM",
            Self::TooLarge { .. } => "JSON_TOO_LARGE",
            Self::TooDeep { .. } => "JSON_TOO_DEEP",
            Self::TooManyValues { .. } => "JSON_TOO_MANY_VALUES",
            Self::StringTooLong { .. } => "JSON_STRING_TOO_LONG",
            Self::DuplicateKey { .. } => "JSON_DUPLICATE_KEY",
            Self::UnexpectedEnd { .. } => "JSON_UNEXPECTED_END",
            Self::Unexpected { .. } => "JSON_UNEXPECTED",
            Self::TrailingText { .. } => "JSON_TRAILING_TEXT",
            Self::NotANumber => "JSON_NOT_A_NUMBER",
            Self::BadNumber { .. } => "JSON_BAD_NUMBER",
            Self::BadEscape { .. } => "JSON_BAD_ESCAPE",
            Self::ControlCharacter { .. } => "JSON_CONTROL_CHARACTER",
        }
    }

    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "an empty file is not a JSON document; was it written completely?",
            Self::NotUtf8 => "convert the file to UTF-8 first, for instance with iconv",
            Self::ByteOrderMark => "remove the first three bytes (EF BB BF)",
            Self::TooLarge { .. } => "split the document, or hash the file's raw bytes instead",
            Self::TooDeep { .. } => "flatten the document; no format here nests this deep",
            Self::TooManyValues { .. } => {
                "split the document, or keep long lists in separate files"
            }
            Self::StringTooLong { .. } => "keep large content in a separate file, named by hash",
            Self::DuplicateKey { .. } => {
                "keep one of the two; readers disagree about which one counts"
            }
            Self::UnexpectedEnd { .. } => "the file seems to be truncated",
            Self::Unexpected { .. } => "strict JSON has no comments, trailing commas or bare words",
            Self::TrailingText { .. } => "a file contains exactly one JSON document",
            Self::NotANumber => "write null or a string instead",
            Self::BadNumber { .. } => "a number looks like -1, 0.5 or 1.5e-7",
            Self::BadEscape { .. } => "escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX",
            Self::ControlCharacter { .. } => "write it as an escape, for instance \\n or \\u0001",
        }
    }
}

/// A value that was read but has no form in a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NoCanonicalForm {
    /// What the dialect has no form for.
    pub kind: NoFormKind,
    /// Its position in the text, if it was read from one.
    pub position: Option<Position>,
}

impl fmt::Display for NoCanonicalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        self.position
            .map_or(Ok(()), |position| write!(f, ": {position}"))
    }
}

impl Diagnose for NoCanonicalForm {
    fn diagnosis(&self) -> Diagnosis {
        let location = match self.position {
            Some(position) => Location::Within(format!(" {position}")),
            None => Location::Named,
        };
        Diagnosis::of(&self.kind, Outcome::Malformed, self.kind.code())
            .located(location)
            .hint(self.kind.hint())
    }
}

/// Why a value has no form in a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFormKind {
    /// A number beyond the range of an IEEE 754 double.
    #[error("the number `{text}` is outside the range of a double")]
    OutOfRange {
        /// The number as written, cut to a readable length.
        text: String,
    },
    /// Half of a surrogate pair, in a dialect that has no form for it.
    #[error("the string holds the lone surrogate U+{unit:04X}")]
    LoneSurrogate {
        /// The UTF-16 code unit.
        unit: u16,
    },
    /// The text could not be written completely. Memory and hashes accept everything, so this is a
    /// bug.
    #[error("the canonical text was not written completely")]
    Unwritten,
}

impl NoFormKind {
    /// A stable name for programs and for searching.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "CANON_OUT_OF_RANGE",
            Self::LoneSurrogate { .. } => "CANON_LONE_SURROGATE",
            Self::Unwritten => "CANON_UNWRITTEN",
        }
    }

    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "write it as a string; a double ends at about 1.8e308",
            Self::LoneSurrogate { .. } => {
                "RFC 8785 has no form for half a character; correct the text"
            }
            Self::Unwritten => BUG_HINT,
        }
    }
}
