//! Schemas that would take hours or gigabytes: each is answered with the limit that it reached.

use super::*;
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::limits::{SCHEMA_MAX_EXPANSION, SCHEMA_MAX_VALUES};
use serde_json::{Value, json};

/// A limit of steps for tests, so that they do not take the real one.
const FEW_STEPS: u64 = 1_000_000;

/// One line for each violation in `document`, or why the schema is bad.
fn answer(schema: &Value, document: &str) -> Vec<String> {
    let options = ReadOptions::default();
    let schema = schema.to_string();
    let schema = parse_document(schema.as_bytes(), &options).unwrap();
    let document = parse_document(document.as_bytes(), &options).unwrap();
    let limits = Limits {
        steps: FEW_STEPS,
        ..Limits::default()
    };
    match Schema::compile_within(schema.root(), &limits) {
        Ok(schema) => {
            let found = schema.check(document.root()).into_iter();
            found
                .map(|found| format!("{}: {}", found.pointer, found.message))
                .collect()
        }
        Err(bad) => vec![bad.to_string()],
    }
}

fn list(element: &str, count: usize) -> String {
    format!("[{}]", vec![element; count].join(","))
}

/// Definitions, each with two references to the next.
fn doubling(levels: usize, keyword: &str, leaf: Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({keyword: [next, next]}));
    }
    definitions.insert(format!("d{levels}"), leaf);
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[track_caller]
fn assert_too_much(schema: &Value, document: &str, bound: &str) {
    let found = answer(schema, document);
    assert!(
        found.len() == 1 && found[0].contains(bound) && found[0].contains("limit"),
        "{found:?}"
    );
}

#[test]
fn schema_with_doubling_references_is_refused_before_following_them() {
    let bound = format!("more than {SCHEMA_MAX_EXPANSION} of its subschemas");
    assert_too_much(&doubling(30, "allOf", json!({})), "{}", &bound);
    assert_too_much(&doubling(30, "anyOf", json!(false)), "{}", &bound);
    let mut unevaluated = doubling(30, "oneOf", json!({"properties": {"a": true}}));
    unevaluated["unevaluatedProperties"] = json!(false);
    assert_too_much(&unevaluated, r#"{"a":1}"#, &bound);
    assert!(answer(&doubling(10, "allOf", json!({})), "{}").is_empty());
}

#[test]
fn schema_references_that_double_under_anchors_ids_and_dynamic_anchors_are_refused() {
    let bound = "of its subschemas";
    for (name, prefix, keyword) in [
        ("$anchor", "#", "$ref"),
        ("$id", "", "$ref"),
        ("$dynamicAnchor", "#", "$dynamicRef"),
    ] {
        let mut definitions = serde_json::Map::new();
        for level in 0..30 {
            let next = json!({keyword: format!("{prefix}d{}", level + 1)});
            let definition = json!({name: format!("d{level}"), "allOf": [next, next]});
            definitions.insert(format!("d{level}"), definition);
        }
        definitions.insert("d30".to_owned(), json!({name: "d30"}));
        let schema = json!({
            "$id": "https://example.com/root",
            keyword: format!("{prefix}d0"),
            "$defs": definitions,
        });
        assert_too_much(&schema, "{}", bound);
    }
}

#[test]
fn schema_parts_with_ids_on_doubling_paths_are_compiled_once() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        for side in ["r", "s"] {
            let next = |side: &str| json!({"$ref": format!("{side}{}", level + 1)});
            let part = json!({
                "$id": format!("{side}{level}"),
                "properties": {"a": next("r"), "b": next("s")},
            });
            definitions.insert(format!("{side}{level}"), part);
        }
    }
    let r40 = json!({"$id": "r40", "$dynamicAnchor": "x", "type": "string"});
    definitions.insert("r40".to_owned(), r40);
    let last = json!({"$id": "s40", "$dynamicAnchor": "x", "$dynamicRef": "#x"});
    definitions.insert("s40".to_owned(), last);
    let schema = json!({"$id": "http://a.b/root", "$ref": "r0", "$defs": definitions});
    let nested = |last: &str| format!("{}{last}{}", r#"{"a":"#.repeat(40), "}".repeat(40));
    assert!(answer(&schema, &nested("\"text\"")).is_empty());
    assert_eq!(answer(&schema, &nested("1")).len(), 1);
}

#[test]
fn schema_with_crossing_cycles_is_refused() {
    let all = |own: usize| {
        let others = (0..12).filter(|other| *other != own);
        let references = others.map(|other| json!({"$ref": format!("#/$defs/d{other}")}));
        json!({"allOf": references.collect::<Vec<_>>()})
    };
    let definitions: serde_json::Map<_, _> =
        (0..12).map(|own| (format!("d{own}"), all(own))).collect();
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert_too_much(&schema, "1", "of its subschemas");
}

#[test]
fn schema_doubling_with_document_depth_stops() {
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let both = json!({"properties": {"a": {"allOf": [next, next]}}});
        definitions.insert(format!("d{level}"), both);
    }
    definitions.insert("d60".to_owned(), json!({}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    let document = format!("{}1{}", r#"{"a":"#.repeat(60), "}".repeat(60));
    assert_too_much(&schema, &document, "1000000 steps");
}

#[test]
fn schema_costly_for_a_large_document_stops_at_the_bound() {
    let bound = "1000000 steps";
    let choices: Vec<Value> = (0..20_000).map(|n| json!({"a": n})).collect();
    let schema = json!({"items": {"enum": choices}});
    assert_too_much(&schema, &list(r#"{"a":-1}"#, 100), bound);
    let schema = json!({"items": {"allOf": vec![json!(true); 10_000]}});
    assert_too_much(&schema, &list("1", 2_000), bound);
    let unique = json!({"allOf": vec![json!({"uniqueItems": true}); 1_000]});
    let numbers: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    assert_too_much(&unique, &format!("[{}]", numbers.join(",")), bound);
    let names: Vec<String> = (0..200).map(|n| format!("\"k{n}\":1")).collect();
    let schema = json!({"propertyNames": {"allOf": vec![json!({"minLength": 1}); 15_000]}});
    assert_too_much(&schema, &format!("{{{}}}", names.join(",")), bound);
    let patterns: Vec<Value> = (0..900)
        .map(|n| json!({"pattern": format!("a{n}b")}))
        .collect();
    let schema = json!({"allOf": patterns});
    assert_too_much(&schema, &format!("\"{}\"", "ab".repeat(10_000)), bound);
}

#[test]
fn schema_with_too_many_violations_names_the_bound_and_the_first() {
    let found = answer(&json!({"items": {"type": "string"}}), &list("1", 20_000));
    assert_eq!(
        found,
        [
            ": it has more than 10000 violations, the limit; the first is listed",
            "/0: expected a string, found 1",
        ]
    );
    let all = answer(&json!({"items": {"type": "string"}}), &list("1", 9_999));
    assert_eq!(all.len(), 9_999);
}

#[test]
fn schema_violations_under_long_names_are_bounded_by_their_places() {
    let name = "k".repeat(1 << 20);
    let document = format!(r#"{{"{name}":{}}}"#, list("1", 1_000));
    let schema = json!({"additionalProperties": {"items": {"type": "string"}}});
    let found = answer(&schema, &document);
    assert!(
        found[0].contains("more than 67108864 bytes together, the limit"),
        "{:.100}",
        found[0]
    );
}

#[test]
fn schema_too_large_is_refused() {
    let properties: serde_json::Map<_, _> = (0..SCHEMA_MAX_VALUES)
        .map(|n| (format!("p{n}"), json!(true)))
        .collect();
    assert_too_much(&json!({"properties": properties}), "{}", "100000 values");
    let many: serde_json::Map<_, _> = (0..3_000)
        .map(|n| (format!("^x{n}"), json!(true)))
        .collect();
    assert_too_much(&json!({"patternProperties": many}), "{}", "1000 patterns");
    assert_too_much(&json!({"pattern": "a".repeat(5_000)}), "{}", "4096 bytes");
    let leaves: serde_json::Map<_, _> = (0..200).map(|n| (format!("p{n}"), json!(true))).collect();
    // Places are kept once, whatever is below them.
    let named = json!({"properties": {"n".repeat(1 << 20): {"properties": leaves}}});
    assert!(answer(&named, "{}").is_empty());
    let identified =
        json!({"$id": format!("http://a/{}", "i".repeat(1 << 20)), "properties": leaves});
    assert!(answer(&identified, "{}").is_empty());
}

#[test]
fn schema_patterns_that_would_grow_or_backtrack_are_bounded() {
    let bomb = json!({"pattern": "((a{1000}){1000}){1000}"});
    assert_too_much(&bomb, "\"a\"", "instructions");
    // Look-around follows all ways at once, however the text can be split.
    let schema = json!({"pattern": "^(?=a)(a|aa)+(?!b)c$"});
    let found = answer(&schema, &format!("\"{}\"", "a".repeat(600)));
    assert!(
        found.len() == 1 && found[0].contains("expected a string that matches"),
        "{found:?}"
    );
    assert!(answer(&json!({"pattern": "^(?!b)a+$"}), "\"aaa\"").is_empty());
    // Back-references are tried one way after another, and a search that was given up is never a match,
    // not even if the schema is negated.
    let pattern = json!({"pattern": "^(a|aa)+(b?)\\2c$"});
    let text = format!("\"{}\"", "a".repeat(60));
    assert_too_much(&pattern, &text, "1000000 steps");
    assert_too_much(&json!({"not": pattern}), &text, "1000000 steps");
}

#[test]
fn schema_nested_deeper_than_the_stack_is_answered() {
    // Deep documents under schemas with several steps for each level.
    let deep = format!("{}1{}", "[".repeat(512), "]".repeat(512));
    let few = json!({"items": {"allOf": [{"$ref": "#"}]}});
    assert!(answer(&few, &deep).is_empty());
    let many = json!({"items": {"allOf": [{"allOf": [{"allOf": [{"allOf": [{"$ref": "#"}]}]}]}]}});
    assert_too_much(&many, &deep, "schemas inside each other");
}

#[test]
fn schema_equal_elements_are_found_by_value_in_any_member_order() {
    let schema = json!({"uniqueItems": true});
    for twice in [
        "[1,1.0]",
        r#"[{"a":1,"b":[2]},{"b":[2.0],"a":1e0}]"#,
        r#"["é","\u00e9"]"#,
        "[[],[]]",
        "[0,-0.0]",
    ] {
        assert_eq!(answer(&schema, twice).len(), 1, "{twice}");
    }
    let different = r#"[1,"1",true,null,[],{},[1],{"a":1},"",0,false]"#;
    assert!(answer(&schema, different).is_empty());
    let schema = json!({"const": {"a": [1, {"b": null}], "c": "é"}});
    assert!(answer(&schema, r#"{"c":"\u00e9","a":[1.0,{"b":null}]}"#).is_empty());
    assert_eq!(
        answer(&schema, r#"{"c":"e","a":[1.0,{"b":null}]}"#).len(),
        1
    );
}

#[test]
fn schema_empty_array_and_object_are_not_equal() {
    let schema = json!({"items": {"$ref": "#"}, "additionalProperties": {"$ref": "#"}, "not": {"type": "string"}});
    assert!(answer(&schema, r#"[[],{},[[],{}],{"a":[],"b":{}}]"#).is_empty());
    assert_eq!(
        answer(&schema, r#"[[],{},[[],{}],{"a":["x"],"b":{}}]"#).len(),
        1
    );
}

#[test]
fn schema_content_keywords_are_annotations_in_every_draft() {
    for draft in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        for encoding in ["base16", "base32", "base32hex", "base64", "base64url"] {
            let schema = json!({
                "$schema": draft,
                "contentEncoding": encoding,
                "contentMediaType": "application/json",
            });
            assert!(
                answer(&schema, "\"{ not encoded\"").is_empty(),
                "{draft} {encoding}"
            );
        }
        let schema = json!({"$schema": draft, "contentMediaType": "application/json"});
        assert!(answer(&schema, "\"{ no json\"").is_empty(), "{draft}");
    }
}

#[test]
fn schema_of_draft_4_with_an_empty_enum_is_invalid() {
    let four = "http://json-schema.org/draft-04/schema#";
    for schema in [
        json!({"$schema": four, "enum": []}),
        json!({"$schema": four, "properties": {"enum": {"items": [{"enum": []}]}}}),
    ] {
        let found = answer(&schema, "1");
        assert!(
            found[0].contains("/enum: expected a non-empty list"),
            "{found:?}"
        );
    }
    for schema in [
        json!({"$schema": four, "properties": {"enum": {}}, "default": {"enum": []}}),
        json!({"$schema": four, "enum": [[]], "definitions": {"a": {"enum": [{"enum": []}]}}}),
    ] {
        assert!(answer(&schema, "[]").is_empty(), "{schema}");
    }
    let later = json!({"$schema": "http://json-schema.org/draft-07/schema#", "enum": []});
    assert_eq!(answer(&later, "1").len(), 1, "a schema that nothing fits");
}
