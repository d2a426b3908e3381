//! Copies what a recorded command left into the real folder: each file atomically, and never over
//! something that changed since the command began.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use runseal_sandbox::outputs::OutputError;
use runseal_sandbox::{Changed, FolderLayer};

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
    /// A file could not be written; earlier ones were.
    #[error(transparent)]
    Write(#[from] WriteError),
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
/// [`ApplyError`]. If something changed meanwhile, nothing at all is applied.
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
    let mut applied = 0;
    for change in changes {
        let target = folder.join(&change.path);
        match &change.now {
            Changed::File { mode, .. } => {
                let file = layer.open(&change.path)?;
                put_file(file, *mode, &target).map_err(WriteError::at(&target))?;
                applied += 1;
            }
            Changed::Folder { .. } => {
                fs::create_dir_all(&target).map_err(WriteError::at(&target))?;
            }
            Changed::Deleted => {
                remove(&target).map_err(WriteError::at(&target))?;
                applied += 1;
            }
            // These are never sealed, so they do not occur here.
            Changed::Link { .. } | Changed::Pipe | Changed::Socket | Changed::Device => {}
        }
    }
    Ok(applied)
}

/// Whether `target` is no longer what the command saw there.
fn is_newer(target: &Path, existed: bool, began: SystemTime) -> bool {
    match fs::symlink_metadata(target) {
        // The change time, which no program can set back.
        Ok(metadata) if existed => {
            let changed =
                i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
            let began = began
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_nanos());
            !metadata.is_dir() && changed > i128::try_from(began).unwrap_or(i128::MAX)
        }
        Ok(metadata) => !metadata.is_dir(),
        Err(_) => existed,
    }
}

fn put_file(mut file: fs::File, mode: u32, target: &Path) -> io::Result<()> {
    let folder: PathBuf = folder_of(target).to_owned();
    fs::create_dir_all(&folder)?;
    let mut beside = tempfile::Builder::new()
        .prefix(crate::unfinished::PREFIX)
        .tempfile_in(&folder)?;
    io::copy(&mut file, beside.as_file_mut())?;
    let mode = if mode & 0o111 != 0 { 0o755 } else { 0o644 };
    beside
        .as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    beside.as_file().sync_all()?;
    beside.persist(target).map_err(|error| error.error)?;
    Ok(())
}

fn remove(target: &Path) -> io::Result<()> {
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(target),
        Ok(_) => fs::remove_file(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
