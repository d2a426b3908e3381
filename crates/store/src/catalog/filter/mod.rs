//! Filters: `metrics.rmse < 0.3 and engine = FLATS`.
//!
//! ```text
//! filter     = and-part { "or" and-part }
//! and-part   = part { "and" part }
//! part       = "not" part | "(" filter ")" | test
//! test       = name [ comparison value ]
//! comparison = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~"
//! ```
//!
//! A test without a comparison asks whether the value exists at all. Parsing a filter involves no
//! database; [`sql`](super::sql) defines what it means to one. Positions are columns of the text,
//! counted in characters from 1.

mod lex;
mod parse;

use std::collections::BTreeSet;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::verify::Outcome;
use thiserror::Error;

use super::name::{Root, ValueName};

/// A condition on entries.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of these are true.
    All(Vec<Filter>),
    /// At least one of these is true.
    Any(Vec<Filter>),
    /// This is false.
    Not(Box<Filter>),
    /// A single test.
    Test(Test),
}

/// A test of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// The field to test.
    pub field: Field,
    /// The comparison; `None` if only the existence is tested.
    pub check: Option<(Comparison, Literal)>,
}

/// What a test examines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// A parameter or a metric, by the parts of its name.
    Value(Root, Vec<String>),
    /// A field that has at most one value.
    Column(Column),
    /// A field that may have several values.
    Several(Several),
    /// The digest of the content; compared by prefix.
    Digest,
}

/// A text field with at most one value per entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The name of the format.
    Format,
    /// The unit's own id.
    Id,
    /// The engine.
    Engine,
    /// How the recorded run ended.
    Outcome,
    /// When it was sealed.
    Time,
}

/// A text field that may have several values per entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Several {
    /// The tags.
    Tag,
    /// Who signed it.
    Signer,
    /// Where it was seen.
    Place,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `~`: contains this text.
    Contains,
}

/// The value that a field is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// The text as written, without quotes.
    pub text: String,
    /// Its numeric value, if it is an unquoted number.
    pub number: Option<f64>,
}

/// Why a text is not a valid filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{fault}")]
pub struct FilterError {
    /// The column, counted in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub fault: FilterFault,
}

impl Diagnose for FilterError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self, Outcome::Usage, "FILTER")
            .located(Location::Within(format!(" column {}", self.column)))
            .hint("docs/catalog.md says what a filter can be")
    }
}

/// What is wrong with a filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterFault {
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// The name of a field that does not exist.
    #[error("there is no field `{0}`")]
    UnknownField(String),
    /// An unclosed quote.
    #[error("the quote that opens here is never closed")]
    OpenQuote,
    /// A character without a meaning here.
    #[error("`{0}` means nothing here; put texts into quotes")]
    StraySign(char),
    /// An unclosed parenthesis.
    #[error("the parenthesis that opens here is never closed")]
    OpenParenthesis,
    /// A comparison that the field does not support.
    #[error("`{field}` can be compared with {known} only")]
    Comparison {
        /// The field.
        field: &'static str,
        /// The comparisons that it supports.
        known: &'static str,
    },
    /// Text that is not the beginning of a digest.
    #[error("expected up to 64 of the digits 0-9 and a-f")]
    NoDigest,
    /// A number that no value can have.
    #[error("`{0}` is beyond the largest number; put texts into quotes")]
    TooLargeNumber(String),
    /// The filter exceeds the limits.
    #[error("the filter is too long or nested too deeply")]
    TooLarge,
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The fault and its column.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parse::parse(text)
    }

    /// Returns the parameters and metrics in the filter, as written.
    pub fn value_names(&self) -> BTreeSet<(Root, Vec<String>)> {
        let mut names = BTreeSet::new();
        self.add_value_names(&mut names);
        names
    }

    fn add_value_names(&self, names: &mut BTreeSet<(Root, Vec<String>)>) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.add_value_names(names);
                }
            }
            Self::Not(part) => part.add_value_names(names),
            Self::Test(test) => {
                if let Field::Value(root, parts) = &test.field {
                    names.insert((*root, parts.clone()));
                }
            }
        }
    }
}

/// Parses the name of a parameter or metric, as written in filters.
///
/// # Errors
/// When it is not one.
pub fn parse_value_name(text: &str) -> Result<[ValueName; 2], FilterError> {
    let (root, parts) = parse::parse_name(text)?;
    Ok(ValueName::of_parts(root, &parts))
}
