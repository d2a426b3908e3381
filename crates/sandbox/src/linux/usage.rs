//! Counts what a folder holds, as far as a bound: whether a command has written too much.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::opening::{DEEPEST, OpenedFolder, open_folder};
use super::storage::ROUNDING;
use crate::limits::Limits;
use crate::outcome::Limit;

/// What a folder holds below itself.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Files, folders and everything else that has a name.
    pub(super) entries: u64,
    /// Lengths of all regular files, holes and further hard links included: what reading them
    /// all would give.
    pub(super) apparent_bytes: u64,
    /// Space that those files take, in whole blocks.
    pub(super) disk_bytes: u64,
    /// Whether folders are nested deeper than [`DEEPEST`]; the counts are incomplete then.
    pub(super) is_too_deep: bool,
    /// Folders that could not be looked into: their owner closes them again and again. The counts are incomplete.
    pub(super) unreadable: u64,
}

/// How much a folder may hold. Lengths and space are bounded apart: a copy of a folder may begin with files that
/// are mostly holes, and their lengths allow nothing to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) entries: u64,
    pub(super) apparent_bytes: u64,
    pub(super) disk_bytes: u64,
}

impl Bounds {
    pub(super) const NONE: Bounds = Bounds {
        entries: u64::MAX,
        apparent_bytes: u64::MAX,
        disk_bytes: u64::MAX,
    };

    /// The bounds of a folder that begins empty.
    pub(super) fn of(limits: &Limits) -> Bounds {
        Bounds {
            entries: limits.work_files,
            apparent_bytes: limits.work_bytes,
            // Space comes in whole blocks, folders take some too.
            disk_bytes: limits.work_bytes.saturating_add(ROUNDING),
        }
    }

    /// The same at the end of a run, when only lengths count: space was watched meanwhile.
    pub(super) fn without_space(self) -> Bounds {
        Bounds {
            disk_bytes: u64::MAX,
            ..self
        }
    }

    /// The bounds of a folder that begins with `usage`.
    pub(super) fn on_top_of(self, usage: Usage) -> Bounds {
        Bounds {
            entries: self.entries.saturating_add(usage.entries),
            apparent_bytes: self.apparent_bytes.saturating_add(usage.apparent_bytes),
            disk_bytes: self.disk_bytes.saturating_add(usage.disk_bytes),
        }
    }

    /// The limit that `usage` exceeds, if any.
    pub(super) fn breach(&self, usage: &Usage) -> Option<Limit> {
        if usage.is_too_deep || usage.entries > self.entries {
            return Some(Limit::WorkFiles);
        }
        let is_too_large =
            usage.apparent_bytes > self.apparent_bytes || usage.disk_bytes > self.disk_bytes;
        is_too_large.then_some(Limit::WorkBytes)
    }
}

/// Counts what is below `folder`, and stops once a bound is passed: the answer is then only
/// good for being too much. What vanishes while one looks is not counted.
pub(super) fn measure(folder: &OwnedFd, bounds: Bounds) -> Result<Usage, Errno> {
    let mut count = Count::new(bounds, None);
    count.add(folder)?;
    match count.usage.unreadable {
        0 => Ok(count.usage),
        _ => Err(Errno::ACCESS),
    }
}

/// How often one looks at what cannot wait while a folder is counted.
const GLANCE: Duration = Duration::from_millis(20);
/// How many entries are counted between two looks at the clock.
const AT_A_TIME: u32 = 64;

/// Counts several folders together.
pub(super) struct Count<'a> {
    pub(super) usage: Usage,
    bounds: Bounds,
    /// Whether there is something more urgent than counting on.
    is_urgent: Option<&'a mut dyn FnMut() -> bool>,
    looked: Instant,
    entries: u32,
    is_stopped: bool,
}

impl<'a> Count<'a> {
    pub(super) fn new(bounds: Bounds, is_urgent: Option<&'a mut dyn FnMut() -> bool>) -> Count<'a> {
        Count {
            usage: Usage::default(),
            bounds,
            is_urgent,
            looked: Instant::now(),
            entries: 0,
            is_stopped: false,
        }
    }

    /// Counts what is below `folder`. Once a bound is passed, or something is more urgent, no more is counted.
    pub(super) fn add(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        self.add_below(folder, 0)
    }

    fn add_below(&mut self, folder: &OwnedFd, depth: usize) -> Result<(), Errno> {
        let entries = match Dir::read_from(folder) {
            Err(Errno::ACCESS | Errno::PERM) => return self.skip(),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let found = match look_at(folder, name) {
                Err(Errno::NOENT) => continue,
                Err(Errno::ACCESS | Errno::PERM) => return self.skip(),
                other => other?,
            };
            // What is shown at a place in it, such as an input in /tmp, was not written there.
            if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
                continue;
            }
            let kind = FileType::from_raw_mode(found.stx_mode.into());
            self.add_entry(kind, &found, depth);
            if self.is_over() {
                return Ok(());
            }
            if kind == FileType::Directory {
                match open_below(folder, name) {
                    Ok(below) => self.add_below(&below, depth + 1)?,
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    Err(Errno::ACCESS | Errno::PERM) => self.skip()?,
                    Err(errno) => return Err(errno),
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self) -> Result<(), Errno> {
        self.usage.unreadable += 1;
        Ok(())
    }

    fn add_entry(&mut self, kind: FileType, found: &Statx, depth: usize) {
        let usage = &mut self.usage;
        usage.entries += 1;
        if kind == FileType::RegularFile {
            usage.apparent_bytes = usage.apparent_bytes.saturating_add(found.stx_size);
        }
        let bytes = found.stx_blocks.saturating_mul(512);
        usage.disk_bytes = usage.disk_bytes.saturating_add(bytes);
        usage.is_too_deep |= kind == FileType::Directory && depth >= DEEPEST;
    }

    /// Whether to count no more.
    fn is_over(&mut self) -> bool {
        self.entries += 1;
        if let Some(is_urgent) = &mut self.is_urgent
            && self.entries.is_multiple_of(AT_A_TIME)
            && self.looked.elapsed() >= GLANCE
        {
            self.is_stopped |= is_urgent();
            self.looked = Instant::now();
        }
        self.is_stopped || self.bounds.breach(&self.usage).is_some()
    }
}

fn look_at(folder: &OwnedFd, name: &CStr) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(folder, name, flags, StatxFlags::BASIC_STATS)
}

fn open_below(folder: &OwnedFd, name: &CStr) -> Result<OpenedFolder, Errno> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    open_folder(folder, name, &stat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags};
    use std::fs;
    use std::path::Path;

    fn open(path: &Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    #[test]
    fn measure_counts_holes_and_stops_at_its_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("sparse")).unwrap();
        file.set_len(1 << 30).unwrap();
        let usage = measure(&open(folder.path()), Bounds::NONE).unwrap();
        assert_eq!((usage.entries, usage.apparent_bytes), (1, 1 << 30));
        assert!(usage.disk_bytes < 1 << 20);
        let mut deep = folder.path().to_owned();
        for _ in 0..DEEPEST + 2 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        let usage = measure(&open(folder.path()), Bounds::NONE).unwrap();
        assert!(usage.is_too_deep);
    }

    #[test]
    fn count_of_several_folders_goes_on_where_the_last_ended_and_stops_for_what_is_urgent() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..1000 {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let open = open(folder.path());
        let mut count = Count::new(Bounds::NONE, None);
        count.add(&open).unwrap();
        count.add(&open).unwrap();
        assert_eq!(count.usage.entries, 2000);
        let mut is_urgent = || true;
        let mut count = Count::new(Bounds::NONE, Some(&mut is_urgent));
        count.looked = Instant::now().checked_sub(GLANCE).unwrap();
        count.add(&open).unwrap();
        assert_eq!(count.usage.entries, u64::from(AT_A_TIME));
    }
}
