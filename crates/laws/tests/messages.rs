//! The laws of messages under random requests and lines of MCP.

use proptest::prelude::*;
use runseal_laws::messages::{check_http, check_mcp};

/// Paths of segments that servers read in more than one way.
fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        "[a-z0-9.;=:@ -]{0,6}",
        "(\\.|%2e|%2E|%252e){1,3}",
        "(%2f|%5c|%00|\\\\|;a|%3b){1,3}",
    ];
    let separator = prop_oneof![4 => Just("/"), 1 => Just("\\"), 1 => Just("//"), 1 => Just("")];
    prop::collection::vec((separator, segment), 0..6).prop_map(|parts| {
        let parts = parts
            .into_iter()
            .map(|(sign, text)| format!("{sign}{text}"));
        parts.collect()
    })
}

/// Bodies made of pieces of encodings and streams.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[ -~]{0,40}".prop_map(String::into_bytes),
        "[A-Za-z0-9+/]{15,60}={0,2}".prop_map(String::into_bytes),
        "(\\\\u00[0-9a-f]{2}|%[0-9A-F]{2}|&#[0-9]{2};|=[0-9A-F]{2}){1,12}"
            .prop_map(String::into_bytes),
        "data: \\{\"delta\":\"[ -!#-\\[\\]-~]{0,9}\"\\}\n\n".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn cases(most: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: given.and_then(|n| n.parse().ok()).unwrap_or(most),
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_261_118),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn laws_hold_for_random_requests(kind in any::<u8>(), size in any::<u8>(), path in path(), body in body()) {
        let bytes = [&[kind, size], path.as_bytes(), b"\n", &body].concat();
        check_http(&bytes);
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn laws_hold_for_random_lines_of_mcp(line in body()) {
        check_mcp(&line);
    }
}
