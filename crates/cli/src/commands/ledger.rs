//! `runseal ledger verify`: ledger.jsonl, LD1-LD4.

use std::path::PathBuf;

use runseal_core::formats::ledger::{LedgerView, Line, parse_lines, verify_ledger};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;

use crate::error::CliError;
use crate::verdict::{self, StrictArgs};

/// Work with ledgers, which have one line per run.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LedgerCommand {
    Verify(VerifyArgs),
}

/// Verify a ledger. A truncated line, as a crash leaves it, is named.
///
/// Exit 0: valid. Exit 1: it could not be read. Exit 2: no line of it is JSON. Exit 3: invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal ledger verify ledger.jsonl")]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let LedgerCommand::Verify(args) = &args.command;
    let input = Input::from_argument(Some(&args.file));
    let bytes = input.read(JsonLimits::LARGEST_DOCUMENT)?;
    let lines = parse_lines(&bytes);
    // One bad line is a finding of LD1; a text with only bad lines is not a ledger.
    if let Some(Line {
        number,
        entry: Err(fault),
        ..
    }) = lines.first()
        && lines.iter().all(|line| line.entry.is_err())
    {
        let message = format!("no line is JSON; the first: {fault}");
        return Err(CliError::new(Outcome::Malformed, "JSON", message)
            .at(format!("{} line {number}", input.shown()))
            .hint("a ledger has one JSON object per line"));
    }
    let view = LedgerView { lines: &lines };
    let report = verify_ledger(&view, args.strict.level());
    verdict::print_verdict(&report, &input.shown())
}
