//! What process 1 of the sandbox does while the command runs: it reaps, and it looks whether a
//! limit was reached that the kernel does not turn into an end of its own.
//!
//! - Work folder: in memory the kernel refuses what goes beyond its size, and a full one ends
//!   the command here. On disk, where no such bound can be had, its files are added up.
//! - Memory of all processes together: resident pages, each counted once, page tables, and full
//!   buffers for every socket and pipe. A control group bounds more, exactly, but not everyone may have
//!   one (see [`super::cgroup`]).
//!
//! - Room on the disk: free space and free files, at every look, also while files are added up.
//!
//! It looks every few milliseconds, so a fast command can go over what is only watched for that
//! long; what takes long to look at is looked at less often ([`Pace`]). One process's private memory is bounded
//! by the kernel besides (RLIMIT_DATA), one file's size too (RLIMIT_FSIZE).

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use super::cgroup;
use super::left_running;
use super::report::Record;
use super::storage::{self, Storage};
use super::usage::{Bounds, Count};
use crate::limits::Limits;
use crate::outcome::Limit;

/// Where else a command writes.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Folders on disk that count with the folder.
    pub(super) folders: Vec<OwnedFd>,
    /// /dev/shm of an ordinary command.
    pub(super) shared_memory: Option<OwnedFd>,
    /// A folder for temporary files with bounds of its own.
    pub(super) bounded: Option<(OwnedFd, Bounds)>,
}

/// Where what is watched can be seen.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    /// The folder whose size is bounded.
    pub(super) folder: &'a OwnedFd,
    pub(super) elsewhere: &'a Elsewhere,
    /// Where the kernel tells that it ended a process for want of memory, if it keeps that bound.
    pub(super) group_events: Option<&'a OwnedFd>,
}

/// What is watched, and how.
pub(super) struct Watched {
    pub(super) limits: Limits,
    /// How much the folder may hold.
    pub(super) bounds: Bounds,
    pub(super) storage: Storage,
    /// What one socket's buffer may hold.
    pub(super) socket_bytes: u64,
    /// Whether nothing is refused to the command for want of room: it is stopped instead.
    pub(super) is_ordinary: bool,
    /// Whether the command has a network namespace of its own, whose sockets are all its own.
    pub(super) has_own_network: bool,
}

/// The shortest pause between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two looks at processes.
const LONGEST_FOR_PROCESSES: Duration = Duration::from_millis(200);
/// The longest pause between two counts of files.
const LONGEST_FOR_FILES: Duration = Duration::from_secs(2);

/// Waits for the command and answers with how it ended, or with the limit it reached. Of the two pipes one takes
/// reports, the other brings signals for the command.
pub(super) fn watch(
    command: Pid,
    watched: &Watched,
    places: Places<'_>,
    (report, signals): (BorrowedFd<'_>, BorrowedFd<'_>),
) -> Result<Record, Errno> {
    let handle = rustix::process::pidfd_open(command, PidfdFlags::empty())?;
    let mut signals = Some(signals);
    let mut looks = Looks::begin(watched, places);
    loop {
        let ended = wait_for(handle.as_fd(), signals, PAUSE)?;
        if let Some(pipe) = signals
            && !pass_signals(pipe, command, process_ids)?
        {
            signals = None;
        }
        if ended {
            let record = reap_until(command)?;
            let left = process_ids();
            let own = rustix::process::getpid().as_raw_nonzero().get();
            let others: Vec<i32> = left.iter().copied().filter(|pid| *pid != own).collect();
            left_running::tell(&others, report);
            return Ok(Record::of_look(looks.last(&left)).unwrap_or(record));
        }
        reap_others(command)?;
        if let Some(record) = Record::of_look(looks.look(process_ids)) {
            return Ok(record);
        }
    }
}

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

/// Whether the command has ended. A signal that is to be passed on ends the wait too.
fn wait_for(
    handle: BorrowedFd<'_>,
    signals: Option<BorrowedFd<'_>>,
    pause: Duration,
) -> Result<bool, Errno> {
    let timeout = Timespec {
        tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(pause.subsec_nanos()),
    };
    let mut events = vec![PollFd::new(&handle, PollFlags::IN)];
    if let Some(signals) = &signals {
        events.push(PollFd::new(signals, PollFlags::IN));
    }
    match rustix::event::poll(&mut events, Some(&timeout)) {
        Ok(_) => Ok(events.first().is_some_and(|it| !it.revents().is_empty())),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Gives the command's process group the signals that are in the pipe, and SIGKILL to all of its `processes`. False
/// once nobody is left who could say more. Never waits.
pub(super) fn pass_signals<T: IntoIterator<Item = i32>>(
    pipe: BorrowedFd<'_>,
    command: Pid,
    processes: impl Fn() -> T,
) -> Result<bool, Errno> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut events = [PollFd::new(&pipe, PollFlags::IN)];
    match rustix::event::poll(&mut events, Some(&now)) {
        Ok(0) | Err(Errno::INTR) => return Ok(true),
        Ok(_) => {}
        Err(errno) => return Err(errno),
    }
    let mut numbers = [0_u8; 16];
    let count = match rustix::io::read(pipe, &mut numbers) {
        Ok(0) => return Ok(false),
        Ok(count) => count,
        Err(Errno::INTR | Errno::AGAIN) => return Ok(true),
        Err(errno) => return Err(errno),
    };
    for number in numbers.get(..count).unwrap_or_default() {
        let Some(signal) = Signal::from_named_raw(i32::from(*number)) else {
            continue;
        };
        // The group of the first process. It may have ended.
        let _ = rustix::process::kill_process_group(command, signal);
        if signal == Signal::KILL {
            for process in processes().into_iter().filter_map(Pid::from_raw) {
                let _ = rustix::process::kill_process(process, signal);
            }
        }
    }
    Ok(true)
}

/// The command has ended: find its status among all that ended.
pub(super) fn reap_until(command: Pid) -> Result<Record, Errno> {
    loop {
        match rustix::process::waitpid(Some(command), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(describe(status)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn describe(status: WaitStatus) -> Record {
    if let Some(signal) = status.terminating_signal() {
        return Record::Signaled(signal);
    }
    let code = status
        .exit_status()
        .and_then(|code| u8::try_from(code).ok());
    Record::Exited(code.unwrap_or(u8::MAX))
}

/// Processes whose parent went away become ours. The command itself is left for
/// [`reap_until`]: its status must not be lost.
fn reap_others(command: Pid) -> Result<(), Errno> {
    for pid in process_ids() {
        let Some(pid) = Pid::from_raw(pid) else {
            continue;
        };
        if pid == command {
            continue;
        }
        match rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(_) | Err(Errno::CHILD | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// All processes that /proc shows, but the first.
pub(super) fn process_ids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != 1)
        .collect()
}

impl Watched {
    /// The limit that these processes have reached, if any.
    fn find_processes(&self, pids: &[i32], shared_memory: Option<&OwnedFd>) -> Option<Limit> {
        let most = self.limits.memory_bytes;
        if self.has_too_many(pids) {
            return Some(Limit::Processes);
        }
        if most == u64::MAX {
            return None;
        }
        let processes: Vec<Process> = pids.iter().copied().filter_map(Process::read).collect();
        let sockets = match self.has_own_network {
            true => open_sockets(),
            false => open_count(&processes, b"socket:", self.socket_bytes, most),
        };
        let sockets = sockets.saturating_mul(self.socket_bytes);
        let buffers = sockets.saturating_add(pipe_bytes(&processes, most));
        let sum = |of_process: fn(&Process) -> u64| {
            let processes = processes.iter().map(of_process);
            processes.fold(0, u64::saturating_add)
        };
        let resident = sum(Process::bytes).saturating_add(buffers);
        // No command's files in memory are more than the machine's.
        let files = match self.is_ordinary {
            true => machine_files_in_memory(),
            false => 0,
        };
        if resident.saturating_add(files) <= most {
            return None;
        }
        let files = match self.is_ordinary {
            true => files_in_memory(pids, shared_memory).saturating_add(self.attachable_memory()),
            false => 0,
        };
        if resident.saturating_add(files) <= most {
            return None;
        }
        // Pages shared after a fork are counted in each process, and those of files in memory that are mapped with
        // the files; before stopping anything, count every page once.
        let shares: Vec<Shares> = processes.iter().map(Process::shares).collect();
        let total = |of: fn(&Shares) -> u64| shares.iter().map(of).fold(0, u64::saturating_add);
        let mapped = total(|it| it.of_files_in_memory);
        let own = total(|it| it.bytes).saturating_sub(mapped);
        let used = own
            .saturating_add(mapped.max(files))
            .saturating_add(buffers);
        (used > most).then_some(Limit::Memory)
    }

    /// What System V has of shared memory, where all of it is the command's own.
    fn attachable_memory(&self) -> u64 {
        if !self.has_own_network {
            return 0;
        }
        let listed = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
        shared_segments(&listed)
    }

    /// Whether an ordinary command has more processes and threads than it may. The kernel holds others to that.
    fn has_too_many(&self, processes: &[i32]) -> bool {
        if !self.is_ordinary || self.limits.processes == u32::MAX {
            return false;
        }
        let most = u64::from(self.limits.processes);
        // Each has one thread at least: a command that has far too many is not looked at one by one.
        let mut threads = u64::try_from(processes.len()).unwrap_or(u64::MAX);
        if threads > most {
            return true;
        }
        for pid in processes {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let own = value(&status, "Threads:").and_then(|it| it.parse().ok());
            threads = threads.saturating_add(own.unwrap_or(1_u64).saturating_sub(1));
            if threads > most {
                return true;
            }
        }
        false
    }
}

/// What one process has of the memory, each shared page divided among those who share it.
struct Shares {
    bytes: u64,
    /// How much of it belongs to files in memory.
    of_files_in_memory: u64,
}

/// The resident bytes of all segments in the kernel's list.
fn shared_segments(listed: &str) -> u64 {
    let mut lines = listed.lines();
    let names = lines.next().unwrap_or_default();
    let Some(at) = names.split_whitespace().position(|name| name == "rss") else {
        return 0;
    };
    let resident = lines.filter_map(|line| line.split_whitespace().nth(at)?.parse::<u64>().ok());
    resident.fold(0, u64::saturating_add)
}

/// What all files in memory of this machine take; more than there can be where the kernel does not tell.
fn machine_files_in_memory() -> u64 {
    let known = fs::read_to_string("/proc/meminfo").ok();
    known
        .and_then(|text| kilobytes(&text, "Shmem:"))
        .unwrap_or(u64::MAX)
}

/// What these processes' files in memory take: /dev/shm, and those without a name that are open.
fn files_in_memory(processes: &[i32], shared_memory: Option<&OwnedFd>) -> u64 {
    let found = shared_memory.and_then(|it| rustix::fs::fstatvfs(it).ok());
    let named = found.map_or(0, |it| {
        it.f_blocks
            .saturating_sub(it.f_bfree)
            .saturating_mul(it.f_frsize)
    });
    let mut seen = BTreeSet::new();
    let mut total = named;
    for path in processes.iter().copied().flat_map(open_files) {
        let is_nameless = |target: PathBuf| target.as_os_str().as_bytes().starts_with(b"/memfd:");
        if !fs::read_link(&path).is_ok_and(is_nameless) {
            continue;
        }
        if let Ok(file) = fs::metadata(&path)
            && seen.insert((file.dev(), file.ino()))
        {
            total = total.saturating_add(file.blocks().saturating_mul(512));
        }
    }
    total
}

/// What one process uses.
struct Process {
    pid: i32,
    resident_bytes: u64,
    page_table_bytes: u64,
    /// No fewer than the descriptors that are open.
    descriptors: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Process> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(Process {
            pid,
            // Absent once a process has ended and waits to be reaped.
            resident_bytes: kilobytes(&status, "VmRSS:").unwrap_or(0),
            page_table_bytes: kilobytes(&status, "VmPTE:").unwrap_or(0),
            descriptors: value(&status, "FDSize:")?.parse().ok()?,
        })
    }

    fn bytes(&self) -> u64 {
        self.resident_bytes.saturating_add(self.page_table_bytes)
    }

    /// What it has of pages that are shared.
    fn shares(&self) -> Shares {
        let pages = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid));
        let pages = pages.unwrap_or_default();
        let bytes = kilobytes(&pages, "Pss:").unwrap_or(self.resident_bytes);
        Shares {
            bytes: bytes.saturating_add(self.page_table_bytes),
            of_files_in_memory: kilobytes(&pages, "Pss_Shmem:").unwrap_or(0),
        }
    }
}

/// What the buffers of all pipes may hold. They are only counted where there could be enough of
/// them to matter beside `most`.
fn pipe_bytes(processes: &[Process], most: u64) -> u64 {
    // A pipe has 16 pages (seccomp keeps it so) until those of one user are 64 MiB together, the
    // kernel's soft limit; then two.
    const USUAL: u64 = 64 << 10;
    const SOFT_LIMIT: u64 = 64 << 20;
    const LEAST: u64 = 8 << 10;
    let count = open_count(processes, b"pipe:", USUAL, most);
    let limited = SOFT_LIMIT.saturating_add(count.saturating_mul(LEAST));
    count.saturating_mul(USUAL).min(limited)
}

/// How many things of a kind these processes have open. They are only counted where there could be enough of
/// them, each of so many bytes, to matter beside `most`.
fn open_count(processes: &[Process], kind: &[u8], bytes: u64, most: u64) -> u64 {
    let room: u64 = processes.iter().map(|process| process.descriptors).sum();
    if room.saturating_mul(bytes) < most / 4 {
        return 0;
    }
    let mut found = BTreeSet::new();
    for process in processes {
        for target in open_files(process.pid).filter_map(|path| fs::read_link(path).ok()) {
            if target.as_os_str().as_bytes().starts_with(kind) {
                found.insert(target);
            }
        }
    }
    u64::try_from(found.len()).unwrap_or(u64::MAX)
}

/// The entries of a process's open files in /proc.
fn open_files(pid: i32) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

/// The value of a line such as `FDSize:   64`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

/// The value of a line such as `VmRSS:   12 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let count: u64 = value(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(count.saturating_mul(1024))
}

/// Sockets of this network namespace, those that no process holds open any more included.
fn open_sockets() -> u64 {
    fs::read_to_string("/proc/self/net/sockstat")
        .ok()
        .and_then(|text| {
            let line = text.lines().next()?;
            line.strip_prefix("sockets: used ")?.trim().parse().ok()
        })
        .unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_are_read_from_the_named_line() {
        let status = "Name:\tsh\nVmPTE:\t      48 kB\nVmRSS:\t    1024 kB\nFDSize:\t64\n";
        assert_eq!(kilobytes(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(kilobytes(status, "VmPTE:"), Some(48 << 10));
        assert_eq!(kilobytes(status, "FDSize:"), None);
        assert_eq!(kilobytes(status, "VmSwap:"), None);
    }

    #[test]
    fn segments_count_with_what_is_resident_of_them() {
        let listed = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n         0          0   600               1048576   100   101      1     0     0     0     0          1          1          1                 20480                     0\n";
        assert_eq!(shared_segments(listed), 20480);
        assert_eq!(shared_segments(""), 0);
    }
}
