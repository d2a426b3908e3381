//! `runseal catalog show`: everything the catalogue knows about a run.

use runseal_core::canon::Dialect;
use runseal_core::verify::Outcome;
use runseal_report::terminal::render_table;
use runseal_store::catalog::{CatalogReader, Entry, entries_of, resolve};

use super::export::{csv_entry, csv_headings};
use super::place::CatalogArgs;
use super::table::{EntryFormat, joined};
use crate::error::CliError;
use crate::ui;

/// Show everything that the catalogue knows about a run.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog show 3fa9c2d1\n  runseal catalog show baseline --format json"
)]
pub struct Args {
    /// The first digits of a digest, four or more; or a tag, for all that have it.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = EntryFormat::Human)]
    format: EntryFormat,
    #[command(flatten)]
    store: CatalogArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let catalog = args.store.read()?;
    if args.format == EntryFormat::Csv {
        print_csv(&*catalog, &args.runs)?;
        return Ok(Outcome::Valid);
    }
    let mut is_first = true;
    for name in &args.runs {
        for entry in entries_named(&*catalog, name)? {
            if args.format == EntryFormat::Json {
                ui::print_asked_json(&entry.to_value(), Dialect::Jcs)?;
                continue;
            }
            if !is_first {
                ui::print_line("")?;
            }
            print_entry(&entry)?;
            is_first = false;
        }
    }
    Ok(Outcome::Valid)
}

fn entries_named(catalog: &dyn CatalogReader, name: &str) -> Result<Vec<Entry>, CliError> {
    let digests = resolve(catalog, name)?;
    entries_of(catalog, &digests).map_err(CliError::from)
}

/// Prints all runs as one table, with the columns of `catalog export`.
fn print_csv(catalog: &dyn CatalogReader, runs: &[String]) -> Result<(), CliError> {
    let mut entries = Vec::new();
    for name in runs {
        entries.extend(entries_named(catalog, name)?);
    }
    let values = entries.iter().flat_map(|entry| entry.values.keys());
    let names = values.map(|name| (name.clone(), ())).collect();
    ui::print_bytes(csv_headings(&names).as_bytes())?;
    for entry in &entries {
        ui::print_bytes(csv_entry(entry, &names).as_bytes())?;
    }
    Ok(())
}

fn print_entry(entry: &Entry) -> Result<(), CliError> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add = |name: &str, text: &str| {
        if !text.is_empty() {
            rows.push(vec![name.to_owned(), text.to_owned()]);
        }
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    add("format", &entry.format);
    add("id", &text(&entry.id));
    add("engine", &text(&entry.engine));
    add("outcome", &text(&entry.outcome));
    add("time", &text(&entry.time));
    add("tags", &joined(entry.tags.iter().map(String::as_str)));
    for sighting in &entry.sightings {
        add(
            "seen at",
            &format!("{} ({})", sighting.place, sighting.signer),
        );
    }
    for (name, scalar) in &entry.values {
        add(&name.shown(&entry.values), &scalar.shown());
    }
    if entry.left_out > 0 {
        add(
            "left out",
            &format!("{} values, too many or too long", entry.left_out),
        );
    }
    let headers = ["digest".to_owned(), entry.digest.to_string()];
    let table = render_table(ui::screen(), &headers, &rows);
    ui::print_text(&table)
}
