//! `runseal unredact`: restores values that their holder disclosed later, with proof.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, ReadOptions, Value, parse_document};
use runseal_core::formats::redacted::documents::REDACTED;
use runseal_core::limits::JsonLimits;
use runseal_core::verify::Outcome;
use runseal_fs::input::read_file;
use runseal_fs::signing::{SignatureForm, path_beside};
use runseal_redact::unredact_copy;
use runseal_trust::dsse::Envelope;
use runseal_trust::statement::Statement;

use super::redact::free_beside;
use crate::error::{CliError, Named};
use crate::inside::refuse_inside;
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
    parse_document(&values, &ReadOptions::TEXT).named(args.with.display())?;
    let here = bring_here(&args.copy)?;
    let copy = here.as_ref().map_or(&args.copy, |(_, copy)| copy);
    let signatures = signatures_for(args)?;
    refuse_inside(&args.output)?;
    let outgoing = Outgoing::begin(&args.output)?;
    let place = outgoing.place();
    let (withheld, all) = unredact_copy(copy, &values, &place).named(args.copy.display())?;
    outgoing.finish(&place)?;
    if let Some((to, bytes)) = signatures {
        write_beside(&to, &bytes, None)?;
    }
    let mut answer = Value::object([("path", args.output.display().to_string())]);
    answer.insert("redacted", withheld);
    answer.insert("values", all);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// The signatures that are valid for the new copy too, and where they go. A statement that names the list
/// of
/// what was withheld is about the old copy only.
fn signatures_for(args: &Args) -> Result<Option<(PathBuf, Vec<u8>)>, CliError> {
    let from = path_beside(&args.copy, SignatureForm::Dsse);
    let limit = runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES;
    let Ok(bytes) = files_for([from.as_path()]).read(&from, limit) else {
        return Ok(None);
    };
    let names_list = |line: &[u8]| {
        let envelope = Envelope::parse(line).ok();
        let statement = envelope.and_then(|envelope| Statement::parse(&envelope.payload).ok());
        statement.is_some_and(|statement| {
            let mut subjects = statement.subjects.iter();
            subjects.any(|subject| subject.name == REDACTED)
        })
    };
    let mut kept = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if names_list(line) {
            ui::tell("warning: a signature is over what the old copy withholds; it was left behind")
        } else {
            kept.extend_from_slice(line)
        }
    }
    if kept.is_empty() {
        Ok(None)
    } else {
        Ok(Some((free_beside(&args.output)?, kept)))
    }
}
