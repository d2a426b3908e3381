//! Tasks: verify and replay sealed runs on whichever machine is free.
//!
//! A task names a place below a root that each machine has of its own (a shared file system, or
//! copies of the same files), or a place that all of them reach, such as object storage. What was
//! found there counts by its content: a result is kept under the digest of the bytes that were judged,
//! and the same content is not replayed twice by the same version of this program.

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

/// The tasks for everything at `paths` and below, by place, each once. Places are relative to the
/// working folder, as they were given. Of what is found below a path, only that is replayed which can
/// be without a word from anybody.
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

/// Whether something is of a kind that is replayed by itself. What is in an archive is seen when it is
/// opened.
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

/// The level in a task's options; the default if they name none.
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
    fn folder_queued_for_replay_gives_what_can_be_replayed() {
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
        // What somebody names is queued, and its result says why not.
        let named = root.join("context.json");
        assert_eq!(found(TaskKind::Replay, &named), ["context.json"]);
    }
}
