//! `runseal proposal`: make and verify proposals (document 003).

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, ReadOptions, canonical_digest, parse_document};
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::formats::proposal::{ProposalView, SourceBundle, verify_proposal};
use runseal_core::verify::{Level, Outcome, render_human};
use runseal_fs::input::Input;
use runseal_kernel::proposal::{ProposalError, generate_proposal};

use crate::error::{CliError, Named};
use crate::output::put_json;
use crate::ui;
use crate::verdict::{self, StrictArgs};

/// Work with proposals, the plans made from context bundles.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ProposalCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProposalCommand {
    Generate(GenerateArgs),
    Verify(VerifyArgs),
}

/// Make the proposal of a context bundle: a file for each output and a test of its hash.
///
/// The bundle must meet its document (000), as `runseal bundle verify` checks. If its ids or hashes are not
/// those of its content, which `runseal verify` checks too, there is only a warning: the proposal names the
/// bundle by the hash that it has.
///
/// Exit 0: made. Exit 1: the bundle could not be read. Exit 2: it is not JSON. Exit 3: it does not meet
/// its document.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal proposal generate bundle.json -o proposal.json")]
struct GenerateArgs {
    /// The bundle's file; `-` means standard input.
    bundle: PathBuf,
    /// Write to FILE instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Verify a proposal.
///
/// Exit 0: valid. Exit 1: it could not be read. Exit 2: it is not JSON. Exit 3: invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal proposal verify proposal.json --bundle bundle.json")]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
    /// The bundle that it should have come from (003 §4.2).
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match &args.command {
        ProposalCommand::Generate(args) => generate(args),
        ProposalCommand::Verify(args) => verify(args),
    }
}

fn generate(args: &GenerateArgs) -> Result<Outcome, CliError> {
    let input = Input::from_argument(Some(&args.bundle));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    let view = BundleView {
        root: document.root(),
        transformed: None,
    };
    let report = verify_bundle(&view, Level::Document);
    if !report.is_valid() {
        ui::tell(&render_human(&report, &input.shown()));
        return Ok(Outcome::Invalid);
    }
    if !verify_bundle(&view, Level::Integrity).is_valid() {
        ui::tell(&format!(
            "warning: ids or hashes in `{}` are not those of its content; `runseal verify` says which",
            input.shown()
        ));
    }
    let proposal = generate_proposal(document.root(), None).map_err(|error| match &error {
        ProposalError::NoForm(error) => CliError::within(error, input.shown()),
        other => CliError::new(Outcome::Invalid, "BUNDLE", other.to_string()).at(input.shown()),
    })?;
    put_json(proposal.value(), args.output.as_deref())?;
    Ok(Outcome::Valid)
}

fn verify(args: &VerifyArgs) -> Result<Outcome, CliError> {
    let bundle = args.bundle.as_deref().map(read_bundle).transpose()?;
    verdict::verify_document(&args.file, |root| {
        let view = ProposalView::new(root, bundle.as_ref());
        verify_proposal(&view, args.strict.level())
    })
}

fn read_bundle(path: &Path) -> Result<SourceBundle, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    let hash = canonical_digest(document.root(), Dialect::Kernel).named(input.shown())?;
    let id = document.root().get("id").and_then(|id| id.as_lossy_str());
    Ok(SourceBundle {
        id: id.unwrap_or_default().into_owned(),
        hash: hash.into(),
    })
}
