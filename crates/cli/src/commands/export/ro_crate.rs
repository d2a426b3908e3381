//! `runseal export ro-crate`.

use std::path::{Path, PathBuf};

use runseal_core::diagnosis::Diagnose;
use runseal_core::verify::Outcome;
use runseal_core::verify::authenticity::{Authenticity, SignedState};
use runseal_fs::survey::LocalFiles;
use runseal_runs::ro_crate::{CrateError, CrateWords, ExportableRun, Signer};
use runseal_survey::signing::ArchiveSignatures;

use crate::error::CliError;
use crate::inside::refuse_inside;
use crate::signing::TrustArgs;
use crate::{ui, verdict};

/// Write a run bundle as an RO-Crate: Process Run Crate 0.5, which workflow and archive tools read.
///
/// The bundle is verified first. It is copied into bundle/, where it still verifies, with the signatures next
/// to it; ro-crate-metadata.json says what ran, on what, what came out and who signed as its author. The same
/// bundle gives the same bytes.
///
/// Exit 0: the crate is written. Exit 1: the bundle is not valid, or the policy of --trust does not accept
/// it. Exit 2: it cannot be read, or OUT exists. Nothing is written then.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal export ro-crate RUN_BUNDLE/run_1 -o crate\n  runseal export ro-crate run_1.tar.gz -o crate.zip --license https://creativecommons.org/licenses/by/4.0/"
)]
pub struct Args {
    /// The run bundle: a folder or archive, or something inside one (`evidence.zip!/run`).
    #[arg(value_name = "RUN_BUNDLE")]
    bundle: PathBuf,
    /// The folder to write; a zip if the name ends with .zip. Other archives are refused.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The licence of the crate: a URL, or words. Bundles state none, and RO-Crate asks for one.
    #[arg(long, value_name = "URL")]
    license: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    check_output(&args.output)?;
    let trust = args.trust.open()?;
    let fail = |error: CrateError| {
        for finding in error.findings().iter().take(10) {
            ui::tell(&verdict::finding_line(finding));
        }
        CliError::within(error, args.bundle.display())
    };
    let run = ExportableRun::open(&args.bundle).map_err(fail)?;
    let asked = (trust.question(), &ArchiveSignatures::default());
    let judged = run.judged();
    let (authenticity, _) = judged.judge_trust(&LocalFiles, &args.bundle, asked);
    check_trusted(&authenticity, &args.bundle)?;
    let words = CrateWords {
        license: args.license.as_deref(),
        signer: author_of(&authenticity),
    };
    let files = run.write_crate(&args.output, &words).map_err(fail)?;
    let (target, plural) = (args.output.display(), if files == 1 { "" } else { "s" });
    ui::tell(&format!(
        "{target}: an RO-Crate of {files} file{plural} of the bundle"
    ));
    Ok(Outcome::Valid)
}

/// Refuses an output that would break a bundle, or would be a folder with the name of an archive.
fn check_output(output: &Path) -> Result<(), CliError> {
    const ARCHIVES: [&str; 9] = ["tar", "tgz", "gz", "tzst", "zst", "bz2", "xz", "7z", "rar"];
    refuse_inside(output)?;
    let ending = output.extension().unwrap_or_default().to_string_lossy();
    let is_archive = ARCHIVES.contains(&ending.to_lowercase().as_str())
        || (ending != "zip" && ending.eq_ignore_ascii_case("zip"));
    if is_archive {
        Err(CliError::usage(
            format!("a crate is a folder or a .zip, not a .{ending}"),
            "end the name with .zip, or name a folder and pack it yourself",
        ))
    } else {
        Ok(())
    }
}

/// Refuses what the policy, if any, does not accept.
fn check_trusted(authenticity: &Authenticity, bundle: &Path) -> Result<(), CliError> {
    match &authenticity.trusted {
        Some(trust) if !trust.is_trusted => {
            let message = format!("the policy does not accept it: {}", trust.reason);
            Err(CliError::new(Outcome::Invalid, "NOT_TRUSTED", message)
                .at(bundle.display().to_string())
                .hint("`runseal trust explain` says which line decided; nothing was written"))
        }
        _ => Ok(()),
    }
}

/// The signer who signed as the author; otherwise the first who signed without a meaning. Whoever reviewed
/// or approved a run did not run it.
fn author_of(authenticity: &Authenticity) -> Option<Signer<'_>> {
    let held = || {
        let signatures = authenticity.signatures.iter();
        signatures.filter(|note| note.state == SignedState::Signed)
    };
    let author = held().find(|note| note.meaning.as_deref() == Some("author"));
    let author = author.or_else(|| held().find(|note| note.meaning.is_none()))?;
    Some(Signer {
        name: author.name.as_deref(),
        is_known: author.is_known,
        key: author.key.as_deref(),
    })
}
