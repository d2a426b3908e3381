use super::*;
use crate::canon::{ReadOptions, parse_document};
use crate::describe::Documents;
use crate::formats::Format;
use crate::formats::context_bundle::{BundleView, verify_bundle};
use crate::formats::definition::describe_documents as describe;
use crate::verify::Level;

const HOSTILE: &str = r#"</title></style><script>alert(1)</script>" onload="x' javascript:alert(2) <img src=x onerror=alert(3)>"#;

fn page_of(goal: &str) -> String {
    let goal = goal.replace('\\', "\\\\").replace('"', "\\\"");
    let text = format!(
        r#"{{"id":"bundle_1","root_node":{{"goal":"{goal}","status":"expanding","constraints":["{goal}"],"children":[{{"goal":"{goal}","children":[]}}]}},"outputs":[{{"path":"{goal}"}}]}}"#
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let root = document.root();
    let transformed = None;
    let report = verify_bundle(&BundleView { root, transformed }, Level::Document);
    let documents = Documents::from([(String::new(), root)]);
    let description = describe(Format::ContextBundle, &documents);
    render_page(&Page {
        path: "some/<b>.json",
        description: &description,
        report: &report,
        wrapping: &[],
        is_strict: false,
        authenticity: None,
        files: &[],
    })
}

/// The names of all tags that a reader of HTML would see.
fn tags(html: &str) -> Vec<&str> {
    html.split('<')
        .skip(1)
        .map(|rest| rest.split([' ', '>', '\n']).next().unwrap())
        .collect()
}

#[test]
fn page_hostile_text_adds_no_markup() {
    let calm = page_of("a quiet goal");
    let hostile = page_of(HOSTILE);
    assert_eq!(tags(&calm), tags(&hostile));
    for mark in ["<script", "onload=\"", "onerror=alert(3)>", "</style><"] {
        assert!(!hostile.contains(mark), "{mark}");
    }
    assert_eq!(hostile.matches("</style>").count(), 1);
}

#[test]
fn page_has_a_box_for_every_node_of_the_tree() {
    let html = page_of("goal");
    assert_eq!(html.matches("<g class=\"node\">").count(), 2);
    assert!(html.contains("id=\"verdict\">✗ invalid<"));
    assert!(html.contains("Content-Security-Policy"));
}

#[test]
fn escape_covers_elements_attributes_and_invisible_characters() {
    assert_eq!(
        escape("<a b='c' d=\"e\">&"),
        "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;"
    );
    assert_eq!(escape("a\u{202e}b\u{0}"), "a\\u{202e}b\\u{0}");
}
