//! A CSV file as a table, with a sparkline for each column of numbers.

use maud::{Markup, html};
use runseal_core::csv::parse_records;

use super::budget::Budget;
use super::svg::sparkline;
use crate::limits::{COLUMNS, CSV, CSV_ROWS};
use crate::reveal::{counted, cut};

/// The most characters of a cell that are shown.
const CELL: usize = 80;
/// The most cells that are read.
const MOST_CELLS: usize = 400_000;

/// The separator of cells: the one that the first line has most of.
fn separator_of(text: &str) -> char {
    let first = text.lines().next().unwrap_or_default();
    let count = |c: char| first.matches(c).count();
    let found = [',', ';', '\t']
        .into_iter()
        .max_by_key(|c| (count(*c), *c == ','));
    found.unwrap_or(',')
}

fn number(cell: &str) -> Option<f64> {
    let number: f64 = cell.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// The names of the columns, if the first record has them, and the number of other records.
pub(crate) fn summary(text: &str) -> (Vec<String>, usize) {
    let mut rows = parse_records(text, separator_of(text), MOST_CELLS);
    let head = if has_head(&rows) {
        rows.remove(0)
    } else {
        Vec::new()
    };
    (head, rows.len())
}

/// Whether the first record names the columns.
fn has_head(rows: &[Vec<String>]) -> bool {
    rows.len() > 1 && rows[0].iter().all(|cell| number(cell).is_none())
}

pub(super) fn table(text: &str, title: &str, budget: &mut Budget) -> Markup {
    let read = &text[..text.floor_char_boundary(CSV)];
    let mut rows = parse_records(read, separator_of(read), MOST_CELLS);
    if read.len() < text.len() {
        // The last record may be incomplete.
        rows.pop();
        budget.note(format!(
            "{} bytes of {}",
            text.len() - read.len(),
            cut(title, 120)
        ));
    }
    if rows.is_empty() {
        return html! { p.missing { "no records" } };
    }
    let head = if has_head(&rows) {
        rows.remove(0)
    } else {
        Vec::new()
    };
    let width = rows.iter().map(Vec::len).max().unwrap_or(0).max(head.len());
    let columns = width.min(COLUMNS);
    if width > COLUMNS {
        let more = counted(width - COLUMNS, "column");
        budget.note(format!("{more} of {}", cut(title, 120)));
    }
    let numbers: Vec<Option<Vec<f64>>> = (0..columns)
        .map(|column| column_of(&rows, column))
        .collect();
    let shown = rows.len().min(CSV_ROWS);
    let size: usize = rows
        .iter()
        .take(shown)
        .flatten()
        .map(|cell| cell.len().min(CELL))
        .sum();
    let _ = budget.take_text(size);
    html! {
        div.scroll.long-table tabindex="0" role="group" aria-label=(title) {
            table.csv {
                thead {
                    tr { @for column in 0..columns {
                        th scope="col" class=[numbers[column].as_ref().map(|_| "number")] {
                            @match head.get(column) {
                                Some(name) => (cut(name, CELL)),
                                None => { "column " (column + 1) },
                            }
                        }
                    } }
                    @if numbers.iter().any(Option::is_some) && rows.len() > 2 {
                        tr.lines { @for column in &numbers {
                            td { @if let Some(points) = column { (column_line(points)) } }
                        } }
                    }
                }
                tbody { @for row in rows.iter().take(shown) {
                    tr { @for column in 0..columns {
                        td class=[numbers[column].as_ref().map(|_| "number")] {
                            (cut(row.get(column).map_or("", String::as_str), CELL))
                        }
                    } }
                } }
            }
        }
        p.more {
            (counted(rows.len(), "row"))
            @if rows.len() > shown { "; the first " (shown) " are shown" }
            @if width > columns { "; " (width) " columns; the first " (columns) " are shown" }
        }
    }
}

/// The numbers of a column, if it has nothing else.
fn column_of(rows: &[Vec<String>], column: usize) -> Option<Vec<f64>> {
    let cells = rows
        .iter()
        .map(|row| row.get(column).map_or("", String::as_str));
    let numbers: Option<Vec<f64>> = cells
        .filter(|cell| !cell.trim().is_empty())
        .map(number)
        .collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

fn column_line(points: &[f64]) -> Markup {
    let least = points.iter().copied().fold(f64::INFINITY, f64::min);
    let most = points.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    html! {
        (sparkline(points))
        span.range { (short(least)) " – " (short(most)) }
    }
}

/// A number in a few digits.
fn short(number: f64) -> String {
    let size = number.abs();
    if number == number.trunc() && size < 1e9 {
        return format!("{number:.0}");
    }
    if (1e-3..1e6).contains(&size) {
        let text = format!("{number:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{number:.3e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separator_is_what_the_first_line_has_most_of() {
        assert_eq!(separator_of("a;b;c,d\n"), ';');
        assert_eq!(separator_of("a\tb\n1\t2"), '\t');
        assert_eq!(separator_of("alone"), ',');
    }

    #[test]
    fn short_numbers_stay_numbers() {
        assert_eq!(short(400.0), "400");
        assert_eq!(short(-0.125), "-0.125");
        assert_eq!(short(1.5e12), "1.500e12");
    }
}
