//! Puts what a recorded command left into the real folder: each file whole or not at all, and
//! never over something that changed since the command began. Everything is written beside its place
//! before the first file is put there, so that a full disk leaves the folder as it was.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use runseal_sandbox::outputs::OutputError;
use runseal_sandbox::{Changed, FolderLayer};

use super::environment::status_changed_ns;
use crate::atomic::{WriteError, folder_of};

/// Why nothing, or not everything, was applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Files that changed after the command began. Nothing was applied.
    #[error("{} changed while the command ran, so nothing was applied", list(.0))]
    Changed(Vec<String>),
    /// What should be applied could not be read.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Something could not be written. Nothing was applied.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Everything was written, and putting it into place failed half-way.
    #[error("of {of} changes, {} applied: {}", were(.applied.len()), list(.applied))]
    Partly {
        /// What was put into place.
        applied: Vec<String>,
        /// How many changes there are.
        of: usize,
        /// What went wrong with the next one.
        source: WriteError,
    },
}

fn were(count: usize) -> String {
    match count {
        1 => "1 was".to_owned(),
        _ => format!("{count} were"),
    }
}

fn list(paths: &[String]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(5)
        .map(|path| format!("`{path}`"))
        .collect();
    match paths.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Applies those changes of `layer` whose path is in `kept`, and all deletions, to `folder`.
/// `began` is when the command began.
///
/// # Errors
/// [`ApplyError`]. Where something changed meanwhile, or cannot be written, nothing at all is applied.
pub fn apply_changes(
    layer: &FolderLayer,
    folder: &Path,
    began: SystemTime,
    is_kept: impl Fn(&str) -> bool,
) -> Result<usize, ApplyError> {
    let changes: Vec<_> = layer
        .changes()
        .iter()
        .filter(|change| {
            change.now == Changed::Deleted || change.path.to_str().is_some_and(&is_kept)
        })
        .collect();
    let mut changed = Vec::new();
    for change in &changes {
        let target = folder.join(&change.path);
        if is_newer(&target, change.existed, began) {
            changed.push(change.path.to_string_lossy().escape_debug().to_string());
        }
    }
    if !changed.is_empty() {
        return Err(ApplyError::Changed(changed));
    }
    let mut written = StagedChanges::default();
    for change in &changes {
        let target = folder.join(&change.path);
        match &change.now {
            Changed::File { mode, .. } => {
                let file = layer.open(&change.path)?;
                written
                    .put_beside(file, *mode, &target)
                    .map_err(WriteError::at(&target))?;
            }
            Changed::Folder { .. } => {
                written
                    .make_folders(&target)
                    .map_err(WriteError::at(&target))?;
            }
            Changed::Deleted
            | Changed::Link { .. }
            | Changed::Pipe
            | Changed::Socket
            | Changed::Device => {}
        }
    }
    let deleted = changes.iter().filter(|it| it.now == Changed::Deleted);
    let deleted: Vec<PathBuf> = deleted.map(|it| folder.join(&it.path)).collect();
    written.put_into_place(&deleted, folder)
}

/// What is to be put into place: all of it lies beside its targets before the first one is touched.
/// What is still there when this goes is taken away.
#[derive(Debug, Default)]
struct StagedChanges {
    files: Vec<(tempfile::TempPath, PathBuf)>,
    /// Folders that were made on the way, each after the one that it lies in.
    folders: Vec<PathBuf>,
}

impl StagedChanges {
    fn make_folders(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|it| !it.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn put_beside(&mut self, mut file: fs::File, mode: u32, target: &Path) -> io::Result<()> {
        let folder: PathBuf = folder_of(target).to_owned();
        self.make_folders(&folder)?;
        let mut beside = tempfile::Builder::new()
            .prefix(crate::unfinished::PREFIX)
            .tempfile_in(&folder)?;
        io::copy(&mut file, beside.as_file_mut())?;
        let mode = if mode & 0o111 != 0 { 0o755 } else { 0o644 };
        beside
            .as_file()
            .set_permissions(fs::Permissions::from_mode(mode))?;
        beside.as_file().sync_all()?;
        self.files
            .push((beside.into_temp_path(), target.to_owned()));
        Ok(())
    }

    fn put_into_place(mut self, deleted: &[PathBuf], folder: &Path) -> Result<usize, ApplyError> {
        let files = std::mem::take(&mut self.files);
        // They hold what was put there, or belong to it.
        self.folders.clear();
        let of = files.len() + deleted.len();
        let mut applied: Vec<String> = Vec::new();
        let done = |applied: &mut Vec<String>, target: &Path| {
            let name = target.strip_prefix(folder).unwrap_or(target);
            applied.push(name.to_string_lossy().escape_debug().to_string());
        };
        for (beside, target) in files {
            match beside.persist(&target) {
                Ok(()) => done(&mut applied, &target),
                Err(error) => {
                    return Err(stopped(applied, of, WriteError::at(&target)(error.error)));
                }
            }
        }
        for target in deleted {
            match remove(target) {
                Ok(()) => done(&mut applied, target),
                Err(error) => return Err(stopped(applied, of, WriteError::at(target)(error))),
            }
        }
        Ok(of)
    }
}

fn stopped(applied: Vec<String>, of: usize, source: WriteError) -> ApplyError {
    match applied.is_empty() {
        true => source.into(),
        false => ApplyError::Partly {
            applied,
            of,
            source,
        },
    }
}

impl Drop for StagedChanges {
    fn drop(&mut self) {
        // Files first, which go by themselves: a folder has to be empty.
        self.files.clear();
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Whether `target` is no longer what the command saw there.
fn is_newer(target: &Path, existed: bool, began: SystemTime) -> bool {
    match fs::symlink_metadata(target) {
        // The change time, which no program can set back.
        Ok(metadata) if existed => {
            let changed = status_changed_ns(&metadata);
            let began = began
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_nanos());
            !metadata.is_dir() && changed > i128::try_from(began).unwrap_or(i128::MAX)
        }
        Ok(metadata) => !metadata.is_dir(),
        Err(_) => existed,
    }
}

fn remove(target: &Path) -> io::Result<()> {
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(target),
        Ok(_) => fs::remove_file(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, names: &[&str]) -> StagedChanges {
        let content = folder.join("content");
        fs::write(&content, "new").unwrap();
        let mut written = StagedChanges::default();
        for name in names {
            let file = fs::File::open(&content).unwrap();
            let target = folder.join(name);
            written.put_beside(file, 0o644, &target).unwrap();
        }
        fs::remove_file(&content).unwrap();
        written
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
        let mut names: Vec<String> = entries.map(|entry| name(entry).unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_not_put_into_place_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("old.txt"), "old").unwrap();
        let written = written(folder.path(), &["new/below/a.txt", "old.txt"]);
        assert!(folder.path().join("new/below").is_dir());
        drop(written);
        assert_eq!(names(folder.path()), ["old.txt"]);
        let old = fs::read_to_string(folder.path().join("old.txt"));
        assert_eq!(old.unwrap(), "old");
    }

    #[test]
    fn what_was_put_into_place_is_named_where_the_rest_cannot_be() {
        let folder = tempfile::tempdir().unwrap();
        let written = written(folder.path(), &["a.txt", "taken"]);
        fs::create_dir(folder.path().join("taken")).unwrap();
        let gone = folder.path().join("gone.txt");
        let error = written.put_into_place(&[gone], folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "of 3 changes, 1 was applied: `a.txt`");
        assert_eq!(names(folder.path()), ["a.txt", "taken"]);
    }
}
