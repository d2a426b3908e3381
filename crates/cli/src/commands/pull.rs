//! `runseal pull`: fetches evidence from a registry or object storage.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_remote::error::shown_address;
use runseal_remote::oci::pull::pull;

use super::push::{AccessArgs, parse_reference};
use super::push_object::{is_object_address, print_pulled, pull_run};
use crate::error::{CliError, Named};
use crate::verdict::LevelArgs;

/// Pull evidence into a new folder.
///
/// It comes from an OCI registry or layout, or from object storage, with its signatures next to it. Attached
/// reports are not pulled: anyone can attach a page.
///
/// Everything that arrives is compared with its digest; the whole is verified before it gets its name, and
/// nothing that exists is replaced. Prints the digest, the reference that names exactly this, the
/// folder, and what was attached.
///
/// Exit 0: it is there. Exit 1: it does not verify, or is not what was declared; nothing is left. Exit 2: it
/// could not be read or written; then `.runseal-pull-…` next to the target may contain what arrived from
/// object storage, and the next pull continues with that.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal pull registry.example/team/run_1:v1 -o run_1\n  runseal pull oci-layout:evidence.tar\n  runseal pull s3://bucket/evidence/run_1 -o run_1"
)]
pub struct Args {
    /// What to pull: `host[:port]/name[:tag][@sha256:…]`, or `oci-layout:PATH[:tag]`, or
    /// `s3://BUCKET/PREFIX/NAME[@sha256:…]`.
    reference: String,
    /// The folder that it becomes; by default the last part of its name.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    access: AccessArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    if is_object_address(&args.reference) {
        return pull_run(&args.reference, args.output.as_deref(), args.level.level());
    }
    let reference = parse_reference(&args.reference)?;
    let pulled = pull(
        &reference,
        args.output.as_deref(),
        args.level.level(),
        &args.access.access(),
    )
    .named(shown_address(&args.reference))?;
    let reference = pulled.reference.to_string();
    print_pulled(pulled.digest, reference, &pulled.path, &pulled.attached)
}
