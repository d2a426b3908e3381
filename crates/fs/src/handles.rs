//! Opens folders and files without being led astray by another user.
//!
//! A name in a folder that others may write to can be anybody's. So a link there is followed
//! only if this user or root made it, and a file there is touched only if it belongs to one of the
//! two. The kernel has such rules too (`fs.protected_symlinks`, `fs.protected_regular`), but not on
//! every machine, and for sticky folders alone.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::atomic::folder_of;

/// How many links may follow each other, as in the kernel.
const MAX_LINKS: usize = 40;

/// The flags for opening a folder by a name that is not a link.
pub const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// A name in an open folder.
#[derive(Debug)]
pub(crate) struct NameIn {
    /// The folder.
    pub(crate) folder: OwnedFd,
    /// The last component of the path.
    pub(crate) name: OsString,
    /// Whether others than its owner may write to the folder.
    is_open_to_others: bool,
}

/// Whether this user or root owns it. The owner of `/` counts as root: in a user namespace root may
/// have another number.
pub(crate) fn is_trusted_owner(uid: u32) -> bool {
    uid == rustix::process::geteuid().as_raw()
        || uid == 0
        || rustix::fs::stat("/").is_ok_and(|root| root.st_uid == uid)
}

/// Whether others than its owner may write to the folder: a group, or everybody. A list of further users
/// shows in the rights of the group.
fn is_open_to_others(folder: &Stat) -> bool {
    folder.st_mode & 0o022 != 0
}

/// Whether nobody but this user and root can rename or replace what these two own in the folder.
pub(crate) fn keeps_names(folder: &Stat) -> bool {
    let is_sticky = folder.st_mode & 0o1000 != 0;
    is_trusted_owner(folder.st_uid) && (is_sticky || !is_open_to_others(folder))
}

/// Whether both looks succeeded and found the same file or folder.
pub(crate) fn is_same(one: Result<Stat, Errno>, other: Result<Stat, Errno>) -> bool {
    let id = |stat: Stat| (stat.st_dev, stat.st_ino);
    matches!((one, other), (Ok(one), Ok(other)) if id(one) == id(other))
}

impl NameIn {
    /// Opens the folder of `path`, following links on the way only as the module allows.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let name = match path.components().next_back() {
            Some(Component::Normal(name)) => name.to_owned(),
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a folder; name a file",
                ));
            }
        };
        let folder = open_folder(folder_of(path))?;
        let is_open_to_others = is_open_to_others(&rustix::fs::fstat(&folder)?);
        Ok(Self {
            folder,
            name,
            is_open_to_others,
        })
    }

    /// What has the name, itself and not what a link leads to; `None` if it is free.
    pub(crate) fn look(&self) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Refuses what another user put into a folder that others may write to.
    pub(crate) fn check_owner(&self, stat: &Stat) -> io::Result<()> {
        if self.is_open_to_others && !is_trusted_owner(stat.st_uid) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "another user put it there, in a folder that others may write to; name another file",
            ));
        }
        Ok(())
    }

    /// Opens the name with these flags, without following a link.
    pub(crate) fn open(&self, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(mode);
        match rustix::fs::openat(&self.folder, &self.name, flags, mode) {
            Err(Errno::LOOP) => Err(is_link()),
            other => Ok(other?),
        }
    }
}

/// The error for a link at the place of a file.
pub(crate) fn is_link() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is a link, and links are not written through; name the file itself",
    )
}

/// Opens the folder at `path`. Of the links on the way, those that another user made in a folder
/// which others own or may write to are refused.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    open_folder_by(path, |_| Ok(()))
}

/// The same; `check` judges every folder in which a name on the way is looked up, and the last one.
pub(crate) fn open_folder_by(
    path: &Path,
    check: impl Fn(&Stat) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    let start = |path: &Path| match path.is_absolute() {
        true => Path::new("/"),
        false => Path::new("."),
    };
    let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(start(path), FOLDER | OFlags::PATH, Mode::empty())?;
    let mut waiting = components(path);
    let mut links = 0;
    let mut folder = rustix::fs::fstat(&at)?;
    while let Some(name) = waiting.pop() {
        check(&folder)?;
        let next = rustix::fs::openat(&at, &name, step, Mode::empty())?;
        let found = rustix::fs::fstat(&next)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            (at, folder) = (next, found);
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("too many links lead from one to the next"));
        }
        let is_others = is_open_to_others(&folder) || !is_trusted_owner(folder.st_uid);
        if is_others && !is_trusted_owner(found.st_uid) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "the link `{}` on the way was made by another user; name what it leads to",
                    name.display()
                ),
            ));
        }
        let target = rustix::fs::readlinkat(&next, "", Vec::new())?;
        let target = Path::new(OsStr::from_bytes(target.to_bytes()));
        if target.is_absolute() {
            at = rustix::fs::open("/", FOLDER | OFlags::PATH, Mode::empty())?;
            folder = rustix::fs::fstat(&at)?;
        }
        waiting.extend(components(target));
    }
    check(&folder)?;
    // A folder that may be searched but not read can still be written to.
    match rustix::fs::openat(&at, ".", FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => Ok(at),
        other => Ok(other?),
    }
}

/// The components, last one first.
fn components(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<_> = parts.collect();
    parts.reverse();
    parts
}

/// Deletes `name` in `folder` with everything below it, including what its owner closed to
/// everybody. Follows no links, whatever happens meanwhile, and needs no more for a deep tree than for
/// a flat one: folders are moved to the top before they are emptied.
pub(crate) fn remove_tree(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    let folder = folder.as_fd();
    let Some(top) = open_to_empty(folder, name)? else {
        return Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?);
    };
    remove_below(&top)?;
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// Deletes everything below an open folder of this user.
pub(crate) fn remove_below(top: &OwnedFd) -> io::Result<()> {
    let unused = crate::private::random_name()?;
    let mut moved = 0_u64;
    let mut waiting = remove_files(top)?;
    while let Some(name) = waiting.pop() {
        let Some(below) = open_to_empty(top.as_fd(), &name)? else {
            rustix::fs::unlinkat(top, &name, AtFlags::empty())?;
            continue;
        };
        for inner in remove_files(&below)? {
            // Only a folder that its owner may write to can be moved.
            if open_to_empty(below.as_fd(), &inner)?.is_none() {
                rustix::fs::unlinkat(&below, &inner, AtFlags::empty())?;
                continue;
            }
            let place = OsString::from(format!("{unused}-{moved}"));
            moved += 1;
            rustix::fs::renameat(&below, &inner, top, &place)?;
            waiting.push(place);
        }
        rustix::fs::unlinkat(top, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Opens a folder and lets its owner do everything in it; `None` if it is something else.
fn open_to_empty(above: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let opened = match rustix::fs::openat(above, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let path = rustix::fs::openat(above, name, FOLDER | OFlags::PATH, Mode::empty())?;
            chmod_opened(&path, Mode::RWXU)?;
            rustix::fs::openat(above, name, FOLDER, Mode::empty())
        }
        other => other,
    };
    match opened {
        Ok(opened) => {
            // Fails for what another user owns; then deleting says so.
            let _ = rustix::fs::fchmod(&opened, Mode::RWXU);
            Ok(Some(opened))
        }
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Deletes everything in a folder but folders; returns the names of those.
fn remove_files(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut folders = Vec::new();
    let mut files = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let names = match entry.file_type() {
            _ if matches!(name, b"." | b"..") => continue,
            FileType::Directory | FileType::Unknown => &mut folders,
            _ => &mut files,
        };
        names.push(OsStr::from_bytes(name).to_owned());
    }
    for name in files {
        rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
    }
    Ok(folders)
}

/// Sets the mode of the file or folder at `path`, which must not be a link.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&opened)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Err(is_link()),
        _ => chmod_opened(&opened, Mode::from_raw_mode(mode)),
    }
}

/// Sets the mode of what is open as a path only: its owner may have closed it to everybody.
pub fn chmod_opened(opened: &OwnedFd, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let place = format!("/proc/self/fd/{}", opened.as_raw_fd());
    Ok(rustix::fs::chmod(place, mode)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use runseal_testkit::skip::need_root;

    use super::*;

    #[test]
    fn remove_tree_deletes_closed_folders_and_leaves_what_links_lead_to() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        fs::create_dir_all(at("gone/a/b")).unwrap();
        fs::create_dir(at("kept")).unwrap();
        fs::write(at("kept/file"), "x").unwrap();
        fs::write(at("gone/a/b/file"), "x").unwrap();
        symlink(at("kept"), at("gone/link")).unwrap();
        for (name, mode) in [("gone/a/b", 0o555), ("gone/a", 0o000), ("gone", 0o500)] {
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let folder = open_folder(outer.path()).unwrap();
        remove_tree(&folder, OsStr::new("gone")).unwrap();
        assert!(!at("gone").exists());
        assert!(at("kept/file").exists());
        symlink(at("kept"), at("link")).unwrap();
        remove_tree(&folder, OsStr::new("link")).unwrap();
        assert!(at("kept/file").exists() && !at("link").is_symlink());
    }

    #[test]
    fn remove_tree_deletes_a_tree_that_is_deeper_than_paths_are_long() {
        let outer = tempfile::tempdir().unwrap();
        let folder = open_folder(outer.path()).unwrap();
        rustix::fs::mkdirat(&folder, "deep", Mode::RWXU).unwrap();
        let mut at = rustix::fs::openat(&folder, "deep", FOLDER, Mode::empty()).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", FOLDER, Mode::empty()).unwrap();
        }
        drop(at);
        remove_tree(&folder, OsStr::new("deep")).unwrap();
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }

    #[test]
    fn link_of_a_stranger_is_followed_only_where_nobody_else_can_put_one() {
        if !need_root() {
            return;
        }
        const STRANGER: Option<u32> = Some(2_000_000_001);
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        fs::create_dir_all(at("shared")).unwrap();
        fs::create_dir(at("home")).unwrap();
        symlink(at("home"), at("shared/link")).unwrap();
        std::os::unix::fs::lchown(at("shared/link"), STRANGER, None).unwrap();
        for (mode, owner, is_followed) in [
            (0o755, Some(0), true),
            (0o775, Some(0), false),
            (0o1775, Some(0), false),
            (0o757, Some(0), false),
            (0o755, STRANGER, false),
        ] {
            fs::set_permissions(at("shared"), fs::Permissions::from_mode(mode)).unwrap();
            std::os::unix::fs::chown(at("shared"), owner, None).unwrap();
            let opened = open_folder(&at("shared/link"));
            assert_eq!(opened.is_ok(), is_followed, "{mode:o} {owner:?}");
        }
    }

    #[test]
    fn open_folder_follows_own_links_and_refuses_a_circle() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        fs::create_dir_all(at("real/inner")).unwrap();
        symlink("real", at("link")).unwrap();
        symlink(at("link"), at("second")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let opened = rustix::fs::fstat(open_folder(&at("second/inner/../inner")).unwrap()).unwrap();
        let real = rustix::fs::stat(at("real/inner")).unwrap();
        assert_eq!(opened.st_ino, real.st_ino);
        assert!(open_folder(&at("circle")).is_err());
        assert!(open_folder(&at("absent")).is_err());
    }
}
