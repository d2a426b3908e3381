//! Counts what a folder holds, as far as a bound: whether a command has written too much.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::opening::{DEEPEST, names_in, open_folder};
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
    let mut usage = Usage::default();
    measure_below(folder, 0, bounds, &mut usage)?;
    Ok(usage)
}

fn measure_below(
    folder: &OwnedFd,
    depth: usize,
    bounds: Bounds,
    usage: &mut Usage,
) -> Result<(), Errno> {
    for name in names_in(folder)? {
        let stat = match rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            other => other?,
        };
        usage.entries += 1;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::RegularFile {
            usage.apparent_bytes = usage.apparent_bytes.saturating_add(length(&stat));
        }
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
        usage.disk_bytes = usage.disk_bytes.saturating_add(blocks.saturating_mul(512));
        usage.is_too_deep |= kind == FileType::Directory && depth >= DEEPEST;
        if bounds.breach(usage).is_some() {
            return Ok(());
        }
        if kind == FileType::Directory {
            match open_folder(folder, &name, &stat) {
                Ok(below) => measure_below(&below, depth + 1, bounds, usage)?,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
    Ok(())
}

fn length(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
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
}
