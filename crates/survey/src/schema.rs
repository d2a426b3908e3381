//! JSON Schema, offline: drafts 4, 6, 7, 2019-09 and 2020-12, without references that leave the
//! document.
//!
//! `runseal-schema` validates, within the limits in docs/limits.md; this module turns its answers into
//! those of the formats' rules.

#[cfg(test)]
mod attacks;

use runseal_core::canon::Node;
use runseal_core::formats::definition::Tools;
use runseal_core::formats::run_bundle::SchemaJudge;
use runseal_core::formats::run_bundle::facts::{SchemaVerdict, SchemaViolation};
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::Report;
use runseal_schema::{Exhausted, Limits, Outcome};

use super::engine::examine_engine;

pub use runseal_schema::BadSchema;

/// A valid schema.
#[derive(Debug)]
pub struct Schema(runseal_schema::Schema);

impl Schema {
    /// Compiles a schema of the draft that it declares; by default 2020-12.
    pub fn compile(schema: Node<'_>) -> Result<Self, BadSchema> {
        Self::compile_within(schema, &Limits::default())
    }

    fn compile_within(schema: Node<'_>, limits: &Limits) -> Result<Self, BadSchema> {
        runseal_schema::Schema::compile(schema, limits).map(Self)
    }

    /// The violations in `document`, in order. Exceeding a limit of validation is a violation too.
    pub fn check(&self, document: Node<'_>) -> Vec<SchemaViolation> {
        let Outcome {
            violations,
            exhausted,
        } = self.0.check(document);
        let kept = match exhausted {
            None => violations.len(),
            // With so many, the first is enough.
            Some(Exhausted::Violations(_) | Exhausted::Places(_)) => 1,
            Some(Exhausted::Steps(_) | Exhausted::Nesting(_)) => 0,
        };
        let bound = exhausted.map(|bound| SchemaViolation {
            pointer: String::new(),
            message: bound.to_string(),
        });
        let found = violations.into_iter().take(kept);
        let found = found.map(|violation| SchemaViolation {
            pointer: violation.pointer,
            message: violation.message,
        });
        let mut all: Vec<SchemaViolation> = bound.into_iter().chain(found).collect();
        all.sort();
        // References may report the same violation twice.
        all.dedup();
        all
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

/// The verdict of validating `document` against `schema`, if both could be read.
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
        // The default is 2020-12.
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
    fn schema_of_unknown_draft_or_invalid_is_refused() {
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
            assert!(
                bad(schema).starts_with("it is not a valid schema"),
                "{schema}"
            );
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
                let bare = reference.split('#').next().unwrap();
                assert!(
                    reason.contains(bare) && reason.contains("outside"),
                    "{schema}: {reason}"
                );
            }
        }
        let inside = r##"{"$id":"https://example.com/a","$ref":"b#/x","$defs":{"b":{"$id":"b","x":{"type":"string"}},
            "c":{"$anchor":"d"}},"allOf":[{"$ref":"#d"},{"$ref":"https://example.com/a#/$defs/c"}]}"##;
        assert_eq!(pointers(inside, "1"), [""]);
        assert!(bad(r##"{"$ref":"#/nowhere"}"##).starts_with("it is not a valid schema"));
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
    fn schema_with_a_reference_cycle_ends() {
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
