//! The engine's folder as the sandbox can show it.
//!
//! Where the caller is root, engines run as another user, who may read only what everyone may. A
//! folder with private files in it is then copied, with its files readable, into a folder that
//! nobody else on the machine can reach.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A folder that the user whom engines run as can read.
#[derive(Debug)]
pub enum ShownFolder {
    /// As it is.
    Itself(PathBuf),
    /// A copy, taken away with this.
    Copy(tempfile::TempDir),
}

const NAME: &str = "engine";

impl ShownFolder {
    /// Shows `folder`, an absolute path, as it is or as a copy.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || is_open(folder)? {
            return Ok(Self::Itself(folder.to_owned()));
        }
        let copy = tempfile::Builder::new()
            .prefix("runseal-engine-")
            .tempdir()?;
        copy_open(folder, &copy.path().join(NAME))?;
        Ok(Self::Copy(copy))
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Itself(path) => path.clone(),
            Self::Copy(copy) => copy.path().join(NAME),
        }
    }
}

/// Whether everyone may read `path` and everything below it.
fn is_open(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let mode = metadata.mode();
    if !metadata.is_dir() {
        // A link has no mode of its own, and a pipe or device is not for reading.
        return Ok(!metadata.is_file() || mode & 0o004 != 0);
    }
    if mode & 0o005 != 0o005 {
        return Ok(false);
    }
    for entry in fs::read_dir(path)? {
        if !is_open(&entry?.path())? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn copy_open(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_open(&entry.path(), &to.join(entry.file_name()))?;
        }
        fs::set_permissions(to, Permissions::from_mode(0o755))
    } else if metadata.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else if metadata.is_file() {
        fs::copy(from, to)?;
        let executable = if metadata.mode() & 0o100 != 0 {
            0o555
        } else {
            0o444
        };
        fs::set_permissions(to, Permissions::from_mode(executable))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_folder_private_files_are_copied_readable() {
        let folder = tempfile::tempdir().unwrap();
        let engine = folder.path().join("e");
        fs::create_dir_all(engine.join("bin")).unwrap();
        fs::write(engine.join("bin/run"), "x").unwrap();
        fs::write(engine.join("data"), "y").unwrap();
        symlink("data", engine.join("link")).unwrap();
        let mode = |name: &str, mode| {
            fs::set_permissions(engine.join(name), Permissions::from_mode(mode)).unwrap();
        };
        for name in ["", "bin"] {
            mode(name, 0o755);
        }
        mode("bin/run", 0o755);
        mode("data", 0o644);
        assert!(is_open(&engine).unwrap());
        for (name, private, open) in [
            ("data", 0o600, 0o644),
            ("bin", 0o700, 0o755),
            ("", 0o700, 0o755),
        ] {
            mode(name, private);
            assert!(!is_open(&engine).unwrap(), "{name}");
            mode(name, open);
        }
        mode("data", 0o600);
        mode("bin/run", 0o700);
        let copy = folder.path().join("copy");
        copy_open(&engine, &copy).unwrap();
        assert!(is_open(&copy).unwrap());
        let mode_of = |name: &str| fs::metadata(copy.join(name)).unwrap().mode() & 0o777;
        assert_eq!(
            (mode_of("bin/run"), mode_of("data"), mode_of("link")),
            (0o555, 0o444, 0o444)
        );
    }
}
