//! `runseal catalog remove`: removes runs from the catalogue, not from disk.

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;

use super::place::{CatalogArgs, resolve_all};
use crate::error::CliError;
use crate::ui;

/// Take runs out of the catalogue, with their tags. The bundles themselves stay where they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal catalog remove 3fa9c2d1")]
pub struct Args {
    /// The first digits of a digest, four or more; or a tag, for all that have it.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    store: CatalogArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut catalog = args.store.open()?;
    let digests = resolve_all(catalog.as_reader(), &args.runs)?;
    let removed = catalog.remove(&digests)?;
    ui::print_json(&Value::object([("removed", removed)]), Dialect::Jcs)?;
    Ok(Outcome::Valid)
}
