//! The process between the caller and a command in the host's own view: it adopts what the command
//! leaves behind, keeps the limits that nobody else keeps, and ends everything.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions};

use super::super::report::{At, Failure, Record};
use super::super::stage::Wires;
use super::super::{command, sys, watch};
use super::HostPlan;
use crate::error::Layer;

/// The process between caller and command.
pub(super) fn supervise(plan: &HostPlan, wires: &Wires) -> i32 {
    let record = match try_supervise(plan, wires) {
        Ok(record) => record,
        Err(Failure(layer, errno)) => Some(Record::SetUpFailed(layer, errno.raw_os_error())),
    };
    end_all();
    if let Some(record) = record {
        record.send(wires.report.as_fd());
    }
    0
}

fn try_supervise(plan: &HostPlan, wires: &Wires) -> Result<Option<Record>, Failure> {
    sys::close_all_but(&wires.all()).at(Layer::Process)?;
    sys::reset_signals();
    rustix::process::setsid().at(Layer::Process)?;
    rustix::stdio::dup2_stdin(&wires.null).at(Layer::Process)?;
    rustix::stdio::dup2_stdout(&wires.null).at(Layer::Process)?;
    rustix::stdio::dup2_stderr(&wires.null).at(Layer::Process)?;
    rustix::process::set_child_subreaper(Some(own_pid())).at(Layer::Process)?;
    // The command could look into this process, a copy of the caller.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Layer::Process)?;
    let folder = match plan.watched {
        Some(_) => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = rustix::fs::open(&plan.folder, flags, Mode::empty());
            Some(folder.at(Layer::WorkFolder)?)
        }
        None => None,
    };
    let child =
        sys::spawn_child(|| command::become_command(&plan.command, wires, || enter(plan.drop_to)));
    let child = child
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
        .at(Layer::Process)?;
    let mut kept = vec![wires.report.as_fd(), wires.control.as_fd()];
    kept.extend(folder.as_ref().map(AsFd::as_fd));
    sys::close_all_but(&kept).at(Layer::Process)?;
    follow(plan, child, &wires.control, folder.as_ref()).at(Layer::Process)
}

fn own_pid() -> Pid {
    rustix::process::getpid()
}

/// Takes on the command's user, where that is another.
fn enter(drop_to: Option<(u32, u32)>) -> Result<(), Failure> {
    let Some((uid, gid)) = drop_to else {
        return rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
            .at(Layer::Process);
    };
    rustix::thread::set_thread_groups(&[]).at(Layer::Privileges)?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid).at(Layer::Privileges)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).at(Layer::Privileges)
}

const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the command's end, a limit, or the caller's word, which needs no record.
fn follow(
    plan: &HostPlan,
    child: Pid,
    control: &OwnedFd,
    folder: Option<&OwnedFd>,
) -> Result<Option<Record>, Errno> {
    let handle = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
    let mut pause = PAUSE;
    loop {
        let timeout = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        let mut events = [
            PollFd::new(&handle, PollFlags::IN),
            PollFd::new(control, PollFlags::IN),
        ];
        match rustix::event::poll(&mut events, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let [ended, closed] = &events;
        if !closed.revents().is_empty() {
            return Ok(None);
        }
        if !ended.revents().is_empty() {
            let record = watch::reap_until(child)?;
            let breach = plan.watched.as_ref().zip(folder);
            let breach = breach.and_then(|(watched, folder)| watched.work_breach(folder, &[]));
            return Ok(Some(breach.map_or(record, Record::Stopped)));
        }
        let began = Instant::now();
        if let (Some(watched), Some(folder)) = (&plan.watched, folder) {
            let processes: Vec<i32> = descendants().into_iter().collect();
            if let Some(limit) = watched.breach(folder, &processes) {
                return Ok(Some(Record::Stopped(limit)));
            }
        }
        reap_orphans(child);
        pause = PAUSE.max(began.elapsed().saturating_mul(10));
    }
}

/// Takes the end of adopted processes; the command's own is left for whoever waits for it.
fn reap_orphans(command: Pid) {
    for pid in descendants().into_iter().filter_map(Pid::from_raw) {
        if pid != command {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Every process below this one.
fn descendants() -> BTreeSet<i32> {
    let own = own_pid().as_raw_nonzero().get();
    let parents: Vec<(i32, i32)> = watch::process_ids()
        .into_iter()
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = BTreeSet::new();
    let mut pending = vec![own];
    while let Some(parent) = pending.pop() {
        for (pid, above) in &parents {
            if *above == parent && found.insert(*pid) {
                pending.push(*pid);
            }
        }
    }
    found
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; the last parenthesis closes it.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Ends every process below this one and returns when none is left. What is killed hands its
/// children over to this process, so that none can hide.
fn end_all() {
    loop {
        // Mostly nothing is left, and there is no need to look for it.
        loop {
            // Any child, also one that has left this process's group.
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        for pid in descendants().into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
