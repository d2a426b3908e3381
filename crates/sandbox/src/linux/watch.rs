//! What process 1 of the sandbox does while the command runs: it reaps, and it watches limits
//! that no single kernel limit covers without cgroups, which an ordinary user may not have:
//! memory of all processes together and the size of the work folder.
//!
//! It looks every few milliseconds, so a fast command can go over a limit for that long. One
//! process's memory is bounded by the kernel itself besides (RLIMIT_DATA), one file's size too
//! (RLIMIT_FSIZE).

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus};

use super::report::Record;
use crate::outcome::Limit;
use crate::spec::{INSIDE_WORK, Limits};

/// The shortest pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the command and answers with how it ended, or with the limit it reached.
pub(super) fn watch(command: Pid, limits: &Limits) -> Result<Record, Errno> {
    let handle = rustix::process::pidfd_open(command, PidfdFlags::empty())?;
    let mut pause = PAUSE;
    loop {
        if wait_for(handle.as_fd(), pause)? {
            return reap_until(command);
        }
        reap_others(command)?;
        let began = Instant::now();
        if let Some(limit) = find_breach(limits) {
            return Ok(Record::Stopped(limit));
        }
        // Looking must stay cheap beside the command: a tenth of the time at most.
        pause = PAUSE.max(began.elapsed().saturating_mul(10));
    }
}

fn wait_for(handle: BorrowedFd<'_>, pause: Duration) -> Result<bool, Errno> {
    let timeout = Timespec {
        tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(pause.subsec_nanos()),
    };
    match rustix::event::poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// The command has ended: find its status among all that ended.
fn reap_until(command: Pid) -> Result<Record, Errno> {
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

fn find_breach(limits: &Limits) -> Option<Limit> {
    if memory_in_use(resident_bytes) > limits.memory_bytes
        // Pages shared after a fork are counted in each process; before stopping anything,
        // count every page once.
        && memory_in_use(proportional_bytes) > limits.memory_bytes
    {
        return Some(Limit::Memory);
    }
    let mut usage = Usage {
        bytes: 0,
        entries: 0,
    };
    measure(&mut usage, limits);
    if usage.entries > limits.work_files {
        return Some(Limit::WorkFiles);
    }
    (usage.bytes > limits.work_bytes).then_some(Limit::WorkBytes)
}

fn process_ids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != 1)
        .collect()
}

fn memory_in_use(of_process: fn(i32) -> Option<u64>) -> u64 {
    process_ids()
        .into_iter()
        .filter_map(of_process)
        .fold(0, u64::saturating_add)
}

fn resident_bytes(pid: i32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(u64::try_from(rustix::param::page_size()).ok()?))
}

fn proportional_bytes(pid: i32) -> Option<u64> {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
        return resident_bytes(pid);
    };
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

struct Usage {
    bytes: u64,
    entries: u64,
}

/// Adds up the work folder without following links; stops as soon as a limit is passed. What
/// cannot be read is not counted: this process may read all of it, so that only happens to
/// things that vanish meanwhile.
fn measure(usage: &mut Usage, limits: &Limits) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(top) = rustix::fs::open(INSIDE_WORK, flags, Mode::empty()) else {
        return;
    };
    // Descriptors on the way down: at most one a level, and no more levels than we may open.
    const DEEPEST: usize = 500;
    let mut stack: Vec<(OwnedFd, Dir)> = Vec::new();
    if let Ok(dir) = Dir::read_from(&top) {
        stack.push((top, dir));
    }
    loop {
        let depth = stack.len();
        let Some((folder, dir)) = stack.last_mut() else {
            return;
        };
        let Some(entry) = dir.next() else {
            stack.pop();
            continue;
        };
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(&*folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        usage.entries += 1;
        usage.bytes = usage
            .bytes
            .saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0) * 512);
        if usage.entries > limits.work_files || usage.bytes > limits.work_bytes {
            return;
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            if depth >= DEEPEST {
                // A tree this deep only serves to hide things from being counted.
                usage.entries = u64::MAX;
                return;
            }
            let Ok(below) = rustix::fs::openat(&*folder, name, flags, Mode::empty()) else {
                continue;
            };
            if let Ok(dir) = Dir::read_from(&below) {
                stack.push((below, dir));
            }
        }
    }
}
