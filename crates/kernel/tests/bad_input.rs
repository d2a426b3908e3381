//! Bad input: a refusal with code and message, or a bundle; never a panic, never a long wait.

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
fn goal_of_ten_megabytes_makes_a_bundle() {
    let goal = "plain words and numbers 42 ".repeat(10_000_000 / 27);
    check(&transform(&Intent::new(&goal, &[], nothing()).unwrap()).unwrap());
}

#[test]
fn goal_of_repeated_signs_makes_a_bundle() {
    let units = [
        "`",
        "\"",
        "“",
        "(",
        "? ",
        "not ",
        "or ",
        "at most 5 ",
        "only ",
        "\u{a0}",
        "TBD ",
        "a or b, maybe c? ",
        "<x> ",
        "{{a}} ",
        "{",
        "[[",
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
fn hundred_thousand_constraints_make_a_bundle() {
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
fn control_characters_and_odd_text_make_a_bundle() {
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
fn malformed_intent_is_refused_with_code_and_message() {
    for (text, message) in [
        ("null", "INVALID_GOAL: Intent must have a string goal"),
        ("[]", "INVALID_GOAL: Intent must have a string goal"),
        ("{}", "INVALID_GOAL: Intent must have a string goal"),
        (
            "{\"goal\":[\"x\"]}",
            "INVALID_GOAL: Intent must have a string goal",
        ),
        (
            "{\"goal\":\" \\u3000\"}",
            "EMPTY_GOAL: Intent goal cannot be empty",
        ),
        (
            "{\"goal\":\"\\ufeff \"}",
            "EMPTY_GOAL: Intent goal cannot be empty",
        ),
        (
            "{\"goal\":\"x\",\"constraints\":{}}",
            "INVALID_INTENT: constraints must be a list of strings, not an object",
        ),
        (
            "{\"goal\":\"x\",\"constraints\":[\"a\",null]}",
            "INVALID_INTENT: constraints[1] must be a string, not null",
        ),
        (
            "{\"goal\":\"x\",\"constraints\":[\"\\udc00\"]}",
            "INVALID_INTENT: constraints[0] holds an unpaired surrogate",
        ),
        (
            "{\"goal\":\"x\",\"context\":[]}",
            "INVALID_INTENT: context must be an object, not a list",
        ),
        (
            "{\"goal\":\"x\",\"context\":{\"a\":[1e999]}}",
            "INVALID_INTENT: the context has no canonical form",
        ),
    ] {
        let document = parse_document(text.as_bytes(), &ReadOptions::INTENT).unwrap();
        let refusal = parse_intent(&document).unwrap_err().to_string();
        assert!(refusal.starts_with(message), "{text}: {refusal}");
    }
}

#[test]
fn marker_after_unusual_white_space_is_found() {
    for space in ["\u{a0}", "\u{2003}", "\u{3000}", "\u{85}", "\u{feff} "] {
        let text = format!("Kosten:{space}TBD");
        let bundle = transform(&Intent::new("Build it", &[text], nothing()).unwrap()).unwrap();
        assert!(
            bundle
                .questions
                .iter()
                .any(|question| question.text.contains("TBD")),
            "{space:?}"
        );
        check(&bundle);
    }
}

#[test]
fn more_open_points_than_questions_are_counted_in_one() {
    let constraints: Vec<String> = (0..500).map(|n| format!("Limit {n} is TBD")).collect();
    let bundle = transform(&Intent::new("Build it", &constraints, nothing()).unwrap()).unwrap();
    assert!(
        bundle
            .questions
            .iter()
            .any(|question| question.text.contains("further points are open"))
    );
    assert!(bundle.questions.len() <= 51);
    check(&bundle);
}

/// 000 §6.1: the code and the texts, whatever is to be done with the path.
#[test]
fn path_of_the_proposal_that_leaves_the_folder_is_refused() {
    let absolute = "INVALID_PATH: Absolute paths not allowed in bundle: ";
    let climbs = "INVALID_PATH: Parent directory references not allowed: ";
    let refusal = |proposal: &str| {
        let text = format!(r#"{{"goal":"A goal","context":{{"proposal":{proposal}}}}}"#);
        let document = parse_document(text.as_bytes(), &ReadOptions::INTENT).unwrap();
        let refused = parse_intent(&document).err();
        refused.map(|refusal| (refusal.code(), refusal.to_string()))
    };
    for (path, message) in [
        ("/etc/passwd", absolute),
        ("C:/x", absolute),
        (r"\\\\host\\x", absolute),
        ("../x", climbs),
        ("a/../../x", climbs),
        (r"a\\..\\x", climbs),
    ] {
        for proposal in [
            format!(r#"{{"files":[{{"path":"{path}","content":""}}]}}"#),
            format!(r#"{{"files":[{{"path":"ok"}},{{"path":"{path}","op":"delete"}}]}}"#),
            format!(r#"{{"tests":[{{"type":"file_exists","target":"{path}"}}]}}"#),
            format!(r#"{{"tests":[{{"type":"content_match","target":"{path}"}}]}}"#),
            format!(r#"{{"commands":[{{"type":"validate","command":"json:{path}"}}]}}"#),
        ] {
            let (code, text) = refusal(&proposal).unwrap_or_else(|| panic!("{proposal}"));
            assert_eq!(code, "INVALID_PATH", "{proposal}");
            assert!(text.starts_with(message), "{proposal}: {text}");
        }
    }
    for proposal in [
        r#"{"files":[{"path":"a..b/c","content":""}]}"#,
        r#"{"commands":["ls /etc","cat ../x"]}"#,
        r#"{"tests":[{"type":"command_success","target":"/bin/true"}]}"#,
        r#""/etc/passwd""#,
        r#"{"files":"/etc/passwd"}"#,
    ] {
        assert_eq!(refusal(proposal), None, "{proposal}");
    }
}
