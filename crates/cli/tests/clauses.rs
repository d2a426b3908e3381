//! docs/clauses.md names rules that exist and fields that the schemas have.

use std::collections::BTreeSet;
use std::fs;

use runseal_core::formats::all_rules;
use runseal_testkit::project_root;
use serde_json::Value;

/// The rows of every table: the cells of clause, text, fields, rules and rest.
fn rows(page: &str) -> Vec<[String; 5]> {
    let lines = page.lines().filter(|line| line.starts_with("| "));
    let cells = lines.map(|line| {
        let cells: Vec<String> = line
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect();
        <[String; 5]>::try_from(cells).expect("five cells")
    });
    cells.filter(|cells| cells[0] != "clause").collect()
}

fn has_member(schema: &Value, path: &str) -> bool {
    let found = path
        .split('.')
        .try_fold(schema, |schema, name| schema["properties"].get(name));
    found.is_some()
}

#[test]
fn clauses_name_rules_and_fields_that_are_there() {
    let page = fs::read_to_string(project_root().join("docs/clauses.md")).unwrap();
    let known: BTreeSet<&str> = all_rules().into_iter().map(|rule| rule.id).collect();
    let schemas = crate::schema_support::texts();
    let rows = rows(&page);
    for [clause, _, fields, rules, left] in &rows {
        for id in rules.split(", ") {
            assert!(known.contains(id), "{clause}: there is no rule {id}");
        }
        for field in fields.split(", ") {
            let field = field.trim_matches('`');
            let (schema, member) = field.split_once('.').expect(field);
            let text = schemas
                .get(schema)
                .unwrap_or_else(|| panic!("no schema {schema}"));
            let schema: Value = serde_json::from_str(text).unwrap();
            assert!(has_member(&schema, member), "{clause}: there is no {field}");
        }
        assert!(!left.is_empty(), "{clause} leaves nothing to its reader");
    }
    for clause in [
        "12(1)", "19(1)", "26(6)", "11.10(e)", "11.50(a)", "11.70", "AU-9(3)", "AU-10",
    ] {
        assert!(rows.iter().any(|row| row[0] == clause), "{clause}");
    }
    // Ids in the text are checked too.
    let words = page.split(|c: char| !c.is_ascii_alphanumeric());
    let looks_like_an_id = |word: &&str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
        word.len() - digits.len() == 2 && !digits.is_empty() && digits.parse::<u8>().is_ok()
    };
    for id in words.filter(looks_like_an_id) {
        assert!(known.contains(id), "there is no rule {id}");
    }
    assert!(page.contains("claims no compliance"));
}
