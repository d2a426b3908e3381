//! Folders for what nobody else may see: the only way to make one.
//!
//! A private folder has the mode 0700 from its first moment and a name that nobody can foresee. It
//! is never made in a folder whose names others may change, where it could be swapped for another.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::handles::{
    FOLDER, NameIn, is_same, keeps_names, open_folder, open_folder_by, remove_below,
};

/// Bytes of randomness in a name.
const RANDOM: usize = 16;

/// A folder that only its owner can enter; deleted with its content when dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    name: OsString,
    above: OwnedFd,
    folder: OwnedFd,
    is_kept: bool,
}

impl PrivateFolder {
    /// Makes one in the folder for temporary files; `purpose` is part of its name.
    ///
    /// # Errors
    /// When it cannot be made, or others may rename what is in the folder for temporary files.
    pub fn create(purpose: &str) -> io::Result<Self> {
        Self::create_at(&temporary_folder(), purpose)
    }

    /// The same for a folder for temporary files that the caller has looked at.
    pub fn create_at(temporary: &Path, purpose: &str) -> io::Result<Self> {
        check_temporary(temporary)?;
        Self::create_in(temporary, &format!("runseal-{purpose}-"))
    }

    /// Makes one in `place` whose name begins with `prefix`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create_in(place: &Path, prefix: &str) -> io::Result<Self> {
        let above = open_folder(place)?;
        loop {
            let name = OsString::from(format!("{prefix}{}", random_name()?));
            match rustix::fs::mkdirat(&above, &name, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let folder = match rustix::fs::openat(&above, &name, FOLDER, Mode::empty()) {
                // Another process took it for an abandoned one.
                Err(Errno::NOENT) => continue,
                other => other?,
            };
            check_private(&rustix::fs::fstat(&folder)?)?;
            return Ok(Self {
                path: place.join(&name),
                name,
                above,
                folder,
                is_kept: false,
            });
        }
    }

    /// Opens or makes the folder at `path`, whose name can be foreseen: what is there is used only if
    /// it is this user's and nobody else could have put anything into it.
    ///
    /// # Errors
    /// When it cannot be made, or something else has the name.
    pub fn resume(path: &Path) -> io::Result<Self> {
        let place = NameIn::of(path)?;
        match rustix::fs::mkdirat(&place.folder, &place.name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let folder = match rustix::fs::openat(&place.folder, &place.name, FOLDER, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(not_private()),
            other => other?,
        };
        let stat = rustix::fs::fstat(&folder)?;
        let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
        if !is_ours || stat.st_mode & 0o022 != 0 {
            return Err(not_private());
        }
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
        Ok(Self {
            path: path.to_owned(),
            name: place.name,
            above: place.folder,
            folder,
            is_kept: false,
        })
    }

    /// Opens a regular file in it for reading and writing, and creates it if `may_create` is set;
    /// `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be opened, or is a link or anything else that is not a file of this one name.
    pub fn open_file(&self, name: &str, may_create: bool) -> io::Result<Option<File>> {
        let mut flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        flags.set(OFlags::CREATE, may_create);
        let mode = Mode::RUSR | Mode::WUSR;
        let file = match rustix::fs::openat(&self.folder, name, flags, mode) {
            Err(Errno::NOENT) if !may_create => return Ok(None),
            other => other?,
        };
        let stat = rustix::fs::fstat(&file)?;
        // What is complete may have got further names from us; what is still written to may not.
        let has_other_names = may_create && stat.st_nlink != 1;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || has_other_names {
            return Err(not_private());
        }
        Ok(Some(File::from(file)))
    }

    /// Gives a file in it another name.
    ///
    /// # Errors
    /// The system's.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, from, &self.folder, to)?)
    }

    /// Deletes a file in it.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())?)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that leads to the open folder itself, whatever has its name by now; its name where the
    /// system has no such path.
    pub(crate) fn path_of_handle(&self) -> PathBuf {
        let by_handle = PathBuf::from(format!("/proc/self/fd/{}/.", self.folder.as_raw_fd()));
        match is_same(
            rustix::fs::stat(&by_handle),
            rustix::fs::fstat(&self.folder),
        ) {
            true => by_handle,
            false => self.path.clone(),
        }
    }

    /// The open folder that it was made in, and its name there.
    pub(crate) fn place(&self) -> (&OwnedFd, &OsStr) {
        (&self.above, &self.name)
    }

    /// The open folder.
    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.folder
    }

    /// Lets it stay; returns where it is.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }

    /// Makes a folder inside for the user that root's commands run as. That user may pass through
    /// this folder, as may everybody, but cannot list it, and the name inside is known only to those who
    /// are told. An ordinary user's commands run as that user, and nothing is opened.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_shared_inside(&self) -> io::Result<PathBuf> {
        let name = random_name()?;
        rustix::fs::mkdirat(&self.folder, &name, Mode::RWXU)?;
        let inside = rustix::fs::openat(&self.folder, &name, FOLDER, Mode::empty())?;
        if rustix::process::geteuid().is_root() {
            rustix::fs::fchmod(&inside, Mode::from_raw_mode(0o755))?;
            rustix::fs::fchmod(&self.folder, Mode::from_raw_mode(0o711))?;
        }
        Ok(self.path.join(name))
    }
}

impl AsFd for PrivateFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be deleted stays private. What has the name by now may be another's.
            let _ = rustix::fs::fchmod(&self.folder, Mode::RWXU);
            let _ = remove_below(&self.folder);
            let named = rustix::fs::statat(&self.above, &self.name, AtFlags::SYMLINK_NOFOLLOW);
            if is_same(named, rustix::fs::fstat(&self.folder)) {
                let _ = rustix::fs::unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR);
            }
        }
    }
}

/// The path of the folder for temporary files.
#[expect(clippy::disallowed_methods, reason = "the only place that asks for it")]
pub fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

/// Refuses a folder for temporary files in which others could swap what is there, and one that others
/// could swap as a whole: what is below it is also reached by its path.
fn check_temporary(place: &Path) -> io::Result<()> {
    let check = |folder: &Stat| match keeps_names(folder) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "other users can rename what is in the folder for temporary files, or in one above it; set \
             TMPDIR to a folder of your own",
        )),
    };
    open_folder_by(&std::path::absolute(place)?, check).map(drop)
}

/// Whether the folder is this user's and closed to everybody else.
///
/// # Errors
/// When it is not.
pub(crate) fn check_private(stat: &Stat) -> io::Result<()> {
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if is_ours && stat.st_mode & 0o077 == 0 {
        return Ok(());
    }
    Err(not_private())
}

fn not_private() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "another user could have made or changed it, so it is not used; delete it or name another place",
    )
}

/// A name that nobody can foresee.
pub fn random_name() -> io::Result<String> {
    let mut random = [0; RANDOM];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn private_folder_is_closed_to_others_and_gone_when_dropped() {
        let outer = tempfile::tempdir().unwrap();
        let made = PrivateFolder::create_in(outer.path(), "x-").unwrap();
        assert_eq!(mode(made.path()), 0o700);
        fs::create_dir(made.path().join("inner")).unwrap();
        fs::write(made.path().join("inner/file"), "x").unwrap();
        fs::set_permissions(made.path().join("inner"), PermissionsExt::from_mode(0o000)).unwrap();
        let second = PrivateFolder::create_in(outer.path(), "x-").unwrap();
        assert_ne!(made.path(), second.path());
        let kept = second.keep();
        drop(made);
        let left: Vec<_> = fs::read_dir(outer.path()).unwrap().collect();
        assert_eq!(left.len(), 1);
        assert!(kept.exists());
    }

    #[test]
    fn private_folder_that_was_swapped_deletes_what_is_its_own_and_nothing_else() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        let made = PrivateFolder::create_in(outer.path(), "x-").unwrap();
        fs::write(made.path().join("own"), "x").unwrap();
        fs::create_dir(at("sealed")).unwrap();
        fs::write(at("sealed/file"), "x").unwrap();
        fs::rename(made.path(), at("moved")).unwrap();
        fs::rename(at("sealed"), made.path()).unwrap();
        let path = made.path().to_owned();
        drop(made);
        assert!(path.join("file").exists());
        assert!(!at("moved/own").exists());
    }

    #[test]
    fn folder_of_a_known_name_is_used_only_if_nobody_else_could_write_to_it() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), PermissionsExt::from_mode(0o777)).unwrap();
        std::os::unix::fs::symlink("open", at("link")).unwrap();
        fs::write(at("file"), "").unwrap();
        for name in ["open", "link", "file"] {
            let refused = PrivateFolder::resume(&at(name)).unwrap_err();
            assert!(
                refused.to_string().contains("not used"),
                "{name}: {refused}"
            );
            assert!(at(name).exists());
        }
        let first = PrivateFolder::resume(&at("ours")).unwrap();
        assert_eq!(mode(first.path()), 0o700);
        fs::write(at("victim"), "secret").unwrap();
        std::os::unix::fs::symlink(at("victim"), first.path().join("a")).unwrap();
        fs::hard_link(at("victim"), first.path().join("b")).unwrap();
        for name in ["a", "b"] {
            assert!(first.open_file(name, true).is_err(), "{name}");
        }
        first.keep();
        let again = PrivateFolder::resume(&at("ours")).unwrap();
        assert!(again.open_file("c", false).unwrap().is_none());
        assert!(again.open_file("c", true).unwrap().is_some());
        drop(again);
        assert!(!at("ours").exists());
        assert_eq!(fs::read(at("victim")).unwrap(), b"secret");
    }

    #[test]
    fn temporary_folder_in_which_others_can_rename_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("inner")).unwrap();
        std::os::unix::fs::symlink("inner", outer.path().join("link")).unwrap();
        for (mode, is_fine) in [
            (0o777, false),
            (0o770, false),
            (0o702, false),
            (0o1777, true),
            (0o1770, true),
            (0o755, true),
            (0o700, true),
        ] {
            fs::set_permissions(outer.path(), PermissionsExt::from_mode(mode)).unwrap();
            // Whoever can rename a folder above can swap all that is below it, and a link.
            for place in ["", "inner", "link"] {
                let made = PrivateFolder::create_at(&outer.path().join(place), "x");
                assert_eq!(made.is_ok(), is_fine, "{mode:o} {place}");
            }
        }
        if rustix::process::geteuid().is_root() {
            let stranger = Some(2_000_000_001);
            std::os::unix::fs::chown(outer.path(), stranger, None).unwrap();
            assert!(PrivateFolder::create_at(&outer.path().join("inner"), "x").is_err());
        }
    }

    #[test]
    fn folder_shared_with_commands_lies_behind_a_name_that_nobody_can_list() {
        let outer = tempfile::tempdir().unwrap();
        let made = PrivateFolder::create_in(outer.path(), "x-").unwrap();
        let inside = made.make_shared_inside().unwrap();
        assert!(inside.file_name().unwrap().len() >= 2 * RANDOM);
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(mode(made.path()), if is_root { 0o711 } else { 0o700 });
    }
}
