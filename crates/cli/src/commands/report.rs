//! `runseal report`: an HTML page about one thing, or a site about many.

use std::path::{Path, PathBuf};

use runseal_core::verify::{Level, Outcome};
use runseal_fs::signing::{ArchiveSignatures, SIGNATURE_FORMS, path_beside};
use runseal_fs::survey::load::Judged;
use runseal_report::{
    Carried, ComparedWith, Comparison, Difference, SelfCheck, render_page_that_checks,
    render_verifier,
};
use runseal_runs::compare::compare;
use runseal_survey::Files;
use runseal_survey::load::load as load_from;

use super::report_site::write_site;
use super::report_whole::WholeFiles;
use crate::error::{CliError, Named};
use crate::inside::{refuse_inside, refuse_over};
use crate::loaded::load_path;
use crate::output::put_bytes;
use crate::places::files_for;
use crate::signing::TrustArgs;
use crate::ui;
use crate::verdict::LevelArgs;

/// Write a self-contained HTML page, or a site of many.
///
/// It says whether the thing is intact, signed and trusted, and how the run ended; what was asked, what was
/// done and what came out; what that proves; and every rule, file and hash. The page fetches nothing and
/// opens from disk. It is complete without its small script, which only filters, copies and unfolds. With
/// --embed it also carries what it is about and the verifier, and checks itself again at a click. With
/// --recursive everything below PATH gets a page, and the folder an index with filters and two runs side by
/// side, what is bad first. Exit 0: it was written, whatever the verdict. Exit 2: something could not be read
/// or written, or has no page because there are too many; a site is written all the same, and its index
/// counts everything and says what is missing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal report out/bundle -o report.html\n  runseal report out/bundle --embed -o report.html\n  runseal report --verifier-only -o verify.html\n  runseal report today/run --against yesterday/run -o report.html\n  runseal report -r evidence/ -o site/"
)]
pub struct Args {
    /// A folder, file or archive, or something inside one (`evidence.zip!/run`); `-` means standard input;
    /// an artifact of a registry or layout (`oci://host/name:tag`).
    #[arg(required_unless_present = "verifier_only")]
    path: Option<PathBuf>,
    /// Where the page goes, `-` means standard output; with --recursive a folder that is new or empty.
    #[arg(long, short, value_name = "FILE.html|DIR")]
    output: PathBuf,
    /// A page for everything below PATH, and an index.
    #[arg(long, short)]
    recursive: bool,
    /// Another of the same format: the page says where they differ.
    #[arg(long, value_name = "PATH", conflicts_with = "recursive")]
    against: Option<PathBuf>,
    /// Put what the page is about into it, with the verifier: the page checks itself again, offline.
    /// Something inside an archive is carried with the archive, which must contain nothing else.
    #[arg(long, conflicts_with = "recursive")]
    embed: bool,
    /// A page with only the verifier, to keep: it checks what is dropped on it.
    #[arg(long, conflicts_with_all = ["path", "recursive", "against", "embed", "policy", "at", "strict", "lenient"])]
    verifier_only: bool,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// The verifier as gzipped WebAssembly, built by `crates/wasm/build`. It is checked in so that
/// building runseal needs no compiler for WebAssembly (docs/wasm.md); CI builds it again and
/// compares.
const MODULE: &[u8] = include_bytes!("../../module/runseal.wasm.gz");

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let level = args.level.level();
    let Some(path) = &args.path else {
        return write_page(&args.output, &render_verifier(MODULE));
    };
    let beside = SIGNATURE_FORMS.map(|form| path_beside(path, form));
    let read = [Some(path.as_path()), args.against.as_deref()];
    let read = read.into_iter().chain([args.trust.policy_file()]).flatten();
    refuse_over(
        &args.output,
        read.chain(beside.iter().map(PathBuf::as_path)),
    )?;
    let trust = args.trust.open()?;
    if args.recursive {
        return write_site(path, &args.output, level, &trust);
    }
    let mut whole = if args.embed {
        Some(WholeFiles::read(path)?)
    } else {
        None
    };
    // Judge the very bytes that the page carries.
    let carried = whole.as_ref().and_then(WholeFiles::carried);
    let judged = match carried {
        Some((files, path)) => load_from(files, Path::new(path), level).named(path)?,
        None => load_path(path, level)?,
    };
    if let Some(whole) = &mut whole {
        whole.keep_only_of(&judged.content);
    }
    let carried = whole.as_ref().and_then(WholeFiles::carried);
    let comparison = match &args.against {
        Some(other) => Some(compare_with(&judged, other, level)?),
        None => None,
    };
    let check = whole.as_ref().map(|whole| SelfCheck {
        module: MODULE,
        carried: whole.to_carried(),
    });
    if let Some(SelfCheck {
        carried: Carried::TooLarge { bytes, limit },
        ..
    }) = &check
    {
        ui::note(&format!(
            "{bytes} bytes are more than the {limit} that a page may carry; the page checks what is dropped on it"
        ));
    }
    let files: &dyn Files = match carried {
        Some((files, _)) => files,
        None => files_for([Path::new(&judged.path)]),
    };
    let asked = (trust.question(), &ArchiveSignatures::default());
    let html = judged.show(files, asked, |exhibit| {
        render_page_that_checks(exhibit, comparison.as_ref(), check.as_ref())
    });
    write_page(&args.output, &html)
}

pub(super) fn write_page(output: &Path, html: &str) -> Result<Outcome, CliError> {
    refuse_inside(output)?;
    put_bytes(html.as_bytes(), Some(output))?;
    Ok(Outcome::Valid)
}

/// Where `judged` differs from what is at `other`.
fn compare_with(judged: &Judged, other: &Path, level: Level) -> Result<Comparison, CliError> {
    let before = load_path(other, level)?;
    let changes = compare(&before, judged).map_err(|error| {
        CliError::new(Outcome::Unreadable, "NOT_ALIKE", error.to_string())
            .at(format!("{}, {}", other.display(), judged.path))
            .hint("name two of the same format; `runseal inspect` says what each is")
    })?;
    let difference = |change: runseal_runs::compare::Change| Difference {
        topic: change.topic.name(),
        place: match (change.file.as_str(), change.pointer.as_str()) {
            ("", "") => "the whole".to_owned(),
            (file, pointer) => format!("{file} {pointer}").trim().to_owned(),
        },
        before: change.before,
        after: change.after,
        lines: change.lines,
    };
    Ok(Comparison {
        with: ComparedWith::Other {
            path: before.path.clone(),
            is_intact: before.is_valid(),
        },
        differences: changes.into_iter().map(difference).collect(),
    })
}
