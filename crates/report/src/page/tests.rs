use std::collections::BTreeMap;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::formats::definition::Identity;
use runseal_core::verify::Level;

use super::*;
use crate::exhibit::Documents;

const HOSTILE: &str = r#"</title></style></script><script>alert(1)</script>" onload="x' javascript:alert(2) <img src=x onerror=alert(3)>"#;

fn page_of(goal: &str) -> String {
    let goal = goal.replace('\\', "\\\\").replace('"', "\\\"");
    let text = format!(
        r#"{{"id":"bundle_{goal}","root_node":{{"goal":"{goal}","status":"expanding","constraints":["{goal}"],"children":[{{"goal":"{goal}","children":[]}}]}},"outputs":[{{"path":"{goal}.txt","content":"{goal}"}}]}}"#
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let root = document.root();
    let transformed = None;
    let report = verify_bundle(&BundleView { root, transformed }, Level::Document);
    let documents = Documents::from([(String::new(), root)]);
    let exhibit = Exhibit {
        path: "some/<b>.json",
        format: Format::ContextBundle,
        report: &report,
        wrapping: &[],
        identity: &Identity::default(),
        documents: &documents,
        contents: &BTreeMap::new(),
        files: &[],
        authenticity: None,
    };
    render_page(&exhibit, None)
}

/// The names of all tags that a reader of HTML would see, outside style sheet and script.
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
fn page_hidden_characters_are_written_out_wherever_they_come_from() {
    let html = page_of("a\u{202e}b\u{200b}c");
    assert!(!html.contains(['\u{202e}', '\u{200b}']));
    assert!(html.contains("a\\u{202e}b\\u{200b}c"));
}

#[test]
fn style_and_script_hold_nothing_that_would_end_them_or_be_changed() {
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
fn page_is_bounded_whatever_the_strings_are() {
    let page = page_of(&"x".repeat(3 << 20));
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
}
