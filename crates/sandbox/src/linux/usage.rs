//! Counts what a folder holds, as far as a bound: whether a command has written too much.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::opening::{DEEPEST, names_in, open_folder};

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

impl Usage {
    fn exceeds(&self, most_entries: u64, most_bytes: u64) -> bool {
        self.is_too_deep
            || self.entries > most_entries
            || self.apparent_bytes > most_bytes
            || self.disk_bytes > most_bytes
    }
}

/// Counts what is below `folder`, and stops once either bound is passed: the answer is then only
/// good for being too much. What vanishes while one looks is not counted.
pub(super) fn measure(
    folder: &OwnedFd,
    most_entries: u64,
    most_bytes: u64,
) -> Result<Usage, Errno> {
    let mut usage = Usage::default();
    measure_below(folder, 0, (most_entries, most_bytes), &mut usage)?;
    Ok(usage)
}

fn measure_below(
    folder: &OwnedFd,
    depth: usize,
    most: (u64, u64),
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
        if usage.exceeds(most.0, most.1) {
            return Ok(());
        }
        if kind == FileType::Directory {
            match open_folder(folder, &name, &stat) {
                Ok(below) => measure_below(&below, depth + 1, most, usage)?,
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
        let usage = measure(&open(folder.path()), 10, u64::MAX).unwrap();
        assert_eq!((usage.entries, usage.apparent_bytes), (1, 1 << 30));
        assert!(usage.disk_bytes < 1 << 20);
        let mut deep = folder.path().to_owned();
        for _ in 0..DEEPEST + 2 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        let usage = measure(&open(folder.path()), 1 << 20, u64::MAX).unwrap();
        assert!(usage.is_too_deep);
    }
}
