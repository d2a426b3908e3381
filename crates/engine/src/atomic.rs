//! Files that appear whole or not at all: written beside, flushed, renamed.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file could not be written. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[error("`{}` could not be written", .path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Writes `path` through `fill`: the file appears, or replaces what was there, only once all of
/// it is on disk. Where `fill` fails, nothing changes.
pub fn write_file<E: From<WriteError>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let fail = |source| WriteError {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".runseal-")
        // What the person's umask leaves of it; not the private mode of temporary files.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(fail)?;
    fill(&mut file)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    // The rename itself is on disk once its folder is.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(fail)?;
    Ok(())
}

/// Writes `bytes` to `path`, whole or not at all.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_file(path, |file| {
        file.write_all(bytes).map_err(|source| WriteError {
            path: path.to_owned(),
            source,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_file_failing_half_way_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_bytes(&path, b"before").unwrap();
        let failed = write_file(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(WriteError {
                path: path.clone(),
                source: io::Error::other("stop"),
            })
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }

    #[test]
    fn write_bytes_replaces_whole_and_names_the_file_on_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_bytes(&path, b"one").unwrap();
        write_bytes(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let absent = folder.path().join("absent/file");
        let error = write_bytes(&absent, b"").unwrap_err();
        assert_eq!(error.path, absent);
    }
}
