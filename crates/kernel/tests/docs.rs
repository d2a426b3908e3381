//! The page of word lists is what the tables say.

#![allow(clippy::unwrap_used, reason = "test code")]

use runseal_kernel::render_word_lists;
use runseal_testkit::project_root;

#[test]
fn word_lists_page_is_what_the_tables_say() {
    let path = project_root().join("docs/kernel-words.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, render_word_lists()).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == render_word_lists(),
        "docs/kernel-words.md is stale: run this test with UPDATE_DOCS=1"
    );
}
