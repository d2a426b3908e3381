//! `runseal catalog compare`: runs side by side.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_report::plot::{MOST_PANELS, PlotRow, render_plot};
use runseal_report::terminal::{render_spark, render_table};
use runseal_store::catalog::compare::{Comparison, compare};
use runseal_store::catalog::{Scalar, entries_of, resolve};

use super::place::CatalogArgs;
use super::table::{csv_line, short_digest};
use crate::error::CliError;
use crate::output::{file_named, put_bytes};
use crate::ui;

/// The most runs that can be compared side by side.
const MOST: usize = 64;

/// Show what differs between runs: fields, parameters and metrics, side by side.
///
/// Numbers get a sparkline, from the first run to the last.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog compare 3fa9 81bc 0d44\n  runseal catalog compare sweep --plot sweep.svg\n  runseal catalog compare baseline 81bc --format csv > differences.csv"
)]
pub struct Args {
    /// The first digits of a digest, four or more; or a tag, for all that have it, by digest. Two runs or more.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Show what is the same everywhere too.
    #[arg(long)]
    all: bool,
    /// Draw the numbers that differ into this SVG file; `-` prints the drawing instead of the table.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = CompareFormat::Human)]
    format: CompareFormat,
    #[command(flatten)]
    store: CatalogArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CompareFormat {
    /// A table.
    Human,
    /// One JSON object.
    Json,
    /// Comma-separated values, RFC 4180.
    Csv,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let ending = args.plot.as_ref().and_then(|path| path.extension());
    if ending.is_some_and(|ending| !ending.eq_ignore_ascii_case("svg")) {
        return Err(CliError::usage(
            "the plot is an SVG file, but the name does not say so",
            "end the name with .svg",
        ));
    }
    let is_printed = args.plot.is_some() && file_named(args.plot.as_deref()).is_none();
    if is_printed && args.format != CompareFormat::Human {
        return Err(CliError::usage(
            "the drawing and the comparison cannot both go to standard output",
            "name a file with --plot, or leave --format out",
        ));
    }
    let catalog = args.store.read()?;
    let mut digests = Vec::new();
    for name in &args.runs {
        let named = resolve(&*catalog, name)?;
        for digest in named {
            if !digests.contains(&digest) {
                digests.push(digest);
            }
        }
    }
    if !(2..=MOST).contains(&digests.len()) {
        let message = format!(
            "{} named, but 2 to {MOST} can be compared",
            count(digests.len())
        );
        return Err(CliError::usage(
            message,
            "name runs by digest, or by a tag that several have",
        ));
    }
    let entries = entries_of(&*catalog, &digests)?;
    let comparison = compare(entries, args.all);
    if let Some(plot) = &args.plot {
        let svg = draw(&comparison)?;
        put_bytes(svg.as_bytes(), Some(plot))?;
        if file_named(Some(plot)).is_none() {
            return Ok(Outcome::Valid);
        }
    }
    match args.format {
        CompareFormat::Human => print_human(&comparison)?,
        CompareFormat::Json => ui::print_asked_json(&render_json(&comparison), Dialect::Jcs)?,
        CompareFormat::Csv => print_csv(&comparison)?,
    }
    Ok(Outcome::Valid)
}

fn count(runs: usize) -> String {
    match runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    }
}

fn names(comparison: &Comparison) -> Vec<String> {
    comparison.entries.iter().map(short_digest).collect()
}

fn shown(cell: &Option<Scalar>) -> String {
    cell.as_ref().map(Scalar::shown).unwrap_or_default()
}

fn draw(comparison: &Comparison) -> Result<String, CliError> {
    let rows: Vec<PlotRow> = comparison
        .rows
        .iter()
        .filter(|row| row.differs)
        .filter_map(|row| {
            Some(PlotRow {
                name: row.name.clone(),
                numbers: row.numbers()?,
            })
        })
        .collect();
    if rows.is_empty() {
        let message = "no number differs, so there is nothing to draw";
        return Err(CliError::new(Outcome::Unreadable, "NOT_FOUND", message)
            .hint("leave --plot out; the table shows what else differs"));
    }
    if rows.len() > MOST_PANELS {
        ui::note(&format!(
            "{} numbers differ; the first {MOST_PANELS} are drawn",
            rows.len()
        ));
    }
    Ok(render_plot(&names(comparison), &rows))
}

fn print_human(comparison: &Comparison) -> Result<(), CliError> {
    let mut headers = vec![String::new()];
    headers.extend(names(comparison));
    headers.push(String::new());
    let rows: Vec<Vec<String>> = comparison
        .rows
        .iter()
        .map(|row| {
            let mut cells = vec![row.name.clone()];
            cells.extend(row.cells.iter().map(shown));
            let spark = row.numbers().filter(|_| row.differs);
            cells.push(
                spark
                    .map(|numbers| render_spark(&numbers))
                    .unwrap_or_default(),
            );
            cells
        })
        .collect();
    ui::print_text(&render_table(ui::screen(), &headers, &rows))?;
    match (comparison.rows.is_empty(), comparison.same) {
        (true, _) => ui::note("nothing that the catalogue knows differs"),
        (false, 0) => {}
        (false, same) => ui::note(&format!(
            "{same} more are the same everywhere: --all shows them"
        )),
    }
    Ok(())
}

fn print_csv(comparison: &Comparison) -> Result<(), CliError> {
    let digests: Vec<String> = comparison
        .entries
        .iter()
        .map(|entry| entry.digest.to_string())
        .collect();
    let headers = std::iter::once("name").chain(digests.iter().map(String::as_str));
    ui::print_bytes(csv_line(headers).as_bytes())?;
    for row in &comparison.rows {
        let cells: Vec<String> = row.cells.iter().map(shown).collect();
        let line = std::iter::once(row.name.as_str()).chain(cells.iter().map(String::as_str));
        ui::print_bytes(csv_line(line).as_bytes())?;
    }
    Ok(())
}

fn render_json(comparison: &Comparison) -> Value {
    let runs = comparison
        .entries
        .iter()
        .map(|entry| entry.digest.to_string());
    let rows = comparison.rows.iter().map(|row| {
        let mut printed = Value::object([("name", row.name.as_str())]);
        let cells = row.cells.iter().map(|cell| match cell {
            Some(scalar) => scalar.to_value(),
            None => Value::Null,
        });
        printed.insert("values", Value::array(cells));
        printed.insert("differs", row.differs);
        printed
    });
    let mut printed = Value::object([("runs", Value::array(runs))]);
    printed.insert("rows", Value::array(rows));
    printed.insert("same", comparison.same);
    printed
}
