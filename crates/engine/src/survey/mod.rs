//! One verification for everything: finds out what paths hold, and verifies all of it.
//!
//! What something is is told by its content: the files of a folder, the members of a document,
//! the first bytes of an archive; a file's name counts only where its content says nothing.
//! Folders that are a bundle are one unit and are not searched any further. Units are verified
//! in parallel, each on one thread; results are sorted, so the number of threads never shows.

mod archived;
pub mod detect;
mod dispatch;
pub mod load;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;

use runseal_core::formats::Format;
use runseal_core::formats::archive::verify_archive;
use runseal_core::formats::pack::PackFiles;
use runseal_core::source::SourceError;
use runseal_core::verify::{Checked, Finding, Level, Survey};

use crate::archive::{ArchiveSource, read_archive_file};
use crate::directory::{DirectorySource, RootLink};

use walk::walk_path;

pub use walk::detect_path;

/// How to go about it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SurveyOptions {
    /// Which rules must hold.
    pub level: Level,
    /// Whether to look below folders.
    pub recursive: bool,
    /// How many threads; as many as there are processors where not said.
    pub jobs: Option<usize>,
}

/// How far it is, for whoever shows progress.
#[derive(Debug, Default)]
pub struct Tally {
    found: AtomicU64,
    done: AtomicU64,
}

impl Tally {
    /// Units that were found so far.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Units that are verified.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

/// Something to look at.
#[derive(Debug)]
enum Unit {
    /// A folder of a known format.
    Folder(PathBuf, Format),
    /// A file: a document or an archive. Whether it was named by a person.
    File(PathBuf, Named),
    /// Standard input.
    Standard,
    /// What is known already.
    Known(Checked),
}

/// Whether a person named a file or it was found below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

/// What looking at a unit gave.
#[derive(Debug, Default)]
struct Looked {
    results: Vec<Checked>,
    /// Files of no known format that nobody named.
    passed_over: u64,
}

impl Looked {
    fn one(result: Checked) -> Self {
        Self {
            results: vec![result],
            passed_over: 0,
        }
    }

    fn nothing() -> Self {
        Self {
            results: Vec::new(),
            passed_over: 1,
        }
    }

    fn add(&mut self, other: Self) {
        self.results.extend(other.results);
        self.passed_over += other.passed_over;
    }
}

/// Verifies everything at `paths`.
pub fn survey_paths(paths: &[PathBuf], options: SurveyOptions, tally: &Tally) -> Survey {
    let looked = match (paths, options.recursive) {
        // One thing: what threads there are may work on it together.
        ([path], false) => survey_one(path, options, tally),
        _ => survey_many(paths, options, tally),
    };
    Survey::new(looked.results, looked.passed_over)
}

fn survey_one(path: &Path, options: SurveyOptions, tally: &Tally) -> Looked {
    let mut looked = Looked::default();
    walk_path(path, options, &mut |unit| {
        tally.found.fetch_add(1, Ordering::Relaxed);
        looked.add(dispatch::look_at(unit, options, options.jobs));
        tally.done.fetch_add(1, Ordering::Relaxed);
    });
    told(path, looked)
}

fn survey_many(paths: &[PathBuf], options: SurveyOptions, tally: &Tally) -> Looked {
    let jobs = options
        .jobs
        .or_else(|| thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1);
    let (sender, receiver) = mpsc::sync_channel::<(usize, Unit)>(256);
    let receiver = Mutex::new(receiver);
    let work = || {
        let mut mine: Vec<(usize, Looked)> = Vec::new();
        loop {
            let next = match receiver.lock() {
                Ok(receiver) => receiver.recv(),
                Err(_) => break,
            };
            let Ok((path, unit)) = next else { break };
            let looked = dispatch::look_at(unit, options, Some(1));
            tally.done.fetch_add(1, Ordering::Relaxed);
            match mine.last_mut() {
                Some((at, before)) if *at == path => before.add(looked),
                _ => mine.push((path, looked)),
            }
        }
        mine
    };
    let mut by_path: Vec<Looked> = paths.iter().map(|_| Looked::default()).collect();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        for (at, path) in paths.iter().enumerate() {
            walk_path(path, options, &mut |unit| {
                tally.found.fetch_add(1, Ordering::Relaxed);
                // The receiver lives as long as this function.
                let _ = sender.send((at, unit));
            });
        }
        drop(sender);
        for worker in workers {
            match worker.join() {
                Ok(mine) => {
                    for (at, looked) in mine {
                        by_path[at].add(looked);
                    }
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let mut all = Looked::default();
    for (path, looked) in paths.iter().zip(by_path) {
        all.add(told(path, looked));
    }
    all
}

/// Reads the pack in a folder or in an archive of it; with what is wrong with that archive.
///
/// # Errors
/// When it cannot be read, or is neither.
pub fn read_pack(path: &Path) -> Result<(PackFiles, Vec<Finding>), SourceError> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let archive = match is_file {
        true => read_archive_file(path)?,
        false => None,
    };
    let Some(archive) = archive else {
        let source = DirectorySource::open(path, RootLink::Refuse)?;
        return Ok((PackFiles::read(&source)?, Vec::new()));
    };
    let (folder, _, _) = archived::find_in_archive(&archive);
    let files = PackFiles::read(&ArchiveSource::new(&archive, &folder))?;
    let about = verify_archive(&archived::faults_of(&archive, &[(folder, Format::Pack)]));
    Ok((files, about.findings().to_vec()))
}

/// What was found at a path. Nothing is said, never taken for success.
fn told(path: &Path, mut looked: Looked) -> Looked {
    if looked.results.is_empty() {
        let result = Checked::not_checked(shown(path), None, detect::NOTHING_FOUND);
        looked.results.push(result);
    }
    looked
}

/// A path as reports show it.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
