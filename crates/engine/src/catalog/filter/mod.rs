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
//! A test without a comparison asks whether there is such a value at all. Reading a filter touches no
//! database; what it means to one is said in [`sql`](super::sql). Places are columns of the text,
//! counted in characters from 1.

mod lex;
mod parse;

use std::collections::BTreeSet;

use thiserror::Error;

use super::name::{Root, ValueName};

/// A condition on entries.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Every one of these holds.
    All(Vec<Filter>),
    /// One of these holds.
    Any(Vec<Filter>),
    /// This does not hold.
    Not(Box<Filter>),
    /// A single test.
    Test(Test),
}

/// A test of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// What is looked at.
    pub field: Field,
    /// What is asked of it; `None` where only whether it is there.
    pub check: Option<(Comparison, Literal)>,
}

/// What a test looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// A parameter or a metric, by the parts of its name.
    Value(Root, Vec<String>),
    /// One of a few texts that an entry has one of.
    Column(Column),
    /// One of a few texts that an entry may have several of.
    Several(Several),
    /// The digest of the content; compared by its first digits.
    Digest,
}

/// A text that an entry has one of, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The name of the format.
    Format,
    /// What the unit calls itself.
    Id,
    /// The engine.
    Engine,
    /// How what it records ended.
    Outcome,
    /// When it was sealed.
    Time,
}

/// A text that an entry may have several of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Several {
    /// What people call it.
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

/// What a field is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// As it was written, without quotes.
    pub text: String,
    /// Its worth, where it is a number and stands without quotes.
    pub number: Option<f64>,
}

/// Why a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{fault}")]
pub struct FilterError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub fault: FilterFault,
}

/// What is wrong with a filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterFault {
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What could stand here.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// A name that nothing has.
    #[error("there is no field `{0}`")]
    UnknownField(String),
    /// A quote without its end.
    #[error("the quote that begins here has no end")]
    OpenQuote,
    /// A sign that has no meaning here.
    #[error("`{0}` means nothing here; put texts into quotes")]
    StraySign(char),
    /// A parenthesis without its end.
    #[error("the parenthesis that opens here is never closed")]
    OpenParenthesis,
    /// A comparison that the field has no order or text for.
    #[error("`{field}` can be compared with {known} only")]
    Comparison {
        /// The field.
        field: &'static str,
        /// What can be asked of it.
        known: &'static str,
    },
    /// Digits that begin no digest.
    #[error("a digest is written in up to 64 of the digits 0-9 and a-f")]
    NoDigest,
    /// A number that no value can have.
    #[error("`{0}` is beyond the largest number; put texts into quotes")]
    TooLargeNumber(String),
    /// More than anybody types.
    #[error("the filter is longer or deeper than what is read")]
    TooLarge,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// With the column of what is wrong.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parse::parse(text)
    }

    /// The parameters and metrics that it asks about, as they are written.
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

/// Reads the name of a parameter or metric, as filters write it.
///
/// # Errors
/// When it is none.
pub fn parse_value_name(text: &str) -> Result<[ValueName; 2], FilterError> {
    let (root, parts) = parse::parse_name(text)?;
    Ok(ValueName::of_parts(root, &parts))
}
