//! Where the work folder lives while the command runs.
//!
//! Up to [`MOST_IN_MEMORY`] it is a file system in memory of its own: its size bounds everything
//! in it, files without a name included, and the kernel keeps that bound for root and ordinary
//! users alike. Larger folders would take more memory than a machine can be expected to spare;
//! they stay on the caller's disk, where no bound can be had without a quota, and are watched.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::StatVfs;

use crate::limits::{Limits, MOST_IN_MEMORY, machine_memory};
use crate::outcome::Limit;

/// Files take whole pages; this is room for the last pages of a thousand of them. What exactly
/// is too much is decided by the lengths of the files when they are collected.
pub(super) const ROUNDING: u64 = 4 << 20;
/// Free space below which the folder counts as full.
const NEARLY_NOTHING: u64 = 64 << 10;
/// The folder's own entry, and one above the limit, so that reaching the limit is not yet
/// exceeding it.
pub(super) const FURTHER_ENTRIES: u64 = 2;
/// The same for a layer, with the few that overlayfs makes for itself.
pub(super) const FURTHER_LAYER_ENTRIES: u64 = 8;

/// Where the work folder lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// In a file system in memory of bounded size.
    Memory,
    /// In the caller's folder itself.
    Disk,
}

impl Storage {
    /// Which one a command with these limits gets.
    pub(super) fn choose(limits: &Limits) -> Storage {
        if limits.work_bytes <= MOST_IN_MEMORY {
            Storage::Memory
        } else {
            Storage::Disk
        }
    }

    /// Bytes of memory that the work folder may take.
    pub(super) fn memory_bytes(self, limits: &Limits) -> u64 {
        match self {
            // No more than there is, where there is no other bound.
            Storage::Memory => limits
                .work_bytes
                .min(machine_memory())
                .saturating_add(ROUNDING),
            Storage::Disk => 0,
        }
    }
}

/// Options of a file system in memory that these limits allow.
pub(super) fn tmpfs_size(limits: &Limits, further_entries: u64) -> Vec<(&'static str, String)> {
    let entries = limits.work_files.saturating_add(further_entries);
    vec![
        ("mode", "755".to_owned()),
        ("size", Storage::Memory.memory_bytes(limits).to_string()),
        ("nr_inodes", entries.to_string()),
    ]
}

/// Options of a file system in memory that is bounded by the machine alone.
pub(super) fn machine_sized() -> Vec<(&'static str, String)> {
    vec![
        ("mode", "755".to_owned()),
        ("size", machine_memory().to_string()),
        ("nr_inodes", "0".to_owned()),
    ]
}

/// The magic number of overlayfs.
const OVERLAYFS: i64 = 0x794c_7630;

/// Whether layers can be kept in a folder on disk: an overlay takes no other one for that.
pub(super) fn can_hold_layers(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type != OVERLAYFS)
}

/// The limit that a folder in memory has reached, if any.
pub(super) fn find_full(folder: BorrowedFd<'_>) -> Option<Limit> {
    rustix::fs::fstatvfs(folder)
        .ok()
        .and_then(|stat| judge(&stat))
}

fn judge(stat: &StatVfs) -> Option<Limit> {
    // Without a number of files that it can hold it says none of either.
    if stat.f_files > 0 && stat.f_ffree == 0 {
        return Some(Limit::WorkFiles);
    }
    (stat.f_bfree.saturating_mul(stat.f_frsize) < NEARLY_NOTHING).then_some(Limit::WorkBytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_of_large_folders_is_the_disk() {
        let with = |work_bytes| {
            Storage::choose(&Limits {
                work_bytes,
                ..Limits::default()
            })
        };
        assert_eq!(with(MOST_IN_MEMORY), Storage::Memory);
        assert_eq!(with(MOST_IN_MEMORY + 1), Storage::Disk);
        assert_eq!(Storage::choose(&Limits::default()), Storage::Memory);
    }
}
