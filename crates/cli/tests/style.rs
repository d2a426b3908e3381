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

/// The texts in quotes of a source file, without comments and unit tests. What is between two of them is code.
fn texts(source: &str) -> Vec<String> {
    let end = source.find("#[cfg(test)]\nmod tests");
    let mut rest = &source[..end.unwrap_or(source.len())];
    let mut found = Vec::new();
    while let Some(next) = rest.chars().next() {
        let quoted = |text: &str| {
            text.find(|c| c != '#')
                .is_some_and(|at| text[at..].starts_with('"'))
        };
        let passed = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("'\\''") {
            4
        } else if rest.starts_with("'\"'") {
            3
        } else if next == '"' {
            let mut is_escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            let end = end.map_or(rest.len(), |end| end + 1);
            found.push(
                rest[1..end]
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
            );
            (end + 1).min(rest.len())
        } else if next == 'r' && quoted(&rest[1..]) {
            let marks = rest[1..].chars().take_while(|c| *c == '#').count();
            let begin = marks + 2;
            let close = format!("\"{}", "#".repeat(marks));
            let end = rest[begin..]
                .find(&close)
                .map_or(rest.len(), |end| begin + end);
            found.push(rest[begin..end].to_owned());
            (end + close.len()).min(rest.len())
        } else if next.is_ascii_alphanumeric() || next == '_' {
            // A word, so that the `r` at the end of one begins no raw text.
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            match rest.find(|c| !is_word(c)) {
                // `b` and `br` before a text.
                Some(at) if rest[at..].starts_with(['"', '#']) && rest[..at].ends_with('r') => {
                    at - 1
                }
                Some(at) => at,
                None => rest.len(),
            }
        } else {
            next.len_utf8()
        };
        rest = &rest[passed.max(1)..];
    }
    found
}

#[test]
fn texts_of_a_source_are_found() {
    let source = r###"fn a() { b("x \" y"); c(r#"raw "z""#); d('"', b"q") } // "no"
"last \
  one" #[cfg(test)]
mod tests { "not this" }"###;
    assert_eq!(texts(source), ["x \\\" y", "raw \"z\"", "q", "last \\ one"]);
}

/// Turns of phrase that have to be read twice, and what says the same.
const PHRASES: [(&str, &str); 7] = [
    ("is no UTF-8", "is not UTF-8"),
    ("are no UTF-8", "are not UTF-8"),
    ("is no JSON", "is not JSON"),
    (" stands ", "is"),
    (" none where", "if none"),
    (", of which", "and … of them"),
    ("is told", "say it"),
];

#[test]
fn messages_are_read_once() {
    // In contracts that recordings are sealed with: it stays what it is.
    const SEALED: &str = "a command that was run and observed as it stands";
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        if !path.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        for text in texts(&text)
            .into_iter()
            .filter(|text| !text.contains(SEALED))
        {
            for (phrase, better) in PHRASES {
                if text.contains(phrase) {
                    wrong.push(format!("{}: {text:?}: {better}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
