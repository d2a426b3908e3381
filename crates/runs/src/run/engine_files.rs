//! Seals what an engine was observed to read: the files of its folder under `engine/`, those of the
//! machine by their hashes in RUN_ENVIRONMENT.json. Also restores an engine's folder from a bundle
//! that contains them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use runseal_core::formats::run_bundle::layout::{CONTRACTS, ENGINE_FOLDER, RUN_ENVIRONMENT};
use runseal_core::formats::run_bundle::recorded::{CaptureGap, ENGINE_LIST, parse_listed_files};
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use runseal_core::verify::Finding;
use runseal_sandbox::{INSIDE_WORK, Isolation, NEVER_SEEN, Observation, ObservedFile};

use super::command::{INSIDE_ENGINE, command_files};
use super::contracts::Engine;
use super::execute::EngineRun;
use super::seal::{RUN, SealError};
use super::staging::RunFiles;
use super::verify::VerifiedRun;
use crate::record::accesses::{
    could_be_read, is_of_the_machine, is_shown, not_shown_gap, observed_gaps,
};
use crate::record::ahead::FilesAhead;
use crate::record::documents::FileEntry;
use crate::record::environment::{
    Circumstances, PackageReader, list_machine, make_environment, modified_ns,
};
use crate::record::machine::is_original;
use crate::record::outside::only_hashes;
use runseal_fs::atomic::{Readers, create_new};
use runseal_fs::input::open_regular;

/// Seals the files that `ran` read, and RUN_ENVIRONMENT.json.
pub(super) fn seal_what_was_read(
    files: &mut RunFiles,
    engine: &Engine,
    ran: &EngineRun,
    isolation: Isolation,
    (packages, ahead): (PackageReader, &FilesAhead),
) -> Result<(), SealError> {
    let mut gaps: BTreeSet<CaptureGap> = NEVER_SEEN
        .iter()
        .map(|sentence| CaptureGap {
            kind: "never-seen".to_owned(),
            detail: (*sentence).to_owned(),
        })
        .collect();
    let none = Observation::default();
    let observation = ran.observation.as_ref().unwrap_or(&none);
    gaps.extend(observed_gaps(observation));
    // The files that the command names count as read, so that a bundle always has its program's
    // files.
    let mut read: BTreeMap<SafePath, Option<&ObservedFile>> =
        command_files(engine.source(), engine.command())
            .into_iter()
            .map(|path| (path, None))
            .collect();
    let (mut machine, mut not_shown) = (Vec::new(), Vec::new());
    for file in observation.files.iter().filter(|file| is_original(file)) {
        let below = file
            .path
            .strip_prefix(INSIDE_ENGINE)
            .ok()
            .and_then(Path::to_str);
        match below.map(SafePath::parse) {
            Some(Ok(path)) => {
                read.insert(path, Some(file));
            }
            Some(Err(fault)) => {
                let shown = file.path.display();
                gaps.insert(CaptureGap {
                    kind: "name".to_owned(),
                    detail: format!("`{shown}` was read and is not in the bundle: {fault}"),
                });
            }
            None if is_given(&file.path) || !is_of_the_machine(&file.path) => {}
            None if is_shown(&file.path, isolation, &ran.shown)
                && could_be_read(&file.path, isolation, (&ran.shown, None)) =>
            {
                machine.push(file.clone());
            }
            None => not_shown.push(file.path.display().to_string()),
        }
    }
    gaps.extend(not_shown_gap(&not_shown));
    let mut entries = Vec::new();
    for (path, observed) in read {
        let observed = observed.filter(|_| ran.saw_folder);
        entries.push(put_engine_file(files, engine, &path, observed)?);
    }
    let machine = list_machine(&machine, packages, ahead);
    gaps.extend(machine.gaps);
    let machine = machine.files;
    gaps.extend(only_hashes(&machine));
    let environment = make_environment(&Circumstances {
        isolation,
        observation: ran.observation.as_ref(),
        gaps: &gaps,
        machine: &machine,
        variables: &ran.environment,
        folder: None,
        program: None,
        listed: &BTreeMap::new(),
        present: &BTreeMap::new(),
        world: None,
        streams: None,
        engine_files: Some(&entries),
        surroundings: None,
    });
    files.put_json(RUN_ENVIRONMENT, &environment)?;
    Ok(())
}

/// Whether a file that an engine used belongs to the machine and is listed as such.
pub(crate) fn is_machine_file(path: &Path, isolation: Isolation, shown: &[PathBuf]) -> bool {
    let is_engines = path.starts_with(INSIDE_ENGINE) || is_given(path);
    !is_engines && is_of_the_machine(path) && is_shown(path, isolation, shown)
}

/// Whether a path belongs to what the run gave the engine, which is sealed anyway.
fn is_given(path: &Path) -> bool {
    [INSIDE_WORK, "/upstream", "/parameters"]
        .iter()
        .any(|place| path.starts_with(place))
}

fn put_engine_file(
    files: &mut RunFiles,
    engine: &Engine,
    path: &SafePath,
    observed: Option<&ObservedFile>,
) -> Result<FileEntry, SealError> {
    let fail = |source: io::Error| SourceError::Io {
        path: path.to_string(),
        source,
    };
    let (handle, _) = open_regular(&engine.folder().join(path.as_str()))?;
    let before = handle.metadata().map_err(fail)?;
    let stored = files.put_user_file(&handle, before.len(), &format!("{ENGINE_FOLDER}/{path}"))?;
    let after = handle.metadata().map_err(fail)?;
    let now = (after.len(), modified_ns(&after));
    let opened = observed.map_or(now, |file| (file.bytes, file.modified_ns));
    if stored.bytes != before.len() || (before.len(), modified_ns(&before)) != now || opened != now
    {
        let message = format!("`{path}` changed while the engine ran");
        return Err(SealError::Rejected(vec![Finding::about_whole(
            RUN, message,
        )]));
    }
    Ok(FileEntry {
        path: path.to_string(),
        sha256: stored.sha256,
        bytes: stored.bytes,
        is_executable: before.mode() & 0o111 != 0,
        stored: stored.place,
    })
}

/// Restores the engine of `run` in `folder`: its contracts and what it read. Returns false if the
/// bundle does not contain what it read.
pub(crate) fn restore_engine(run: &VerifiedRun<'_>, folder: &Path) -> Result<bool, SealError> {
    let Some(environment) = run.document(RUN_ENVIRONMENT) else {
        return Ok(false);
    };
    let listed = parse_listed_files(environment.root(), ENGINE_LIST);
    if listed.is_empty() {
        return Ok(false);
    }
    let fail = |source: io::Error| {
        SealError::Read(SourceError::Io {
            path: "the private folder".to_owned(),
            source,
        })
    };
    let put = |from: &str, to: &str, mode: u32| {
        let (Ok(from), Ok(to)) = (SafePath::parse(from), SafePath::parse(to)) else {
            return Ok(());
        };
        let place = folder.join(to.as_str());
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        let mut reader = run.source().open(&from)?;
        let mut copy = create_new(&place, Readers::AsUmask).map_err(fail)?;
        io::copy(&mut reader, &mut copy).map_err(fail)?;
        copy.set_permissions(Permissions::from_mode(mode))
            .map_err(fail)
    };
    for name in CONTRACTS {
        put(name, name, 0o644)?;
    }
    for file in &listed {
        if let Some(stored) = &file.stored {
            let mode = if file.is_executable { 0o755 } else { 0o644 };
            put(stored, &file.path, mode)?;
        }
    }
    Ok(true)
}
