//! The top layer of an overlay that shows folders of the host: what is hidden, and where something is mounted.
//!
//! Folders in it take rights, owner and times of those that they lie over, so that they look like them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;

/// One entry, by its path below the layer's folder; the folder itself has an empty one.
#[derive(Debug, Clone)]
pub(super) struct Top {
    path: PathBuf,
    what: Entry,
}

#[derive(Debug, Clone)]
enum Entry {
    /// Makes the name one that does not exist.
    Whiteout,
    /// A mount point that no lower layer has.
    File,
    Folder(Looks),
}

/// What a folder looks like.
#[derive(Debug, Clone, Copy)]
struct Looks {
    mode: u32,
    owner: (u32, u32),
    /// Seconds and nanoseconds of access and change.
    times: Option<[(i64, i64); 2]>,
}

impl Looks {
    const NEW: Looks = Looks {
        mode: 0o755,
        owner: (0, 0),
        times: None,
    };

    fn of(metadata: &Metadata) -> Looks {
        Looks {
            mode: metadata.mode() & 0o7777,
            owner: (metadata.uid(), metadata.gid()),
            times: Some([
                (metadata.atime(), metadata.atime_nsec()),
                (metadata.mtime(), metadata.mtime_nsec()),
            ]),
        }
    }
}

/// Collects the entries over `lowers`.
pub(super) struct TopLayer<'a> {
    lowers: &'a [PathBuf],
    entries: BTreeMap<PathBuf, Entry>,
}

impl<'a> TopLayer<'a> {
    pub(super) fn new(lowers: &'a [PathBuf]) -> TopLayer<'a> {
        let mut layer = TopLayer {
            lowers,
            entries: BTreeMap::new(),
        };
        let looks = layer
            .look(Path::new(""))
            .map_or(Looks::NEW, |it| Looks::of(&it));
        layer.entries.insert(PathBuf::new(), Entry::Folder(looks));
        layer
    }

    /// What the lower layers show at a path.
    fn look(&self, path: &Path) -> Option<Metadata> {
        let mut found = self.lowers.iter().filter_map(|lower| {
            let place = match path.as_os_str().is_empty() {
                true => lower.clone(),
                false => lower.join(path),
            };
            fs::symlink_metadata(place).ok()
        });
        found.next()
    }

    /// Hides a path. Where a folder above it is not there, that one is hidden: it would show otherwise.
    pub(super) fn hide(&mut self, path: &Path) {
        let mut above = PathBuf::new();
        let mut folders = Vec::new();
        let parts: Vec<OsString> = path.iter().map(OsString::from).collect();
        for (number, part) in parts.iter().enumerate() {
            above.push(part);
            if number + 1 == parts.len() {
                break;
            }
            if matches!(self.entries.get(&above), Some(Entry::Whiteout)) {
                return;
            }
            match self.look(&above) {
                Some(found) if found.is_dir() => {
                    folders.push((above.clone(), Entry::Folder(Looks::of(&found))));
                }
                // What a link leads to is hidden by its own name.
                Some(_) => return,
                None => break,
            }
        }
        for (path, folder) in folders {
            self.entries.entry(path).or_insert(folder);
        }
        self.entries.entry(above).or_insert(Entry::Whiteout);
    }

    /// Makes sure that there is something to mount over.
    pub(super) fn make_point(&mut self, path: &Path, is_folder: bool) {
        let kind_fits = |found: &Metadata| found.is_dir() == is_folder && !found.is_symlink();
        if self.look(path).as_ref().is_some_and(kind_fits) && self.is_reached(path) {
            return;
        }
        let mut above = PathBuf::new();
        for part in path {
            above.push(part);
            let found = self.look(&above).filter(Metadata::is_dir);
            let looks = found.map_or(Looks::NEW, |it| Looks::of(&it));
            let entry = self.entries.entry(above.clone());
            match entry {
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(Entry::Folder(looks));
                }
                std::collections::btree_map::Entry::Occupied(mut there) => {
                    if matches!(there.get(), Entry::Whiteout) {
                        there.insert(Entry::Folder(Looks::NEW));
                    }
                }
            }
        }
        if !is_folder {
            self.entries.insert(path.to_owned(), Entry::File);
        }
    }

    /// Whether no link and no whiteout is on the way to a path.
    fn is_reached(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .filter(|it| !it.as_os_str().is_empty())
            .all(|above| {
                !matches!(self.entries.get(above), Some(Entry::Whiteout))
                    && self.look(above).is_some_and(|it| it.is_dir())
            })
    }

    pub(super) fn finish(self) -> Vec<Top> {
        let entries = self.entries.into_iter();
        entries.map(|(path, what)| Top { path, what }).collect()
    }
}

/// Gives the folders of `owner` to the command's user, whose own the lower layers show them as.
pub(super) fn give(entries: &mut [Top], owner: u32, user: (u32, u32)) {
    for entry in entries {
        if let Entry::Folder(looks) = &mut entry.what
            && looks.owner.0 == owner
        {
            looks.owner = user;
        }
    }
}

/// Makes the entries below `folder`, which is empty.
pub(super) fn make(entries: &[Top], folder: BorrowedFd<'_>, is_root: bool) -> Result<(), Errno> {
    for entry in entries.iter().filter(|it| !it.path.as_os_str().is_empty()) {
        match &entry.what {
            Entry::Whiteout => {
                let kind = FileType::CharacterDevice;
                rustix::fs::mknodat(folder, &entry.path, kind, Mode::empty(), 0)?;
            }
            Entry::File => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(folder, &entry.path, flags, Mode::from_raw_mode(0o644))?;
            }
            Entry::Folder(_) => rustix::fs::mkdirat(folder, &entry.path, Mode::RWXU)?,
        }
    }
    // What is made in a folder changes its times, so inner ones first.
    for entry in entries.iter().rev() {
        let Entry::Folder(looks) = entry.what else {
            continue;
        };
        let opened;
        let place = match entry.path.as_os_str().is_empty() {
            true => folder,
            false => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                opened = rustix::fs::openat(folder, &entry.path, flags, Mode::empty())?;
                opened.as_fd()
            }
        };
        dress(place, looks, is_root)?;
    }
    Ok(())
}

fn dress(folder: BorrowedFd<'_>, looks: Looks, is_root: bool) -> Result<(), Errno> {
    if is_root {
        let (uid, gid) = looks.owner;
        let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        // An id that this namespace does not have is nobody's here.
        let _ = rustix::fs::fchown(folder, owner.0, owner.1);
    }
    rustix::fs::fchmod(folder, Mode::from_raw_mode(looks.mode))?;
    let Some([accessed, changed]) = looks.times else {
        return Ok(());
    };
    let time = |(seconds, nanoseconds): (i64, i64)| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time(accessed),
        last_modification: time(changed),
    };
    rustix::fs::futimens(folder, &times)
}
