//! The tables of `docs/kernel.md` are what the rule data says.

#![allow(clippy::unwrap_used, reason = "test code")]

use runseal_kernel::rules::catalogue::render_tables;
use runseal_testkit::project_root;

#[test]
fn kernel_page_lists_the_rules_and_profiles_of_the_data() {
    let path = project_root().join("docs/kernel.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- rules:").unwrap();
    let (note, rest) = rest.split_once("-->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /rules -->").unwrap();
    let made = format!(
        "{before}<!-- rules:{note}-->\n{}<!-- /rules -->{after}",
        render_tables()
    );
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(
        page == made,
        "docs/kernel.md is stale: run this test with UPDATE_DOCS=1"
    );
}
