//! What the source itself must keep to, where no lint says it.

use std::fs;
use std::path::{Path, PathBuf};

use runseal_testkit::project_root;

/// Every file of Rust below `folder`, with its path in the project.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.strip_prefix(project_root()).unwrap().to_owned(), text));
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&project_root().join("crates"), &mut found);
    assert!(found.len() > 500, "{} files", found.len());
    found.sort();
    found
}

#[test]
fn tests_skip_by_the_testkit_alone() {
    // In two parts, so that this file has none of them.
    let by_hand = [
        concat!("\"SKIP", "PED: "),
        concat!("\"skip", "ped: "),
        concat!("(\"C", "I\")"),
    ];
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        if path.ends_with("testkit/src/skip.rs") {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            if by_hand.iter().any(|mark| line.contains(mark)) {
                wrong.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "use runseal_testkit::skip instead:\n{}",
        wrong.join("\n")
    );
}
