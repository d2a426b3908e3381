//! `runseal catalog list`: the entries, newest first.

use runseal_core::verify::Outcome;
use runseal_store::catalog::Query;

use super::place::{CatalogArgs, parse_filter};
use super::table::ListArgs;
use crate::error::CliError;

/// List what is in the catalogue, newest first by the bundles' own times.
///
/// A filter compares names with values: = != < <= > >= and ~ (contains), joined by and, or, not and
/// parentheses. Names are params.NAME (RUN_INPUT.json), metrics.NAME (RUN_OUTPUT.json), tag, format, id,
/// engine, outcome, signer, time, digest and place. docs/catalog.md says more.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog list --where 'metrics.rmse<0.3 and engine=FLATS'\n  runseal catalog list --where 'not signer=unsigned and time>=2026-11' --columns params.seed\n  runseal catalog list --where 'params.model~small' --format json"
)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    store: CatalogArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let query = Query {
        filter: parse_filter(args.list.filter.as_deref())?,
        ..Query::default()
    };
    let catalog = args.store.read()?;
    args.list.print(&*catalog, query)?;
    Ok(Outcome::Valid)
}
