//! Entries as tables, JSON and CSV.

use runseal_core::canon::{Dialect, Value};
use runseal_core::hidden::{answer_text, reveal};
use runseal_report::terminal::render_table;
use runseal_store::catalog::{CatalogReader, Entry, Query, ValueName};

use super::place::filter_error;
use crate::error::{CliError, Named};
use crate::ui;

/// How many entries a table shows when no limit is given.
const SHOWN: usize = 50;

/// How entries are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EntryFormat {
    /// A table.
    Human,
    /// One JSON object per line.
    Json,
    /// Comma-separated values, RFC 4180: the columns of the table, all of them, with whole digests.
    Csv,
}

/// What `list` and `search` have in common.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only entries that match this, such as 'metrics.rmse<0.3 and engine=FLATS'.
    #[arg(long = "where", value_name = "FILTER")]
    pub filter: Option<String>,
    /// Further columns of the table: parameters and metrics, such as params.seed. Those that --where
    /// asks about are shown anyway.
    #[arg(long = "columns", value_name = "NAME", value_delimiter = ',')]
    columns: Vec<String>,
    /// The most entries to show; 0 for all. By default 50 in a table.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = EntryFormat::Human)]
    format: EntryFormat,
}

/// The first digits of a digest, enough to name it in most catalogues.
pub fn short_digest(entry: &Entry) -> String {
    entry.digest.hex_prefix(12)
}

/// Several texts in one cell, separated by commas.
pub fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().collect::<Vec<_>>().join(", ")
}

/// A column: its heading, and the names of values that it shows.
type ValueColumn = (String, [ValueName; 2]);

impl ListArgs {
    /// Prints what the query finds.
    pub fn print(&self, catalog: &dyn CatalogReader, mut query: Query) -> Result<(), CliError> {
        let columns = self.value_columns(&query)?;
        match self.format {
            EntryFormat::Json => {
                query.limit = self.limit.filter(|limit| *limit > 0);
                visit(catalog, &query, |entry| {
                    ui::print_asked_json(&entry.to_value(), Dialect::Jcs)
                })
            }
            EntryFormat::Csv => {
                query.limit = self.limit.filter(|limit| *limit > 0);
                ui::print_bytes(csv_line(headers(&columns).iter().map(String::as_str)).as_bytes())?;
                visit(catalog, &query, |entry| {
                    let row = row_of(&entry, entry.digest.to_string(), &columns);
                    ui::print_bytes(csv_line(row.iter().map(String::as_str)).as_bytes())
                })
            }
            EntryFormat::Human => {
                let limit = self.limit.unwrap_or(SHOWN);
                // Ask for one more than is shown, to learn whether there are more.
                query.limit = (limit > 0).then(|| limit.saturating_add(1));
                let mut entries = Vec::new();
                visit(catalog, &query, |entry| {
                    entries.push(entry);
                    Ok(())
                })?;
                let has_more = limit > 0 && entries.len() > limit;
                entries.truncate(if limit > 0 { limit } else { usize::MAX });
                if entries.is_empty() {
                    ui::note("nothing in the catalogue matches");
                    return Ok(());
                }
                print_table(&entries, &columns)?;
                if has_more {
                    ui::note(&format!(
                        "there are more than these {limit}: --limit 0 shows all"
                    ));
                }
                Ok(())
            }
        }
    }

    fn value_columns(&self, query: &Query) -> Result<Vec<ValueColumn>, CliError> {
        let mut columns: Vec<ValueColumn> = Vec::new();
        let asked = query.filter.iter().flat_map(|filter| filter.value_names());
        for (root, parts) in asked {
            let names = ValueName::of_parts(root, &parts);
            columns.push((names[0].to_string(), names));
        }
        for text in &self.columns {
            let names = runseal_store::catalog::filter::parse_value_name(text)
                .map_err(|error| filter_error(text, &error))?;
            if !columns.iter().any(|(_, known)| *known == names) {
                columns.push((names[0].to_string(), names));
            }
        }
        Ok(columns)
    }
}

/// Calls `see` with every entry that the query finds, until `see` fails.
pub fn visit(
    catalog: &dyn CatalogReader,
    query: &Query,
    mut see: impl FnMut(Entry) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut failed = None;
    let visited = catalog.visit(query, &mut |entry| match see(entry) {
        Ok(()) => true,
        Err(error) => {
            failed = Some(error);
            false
        }
    });
    visited?;
    failed.map_or(Ok(()), Err)
}

/// The headings of a list of entries.
fn headers(columns: &[ValueColumn]) -> Vec<String> {
    let fixed = [
        "digest", "format", "id", "engine", "outcome", "signer", "time", "tags",
    ];
    let asked = columns.iter().map(|(heading, _)| heading.clone());
    fixed.into_iter().map(str::to_owned).chain(asked).collect()
}

/// The cells that every list has for an entry: its digest as shown, and what it is.
pub fn fixed_cells(entry: &Entry, digest: String) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    vec![
        digest,
        entry.format.clone(),
        text(&entry.id),
        text(&entry.engine),
        text(&entry.outcome),
        joined(entry.signers()),
        text(&entry.time),
        joined(entry.tags.iter().map(String::as_str)),
    ]
}

/// An entry under those headings.
fn row_of(entry: &Entry, digest: String, columns: &[ValueColumn]) -> Vec<String> {
    let mut row = fixed_cells(entry, digest);
    row.extend(columns.iter().map(|(_, names)| {
        let found = names.iter().find_map(|name| entry.values.get(name));
        found.map(|scalar| scalar.shown()).unwrap_or_default()
    }));
    row
}

fn print_table(entries: &[Entry], columns: &[ValueColumn]) -> Result<(), CliError> {
    let headers = headers(columns);
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| row_of(entry, short_digest(entry), columns))
        .collect();
    // Leave out empty columns, which would take room from the others.
    let is_used = |at: usize| at == 0 || rows.iter().any(|row| !row[at].is_empty());
    let used: Vec<usize> = (0..headers.len()).filter(|at| is_used(*at)).collect();
    let pick = |row: &[String]| used.iter().map(|at| row[*at].clone()).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| pick(row)).collect();
    let table = render_table(ui::screen(), &pick(&headers), &rows);
    ui::print_text(&table)
}

/// A line of CSV (RFC 4180) for spreadsheets. Cells repeat what others wrote, so hidden characters are written out, and
/// a text that a spreadsheet would take for a formula has a `'` before it.
pub fn csv_line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = cells
        .into_iter()
        .map(|cell| {
            let cell = disarm(cell);
            let cell = reveal(&cell);
            if cell.contains(['"', ',', ';', '\t', '|', '\n', '\'']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.into_owned()
            }
        })
        .collect();
    format!("{}\r\n", quoted.join(","))
}

/// What spreadsheets take for the end of a cell, other than the comma.
const SEPARATORS: [char; 5] = [';', '\t', '|', '\n', '\r'];

/// The cell with a `'` before whatever a spreadsheet would take for a formula, by any separator.
fn disarm(cell: &str) -> String {
    let mut disarmed = String::with_capacity(cell.len());
    for (at, piece) in cell.split_inclusive(SEPARATORS).enumerate() {
        let read = if at == 0 {
            cell
        } else {
            piece.trim_end_matches(SEPARATORS)
        };
        if is_formula(read) {
            disarmed.push('\'');
        }
        disarmed.push_str(piece);
    }
    disarmed
}

/// Whether a spreadsheet may take a text for a formula. Numbers with a sign are numbers.
fn is_formula(cell: &str) -> bool {
    let is_number = cell.trim().parse::<f64>().is_ok_and(f64::is_finite);
    // The wide forms count in spreadsheets that run in an East Asian language.
    let signs = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    !is_number && cell.trim_start_matches([' ', '"']).starts_with(signs)
}

/// JSON on one line.
pub fn json_text(value: &Value) -> Result<String, CliError> {
    answer_text(value, Dialect::Jcs).named("standard output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_would_break_a_line() {
        assert_eq!(
            csv_line(["a", "b,c", "d\"e", "f\ng", ""]),
            "a,\"b,c\",\"d\"\"e\",\"f\ng\",\r\n"
        );
    }

    #[test]
    fn csv_cell_is_never_a_formula_and_a_number_stays_one() {
        for number in ["-1.5e-3", "+7", "-0", "42", "0.25"] {
            assert_eq!(csv_line([number]), format!("{number}\r\n"));
        }
        for text in [
            "=1+1",
            "+cmd|' /C calc'!A0",
            "-2+3",
            "@SUM(A1)",
            "-inf",
            "＝1",
            " =1",
        ] {
            let line = csv_line([text]);
            let cell = line.trim_end().trim_matches('"');
            assert!(cell.starts_with('\''), "{line}");
        }
        assert_eq!(csv_line(["\t=1"]), "\"'\t'=1\"\r\n");
        assert_eq!(csv_line(["x;=1+1"]), "\"x;'=1+1\"\r\n");
        assert_eq!(csv_line(["x|-2;;@y"]), "\"x|-2;;'@y\"\r\n");
        assert_eq!(csv_line(["\r\u{202e}"]), "\"'\\u{d}\\u{202e}\"\r\n");
    }
}
