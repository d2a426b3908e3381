//! `runseal receipt verify`: a receipt or a chain, its signatures, and whose they are.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, ReadOptions, Value, parse_document};
use runseal_core::formats::receipt::trust::TrustPolicy;
use runseal_core::formats::receipt::{RULES, ReceiptsView, TrustDemand};
use runseal_core::verify::{Outcome, render_human, render_json, run_rules};
use runseal_fs::input::Input;

use super::load::{order_receipts, parse_files, read_files};
use super::trusted::{Signer, find_signers};
use crate::error::CliError;
use crate::ui;
use crate::verdict::StrictArgs;

/// Verify a receipt or a chain of receipts.
///
/// A file has one receipt or a list of them in order; separate files are put in order by their parent links.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal receipt verify first.json second.json --trust policy.json --strict-trust"
)]
pub struct Args {
    /// Files with receipts; `-` means standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    strict: StrictArgs,
    /// A Merkle attestation over the receipts.
    #[arg(long, value_name = "FILE")]
    merkle: Option<PathBuf>,
    /// The trust policy: whose keys count. Without a strict flag it changes no verdict, but who
    /// signed and whether the policy trusts them is reported on standard error and in the answer.
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// Every attestation must be of a key that the policy trusts for it.
    #[arg(long)]
    strict_trust: bool,
    /// Every attestation must also name its key's owner and the pinned build.
    #[arg(long)]
    strict_identity: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let files = read_files(&args.files)?;
    let documents = parse_files(&files)?;
    let merkle_files = read_files(args.merkle.as_slice())?;
    let merkle = parse_files(&merkle_files)?;
    let policy = args.trust.as_deref().map(read_policy).transpose()?;
    let demand = match (args.strict_identity, args.strict_trust) {
        (true, _) => TrustDemand::Identity,
        (false, true) => TrustDemand::Trust,
        (false, false) => TrustDemand::None,
    };
    // What is not a chain stays as it was given, and RC3 says where it breaks.
    let receipts = order_receipts(&files, &documents);
    let view = ReceiptsView {
        receipts: &receipts.receipts,
        is_chain: receipts.is_chain,
        merkle: merkle.first().map(|document| document.root()),
        policy: policy.as_ref(),
        demand,
    };
    let mut report = run_rules(&RULES, &view, args.strict.level());
    for ((file, _), document) in files.iter().zip(&documents) {
        let file = (documents.len() > 1).then_some(file.as_str());
        report.locate(file, document.text());
    }
    let mut printed = render_json(&report);
    let root = view.merkle_root().filter(|_| report.is_valid());
    printed.insert("merkle_root", root.map(|root| root.to_string()));
    if let Some(policy) = &policy {
        let signers = find_signers(&view, policy);
        printed.insert(
            "signers",
            Value::array(signers.iter().map(Signer::to_value)),
        );
        if demand == TrustDemand::None {
            for signer in &signers {
                ui::note(&signer.to_line());
            }
        }
    }
    ui::print_json(&printed, Dialect::Kernel)?;
    if report.is_valid() {
        return Ok(Outcome::Valid);
    }
    let shown: Vec<_> = files.iter().map(|(shown, _)| shown.as_str()).collect();
    ui::tell(&render_human(&report, &shown.join(", ")));
    Ok(Outcome::Invalid)
}

fn read_policy(path: &Path) -> Result<TrustPolicy, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::default();
    let bytes = input.read(options.limits.max_bytes)?;
    let document = parse_document(&bytes, &options).map_err(|error| {
        let is_toml = path.extension().is_some_and(|ending| ending == "toml");
        if is_toml {
            CliError::new(
                Outcome::Unreadable,
                "POLICY",
                "this is a TOML policy, as `runseal trust` makes and `runseal verify --trust` takes; \
                 receipts are judged by a policy in JSON"
                    .to_owned(),
            )
            .at(input.shown())
            .hint("docs/job-bundles.md shows a policy and what each field means")
        } else {
            CliError::within(error, input.shown())
        }
    })?;
    TrustPolicy::parse(document.root()).map_err(|error| {
        CliError::new(Outcome::Unreadable, "POLICY", error.message)
            .at(format!("{} {}", input.shown(), error.path))
            .hint("docs/job-bundles.md shows a policy and what each field means")
    })
}
