//! The engine's folder in a form that the sandbox can show.
//!
//! If the caller is root, engines run as another user, who can read only what everybody can. A
//! folder with private files is then copied, with its files made readable, into a folder that
//! nobody else on the machine can reach.

use std::ffi::{CStr, OsStr};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use runseal_fs::private::PrivateFolder;

/// The flags for opening entries: a pipe does not block, a terminal does not become ours.
const OPEN: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A folder that is readable for the user that engines run as.
#[derive(Debug)]
pub enum ShownFolder {
    /// The folder itself: everybody can read all of it.
    Itself(PathBuf),
    /// A copy; deleted when dropped.
    Copy {
        /// Where the copy is.
        path: PathBuf,
        /// Deletes it.
        _private: PrivateFolder,
    },
}

const NAME: &str = "engine";

impl ShownFolder {
    /// Makes `folder`, an absolute path, readable as it is or as a copy.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || is_open(folder)? {
            return Ok(Self::Itself(folder.to_owned()));
        }
        let private = PrivateFolder::create("engine")?;
        let copy = private.make_shared_inside()?.join(NAME);
        copy_open(folder, &copy)?;
        Ok(Self::Copy {
            path: copy,
            _private: private,
        })
    }

    /// Its path, which is valid until this value is dropped.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Itself(path) | Self::Copy { path, .. } => path.clone(),
        }
    }
}

/// Whether everybody can read `path` and everything below it.
fn is_open(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let mode = metadata.mode();
    if !metadata.is_dir() {
        // A link has no mode of its own, and a pipe or device is not read.
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

/// Copies a folder and makes its files readable. Each entry is opened once, without following
/// links, and its type is taken from the same handle that is then read: swapping it meanwhile gives
/// an error or a link, never the content of another file.
fn copy_open(from: &Path, to: &Path) -> io::Result<()> {
    let folder = rustix::fs::open(from, OPEN | OFlags::DIRECTORY, Mode::empty())?;
    copy_folder(&folder, to)
}

fn copy_folder(from: &OwnedFd, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in Dir::read_from(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            copy_entry(from, name, &to.join(OsStr::from_bytes(name.to_bytes())))?;
        }
    }
    runseal_fs::handles::set_mode(to, 0o755)
}

#[expect(clippy::disallowed_methods, reason = "only within a private folder")]
fn copy_entry(folder: &OwnedFd, name: &CStr, to: &Path) -> io::Result<()> {
    let handle = match rustix::fs::openat(folder, name, OPEN, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::LOOP) => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
            return symlink(OsStr::from_bytes(target.to_bytes()), to);
        }
        // A socket, which is not read.
        Err(Errno::NXIO) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let stat = rustix::fs::fstat(&handle)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => copy_folder(&handle, to),
        FileType::RegularFile => {
            let mut copy = File::create_new(to)?;
            io::copy(&mut File::from(handle), &mut copy)?;
            let mode = if stat.st_mode & 0o100 != 0 {
                0o555
            } else {
                0o444
            };
            copy.set_permissions(Permissions::from_mode(mode))
        }
        // A pipe or device is not read.
        _ => Ok(()),
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

    #[test]
    fn copy_of_a_file_that_is_swapped_for_a_link_never_has_the_content_of_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let (engine, secret) = (folder.path().join("e"), folder.path().join("secret"));
        fs::create_dir(&engine).unwrap();
        fs::write(&secret, "secret").unwrap();
        let place = engine.join("data");
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    let beside = engine.join("beside");
                    fs::write(&beside, "public").unwrap();
                    fs::rename(&beside, &place).unwrap();
                    symlink(&secret, &beside).unwrap();
                    fs::rename(&beside, &place).unwrap();
                }
            });
            for number in 0..300 {
                let copy = folder.path().join(format!("copy-{number}"));
                // An entry that vanishes before it is opened is an error, and does no harm.
                let _ = copy_open(&engine, &copy);
                for name in ["data", "beside"] {
                    let copied = copy.join(name);
                    if fs::symlink_metadata(&copied).is_ok_and(|copied| copied.is_file()) {
                        assert_ne!(fs::read_to_string(&copied).unwrap(), "secret");
                    }
                }
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
