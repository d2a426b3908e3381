//! `runseal catalog rebuild`: makes the catalogue again from the bundles alone.

use std::collections::BTreeSet;

use runseal_core::canon::Dialect;
use runseal_core::verify::Outcome;
use runseal_store::catalog::Existing;

use super::add::{SourceArgs, print_report};
use super::place::CatalogArgs;
use crate::error::CliError;
use crate::ui;

/// Make the catalogue again from what is at and below each PATH: everything is verified and written again,
/// and what is no longer there is forgotten.
///
/// Tags of what is still there are kept, since they are stored nowhere else. If something could not
/// be read, nothing is forgotten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal catalog rebuild runs/ archive/2026.tar.zst")]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    store: CatalogArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    args.source.check()?;
    let mut catalog = args.store.create()?;
    let report = args
        .source
        .add_to(&mut *catalog, BTreeSet::new(), Existing::Replace)?;
    let outcome = report.outcome();
    let mut printed = print_report(&report);
    if outcome == Outcome::Unreadable {
        ui::note("something could not be read, so nothing was forgotten");
    } else {
        let removed = catalog.retain(&report.seen);
        printed.insert("removed", removed?);
    }
    ui::print_json(&printed, Dialect::Jcs)?;
    Ok(outcome)
}
