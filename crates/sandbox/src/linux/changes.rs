//! Finds what a command changed in a layered folder, by comparing what it left with the real
//! folder. Both are reached by descriptor; no link is followed; neither changes any more, or if
//! someone changes the real folder meanwhile, what was read counts. What is mounted below the real
//! folder was never there for the command, and is not entered.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::opening::{self, DEEPEST};
use super::transfer;
use crate::layer::{Change, Changed, LayerKind};
use crate::outputs::{self, Kind};

/// Time within which the kernel may give two changes of a file the same time stamp.
const CLOCK_TICK_NS: i128 = 20_000_000;

/// What is known of the two folders.
pub(super) struct Comparison {
    pub(super) kind: LayerKind,
    /// Files of a copy that last changed well before this time, in nanoseconds since 1970, are
    /// as they were copied.
    pub(super) started_ns: i128,
    /// Every path that was copied: whatever else the real folder has was never there for the
    /// command. Nothing where it was no copy.
    pub(super) copied: Option<BTreeSet<Vec<u8>>>,
    /// The attribute by which the layer's overlayfs marks folders that were removed and made anew. Of the two
    /// that there are, the command can set the one that is not in use.
    pub(super) opaque: &'static str,
}

/// Every path below `folder`.
pub(super) fn list_paths(folder: &OwnedFd) -> Result<BTreeSet<Vec<u8>>, Errno> {
    let mut paths = BTreeSet::new();
    list_below(folder, &[], 0, &mut paths)?;
    Ok(paths)
}

fn list_below(
    folder: &OwnedFd,
    above: &[u8],
    depth: usize,
    paths: &mut BTreeSet<Vec<u8>>,
) -> Result<(), Errno> {
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG);
    }
    for name in opening::names_in(folder)? {
        let path = join(above, &name);
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let inner = opening::open_folder(folder, &name, &stat)?;
            list_below(&inner, &path, depth + 1, paths)?;
        }
        paths.insert(path);
    }
    Ok(())
}

/// All changes, sorted by the bytes of their path.
pub(super) fn find(
    left: &OwnedFd,
    real: &OwnedFd,
    comparison: &Comparison,
) -> Result<Vec<Change>, Errno> {
    let mut walk = Walk {
        comparison,
        changes: Vec::new(),
        buffers: transfer::Buffers::new(),
    };
    walk.folder(left, Some(real), &[], 0)?;
    walk.changes
        .sort_by(|one, other| one.path.as_bytes().cmp(other.path.as_bytes()));
    Ok(walk.changes)
}

struct Walk<'a> {
    comparison: &'a Comparison,
    changes: Vec<Change>,
    buffers: transfer::Buffers,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        left: &OwnedFd,
        real: Option<&OwnedFd>,
        above: &[u8],
        depth: usize,
    ) -> Result<(), Errno> {
        if depth > DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let names = opening::names_in(left)?;
        if let Some(real) = real
            && (self.comparison.kind == LayerKind::Copy || is_opaque(left, self.comparison.opaque))
        {
            self.removed(real, &names, above)?;
        }
        for name in &names {
            self.entry(left, real, name, above, depth)?;
        }
        Ok(())
    }

    /// What the real folder has and the other one does not. Only for folders in which nothing
    /// shows through.
    fn removed(
        &mut self,
        real: &OwnedFd,
        names: &BTreeSet<CString>,
        above: &[u8],
    ) -> Result<(), Errno> {
        for name in opening::names_in(real)? {
            let path = join(above, &name);
            let copied = self.comparison.copied.as_ref();
            if !names.contains(&name) && copied.is_none_or(|copied| copied.contains(&path)) {
                self.add(path, Changed::Deleted, true);
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        left: &OwnedFd,
        real: Option<&OwnedFd>,
        name: &CStr,
        above: &[u8],
        depth: usize,
    ) -> Result<(), Errno> {
        let path = join(above, name);
        let stat = rustix::fs::statat(left, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let found = match real {
            Some(real) => look(real, name)?,
            None => None,
        };
        let is_covered = match real {
            Some(real) if found.is_some() => opening::is_covered(real, name)?,
            _ => false,
        };
        // A layer shows what a mount covers, of which only its kind is known; a copy has nothing of it.
        let before = found.filter(|_| !is_covered);
        let existed = match self.comparison.kind {
            LayerKind::Copy => before.is_some(),
            LayerKind::Overlay => found.is_some(),
        };
        let was_same_kind = before.as_ref().is_some_and(|before| {
            FileType::from_raw_mode(before.st_mode) == FileType::from_raw_mode(stat.st_mode)
        });
        let mode = stat.st_mode & 0o777;
        let same_rights = before.is_some_and(|before| before.st_mode & 0o777 == mode);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                if !(was_same_kind && same_rights) {
                    self.add(path.clone(), Changed::Folder { mode }, existed);
                }
                let inner = opening::open_folder(left, name, &stat)?;
                let real = match (real, before) {
                    (Some(real), Some(_)) if was_same_kind => {
                        opening::open_folder_as_is(real, name)?
                    }
                    _ => None,
                };
                self.folder(&inner, real.as_ref(), &path, depth + 1)?;
            }
            FileType::RegularFile => {
                let is_same = match (real, before) {
                    (Some(real), Some(before)) if was_same_kind && same_rights => {
                        self.is_same_file((left, &stat), (real, &before), name)?
                    }
                    _ => false,
                };
                if !is_same {
                    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
                    self.add(path, Changed::File { bytes, mode }, existed);
                }
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(left, name, Vec::new())?.into_bytes();
                let is_same = match real {
                    Some(real) if was_same_kind => {
                        rustix::fs::readlinkat(real, name, Vec::new())?.into_bytes() == target
                    }
                    _ => false,
                };
                if !is_same {
                    let target = PathBuf::from(OsString::from_vec(target));
                    self.add(path, Changed::Link { target }, existed);
                }
            }
            FileType::Fifo if !was_same_kind => self.add(path, Changed::Pipe, existed),
            FileType::Socket if !was_same_kind => self.add(path, Changed::Socket, existed),
            FileType::Fifo | FileType::Socket => {}
            // How overlayfs marks what was removed.
            FileType::CharacterDevice if stat.st_rdev == 0 => {
                if existed {
                    self.add(path, Changed::Deleted, true);
                }
            }
            _ => self.add(path, Changed::Device, existed),
        }
        Ok(())
    }

    fn is_same_file(
        &mut self,
        (left, stat): (&OwnedFd, &Stat),
        (real, before): (&OwnedFd, &Stat),
        name: &CStr,
    ) -> Result<bool, Errno> {
        if stat.st_size != before.st_size {
            return Ok(false);
        }
        let changed_ns = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
        if self.comparison.kind == LayerKind::Copy
            && changed_ns + CLOCK_TICK_NS < self.comparison.started_ns
        {
            return Ok(true);
        }
        let now = opening::open_file(left, name, stat)?;
        match opening::open_file_as_is(real, name) {
            Ok(then) => self.buffers.are_same(&now, &then),
            // Not readable for us, so neither for the command: it made a new one.
            Err(Errno::ACCESS | Errno::NOENT | Errno::LOOP) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    fn add(&mut self, path: Vec<u8>, now: Changed, existed: bool) {
        let kind = match now {
            Changed::File { .. } | Changed::Deleted => Kind::File,
            Changed::Folder { .. } => Kind::Folder,
            Changed::Link { .. } => Kind::Symlink,
            Changed::Pipe => Kind::Fifo,
            Changed::Socket => Kind::Socket,
            Changed::Device => Kind::Device,
        };
        self.changes.push(Change {
            fault: outputs::find_fault(&path, kind),
            path: OsString::from_vec(path),
            now,
            existed,
        });
    }
}

fn join(above: &[u8], name: &CStr) -> Vec<u8> {
    let mut path = above.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
    path
}

fn look(folder: &OwnedFd, name: &CStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether overlayfs lets nothing show through this folder of its layer: it was removed and made
/// anew.
fn is_opaque(folder: &OwnedFd, attribute: &str) -> bool {
    let mut value = [0_u8; 4];
    rustix::fs::fgetxattr(folder, attribute, &mut value[..])
        .is_ok_and(|count| count >= 1 && value[0] == b'y')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn open(path: &Path) -> OwnedFd {
        fs::File::open(path).unwrap().into()
    }

    fn compare(left: &Path, real: &Path) -> Vec<(String, Changed, bool)> {
        compare_copied(left, real, None)
    }

    fn compare_copied(
        left: &Path,
        real: &Path,
        copied: Option<BTreeSet<Vec<u8>>>,
    ) -> Vec<(String, Changed, bool)> {
        let comparison = Comparison {
            kind: LayerKind::Copy,
            started_ns: 0,
            copied,
            opaque: "",
        };
        find(&open(left), &open(real), &comparison)
            .unwrap()
            .into_iter()
            .map(|change| {
                let path = change.path.to_string_lossy().into_owned();
                (path, change.now, change.existed)
            })
            .collect()
    }

    #[test]
    fn changes_of_a_copy_are_what_differs() {
        let (real, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [real.path(), left.path()] {
            fs::create_dir(folder.join("d")).unwrap();
            fs::write(folder.join("same"), "1").unwrap();
            fs::write(folder.join("d/changed"), "1").unwrap();
        }
        fs::create_dir_all(real.path().join("gone/below")).unwrap();
        fs::write(real.path().join("was-file"), "").unwrap();
        fs::create_dir(left.path().join("was-file")).unwrap();
        fs::write(left.path().join("d/changed"), "2").unwrap();
        symlink("/etc", left.path().join("out")).unwrap();
        let found = compare(left.path(), real.path());
        let names: Vec<(&str, bool)> = found
            .iter()
            .map(|(path, _, existed)| (path.as_str(), *existed))
            .collect();
        assert_eq!(
            names,
            [
                ("d/changed", true),
                ("gone", true),
                ("out", false),
                ("was-file", true)
            ]
        );
        assert_eq!(found[1].1, Changed::Deleted);
        assert!(matches!(found[0].1, Changed::File { bytes: 1, .. }));
        assert!(matches!(found[3].1, Changed::Folder { .. }));
    }

    #[test]
    fn what_was_never_copied_counts_as_no_deletion() {
        let (real, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [real.path(), left.path()] {
            fs::create_dir(folder.join("d")).unwrap();
            fs::write(folder.join("d/gone"), "1").unwrap();
        }
        let copied = list_paths(&open(left.path())).unwrap();
        assert_eq!(copied, [b"d".to_vec(), b"d/gone".to_vec()].into());
        fs::remove_file(left.path().join("d/gone")).unwrap();
        fs::write(real.path().join("d/later"), "1").unwrap();
        let found = compare_copied(left.path(), real.path(), Some(copied));
        assert_eq!(found, [("d/gone".to_owned(), Changed::Deleted, true)]);
    }

    #[test]
    fn change_with_an_odd_name_has_a_fault() {
        let (real, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(left.path().join("a\nb"), "").unwrap();
        let comparison = Comparison {
            kind: LayerKind::Copy,
            started_ns: 0,
            copied: None,
            opaque: "",
        };
        let found = find(&open(left.path()), &open(real.path()), &comparison).unwrap();
        assert_eq!(found[0].fault, Some(outputs::Fault::UnsafeName));
    }
}
