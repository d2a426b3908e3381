//! `runseal unredact`: restores values that their holder disclosed later, with proof.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::Outcome;
use runseal_engine::input::read_file;
use runseal_engine::redact::{check_outside, unredact_copy};
use runseal_engine::signing::{SignatureForm, path_beside};

use super::redact::redact_error;
use crate::error::CliError;
use crate::places::{Outgoing, bring_here, files_for, write_beside};
use crate::ui;

/// Put disclosed values back; only what was sealed is accepted.
///
/// VALUES is what `runseal redact --disclose` writes. No seed is needed.
///
/// Exit 0: the copy is made. Exit 1: a value is not the one that was sealed, or its place is not
/// withheld. Exit 2: something cannot be read, or OUT exists. Nothing is written then.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal unredact shared/run_1 --with city.json -o shared/run_1b"
)]
pub struct Args {
    /// The redacted copy.
    #[arg(value_name = "COPY")]
    copy: PathBuf,
    /// The disclosed values.
    #[arg(long, value_name = "VALUES")]
    with: PathBuf,
    /// The new copy.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let values = read_file(&args.with, JsonLimits::LARGEST_DOCUMENT)?;
    let here = bring_here(&args.copy)?;
    let copy = here.as_ref().map_or(&args.copy, |(_, copy)| copy);
    let outgoing = Outgoing::begin(&args.output)?;
    let place = outgoing.place();
    let (withheld, all) = check_outside(copy, &args.output)
        .and_then(|()| unredact_copy(copy, &values, &place))
        .map_err(|error| redact_error(error, &args.copy.display().to_string()))?;
    outgoing.finish(&place)?;
    let from = path_beside(&args.copy, SignatureForm::Dsse);
    let to = path_beside(&args.output, SignatureForm::Dsse);
    let files = files_for([from.as_path(), to.as_path()]);
    let signatures = files.read(&from, runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES);
    if let (Ok(bytes), false) = (signatures, files.is_there(&to)) {
        write_beside(&to, &bytes, None)?;
    }
    let mut answer = Value::object([("path", args.output.display().to_string())]);
    answer.insert("redacted", withheld);
    answer.insert("values", all);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
