//! `runseal extract`: gives the files of a run bundle back as they were.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::Format;
use runseal_core::formats::detect::Detected;
use runseal_core::verify::Outcome;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::survey::detect_path;
use runseal_runs::record::bundle::{ExtractedBundle, JudgedBundle, extract_bundle};
use runseal_runs::record::extract::Wanted;
use runseal_runs::record::unpack::{copy_privately, unpack_bundle};

use super::replay::unpack_error;
use crate::error::CliError;
use crate::inside::refuse_inside;
use crate::places::bring_here;
use crate::ui;
use crate::verdict;

/// Give files of a run bundle back as they were.
///
/// It is verified first, and each file is checked while it is copied: there is the whole folder DIR or none,
/// and nothing that exists is replaced. JSON files have their own bytes again, and files that could be executed
/// can be; what the run read has its rights and times. Links are made again so that none leads out of DIR.
///
/// By default what the run left, at its paths below DIR. With --inputs what it read: files of the command's
/// folder at their paths, others at their places in the bundle, and what was sealed from outside the folder at
/// its absolute path below DIR/environment. With --all both and what was printed, each at its place in the
/// bundle.
///
/// Exit 0: they are there. Exit 1: the bundle is not valid. Exit 2: something cannot be read, or DIR exists.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal extract RUN_BUNDLE/run_1 -o results\n  runseal extract 'runs.zip!/run_1' --inputs -o again"
)]
pub struct Args {
    /// A run bundle or a redacted copy of one: a folder, an archive, or `archive!/name`.
    bundle: PathBuf,
    /// What the run left; the default.
    #[arg(long, conflicts_with_all = ["inputs", "all"])]
    outputs: bool,
    /// What it read.
    #[arg(long, conflicts_with = "all")]
    inputs: bool,
    /// Both, and what was printed.
    #[arg(long)]
    all: bool,
    /// The new folder.
    #[arg(short, long = "out", value_name = "DIR")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    refuse_inside(&args.output)?;
    let here = bring_here(&args.bundle)?;
    let path = here.as_ref().map_or(&args.bundle, |(_, path)| path);
    let unpacked = match path.is_dir() {
        true => None,
        false => unpack_bundle(path).map_err(|error| unpack_error(error, &args.bundle))?,
    };
    let unpacked = match unpacked {
        Some(unpacked) => Some(unpacked),
        None => match detect_path(path)? {
            Detected::Is(Format::RunBundle) => None,
            Detected::Is(Format::Redacted) => Some(copy_privately(path)?),
            _ => return Err(no_run_bundle(args)),
        },
    };
    let folder = unpacked.as_ref().map_or(path.as_path(), |it| it.folder());
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let judged = JudgedBundle::judge(&source)?;
    let extracted = match extract_bundle(judged, args.wanted(), &args.output) {
        Ok(ExtractedBundle::Files(extracted)) => extracted,
        Ok(ExtractedBundle::Invalid(report)) => {
            for finding in report.findings() {
                ui::tell(&verdict::finding_line(finding));
            }
            let message = "the bundle is not valid, so nothing was given back".to_owned();
            return Err(CliError::new(Outcome::Invalid, "INVALID", message)
                .at(args.bundle.display().to_string())
                .hint("`runseal verify` says more"));
        }
        Ok(ExtractedBundle::OtherCopy) => return Err(no_run_bundle(args)),
        Err(error) => return Err(error.into()),
    };
    if extracted.missing > 0 {
        ui::note(&format!(
            "{} of these files are not in the bundle, only their hashes",
            extracted.missing
        ));
    }
    if extracted.links_left_out > 0 {
        let links = match extracted.links_left_out {
            1 => "a symbolic link is left out: it leads".to_owned(),
            count => format!("{count} symbolic links are left out: they lead"),
        };
        ui::note(&format!(
            "{links} out of the new folder, or something is in the way"
        ));
    }
    let mut answer = Value::object([("path", args.output.display().to_string())]);
    answer.insert("files", extracted.files);
    answer.insert("bytes", extracted.bytes);
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

impl Args {
    fn wanted(&self) -> Wanted {
        match (self.inputs, self.all) {
            (true, _) => Wanted::Inputs,
            (_, true) => Wanted::All,
            _ => Wanted::Outputs,
        }
    }
}

fn no_run_bundle(args: &Args) -> CliError {
    let message = "this is not a run bundle";
    CliError::new(Outcome::Unreadable, "UNKNOWN_FORMAT", message)
        .at(args.bundle.display().to_string())
        .hint("files are given back from run bundles, and from archives with one")
}
