//! Labelled intents: the development set of the kernel and the conformance data, in one form.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "shared by several tests, of which each uses a part; a failure is meant to stop it"
)]

use runseal_testkit::{conformance, for_each_line, project_root, text};
use std::path::{Path, PathBuf};

/// The files of the development set.
pub const OWN_SETS: [&str; 5] = [
    "labelled_a.txt",
    "labelled_b.txt",
    "labelled_c.txt",
    "labelled_d.txt",
    "labelled_e.txt",
];

/// What a careful reader found.
#[derive(Debug)]
pub struct Label {
    pub kind: char,
    pub wheres: Vec<Option<usize>>,
    pub quotes: Vec<String>,
}

/// An intent and what a careful reader says of it.
#[derive(Debug)]
pub struct Case {
    pub id: String,
    pub goal: String,
    pub constraints: Vec<String>,
    pub clarify: bool,
    pub labels: Vec<Label>,
}

/// A file of the development set.
pub fn own_set(name: &str) -> Vec<Case> {
    let text = read_data(name);
    let mut cases: Vec<Case> = Vec::new();
    for line in text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        if let Some(head) = line.strip_prefix("= ") {
            let (id, expect) = head.split_once(' ').unwrap();
            cases.push(Case {
                id: id.into(),
                goal: String::new(),
                constraints: vec![],
                clarify: expect == "CLARIFY",
                labels: vec![],
            });
            continue;
        }
        let case = cases.last_mut().unwrap();
        if let Some(c) = line.strip_prefix("- ") {
            case.constraints.push(c.into());
        } else if let Some(l) = line.strip_prefix("! ") {
            let kind = l.chars().next().unwrap();
            let rest = l[1..].trim();
            let (wheres, quote) = rest
                .split_once('|')
                .map_or((rest, ""), |(w, q)| (w.trim(), q.trim()));
            let mut label = Label {
                kind,
                wheres: vec![],
                quotes: vec![],
            };
            if kind == 'G' {
                label.quotes = wheres.split(',').map(Into::into).collect();
                label.wheres = vec![None];
            } else {
                label.wheres = wheres.split_whitespace().map(|w| w.parse().ok()).collect();
                if !quote.is_empty() {
                    label.quotes.push(quote.into());
                }
            }
            case.labels.push(label);
        } else {
            assert!(case.goal.is_empty(), "{line}");
            case.goal = line.into();
        }
    }
    cases
}

/// The labelled intents of the conformance data.
pub fn conformance_set() -> Option<Vec<Case>> {
    Some(labelled_lines(&conformance()?.join("kernel/clarify.jsonl")))
}

/// The labelled intents of the project's own vectors, each file with its name.
pub fn vector_sets() -> Vec<(String, Vec<Case>)> {
    let folder = project_root().join("vectors/kernel/labelled");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let set = |path: &PathBuf| {
        (
            path.file_stem().unwrap().to_string_lossy().into_owned(),
            labelled_lines(path),
        )
    };
    paths.iter().map(set).collect()
}

/// The labelled intents of a file of JSON lines.
pub fn labelled_lines(path: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for_each_line(path, |line| {
        let intent = line.get("intent").unwrap();
        let strings = |list: runseal_core::canon::Node<'_>| -> Vec<String> {
            list.items()
                .map(|item| item.as_str().unwrap().into_owned())
                .collect()
        };
        let label = |finding: runseal_core::canon::Node<'_>| {
            let quote = finding.get("quote").unwrap();
            let quotes = match quote.as_str() {
                Some(one) => vec![one.into_owned()],
                None => strings(quote),
            };
            let place = |place: runseal_core::canon::Node<'_>| {
                place
                    .as_number()
                    .and_then(|n| n.to_exact_i64())
                    .map(|n| n as usize)
            };
            Label {
                kind: text(finding, "kind").unwrap().chars().next().unwrap(),
                wheres: finding.get("where").unwrap().items().map(place).collect(),
                quotes,
            }
        };
        cases.push(Case {
            id: text(line, "id").unwrap(),
            goal: text(intent, "goal").unwrap(),
            constraints: strings(intent.get("constraints").unwrap()),
            clarify: text(line, "expect").unwrap() == "CLARIFY",
            labels: line.get("findings").unwrap().items().map(label).collect(),
        });
    });
    cases
}

/// A file of the tests' data; a full path stays as it is.
fn read_data(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Two constraints, and whether they contradict each other.
#[derive(Debug)]
pub struct Pair {
    pub contradict: bool,
    pub first: String,
    pub second: String,
}

/// The pairs of a file: `+ one | other` where they contradict each other, `- one | other` where they do not.
pub fn pairs(name: &str) -> Vec<Pair> {
    let text = read_data(name);
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let pair = |line: &str| {
        let (first, second) = line[2..].split_once(" | ").unwrap();
        Pair {
            contradict: line.starts_with("+ "),
            first: first.to_owned(),
            second: second.to_owned(),
        }
    };
    lines.map(pair).collect()
}

/// A matter with many wordings of both its sides, and what is said beside it.
#[derive(Debug)]
pub struct Matter {
    pub title: String,
    pub sides: [Vec<String>; 2],
    pub neutral: Vec<String>,
}

/// The matters of a file.
pub fn matters(name: &str) -> Vec<Matter> {
    let text = read_data(name);
    let matter = |matter: &str| {
        let (title, lines) = matter.split_once('\n').unwrap();
        let of = |mark: &str| -> Vec<String> {
            let lines = lines.lines().filter_map(|l| l.strip_prefix(mark));
            lines.map(Into::into).collect()
        };
        Matter {
            title: title.to_owned(),
            sides: [of("a "), of("b ")],
            neutral: of("n "),
        }
    };
    text.split("\n= ").skip(1).map(matter).collect()
}
