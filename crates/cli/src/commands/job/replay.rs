//! `runseal job replay`: repeats every step from the bundle alone.

use std::path::PathBuf;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::receipt::receipt_bytes;
use runseal_core::verify::Outcome;
use runseal_fs::atomic::write_bytes;
use runseal_fs::input::Input;
use runseal_store::job::replay::{Previous, replay_job_bundle};
use runseal_store::job::verify::verify_job_bundle_then;

use super::verify::{JobsArgs, print_verification};
use crate::commands::receipt::signer::SignerArgs;
use crate::error::{CliError, Named};
use crate::inside::refuse_inside;
use crate::output::file_named;
use crate::places::{bring_here, check_outside_archive};
use crate::ui;
use crate::verdict::StrictArgs;

/// Replay a job bundle offline: verify it, read every step from it, and write a receipt.
///
/// A bundle that does not verify gives no receipt.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal job replay out/bundle --receipt receipt.json --key key.pem"
)]
pub struct Args {
    /// The bundle's folder, or its bundle.json.
    path: PathBuf,
    /// Write the receipt to this file too; it is printed in any case.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// The receipt before this one; the new one names it as its parent.
    #[arg(long, value_name = "FILE")]
    previous: Option<PathBuf>,
    /// Sign the receipt with this ed25519 key: 32 raw bytes, 64 hex digits, or PEM.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    signer: SignerArgs,
    #[command(flatten)]
    strict: StrictArgs,
    #[command(flatten)]
    jobs: JobsArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let previous = args.previous.as_deref().map(read_previous).transpose()?;
    let key = args
        .key
        .as_deref()
        .map(|path| args.signer.read_key(path))
        .transpose()?;
    let identity = args.signer.identity();
    if key.is_none() && args.signer.is_given() {
        return Err(CliError::usage(
            "--validator-id and --build-id are part of a signature",
            "--key FILE signs the receipt; leave them out if it is not signed",
        ));
    }
    let signer = key.as_ref().map(|key| (key, &identity));
    let options = args.jobs.options(&args.strict);
    check_outside_archive(&args.path)?;
    let here = bring_here(&args.path)?;
    let path = here.as_ref().map_or(&args.path, |(_, path)| path);
    let (found, receipt) = verify_job_bundle_then(path, options, |bundle| {
        replay_job_bundle(bundle, previous, signer).and_then(|receipt| receipt_bytes(&receipt))
    });
    let shown = args.path.display().to_string();
    let Some(receipt) = receipt else {
        return print_verification(&found, &shown);
    };
    let bytes = receipt.named(shown)?;
    if let Some(path) = file_named(args.receipt.as_deref()) {
        refuse_inside(path)?;
        write_bytes(path, &bytes)?;
    }
    ui::print_bytes(&bytes)?;
    Ok(Outcome::Valid)
}

fn read_previous(path: &std::path::Path) -> Result<Previous, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).named(input.shown())?;
    Previous::parse(document.root()).map_err(|error| {
        CliError::new(Outcome::Unreadable, "PREVIOUS", error.to_string())
            .at(input.shown())
            .hint("`runseal receipt verify` says what is wrong with it")
    })
}
