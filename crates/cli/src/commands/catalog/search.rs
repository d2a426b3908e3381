//! `runseal catalog search`: finds runs by words.

use runseal_core::verify::Outcome;
use runseal_store::catalog::Query;
use runseal_store::catalog::words::words_of;

use super::place::{CatalogArgs, parse_filter};
use super::table::ListArgs;
use crate::error::CliError;

/// Find runs by words: in names and texts of parameters and metrics, whole numbers, tags, ids, engines,
/// outcomes and formats.
///
/// Every word of TEXT must be there, each as the beginning of a word; capital letters make no
/// difference. Newest first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal catalog search 'resonance calib'\n  runseal catalog search small --where 'metrics.rmse<0.3'"
)]
pub struct Args {
    /// The words.
    text: String,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    store: CatalogArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let words: Vec<String> = words_of(&args.text).collect();
    if words.is_empty() {
        return Err(CliError::usage(
            "there is no word to look for",
            "a word has letters or digits; `runseal catalog list` lists everything",
        ));
    }
    let query = Query {
        filter: parse_filter(args.list.filter.as_deref())?,
        words,
        limit: None,
    };
    let catalog = args.store.read()?;
    args.list.print(&*catalog, query)?;
    Ok(Outcome::Valid)
}
