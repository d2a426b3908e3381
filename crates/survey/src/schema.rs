//! JSON Schema, offline: drafts 4, 6, 7, 2019-09 and 2020-12, and no reference that leaves the
//! document.
//!
//! Validation is the `jsonschema` crate's, built without anything that could fetch. What it would
//! answer from its own store (the drafts' meta-schemas) is outside the document too, so those
//! references are refused before it sees them. `format` and the content keywords are annotations.
//!
//! A schema comes with the bundle it judges. What it may ask for is bounded before it is compiled
//! (`bounds`), and the work of validating is counted (`meter`, `instance`).

#[cfg(test)]
mod attacks;
mod bounds;
mod instance;
mod meter;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use jsonschema::{Draft, PatternOptions, Validator};
use runseal_core::canon::{Node, Number};
use runseal_core::formats::definition::Tools;
use runseal_core::formats::run_bundle::SchemaJudge;
use runseal_core::formats::run_bundle::facts::{SchemaVerdict, SchemaViolation};
use runseal_core::limits::{
    SCHEMA_BACKTRACKING, SCHEMA_MAX_PLACES, SCHEMA_MAX_STEPS, SCHEMA_MAX_VIOLATIONS,
};
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::Report;
use serde_json::Value;

use super::engine::examine_engine;
use instance::{Counted, Instance};
use meter::{Budget, Exhausted};

/// Characters of a message that are kept; a violation quotes the value it is about.
const LONGEST_MESSAGE: usize = 300;

/// Content encodings and media types that the validator would assert under drafts 6 and 7, where
/// they are annotations.
const ENCODINGS: [&str; 5] = ["base16", "base32", "base32hex", "base64", "base64url"];
const MEDIA_TYPE: &str = "application/json";

/// Subschemas for one value that cost as much as handing it out.
const SUBSCHEMAS_A_STEP: usize = 16;

/// A schema that was found valid.
#[derive(Debug)]
pub struct Schema {
    validator: Validator<Counted>,
    extent: bounds::Extent,
    /// Steps that validating one document may take.
    steps: u64,
}

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    /// `$schema` names something else than a known draft.
    #[error("`$schema` is `{0}`, not draft 4, 6, 7, 2019-09 or 2020-12")]
    UnknownDraft(String),
    /// A reference leads out of the document; nothing is ever fetched.
    #[error("it refers to `{0}`, which is outside the document; nothing is ever fetched")]
    Outside(String),
    /// It asks for more than a schema may.
    #[error("it asks for too much: {0}, the limit")]
    TooMuch(String),
    /// It breaks the rules of its draft.
    #[error("it is no valid schema: {0}")]
    Invalid(String),
}

impl Schema {
    /// Reads a schema of the draft it declares, 2020-12 where it declares none.
    pub fn compile(schema: Node<'_>) -> Result<Self, BadSchema> {
        let draft = declared_draft(schema)?;
        bounds::check_size(schema).map_err(BadSchema::TooMuch)?;
        let value = to_json(schema);
        let extent = bounds::measure(&value).map_err(BadSchema::TooMuch)?;
        let mut known = BTreeSet::new();
        collect_ids(&value, &mut known);
        if let Some(outside) = find_meta_schema_reference(&value, &known) {
            return Err(BadSchema::Outside(outside));
        }
        if draft == Draft::Draft4
            && let Some(place) = find_empty_enum(&value)
        {
            return Err(BadSchema::Invalid(format!(
                "{place}: `enum` has no element; draft 4 demands one"
            )));
        }
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(SCHEMA_BACKTRACKING)
            .size_limit(extent.pattern_bytes)
            .dfa_size_limit(extent.pattern_bytes);
        let mut options = jsonschema::options_for::<Counted>()
            .with_draft(draft)
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .without_content_media_type_support(MEDIA_TYPE);
        for encoding in ENCODINGS {
            options = options.without_content_encoding_support(encoding);
        }
        let validator = options.build(&value).map_err(|error| {
            let message = error.to_string();
            match outside_reference(&message) {
                Some(reference) => BadSchema::Outside(reference),
                None => {
                    let place = error.instance_path().to_string();
                    let at = if place.is_empty() {
                        String::new()
                    } else {
                        format!("{place}: ")
                    };
                    BadSchema::Invalid(format!("{at}{}", shorten(&message)))
                }
            }
        })?;
        Ok(Self {
            validator,
            extent,
            steps: SCHEMA_MAX_STEPS,
        })
    }

    /// Everything that is wrong with `document`, in order. Where finding it out takes more than
    /// validating may, that is what is wrong.
    pub fn check(&self, document: Node<'_>) -> Vec<SchemaViolation> {
        let mut violations = match self.collect(document) {
            Ok(violations) => violations,
            Err(exhausted) => self.describe_exhausted(document, exhausted),
        };
        violations.sort();
        violations
    }

    fn collect(&self, document: Node<'_>) -> Result<Vec<SchemaViolation>, Exhausted> {
        meter::measure(self.budget(document), || {
            let errors = self.validator.iter_errors(Instance::Node(document));
            errors.map(|error| describe(&error)).collect()
        })
    }

    /// The bound that was reached, and the first violation, where there is one within it.
    fn describe_exhausted(&self, document: Node<'_>, exhausted: Exhausted) -> Vec<SchemaViolation> {
        let budget = self.budget(document);
        let message = match exhausted {
            Exhausted::Steps => format!(
                "validating it takes more than {} steps, the limit; it was not finished",
                budget.steps
            ),
            Exhausted::Violations => format!(
                "it has more than {} violations, the limit; the first is listed",
                budget.violations
            ),
        };
        let mut violations = vec![SchemaViolation {
            pointer: String::new(),
            message,
        }];
        if exhausted == Exhausted::Violations {
            let first = meter::measure(budget, || {
                let first = self.validator.validate(Instance::Node(document)).err();
                first.map(|error| describe(&error))
            });
            violations.extend(first.ok().flatten());
        }
        violations
    }

    /// What validating `document` may take.
    fn budget(&self, document: Node<'_>) -> Budget {
        let longest = longest_place(document).max(1);
        Budget {
            steps: self.steps,
            violations: SCHEMA_MAX_VIOLATIONS.min((SCHEMA_MAX_PLACES / longest) as u64),
            steps_a_child: 1 + (self.extent.expansion / SUBSCHEMAS_A_STEP) as u64,
            backtracks: self.extent.backtracks,
        }
    }
}

/// Bytes of the longest JSON Pointer to a value of `document`.
fn longest_place(document: Node<'_>) -> usize {
    let items = document.items().map(|item| 8 + longest_place(item));
    let members = document
        .members()
        .map(|(key, value)| 1 + key.to_lossy().len() + longest_place(value));
    items.chain(members).max().unwrap_or_default()
}

fn describe(error: &jsonschema::ValidationError<'_>) -> SchemaViolation {
    let mut message = Shortened::default();
    // An error only says that the message is full.
    let _ = write!(message, "{error}");
    SchemaViolation {
        pointer: error.instance_path().to_string(),
        message: message.finish(),
    }
}

/// The beginning of a message; what comes after is not even put together.
#[derive(Default)]
struct Shortened {
    text: String,
    characters: usize,
}

impl fmt::Write for Shortened {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        // One more than is kept shows that there is more.
        let room = LONGEST_MESSAGE + 1 - self.characters;
        let taken = more
            .char_indices()
            .nth(room)
            .map_or(more.len(), |(at, _)| at);
        self.text.push_str(&more[..taken]);
        self.characters += more[..taken].chars().count();
        if taken < more.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

impl Shortened {
    fn finish(self) -> String {
        shorten(&self.text)
    }
}

/// JSON Schema and engines' contracts, judged the same on every machine.
#[derive(Debug, Clone, Copy)]
pub struct LocalTools;

impl SchemaJudge for LocalTools {
    fn judge(&self, document: Option<Node<'_>>, schema: Option<Node<'_>>) -> SchemaVerdict {
        judge(document, schema)
    }
}

impl Tools for LocalTools {
    fn judge_engine(&self, source: &dyn Source) -> Result<Report, SourceError> {
        Ok(examine_engine(source, &|_| Ok(None))?.0)
    }
}

/// What validating `document` against `schema` gives, where both were read.
pub fn judge(document: Option<Node<'_>>, schema: Option<Node<'_>>) -> SchemaVerdict {
    let Some(schema) = schema else {
        return SchemaVerdict::NotChecked;
    };
    match (Schema::compile(schema), document) {
        (Err(bad), _) => SchemaVerdict::BadSchema(bad.to_string()),
        (Ok(_), None) => SchemaVerdict::NotChecked,
        (Ok(schema), Some(document)) => SchemaVerdict::Violations(schema.check(document)),
    }
}

fn declared_draft(schema: Node<'_>) -> Result<Draft, BadSchema> {
    let Some(declared) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let text = declared.as_str().unwrap_or_default();
    let bare = text.strip_suffix('#').unwrap_or(&text);
    let place = bare
        .strip_prefix("http://json-schema.org/")
        .or_else(|| bare.strip_prefix("https://json-schema.org/"));
    match place {
        Some("draft-04/schema") => Ok(Draft::Draft4),
        Some("draft-06/schema") => Ok(Draft::Draft6),
        Some("draft-07/schema") => Ok(Draft::Draft7),
        Some("draft/2019-09/schema") => Ok(Draft::Draft201909),
        Some("draft/2020-12/schema") => Ok(Draft::Draft202012),
        _ => Err(BadSchema::UnknownDraft(text.escape_debug().to_string())),
    }
}

/// An `enum` without an element, as a JSON Pointer to the schema that holds it.
fn find_empty_enum(value: &Value) -> Option<String> {
    match value {
        Value::Object(members) => {
            if members.get("enum").and_then(Value::as_array) == Some(&Vec::new()) {
                return Some(String::new());
            }
            members
                .iter()
                .filter(|(name, _)| !is_data(name))
                .find_map(|(name, value)| {
                    // What `properties` holds are names, of which `enum` may be one.
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    let found = match value {
                        Value::Object(names) if is_map(name) => {
                            names.iter().find_map(|(name, value)| {
                                let inner = find_empty_enum(value)?;
                                let name = name.replace('~', "~0").replace('/', "~1");
                                Some(format!("/{name}{inner}"))
                            })
                        }
                        value => find_empty_enum(value),
                    };
                    found.map(|rest| format!("/{escaped}{rest}"))
                })
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| find_empty_enum(item).map(|rest| format!("/{at}{rest}"))),
        _ => None,
    }
}

/// Whether a keyword holds values that are compared with, which are no schemas.
fn is_data(name: &str) -> bool {
    matches!(name, "enum" | "const" | "default" | "examples")
}

/// Whether a keyword holds schemas by names of the user's choice.
fn is_map(name: &str) -> bool {
    matches!(
        name,
        "properties" | "patternProperties" | "definitions" | "$defs" | "dependencies"
    )
}

/// The ids that the document gives to itself and its parts.
fn collect_ids(value: &Value, known: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for name in ["$id", "id"] {
                if let Some(Value::String(id)) = members.get(name) {
                    known.insert(without_fragment(id).to_owned());
                }
            }
            members.values().for_each(|value| collect_ids(value, known));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_ids(value, known)),
        _ => {}
    }
}

/// A reference to a draft's meta-schema, which the validator has in store.
fn find_meta_schema_reference(value: &Value, known: &BTreeSet<String>) -> Option<String> {
    match value {
        Value::Object(members) => {
            for name in ["$ref", "$dynamicRef", "$recursiveRef"] {
                if let Some(Value::String(reference)) = members.get(name) {
                    let bare = without_fragment(reference);
                    if bare.contains("://json-schema.org/") && !known.contains(bare) {
                        return Some(reference.clone());
                    }
                }
            }
            members
                .iter()
                .filter(|(name, _)| !is_data(name))
                .find_map(|(_, value)| find_meta_schema_reference(value, known))
        }
        Value::Array(items) => items
            .iter()
            .find_map(|value| find_meta_schema_reference(value, known)),
        _ => None,
    }
}

fn without_fragment(reference: &str) -> &str {
    reference.split('#').next().unwrap_or_default()
}

/// The reference that the validator could not resolve, out of what it says.
fn outside_reference(message: &str) -> Option<String> {
    let rest = message.strip_prefix("Resource '")?;
    let (reference, _) = rest.split_once("' is not present")?;
    Some(reference.to_owned())
}

fn shorten(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

/// The document as the validator wants it, with the numbers that JCS stores: doubles.
pub fn to_json(node: Node<'_>) -> Value {
    if let Some(text) = node.as_lossy_str() {
        return Value::String(text.into_owned());
    }
    if let Some(number) = node.as_number() {
        return to_json_number(number);
    }
    if let Some(truth) = node.as_bool() {
        return Value::Bool(truth);
    }
    if let Some(items) = node.as_array() {
        return Value::Array(items.map(to_json).collect());
    }
    match node.as_object() {
        Some(members) => Value::Object(
            members
                .map(|(key, value)| (key.to_lossy().into_owned(), to_json(value)))
                .collect(),
        ),
        None => Value::Null,
    }
}

fn to_json_number(number: Number<'_>) -> Value {
    if let Some(integer) = number.to_exact_i64() {
        return Value::from(integer);
    }
    // Infinite only without a JCS form, and then nobody asks.
    serde_json::Number::from_f64(number.to_f64()).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::canon::{ReadOptions, parse_document};

    fn verdict(schema: &str, document: &str) -> SchemaVerdict {
        let options = ReadOptions::default();
        let schema = parse_document(schema.as_bytes(), &options).unwrap();
        let document = parse_document(document.as_bytes(), &options).unwrap();
        judge(Some(document.root()), Some(schema.root()))
    }

    fn pointers(schema: &str, document: &str) -> Vec<String> {
        match verdict(schema, document) {
            SchemaVerdict::Violations(found) => found.into_iter().map(|v| v.pointer).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    fn bad(schema: &str) -> String {
        match verdict(schema, "{}") {
            SchemaVerdict::BadSchema(reason) => reason,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn schema_every_violation_has_its_pointer() {
        let schema = r#"{"required":["z"],"properties":{"a":{"items":{"type":"integer"}},"b/c":{"minimum":3}}}"#;
        assert_eq!(
            pointers(schema, r#"{"a":[1,"x",2.5],"b/c":1}"#),
            ["", "/a/1", "/a/2", "/b~1c"]
        );
        assert!(pointers(schema, r#"{"a":[1,1.0,1e2],"b/c":3,"z":0}"#).is_empty());
    }

    #[test]
    fn schema_each_draft_is_read_by_its_own_rules() {
        // exclusiveMinimum is a boolean in draft 4 and a number later; prefixItems is 2020-12's.
        let with = |draft: &str, rest: &str| format!(r#"{{"$schema":"{draft}",{rest}}}"#);
        let four = r#""minimum":3,"exclusiveMinimum":true"#;
        let later = r#""exclusiveMinimum":3"#;
        for (draft, rest, document, expected) in [
            ("http://json-schema.org/draft-04/schema#", four, "3", 1),
            ("http://json-schema.org/draft-04/schema", four, "4", 0),
            ("http://json-schema.org/draft-06/schema#", later, "3", 1),
            ("http://json-schema.org/draft-07/schema#", later, "3", 1),
            (
                "http://json-schema.org/draft-07/schema",
                r#""if":{"minimum":1},"then":{"maximum":2}"#,
                "3",
                1,
            ),
            (
                "https://json-schema.org/draft/2019-09/schema",
                r#""dependentRequired":{"a":["b"]}"#,
                r#"{"a":1}"#,
                1,
            ),
            (
                "https://json-schema.org/draft/2019-09/schema",
                r#""prefixItems":[{"type":"string"}]"#,
                "[1]",
                0,
            ),
            (
                "https://json-schema.org/draft/2020-12/schema",
                r#""prefixItems":[{"type":"string"}]"#,
                "[1]",
                1,
            ),
        ] {
            assert_eq!(
                pointers(&with(draft, rest), document).len(),
                expected,
                "{draft} {rest}"
            );
        }
        // None declared is 2020-12.
        assert_eq!(
            pointers(r#"{"prefixItems":[{"type":"string"}]}"#, "[1]"),
            ["/0"]
        );
        assert!(
            bad(&with("http://json-schema.org/draft-04/schema#", later))
                .contains("exclusiveMinimum")
        );
    }

    #[test]
    fn schema_another_draft_or_no_schema_is_refused() {
        for schema in [
            r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#,
            r#"{"$schema":"http://example.com/schema"}"#,
            r#"{"$schema":"https://json-schema.org/draft/next/schema"}"#,
            r#"{"$schema":7}"#,
        ] {
            assert!(bad(schema).contains("`$schema`"), "{schema}");
        }
        for schema in [
            r#"{"type":"strin"}"#,
            r#"{"pattern":"("}"#,
            "5",
            "[]",
            r#"{"required":5}"#,
        ] {
            assert!(bad(schema).starts_with("it is no valid schema"), "{schema}");
        }
        assert!(pointers("true", "{}").is_empty());
        assert_eq!(pointers("false", "{}"), [""]);
    }

    #[test]
    fn schema_reference_outside_the_document_is_refused_and_named() {
        for reference in [
            "http://example.com/x.json",
            "https://localhost:1/x#/a",
            "other.json",
            "file:///etc/passwd",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            for schema in [
                format!(r#"{{"$ref":"{reference}"}}"#),
                format!(r#"{{"$defs":{{"unused":{{"$ref":"{reference}"}}}}}}"#),
            ] {
                let reason = bad(&schema);
                let bare = without_fragment(reference);
                assert!(
                    reason.contains(bare) && reason.contains("outside"),
                    "{schema}: {reason}"
                );
            }
        }
        let inside = r##"{"$id":"https://example.com/a","$ref":"b#/x","$defs":{"b":{"$id":"b","x":{"type":"string"}},
            "c":{"$anchor":"d"}},"allOf":[{"$ref":"#d"},{"$ref":"https://example.com/a#/$defs/c"}]}"##;
        assert_eq!(pointers(inside, "1"), [""]);
        assert!(bad(r##"{"$ref":"#/nowhere"}"##).starts_with("it is no valid schema"));
    }

    #[test]
    fn schema_format_is_not_asserted() {
        for draft in [
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            let schema = format!(r#"{{"$schema":"{draft}","format":"email"}}"#);
            assert!(pointers(&schema, "\"no address\"").is_empty());
        }
    }

    #[test]
    fn schema_that_runs_in_a_circle_ends() {
        for schema in [
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#"}]}"##,
            r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
        ] {
            assert!(pointers(schema, "1").is_empty(), "{schema}");
        }
        let deep = format!("{}1{}", "[".repeat(512), "]".repeat(512));
        assert!(pointers(r##"{"items":{"$ref":"#"}}"##, &deep).is_empty());
    }
}
