//! Looks at what a command uses: whether a limit was reached that the kernel does not turn into an end of its own.
//!
//! - Work folder: in memory the kernel refuses what goes beyond its size, and a full one ends
//!   the command here. On disk, where no such bound can be had, its files are added up.
//! - Memory of all processes together: resident pages, each counted once, page tables, and full
//!   buffers for every socket and pipe. A control group bounds more, exactly, but not everyone may have
//!   one (see [`super::cgroup`]).
//! - Processes and threads of an ordinary command, which are counted.
//! - Room on the disk: free space and free files, at every look, also while files are added up.
//!
//! It looks every few milliseconds, so a fast command can go over what is only watched for that
//! long; what takes long to look at is looked at less often ([`Pace`]). One process's private memory is bounded
//! by the kernel besides (RLIMIT_DATA), one file's size too (RLIMIT_FSIZE).

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::cgroup;
use super::processes::open_files;
use super::report::Record;
use super::storage::{self, Storage};
use super::usage::{Bounds, Count};
use super::watch::{Places, Watched};
use crate::outcome::Limit;

/// The shortest pause between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two looks at processes.
const LONGEST_FOR_PROCESSES: Duration = Duration::from_millis(200);
/// The longest pause between two counts of files.
const LONGEST_FOR_FILES: Duration = Duration::from_secs(2);

impl Record {
    /// What a look at the limits leads to: nothing while none is reached.
    pub(super) fn of_look(found: Result<Option<Limit>, Errno>) -> Option<Record> {
        match found {
            Ok(limit) => limit.map(Record::Stopped),
            Err(errno) => Some(Record::NotMeasured(errno.raw_os_error())),
        }
    }
}

/// When to look again at something that takes a while: looking must stay cheap beside the command, a tenth of the
/// time at most, but a command that makes it slow is not left alone for long.
pub(super) struct Pace {
    due: Instant,
    longest: Duration,
}

impl Pace {
    pub(super) fn up_to(longest: Duration) -> Pace {
        Pace {
            due: Instant::now(),
            longest,
        }
    }

    /// When the look begins that is due, if one is.
    pub(super) fn begin(&self) -> Option<Instant> {
        let now = Instant::now();
        (now >= self.due).then_some(now)
    }

    /// A look that began then is over.
    pub(super) fn end(&mut self, began: Instant) {
        let pause = began.elapsed().saturating_mul(10);
        self.due = Instant::now() + pause.clamp(PAUSE, self.longest.max(PAUSE));
    }
}

/// The looks at one command's limits.
pub(super) struct Looks<'a> {
    watched: &'a Watched,
    at: Places<'a>,
    processes: Pace,
    files: Pace,
    /// The space that was free at the beginning, per folder.
    began_with: Vec<u64>,
}

impl<'a> Looks<'a> {
    pub(super) fn begin(watched: &'a Watched, at: Places<'a>) -> Looks<'a> {
        let mut looks = Looks {
            watched,
            at,
            processes: Pace::up_to(LONGEST_FOR_PROCESSES),
            files: Pace::up_to(LONGEST_FOR_FILES),
            began_with: Vec::new(),
        };
        let free = looks.places().map(|it| free_bytes(it).unwrap_or(0));
        looks.began_with = free.collect();
        looks
    }

    /// The limit that was reached, if any.
    ///
    /// # Errors
    /// If that cannot be known.
    pub(super) fn look<T: IntoIterator<Item = i32>>(
        &mut self,
        processes: impl Fn() -> T,
    ) -> Result<Option<Limit>, Errno> {
        if let Some(limit) = self.find_urgent()? {
            return Ok(Some(limit));
        }
        if let Some(began) = self.processes.begin() {
            let processes: Vec<i32> = processes().into_iter().collect();
            let shared_memory = self.at.elsewhere.shared_memory.as_ref();
            let found = self.watched.find_processes(&processes, shared_memory);
            self.processes.end(began);
            if found.is_some() {
                return Ok(found);
            }
        }
        if !self.counts_files() {
            return Ok(None);
        }
        let Some(began) = self.files.begin() else {
            return Ok(None);
        };
        let processes: Vec<i32> = processes().into_iter().collect();
        let found = self.find_in_files(&processes);
        self.files.end(began);
        found
    }

    /// The same for files alone, when the command has ended and these processes are left.
    pub(super) fn last(&self, processes: &[i32]) -> Result<Option<Limit>, Errno> {
        match self.find_urgent()? {
            None if self.counts_files() => self.find_in_files(processes),
            found => Ok(found),
        }
    }

    /// Where the command writes what counts together.
    fn places(&self) -> impl Iterator<Item = &'a OwnedFd> + use<'a> {
        std::iter::once(self.at.folder).chain(&self.at.elsewhere.folders)
    }

    fn counts_files(&self) -> bool {
        self.has_bounds() || self.at.elsewhere.bounded.is_some()
    }

    fn has_bounds(&self) -> bool {
        let is_counted = self.watched.is_ordinary || self.watched.storage == Storage::Disk;
        is_counted && self.watched.bounds != Bounds::NONE
    }

    /// What the kernel knows without counting: whether there is room.
    fn find_urgent(&self) -> Result<Option<Limit>, Errno> {
        let watched = self.watched;
        if self.at.group_events.is_some_and(cgroup::has_killed) {
            return Ok(Some(Limit::Memory));
        }
        if watched.storage == Storage::Memory
            && let Some(limit) = storage::find_full(self.at.folder.as_fd())
        {
            // Memory as large as the machine's holds a layer only where the disk cannot.
            let is_own = watched.is_ordinary && watched.limits.work_bytes == u64::MAX;
            return Ok(Some(if is_own { Limit::FreeSpace } else { limit }));
        }
        if !watched.is_ordinary {
            return Ok(None);
        }
        let is_full = |memory: &OwnedFd| storage::find_full(memory.as_fd()).is_some();
        if self
            .at
            .elsewhere
            .shared_memory
            .as_ref()
            .is_some_and(is_full)
        {
            return Ok(Some(Limit::SharedMemory));
        }
        for place in self.places() {
            let found = rustix::fs::fstatvfs(place)?;
            if found.f_bavail.saturating_mul(found.f_frsize) < watched.limits.reserve_bytes {
                return Ok(Some(Limit::FreeSpace));
            }
            // Not every file system has a number of files that it can hold.
            if found.f_files > 0 && found.f_favail < watched.limits.reserve_files {
                return Ok(Some(Limit::FreeFiles));
            }
        }
        Ok(None)
    }

    /// Counts what the command wrote.
    fn find_in_files(&self, processes: &[i32]) -> Result<Option<Limit>, Errno> {
        let mut urgent = Ok(None);
        let mut is_urgent = || {
            urgent = self.find_urgent();
            !matches!(urgent, Ok(None))
        };
        if let Some((folder, bounds)) = &self.at.elsewhere.bounded {
            let mut count = Count::new(*bounds, Some(&mut is_urgent));
            count.add(folder)?;
            // What cannot be looked into is at least looked at again.
            if bounds.breach(&count.usage).is_some() {
                return Ok(Some(Limit::Temporary));
            }
        }
        if !self.has_bounds() {
            return urgent;
        }
        let bounds = self.watched.bounds;
        let mut count = Count::new(bounds, Some(&mut is_urgent));
        for place in self.places() {
            count.add(place)?;
        }
        let mut usage = count.usage;
        if !matches!(urgent, Ok(None)) {
            return urgent;
        }
        let mut unseen = match self.watched.storage {
            Storage::Memory => 0,
            // Files without a name lie on the same file system.
            Storage::Disk => unlinked_bytes(rustix::fs::fstat(self.at.folder)?.st_dev, processes),
        };
        if usage.unreadable > 0 {
            unseen = unseen.max(self.lost_bytes()?.saturating_sub(usage.disk_bytes));
        }
        usage.apparent_bytes = usage.apparent_bytes.saturating_add(unseen);
        usage.disk_bytes = usage.disk_bytes.saturating_add(unseen);
        Ok(bounds.breach(&usage))
    }

    /// How much less space is free than at the beginning, where most is gone.
    fn lost_bytes(&self) -> Result<u64, Errno> {
        let mut most = 0;
        for (place, began_with) in self.places().zip(&self.began_with) {
            most = most.max(began_with.saturating_sub(free_bytes(place)?));
        }
        Ok(most)
    }
}

fn free_bytes(place: &OwnedFd) -> Result<u64, Errno> {
    let found = rustix::fs::fstatvfs(place)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Space of files of that device that are open and have no name any more. Files that are only
/// mapped, or on their way through a socket, are not seen.
fn unlinked_bytes(device: u64, processes: &[i32]) -> u64 {
    let mut seen = BTreeSet::new();
    let mut total: u64 = 0;
    for path in processes.iter().copied().flat_map(open_files) {
        let Ok(file) = fs::metadata(path) else {
            continue;
        };
        if file.is_file() && file.nlink() == 0 && file.dev() == device && seen.insert(file.ino()) {
            total = total.saturating_add(file.blocks().saturating_mul(512));
        }
    }
    total
}
