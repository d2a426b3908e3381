//! What process 1 of the sandbox does while the command runs: it reaps, passes signals on, and looks whether a
//! limit was reached that the kernel does not turn into an end of its own ([`super::looks`]).

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

use super::left_running;
use super::looks::{Looks, PAUSE};
use super::report::Record;
use super::storage::Storage;
use super::usage::Bounds;
use crate::limits::Limits;

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
