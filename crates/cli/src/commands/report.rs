//! `runseal report`: an HTML page about one thing, or a site about many.

use std::io;
use std::path::{Path, PathBuf};

use runseal_core::source::SourceError;
use runseal_core::verify::{Level, Outcome};
use runseal_engine::compare::compare;
use runseal_engine::staging::{Place, Rights, Staging, StagingError};
use runseal_engine::survey::load::Loaded;
use runseal_engine::survey::{SurveyOptions, Tally, survey_files};
use runseal_report::limits::SITE_ROWS;
use runseal_report::{
    Carried, ComparedWith, Comparison, Difference, SelfCheck, SiteEntry, SiteIndex, render_index,
    render_page, render_page_that_checks, render_verifier,
};
use runseal_survey::load::{Loader, load as load_from};
use runseal_survey::{Files, InsidePath};

use super::report_whole::WholeFiles;
use crate::error::CliError;
use crate::inside::{refuse_in, refuse_inside};
use crate::loaded::{load_error, load_path, with_exhibit};
use crate::output::put_bytes;
use crate::places::files_for;
use crate::progress::with_progress;
use crate::signing::{OpenTrust, TrustArgs};
use crate::ui;
use crate::verdict::LevelArgs;

/// Write a self-contained HTML page, or a site of many.
///
/// It says whether the thing is intact, signed and trusted, and how the run ended; what was asked, what was done
/// and what came out; what that proves; and every rule, file and hash. The page fetches nothing and opens from disk. It says all there is without its small script, which
/// only filters, copies and unfolds. With --embed it also carries what it is about and the verifier, and checks
/// itself again at a click. With --recursive everything below PATH gets a page, and the folder
/// an index with filters and two runs side by side. Exit 0: it was written, whatever the verdict. Exit
/// 2: something could not be read or written; a site is written all the same, and its index says what is missing.
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
    #[arg(long, conflicts_with = "recursive")]
    embed: bool,
    /// A page that is nothing but the verifier, to keep: it checks what is dropped on it.
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
    let trust = args.trust.open()?;
    if args.recursive {
        return write_site(path, &args.output, level, &trust);
    }
    let whole = match args.embed {
        true => Some(WholeFiles::read(path)?),
        false => None,
    };
    // Judge the very bytes that the page carries.
    let carried = whole.as_ref().and_then(WholeFiles::carried);
    let loaded = match carried {
        Some((files, path)) => {
            load_from(files, Path::new(path), level).map_err(|error| load_error(error, path))?
        }
        None => load_path(path, level)?,
    };
    let comparison = match &args.against {
        Some(other) => Some(compare_with(&loaded, other, level)?),
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
        None => files_for([Path::new(&loaded.path)]),
    };
    let html = loaded.show(files, trust.question(), |exhibit| {
        render_page_that_checks(exhibit, comparison.as_ref(), check.as_ref())
    });
    write_page(&args.output, &html)
}

pub(super) fn write_page(output: &Path, html: &str) -> Result<Outcome, CliError> {
    refuse_inside(output)?;
    put_bytes(html.as_bytes(), Some(output))?;
    Ok(Outcome::Valid)
}

/// Where `loaded` differs from what is at `other`.
fn compare_with(loaded: &Loaded, other: &Path, level: Level) -> Result<Comparison, CliError> {
    let before = load_path(other, level)?;
    let changes = compare(&before, loaded).map_err(|error| {
        CliError::new(Outcome::Unreadable, "NOT_ALIKE", error.to_string())
            .at(format!("{}, {}", other.display(), loaded.path))
            .hint("name two of the same format; `runseal inspect` says what each is")
    })?;
    let difference = |change: runseal_engine::compare::Change| Difference {
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

/// Writes a page for everything below `root`, and the index. Each unit is loaded and judged only
/// once, so the index says the same as the pages.
fn write_site(
    root: &Path,
    target: &Path,
    level: Level,
    trust: &OpenTrust,
) -> Result<Outcome, CliError> {
    let hint = "name a folder, such as `-o site`, and a PATH to search";
    if target == Path::new("-") {
        let message = "a site is a folder and cannot go to standard output";
        return Err(CliError::usage(message, hint));
    }
    if root == Path::new("-") {
        let message = "standard input holds one thing, and a site is of many";
        return Err(CliError::usage(message, hint));
    }
    let files = files_for([root]);
    if InsidePath::of(files, root).is_none() {
        files.kind(root).map_err(|source| not_there(root, source))?;
    }
    refuse_in(target, target)?;
    runseal_engine::staging::check_place(target, Place::FreeOrEmptyFolder)
        .map_err(|error| staging_error(&error))?;
    let tally = Tally::default();
    let options = SurveyOptions { level, jobs: None };
    let paths = [root.to_owned()];
    let survey = with_progress(&tally, || survey_files(files, &paths, options, &tally));
    let staging = Staging::begin_beside(target)?;
    let mut entries = Vec::new();
    let mut loader = Loader::new(files);
    for (at, result) in survey.results().iter().enumerate().take(SITE_ROWS) {
        let loaded = match loader.load(Path::new(&result.path), level) {
            Ok(loaded) => loaded,
            Err(error) => {
                let reason = load_error(error, &result.path).message().to_owned();
                entries.push(SiteEntry::not_loaded(
                    result.path.clone(),
                    result.format,
                    reason,
                ));
                continue;
            }
        };
        let name = format!("pages/{:05}-{}.html", at + 1, slug(&result.path));
        let html = with_exhibit(&loaded, trust, |exhibit| {
            entries.push(SiteEntry::of(exhibit, name.clone()));
            render_page(exhibit, None)
        });
        staging.put(&name, html.as_bytes())?;
    }
    let shown = root.display().to_string();
    let pages = entries.iter().filter(|entry| entry.page.is_some()).count();
    if let (0, Some(first)) = (pages, entries.first()) {
        let reason = first.reason.clone();
        return Err(CliError::new(Outcome::Unreadable, "NOTHING_SHOWN", reason)
            .at(&shown)
            .hint("no site was written; `runseal verify --help` lists what is known"));
    }
    let index = render_index(&SiteIndex {
        root: &shown,
        entries: &entries,
        passed_over: survey.passed_over(),
        left_out: survey.results().len().saturating_sub(entries.len()),
    });
    staging.put("index.html", index.as_bytes())?;
    let place = (Place::FreeOrEmptyFolder, Rights::AsUmask);
    staging
        .publish(target, place, |_| Ok::<_, StagingError>(()))
        .map_err(|error| staging_error(&error))?;
    let lost = entries.len() - pages;
    let beyond = match lost {
        0 => String::new(),
        lost => format!("; {lost} could not be read, and the index says why"),
    };
    ui::note(&format!(
        "{pages} page{}, and {}/index.html{beyond}",
        if pages == 1 { "" } else { "s" },
        target.display()
    ));
    Ok(match lost {
        0 => Outcome::Valid,
        _ => Outcome::Unreadable,
    })
}

fn not_there(root: &Path, source: io::Error) -> CliError {
    let path = root.display().to_string();
    CliError::from(match source.kind() {
        io::ErrorKind::NotFound => SourceError::NotFound { path },
        _ => SourceError::Io { path, source },
    })
}

fn staging_error(error: &StagingError) -> CliError {
    match error {
        StagingError::Exists(path) => CliError::new(
            Outcome::Unreadable,
            "EXISTS",
            "the site needs a new or empty folder, and this is something else".to_owned(),
        )
        .at(path.display().to_string())
        .hint("name a new folder; nothing is ever overwritten"),
        StagingError::Write(error) => CliError::from(error),
    }
}

/// The end of a path, reduced to characters that are safe in any file name and link.
fn slug(path: &str) -> String {
    let kept = path.chars().rev().take(40).collect::<Vec<_>>();
    let word = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => c,
        _ => '_',
    };
    let text: String = kept.into_iter().rev().map(word).collect();
    text.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain_whatever_the_path_is() {
        assert_eq!(slug("runs/one.zip!/ev/job"), "runs_one_zip__ev_job");
        assert_eq!(slug("\"><script>"), "script");
        assert_eq!(slug(&"é/../".repeat(40)), "");
    }
}
