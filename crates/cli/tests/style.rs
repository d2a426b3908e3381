//! What the source itself must keep to, where no lint says it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use runseal_core::formats::all_rules;
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

/// Whether a text looks like the id of a rule: two capitals and a number.
fn is_like_a_rule(text: &str) -> bool {
    if !text.is_ascii() || text.len() < 3 {
        return false;
    }
    let (letters, digits) = text.split_at(2);
    letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn rules_that_the_source_names_exist() {
    // How a tag in a sound file begins.
    const OTHERS: [&str; 1] = ["ID3"];
    let known: BTreeSet<&str> = all_rules().iter().map(|rule| rule.id).collect();
    let mut unknown = Vec::new();
    let mut count = 0;
    for (path, text) in all_sources() {
        if !path.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        // Every second part is in quotes, or between two that are.
        let ids = text.split('"').filter(|part| is_like_a_rule(part));
        for id in ids.filter(|id| !OTHERS.contains(id)) {
            count += 1;
            if !known.contains(id) {
                unknown.push(format!("{}: {id}", path.display()));
            }
        }
    }
    assert!(count > 300, "{count} ids");
    assert!(unknown.is_empty(), "{unknown:#?}");
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
