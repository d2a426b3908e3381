//! The pages of docs/formats: complete, and true of the rules, the schemas and the vectors.
//!
//! `RUNSEAL_BLESS=1 cargo test -p runseal-cli --test main format_pages::` puts the vectors' documents into the
//! examples anew.

use std::collections::BTreeMap;
use std::fs;

use runseal_core::formats::{Format, all_rules};
use runseal_testkit::project_root;
use serde_json::Value;

/// Every page by the name of its file without `.md`.
fn pages() -> BTreeMap<String, String> {
    let entries = fs::read_dir(project_root().join("docs/formats")).unwrap();
    let read = |entry: fs::DirEntry| {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    entries.map(|entry| read(entry.unwrap())).collect()
}

/// Id and level of every row of a page's table of rules; `EV1-EV5` is five rows.
fn rows(page: &str) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    let table = page.split("\n## Rules\n").nth(1).unwrap_or_default();
    let table = table.split("\n## ").next().unwrap();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (id, level) = (cells[1], cells[2].to_owned());
        match id.split_once('-') {
            Some((first, last)) => {
                let digits = |id: &str| id.trim_start_matches(char::is_alphabetic).parse::<u32>();
                let (from, to) = (digits(first).unwrap(), digits(last).unwrap());
                let prefix = first.trim_end_matches(char::is_numeric);
                let ids = (from..=to).map(|number| format!("{prefix}{number}"));
                rows.extend(ids.map(|id| (id, level.clone())));
            }
            None => drop(rows.insert(id.to_owned(), level)),
        }
    }
    rows
}

#[test]
fn format_pages_are_all_there_and_the_index_leads_to_them() {
    let pages = pages();
    let index = &pages["README"];
    for format in Format::ALL {
        assert!(pages.contains_key(format.name()), "no page of {format}");
        assert!(
            index.contains(&format!("`{format}`")),
            "the index leaves out {format}"
        );
    }
    for name in pages.keys().filter(|name| *name != "README") {
        assert!(
            index.contains(&format!("({name}.md)")),
            "the index leaves out {name}.md"
        );
    }
}

#[test]
fn format_pages_have_every_rule_with_its_level_and_no_other() {
    let pages = pages();
    let mut wrong = Vec::new();
    for format in Format::ALL {
        let mut rows = rows(&pages[format.name()]);
        for rule in all_rules().into_iter().filter(|rule| rule.format == format) {
            let level = rows.remove(rule.id);
            let level = level.unwrap_or_else(|| "no row".to_owned());
            wrong.extend(
                (level != rule.level.name())
                    .then(|| format!("{format} {}: {level}, not {}", rule.id, rule.level.name())),
            );
        }
        rows.remove("id");
        rows.retain(|id, _| !id.starts_with("---"));
        wrong.extend(rows.keys().map(|id| format!("{format} has no rule {id}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn format_pages_name_every_schema() {
    let mut all: String = pages().into_values().collect();
    // Answers of commands belong to no format.
    all += &fs::read_to_string(project_root().join("docs/stability.md")).unwrap();
    let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in crate::schema_support::texts().into_keys() {
        let named = [format!("schema {name}`"), format!("`{name}`")];
        assert!(
            named.iter().any(|text| all.contains(text)),
            "no page names the schema {name}"
        );
    }
}

const MARK: &str = "<!-- example: ";

#[test]
fn format_pages_show_examples_that_are_the_vectors() {
    let bless = std::env::var_os("RUNSEAL_BLESS").is_some();
    let mut count = 0;
    for (name, page) in pages() {
        let mut parts = page.split(MARK);
        let mut made = parts.next().unwrap().to_owned();
        for part in parts {
            let (path, rest) = part.split_once(" -->\n").unwrap();
            let (fence, rest) = rest.split_once('\n').unwrap();
            let end = rest.find("```").unwrap();
            let text = fs::read_to_string(project_root().join(path)).unwrap();
            let shown = match fence {
                "```json" => lay_out(&serde_json::from_str(&text).unwrap(), 0) + "\n",
                _ => text,
            };
            made += &format!("{MARK}{path} -->\n{fence}\n{shown}{}", &rest[end..]);
            count += 1;
        }
        if bless {
            fs::write(
                project_root().join(format!("docs/formats/{name}.md")),
                &made,
            )
            .unwrap();
        } else {
            assert!(
                made == page,
                "an example of {name}.md is stale: RUNSEAL_BLESS=1"
            );
        }
    }
    assert!(count >= 15, "{count} examples");
}

/// JSON for reading: what fits into a line stays in one.
fn lay_out(value: &Value, depth: usize) -> String {
    const WIDTH: usize = 100;
    let line = value.to_string();
    let (open, close, parts) = match value {
        _ if line.len() + 2 * depth <= WIDTH => return line,
        Value::Object(members) => {
            let part = |(name, member): (&String, &Value)| {
                format!(
                    "{}: {}",
                    Value::from(name.as_str()),
                    lay_out(member, depth + 1)
                )
            };
            ('{', '}', members.iter().map(part).collect::<Vec<_>>())
        }
        Value::Array(items) => {
            let parts = items.iter().map(|item| lay_out(item, depth + 1));
            ('[', ']', parts.collect())
        }
        _ => return line,
    };
    let indent = "  ".repeat(depth + 1);
    let body = parts.join(&format!(",\n{indent}"));
    format!("{open}\n{indent}{body}\n{}{close}", "  ".repeat(depth))
}
