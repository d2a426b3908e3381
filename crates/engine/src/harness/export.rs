//! Exporting a pack: a folder that appears whole or not at all.
//!
//! All files are written into a folder beside the target, flushed, and the folder is renamed. A
//! kill leaves at most that folder beside, never a half pack under the target's name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::error::HarnessError;

/// Writes a pack of the given files.
pub(super) fn export_pack(target: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), HarnessError> {
    let fail = |source: io::Error| {
        HarnessError::Internal(format!(
            "`{}` cannot be written: {source}",
            target.display()
        ))
    };
    check_target(target)?;
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(fail)?;
    let beside = tempfile::Builder::new()
        .prefix(".runseal-pack-")
        .tempdir_in(parent);
    let beside = beside.map_err(fail)?;
    for (name, bytes) in files {
        let mut file = File::create_new(beside.path().join(name)).map_err(fail)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(fail)?;
    }
    set_folder_mode(beside.path()).map_err(fail)?;
    File::open(beside.path())
        .and_then(|folder| folder.sync_all())
        .map_err(fail)?;
    // Onto an empty folder this replaces it; onto anything else it fails.
    match fs::rename(beside.path(), target) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            return Err(HarnessError::TargetExists(target.to_owned()));
        }
        Err(error) => return Err(fail(error)),
    }
    // It has another name now, so there is nothing left to remove.
    let _ = beside.keep();
    File::open(parent)
        .and_then(|folder| folder.sync_all())
        .map_err(fail)
}

/// Temporary folders are private; a pack is as readable as the person's umask says.
fn set_folder_mode(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let probe = folder.join(".mode");
    fs::create_dir(&probe)?;
    let mode = fs::metadata(&probe)?.permissions().mode();
    fs::remove_dir(&probe)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o777))
}

/// Refuses a target that is there and not an empty folder.
pub(super) fn check_target(target: &Path) -> Result<(), HarnessError> {
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(metadata) if metadata.is_dir() => {
            let mut entries = fs::read_dir(target).map_err(|error| {
                HarnessError::Internal(format!("{}: {error}", target.display()))
            })?;
            match entries.next() {
                None => Ok(()),
                Some(_) => Err(HarnessError::TargetExists(target.to_owned())),
            }
        }
        Ok(_) => Err(HarnessError::TargetExists(target.to_owned())),
        Err(error) => Err(HarnessError::Internal(format!(
            "{}: {error}",
            target.display()
        ))),
    }
}
