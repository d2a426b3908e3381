//! One verification for everything: finds the units at and below paths, and verifies all of them.
//!
//! Content decides what something is: the files of a folder, the members of a document, the first
//! bytes of an archive. A file's name counts only if its content says nothing. A path that is a unit
//! is judged; any other is searched, and what the search finds but cannot judge is a result too.
//! Units may be verified in parallel; results are sorted, so the number of threads never shows.
//!
//! This crate only computes: it opens no files, starts no threads and reads no clock. Callers pass
//! in [`Files`] and an [`Executor`], which may have threads. A command line and a browser therefore
//! give the same answer, by the same code.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answer;
mod archived;
mod content;
pub mod engine;
mod files;
mod inside;
mod judge;
pub mod load;
mod observer;
pub mod schema;
pub mod signing;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use runseal_archive::{ArchiveSource, Beginning, Container};
use runseal_core::formats::Format;
use runseal_core::formats::archive::verify_archive;
use runseal_core::formats::detect::Detected;
use runseal_core::formats::pack::PackFiles;
use runseal_core::limits::FINDINGS_A_SURVEY;
use runseal_core::source::{EntryKind, SourceError};
use runseal_core::verify::{
    Finding, Level, Survey, UnitResult, count_findings, drop_unlisted_findings,
};

use answer::Unjudged;
use judge::Judge;
use walk::{Start, walk_below};

pub use archived::{detect_in_archive, find_in_archive};
pub use content::{Keep, RememberingSource, UnitContent};
pub use files::{
    AddError, Files, FolderFiles, ForwardedFiles, MemoryFiles, name_fault, read_archive_bytes,
};
pub use inside::InsidePath;
pub use observer::{NoObserver, Observer, Position};
pub use walk::{detect_path, is_unfinished};

/// The reason if nothing was found.
const NOTHING_FOUND: &str = "nothing to verify was found: no folder with bundle.json and \
    artifacts/ (job bundle), run.json (pack), RUN_* files or ARTIFACT_INDEX.json (run bundle), \
    ENGINE_MANIFEST.json (engine), bagit.txt (BagIt bag) or SHA256SUMS, no archive of these, and no JSON document of a known format";

/// How to verify.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions {
    /// The level up to which rules are demanded.
    pub level: Level,
    /// The number of threads; by default the number of processors.
    pub threads: Option<usize>,
}

/// How far a survey is, to show progress.
#[derive(Debug, Default)]
pub struct Tally {
    found: AtomicU64,
    done: AtomicU64,
}

impl Tally {
    /// The number of units found so far.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// The number of units verified so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

/// Something to judge.
#[derive(Debug)]
pub struct Unit(Item);

#[derive(Debug)]
enum Item {
    /// A folder of a known format.
    Folder(PathBuf, Format, Found),
    /// A file: a document or an archive.
    File(PathBuf, Found),
    /// A file that was found by searching, with a name that says nothing.
    Unnamed {
        path: PathBuf,
        /// Whether a list of sums may cover it: then it never counts as passed over.
        is_listed: bool,
    },
    /// Something that is neither a file nor evidence.
    PassedOver,
    /// Something that needs no result.
    Nothing,
    /// The journal of a recording that was not finished. It is judged like any file of its name.
    Journal(PathBuf),
    /// A bundle or document inside an archive.
    Inside(InsidePath),
    /// Standard input.
    Standard,
    /// Something that is not judged.
    Unjudged(PathBuf, Box<Unjudged>),
}

/// How something was found. A file that a person named must be of a known format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Named,
    /// By a search, because of its name.
    Searched,
    /// By a search, because of its first bytes. Text that is not JSON is passed over, whatever it begins
    /// with: logs may look like documents.
    ByContent,
}

/// The results of judged units.
#[derive(Debug, Default)]
pub struct UnitResults {
    results: Vec<UnitResult>,
    /// The number of files that were found by searching and have no known format.
    passed_over: u64,
    /// The journals of recordings that were not finished.
    journals: Vec<PathBuf>,
    /// The number of findings in `results`.
    findings: usize,
    /// The number of findings that were dropped because there are too many.
    unlisted: u64,
}

impl UnitResults {
    fn one(result: UnitResult) -> Self {
        Self {
            findings: result.findings().len(),
            results: vec![result],
            ..Self::default()
        }
    }

    /// Keeps the bytes of a path that is not valid text, for results at and below that path.
    fn keep_bytes_of(&mut self, path: &Path) {
        let shown = display_path(path);
        for result in &mut self.results {
            if let Some(below) = result.path.strip_prefix(&shown) {
                let bytes = [path.as_os_str().as_encoded_bytes(), below.as_bytes()].concat();
                result.raw_path = Some(bytes.into());
            }
        }
    }

    fn passed_over() -> Self {
        Self {
            passed_over: 1,
            ..Self::default()
        }
    }

    fn add(&mut self, other: Self) {
        self.results.extend(other.results);
        self.passed_over += other.passed_over;
        self.journals.extend(other.journals);
        self.unlisted += other.unlisted;
        self.findings += other.findings;
        if self.findings > 2 * FINDINGS_A_SURVEY {
            self.unlisted += drop_unlisted_findings(&mut self.results);
            self.findings = count_findings(&self.results);
        }
    }

    /// Adds a result if there is none: nothing found is never a success.
    fn or_nothing_found(mut self, path: &Path) -> Self {
        if self.results.is_empty() {
            let result = UnitResult::not_checked(display_path(path), None, NOTHING_FOUND);
            self.results.push(result);
        }
        self
    }
}

/// Takes a unit that was found, with the index of its path.
pub type Take<'a> = dyn FnMut(usize, Unit) + 'a;

/// Runs the judging of units, on one thread or many.
pub trait Executor {
    /// Passes every unit that `find` finds to `judge`. Returns the results in any order, each with
    /// the index of its path.
    fn judge_all(
        &self,
        find: &mut dyn FnMut(&mut Take<'_>),
        judge: &(dyn Fn(Unit) -> UnitResults + Sync),
    ) -> Vec<(usize, UnitResults)>;
}

/// Judges each unit as soon as it is found, on the same thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequential;

impl Executor for Sequential {
    fn judge_all(
        &self,
        find: &mut dyn FnMut(&mut Take<'_>),
        judge: &(dyn Fn(Unit) -> UnitResults + Sync),
    ) -> Vec<(usize, UnitResults)> {
        let mut all: Vec<(usize, UnitResults)> = Vec::new();
        find(&mut |at, unit| add_results(&mut all, at, judge(unit)));
        all
    }
}

/// Adds results to the last ones if those are of the same path.
pub fn add_results(all: &mut Vec<(usize, UnitResults)>, path: usize, results: UnitResults) {
    match all.last_mut() {
        Some((at, before)) if *at == path => before.add(results),
        _ => all.push((path, results)),
    }
}

/// Verifies everything at `paths` in `files`. `observer` sees every unit right after it is judged.
pub fn survey(
    files: &dyn Files,
    executor: &dyn Executor,
    paths: &[PathBuf],
    options: VerifyOptions,
    (tally, observer): (&Tally, &dyn Observer),
) -> Survey {
    let judge = |threads: Option<usize>| Judge {
        files,
        options,
        threads,
        observer,
    };
    let starts: Vec<Start> = paths.iter().map(|path| Start::at(files, path)).collect();
    let (itself, starts) = match <[Start; 1]>::try_from(starts) {
        Ok([Start::Unit(unit)]) => (Some(unit), Vec::new()),
        Ok([Start::Search(mut search)]) => (search.unit.take(), vec![Start::Search(search)]),
        Err(starts) => (None, starts),
    };
    // Threads work together on a single path that is a unit; otherwise each thread takes its own units.
    let mut by_path: Vec<UnitResults> = paths.iter().map(|_| UnitResults::default()).collect();
    if let (Some(unit), [results]) = (itself, &mut *by_path) {
        tally.found.fetch_add(1, Ordering::Relaxed);
        results.add(judge(options.threads).judge_unit(unit));
        tally.done.fetch_add(1, Ordering::Relaxed);
    }
    if !starts.is_empty() {
        survey_many(executor, starts, (tally, &judge(Some(1))), &mut by_path);
    }
    let mut all = UnitResults::default();
    for (path, results) in paths.iter().zip(by_path) {
        all.add(results.or_nothing_found(path));
    }
    Survey::new(options.level, all.results, all.passed_over)
        .and_unlisted(all.unlisted)
        .with_journals(all.journals)
}

/// Judges everything from `starts` on; there is one for each of `by_path`.
fn survey_many(
    executor: &dyn Executor,
    starts: Vec<Start>,
    (tally, judge): (&Tally, &Judge<'_>),
    by_path: &mut [UnitResults],
) {
    let mut starts = Some(starts);
    let mut find = |each: &mut Take<'_>| {
        for (at, start) in starts.take().into_iter().flatten().enumerate() {
            walk_below(judge.files, start, &mut |unit| {
                tally.found.fetch_add(1, Ordering::Relaxed);
                each(at, unit);
            });
        }
    };
    let judged = executor.judge_all(&mut find, &|unit| {
        let results = judge.judge_unit(unit);
        tally.done.fetch_add(1, Ordering::Relaxed);
        results
    });
    for (at, results) in judged {
        by_path[at].add(results);
    }
}

/// Calls `see` with the path of everything to verify at and below `path`; nothing is judged. A file
/// that was found by searching counts if its content is of a known format or it is named like an
/// archive.
pub fn find_units(files: &dyn Files, path: &Path, see: &mut dyn FnMut(PathBuf)) {
    find_units_from(files, Start::at(files, path), see);
}

/// As [`find_units`], from where a search begins.
fn find_units_from(files: &dyn Files, start: Start, see: &mut dyn FnMut(PathBuf)) {
    let is_known = |path: &Path| matches!(detect_path(files, path), Ok(Detected::Is(_)));
    walk_below(files, start, &mut |Unit(item)| match item {
        Item::Folder(path, ..) | Item::File(path, Found::Named) | Item::Unjudged(path, _) => {
            see(path);
        }
        Item::File(path, _) => {
            let is_archive = Container::of_file_name(&path.to_string_lossy()).is_some();
            if is_archive || is_known(&path) {
                see(path);
            }
        }
        Item::Unnamed { path, .. } => match judge::look_at_unnamed(files, &path) {
            Ok(Beginning::Archive) => see(path),
            Ok(Beginning::Json) if is_known(&path) => see(path),
            _ => {}
        },
        Item::Inside(inside) => see(inside.shown().into()),
        Item::Standard => see("-".into()),
        Item::PassedOver | Item::Nothing | Item::Journal(_) => {}
    });
}

/// Reads the pack in a folder or archive. Also returns what is wrong with the archive.
///
/// # Errors
/// If it cannot be read, or is neither.
pub fn read_pack(files: &dyn Files, path: &Path) -> Result<(PackFiles, Vec<Finding>), SourceError> {
    let is_file = files.kind(path).is_ok_and(|kind| kind == EntryKind::File);
    let archive = if is_file {
        files.read_archive(path)?
    } else {
        None
    };
    let Some(archive) = archive else {
        let source = files.open_folder(path, false, None)?;
        return Ok((PackFiles::read(&*source)?, Vec::new()));
    };
    let (folder, _, _) = find_in_archive(&archive);
    let files = PackFiles::read(&ArchiveSource::new(&archive, &folder))?;
    let about = verify_archive(&archived::faults_of(
        &archive,
        "",
        &[(folder, Format::Pack)],
    ));
    Ok((files, about.findings().to_vec()))
}

/// A path as reports show it.
fn display_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// An error and its source, in one line.
fn error_chain(error: &SourceError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// The message for something that could be of several formats.
pub fn name_several(formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.title()).collect();
    format!(
        "it could be a {}: it has marks of each",
        names.join(" or a ")
    )
}
