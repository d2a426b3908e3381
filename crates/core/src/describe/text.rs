//! A description as text for one screen, and as JSON.

use std::fmt::Write as _;

use super::Section;
use crate::canon::Value;
use crate::page::Page;
use crate::verify::{RuleState, one_line, violations_json};

/// Rows of a table that are shown.
const ROWS: usize = 8;
/// Characters of a cell that are shown.
const CELL: usize = 64;
/// Findings that are shown.
const FINDINGS: usize = 5;

/// What it is, what is in it and whether it holds, on one screen.
pub fn render_inspection_human(page: &Page<'_>) -> String {
    let description = page.description;
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {}",
        one_line(page.path),
        description.format.title()
    );
    if let Some(headline) = &description.headline {
        let _ = writeln!(text, "  {}", one_line(headline));
    }
    let widest = description
        .facts
        .iter()
        .map(|fact| fact.label.chars().count())
        .max();
    for fact in &description.facts {
        let label = one_line(&fact.label);
        let pad = widest
            .unwrap_or(0)
            .saturating_sub(fact.label.chars().count());
        let value = cut(&one_line(&fact.value), 100);
        let _ = writeln!(text, "  {label}{}  {value}", " ".repeat(pad));
    }
    for section in &description.sections {
        write_section(&mut text, section);
    }
    let bytes: u64 = page.files.iter().map(|file| file.bytes).sum();
    if page.files.len() > 1 {
        let _ = writeln!(text, "Files: {}, {bytes} bytes", page.files.len());
    }
    write_verdict(&mut text, page);
    if let Some(found) = page.authenticity {
        for (at, line) in found.lines().iter().enumerate() {
            let label = if at == 0 { "Signed: " } else { "  " };
            let _ = writeln!(text, "{label}{}", one_line(line));
        }
    }
    text
}

fn write_section(text: &mut String, section: &Section) {
    let _ = writeln!(
        text,
        "{} ({})",
        one_line(&section.title),
        section.rows.len()
    );
    let shown: Vec<Vec<String>> = (section.rows.iter().take(ROWS))
        .map(|row| row.iter().map(|cell| cut(&one_line(cell), CELL)).collect())
        .collect();
    let widths: Vec<usize> = (0..section.columns.len())
        .map(|column| {
            let cells = shown.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in &shown {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let pad = width.saturating_sub(cell.chars().count());
            let _ = write!(line, "{cell}{}  ", " ".repeat(pad));
        }
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    if section.rows.len() > ROWS {
        let _ = writeln!(text, "  … and {} more", section.rows.len() - ROWS);
    }
}

fn write_verdict(text: &mut String, page: &Page<'_>) {
    let required = page
        .report
        .results()
        .iter()
        .filter(|result| result.required);
    let passed = required
        .clone()
        .filter(|result| result.state == RuleState::Passed)
        .count();
    let findings: Vec<_> = page.report.findings().iter().chain(page.wrapping).collect();
    if page.is_valid() {
        let of = required.count();
        let _ = writeln!(
            text,
            "Verdict: valid ({passed} of {of} rules passed, the others do not apply)"
        );
        return;
    }
    let _ = writeln!(text, "Verdict: INVALID ({} findings)", findings.len());
    for finding in findings.iter().take(FINDINGS) {
        let place = finding.path().map(|path| format!("{path}: "));
        let line = format!(
            "{} {}{}",
            finding.rule_id,
            place.unwrap_or_default(),
            finding.message
        );
        let _ = writeln!(text, "  {}", one_line(&line));
    }
    if findings.len() > FINDINGS {
        let _ = writeln!(text, "  … `runseal verify` shows all of them");
    }
}

fn cut(text: &str, fits: usize) -> String {
    match text.char_indices().nth(fits) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// The same as JSON, whole.
pub fn render_inspection_json(page: &Page<'_>) -> Value {
    let description = page.description;
    let facts = description.facts.iter().map(|fact| {
        Value::object([
            ("label", fact.label.as_str()),
            ("value", fact.value.as_str()),
        ])
    });
    let strings = |cells: &[String]| Value::array(cells.iter().map(String::as_str));
    let sections = description.sections.iter().map(|section| {
        Value::object([
            ("title", Value::from(section.title.as_str())),
            ("columns", strings(&section.columns)),
            (
                "rows",
                Value::array(section.rows.iter().map(|row| strings(row))),
            ),
        ])
    });
    let files = page.files.iter().map(|file| {
        Value::object([
            ("path", Value::from(file.path.as_str())),
            ("bytes", Value::from(file.bytes)),
            (
                "sha256",
                Value::from(file.sha256.map(|digest| digest.to_string())),
            ),
        ])
    });
    let findings: Vec<_> = page
        .report
        .findings()
        .iter()
        .chain(page.wrapping)
        .cloned()
        .collect();
    let mut inspection = Value::object([
        ("facts", Value::array(facts)),
        ("files", Value::array(files)),
        ("format", Value::from(description.format.name())),
        ("headline", Value::from(description.headline.clone())),
        ("ok", Value::from(page.is_valid())),
        ("path", Value::from(page.path)),
        ("sections", Value::array(sections)),
        ("violations", violations_json(&findings)),
    ]);
    if let Some(found) = page.authenticity {
        found.add_to_json(&mut inspection);
    }
    inspection
}
