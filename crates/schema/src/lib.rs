//! JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12, within budgets.
//!
//! [`Schema::compile`] checks that a document is a valid schema of the draft it declares and follows its
//! references; [`Schema::check`] lists what a document has that the schema does not allow. A schema is
//! as hostile as anything else from outside: [`Limits`] bound its size before it is used, and the work
//! of using it is counted in steps. A check that a limit stops names that limit and is never valid.
//! Steps are counted and not timed, so the answer is the same on every machine.
//!
//! Nothing is ever fetched: a schema with a reference that leads out of the document is refused. Numbers
//! are compared as the doubles that JCS stores. `format` and the content keywords are annotations.
//! Patterns are those of ECMA-262.

mod compile;
mod draft;
mod evaluate;
mod evaluated;
mod expansion;
mod keyword;
mod message;
mod number;
mod pattern;
mod reference;
mod registry;

use std::collections::BTreeMap;

use runseal_core::canon::Node;
use runseal_core::limits;

pub use draft::Draft;

/// Limits on a schema and on its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Values of the schema.
    pub values: usize,
    /// Compiled subschemas.
    pub subschemas: usize,
    /// Subschemas that apply to one value, each counted as often as `$ref`, `allOf` and the like reach
    /// it.
    pub expansion: usize,
    /// References and the like that are followed one after the other for the same value.
    pub chain: usize,
    /// Parts with their own id.
    pub ids: usize,
    /// Different patterns.
    pub patterns: usize,
    /// Bytes of a pattern.
    pub pattern_text: usize,
    /// Bytes of all patterns.
    pub patterns_text: usize,
    /// Instructions of a compiled pattern.
    pub instructions: usize,
    /// Instructions of all patterns.
    pub all_instructions: usize,
    /// Subschemas inside each other while a document is checked.
    pub nesting: usize,
    /// Steps of checking a document.
    pub steps: u64,
    /// Violations that are kept.
    pub violations: usize,
    /// Bytes of the places of violations.
    pub places: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            values: limits::SCHEMA_MAX_VALUES,
            subschemas: limits::SCHEMA_MAX_VALUES,
            expansion: limits::SCHEMA_MAX_EXPANSION,
            chain: limits::SCHEMA_MAX_CHAIN,
            ids: limits::SCHEMA_MAX_IDS,
            patterns: limits::SCHEMA_MAX_PATTERNS,
            pattern_text: limits::SCHEMA_PATTERN_TEXT,
            patterns_text: limits::SCHEMA_PATTERNS_TEXT,
            instructions: limits::SCHEMA_PATTERN_INSTRUCTIONS,
            all_instructions: limits::SCHEMA_PATTERNS_INSTRUCTIONS,
            nesting: limits::SCHEMA_MAX_NESTING,
            steps: limits::SCHEMA_MAX_STEPS,
            violations: limits::SCHEMA_MAX_VIOLATIONS,
            places: limits::SCHEMA_MAX_PLACES,
        }
    }
}

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    /// `$schema` does not name a known draft.
    #[error("`$schema` is `{0}`, not draft 4, 6, 7, 2019-09 or 2020-12")]
    UnknownDraft(String),
    /// A reference leads out of the document; nothing is ever fetched.
    #[error("it refers to `{0}`, which is outside the document; nothing is ever fetched")]
    Outside(String),
    /// It exceeds a limit.
    #[error("it asks for too much: {0}, the limit")]
    TooMuch(String),
    /// It breaks the rules of its draft.
    #[error("it is not a valid schema: {0}")]
    Invalid(String),
    /// It may be valid, but has something that is not supported.
    #[error("it cannot be judged: {0}")]
    NotSupported(String),
}

/// A value that the schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The JSON Pointer of the value.
    pub pointer: String,
    /// What was expected and what was found.
    pub message: String,
    /// The JSON Pointer of the keyword in the schema that does not allow it.
    pub keyword: String,
}

/// The limit that stopped a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// It took too many steps.
    #[error("validating it takes more than {0} steps, the limit; it was not finished")]
    Steps(u64),
    /// Too many schemas were inside each other.
    #[error(
        "validating it takes more than {0} schemas inside each other, the limit; it was not finished"
    )]
    Nesting(usize),
    /// More violations were found than are kept.
    #[error("it has more than {0} violations, the limit; the first is listed")]
    Violations(usize),
    /// The places of the violations take more bytes than are kept.
    #[error(
        "the places of its violations have more than {0} bytes together, the limit; the first is listed"
    )]
    Places(usize),
}

/// The result of checking a document, which is valid if both are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// What the schema does not allow, in the order it was found.
    pub violations: Vec<Violation>,
    /// The limit that was reached, if any; then the check is not complete.
    pub exhausted: Option<Exhausted>,
}

impl Outcome {
    /// Whether the document was checked completely and is valid.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty() && self.exhausted.is_none()
    }
}

/// What surrounds a schema. Nothing surrounds a bundle's schema: see [`Schema::compile`].
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// The draft of a schema that declares none.
    pub draft: Draft,
    /// Documents that can be referred to, by their addresses. One that `$schema` names says which
    /// vocabularies count.
    pub documents: Vec<(&'a str, Node<'a>)>,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Self {
            draft: Draft::Draft2020_12,
            documents: Vec::new(),
        }
    }
}

/// A valid schema, compiled.
#[derive(Debug)]
pub struct Schema {
    schemas: Vec<keyword::Compiled>,
    patterns: Vec<(Box<str>, pattern::Pattern)>,
    places: Vec<registry::Place>,
    dynamic: BTreeMap<(usize, Box<str>), keyword::Number>,
    limits: Limits,
}

impl Schema {
    /// Compiles a schema of the draft it declares, or of 2020-12 if it declares none.
    pub fn compile(schema: Node<'_>, limits: &Limits) -> Result<Self, BadSchema> {
        Self::compile_among(schema, &Surroundings::default(), limits)
    }

    /// Compiles a schema that may refer to other documents, all of which must be valid schemas.
    pub fn compile_among<'a>(
        schema: Node<'a>,
        around: &Surroundings<'a>,
        limits: &Limits,
    ) -> Result<Self, BadSchema> {
        if count_values(schema, &mut { limits.values }).is_none() {
            let most = limits.values;
            return Err(BadSchema::TooMuch(format!(
                "it has more than {most} values"
            )));
        }
        let (registry, root) = registry::Registry::new(schema, around, limits)?;
        let compiled = compile::compile(registry, root, limits)?;
        expansion::check(&compiled.schemas, &compiled.dynamic, limits)?;
        Ok(Self {
            schemas: compiled.schemas,
            patterns: compiled.patterns,
            places: compiled.places,
            dynamic: compiled.dynamic,
            limits: limits.clone(),
        })
    }

    /// Lists everything that is wrong with `document`, up to the limits.
    pub fn check(&self, document: Node<'_>) -> Outcome {
        evaluate::check(self, document)
    }
}

fn count_values(node: Node<'_>, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    node.items().try_for_each(|item| count_values(item, left))?;
    node.members()
        .try_for_each(|(_, value)| count_values(value, left))
}
