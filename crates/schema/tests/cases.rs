//! Our own table of what each keyword allows and what it does not, in each draft that has it.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_schema::{BadSchema, Draft, Limits, Outcome, Schema, Surroundings};

use Draft::{Draft4, Draft6, Draft7, Draft2019_09, Draft2020_12};

const ALL: &[Draft] = &[Draft4, Draft6, Draft7, Draft2019_09, Draft2020_12];
const SINCE_SIX: &[Draft] = &[Draft6, Draft7, Draft2019_09, Draft2020_12];
const SINCE_SEVEN: &[Draft] = &[Draft7, Draft2019_09, Draft2020_12];
const SINCE_2019: &[Draft] = &[Draft2019_09, Draft2020_12];
const UNTIL_SEVEN: &[Draft] = &[Draft4, Draft6, Draft7];
const UNTIL_2019: &[Draft] = &[Draft4, Draft6, Draft7, Draft2019_09];

fn compile(draft: Draft, schema: &str) -> Result<Schema, BadSchema> {
    let document = parse_document(schema.as_bytes(), &ReadOptions::TEXT).unwrap();
    let around = Surroundings {
        draft,
        ..Surroundings::default()
    };
    Schema::compile_among(document.root(), &around, &Limits::default())
}

fn check(schema: &Schema, document: &str) -> Outcome {
    let document = parse_document(document.as_bytes(), &ReadOptions::TEXT).unwrap();
    schema.check(document.root())
}

/// Drafts, a schema, documents that it allows, and documents that it does not.
type Case = (
    &'static [Draft],
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const CASES: &[Case] = &[
    (ALL, r#"{}"#, &["null", "1", "[]", "{}"], &[]),
    (SINCE_SIX, "true", &["1"], &[]),
    (SINCE_SIX, "false", &[], &["1"]),
    (
        ALL,
        r#"{"type":"integer"}"#,
        &["1", "1.0", "-3e2", "1e300"],
        &["1.5", "\"1\"", "true", "null"],
    ),
    (
        ALL,
        r#"{"type":["null","string"]}"#,
        &["null", "\"\""],
        &["0", "[]"],
    ),
    (
        ALL,
        r#"{"type":"number"}"#,
        &["1", "0.5"],
        &["\"1\"", "false"],
    ),
    (
        ALL,
        r#"{"enum":[1,"a",[2],{"b":null}]}"#,
        &["1.0", "\"a\"", "[2]", "{\"b\":null}"],
        &["true", "\"b\"", "[]", "{}"],
    ),
    (
        SINCE_SIX,
        r#"{"const":{"a":[1,false]}}"#,
        &["{\"a\":[1.0,false]}"],
        &["{\"a\":[1,0]}", "{}"],
    ),
    (
        SINCE_SIX,
        r#"{"const":0}"#,
        &["0", "-0.0", "0e1"],
        &["false", "\"\"", "null"],
    ),
    (&[Draft4], r#"{"const":1}"#, &["2"], &[]),
    (
        ALL,
        r#"{"minimum":1.5,"maximum":3}"#,
        &["1.5", "3", "\"x\""],
        &["1.4", "3.1"],
    ),
    (
        &[Draft4],
        r#"{"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":true}"#,
        &["2"],
        &["1", "3"],
    ),
    (
        SINCE_SIX,
        r#"{"exclusiveMinimum":1,"exclusiveMaximum":3}"#,
        &["2"],
        &["1", "3"],
    ),
    (
        ALL,
        r#"{"multipleOf":0.01}"#,
        &["0.07", "4.02", "1e9", "0", "-3"],
        &["0.005", "0.123"],
    ),
    (
        ALL,
        r#"{"minLength":2,"maxLength":3}"#,
        &["\"é😀\"", "\"abc\"", "1"],
        &["\"😀\"", "\"abcd\""],
    ),
    (
        ALL,
        r#"{"pattern":"^a+$"}"#,
        &["\"aa\"", "1"],
        &["\"ab\"", "\"\""],
    ),
    (
        ALL,
        r#"{"minItems":1,"maxItems":2}"#,
        &["[1]", "{}"],
        &["[]", "[1,2,3]"],
    ),
    (
        ALL,
        r#"{"uniqueItems":true}"#,
        &["[1,\"1\",true]", "[{\"a\":1},{\"a\":2}]"],
        &["[1,1.0]", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]"],
    ),
    (
        ALL,
        r#"{"minProperties":1,"maxProperties":1}"#,
        &["{\"a\":1}", "[]"],
        &["{}", "{\"a\":1,\"b\":2}"],
    ),
    (
        ALL,
        r#"{"required":["a","b/c"]}"#,
        &["{\"a\":1,\"b/c\":2}", "1"],
        &["{\"a\":1}"],
    ),
    (
        ALL,
        r#"{"properties":{"a":{"type":"null"}},"additionalProperties":false}"#,
        &["{\"a\":null}", "{}"],
        &["{\"a\":1}", "{\"b\":null}"],
    ),
    (
        ALL,
        r#"{"patternProperties":{"^x":{"type":"null"}},"additionalProperties":{"type":"integer"}}"#,
        &["{\"x1\":null,\"y\":1}"],
        &["{\"x\":1}", "{\"y\":null}"],
    ),
    (
        SINCE_SIX,
        r#"{"propertyNames":{"maxLength":1}}"#,
        &["{\"a\":1}", "{}"],
        &["{\"ab\":1}"],
    ),
    (
        ALL,
        r#"{"items":{"type":"integer"}}"#,
        &["[]", "[1,2]", "{}"],
        &["[1,\"a\"]"],
    ),
    (
        UNTIL_2019,
        r#"{"items":[{"type":"integer"}],"additionalItems":{"type":"null"}}"#,
        &["[1,null]", "[1]", "[]"],
        &["[null]", "[1,2]"],
    ),
    (
        UNTIL_2019,
        r#"{"items":{},"additionalItems":{"type":"null"}}"#,
        &["[1,2]"],
        &[],
    ),
    (
        &[Draft2020_12],
        r#"{"prefixItems":[{"type":"integer"}],"items":{"type":"null"}}"#,
        &["[1,null]", "[1]"],
        &["[null]", "[1,2]"],
    ),
    (
        SINCE_SIX,
        r#"{"contains":{"const":1}}"#,
        &["[0,1]", "{}"],
        &["[]", "[0]"],
    ),
    (
        SINCE_2019,
        r#"{"contains":{"const":1},"minContains":2,"maxContains":3}"#,
        &["[1,1]"],
        &["[1]", "[1,1,1,1]"],
    ),
    (
        SINCE_2019,
        r#"{"contains":{"const":1},"minContains":0}"#,
        &["[]", "[2]"],
        &[],
    ),
    (
        &[Draft6, Draft7],
        r#"{"contains":{"const":1},"minContains":2}"#,
        &["[1]"],
        &["[]"],
    ),
    (
        ALL,
        r#"{"allOf":[{"minimum":1},{"maximum":2}]}"#,
        &["1", "2"],
        &["0", "3"],
    ),
    (
        ALL,
        r#"{"anyOf":[{"type":"null"},{"minimum":2}]}"#,
        &["null", "2"],
        &["1"],
    ),
    (
        ALL,
        r#"{"oneOf":[{"minimum":1},{"maximum":2}]}"#,
        &["0", "3"],
        &["1"],
    ),
    (ALL, r#"{"not":{"type":"null"}}"#, &["1"], &["null"]),
    (
        SINCE_SEVEN,
        r#"{"if":{"minimum":1},"then":{"maximum":2},"else":{"const":0}}"#,
        &["1", "0"],
        &["3", "-1"],
    ),
    (
        SINCE_SEVEN,
        r#"{"then":{"const":1},"else":{"const":2}}"#,
        &["3"],
        &[],
    ),
    (
        ALL,
        r#"{"dependencies":{"a":["b"],"c":{"required":["d"]}}}"#,
        &["{\"a\":1,\"b\":1}", "{}"],
        &["{\"a\":1}", "{\"c\":1}"],
    ),
    (
        SINCE_2019,
        r#"{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}}}"#,
        &["{\"b\":1}"],
        &["{\"a\":1}", "{\"c\":1}"],
    ),
    (
        UNTIL_SEVEN,
        r##"{"definitions":{"n":{"type":"null"}},"properties":{"a":{"$ref":"#/definitions/n","minimum":5}}}"##,
        &["{\"a\":null}"],
        &["{\"a\":9}"],
    ),
    (
        SINCE_2019,
        r##"{"$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n","minimum":5}"##,
        &["5"],
        &["4", "\"a\""],
    ),
    (
        ALL,
        r##"{"properties":{"a~b":{"$ref":"#/properties/c%25d"},"c%d":{"type":"null"},"e/f":{"$ref":"#/properties/a~0b"}}}"##,
        &["{\"e/f\":null}"],
        &["{\"e/f\":1}", "{\"a~b\":1}"],
    ),
    (
        ALL,
        r##"{"items":{"$ref":"#"},"type":"array"}"##,
        &["[[],[[]]]"],
        &["[1]", "[[[1]]]"],
    ),
    (
        &[Draft4],
        r##"{"id":"http://x/a/","properties":{"p":{"$ref":"b#/definitions/t"},"q":{"$ref":"#here"}},"definitions":{"s":{"id":"b","definitions":{"t":{"type":"null"}}},"u":{"id":"#here","type":"integer"}}}"##,
        &["{\"p\":null,\"q\":1}"],
        &["{\"p\":1}", "{\"q\":null}"],
    ),
    (
        SINCE_2019,
        r##"{"$id":"http://x/a/","properties":{"p":{"$ref":"b#t"},"q":{"$ref":"/a/b"}},"$defs":{"s":{"$id":"b","type":"object","$defs":{"t":{"$anchor":"t","type":"null"}}}}}"##,
        &["{\"p\":null,\"q\":{}}"],
        &["{\"p\":1}", "{\"q\":null}"],
    ),
    (
        SINCE_2019,
        r#"{"properties":{"a":true},"anyOf":[{"properties":{"b":{"const":1}},"required":["b"]},{"properties":{"c":true}}],"unevaluatedProperties":false}"#,
        &["{\"a\":1,\"b\":1,\"c\":1}", "{\"c\":1}"],
        &["{\"b\":2}", "{\"d\":1}"],
    ),
    (
        SINCE_2019,
        r#"{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":true}},"unevaluatedProperties":false}"#,
        &["{\"a\":1,\"b\":1}", "{}"],
        &["{\"b\":1}", "{\"a\":2}"],
    ),
    (
        &[Draft2020_12],
        r#"{"prefixItems":[true],"contains":{"type":"string"},"unevaluatedItems":{"type":"null"}}"#,
        &["[1,\"a\",null]"],
        &["[1,\"a\",2]"],
    ),
    (
        &[Draft2019_09],
        r#"{"items":[true],"contains":{"type":"string"},"unevaluatedItems":false}"#,
        &["[\"a\"]"],
        &["[1,\"a\"]"],
    ),
    (
        &[Draft2020_12],
        r##"{"$id":"http://x/list","$dynamicAnchor":"node","items":{"$dynamicRef":"#node"},"type":"array"}"##,
        &["[[]]"],
        &["[1]"],
    ),
    (
        &[Draft2020_12],
        r##"{"$id":"http://x/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,"$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","properties":{"data":true,"children":{"items":{"$dynamicRef":"#node"}}}}}}"##,
        &["{\"children\":[{\"data\":1}]}"],
        &["{\"children\":[{\"daat\":1}]}"],
    ),
    (
        &[Draft2019_09],
        r##"{"$id":"http://x/strict","$recursiveAnchor":true,"$ref":"tree","unevaluatedProperties":false,"$defs":{"t":{"$id":"tree","$recursiveAnchor":true,"properties":{"data":true,"children":{"items":{"$recursiveRef":"#"}}}}}}"##,
        &["{\"children\":[{\"data\":1}]}"],
        &["{\"children\":[{\"daat\":1}]}"],
    ),
    (
        ALL,
        r#"{"format":"email","contentEncoding":"base64","x-other":[1]}"#,
        &["\"no address\""],
        &[],
    ),
    (
        &[Draft2020_12],
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"null"}]}"#,
        &["[null]"],
        &["[1]"],
    ),
];

#[test]
fn every_keyword_allows_what_the_table_says() {
    for (drafts, text, valid, invalid) in CASES {
        for &draft in *drafts {
            let schema =
                compile(draft, text).unwrap_or_else(|bad| panic!("{draft:?} {text}: {bad}"));
            for document in *valid {
                let outcome = check(&schema, document);
                assert!(
                    outcome.is_valid(),
                    "{draft:?} {text} {document}: {outcome:?}"
                );
            }
            for document in *invalid {
                let outcome = check(&schema, document);
                let is_sure = !outcome.violations.is_empty() && outcome.exhausted.is_none();
                assert!(is_sure, "{draft:?} {text} {document}: {outcome:?}");
            }
        }
    }
}

/// Drafts, and schemas that are invalid in them.
const BAD: &[(&[Draft], &[&str])] = &[
    (
        ALL,
        &[
            "5",
            "[]",
            "null",
            r#"{"type":"strin"}"#,
            r#"{"type":[]}"#,
            r#"{"type":["null","null"]}"#,
            r#"{"required":5}"#,
            r#"{"required":["a","a"]}"#,
            r#"{"required":[1]}"#,
            r#"{"enum":5}"#,
            r#"{"minimum":"1"}"#,
            r#"{"multipleOf":0}"#,
            r#"{"maxLength":-1}"#,
            r#"{"minItems":1.5}"#,
            r#"{"pattern":5}"#,
            r#"{"pattern":"("}"#,
            r#"{"uniqueItems":1}"#,
            r#"{"allOf":[]}"#,
            r#"{"anyOf":{}}"#,
            r#"{"not":[]}"#,
            r#"{"properties":[]}"#,
            r#"{"properties":{"a":5}}"#,
            r#"{"patternProperties":{"[":{}}}"#,
            r#"{"items":5}"#,
            r#"{"title":1}"#,
            r#"{"dependencies":{"a":5}}"#,
            r##"{"$ref":"#/nowhere"}"##,
            r##"{"$ref":"#nowhere"}"##,
            r#"{"$ref":5}"#,
            r##"{"$ref":"#/title","title":"x"}"##,
            r##"{"$ref":"#/other","other":{"type":"strin"}}"##,
            r#"{"additionalProperties":5}"#,
        ],
    ),
    (
        &[Draft4],
        &[
            "true",
            r#"{"required":[]}"#,
            r#"{"enum":[]}"#,
            r#"{"not":true}"#,
            r#"{"exclusiveMinimum":true}"#,
            r#"{"minimum":1,"exclusiveMinimum":1}"#,
        ],
    ),
    (
        SINCE_SIX,
        &[r#"{"exclusiveMinimum":true}"#, r#"{"contains":5}"#],
    ),
    (
        SINCE_2019,
        &[
            r##"{"$id":"#a"}"##,
            r#"{"$anchor":"1"}"#,
            r#"{"dependentRequired":{"a":1}}"#,
            r#"{"$defs":{"a":1}}"#,
        ],
    ),
    (
        &[Draft2020_12],
        &[r#"{"items":[{}]}"#, r#"{"prefixItems":[]}"#],
    ),
];

#[test]
fn invalid_schemas_are_refused() {
    for (drafts, schemas) in BAD {
        for &draft in *drafts {
            for schema in *schemas {
                let bad = compile(draft, schema).err();
                assert!(
                    matches!(bad, Some(BadSchema::Invalid(_))),
                    "{draft:?} {schema}: {bad:?}"
                );
            }
        }
    }
}

#[test]
fn refused_schemas_say_why() {
    for (schema, expected) in [
        (
            r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#,
            "`$schema` is",
        ),
        (r#"{"$ref":"other.json#/a"}"#, "it refers to `other.json`"),
        (
            r#"{"$defs":{"unused":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}"#,
            "it refers to `https://json-schema.org/draft/2020-12/schema`",
        ),
        (
            r#"{"properties":{"a/b":{"type":"strin"}}}"#,
            "/properties/a~1b/type: expected the name of a type",
        ),
        (
            r#"{"items":{"pattern":"a("}}"#,
            "/items/pattern: the pattern `a(` has a `(` that is not closed",
        ),
        (r#"{"pattern":"(?>a)"}"#, "it cannot be judged: /pattern:"),
    ] {
        let bad = compile(Draft2020_12, schema)
            .err()
            .map(|bad| bad.to_string());
        assert!(
            bad.as_ref().is_some_and(|bad| bad.contains(expected)),
            "{schema}: {bad:?}"
        );
    }
}

#[test]
fn violation_says_what_was_expected_and_found() {
    let schema = r##"{"$defs":{"n":{"type":["integer","null"]}},"properties":{"a":{"$ref":"#/$defs/n"},"b/c":{"items":{"enum":["x",2]}}},
        "required":["z"],"additionalProperties":false}"##;
    let found = check(
        &compile(Draft2020_12, schema).unwrap(),
        r#"{"a":"no","b/c":["x",3],"d":1}"#,
    );
    let lines: Vec<String> = found
        .violations
        .iter()
        .map(|found| format!("{} | {} | {}", found.pointer, found.message, found.keyword))
        .collect();
    assert_eq!(
        lines,
        [
            " | expected the member `z`, found none | /required",
            "/a | expected an integer or null, found \"no\" | /$defs/n/type",
            "/b~1c/1 | expected one of \"x\", 2, found 3 | /properties/b~1c/items/enum",
            " | expected no other members, found `d` | /additionalProperties",
        ]
    );
}

#[test]
fn exceeded_limits_are_named() {
    let schema = parse_document(br#"{"items":{"type":"string"}}"#, &ReadOptions::TEXT).unwrap();
    let numbers = parse_document(b"[1,2,3,4,5,6,7,8,9]", &ReadOptions::TEXT).unwrap();
    let with = |limits: Limits| {
        let schema = Schema::compile(schema.root(), &limits).unwrap();
        let outcome = schema.check(numbers.root());
        let exhausted = outcome.exhausted.map(|bound| bound.to_string());
        (outcome.violations.len(), exhausted.unwrap_or_default())
    };
    let few = Limits {
        violations: 4,
        ..Limits::default()
    };
    assert_eq!(with(few).0, 4);
    let short = Limits {
        steps: 10,
        ..Limits::default()
    };
    assert!(with(short).1.contains("more than 10 steps"));
    let flat = Limits {
        nesting: 1,
        ..Limits::default()
    };
    assert!(
        with(flat)
            .1
            .contains("more than 1 schemas inside each other")
    );
    let small = Limits {
        values: 2,
        ..Limits::default()
    };
    let bad = Schema::compile(schema.root(), &small).err().unwrap();
    assert!(
        bad.to_string().contains("more than 2 values, the limit"),
        "{bad}"
    );
}
