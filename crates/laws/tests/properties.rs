//! The laws on random texts: a short fuzz run on stable Rust, the same on every machine.
//!
//! `PROPTEST_CASES` sets the number of cases of each property.

use proptest::prelude::*;
use runseal_core::canon::Dialect;
use runseal_laws::{check_dialect, check_reader, check_spelling};

/// Numbers in every spelling, including those that round, overflow or underflow.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("finite", |x| x.is_finite())
            .prop_map(|x| format!("{x:?}")),
        any::<f64>()
            .prop_filter("finite", |x| x.is_finite())
            .prop_map(|x| format!("{x:e}")),
        (any::<f64>(), 0..20_usize)
            .prop_filter("finite", |(x, _)| x.is_finite() && x.abs() < 1e30)
            .prop_map(|(x, digits)| format!("{x:.digits$}")),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?",
        "-?0(\\.0{0,9}[0-9]{1,18})?",
    ]
}

/// Strings: plain, wide, astral, escaped, with lone surrogates.
fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9 _.~/-]{0,12}",
        2 => "[\u{7f}-\u{24f}\u{d7ff}\u{e000}-\u{e010}\u{fffe}\u{ffff}\u{1f600}-\u{1f610}]{1,4}",
        2 => "\\\\[\"\\\\/bfnrt]",
        2 => "\\\\u[0-9a-fA-F]{4}",
        1 => "\\\\u[dD][89abcdefABCDEF][0-9a-fA-F]{2}",
        1 => "\\\\ud83d\\\\ude0[0-9]",
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\n"), 1 => Just("\t\r\n ")]
}

/// Texts that are JSON, but may have duplicate keys or numbers out of range.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number(),
        string()
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        let member =
            (string(), space(), inner.clone(), space()).prop_map(|(key, before, value, after)| {
                format!("{before}{key}{after}:{before}{value}{after}")
            });
        prop_oneof![
            (prop::collection::vec(inner, 0..8), space())
                .prop_map(|(items, space)| format!("[{space}{}{space}]", items.join(","))),
            (prop::collection::vec(member, 0..8), space())
                .prop_map(|(members, space)| format!("{{{space}{}{space}}}", members.join(","))),
        ]
    })
}

/// Texts that are JSON except for one changed, removed or added byte.
fn almost_json() -> impl Strategy<Value = Vec<u8>> {
    (json(), any::<prop::sample::Index>(), any::<u8>(), 0..3_u8).prop_map(
        |(text, at, byte, how)| {
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
            bytes
        },
    )
}

fn check_everything(bytes: &[u8]) {
    check_reader(bytes);
    for dialect in Dialect::ALL {
        check_dialect(bytes, dialect);
        check_spelling(bytes, dialect);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000),
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_260_105),
        ..ProptestConfig::default()
    })]

    #[test]
    fn laws_hold_for_random_json(text in json()) {
        check_everything(text.as_bytes());
    }

    #[test]
    fn laws_hold_for_json_with_one_byte_changed(bytes in almost_json()) {
        check_everything(&bytes);
    }

    #[test]
    fn laws_hold_for_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_everything(&bytes);
    }
}

#[test]
fn laws_hold_for_edge_cases() {
    for text in [
        "",
        " ",
        "\u{feff}1",
        "nul",
        "-",
        "-0",
        "1e400",
        "[1e400]",
        "{\"\u{1f600}\":1,\"\u{ffff}\":2,\"\\ud83d\\uffff\":3,\"\\ud83d\":4}",
        "{\"a\":1,\"\\u0061\":2}",
        "\"\\ud800\"",
        "[[[[[[]]]]]]",
        "{\"\":{\"\":{}}}",
        "[0.000001,0.0000001,1e21,1e20,123456789012345678,0.1,1.10,-0.0,5e-324]",
    ] {
        check_everything(text.as_bytes());
    }
    for depth in [511, 512, 513, 100_000] {
        check_everything("[".repeat(depth).as_bytes());
        check_everything(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).as_bytes());
        check_everything(format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)).as_bytes());
    }
}
