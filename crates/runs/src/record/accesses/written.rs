//! What a command wrote where nothing is kept: outside the folder, and without isolation in the real folder
//! beside the copy that it worked in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use runseal_sandbox::{Isolation, Observation, ObservedFile, ObservedKind};
use rustix::fs::Access;

use super::gaps::{count_below, some_of};
use super::own_files::OwnFiles;
use super::places::{InputPlace, Places, input_of, is_of_faketime, is_of_the_machine, is_private};
use super::{Accesses, normalize};
use crate::record::environment::status_changed_ns;
use crate::record::run::CommandRun;

impl Accesses {
    /// Names what was written and is not in the bundle.
    pub(super) fn tell_written(
        &mut self,
        observation: &Observation,
        places: Places<'_>,
        own: &OwnFiles<'_>,
        run: &CommandRun,
    ) {
        let (mut temporary, mut outside) = (BTreeSet::new(), BTreeSet::new());
        for file in &observation.files {
            match input_of(&file.path, places) {
                None | Some(InputPlace::Elsewhere { .. }) => {
                    if let Some(name) = run.name_in_tmp(&file.path) {
                        if file.kind == ObservedKind::New {
                            temporary.insert(name);
                        }
                    } else if is_temporary(file, run) {
                        temporary.insert(file.path.display().to_string());
                    } else if is_changed_outside(file, run) {
                        outside.insert(file.path.display().to_string());
                    }
                }
                Some(InputPlace::Folder(below) | InputPlace::Named(below)) => {
                    if is_beside_the_copy(file, below, own, (run, places)) {
                        outside.insert(file.path.display().to_string());
                    }
                }
            }
        }
        for name in observation.given_names.iter().map(|name| normalize(name)) {
            if is_put_outside(&name, places, run) {
                outside.insert(name.display().to_string());
            }
        }
        if !run.recorded.written.is_empty() {
            let home = run.world.home.as_deref();
            let names = names_in_home(&run.recorded.written, home);
            self.gap(
                "temporary",
                format!(
                    "written in the home folder and not kept: {}",
                    some_of(&names)
                ),
            );
        }
        if !temporary.is_empty() {
            let paths: Vec<&Path> = temporary.iter().map(Path::new).collect();
            let what = count_below(&paths);
            self.gap(
                "temporary",
                format!("files made outside the folder were not kept: {what}"),
            );
        }
        if !outside.is_empty() {
            let what = some_of(&outside.into_iter().collect::<Vec<_>>());
            self.gap(
                "written-outside",
                format!(
                    "files of the machine were made or changed, and are not in the bundle: {what}"
                ),
            );
        }
    }
}

/// What was written in the home folder, by the first two names below it: those further down are often made up by
/// chance, and two runs of the same are to give the same bundle.
fn names_in_home(written: &[PathBuf], home: Option<&Path>) -> Vec<String> {
    let name = |path: &PathBuf| match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => {
            let short: PathBuf = below.iter().take(2).collect();
            format!("~/{}", short.display()).escape_debug().to_string()
        }
        None => path.display().to_string().escape_debug().to_string(),
    };
    let names: BTreeSet<String> = written.iter().map(name).collect();
    names.into_iter().collect()
}

/// Whether a file is gone with the sandbox, in which there was nothing before.
fn is_temporary(file: &ObservedFile, run: &CommandRun) -> bool {
    let is_of_clock = run.fixed_time.gap.is_some() && is_of_faketime(&file.path);
    run.isolation != Isolation::None
        && file.kind == ObservedKind::New
        && is_private(&file.path)
        && !is_of_clock
}

/// Whether a file outside the folder may have been written: nothing but its rights kept the command from it.
fn is_changed_outside(file: &ObservedFile, run: &CommandRun) -> bool {
    let is_kept_apart = !is_private(&file.path) && !is_of_the_machine(&file.path);
    let is_of_clock = run.fixed_time.gap.is_some() && is_of_faketime(&file.path);
    if run.isolation != Isolation::None || is_kept_apart || is_of_clock {
        return false;
    }
    match file.kind {
        ObservedKind::File => file.is_written && may_write(&file.path),
        ObservedKind::New => {
            let above = file.path.parent().unwrap_or(Path::new("/"));
            file.path.exists() || may_write(above)
        }
        _ => false,
    }
}

/// Whether something was renamed or linked to a name outside the folder.
fn is_put_outside(name: &Path, places: Places<'_>, run: &CommandRun) -> bool {
    let is_outside = matches!(
        input_of(name, places),
        None | Some(InputPlace::Elsewhere { .. })
    );
    let is_changed = || {
        let metadata = fs::symlink_metadata(name);
        metadata.is_ok_and(|metadata| status_changed_ns(&metadata) >= run.began_ns)
    };
    run.isolation == Isolation::None
        && is_outside
        && run.name_in_tmp(name).is_none()
        && is_changed()
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, Access::WRITE_OK).is_ok()
}

/// Whether a file was written in the real folder, by its absolute path: the copy does not have it, and it
/// changed after the command began.
fn is_beside_the_copy(
    file: &ObservedFile,
    below: &Path,
    own: &OwnFiles<'_>,
    (run, places): (&CommandRun, Places<'_>),
) -> bool {
    let is_written = file.is_written || file.kind == ObservedKind::New;
    let is_changed = || {
        let metadata = places.real.look(&file.path);
        metadata.is_ok_and(|metadata| status_changed_ns(&metadata) >= run.began_ns)
    };
    run.isolation == Isolation::None
        && run.is_in_a_copy()
        && is_written
        && !own.left(below)
        && is_changed()
}
