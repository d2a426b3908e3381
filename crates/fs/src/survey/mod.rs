//! Verification of any format, over local files and on several threads. `runseal-survey` decides
//! what is found and how it is judged.

mod local;
mod renamed;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};
use std::thread;

use runseal_core::formats::detect::Detected;
use runseal_core::formats::pack::PackFiles;
use runseal_core::source::SourceError;
use runseal_core::verify::{Finding, Survey};
use runseal_survey::{Executor, Files, NoObserver, Observer, Take, Unit, UnitResults, add_results};

use crate::threads::{help_out, processors};

pub use local::{LocalFiles, without_climbing};
pub use renamed::RenamedFiles;
pub use runseal_survey::{FolderFiles, Tally, VerifyOptions, find_in_archive, name_several};

/// Verifies everything at `paths`.
pub fn survey_paths(paths: &[PathBuf], options: VerifyOptions, tally: &Tally) -> Survey {
    survey_paths_seen(paths, options, tally, &NoObserver)
}

/// Like [`survey_paths`], with an observer that is notified of every unit right after it was
/// judged.
pub fn survey_paths_seen(
    paths: &[PathBuf],
    options: VerifyOptions,
    tally: &Tally,
    observer: &dyn Observer,
) -> Survey {
    survey_files_seen(&LocalFiles, paths, options, tally, observer)
}

/// Like [`survey_paths`], over files other than local ones.
pub fn survey_files(
    files: &dyn Files,
    paths: &[PathBuf],
    options: VerifyOptions,
    tally: &Tally,
) -> Survey {
    survey_files_seen(files, paths, options, tally, &NoObserver)
}

/// Like [`survey_paths_seen`], over files other than local ones.
pub fn survey_files_seen(
    files: &dyn Files,
    paths: &[PathBuf],
    options: VerifyOptions,
    tally: &Tally,
    observer: &dyn Observer,
) -> Survey {
    let threads = Threads {
        jobs: options.threads,
    };
    runseal_survey::survey(files, &threads, paths, options, (tally, observer))
}

/// What the folder or document at `path` is; nothing is judged, and archives are not opened.
///
/// # Errors
/// When it cannot be read.
pub fn detect_path(path: &Path) -> Result<Detected, SourceError> {
    runseal_survey::detect_path(&LocalFiles, path)
}

/// Reads the pack in a folder or in an archive of it; also returns what is wrong with that archive.
///
/// # Errors
/// When it cannot be read, or is neither.
pub fn read_pack(path: &Path) -> Result<(PackFiles, Vec<Finding>), SourceError> {
    runseal_survey::read_pack(&LocalFiles, path)
}

/// The most units that wait for a thread.
const WAITING: usize = 256;

/// Threads that process one unit after another.
struct Threads {
    /// The number of threads; by default the number of processors.
    jobs: Option<usize>,
}

impl Executor for Threads {
    fn judge_all(
        &self,
        find: &mut dyn FnMut(&mut Take<'_>),
        judge: &(dyn Fn(Unit) -> UnitResults + Sync),
    ) -> Vec<(usize, UnitResults)> {
        let jobs = self.jobs.unwrap_or_else(processors);
        let (sender, receiver) = mpsc::sync_channel::<(usize, Unit)>(WAITING);
        let receiver = Mutex::new(receiver);
        let work = || {
            let mut mine = Vec::new();
            loop {
                let next = match receiver.lock() {
                    Ok(receiver) => receiver.recv(),
                    Err(_) => break,
                };
                let Ok((at, unit)) = next else { break };
                add_results(&mut mine, at, judge(unit));
            }
            mine
        };
        let mut all = Vec::new();
        thread::scope(|scope| {
            let workers = help_out(scope, jobs.max(1), work);
            find(&mut |at, unit| match workers.is_empty() {
                // No thread was granted, so that each is judged where it is found.
                true => add_results(&mut all, at, judge(unit)),
                // Cannot fail: the receiver lives as long as this function.
                false => drop(sender.send((at, unit))),
            });
            drop(sender);
            for worker in workers {
                match worker.join() {
                    Ok(mine) => all.extend(mine),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        all
    }
}

/// Loads a unit once, to judge it and to show or compare it.
pub mod load {
    use std::path::Path;

    use runseal_core::verify::Level;
    pub use runseal_survey::load::{Judged, LoadError};

    use super::LocalFiles;

    /// Loads what is at `path`; standard input if it is `-`. Something inside an archive is named
    /// as in answers: `evidence.zip!/runs/one`.
    ///
    /// # Errors
    /// When it cannot be read or judged.
    pub fn load(path: &Path, level: Level) -> Result<Judged, LoadError> {
        runseal_survey::load::load(&LocalFiles, path, level)
    }
}
