//! `runseal catalog tag`: adds and removes the tags of runs.

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;

use super::add::parse_tags;
use super::place::{CatalogArgs, resolve_all};
use crate::error::CliError;
use crate::ui;

/// Give runs tags, or take tags from them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog tag 3fa9c2d1 81bc --add baseline\n  runseal catalog tag baseline --remove baseline"
)]
pub struct Args {
    /// The first digits of a digest, four or more; or a tag, for all that have it.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// A tag to give; may be given several times.
    #[arg(long, value_name = "TAG", required_unless_present = "remove")]
    add: Vec<String>,
    /// A tag to take away; may be given several times.
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,
    #[command(flatten)]
    store: CatalogArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let (add, remove) = (parse_tags(&args.add)?, parse_tags(&args.remove)?);
    let mut catalog = args.store.open()?;
    let digests = resolve_all(catalog.as_reader(), &args.runs)?;
    let changed = catalog.tag(&digests, &add, &remove)?;
    ui::print_json(&Value::object([("changed", changed)]), Dialect::Jcs)?;
    Ok(Outcome::Valid)
}
