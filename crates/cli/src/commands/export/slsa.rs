//! `runseal export slsa`.

use std::path::PathBuf;

use runseal_core::formats::Format;
use runseal_core::verify::{Level, Outcome};
use runseal_fs::signing::read_signable;
use runseal_trust::predicate::{SLSA_PROVENANCE, slsa_provenance};
use runseal_trust::statement::Statement;

use crate::error::{CliError, Named};
use crate::inside::refuse_inside;
use crate::output::put_bytes;

/// Write a run bundle's SLSA provenance: an in-toto statement, not signed.
///
/// For tools that sign and store statements themselves, such as cosign attest or witness; `runseal sign --predicate
/// slsa` signs the same statement here. The bundle is verified first.
///
/// Exit 0: it is written. Exit 1: the bundle is not valid. Exit 2: it cannot be read, or is not a run bundle.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal export slsa RUN_BUNDLE/run_1 -o provenance.json")]
pub struct Args {
    /// The run bundle: a folder or archive.
    #[arg(value_name = "RUN_BUNDLE")]
    bundle: PathBuf,
    /// The file to write; by default, or with `-`, standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let shown = args.bundle.display().to_string();
    let refuse = |code: &'static str, message: &str| {
        CliError::new(Outcome::Unreadable, code, message).at(&shown)
    };
    if let Some(output) = &args.output {
        refuse_inside(output)?;
    }
    let signable = read_signable(&args.bundle, Level::Integrity).named(&shown)?;
    if signable.format != Format::RunBundle {
        return Err(refuse("UNKNOWN_FORMAT", "it is not a run bundle")
            .hint("SLSA provenance is for run bundles: folders with RUN_META.json"));
    }
    if !signable.is_valid {
        let message = "the run bundle is not valid";
        return Err(CliError::new(Outcome::Invalid, "NOT_VALID", message)
            .at(&shown)
            .hint("`runseal verify` says more; only valid bundles are exported"));
    }
    if signable.target.redaction.is_some() {
        return Err(refuse(
            "REDACTABLE",
            "this predicate states digests of what may be withheld later",
        )
        .hint("`runseal sign --predicate run` states none; docs/redaction.md says why"));
    }
    let statement = Statement {
        subjects: signable.target.subjects(),
        predicate_type: SLSA_PROVENANCE.to_owned(),
        predicate: slsa_provenance(&signable.facts, &signable.inputs),
    };
    let mut bytes = statement
        .to_bytes()
        .map_err(|error| CliError::internal(error.to_string()))?;
    bytes.push(b'\n');
    put_bytes(&bytes, args.output.as_deref())?;
    Ok(Outcome::Valid)
}
