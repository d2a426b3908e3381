//! `runseal job copy`: copies a whole store into an empty one.

use std::ffi::OsString;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_store::store::copy_store;

use super::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Copy everything in a store into an empty one, from a file to a server or back.
///
/// Ids, receipts, leases and tokens stay what they are; the bundle of a job is the same from both.
/// Nobody may work on the old store meanwhile. Everything is copied, or nothing.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  runseal job copy --from .runseal/jobs.db --to postgres://runseal@db/jobs"
)]
pub struct Args {
    /// The store to copy: a file, or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "STORE")]
    from: OsString,
    /// The store to copy to; it is made if there is none, and must be empty.
    #[arg(long, value_name = "STORE")]
    to: OsString,
}

impl std::fmt::Debug for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Args")
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let from = StoreArgs::at(args.from.clone()).read()?;
    let (mut to, _) = StoreArgs::at(args.to.clone()).create()?;
    let copied = copy_store(&*from, &mut *to)?;
    let rows = copied.iter().map(|(table, rows)| (*table, *rows));
    let printed = Value::object([("copied", Value::object(rows))]);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
