//! `runseal receipt attest`: one signature over a whole chain.

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::formats::receipt::attestation::attest_merkle_root;
use runseal_core::formats::receipt::{RULES, ReceiptsView, TrustDemand, receipt_bytes};
use runseal_core::verify::{Level, Outcome, render_human, render_json, run_rules};

use super::load::{order_receipts, parse_files, read_files};
use super::signer::SignerArgs;
use crate::error::{CliError, Named};
use crate::output::put_bytes;
use crate::ui;

/// Attest a receipt or a chain: sign the Merkle root over the receipts' hashes.
///
/// Receipts that do not verify are not attested.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal receipt attest first.json second.json --key key.pem -o merkle.json"
)]
pub struct Args {
    /// Files with receipts; `-` means standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The ed25519 key: 32 raw bytes, 64 hex digits, or PEM.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Write the attestation to this file instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    signer: SignerArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let key = args.signer.read_key(&args.key)?;
    let files = read_files(&args.files)?;
    let documents = parse_files(&files)?;
    let receipts = order_receipts(&files, &documents);
    if let Some(error) = receipts.no_order {
        return Err(error);
    }
    let view = ReceiptsView {
        receipts: &receipts.receipts,
        is_chain: receipts.is_chain,
        merkle: None,
        policy: None,
        demand: TrustDemand::None,
    };
    let report = run_rules(&RULES, &view, Level::Document);
    let root = view.merkle_root().filter(|_| report.is_valid());
    let Some(root) = root else {
        ui::print_json(&render_json(&report), Dialect::Kernel)?;
        let shown: Vec<_> = files.iter().map(|(shown, _)| shown.as_str()).collect();
        ui::tell(&render_human(&report, &shown.join(", ")));
        return Ok(Outcome::Invalid);
    };
    let attestation = attest_merkle_root(root, &key, &args.signer.identity());
    let bytes = receipt_bytes(&attestation).named("the attestation")?;
    put_bytes(&bytes, args.output.as_deref())?;
    Ok(Outcome::Valid)
}
