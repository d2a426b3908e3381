use std::collections::BTreeMap;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::formats::definition::Identity;
use runseal_core::verify::Level;

use super::*;
use crate::answers::{Answer, Tone};
use crate::describe::Fact;
use crate::exhibit::Documents;
use runseal_core::source::MemberFile;

const HOSTILE: &str = r#"</title></style></script><script>alert(1)</script>" onload="x' javascript:alert(2) <img src=x onerror=alert(3)>"#;

fn page_of(goal: &str) -> String {
    with_exhibit(goal, |exhibit| render_page(exhibit, None))
}

fn with_exhibit(goal: &str, show: impl FnOnce(&Exhibit<'_>) -> String) -> String {
    let goal = goal.replace('\\', "\\\\").replace('"', "\\\"");
    let text = format!(
        r#"{{"id":"bundle_{goal}","root_node":{{"goal":"{goal}","status":"expanding","constraints":["{goal}"],"children":[{{"goal":"{goal}","children":[]}}]}},"outputs":[{{"path":"{goal}.txt","content":"{goal}"}}]}}"#
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let root = document.root();
    let transformed = None;
    let report = verify_bundle(&BundleView { root, transformed }, Level::Document);
    let documents = Documents::from([(String::new(), root)]);
    let file = MemberFile {
        path: "some.json".to_owned(),
        kind: None,
        bytes: 1,
        sha256: None,
    };
    let exhibit = Exhibit {
        path: "some/<b>.json",
        format: Format::ContextBundle,
        report: &report,
        wrapping: &[],
        identity: &Identity::default(),
        documents: &documents,
        contents: &BTreeMap::new(),
        files: &[file],
        authenticity: None,
    };
    show(&exhibit)
}

#[test]
fn page_of_a_replay_has_its_verdict_at_the_top() {
    let good = || Answer {
        question: "a question",
        tone: Tone::Good,
        word: "a word".to_owned(),
        detail: String::new(),
    };
    let answers = Answers {
        intact: good(),
        signed: good(),
        trusted: good(),
        outcome: good(),
    };
    let top = |verdict: &str, is_reproduced| {
        let comparison = Comparison {
            with: ComparedWith::Replay {
                verdict: verdict.to_owned(),
                is_reproduced,
                remarks: Vec::new(),
            },
            differences: Vec::new(),
        };
        with_exhibit("goal", |exhibit| {
            let description = describe(exhibit);
            head::head(exhibit, &description, &answers, Some(&comparison)).into_string()
        })
    };
    let diverged = top("DIVERGED", false);
    assert!(diverged.contains("<header class=\"top bad\">"));
    assert!(diverged.contains("<dd id=\"replayed\"><span class=\"state failed\">DIVERGED</span>"));
    let reproduced = top("REPRODUCED", true);
    assert!(reproduced.contains("<header class=\"top good\">"));
    assert!(
        reproduced.contains("<dd id=\"replayed\"><span class=\"state good\">REPRODUCED</span>")
    );
}

/// The names of all tags that an HTML parser would see, outside style sheet and script.
fn tags(html: &str) -> Vec<&str> {
    html.split('<')
        .skip(1)
        .map(|rest| rest.split([' ', '>', '\n']).next().unwrap())
        .collect()
}

#[test]
fn page_hostile_text_adds_no_markup() {
    let calm = page_of(
        "a quiet goal that is as long as it takes to be shown in the same way as the other",
    );
    let hostile = page_of(HOSTILE);
    assert_eq!(tags(&calm), tags(&hostile));
    assert_eq!(hostile.matches("</style>").count(), 1);
    assert_eq!(hostile.matches("<script").count(), 1);
    assert!(!hostile.contains("onload=\""));
}

#[test]
fn page_has_a_box_for_every_node_and_its_verdict_in_words() {
    let html = page_of("goal");
    assert_eq!(
        html.matches("card-detail").count(),
        2 + STYLE.matches("card-detail").count()
    );
    assert!(
        html.contains(
            "<h1 id=\"verdict\">Do not rely on this context bundle: it is not intact</h1>"
        )
    );
    assert!(html.contains("default-src 'none'; style-src 'sha256-"));
    assert!(!html.contains("style=\"") && !html.contains("onclick"));
}

#[test]
fn page_hidden_characters_are_written_out_everywhere() {
    let html = page_of("a\u{202e}b\u{200b}c");
    assert!(!html.contains(['\u{202e}', '\u{200b}']));
    assert!(html.contains("a\\u{202e}b\\u{200b}c"));
}

#[test]
fn style_and_script_are_embedded_unchanged() {
    for text in [STYLE, SCRIPT] {
        assert!(!text.contains("</"), "would end the element");
        assert_eq!(reveal(text), text, "its hash must stay");
        assert!(
            !text.contains("http") && !text.contains("url("),
            "fetches nothing"
        );
    }
    for never in ["innerHTML", "eval(", "fetch(", "import(", "document.write"] {
        assert!(!SCRIPT.contains(never), "{never}");
    }
}

#[test]
fn page_size_is_limited_for_any_strings() {
    let page = page_of(&"x".repeat(3 << 20));
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
}

#[test]
fn page_counts_findings_once_and_marks_the_file_of_a_document() {
    let html = page_of("goal");
    let counts: Vec<_> = html
        .split("What is wrong (")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap())
        .collect();
    assert_eq!(counts.len(), 2);
    assert_eq!(counts[0], counts[1], "the link and the chapter");
    let row = html.split("<td class=\"mono\">some.json</td>").nth(1);
    assert!(
        row.unwrap()
            .split("</tr>")
            .next()
            .unwrap()
            .contains("⚠ wrong: ")
    );
    let whole = html.split("id=\"done\"").nth(1).unwrap_or_default();
    assert!(
        !whole.contains("class=\"card good\""),
        "nothing is good just because it says so"
    );
}

#[test]
fn style_of_withheld_values_is_not_that_of_bars() {
    assert_eq!(STYLE.matches("\n.bar{").count(), 1);
    assert_eq!(STYLE.matches("\n.withheld{").count(), 1);
}

#[test]
fn page_of_one_wrong_file_does_not_say_one_of_one() {
    let html = page_of("goal");
    assert!(html.contains("<p>1 file, 1 byte, which is wrong</p>"));
}

#[test]
fn page_names_empty_values() {
    let html = page_of("");
    assert!(html.contains("<p class=\"missing\">an empty text</p>"));
    let fact = Fact {
        label: "adapter".to_owned(),
        value: String::new(),
    };
    let html = blocks::facts(&[fact]).into_string();
    assert!(html.contains("<dt>adapter</dt><dd>(empty)</dd>"), "{html}");
}

/// The answers about a unit of this format and outcome that is not intact.
fn answers_of(format: Format, outcome: Option<&str>) -> Answers {
    let document = parse_document(b"{}", &ReadOptions::default()).unwrap();
    let root = document.root();
    let transformed = None;
    let report = verify_bundle(&BundleView { root, transformed }, Level::Document);
    Answers::of(&Exhibit {
        path: "x",
        format,
        report: &report,
        wrapping: &[],
        identity: &Identity::default().ended(outcome),
        documents: &Documents::new(),
        contents: &BTreeMap::new(),
        files: &[],
        authenticity: None,
    })
}

#[test]
fn missing_outcome_is_not_known_or_does_not_apply() {
    for format in [
        Format::Pack,
        Format::ContextBundle,
        Format::Evidence,
        Format::Receipt,
    ] {
        assert_eq!(answers_of(format, None).outcome.word, "Not known");
    }
    let of_ledger = answers_of(Format::Ledger, None).outcome;
    assert_eq!(of_ledger.word, "Does not apply");
    let failed = answers_of(Format::Receipt, Some("FAILURE")).outcome;
    assert_eq!(failed.word, "Claims: replay failed");
    let unknown = answers_of(Format::Receipt, Some("MAYBE")).outcome;
    assert_eq!(unknown.word, "Says “MAYBE”");
}

#[test]
fn summary_of_unread_signatures_says_neither_signed_nor_unsigned() {
    let mut answers = answers_of(Format::Pack, None);
    answers.intact.tone = Tone::Good;
    assert_eq!(
        answers.summary(Format::Pack),
        "A pack: intact, signatures not looked for"
    );
    answers.signed.tone = Tone::Warning;
    answers.signed.word = crate::answers::CANNOT_TELL.to_owned();
    assert_eq!(
        answers.summary(Format::Pack),
        "A pack: intact, perhaps signed"
    );
}

/// The outcome shown for a redacted copy with these documents.
fn outcome_of_copy(documents: &[(&str, &str)]) -> (Tone, String, String) {
    let options = ReadOptions::default();
    let parsed: Vec<_> = documents
        .iter()
        .map(|(name, text)| (*name, parse_document(text.as_bytes(), &options).unwrap()))
        .collect();
    let root = parsed[0].1.root();
    let transformed = None;
    let report = verify_bundle(&BundleView { root, transformed }, Level::Document);
    let roots = parsed
        .iter()
        .map(|(name, document)| ((*name).to_owned(), document.root()));
    let exhibit = Exhibit {
        path: "copy",
        format: Format::Redacted,
        report: &report,
        wrapping: &[],
        identity: &Identity::default().ended(Some("redacted 1 of 9")),
        documents: &roots.collect::<Documents<'_>>(),
        contents: &BTreeMap::new(),
        files: &[],
        authenticity: None,
    };
    let outcome = Answers::of(&exhibit).outcome;
    (outcome.tone, outcome.word, outcome.detail)
}

#[test]
fn redacted_copy_of_a_failed_run_is_shown_as_failed() {
    let run = ("REDACTION.json", r#"{"format":"run-bundle"}"#);
    let output = |text| [run, ("RUN_OUTPUT.json", text)];
    // The copy is not intact, so its outcome is a claim.
    let (tone, word, _) = outcome_of_copy(&output(r#"{"failed":true,"exit_status":3}"#));
    assert_eq!(
        (tone, word.as_str()),
        (Tone::Bad, "Claims: failed with status 3")
    );
    let bar = r#"{"exit_status":{"~withheld":"0"}}"#
        .replace("~withheld", runseal_core::formats::redacted::commit::MARKER);
    let (tone, word, detail) = outcome_of_copy(&output(&bar));
    assert_eq!((tone, word.as_str()), (Tone::Neutral, "Not shown"));
    assert!(
        detail.ends_with("; redacted 1 of 9 values, each with its reason"),
        "{detail}"
    );
    let pack = ("REDACTION.json", r#"{"format":"pack"}"#);
    let decision = r#"{"kernel_result_kind":"BUNDLE","decision":{"accepted":false}}"#;
    let (tone, word, _) = outcome_of_copy(&[pack, ("run.json", decision)]);
    assert_eq!((tone, word.as_str()), (Tone::Bad, "Claims: not accepted"));
}

/// The page of a unit of this format with these documents that is not intact.
fn page_with(format: Format, documents: &[(&str, &str)]) -> String {
    let options = ReadOptions::default();
    let parsed: Vec<_> = documents
        .iter()
        .map(|(name, text)| (*name, parse_document(text.as_bytes(), &options).unwrap()))
        .collect();
    let root = parsed[0].1.root();
    let transformed = None;
    let report = verify_bundle(&BundleView { root, transformed }, Level::Document);
    let roots = parsed
        .iter()
        .map(|(name, document)| ((*name).to_owned(), document.root()));
    let exhibit = Exhibit {
        path: "it",
        format,
        report: &report,
        wrapping: &[],
        identity: &Identity::default(),
        documents: &roots.collect::<Documents<'_>>(),
        contents: &BTreeMap::new(),
        files: &[],
        authenticity: None,
    };
    render_page(&exhibit, None)
}

#[test]
fn pack_that_executed_nothing_has_no_exit_code() {
    let runner = r#"{"platform":{"os":"linux"},"exit":{"code":0}}"#;
    let page = |run| page_with(Format::Pack, &[("run.json", run), ("runner.json", runner)]);
    let idle = page(r#"{"kernel_result_kind":"REFUSE","execution":null}"#);
    assert!(idle.contains("Where it would have run: nothing was executed"));
    assert!(!idle.contains("<dt>exit code</dt>"));
    let executed = page(r#"{"kernel_result_kind":"BUNDLE","execution":{"mode":"none"}}"#);
    assert!(executed.contains("Where it ran") && executed.contains("<dt>exit code</dt>"));
}

#[test]
fn chain_of_receipts_shows_every_bundle_and_no_empty_column() {
    let receipt = |bundle: &str| {
        format!(
            r#"{{"bundle_id":"{bundle}","outcome":"SUCCESS","job_id":"j","receipt_index":null,"steps":[]}}"#
        )
    };
    let chain = [receipt("first"), receipt("second"), receipt("first")].join(",");
    let html = page_with(Format::Receipt, &[("", &format!("[{chain}]"))]);
    assert!(html.contains("Bundles") && html.contains("first") && html.contains("second"));
    assert_eq!(
        html.matches(">first</").count(),
        1 + 2,
        "a card, and two values"
    );
    assert!(html.contains("<th scope=\"col\">outcome</th>"));
    assert!(!html.contains("<th scope=\"col\">index</th>"));
    assert!(!html.contains("<th scope=\"col\">parent</th>"));
}

#[test]
fn engine_without_a_code_is_not_named_by_its_version_alone() {
    let manifest = [("ENGINE_MANIFEST.json", r#"{"engine_version":"1.0.0"}"#)];
    let html = page_with(Format::Engine, &manifest);
    assert!(html.contains("“An engine without a code, 1.0.0”"));
}

#[test]
fn times_and_short_names_are_not_broken_into_lines() {
    let shown = |text: &str| blocks::value(text).into_string();
    assert_eq!(
        shown("2023-11-14T22:13:20.000Z"),
        "<span class=\"time\">2023-11-14T22:13:20.000Z</span>"
    );
    assert_eq!(shown("2023-11-14 at night"), "2023-11-14 at night");
    assert_eq!(
        shown("q_7f0fd548c93a1403"),
        "<span class=\"mono\">q_7f0fd548c93a1403</span>"
    );
    assert!(shown("context/node_4cdf205b3c24deff.md").contains("/<wbr>"));
}
