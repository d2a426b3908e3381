//! Gives the files of a verified run back as they were, into a new folder.
//!
//! Each file is checked while it is copied, since the source is read through what was verified. There is the whole folder
//! or none: it is written beside its place and renamed at the end, and nothing that exists is replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::formats::run_bundle::layout::{
    ARTIFACTS_FOLDER, ENGINE_FOLDER, INPUTS_FOLDER, LOGS_FOLDER, RUN_ENVIRONMENT, RUN_INPUT,
    RUN_OUTPUT, STDIN, UPSTREAM_FOLDER, exact_path, place_of_stored,
};
use runseal_core::formats::run_bundle::reading::RunKind;
use runseal_core::formats::run_bundle::recorded::{ENGINE_LIST, INPUT_LISTS, parse_listed_files};
use runseal_core::formats::run_bundle::{EntryFact, FileFact};
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};

use crate::run::verify::VerifiedRun;
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};

/// The folder of a bundle with what was read elsewhere, at its absolute paths.
const WORLD_FOLDER: &str = "world";

/// Which files are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// What the run left, at its paths below the folder of the command.
    Outputs,
    /// What it read: files of its folder at their paths, others at their places in the bundle.
    Inputs,
    /// Both and what was printed, each at its place in the bundle.
    All,
}

/// What was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extracted {
    /// How many files.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many files of this kind the bundle only names.
    pub missing: usize,
}

/// Why nothing was given back.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// A file could not be read, or is no longer what was verified.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The folder could not be made.
    #[error(transparent)]
    Write(#[from] StagingError),
    /// Two files have the same place.
    #[error("two files belong at `{}`, or one of them below it", .0.escape_debug())]
    Collision(String),
}

impl Diagnose for ExtractError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Write(_) => Diagnosis::unreadable(self, "WRITE")
                .hint("name a folder that does not exist, where you may write"),
            Self::Collision(_) => {
                Diagnosis::unreadable(self, "WRITE").hint("`--all` gives each file its own place")
            }
        }
    }
}

impl From<WriteError> for ExtractError {
    fn from(error: WriteError) -> Self {
        Self::Write(error.into())
    }
}

/// A file on its way.
struct Planned {
    /// Where its bytes are in the bundle.
    stored: SafePath,
    /// Its path in the new folder.
    to: String,
    is_executable: bool,
}

/// Copies the wanted files of `run` into the new folder `target`.
///
/// # Errors
/// [`ExtractError`]; nothing is left behind.
pub(crate) fn extract(
    run: &VerifiedRun<'_>,
    wanted: Wanted,
    target: &Path,
) -> Result<Extracted, ExtractError> {
    check_place(target, Place::Free)?;
    let lists = Lists::read(run);
    let planned = plan(run, wanted, &lists);
    check_collisions(&planned)?;
    let staging = Staging::begin_beside(target)?;
    let mut extracted = Extracted {
        files: planned.len() as u64,
        bytes: 0,
        missing: lists.missing(wanted),
    };
    for file in &planned {
        extracted.bytes += copy(run.source(), file, &staging)?;
    }
    staging.publish(target, (Place::Free, Rights::AsUmask), |_| {
        Ok::<_, ExtractError>(extracted)
    })
}

/// What the documents of a run list.
#[derive(Default)]
struct Lists {
    /// Where the files are stored that may be executed.
    executable: BTreeSet<String>,
    missing_inputs: usize,
    missing_outputs: usize,
}

impl Lists {
    fn read(run: &VerifiedRun<'_>) -> Self {
        let mut lists = Self::default();
        let of_input = INPUT_LISTS.map(|list| (RUN_INPUT, list));
        let others = [(RUN_OUTPUT, "outputs"), (RUN_ENVIRONMENT, ENGINE_LIST)];
        for (document, list) in of_input.into_iter().chain(others) {
            let Some(document_read) = run.document(document) else {
                continue;
            };
            for file in parse_listed_files(document_read.root(), list) {
                match (file.stored, document) {
                    (Some(stored), _) => {
                        let executable = file.is_executable.then_some(stored);
                        lists.executable.extend(executable);
                    }
                    (None, RUN_OUTPUT) => lists.missing_outputs += 1,
                    (None, _) => lists.missing_inputs += 1,
                }
            }
        }
        lists
    }

    fn missing(&self, wanted: Wanted) -> usize {
        match wanted {
            Wanted::Outputs => self.missing_outputs,
            Wanted::Inputs => self.missing_inputs,
            Wanted::All => self.missing_inputs + self.missing_outputs,
        }
    }
}

fn plan(run: &VerifiedRun<'_>, wanted: Wanted, lists: &Lists) -> Vec<Planned> {
    let facts = &run.collected().facts;
    let is_engine = run.read(|run| run.kind()) == RunKind::Engine;
    let files = facts.entries.iter();
    let files = files.filter(|(_, entry)| matches!(entry, EntryFact::File(_)));
    let mut planned = Vec::new();
    for (path, _) in files {
        let place = place_of_stored(path);
        // Where there are exact bytes, they are the file.
        let exact: Option<&FileFact> = facts.file(&exact_path(path));
        let Ok(stored) = SafePath::parse(path) else {
            continue;
        };
        if exact.is_some() && place == path {
            continue;
        }
        if let Some(to) = destination(place, wanted, is_engine) {
            planned.push(Planned {
                to: to.to_owned(),
                is_executable: lists.executable.contains(path),
                stored,
            });
        }
    }
    planned
}

/// Where what belongs at `place` of a bundle is put; `None` if it is not wanted.
fn destination(place: &str, wanted: Wanted, is_engine: bool) -> Option<&str> {
    let (folder, rest) = place.split_once('/').unwrap_or((place, ""));
    let is_input = matches!(
        folder,
        ENGINE_FOLDER | INPUTS_FOLDER | UPSTREAM_FOLDER | WORLD_FOLDER | STDIN
    );
    let is_result = folder == ARTIFACTS_FOLDER || is_engine && place == RUN_OUTPUT;
    match wanted {
        Wanted::Outputs if folder == ARTIFACTS_FOLDER => Some(rest),
        Wanted::Outputs => is_result.then_some(place),
        Wanted::Inputs if folder == ENGINE_FOLDER => Some(rest),
        Wanted::Inputs => is_input.then_some(place),
        Wanted::All => (is_input || is_result || folder == LOGS_FOLDER).then_some(place),
    }
}

/// Refuses two files at one place, and a file where another one needs a folder.
fn check_collisions(planned: &[Planned]) -> Result<(), ExtractError> {
    let mut places = BTreeMap::new();
    for file in planned {
        if places.insert(file.to.as_str(), ()).is_some() {
            return Err(ExtractError::Collision(file.to.clone()));
        }
    }
    for file in planned {
        let cuts = file.to.match_indices('/');
        for (at, _) in cuts {
            if places.contains_key(&file.to[..at]) {
                return Err(ExtractError::Collision(file.to[..at].to_owned()));
            }
        }
    }
    Ok(())
}

/// Copies one file; gives its size. Reading fails if it is no longer what was verified.
fn copy(source: &dyn Source, file: &Planned, to: &Staging) -> Result<u64, ExtractError> {
    let read_error = |error| SourceError::Io {
        path: file.stored.to_string(),
        source: error,
    };
    let mut reader = source.open(&file.stored)?;
    let (mut copy, place) = to.create(&file.to)?;
    let mut buffer = vec![0; runseal_fs::stream::BUFFER];
    let mut total = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(read_error(error).into()),
        };
        total += count as u64;
        copy.write_all(&buffer[..count])
            .map_err(WriteError::at(&place))?;
    }
    if file.is_executable {
        let allowed = || -> io::Result<()> {
            let mode = copy.metadata()?.permissions().mode();
            // Whoever may read it may execute it.
            copy.set_permissions(PermissionsExt::from_mode(mode | (mode & 0o444) >> 2))
        };
        allowed().map_err(WriteError::at(&place))?;
    }
    Ok(total)
}
