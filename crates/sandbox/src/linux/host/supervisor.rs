//! The process between the caller and a command in the host's own view: it adopts what the command
//! leaves behind, keeps the limits that nobody else keeps, and ends everything.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions};

use super::super::looks::{Looks, PAUSE, Pace};
use super::super::report::{At, Failure, Record};
use super::super::stage::Wires;
use super::super::terminal::TerminalWire;
use super::super::watch::{Elsewhere, Places, Watched};
use super::super::{command, left_running, sys, watch};
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

/// What the command can write to.
struct WatchedFolders<'a> {
    watched: &'a Watched,
    work: OwnedFd,
    elsewhere: Elsewhere,
}

impl<'a> WatchedFolders<'a> {
    fn open(plan: &'a HostPlan, watched: &'a Watched) -> Result<WatchedFolders<'a>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        let mut elsewhere = Elsewhere::default();
        match &plan.tmp {
            // Temporary files of an ordinary command count with its folder.
            Some((path, _)) if watched.is_ordinary => elsewhere.folders.push(open(path)?),
            Some((path, bounds)) => elsewhere.bounded = Some((open(path)?, *bounds)),
            None => {}
        }
        Ok(WatchedFolders {
            watched,
            work: open(&plan.folder)?,
            elsewhere,
        })
    }

    fn handles(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let bounded = self.elsewhere.bounded.iter().map(|(tmp, _)| tmp.as_fd());
        let folders = self.elsewhere.folders.iter().map(AsFd::as_fd);
        std::iter::once(self.work.as_fd())
            .chain(folders)
            .chain(bounded)
    }

    fn looks(&self) -> Looks<'_> {
        let places = Places {
            folder: &self.work,
            elsewhere: &self.elsewhere,
            group_events: None,
        };
        Looks::begin(self.watched, places)
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

/// The longest pause before what the command left behind is looked for again.
const LONGEST_FOR_ORPHANS: Duration = Duration::from_millis(200);

/// Waits for the command's end, a limit, or the caller's word, which needs no record.
fn follow(
    child: Pid,
    wires: &Wires,
    folders: Option<&WatchedFolders<'_>>,
) -> Result<Option<Record>, Errno> {
    let control = &wires.control;
    let handle = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
    let mut looks = folders.map(WatchedFolders::looks);
    let mut signals = Some(wires.signals.as_fd());
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(PAUSE.subsec_nanos()),
    };
    // Whose processes they are takes a look at all of the machine's.
    let mut orphans = Pace::up_to(LONGEST_FOR_ORPHANS);
    loop {
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
            let found = looks.map_or(Ok(None), |looks| looks.last(&left));
            return Ok(Some(Record::of_look(found).unwrap_or(record)));
        }
        let found = looks
            .as_mut()
            .map_or(Ok(None), |looks| looks.look(descendants));
        if let Some(record) = Record::of_look(found) {
            return Ok(Some(record));
        }
        if let Some(began) = orphans.begin() {
            reap_orphans(child);
            orphans.end(began);
        }
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
        hold_all();
        for pid in descendants().into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How often one tries to hold everything before it is killed.
const MOST_ROUNDS: usize = 100;

/// Holds every process below this one: whoever makes processes as fast as they are killed is never done with
/// otherwise.
fn hold_all() {
    let mut held = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let found = descendants();
        let new: Vec<i32> = found.difference(&held).copied().collect();
        if new.is_empty() {
            return;
        }
        for pid in new.iter().copied().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::STOP);
        }
        held.extend(new);
    }
}
