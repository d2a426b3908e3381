//! The project's Markdown pages, read line by line: fences with the comment above them, links, headings, and the
//! commands in running text. Enough of Markdown for our own pages, not for others'.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use runseal_testkit::project_root;

/// A page by its path below the project's root.
pub struct Page {
    pub name: String,
    pub text: String,
}

/// A block of code, and the comment in the line above it.
pub struct Fence {
    pub line: usize,
    pub language: String,
    pub mark: Option<String>,
    pub code: String,
}

/// Pages outside of docs/ that people read.
const OTHERS: [&str; 12] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CHANGELOG_GOLDENS.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bindings/python/README.md",
    "crates/runseal/README.md",
    "examples/agents/README.md",
    "examples/assessors/README.md",
    "packages/npm/README.md",
    "vectors/README.md",
];

/// Every page that people read, sorted by name.
pub fn pages() -> Vec<Page> {
    let root = project_root();
    let mut names: BTreeSet<String> = OTHERS.map(str::to_owned).into();
    collect(&root, Path::new("docs"), &mut names);
    let read = |name: String| Page {
        text: fs::read_to_string(root.join(&name)).unwrap(),
        name,
    };
    names.into_iter().map(read).collect()
}

fn collect(root: &Path, folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, names);
        } else if path.extension().is_some_and(|end| end == "md") {
            names.insert(path.to_str().unwrap().to_owned());
        }
    }
}

impl Page {
    /// Every fenced block.
    pub fn fences(&self) -> Vec<Fence> {
        let mut fences = Vec::new();
        let mut above = "";
        let mut lines = self.text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(language) = line.strip_prefix("```") else {
                above = line;
                continue;
            };
            let code: Vec<_> = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| !line.starts_with("```"))
                .collect();
            let mark = above
                .strip_prefix("<!-- ")
                .and_then(|rest| rest.strip_suffix(" -->"));
            fences.push(Fence {
                line: number + 1,
                language: language.to_owned(),
                mark: mark.map(str::to_owned),
                code: code.join("\n") + "\n",
            });
            above = "";
        }
        fences
    }

    /// The lines outside of fences, with their numbers.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let mut in_fence = false;
        let mut prose = Vec::new();
        for (number, line) in self.text.lines().enumerate() {
            if line.starts_with("```") {
                in_fence = !in_fence;
            } else if !in_fence {
                prose.push((number + 1, line));
            }
        }
        prose
    }

    /// The texts in single backticks outside of fences. A span may run over the end of a line.
    pub fn spans(&self) -> Vec<(usize, String)> {
        let mut spans = Vec::new();
        let mut open: Option<(usize, String)> = None;
        for (number, line) in self.prose() {
            if line.is_empty() {
                open = None;
                continue;
            }
            for (at, part) in line.split('`').enumerate() {
                if at > 0 {
                    match open.take() {
                        Some(span) => spans.push(span),
                        None => open = Some((number, String::new())),
                    }
                }
                if let Some((_, text)) = &mut open {
                    text.push_str(part);
                }
            }
            if let Some((_, text)) = &mut open {
                text.push(' ');
            }
        }
        spans
    }

    /// The targets of links and pictures, without those in code.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.prose() {
            let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            let found = plain.split("](").skip(1);
            links.extend(found.filter_map(|rest| {
                let (target, _) = rest.split_once(')')?;
                Some((number, target.to_owned()))
            }));
        }
        links
    }

    /// The anchors of the headings, as GitHub and mdBook make them.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let headings = self.prose().into_iter();
        let headings = headings.filter(|(_, line)| line.starts_with('#'));
        headings
            .map(|(_, line)| {
                let slug = slug(line.trim_start_matches('#').trim());
                let count = seen.entry(slug.clone()).or_default();
                *count += 1;
                match *count {
                    1 => slug,
                    more => format!("{slug}-{}", more - 1),
                }
            })
            .collect()
    }

    /// The folder that relative links start from.
    pub fn folder(&self) -> PathBuf {
        Path::new(&self.name).parent().unwrap().to_owned()
    }
}

fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            other => other.is_alphanumeric().then_some(other),
        })
        .collect()
}

/// `a/./b/../c` as `a/c`; none if it climbs out.
pub fn normalize(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(parts.pop()?),
            other => parts.push(other.as_os_str()),
        }
    }
    Some(parts.iter().collect())
}

/// The commands that a script gives to `runseal`, as words; lines that go on are joined.
pub fn invocations(script: &str) -> Vec<Vec<String>> {
    let joined = script.replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let word = word.trim_start_matches(['(', '"', '$']);
            if word != "runseal" && !word.ends_with("/runseal") {
                continue;
            }
            let rest = words[at + 1..].iter();
            // What a quotation with blanks holds is for another program.
            let end = |word: &&&str| {
                let opens = word.starts_with('\'') && !word[1..].ends_with('\'');
                !opens && !matches!(**word, "|" | "||" | "&&" | "&" | ";" | ">" | "--" | "#")
            };
            let rest = rest.take_while(end).map(|word| (*word).to_owned());
            found.push(rest.collect());
        }
    }
    found
}
