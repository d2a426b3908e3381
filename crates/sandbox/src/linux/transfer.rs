//! Makes one folder the equal of another: what the caller's work folder holds goes into the
//! sandbox's own before the command starts, and comes back after its last process is gone.
//!
//! Everything is reached by descriptor and no link is followed. Neither folder changes while it
//! is copied: the command does not run yet, or no process of it is left. What comes back was
//! made by the command and is not trusted: set-user-ID, set-group-ID and sticky bits, extended
//! attributes and owners stay behind, hard links become separate files, and nesting is bounded.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, UTIME_OMIT, Uid,
};
use rustix::io::Errno;

use crate::mounted::is_mounted;

use super::opening::{
    DEEPEST, FOLDER, OpenedFolder, READ, names_in, open_file, open_file_as_is, open_folder,
};

const CREATE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);
const BUFFER: usize = 1 << 17;

/// Makes `to` hold exactly what `from` holds. Files that are the same already are left alone.
/// New things belong to `owner`, or to the calling process if there is none.
pub(super) fn replicate(
    from: &OwnedFd,
    to: &OwnedFd,
    owner: Option<(u32, u32)>,
) -> Result<(), Errno> {
    let mut copier = Copier {
        owner,
        is_foreign: false,
        reader: None,
        buffers: Buffers::new(),
    };
    copier.replicate_below(from, to, 0)
}

/// Copies a folder that is not ours to change into an empty one. What cannot be read and what is
/// a device is left out; file systems mounted below it are not entered. Root copies of somebody else's
/// folder only what that user or everybody may read: the command must not get more by the copy.
pub(super) fn copy_out(
    from: &OwnedFd,
    to: &OwnedFd,
    owner: Option<(u32, u32)>,
) -> Result<(), Errno> {
    let whose = rustix::fs::fstat(from)?.st_uid;
    let mut copier = Copier {
        owner,
        is_foreign: true,
        reader: (rustix::process::geteuid().is_root() && whose != 0).then_some(whose),
        buffers: Buffers::new(),
    };
    copier.replicate_below(from, to, 0)
}

struct Copier {
    owner: Option<(u32, u32)>,
    /// Whether nothing of the original may be changed, not even for a moment.
    is_foreign: bool,
    /// The user who has to be able to read what is copied, if root copies.
    reader: Option<u32>,
    buffers: Buffers,
}

/// Room for reading two files side by side.
pub(super) struct Buffers([Vec<u8>; 2]);

impl Buffers {
    pub(super) fn new() -> Buffers {
        Buffers([vec![0; BUFFER], vec![0; BUFFER]])
    }

    /// Whether two files of the same size hold the same. Where both have a hole, nothing is read.
    pub(super) fn are_same(&mut self, one: &OwnedFd, other: &OwnedFd) -> Result<bool, Errno> {
        let [first, second] = &mut self.0;
        let mut at = 0;
        loop {
            let next = [next_data(one, at)?, next_data(other, at)?];
            // Without data in either of them, both are holes to the end.
            let Some(data) = next.into_iter().flatten().min() else {
                return Ok(true);
            };
            let counts = (
                read_full(one, first, data)?,
                read_full(other, second, data)?,
            );
            if first.get(..counts.0) != second.get(..counts.1) {
                return Ok(false);
            }
            if counts.0 == 0 {
                return Ok(true);
            }
            at = data + counts.0 as u64;
        }
    }
}

impl Copier {
    fn replicate_below(&mut self, from: &OwnedFd, to: &OwnedFd, depth: usize) -> Result<(), Errno> {
        if depth > DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let names = names_in(from)?;
        for name in names_in(to)? {
            if !names.contains(&name) {
                remove(to, &name, depth)?;
            }
        }
        for name in &names {
            let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let there = match rustix::fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(there) => Some(there),
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(errno),
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let there = match there {
                Some(there) if FileType::from_raw_mode(there.st_mode) != kind => {
                    remove(to, name, depth)?;
                    None
                }
                other => other,
            };
            if self.is_foreign && !(self.may_read(&stat) && self.can_copy(from, name, kind)) {
                continue;
            }
            match kind {
                FileType::Directory => self.copy_folder(from, to, name, (&stat, there), depth)?,
                FileType::RegularFile => self.copy_file(from, to, name, (&stat, there))?,
                FileType::Symlink => self.copy_link(from, to, name, there.is_some())?,
                FileType::Fifo | FileType::Socket => {
                    if there.is_none() {
                        rustix::fs::mknodat(to, name, kind, permissions(&stat), 0)?;
                        self.give(to, name)?;
                    }
                }
                _ => return Err(Errno::PERM),
            }
        }
        Ok(())
    }

    /// Whether the owner of the folder, or everybody, may read a file or enter and list a folder.
    fn may_read(&self, stat: &Stat) -> bool {
        let needed = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => 0o5,
            FileType::RegularFile => 0o4,
            _ => return true,
        };
        let has = |mode: u32| mode & needed == needed;
        self.reader.is_none_or(|reader| {
            has(stat.st_mode) || (stat.st_uid == reader && has(stat.st_mode >> 6))
        })
    }

    /// Whether something of a foreign folder can be read as it is.
    fn can_copy(&self, from: &OwnedFd, name: &CStr, kind: FileType) -> bool {
        let is_of_folder = |opened: OwnedFd| is_mounted(from, opened) == Ok(false);
        match kind {
            FileType::Directory => {
                // Both rights are needed: to list it, and to look at what it lists.
                let flags = rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK;
                if rustix::fs::accessat(from, name, flags, AtFlags::EACCESS).is_err() {
                    return false;
                }
                rustix::fs::openat(from, name, FOLDER, Mode::empty()).is_ok_and(is_of_folder)
            }
            FileType::RegularFile => {
                rustix::fs::openat(from, name, READ, Mode::empty()).is_ok_and(is_of_folder)
            }
            FileType::CharacterDevice | FileType::BlockDevice => false,
            _ => true,
        }
    }

    fn copy_folder(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &CStr,
        (stat, there): (&Stat, Option<Stat>),
        depth: usize,
    ) -> Result<(), Errno> {
        let source = if self.is_foreign {
            let folder = rustix::fs::openat(from, name, FOLDER, Mode::empty())?;
            OpenedFolder {
                folder,
                restore: None,
            }
        } else {
            open_folder(from, name, stat)?
        };
        if there.is_none() {
            rustix::fs::mkdirat(to, name, Mode::RWXU)?;
        } else {
            // Its rights may not let us in; they are set anew below.
            rustix::fs::chmodat(to, name, Mode::RWXU, AtFlags::empty())?;
        }
        let target = rustix::fs::openat(to, name, FOLDER, Mode::empty())?;
        self.replicate_below(&source, &target, depth + 1)?;
        self.finish(&target, stat)
    }

    fn copy_file(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &CStr,
        (stat, there): (&Stat, Option<Stat>),
    ) -> Result<(), Errno> {
        let source = if self.is_foreign {
            open_file_as_is(from, name)?
        } else {
            open_file(from, name, stat)?
        };
        if let Some(there) = there {
            // A further name of the same file could lie outside the folder.
            let may_be_same = there.st_nlink == 1
                && there.st_size == stat.st_size
                && permissions(&there) == permissions(stat);
            if may_be_same
                && let Ok(target) = rustix::fs::openat(to, name, READ, Mode::empty())
                && self.buffers.are_same(&source, &target)?
            {
                return Ok(());
            }
            rustix::fs::unlinkat(to, name, AtFlags::empty())?;
        }
        let target = rustix::fs::openat(to, name, CREATE, Mode::RUSR | Mode::WUSR)?;
        self.copy_content(&source, &target)?;
        self.finish(&target, stat)
    }

    /// Copies what is written in a file; what is a hole in it stays one.
    fn copy_content(&mut self, source: &OwnedFd, target: &OwnedFd) -> Result<(), Errno> {
        let Buffers([buffer, _]) = &mut self.buffers;
        let mut at = 0;
        while let Some(data) = next_data(source, at)? {
            at = data;
            let count = read_full(source, buffer, at)?;
            let mut rest = buffer.get(..count).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            while !rest.is_empty() {
                let written = retry(|| rustix::io::pwrite(target, rest, at))?;
                rest = rest.get(written..).unwrap_or_default();
                at += written as u64;
            }
        }
        let length = rustix::fs::fstat(source)?.st_size;
        rustix::fs::ftruncate(target, u64::try_from(length).unwrap_or(0))
    }

    fn copy_link(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &CStr,
        is_there: bool,
    ) -> Result<(), Errno> {
        let target = rustix::fs::readlinkat(from, name, Vec::new())?;
        if is_there {
            if rustix::fs::readlinkat(to, name, Vec::new())? == target {
                return Ok(());
            }
            rustix::fs::unlinkat(to, name, AtFlags::empty())?;
        }
        rustix::fs::symlinkat(&target, to, name)?;
        self.give(to, name)
    }

    /// Owner, rights and time of change, in the order in which none undoes another.
    fn finish(&self, target: &OwnedFd, stat: &Stat) -> Result<(), Errno> {
        if let Some((uid, gid)) = self.owner {
            let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            rustix::fs::fchown(target, uid, gid)?;
        }
        rustix::fs::fchmod(target, permissions(stat))?;
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            },
            last_modification: Timespec {
                tv_sec: stat.st_mtime,
                tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
            },
        };
        rustix::fs::futimens(target, &times)
    }

    fn give(&self, folder: &OwnedFd, name: &CStr) -> Result<(), Errno> {
        let Some((uid, gid)) = self.owner else {
            return Ok(());
        };
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        rustix::fs::chownat(folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// Removes one entry, with all that is below it.
fn remove(folder: &OwnedFd, name: &CStr, depth: usize) -> Result<(), Errno> {
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG);
    }
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
    let below = rustix::fs::openat(folder, name, FOLDER, Mode::empty())?;
    for inner in names_in(&below)? {
        remove(&below, &inner, depth + 1)?;
    }
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// Reading, writing and executing. Never set-user-ID or its like: what comes back may belong to
/// root.
fn permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o777)
}

/// Where the next byte is, from `at` on, that does not lie in a hole; `None` if the rest of the file is one.
fn next_data(file: &OwnedFd, at: u64) -> Result<Option<u64>, Errno> {
    match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(data) => Ok(Some(data)),
        Err(Errno::NXIO) => Ok(None),
        // This file system does not tell holes apart.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(at)),
        Err(errno) => Err(errno),
    }
}

/// Fills the buffer with what the file has from `at` on, as far as it goes.
fn read_full(file: &OwnedFd, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..)
        && !room.is_empty()
    {
        let count = retry(|| rustix::io::pread(file, &mut *room, at + filled as u64))?;
        if count == 0 {
            break;
        }
        filled += count;
    }
    Ok(filled)
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn open(path: &Path) -> OwnedFd {
        rustix::fs::open(path, FOLDER, Mode::empty()).unwrap()
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn replica_holds_what_the_original_holds_and_nothing_else() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(from.path().join("a/b")).unwrap();
        fs::write(from.path().join("a/b/file"), "new").unwrap();
        fs::write(from.path().join("was-folder"), "file now").unwrap();
        symlink("/nowhere", from.path().join("link")).unwrap();
        fs::create_dir_all(to.path().join("was-folder/x")).unwrap();
        fs::create_dir(to.path().join("a")).unwrap();
        fs::write(to.path().join("a/b"), "was a file").unwrap();
        fs::write(to.path().join("gone"), "").unwrap();
        replicate(&open(from.path()), &open(to.path()), None).unwrap();
        assert_eq!(fs::read(to.path().join("a/b/file")).unwrap(), b"new");
        assert_eq!(fs::read(to.path().join("was-folder")).unwrap(), b"file now");
        let link = fs::read_link(to.path().join("link")).unwrap();
        assert_eq!(link, Path::new("/nowhere"));
        assert!(!to.path().join("gone").exists());
    }

    #[test]
    fn replica_of_a_file_with_holes_has_them_too_and_nothing_is_read_of_them() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = fs::File::create(from.path().join("sparse")).unwrap();
        file.set_len(1 << 40).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"x", 1 << 39).unwrap();
        copy_out(&open(from.path()), &open(to.path()), None).unwrap();
        let bounds = super::super::usage::Bounds::NONE;
        let usage = super::super::usage::measure(&open(to.path()), bounds).unwrap();
        assert_eq!(usage.apparent_bytes, 1 << 40);
        assert!(usage.disk_bytes < 1 << 22, "{usage:?}");
        let read = |folder: &Path| OwnedFd::from(fs::File::open(folder.join("sparse")).unwrap());
        let mut buffers = Buffers::new();
        assert!(
            buffers
                .are_same(&read(from.path()), &read(to.path()))
                .unwrap()
        );
        std::os::unix::fs::FileExt::write_all_at(&file, b"y", 1 << 30).unwrap();
        assert!(
            !buffers
                .are_same(&read(from.path()), &read(to.path()))
                .unwrap()
        );
    }

    #[test]
    fn replica_of_same_content_keeps_its_file_and_other_content_does_not_write_through_links() {
        use std::os::unix::fs::MetadataExt;
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["same", "other", "linked"] {
            fs::write(from.path().join(name), "content").unwrap();
        }
        fs::write(to.path().join("same"), "content").unwrap();
        fs::write(to.path().join("other"), "CONTENT").unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("victim"), "before!").unwrap();
        fs::hard_link(outside.path().join("victim"), to.path().join("linked")).unwrap();
        let number = |name: &str| fs::metadata(to.path().join(name)).unwrap().ino();
        let before = number("same");
        replicate(&open(from.path()), &open(to.path()), None).unwrap();
        assert_eq!(number("same"), before);
        for name in ["same", "other", "linked"] {
            assert_eq!(fs::read(to.path().join(name)).unwrap(), b"content");
        }
        assert_eq!(fs::read(outside.path().join("victim")).unwrap(), b"before!");
    }

    #[test]
    fn replica_has_rights_but_no_set_user_id() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("tool"), "x").unwrap();
        set_mode(&from.path().join("tool"), 0o6755);
        fs::create_dir(from.path().join("locked")).unwrap();
        fs::write(from.path().join("locked/file"), "x").unwrap();
        set_mode(&from.path().join("locked/file"), 0o000);
        set_mode(&from.path().join("locked"), 0o000);
        replicate(&open(from.path()), &open(to.path()), None).unwrap();
        assert_eq!(mode(&to.path().join("tool")), 0o755);
        assert_eq!(mode(&to.path().join("locked")), 0);
        for place in [from.path(), to.path()] {
            set_mode(&place.join("locked"), 0o700);
        }
        assert_eq!(mode(&to.path().join("locked/file")), 0);
    }
}
