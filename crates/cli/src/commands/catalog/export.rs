//! `runseal catalog export`: every entry in full, for other programs.

use std::collections::BTreeMap;

use runseal_core::verify::Outcome;
use runseal_store::catalog::{Entry, Query, ValueName};

use super::place::{CatalogArgs, parse_filter};
use super::table::{csv_line, fixed_cells, joined, json_text, visit};
use crate::error::CliError;
use crate::ui;

/// Print entries with all their parameters and metrics, for spreadsheets and other programs.
///
/// JSON is one array, with one entry per line. CSV has a column for every parameter and metric that
/// one of the entries has.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog export --format csv > runs.csv\n  runseal catalog export --format json --where 'engine=FLATS' > flats.json"
)]
pub struct Args {
    /// How to print.
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// Only entries that match this, such as 'metrics.rmse<0.3 and engine=FLATS'.
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    store: CatalogArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// Comma-separated values, RFC 4180.
    Csv,
    /// One JSON array.
    Json,
}

/// The columns before those of parameters and metrics.
const FIXED: [&str; 9] = [
    "digest", "format", "id", "engine", "outcome", "signer", "time", "tags", "places",
];

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let query = Query {
        filter: parse_filter(args.filter.as_deref())?,
        ..Query::default()
    };
    let catalog = args.store.read()?;
    match args.format {
        ExportFormat::Json => {
            let mut before = "[\n";
            visit(&*catalog, &query, |entry| {
                let line = json_text(&entry.to_value())?;
                let begun = std::mem::replace(&mut before, ",\n");
                ui::print_bytes(format!("{begun}{line}").as_bytes())
            })?;
            let end = if before == "[\n" { "[]\n" } else { "\n]\n" };
            ui::print_bytes(end.as_bytes())?;
        }
        ExportFormat::Csv => {
            let mut names: BTreeMap<ValueName, ()> = BTreeMap::new();
            visit(&*catalog, &query, |entry| {
                names.extend(entry.values.into_keys().map(|name| (name, ())));
                Ok(())
            })?;
            ui::print_bytes(csv_headings(&names).as_bytes())?;
            visit(&*catalog, &query, |entry| {
                ui::print_bytes(csv_entry(&entry, &names).as_bytes())
            })?;
        }
    }
    Ok(Outcome::Valid)
}

/// The first line of the CSV: what every entry has, then these parameters and metrics.
pub fn csv_headings(names: &BTreeMap<ValueName, ()>) -> String {
    let shown: Vec<String> = names.keys().map(|name| name.shown(names)).collect();
    csv_line(FIXED.into_iter().chain(shown.iter().map(String::as_str)))
}

/// An entry under those headings. A value without a column, which was added after the names were collected, is left out.
pub fn csv_entry(entry: &Entry, names: &BTreeMap<ValueName, ()>) -> String {
    let mut cells = fixed_cells(entry, entry.digest.to_string());
    cells.push(joined(entry.places()));
    cells.extend(names.keys().map(|name| {
        let scalar = entry.values.get(name);
        scalar.map(|scalar| scalar.shown()).unwrap_or_default()
    }));
    csv_line(cells.iter().map(String::as_str))
}
