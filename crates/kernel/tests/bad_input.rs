//! Bad input: a refusal with code and message, or a bundle; never a panic, never minutes.

#![allow(clippy::unwrap_used, reason = "test code")]

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::verify::Level;
use runseal_kernel::{Bundle, Intent, parse_intent, transform};

fn nothing() -> Value {
    Value::object::<Value>([])
}

fn check(bundle: &Bundle) {
    let bytes = canonical_bytes(bundle.value(), Dialect::Kernel).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    let view = BundleView {
        root: document.root(),
        transformed: None,
    };
    assert!(verify_bundle(&view, Level::Form).is_valid());
}

#[test]
fn transform_goal_of_ten_megabytes_gives_a_bundle() {
    let goal = "plain words and numbers 42 ".repeat(10_000_000 / 27);
    check(&transform(&Intent::new(&goal, &[], nothing()).unwrap()).unwrap());
}

#[test]
fn transform_goal_of_nothing_but_signs_gives_a_bundle() {
    let units = [
        "TBD ",
        "a or b, maybe c? ",
        "<x> ",
        "{{a}} ",
        "{",
        "[[",
        "\"",
        "%A",
        "é",
        "either a or b ",
    ];
    for unit in units {
        let goal = format!("x {}", unit.repeat(200_000 / unit.len()));
        check(&transform(&Intent::new(&goal, &[], nothing()).unwrap()).unwrap());
    }
}

#[test]
fn transform_hundred_thousand_constraints_gives_a_bundle() {
    let constraints: Vec<String> = (0..100_000)
        .map(|n| match n % 4 {
            0 => format!("Field {n} is required"),
            1 => format!("Field {} is optional", n - 1),
            2 => format!("Limit {n} is <N> or maybe {n}"),
            _ => format!("Request {n} answers within {n} ms"),
        })
        .collect();
    check(&transform(&Intent::new("Build it", &constraints, nothing()).unwrap()).unwrap());
}

#[test]
fn transform_control_characters_and_odd_text_give_a_bundle() {
    let odd = [
        "\u{0}\u{1}\u{7f}",
        "\u{202e}abc",
        "a\u{300}".repeat(500).as_str(),
        "🙂".repeat(300).as_str(),
        "ß İ ǅ ﬃ",
        "…",
        "_",
        "?",
        "??",
        ":",
        "=",
        "<",
        ">",
        "()",
    ]
    .map(str::to_owned);
    for text in &odd {
        check(&transform(&Intent::new(&format!("x{text}"), &odd, nothing()).unwrap()).unwrap());
    }
}

#[test]
fn parse_intent_malformed_is_refused_with_a_code() {
    for (text, code) in [
        ("null", "INVALID_GOAL"),
        ("\"goal\"", "INVALID_GOAL"),
        ("{\"goal\":null}", "INVALID_GOAL"),
        ("{\"goal\":[\"x\"]}", "INVALID_GOAL"),
        ("{\"goal\":\"\"}", "EMPTY_GOAL"),
        ("{\"goal\":\"\\ufeff \"}", "EMPTY_GOAL"),
        ("{\"goal\":\"x\",\"constraints\":{}}", "INVALID_INTENT"),
        (
            "{\"goal\":\"x\",\"constraints\":[\"\\udc00\"]}",
            "INVALID_INTENT",
        ),
        ("{\"goal\":\"x\",\"context\":\"y\"}", "INVALID_INTENT"),
        (
            "{\"goal\":\"x\",\"context\":{\"a\":[1e999]}}",
            "INVALID_INTENT",
        ),
    ] {
        let document = parse_document(text.as_bytes(), &ReadOptions::INTENT).unwrap();
        assert_eq!(parse_intent(&document).unwrap_err().code(), code, "{text}");
    }
}
