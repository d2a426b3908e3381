//! What process 1 of the sandbox does while the command runs: it reaps, and it looks whether a
//! limit was reached that the kernel does not turn into an end of its own.
//!
//! - Work folder: in memory the kernel refuses what goes beyond its size, and a full one ends
//!   the command here. On disk, where no such bound can be had, its files are added up.
//! - Memory of all processes together: resident pages, each counted once, page tables, and full
//!   buffers for every socket and pipe. A control group bounds more, exactly, but not everyone may have
//!   one (see [`super::cgroup`]).
//!
//! It looks every few milliseconds, so a fast command can go over what is only watched for that
//! long. One process's private memory is bounded by the kernel besides (RLIMIT_DATA), one file's
//! size too (RLIMIT_FSIZE).

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

use super::left_running;
use super::report::Record;
use super::storage::{self, Storage};
use super::usage::{self, Bounds};
use crate::limits::Limits;
use crate::outcome::Limit;

/// Where else an ordinary command writes: what counts with the folder.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Folders on disk.
    pub(super) folders: Vec<OwnedFd>,
    /// /dev/shm.
    pub(super) shared_memory: Option<OwnedFd>,
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
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the command and answers with how it ended, or with the limit it reached. `folder`
/// is the one whose size is bounded. Of the two pipes one takes reports, the other brings signals for the command.
pub(super) fn watch(
    command: Pid,
    watched: &Watched,
    folder: &OwnedFd,
    elsewhere: &Elsewhere,
    (report, signals): (BorrowedFd<'_>, BorrowedFd<'_>),
) -> Result<Record, Errno> {
    let handle = rustix::process::pidfd_open(command, PidfdFlags::empty())?;
    let mut pause = PAUSE;
    let mut signals = Some(signals);
    loop {
        let ended = wait_for(handle.as_fd(), signals, pause)?;
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
            return Ok(watched
                .work_breach(folder, &left)
                .or_else(|| watched.breach_elsewhere(folder, elsewhere))
                .map_or(record, Record::Stopped));
        }
        reap_others(command)?;
        let began = Instant::now();
        let breach = watched.breach(folder, &process_ids());
        if let Some(limit) = breach.or_else(|| watched.breach_elsewhere(folder, elsewhere)) {
            return Ok(Record::Stopped(limit));
        }
        // Looking must stay cheap beside the command: a tenth of the time at most.
        pause = PAUSE.max(began.elapsed().saturating_mul(10));
    }
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
    pub(super) fn breach(&self, folder: &OwnedFd, processes: &[i32]) -> Option<Limit> {
        let most = self.limits.memory_bytes;
        let pids = processes;
        if self.has_too_many(pids) {
            return Some(Limit::Processes);
        }
        if most == u64::MAX {
            return self.work_breach(folder, pids);
        }
        let processes: Vec<Process> = pids.iter().copied().filter_map(Process::read).collect();
        let sockets = match self.has_own_network {
            true => open_sockets(),
            false => open_count(&processes, b"socket:", self.socket_bytes, most),
        };
        let sockets = sockets.saturating_mul(self.socket_bytes);
        let buffers = sockets.saturating_add(pipe_bytes(&processes, most));
        let in_use = |of_process: fn(&Process) -> u64| {
            let processes = processes.iter().map(of_process);
            processes.fold(buffers, u64::saturating_add)
        };
        // Pages shared after a fork are counted in each process; before stopping anything,
        // count every page once.
        if in_use(Process::bytes) > most && in_use(Process::proportional_bytes) > most {
            return Some(Limit::Memory);
        }
        self.work_breach(folder, pids)
    }

    pub(super) fn work_breach(&self, folder: &OwnedFd, processes: &[i32]) -> Option<Limit> {
        match self.storage {
            Storage::Memory => storage::find_full(folder.as_fd()),
            Storage::Disk => self.disk_breach(folder, processes),
        }
    }

    /// Whether an ordinary command has more processes and threads than it may. The kernel holds others to that.
    fn has_too_many(&self, processes: &[i32]) -> bool {
        if !self.is_ordinary || self.limits.processes == u32::MAX {
            return false;
        }
        let threads = processes.iter().map(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            value(&status, "Threads:")
                .and_then(|it| it.parse().ok())
                .unwrap_or(1_u64)
        });
        threads.sum::<u64>() > u64::from(self.limits.processes)
    }

    /// The limit that what an ordinary command wrote outside of its folder has reached, if any.
    pub(super) fn breach_elsewhere(
        &self,
        folder: &OwnedFd,
        elsewhere: &Elsewhere,
    ) -> Option<Limit> {
        if !self.is_ordinary {
            return None;
        }
        let is_full = |memory: &OwnedFd| storage::find_full(memory.as_fd()).is_some();
        if elsewhere.shared_memory.as_ref().is_some_and(is_full) {
            return Some(Limit::SharedMemory);
        }
        let all = || std::iter::once(folder).chain(&elsewhere.folders);
        let is_nearly_full = |folder: &OwnedFd| {
            let found = rustix::fs::fstatvfs(folder);
            found
                .is_ok_and(|it| it.f_bavail.saturating_mul(it.f_frsize) < self.limits.reserve_bytes)
        };
        if all().any(is_nearly_full) {
            return Some(Limit::FreeSpace);
        }
        if self.limits.work_bytes == u64::MAX {
            return None;
        }
        let mut bytes = 0_u64;
        for folder in all() {
            let usage = usage::measure(folder, self.bounds).ok()?;
            bytes = bytes.saturating_add(usage.disk_bytes);
        }
        (bytes > self.bounds.disk_bytes).then_some(Limit::WorkBytes)
    }

    fn disk_breach(&self, top: &OwnedFd, processes: &[i32]) -> Option<Limit> {
        if self.bounds == Bounds::NONE {
            return None;
        }
        let mut usage = usage::measure(top, self.bounds).ok()?;
        let device = rustix::fs::fstat(top).ok()?.st_dev;
        let nameless = unlinked_bytes(device, processes);
        usage.apparent_bytes = usage.apparent_bytes.saturating_add(nameless);
        usage.disk_bytes = usage.disk_bytes.saturating_add(nameless);
        self.bounds.breach(&usage)
    }
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

    /// The same, with each shared page divided among those who share it.
    fn proportional_bytes(&self) -> u64 {
        let pages = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid));
        let pages = pages.ok().and_then(|text| kilobytes(&text, "Pss:"));
        pages
            .unwrap_or(self.resident_bytes)
            .saturating_add(self.page_table_bytes)
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
}
