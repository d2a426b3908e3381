//! A description as text for one screen, and as JSON.

use std::fmt::Write as _;

use runseal_core::canon::Value;
use runseal_core::verify::{RuleState, violations_json};

use super::{Screen, cell, columns, fit, pad, plain, wrap};
use crate::answers::{Answers, Tone};
use crate::describe::{Block, Body, Description, Fact, Table, Words, describe, size_text};
use crate::exhibit::{Exhibit, Faults};
use crate::page::csv;
use crate::reveal::counted;

/// The most rows of a table that are shown.
const ROWS: usize = 10;
/// The most characters of a cell that are shown.
const CELL: usize = 64;
/// The most findings that are shown.
const FINDINGS: usize = 5;
/// The most files of the user that are listed.
const FILES: usize = 20;

// Writing into a string cannot fail, so the results below are dropped.

/// Renders what it is, what came out, what was asked and done, and whether it is valid, on one screen.
pub fn render_inspection_human(exhibit: &Exhibit<'_>, screen: Screen) -> String {
    let description = describe(exhibit);
    let answers = Answers::of(exhibit);
    let faults = Faults::of(exhibit);
    let mut text = String::new();
    let title = format!("{}: {}", plain(exhibit.path), exhibit.format.title());
    let _ = writeln!(text, "{}", screen.bold(&title));
    if let Some(headline) = &description.headline {
        let _ = writeln!(text, "  {}", fit(&cell(headline, 200), screen.room(2)));
    }
    write_answers(&mut text, &answers, screen);
    write_outputs(&mut text, exhibit, &description, &faults, screen);
    for block in description
        .came_out
        .iter()
        .chain(&description.asked)
        .chain(&description.done)
    {
        write_block(&mut text, block, &faults, screen);
    }
    // What no recording sees is one line there; everything that this one lacks is listed.
    let short = &exhibit.identity.not_captured;
    let gaps = if short.is_empty() {
        &description.gaps
    } else {
        short
    };
    if !gaps.is_empty() {
        let _ = writeln!(text, "Not captured ({})", gaps.len());
        for gap in gaps {
            for line in wrap(&cell(gap, 300), screen.room(2)) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    if !description.facts.is_empty() {
        let _ = writeln!(text, "{}", screen.bold("Ids and hashes"));
        write_facts(&mut text, &description.facts, screen);
    }
    let bytes: u64 = exhibit.files.iter().map(|file| file.bytes).sum();
    if exhibit.files.len() > 1 {
        let _ = writeln!(text, "Files: {}, {bytes} bytes", exhibit.files.len());
    }
    write_verdict(&mut text, exhibit, screen);
    if let Some(found) = exhibit.authenticity {
        for (at, line) in found.lines().iter().enumerate() {
            let label = if at == 0 { "Signed: " } else { "  " };
            let _ = writeln!(text, "{label}{}", plain(line));
        }
    }
    text
}

/// Writes the files that the run left, before what every bundle has.
fn write_outputs(
    text: &mut String,
    exhibit: &Exhibit<'_>,
    description: &Description<'_>,
    faults: &Faults,
    screen: Screen,
) {
    let of_file = |block: &&Block<'_>| {
        let about = block.about.first();
        about.is_some_and(|about| about.pointer.is_none() && exhibit.file(&about.file).is_some())
    };
    let files: Vec<_> = description.came_out.iter().filter(of_file).collect();
    if files.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{}",
        screen.bold(&format!("What came out ({})", files.len()))
    );
    let names: Vec<String> = files
        .iter()
        .take(FILES)
        .map(|block| name_of(block))
        .collect();
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    for (block, name) in files.iter().zip(&names) {
        let about = block.about.first();
        let size = about
            .and_then(|about| exhibit.file(&about.file))
            .map(|file| file.bytes);
        let fault = about.and_then(|about| faults.of_file(&about.file));
        let mark = fault
            .map(|rules| format!("  WRONG: {rules}"))
            .unwrap_or_default();
        let size = size.map(size_text).unwrap_or_default();
        let line = format!(
            "  {}  {}  {}",
            pad(name, widest),
            pad(&size, 10),
            summary_of(block)
        );
        let line = fit(line.trim_end(), screen.room(mark.len())).into_owned();
        let _ = writeln!(text, "{line}{}", screen.tint(Tone::Bad, &mark));
    }
    if files.len() > FILES {
        let _ = writeln!(text, "  … and {} more", files.len() - FILES);
    }
}

fn name_of(block: &Block<'_>) -> String {
    let about = block.about.first().map(|about| about.file.as_str());
    cell(about.unwrap_or(&block.title), 80)
}

/// Writes the four answers in columns. Details that do not fit get their own lines.
fn write_answers(text: &mut String, answers: &Answers, screen: Screen) {
    /// The column where words begin, after a margin, the question and a sign.
    const WORDS: usize = 14;
    let words = answers.all().map(|answer| plain(&answer.word));
    let widest = words.iter().map(|word| columns(word)).max().unwrap_or(0);
    let is_narrow = screen
        .width
        .is_some_and(|width| width < WORDS + widest + 2 + 20);
    for (answer, word) in answers.all().into_iter().zip(&words) {
        let question = pad(answer.question, 8);
        let (gap, indent) = if is_narrow {
            (format!("\n{}", " ".repeat(WORDS)), WORDS)
        } else {
            let gap = " ".repeat(widest - columns(word) + 2);
            (gap, WORDS + widest + 2)
        };
        let detail = plain(&answer.detail);
        let _ = write!(
            text,
            "  {question}  {} {}",
            answer.tone.sign(),
            screen.tint(answer.tone, word)
        );
        let _ = if detail.is_empty() {
            writeln!(text)
        } else {
            let detail = fit(&detail, screen.room(indent)).into_owned();
            writeln!(text, "{gap}{}", screen.dim(&detail))
        };
    }
}

/// A file in a few words.
fn summary_of(block: &Block<'_>) -> String {
    match &block.body {
        Body::Tree(tree) => {
            let inner = tree.root.get("outputs").unwrap_or(tree.root);
            let members = inner
                .members()
                .filter(|(_, value)| value.as_number().is_some() || value.as_bool().is_some());
            let pairs: Vec<_> = members
                .take(6)
                .map(|(key, value)| {
                    let number = value.as_number().map(|number| number.text().to_owned());
                    let text =
                        number.unwrap_or_else(|| format!("{}", value.as_bool() == Some(true)));
                    format!("{} {text}", cell(&key.to_lossy(), 30))
                })
                .collect();
            pairs.join(", ")
        }
        Body::Csv(text) => {
            let (head, rows) = csv::summary(text);
            let rows = counted(rows, "row");
            if head.is_empty() {
                rows
            } else {
                format!("{rows}: {}", cell(&head.join(","), 60))
            }
        }
        Body::Image(kind, _) => kind.media_type().to_owned(),
        Body::Words(Words::Plain(text) | Words::Markdown(text)) => cell(
            text.lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default(),
            60,
        ),
        Body::Words(Words::Missing(reason)) => cell(reason, 60),
        _ => String::new(),
    }
}

fn write_facts(text: &mut String, facts: &[Fact], screen: Screen) {
    let widest = facts
        .iter()
        .map(|fact| columns(&plain(&fact.label)))
        .max()
        .unwrap_or(0);
    for fact in facts {
        let label = pad(&plain(&fact.label), widest);
        let value = fit(&cell(&fact.value, 100), screen.room(widest + 4)).into_owned();
        let _ = writeln!(text, "  {}  {value}", screen.dim(&label));
    }
}

fn write_block(text: &mut String, block: &Block<'_>, faults: &Faults, screen: Screen) {
    match &block.body {
        Body::Table(table) => write_table(text, &block.title, table, faults, screen),
        Body::Facts(facts) => {
            let _ = writeln!(text, "{}", screen.bold(&plain(&block.title)));
            write_facts(text, facts, screen);
        }
        Body::List(lines) => {
            let total = lines.shown.len() + lines.left_out;
            let title = format!("{} ({total})", plain(&block.title));
            let _ = writeln!(text, "{}", screen.bold(&title));
            for line in lines.shown.iter().take(ROWS) {
                let _ = writeln!(text, "  {}", fit(&cell(line, 300), screen.room(2)));
            }
            if total > ROWS {
                let _ = writeln!(text, "  … and {} more", total - ROWS);
            }
        }
        Body::Steps(steps) => {
            let title = format!("{} ({})", plain(&block.title), steps.len());
            let _ = writeln!(text, "{}", screen.bold(&title));
            for step in steps.iter().take(ROWS) {
                let state = step
                    .state
                    .as_deref()
                    .map(|state| format!("  {}", cell(state, 40)));
                let state = state.unwrap_or_default();
                let title = cell(&step.title, 120);
                let _ = writeln!(
                    text,
                    "  {}{state}",
                    fit(&title, screen.room(2 + state.len()))
                );
            }
            if steps.len() > ROWS {
                let _ = writeln!(text, "  … and {} more", steps.len() - ROWS);
            }
        }
        Body::Conversation(turns) => {
            let title = format!("{} ({})", plain(&block.title), turns.len());
            let _ = writeln!(text, "{}", screen.bold(&title));
            if !block.remark.is_empty() {
                for line in wrap(&cell(&block.remark, 600), screen.room(2)) {
                    let _ = writeln!(text, "  {line}");
                }
            }
            for turn in turns.iter().take(ROWS) {
                let said = match &turn.said {
                    Words::Plain(said) | Words::Markdown(said) => said.as_ref(),
                    Words::Missing(reason) => reason.as_str(),
                };
                let line = cell(&format!("{}: {said}", turn.role), 300);
                let _ = writeln!(text, "  {}", fit(&line, screen.room(2)));
            }
            if turns.len() > ROWS {
                let _ = writeln!(text, "  … and {} more", turns.len() - ROWS);
            }
        }
        _ => {}
    }
}

fn write_table(text: &mut String, title: &str, table: &Table, faults: &Faults, screen: Screen) {
    let total = table.rows.len() + table.left_out;
    let _ = writeln!(
        text,
        "{}",
        screen.bold(&format!("{} ({total})", plain(title)))
    );
    let rows = table.rows.iter().take(ROWS);
    let shown: Vec<(Vec<String>, Option<String>)> = rows
        .map(|row| {
            let cells = row.cells.iter().map(|text| cell(text, CELL)).collect();
            let wrong = faults.of_any(&row.about);
            (cells, wrong.map(str::to_owned))
        })
        .collect();
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            let cells = shown.iter().filter_map(|(row, _)| row.get(column));
            cells.map(|cell| columns(cell)).max().unwrap_or(0)
        })
        .collect();
    for (row, wrong) in &shown {
        let mark = wrong
            .as_ref()
            .map(|rules| format!("  WRONG: {rules}"))
            .unwrap_or_default();
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| pad(cell, *width));
        let line = format!("  {}", cells.collect::<Vec<_>>().join("  "));
        let line = cut_end(line.trim_end(), screen.room(mark.len()));
        let _ = writeln!(text, "{line}{}", screen.tint(Tone::Bad, &mark));
    }
    if total > shown.len() {
        let _ = writeln!(text, "  … and {} more", total - shown.len());
    }
}

/// Cuts the end of a line of a table.
fn cut_end(line: &str, room: usize) -> String {
    if columns(line) <= room {
        return line.to_owned();
    }
    let kept: String = line.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn write_verdict(text: &mut String, exhibit: &Exhibit<'_>, screen: Screen) {
    let results = exhibit.report.results().iter();
    let required = results.filter(|result| result.required);
    let passed = required
        .clone()
        .filter(|result| result.state == RuleState::Passed)
        .count();
    let findings: Vec<_> = exhibit.findings().collect();
    if exhibit.is_valid() {
        let of = required.count();
        let others = match of.saturating_sub(passed) {
            0 => "",
            1 => ", the other does not apply",
            _ => ", the others do not apply",
        };
        let _ = writeln!(
            text,
            "Verdict: valid ({passed} of {of} rules passed{others})"
        );
        return;
    }
    let verdict = format!("Verdict: INVALID ({})", counted(findings.len(), "finding"));
    let _ = writeln!(text, "{}", screen.tint(Tone::Bad, &verdict));
    for finding in findings.iter().take(FINDINGS) {
        let place = finding.path().map(|path| format!("{path}: "));
        let line = format!(
            "{} {}{}",
            finding.rule_id,
            place.unwrap_or_default(),
            finding.message
        );
        for line in wrap(&plain(&line), screen.room(2)) {
            let _ = writeln!(text, "  {line}");
        }
    }
    if findings.len() > FINDINGS {
        let _ = writeln!(text, "  … `runseal verify` shows all of them");
    }
}

/// Renders all of it as JSON.
pub fn render_inspection_json(exhibit: &Exhibit<'_>) -> Value {
    let description = describe(exhibit);
    let facts = description.facts.iter().map(|fact| {
        Value::object([
            ("label", fact.label.as_str()),
            ("value", fact.value.as_str()),
        ])
    });
    let strings = |cells: &[String]| Value::array(cells.iter().map(String::as_str));
    let tables = description.blocks().filter_map(|block| match &block.body {
        Body::Table(table) => Some((block.title.as_str(), table)),
        _ => None,
    });
    let sections = tables.map(|(title, table)| {
        Value::object([
            ("title", Value::from(title)),
            ("columns", strings(&table.columns)),
            (
                "rows",
                Value::array(table.rows.iter().map(|row| strings(&row.cells))),
            ),
        ])
    });
    let files = exhibit.files.iter().map(|file| {
        Value::object([
            ("path", Value::from(file.path.as_str())),
            ("bytes", Value::from(file.bytes)),
            (
                "sha256",
                Value::from(file.sha256.map(|digest| digest.to_string())),
            ),
        ])
    });
    let findings: Vec<_> = exhibit.findings().cloned().collect();
    let mut inspection = Value::object([
        ("facts", Value::array(facts)),
        ("files", Value::array(files)),
        ("format", Value::from(exhibit.format.name())),
        ("headline", Value::from(description.headline.clone())),
        ("ok", Value::from(exhibit.is_valid())),
        ("path", Value::from(exhibit.path)),
        ("sections", Value::array(sections)),
        ("violations", violations_json(&findings)),
    ]);
    if let Some(found) = exhibit.authenticity {
        found.add_to_json(&mut inspection);
    }
    inspection
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Answer;

    fn answers_at(width: Option<usize>) -> String {
        let answer = |question, word: &str| Answer {
            question,
            tone: Tone::Good,
            word: word.to_owned(),
            detail: "every rule that was asked for holds, as far as it goes".to_owned(),
        };
        let answers = Answers {
            intact: answer("Intact", "Intact"),
            signed: answer("Signed", "Signed"),
            trusted: answer("Trusted", "Not asked"),
            outcome: answer("Outcome", "Accepted"),
        };
        let screen = Screen {
            width,
            ..Screen::default()
        };
        let mut text = String::new();
        write_answers(&mut text, &answers, screen);
        text
    }

    #[test]
    fn answers_fit_the_screen() {
        for width in [40, 44, 45, 60, 80, 200] {
            let text = answers_at(Some(width));
            let widest = text.lines().map(columns).max().unwrap();
            assert!(widest <= width, "{width}:\n{text}");
        }
        assert_eq!(answers_at(Some(40)).lines().count(), 8);
        let wide = answers_at(None);
        assert_eq!(wide.lines().count(), 4);
        let starts: Vec<_> = wide.lines().map(|line| line.find("every")).collect();
        assert!(starts.iter().all(|start| *start == starts[0]), "{wide}");
    }
}
