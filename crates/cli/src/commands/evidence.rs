//! `runseal evidence verify`: evidence.json, EV1-EV5.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_digest, parse_document};
use runseal_core::digest::ContentHash;
use runseal_core::formats::evidence::{EvidenceView, compute_evidence_hash, verify_evidence};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;

use crate::error::{CliError, Named};
use crate::verdict::{self, StrictArgs};

/// Work with evidence, which says what an execution did.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: EvidenceCommand,
}

#[derive(Debug, clap::Subcommand)]
enum EvidenceCommand {
    Verify(VerifyArgs),
}

/// Verify the evidence of an execution.
///
/// Exit 0: valid. Exit 1: it could not be read. Exit 2: it is not JSON. Exit 3: invalid.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal evidence verify evidence.json --proposal proposal.json"
)]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
    /// The proposal that was executed: its hash must be the evidence's (EV1).
    #[arg(long, value_name = "FILE")]
    proposal: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let EvidenceCommand::Verify(args) = &args.command;
    let mut proposal_hash = None;
    if let Some(path) = &args.proposal {
        let input = Input::from_argument(Some(path));
        let options = ReadOptions::default();
        let bytes = input.read(options.limits.max_bytes)?;
        let document = parse_document(&bytes, &options).named(input.shown())?;
        let digest = canonical_digest(document.root(), Dialect::Kernel).named(input.shown())?;
        proposal_hash = Some(ContentHash::from(digest));
    }
    let verify = |root: Node<'_>| {
        let view = EvidenceView {
            root,
            proposal_hash,
        };
        verify_evidence(&view, args.strict.level())
    };
    verdict::verify_document_with(&args.file, verify, |root| {
        let hash = compute_evidence_hash(root).map(|hash| hash.to_string());
        vec![("evidence_hash", Value::from(hash))]
    })
}
