//! The process between the caller and a command in the host's own view: it adopts what the command
//! leaves behind, keeps the limits that nobody else keeps, and ends everything.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions};

use super::super::report::{At, Failure, Record};
use super::super::stage::Wires;
use super::super::terminal::TerminalWire;
use super::super::usage::{self, Bounds};
use super::super::watch::{Elsewhere, Watched};
use super::super::{command, left_running, sys, watch};
use super::HostPlan;
use crate::error::Layer;
use crate::outcome::Limit;

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
    let folders = match &plan.watched {
        Some(watched) => Some(WatchedFolders::open(plan, watched).at(Layer::WorkFolder)?),
        None => None,
    };
    let terminal = wires.terminal.as_ref().map(TerminalWire::take_side);
    let terminal = terminal.transpose().at(Layer::Terminal)?;
    let child = sys::spawn_child(|| {
        command::become_command(&plan.command, wires, terminal.as_ref(), || enter(plan))
    });
    let child = child
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
        .at(Layer::Process)?;
    drop(terminal);
    let mut kept = vec![
        wires.report.as_fd(),
        wires.control.as_fd(),
        wires.signals.as_fd(),
    ];
    kept.extend(folders.iter().flat_map(WatchedFolders::handles));
    sys::close_all_but(&kept).at(Layer::Process)?;
    follow(child, wires, folders.as_ref()).at(Layer::Process)
}

/// What the command can write to, and how much of that it may fill.
struct WatchedFolders<'a> {
    watched: &'a Watched,
    work: OwnedFd,
    tmp: Option<(OwnedFd, Bounds)>,
}

impl<'a> WatchedFolders<'a> {
    fn open(plan: &'a HostPlan, watched: &'a Watched) -> Result<WatchedFolders<'a>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        let tmp = plan.tmp.as_ref();
        let tmp = tmp.map(|(path, bounds)| Ok((open(path)?, *bounds)));
        Ok(WatchedFolders {
            watched,
            work: open(&plan.folder)?,
            tmp: tmp.transpose()?,
        })
    }

    fn handles(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let tmp = self.tmp.iter().map(|(tmp, _)| tmp.as_fd());
        std::iter::once(self.work.as_fd()).chain(tmp)
    }

    /// The limit that these processes have reached, if any.
    fn breach(&self, processes: &[i32]) -> Option<Limit> {
        let breach = self.watched.breach(&self.work, processes);
        breach
            .or_else(|| self.tmp_breach())
            .or_else(|| self.disk_breach())
    }

    /// The same for files alone, when no process is left.
    fn breach_of_files(&self) -> Option<Limit> {
        let breach = self.watched.work_breach(&self.work, &[]);
        breach
            .or_else(|| self.tmp_breach())
            .or_else(|| self.disk_breach())
    }

    fn disk_breach(&self) -> Option<Limit> {
        let nothing = Elsewhere::default();
        self.watched.breach_elsewhere(&self.work, &nothing)
    }

    /// Files without a name count as the work folder's, which lies on the same file system.
    fn tmp_breach(&self) -> Option<Limit> {
        let tmp = self.tmp.as_ref();
        let (tmp, bounds) = tmp.filter(|(_, bounds)| *bounds != Bounds::NONE)?;
        let usage = usage::measure(tmp, *bounds).ok()?;
        bounds.breach(&usage).map(|_| Limit::Temporary)
    }
}

fn own_pid() -> Pid {
    rustix::process::getpid()
}

/// Takes on the command's user, where that is another.
fn enter(plan: &HostPlan) -> Result<(), Failure> {
    let Some((uid, gid)) = plan.drop_to else {
        return rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
            .at(Layer::Process);
    };
    rustix::thread::set_thread_groups(&[]).at(Layer::Privileges)?;
    if plan.command.may_search {
        // All but one go right after.
        rustix::thread::set_keep_capabilities(true).at(Layer::Privileges)?;
    }
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid).at(Layer::Privileges)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).at(Layer::Privileges)
}

const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the command's end, a limit, or the caller's word, which needs no record.
fn follow(
    child: Pid,
    wires: &Wires,
    folders: Option<&WatchedFolders<'_>>,
) -> Result<Option<Record>, Errno> {
    let control = &wires.control;
    let handle = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
    let mut pause = PAUSE;
    let mut signals = Some(wires.signals.as_fd());
    loop {
        let timeout = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        let mut events = vec![
            PollFd::new(&handle, PollFlags::IN),
            PollFd::new(control, PollFlags::IN),
        ];
        if let Some(signals) = &signals {
            events.push(PollFd::new(signals, PollFlags::IN));
        }
        match rustix::event::poll(&mut events, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let has_event = |at: usize| events.get(at).is_some_and(|it| !it.revents().is_empty());
        let (has_ended, is_closed) = (has_event(0), has_event(1));
        if is_closed {
            return Ok(None);
        }
        if let Some(pipe) = signals
            && !watch::pass_signals(pipe, child, descendants)?
        {
            signals = None;
        }
        if has_ended {
            let record = watch::reap_until(child)?;
            crate::linux::report::tell_peak_memory(wires.report.as_fd());
            let left: Vec<i32> = descendants().into_iter().collect();
            left_running::tell(&left, wires.report.as_fd());
            let breach = folders.and_then(WatchedFolders::breach_of_files);
            return Ok(Some(breach.map_or(record, Record::Stopped)));
        }
        let began = Instant::now();
        if let Some(folders) = folders {
            let processes: Vec<i32> = descendants().into_iter().collect();
            if let Some(limit) = folders.breach(&processes) {
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
