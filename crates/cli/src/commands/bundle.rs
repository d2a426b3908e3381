//! `runseal bundle`: verify and summarize context bundles.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Kind, ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::context_bundle::{BundleView, summarize_bundle, verify_bundle};
use runseal_core::formats::detect::{Detected, detect_root};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_kernel::transform;

use crate::error::{CliError, Named};
use crate::intent_input::{internal, read_intent};
use crate::ui;
use crate::verdict::{self, StrictArgs};

/// Work with context bundles.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: BundleCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BundleCommand {
    Verify(VerifyArgs),
    Summarize(SummarizeArgs),
}

/// Verify a context bundle.
///
/// Exit 0: valid. Exit 1: it could not be read. Exit 2: it is not JSON. Exit 3: invalid.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal bundle verify bundle.json --strict --intent intent.json"
)]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
    /// The intent: transforms it again and compares the hashes (BS2).
    #[arg(long, value_name = "FILE")]
    intent: Option<PathBuf>,
}

/// Summarize a context bundle: counts, paths, ids, hash and outcome.
///
/// The bundle is not verified. Exit 0: summarized. Exit 1: it could not be read. Exit 2: it is not JSON. Exit
/// 3: it is not a context bundle.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal bundle summarize bundle.json")]
struct SummarizeArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match &args.command {
        BundleCommand::Verify(args) => verify(args),
        BundleCommand::Summarize(args) => summarize(args),
    }
}

fn verify(args: &VerifyArgs) -> Result<Outcome, CliError> {
    let transformed = args.intent.as_deref().map(transformed_hash).transpose()?;
    verdict::verify_document(&args.file, |root| {
        verify_bundle(&BundleView { root, transformed }, args.strict.level())
    })
}

/// The hash of the bundle that the intent transforms to. A refused intent has no bundle; the hash
/// of its refusal is used instead, which no bundle can have.
fn transformed_hash(path: &Path) -> Result<Digest, CliError> {
    match read_intent(path)? {
        Err(refusal) => Ok(Digest::of(refusal.to_string().as_bytes())),
        Ok(intent) => {
            let bundle = transform(&intent).map_err(|error| internal(&error))?;
            bundle.compute_hash().named("the bundle")
        }
    }
}

fn summarize(args: &SummarizeArgs) -> Result<Outcome, CliError> {
    let input = Input::from_argument(Some(&args.file));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    let root = document.root();
    let is_bundle =
        root.kind() == Kind::Object && detect_root(root, "") == Detected::Is(Format::ContextBundle);
    if !is_bundle {
        return Err(CliError::new(
            Outcome::Invalid,
            "UNKNOWN_FORMAT",
            "it is not a context bundle",
        )
        .at(input.shown())
        .hint("`runseal inspect` says what it is; `runseal transform` makes a context bundle"));
    }
    let summary = summarize_bundle(root).named(input.shown())?;
    ui::print_json(&summary, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}
