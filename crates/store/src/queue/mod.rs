//! Tasks: verify and replay sealed runs on whichever machine is free.
//!
//! A task names a place below a root that each machine chooses (a shared file system, or copies of
//! the same files), or a place that all machines reach, such as object storage. Results belong to
//! contents: a result is stored under the digest of the bytes that were judged, and the same
//! version of this program does not replay the same content twice.

mod verify;
pub mod worker;

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Members, Value, canonical_text};
use runseal_core::formats::Format;
use runseal_core::formats::detect::Detected;
use runseal_core::source::EntryKind;
use runseal_core::verify::Level;
use runseal_survey::{Files, detect_path, find_units};

use crate::store::{NewTask, TaskKind};

pub use verify::{Examined, examine};

/// Returns the tasks for everything at and below `paths`, by place, each once. Places are relative
/// to the working folder, as given. Of the units found below a path, only those that can be
/// replayed without further options are queued for replay.
pub fn find_tasks(
    files: &dyn Files,
    kind: TaskKind,
    level: Level,
    paths: &[PathBuf],
) -> Vec<NewTask> {
    let options = options_of(kind, level);
    let mut places = Vec::new();
    for path in paths {
        find_units(files, path, &mut |unit| {
            let is_wanted = kind == TaskKind::Verify || unit == *path || can_replay(files, &unit);
            if is_wanted {
                places.push(place_of(&unit));
            }
        });
    }
    places.sort();
    places.dedup();
    let tasks = places
        .iter()
        .map(|place| NewTask::new(kind, &options, place));
    tasks.collect()
}

/// Returns whether a unit is of a kind that can be replayed without further options. What is in an
/// archive is known only when it is opened.
fn can_replay(files: &dyn Files, unit: &Path) -> bool {
    match detect_path(files, unit) {
        Ok(Detected::Is(format)) => matches!(
            format,
            Format::RunBundle | Format::JobBundle | Format::Pack | Format::Redacted
        ),
        Ok(_) => files.kind(unit).is_ok_and(|kind| kind == EntryKind::File),
        Err(_) => true,
    }
}

/// How a task is to be done, as canonical JSON.
fn options_of(kind: TaskKind, level: Level) -> String {
    let options = match kind {
        TaskKind::Verify => Value::object([("level", level.name())]),
        TaskKind::Replay => Value::Object(Members::new()),
    };
    // Names of levels have a canonical form in every dialect.
    canonical_text(&options, Dialect::Kernel).unwrap_or_default()
}

/// Returns the level in a task's options; the default if they name none.
fn level_of(options: &str) -> Level {
    let named = Level::ALL
        .into_iter()
        .find(|level| options == options_of(TaskKind::Verify, *level));
    named.unwrap_or(Level::Integrity)
}

/// A path as tasks name it: without redundant dots. An address is kept unchanged.
fn place_of(path: &Path) -> String {
    let given = path.to_string_lossy();
    if given.contains("://") {
        return given.into_owned();
    }
    let clean: PathBuf = path.components().collect();
    let text = clean.to_string_lossy().into_owned();
    match text.strip_prefix("./") {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_fs::survey::LocalFiles;

    #[test]
    fn options_name_their_level_and_paths_lose_their_dots() {
        for level in Level::ALL {
            assert_eq!(level_of(&options_of(TaskKind::Verify, level)), level);
        }
        assert_eq!(level_of("{}"), Level::Integrity);
        assert_eq!(place_of(Path::new("./a//b/./c")), "a/b/c");
        assert_eq!(place_of(Path::new("/x/y/")), "/x/y");
        assert_eq!(place_of(Path::new("s3://bucket/a")), "s3://bucket/a");
    }

    #[test]
    fn folder_queued_for_replay_yields_replayable_units() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/pack");
        std::fs::create_dir(root.join("pack")).unwrap();
        std::fs::write(root.join("pack/run.json"), "{}").unwrap();
        std::fs::write(root.join("archive.zip"), "PK").unwrap();
        let bundle = vectors.join("ok-executed/input/bundle.json");
        std::fs::copy(bundle, root.join("context.json")).unwrap();
        let found = |kind, path: &Path| {
            let tasks = find_tasks(&LocalFiles, kind, Level::Document, &[path.to_owned()]);
            let names = tasks.iter().map(|task| {
                let name = Path::new(&task.location).file_name().unwrap();
                name.to_string_lossy().into_owned()
            });
            names.collect::<Vec<_>>()
        };
        let all = ["archive.zip", "context.json", "pack"];
        assert_eq!(found(TaskKind::Verify, root), all);
        assert_eq!(found(TaskKind::Replay, root), ["archive.zip", "pack"]);
        // A unit named explicitly is queued, and its result says why it was not replayed.
        let named = root.join("context.json");
        assert_eq!(found(TaskKind::Replay, &named), ["context.json"]);
    }
}
