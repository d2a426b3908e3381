//! `runseal job symbol`: names for sections.

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::job_bundle::slice::parse_slice;
use runseal_core::verify::Outcome;
use runseal_store::job::lookup::find_section;
use runseal_store::store::{SectionRecord, StoreReader, SymbolRecord};

use super::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Give sections names that plans can use.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: SymbolCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SymbolCommand {
    Add(AddArgs),
    List(ListArgs),
    Remove(RemoveArgs),
    Show(ShowArgs),
}

/// Add a symbol, or point one elsewhere.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal job symbol add @guide docs/job-bundles.md --slice 'lines[0:40]'"
)]
struct AddArgs {
    /// The name, beginning with `@`.
    #[arg(value_name = "@NAME")]
    name: String,
    /// The section: its id, its file, or its file and heading as `docs/a.md#Heading`.
    section: String,
    /// The slice for steps that give none.
    #[arg(long)]
    slice: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// List all symbols.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job symbol list")]
struct ListArgs {
    #[command(flatten)]
    store: StoreArgs,
}

/// Remove one symbol; the section that it names stays, and so do jobs that used it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job symbol remove @guide")]
struct RemoveArgs {
    /// The name, beginning with `@`.
    #[arg(value_name = "@NAME")]
    name: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Show one symbol.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal job symbol show @guide")]
struct ShowArgs {
    /// The name, beginning with `@`.
    #[arg(value_name = "@NAME")]
    name: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match &args.command {
        SymbolCommand::Add(args) => add(args),
        SymbolCommand::List(args) => {
            let store = args.store.read()?;
            let symbols = store.symbols()?;
            let shown = symbols.iter().map(|symbol| show(&*store, symbol));
            let shown = shown.collect::<Result<Vec<_>, _>>()?;
            let printed = Value::object([("symbols", Value::Array(shown))]);
            ui::print_json(&printed, Dialect::Kernel)?;
            Ok(Outcome::Valid)
        }
        SymbolCommand::Remove(args) => {
            let mut store = args.store.open()?;
            if !store.remove_symbol(&args.name)? {
                return Err(unknown(&args.name));
            }
            let printed = Value::object([("removed", args.name.as_str())]);
            ui::print_json(&printed, Dialect::Kernel)?;
            Ok(Outcome::Valid)
        }
        SymbolCommand::Show(args) => {
            let store = args.store.read()?;
            let symbol = store.symbol(&args.name)?;
            let symbol = symbol.ok_or_else(|| unknown(&args.name))?;
            ui::print_json(&show(&*store, &symbol)?, Dialect::Kernel)?;
            Ok(Outcome::Valid)
        }
    }
}

fn add(args: &AddArgs) -> Result<Outcome, CliError> {
    let has_name = args
        .name
        .strip_prefix('@')
        .is_some_and(|name| !name.is_empty());
    if !has_name
        || args
            .name
            .contains(|c: char| c.is_whitespace() || c.is_control())
    {
        let message = format!("`{}` is not a symbol name", args.name);
        return Err(CliError::usage(
            message,
            "a name begins with `@` and has no spaces",
        ));
    }
    if let Some(slice) = &args.slice
        && let Err(error) = parse_slice(slice)
    {
        return Err(CliError::new(Outcome::Invalid, "SLICE", error.to_string())
            .hint("slices are lines[a:b], chars[a:b], head(n) and tail(n)"));
    }
    let mut store = args.store.open()?;
    let section = find_section(store.as_reader(), &args.section)?;
    let symbol = SymbolRecord {
        symbol_id: args.name.clone(),
        section_id: section.section_id,
        default_slice: args.slice.clone(),
    };
    store.put_symbol(&symbol)?;
    ui::print_json(&show(store.as_reader(), &symbol)?, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

fn unknown(name: &str) -> CliError {
    CliError::new(
        Outcome::Invalid,
        "UNKNOWN_SYMBOL",
        format!("there is no symbol `{name}`"),
    )
    .hint("`runseal job symbol list` shows all symbols")
}

/// A symbol and the section that it names.
fn show(store: &dyn StoreReader, symbol: &SymbolRecord) -> Result<Value, CliError> {
    let section: Option<SectionRecord> = store.section(&symbol.section_id)?;
    let mut shown = Value::object([
        ("symbol_id", symbol.symbol_id.as_str()),
        ("section_id", symbol.section_id.as_str()),
    ]);
    shown.insert("default_slice", symbol.default_slice.as_deref());
    if let Some(section) = section {
        shown.insert("file_path", section.file_path.as_str());
        shown.insert("line_start", section.line_start);
        shown.insert("line_end", section.line_end);
        shown.insert("content_hash", section.content_hash.as_str());
    }
    Ok(shown)
}
