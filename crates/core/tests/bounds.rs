//! Bounds on texts that would take many times their size in memory, and on reports that would be
//! longer than what they report.
use runseal_core::canon::{
    Dialect, JsonErrorKind, Node, ReadOptions, canonical_bytes, canonicalize, parse_document,
};
use runseal_core::digest::ContentHash;
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::formats::job_bundle::manifest::{Manifest, Problem};
use runseal_core::formats::ledger::{LedgerView, parse_lines, verify_ledger};
use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::formats::patch::{MAX_TOTAL_BYTES, PatchView, verify_patch};
use runseal_core::formats::receipt::{self, Receipt};
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::formats::run_bundle::index::parse_index;
use runseal_core::formats::run_bundle::sums::parse_sums;
use runseal_core::formats::runner::{RunnerView, verify_runner};
use runseal_core::limits::{FINDINGS_A_RULE, JsonLimits};
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_core::verify::{Finding, Level, Report};

/// At most ten elements and members, or one for each 100 bytes.
const TEN: ReadOptions = ReadOptions {
    limits: JsonLimits {
        free_values: 10,
        bytes_per_value: 100,
        ..JsonLimits::DOCUMENT
    },
    strip_bom: false,
};

fn refusal(text: &str) -> Option<JsonErrorKind> {
    parse_document(text.as_bytes(), &TEN)
        .err()
        .map(|error| error.kind)
}

#[test]
fn reader_refuses_more_values_than_text_may_have() {
    let list = |element: &str, count: usize| format!("[{}]", vec![element; count].join(","));
    let members = |count: usize| {
        let members: Vec<String> = (0..count).map(|n| format!("\"{n}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    for (ten, eleven) in [
        (list("1", 10), list("1", 11)),
        (list("[]", 10), list("[]", 11)),
        (list("[[]]", 5), list("[[]]", 6)),
        (members(10), members(11)),
        (list(r#"{"":1}"#, 5), list(r#"{"":1}"#, 6)),
        (
            format!("{{\"a\":{}}}", list("1", 9)),
            format!("{{\"a\":{}}}", list("1", 10)),
        ),
        (
            "[".repeat(11) + &"]".repeat(11),
            "[".repeat(12) + &"]".repeat(12),
        ),
    ] {
        assert_eq!(refusal(&ten), None, "{ten}");
        let bytes = eleven.len();
        assert_eq!(
            refusal(&eleven),
            Some(JsonErrorKind::TooManyValues { limit: 10, bytes }),
            "{eleven}"
        );
    }
    let roomy = format!("{}{}", list("1", 11), " ".repeat(1_100));
    assert_eq!(refusal(&roomy), None, "a longer text may have more");
}

#[test]
fn reader_refuses_brackets_beyond_limit() {
    let limits = JsonLimits::DOCUMENT;
    assert_eq!(limits.max_values(10_000_000), 4_000_000);
    assert_eq!(limits.max_values(160_000_000), 10_000_000);
    let text = format!("[{}[]]", "[],".repeat(4_000_000));
    let refused = parse_document(text.as_bytes(), &ReadOptions::default()).err();
    let kind = refused.map(|error| error.kind);
    assert!(
        matches!(kind, Some(JsonErrorKind::TooManyValues { .. })),
        "{kind:?}"
    );
    // The input of canon and hash is the user's own, and an array is read element by element.
    let mut sink = std::io::sink();
    canonicalize(text.as_bytes(), Dialect::Jcs, &ReadOptions::TEXT, &mut sink).unwrap();
}

/// A list that is larger than everything read before it is not copied: it must still be read
/// correctly, whatever surrounds it.
#[test]
fn reader_keeps_elements_of_long_lists_in_place() {
    let long = |from: usize, count: usize| {
        let numbers: Vec<String> = (from..from + count).map(|n| n.to_string()).collect();
        numbers.join(",")
    };
    let object = |count: usize| {
        let members: Vec<String> = (0..count)
            .map(|n| format!("\"{n:06}\":[{n},{{\"k\":{n}}}]"))
            .collect();
        members.join(",")
    };
    let text = format!(
        "[0,[1,[2]],[{}],[3,[{}],4],{{\"a\":{{{}}},\"b\":[5]}},[{}],6]",
        long(10, 70_000),
        long(20, 200_000),
        object(90_000),
        long(30, 5),
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let canonical = canonical_bytes(document.root(), Dialect::Jcs).unwrap();
    assert_eq!(String::from_utf8(canonical).unwrap(), text);
}

#[test]
fn reader_compares_escaped_keys_by_meaning() {
    let text = r#"{"b":1,"\u0061":2,"\ud800":3,"é":4,"\ud83d\ude00":5,"\uffff":6,"a\n":7,"":8}"#;
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let values: Vec<String> = document
        .root()
        .members()
        .filter_map(|(_, value)| Some(value.as_number()?.text().to_owned()))
        .collect();
    assert_eq!(values, ["8", "2", "7", "1", "4", "3", "6", "5"]);
    for twice in [
        r#"{"a":1,"\u0061":2}"#,
        r#"{"\ud83d\ude00":1,"x":0,"😀":2}"#,
    ] {
        let error = parse_document(twice.as_bytes(), &ReadOptions::default()).err();
        let kind = error.map(|error| error.kind);
        assert!(
            matches!(kind, Some(JsonErrorKind::DuplicateKey { .. })),
            "{twice}"
        );
    }
}

fn patch_report(text: &str, level: Level) -> Report {
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let view = PatchView {
        root: document.root(),
        max_total_bytes: MAX_TOTAL_BYTES,
    };
    verify_patch(&view, level)
}

#[test]
fn report_with_very_many_findings_is_bounded_and_counts_them() {
    let operations = vec!["[]"; 100_000].join(",");
    let report = patch_report(&format!("{{\"operations\":[{operations}]}}"), Level::Form);
    assert!(!report.is_valid());
    let rule = "SCHEMA";
    let of_rule = report
        .findings()
        .iter()
        .filter(|finding| finding.rule_id == rule);
    let messages: Vec<&str> = of_rule.map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages.len(), FINDINGS_A_RULE + 1);
    assert!(
        messages[0].starts_with("100004 findings of this rule"),
        "{}",
        messages[0]
    );
}

/// Whether PS8 finds that a patch set with these paths, in this order, descends.
fn descends(first: &str, second: &str) -> bool {
    let operation = |path: &str| format!(r#"{{"op":"delete","path":"{path}"}}"#);
    let text = format!(
        r#"{{"operations":[{},{}]}}"#,
        operation(first),
        operation(second)
    );
    let report = patch_report(&text, Level::Document);
    report
        .findings()
        .iter()
        .any(|finding| finding.rule_id == "PS8")
}

/// By UTF-16 code unit: U+0061, a pair (D83D DE00), lone surrogates, U+E000, U+FFFD, U+FFFF.
const ASCENDING: [&str; 8] = [
    "a",
    "\\ud800",
    "\\ud83d\\ude00",
    "\\ud83e",
    "\\udc00",
    "\\ue000",
    "\\ufffd",
    "\\uffff",
];

#[test]
fn lone_surrogates_are_ordered_by_code_unit() {
    for (at, first) in ASCENDING.iter().enumerate() {
        for (other, second) in ASCENDING.iter().enumerate() {
            assert_eq!(descends(first, second), other < at, "{first} {second}");
        }
    }
    let bundle = |constraints: &[&str]| {
        let list: Vec<String> = constraints
            .iter()
            .map(|text| format!("\"{text}\""))
            .collect();
        let text = format!(r#"{{"root_node":{{"constraints":[{}]}}}}"#, list.join(","));
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let view = BundleView {
            root: document.root(),
            transformed: None,
        };
        let report = verify_bundle(&view, Level::Document);
        report
            .findings()
            .iter()
            .any(|finding| finding.rule_id == "BS4")
    };
    assert!(!bundle(&ASCENDING));
    let mut descending = ASCENDING;
    descending.reverse();
    assert!(bundle(&descending));
    assert!(bundle(&["\\ufffd", "\\ud800"]), "not as U+FFFD");
}

#[test]
fn node_texts_compare_by_code_unit() {
    let text = format!("[\"{}\"]", ASCENDING.join("\",\""));
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let nodes: Vec<Node<'_>> = document.root().items().collect();
    assert!(nodes.is_sorted_by(|a, b| a.compare_utf16(b).is_lt()));
}

#[test]
fn ledger_with_too_many_lines_is_cut_and_reported() {
    let text = "1\n".repeat(100_007);
    let lines = parse_lines(text.as_bytes());
    assert_eq!(lines.len(), 100_001);
    let report = verify_ledger(&LedgerView { lines: &lines }, Level::Document);
    let fault = lines[100_000].entry.as_ref().err().unwrap();
    assert!(
        fault.contains("more than 100000 lines, the limit"),
        "{fault}"
    );
    assert!(!report.is_valid());
    let fine = parse_lines(&text.as_bytes()[..200_000]);
    assert!(fine.iter().all(|line| line.entry.is_ok()));
    assert_eq!(fine.len(), 100_000);
}

#[test]
fn file_lists_keep_bounded_number_of_faults() {
    let sums = parse_sums("\n".repeat(50_000).as_bytes());
    assert_eq!(sums.faults.len(), FINDINGS_A_RULE);
    assert!(sums.faults[FINDINGS_A_RULE - 1].contains("the limit is 1000"));
    let text = format!("[{}[]]", "[],".repeat(50_000));
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(parse_index(document.root()).faults.len(), FINDINGS_A_RULE);
}

#[test]
fn runner_command_lists_are_not_compared_pairwise() {
    let names = |from: usize| {
        let names: Vec<String> = (from..from + 60_000)
            .map(|n| format!("\"c{n:06}\""))
            .collect();
        names.join(",")
    };
    let text = format!(
        r#"{{"commands":{{"allowlist":[{}],"blocklist":[{}]}}}}"#,
        names(0),
        names(59_999)
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let report = verify_runner(
        &RunnerView {
            root: document.root(),
        },
        Level::Document,
    );
    let both = report
        .findings()
        .iter()
        .filter(|f| f.message.contains("both allowed and blocked"));
    assert_eq!(both.count(), 1);
}

fn pack_report(files: &[(&str, String)]) -> Report {
    let source = MemorySource::new(files.iter().map(|(name, text)| {
        let path = SafePath::parse(name).unwrap();
        (path, text.clone().into_bytes())
    }));
    let files = PackFiles::read(&source).unwrap();
    verify_pack(&PackView::new("p", &files, Level::Form))
}

/// Whether the records of a pack agree, with `count` operations whose results and outputs are named
/// by `path`.
fn operations_agree(count: usize, path: impl Fn(usize) -> String) -> bool {
    let list = |each: &dyn Fn(usize) -> String| (0..count).map(each).collect::<Vec<_>>().join(",");
    let operations =
        list(&|at| format!(r#"{{"op":"create","path":"f{at}","expected_hash":"h{at}"}}"#));
    let results = list(&|at| {
        format!(
            r#"{{"action":"create","path":"{}","sha256":"h{at}"}}"#,
            path(at)
        )
    });
    let outputs = list(&|at| format!(r#"{{"path":"{}","sha256":"h{at}"}}"#, path(at)));
    let report = pack_report(&[
        (
            "run.json",
            format!(r#"{{"execution":{{"outputs":[{outputs}]}}}}"#),
        ),
        (
            "evidence.json",
            format!(r#"{{"action_results":[{results}]}}"#),
        ),
        ("patch.json", format!(r#"{{"operations":[{operations}]}}"#)),
    ]);
    let wrong = ["results are not those of", "not among the run's outputs"];
    let disagrees = |finding: &Finding| wrong.iter().any(|what| finding.message.contains(what));
    !report.findings().iter().any(disagrees)
}

#[test]
fn pack_with_many_operations_is_not_compared_pairwise() {
    assert!(operations_agree(60_000, |at| format!("f{at}")));
    assert!(!operations_agree(60_000, |at| format!(
        "f{}",
        at.min(59_998)
    )));
}

#[test]
fn pack_results_sharing_long_content_are_not_all_concatenated() {
    let content = "x".repeat(1 << 20);
    let hash = ContentHash::of(content.as_bytes());
    let result =
        |at: usize| format!(r#"{{"test_id":"t{at}","passed":true,"stdout_sha256":"{hash}"}}"#);
    let results: Vec<String> = (0..50_000).map(result).collect();
    let report = pack_report(&[
        (
            "run.json",
            format!(r#"{{"execution":{{"stdout_sha256":"{hash}"}}}}"#),
        ),
        (
            "evidence.json",
            format!(
                r#"{{"test_results":[{}],"contents":{{"{hash}":{{"size_bytes":1048576,"text":"{content}"}}}}}}"#,
                results.join(",")
            ),
        ),
    ]);
    let of_contents = |finding: &&Finding| matches!(finding.rule_id, "PK16" | "EV6");
    let found: Vec<_> = report.findings().iter().filter(of_contents).collect();
    assert_eq!(found, Vec::<&Finding>::new());
}

#[test]
fn pack_documents_share_one_limit() {
    let list = |count: usize| format!(r#"{{"x":[{}1]}}"#, "1,".repeat(count - 1));
    let report = pack_report(&[
        ("run.json", list(2_500_000)),
        ("runner.json", list(2_500_000)),
    ]);
    let is_reported = |finding: &Finding| finding.message.contains("elements and members");
    assert!(report.findings().iter().any(is_reported));
}

#[test]
fn run_bundle_documents_share_one_limit() {
    let list = |name: &str| format!("{{\"{name}\":[{}]}}", vec!["1"; 2_500_000].join(","));
    let source = |output: String| {
        let files = [
            ("RUN_INPUT.json", list("a")),
            ("RUN_OUTPUT.json", output),
            ("RUN_META.json", "{\"run_id\":1}".to_owned()),
        ];
        MemorySource::new(
            files.map(|(name, text)| (SafePath::parse(name).unwrap(), text.into_bytes())),
        )
    };
    let both = source(list("b"));
    let two = CollectedRun::collect(&both).unwrap();
    assert_eq!(two.broken("RUN_INPUT.json"), None);
    let fault = two.broken("RUN_OUTPUT.json").unwrap();
    // The first one has one member and its elements.
    assert!(fault.contains("more than 1499999 elements"), "{fault}");
    assert!(
        fault.ends_with("together with the documents that were read before it"),
        "{fault}"
    );
    assert_eq!(two.broken("RUN_META.json"), None);
    let only = source("{}".to_owned());
    let one = CollectedRun::collect(&only).unwrap();
    assert_eq!(one.broken("RUN_OUTPUT.json"), None);
}

#[test]
fn bundle_with_too_many_path_steps_is_refused() {
    let report = |text: &str| {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let view = BundleView {
            root: document.root(),
            transformed: None,
        };
        verify_bundle(&view, Level::Form)
    };
    let wide = format!(r#"{{"outputs":[{}{{}}]}}"#, "{},".repeat(1_500_000));
    let mut deep = format!("[{}{{}}]", "{},".repeat(20_000));
    for _ in 0..160 {
        deep = format!(r#"[{{"children":{deep}}}]"#);
    }
    let deep = format!(r#"{{"root_node":{{"children":{deep}}}}}"#);
    for text in [wide, deep] {
        let report = report(&text);
        assert!(!report.is_valid());
        let [finding] = report.findings() else {
            panic!("{} findings", report.findings().len());
        };
        assert!(
            finding
                .message
                .contains("1500000 steps in total, the limit")
        );
    }
    assert!(report(r#"{"outputs":[{},{}]}"#).findings().len() > 1);
}

#[test]
fn receipt_and_manifest_keep_bounded_number_of_faults() {
    let list = |count: usize| format!("[{}{{}}]", "{},".repeat(count - 1));
    let text = format!(r#"{{"steps":{},"artifacts":[]}}"#, list(40_000));
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let problems = Receipt::read(document.root()).problems;
    assert_eq!(problems.len(), FINDINGS_A_RULE);
    assert!(
        problems[FINDINGS_A_RULE - 1]
            .message
            .contains("the limit is 1000")
    );
    let problems = Manifest::parse(text.as_bytes()).unwrap().problems;
    assert_eq!(problems.len(), FINDINGS_A_RULE);
    let text = format!(r#"{{"steps":{}}}"#, list(50_001));
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let receipt = Receipt::read(document.root());
    assert_eq!(
        receipt.computed_hash, None,
        "an oversized receipt is not hashed"
    );
    let is_reported =
        |problem: &receipt::Problem| problem.message.contains("more than 50000, the limit");
    assert!(receipt.problems.iter().any(is_reported));
    let manifest = Manifest::parse(text.as_bytes()).unwrap();
    assert_eq!(manifest.steps().len(), 0);
    let is_reported = |problem: &Problem| problem.message.contains("more than 50000, the limit");
    assert!(manifest.problems.iter().any(is_reported));
}

/// This took hours when each character scanned the rest of the text again.
#[test]
fn non_ascii_texts_are_written_in_linear_time() {
    for (character, escaped) in [
        ("é", r"\u00e9"),
        ("的x", r"\u7684x"),
        ("😀", r"\ud83d\ude00"),
        ("\u{7f}", r"\u007f"),
    ] {
        let count = 500_000;
        let text = format!("\"{}\"", character.repeat(count));
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let written = canonical_bytes(document.root(), Dialect::Job).unwrap();
        let expected = format!("\"{}\"", escaped.repeat(count));
        assert!(written == expected.as_bytes(), "{character}");
    }
}
