//! Tasks: verify and replay sealed runs on whichever machine is free.
//!
//! A task names a place below a root that each machine chooses for itself (a shared file system, or
//! copies of the same files), or a place that all of them can reach, such as object storage. What
//! is found there counts by its content: a result is stored under the digest of the bytes that were
//! judged, and the same content is not replayed twice.

mod verify;
pub mod worker;

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value, canonical_text};
use runseal_core::verify::Level;
use runseal_survey::{Files, find_units};

use crate::store::{NewTask, TaskKind};

pub use verify::{Examined, examine};

/// The tasks for everything at and below `paths`, ordered by place and deduplicated. Places are
/// relative to the working folder, as they were given.
pub fn find_tasks(
    files: &dyn Files,
    kind: TaskKind,
    level: Level,
    paths: &[PathBuf],
) -> Vec<NewTask> {
    let options = options_of(kind, level);
    let mut places = Vec::new();
    for path in paths {
        find_units(files, path, &mut |unit| places.push(place_of(&unit)));
    }
    places.sort();
    places.dedup();
    let tasks = places
        .iter()
        .map(|place| NewTask::new(kind, &options, place));
    tasks.collect()
}

/// The options of a task, as canonical JSON.
fn options_of(kind: TaskKind, level: Level) -> String {
    let options = match kind {
        TaskKind::Verify => Value::object([("level", level.name())]),
        TaskKind::Replay => Value::Object(std::collections::BTreeMap::new()),
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
}
