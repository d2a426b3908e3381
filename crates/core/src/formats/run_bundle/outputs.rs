//! What `inputs_hash` and `outputs_hash` cover, what `semantics` may be, and which integers JCS
//! would change.

use std::ops::ControlFlow;

use super::pointer::Trail;
use crate::canon::{
    AnyJson, Dialect, NoCanonicalForm, Node, Value, canonical_bytes, canonical_digest,
    canonical_digest_without,
};
use crate::digest::Digest;
use crate::limits::{FINDING_TEXT, FINDINGS_A_RULE};

/// The allowed `semantics` of an output if OUTPUT_SCHEMA.json does not define its own.
pub const SEMANTICS: [&str; 3] = ["RAW_TRUTH", "CORRELATION_ONLY", "DETERMINISTIC_TRANSFORM"];

/// What `outputs_hash` covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashScope {
    /// The output without its member `outputs_hash`.
    Document,
    /// The output's member `outputs` alone.
    Payload,
}

impl HashScope {
    /// The scope that ENGINE_MANIFEST.json declares: payload if
    /// `"sealing":{"outputs_hash_scope":"payload"}`, else the document.
    pub fn of_manifest(manifest: Node<'_>) -> Self {
        let scope = manifest
            .get("sealing")
            .and_then(|sealing| sealing.get("outputs_hash_scope")?.as_str());
        match scope.as_deref() {
            Some("payload") => Self::Payload,
            _ => Self::Document,
        }
    }
}

/// The correct `outputs_hash` of an output; `None` if the scope is the payload and there is none.
pub fn compute_outputs_hash<'a>(
    output: impl Into<AnyJson<'a>>,
    scope: HashScope,
) -> Result<Option<Digest>, NoCanonicalForm> {
    let output = output.into();
    match scope {
        HashScope::Payload => {
            let payload: Option<AnyJson<'_>> = match output {
                AnyJson::Node(output) => output.get("outputs").map(Into::into),
                AnyJson::Value(output) => output.get("outputs").map(Into::into),
            };
            payload
                .map(|payload| canonical_digest(payload, Dialect::Jcs))
                .transpose()
        }
        HashScope::Document => {
            canonical_digest_without(output, "outputs_hash", Dialect::Jcs).map(Some)
        }
    }
}

/// Whether OUTPUT_SCHEMA.json itself defines what `semantics` may be: an `enum` or `const` at
/// `properties.semantics`, directly or through references within the document.
pub fn schema_names_semantics(schema: Node<'_>) -> bool {
    let mut at = schema
        .get("properties")
        .and_then(|all| all.get("semantics"));
    // Bounded, because a chain of references may be a cycle.
    for _ in 0..16 {
        let Some(node) = at else { return false };
        if node
            .get("enum")
            .is_some_and(|list| list.as_array().is_some())
            || node.get("const").is_some()
        {
            return true;
        }
        let reference = node.get("$ref").and_then(|text| text.as_str());
        at = reference.and_then(|text| resolve(schema, text.strip_prefix("#/")?));
    }
    false
}

fn resolve<'a>(root: Node<'a>, path: &str) -> Option<Node<'a>> {
    path.split('/').try_fold(root, |node, segment| {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        match node.as_array() {
            Some(mut items) => items.nth(segment.parse().ok()?),
            None => node.get(&segment),
        }
    })
}

/// The pointers of every integer that would be another integer in JCS, which has only doubles. Long
/// pointers are cut, and the search ends with as many as a report lists.
pub fn find_changed_integers<'a>(json: impl Into<AnyJson<'a>>) -> Vec<String> {
    let mut found = Vec::new();
    let _ = find_changed_below(json.into(), &Trail::Root, &mut |trail| {
        found.push(trail.pointer_within(FINDING_TEXT));
        if found.len() < FINDINGS_A_RULE {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    found
}

/// The pointer of the first such integer.
pub fn find_changed_integer<'a>(json: impl Into<AnyJson<'a>>) -> Option<String> {
    let mut first = None;
    let _ = find_changed_below(json.into(), &Trail::Root, &mut |trail| {
        first = Some(trail.pointer_within(FINDING_TEXT));
        ControlFlow::Break(())
    });
    first
}

/// Calls `see` with the trail to every such integer, until it breaks.
fn find_changed_below(
    json: AnyJson<'_>,
    trail: &Trail<'_>,
    see: &mut dyn FnMut(&Trail<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match json {
        AnyJson::Node(node) => {
            if let Some(number) = node.as_number()
                && is_changed(number.text(), json)
            {
                return see(trail);
            }
            for (at, item) in node.items().enumerate() {
                find_changed_below(item.into(), &Trail::Element(trail, at), see)?;
            }
            for (key, value) in node.members() {
                find_changed_below(value.into(), &Trail::Member(trail, &key.to_lossy()), see)?;
            }
        }
        AnyJson::Value(Value::Number(number)) if is_changed(number.get().text(), json) => {
            return see(trail);
        }
        AnyJson::Value(Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                find_changed_below(item.into(), &Trail::Element(trail, at), see)?;
            }
        }
        AnyJson::Value(Value::Object(members)) => {
            for (key, value) in members {
                find_changed_below(value.into(), &Trail::Member(trail, &key.to_lossy()), see)?;
            }
        }
        AnyJson::Value(_) => {}
    }
    ControlFlow::Continue(())
}

fn is_changed(written: &str, value: AnyJson<'_>) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    // A double represents every integer of up to 15 digits.
    if digits.len() <= 15 || digits.bytes().any(|b| !b.is_ascii_digit()) {
        return false;
    }
    let Ok(form) = canonical_bytes(value, Dialect::Jcs) else {
        return false;
    };
    let form = String::from_utf8_lossy(&form);
    let form = form.strip_prefix('-').unwrap_or(&form);
    digits != expand(form)
}

/// The digits of a positive integer that may be printed with an exponent.
fn expand(form: &str) -> String {
    let Some((mantissa, exponent)) = form.split_once("e+") else {
        return form.to_owned();
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.parse::<usize>().unwrap_or(0);
    let zeros = "0".repeat(exponent.saturating_sub(fraction.len()));
    format!("{whole}{fraction}{zeros}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    fn value(text: &str) -> Value {
        parse_document(text.as_bytes(), &ReadOptions::default())
            .unwrap()
            .root()
            .to_value()
    }

    #[test]
    fn outputs_hash_ignores_only_itself() {
        let with = value(r#"{"outputs_hash":"x","b":1,"a":[1.0]}"#);
        let hash = compute_outputs_hash(&with, HashScope::Document).unwrap();
        assert_eq!(hash, Some(Digest::of(br#"{"a":[1],"b":1}"#)));
        // The same from a document, also if JCS orders its members differently, and if there is no
        // such member.
        for (text, rest) in [
            (
                r#"{"outputs_hash":"x","b":1,"a":[1.0]}"#,
                r#"{"a":[1],"b":1}"#,
            ),
            (
                "{\"\u{ff5e}\":1,\"\u{10000}\":2,\"\\u006futputs_hash\":3}",
                "{\"\u{10000}\":2,\"\u{ff5e}\":1}",
            ),
            (
                r#"{"b":1,"a":{"outputs_hash":1}}"#,
                r#"{"a":{"outputs_hash":1},"b":1}"#,
            ),
            ("{}", "{}"),
            (r#"{"outputs_hash":"x"}"#, "{}"),
        ] {
            let expected = Ok(Some(Digest::of(rest.as_bytes())));
            let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
            let read = compute_outputs_hash(document.root(), HashScope::Document);
            assert_eq!(read, expected, "{text}");
            assert_eq!(
                compute_outputs_hash(&value(text), HashScope::Document),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn outputs_hash_of_payload_covers_only_that_member() {
        let output = value(r#"{"outputs":{"z":1,"a":2},"b":1}"#);
        let hash = compute_outputs_hash(&output, HashScope::Payload).unwrap();
        assert_eq!(hash, Some(Digest::of(br#"{"a":2,"z":1}"#)));
        let none = compute_outputs_hash(&value("{}"), HashScope::Payload).unwrap();
        assert_eq!(none, None);
    }

    #[test]
    fn scope_is_payload_only_if_manifest_says_so() {
        for (manifest, scope) in [
            (
                r#"{"sealing":{"outputs_hash_scope":"payload"}}"#,
                HashScope::Payload,
            ),
            (
                r#"{"sealing":{"outputs_hash_scope":"PAYLOAD"}}"#,
                HashScope::Document,
            ),
            (r#"{"outputs_hash_scope":"payload"}"#, HashScope::Document),
            ("{}", HashScope::Document),
            ("[]", HashScope::Document),
        ] {
            let document = parse_document(manifest.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(HashScope::of_manifest(document.root()), scope, "{manifest}");
        }
    }

    #[test]
    fn semantics_of_schema_are_found_through_references() {
        for (schema, named) in [
            (r#"{"properties":{"semantics":{"enum":["X"]}}}"#, true),
            (r#"{"properties":{"semantics":{"const":"X"}}}"#, true),
            (
                r##"{"properties":{"semantics":{"$ref":"#/$defs/s"}},"$defs":{"s":{"enum":[]}}}"##,
                true,
            ),
            (
                r##"{"properties":{"semantics":{"$ref":"#/properties/semantics"}}}"##,
                false,
            ),
            (r#"{"properties":{"semantics":{"type":"string"}}}"#, false),
            ("true", false),
        ] {
            let document = parse_document(schema.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(schema_names_semantics(document.root()), named, "{schema}");
        }
    }

    #[test]
    fn integers_changed_by_jcs_are_found() {
        let text = r#"{"a":9007199254740993,"b":[9007199254740992,-9007199254740993],"c":1e400,
            "d":10000000000000000,"e":1000000000000000000000,"f":1000000000000000000001,
            "g":9007199254740993.0,"h":"9007199254740993","i":1152921504606846976}"#;
        assert_eq!(
            find_changed_integers(&value(text)),
            ["/a", "/b/1", "/f", "/i"]
        );
    }

    #[test]
    fn first_changed_integer_of_document_is_that_of_value() {
        for text in [
            r#"{"a/b":[1,{"c~":[12345678901234567890]}],"d":12345678901234567891}"#,
            "12345678901234567890",
            r#"[1,"12345678901234567890",1e30,[]]"#,
        ] {
            let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
            let all = find_changed_integers(&document.root().to_value());
            let first = find_changed_integer(document.root());
            assert_eq!(first.as_ref(), all.first(), "{text}");
        }
    }
}
