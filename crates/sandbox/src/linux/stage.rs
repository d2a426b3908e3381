//! The three processes of a sandbox, all forked from the caller:
//!
//! - the *supervisor*, on the host: makes the namespaces, ends process 1 when the caller says so
//!   or goes away, and returns only when the whole tree is gone;
//! - *process 1* of the new PID namespace: builds the file system, starts the command, watches
//!   limits, reports. When it ends the kernel kills everything in the namespace;
//! - the *command*: gives up what is left of privileges, then becomes the program.
//!
//! An ordinary user makes the user namespace first, because only it gives the power to make the
//! others. Root makes the others first, with its own power (so that folders of any owner can be
//! shown), and only the command enters a user namespace, under an unprivileged uid of the host.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::cgroup::GroupEntrance;
use super::command::{self, CommandPlan};
use super::loopback::LoopbackWire;
use super::mounts::{self, Built, IdMaps, MountPlan};
use super::report::{At, Failure, Record};
use super::sys;
use super::terminal::TerminalWire;
use super::watch::{self, Elsewhere, Places, Watched};
use super::{handover, ownership, storage, transfer};
use crate::error::Layer;
use crate::outcome::Limit;
use crate::spec::Spec;

/// Who and where the command finds itself to be.
pub(super) struct Inside {
    /// User and group.
    user: (u32, u32),
    hostname: String,
    has_loopback: bool,
}

impl Inside {
    /// The same for every command, but for an ordinary one.
    pub(super) fn of(spec: &Spec) -> Inside {
        match &spec.ordinary {
            Some(ordinary) => Inside {
                user: ordinary.user,
                hostname: ordinary.hostname.clone(),
                has_loopback: true,
            },
            None => Inside {
                user: (1000, 1000),
                hostname: "sandbox".to_owned(),
                has_loopback: false,
            },
        }
    }
}

/// Everything the processes need, made before the first fork.
pub(super) struct Plan {
    /// Host ids to run the command under, where we are root; else the caller's own.
    pub(super) drop_to: Option<(u32, u32)>,
    /// The caller's user and group, before anything was given up.
    pub(super) own_ids: (u32, u32),
    pub(super) inside: Inside,
    pub(super) command: CommandPlan,
    pub(super) mounts: MountPlan,
    pub(super) watched: Watched,
}

/// The descriptors that the processes use. The caller holds the other ends.
pub(super) struct Wires {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// The pipe on which the sandbox's processes report.
    pub(super) report: OwnedFd,
    /// Closed by the caller to end everything.
    pub(super) control: OwnedFd,
    /// Where the caller says which signals the command is to get: their numbers, one byte each.
    pub(super) signals: OwnedFd,
    /// The command's terminal, where it has one.
    pub(super) terminal: Option<TerminalWire>,
    /// /dev/null, opened on the host.
    pub(super) null: OwnedFd,
    /// How process 1 gets into the command's control group, where there is one.
    pub(super) group: Option<GroupEntrance>,
    /// Where the kernel tells that it ended a process of that group for want of memory.
    pub(super) group_events: Option<OwnedFd>,
    /// What a work folder in memory needs.
    pub(super) work: Option<WorkWires>,
    /// Where the command's process sends the observer what to listen to.
    pub(super) observer: Option<OwnedFd>,
    /// Where the listener of the command's loopback goes, where it has one.
    pub(super) loopback: Option<LoopbackWire>,
}

/// The two ends of a work folder in memory.
pub(super) struct WorkWires {
    /// The caller's work folder, whose content the command is to find. None for a probe and for
    /// a layered folder.
    pub(super) host: Option<OwnedFd>,
    /// Where the folder in memory is sent, so that the caller can reach it when all processes
    /// are gone.
    pub(super) hand_over: OwnedFd,
}

impl Wires {
    pub(super) fn all(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = vec![
            self.stdin.as_fd(),
            self.stdout.as_fd(),
            self.stderr.as_fd(),
            self.report.as_fd(),
            self.control.as_fd(),
            self.signals.as_fd(),
            self.null.as_fd(),
        ];
        let terminal = self.terminal.iter().flat_map(TerminalWire::all);
        all.extend(terminal.map(AsFd::as_fd));
        match &self.group {
            Some(GroupEntrance::StartIn(group) | GroupEntrance::Join(group)) => {
                all.push(group.as_fd())
            }
            None => {}
        }
        all.extend(self.group_events.as_ref().map(AsFd::as_fd));
        if let Some(work) = &self.work {
            all.extend(work.host.as_ref().map(AsFd::as_fd));
            all.push(work.hand_over.as_fd());
        }
        all.extend(self.observer.as_ref().map(AsFd::as_fd));
        all.extend(self.loopback.as_ref().map(|wire| wire.hand_over.as_fd()));
        all
    }
}

const NAMESPACES: UnshareFlags = UnshareFlags::NEWNS
    .union(UnshareFlags::NEWPID)
    .union(UnshareFlags::NEWNET)
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS);

/// The sandbox's first process: puts the isolation up, starts the second, and outlives it.
pub(super) fn supervise(plan: &Plan, wires: Wires) -> i32 {
    match try_supervise(plan, &wires) {
        Ok(init) => {
            // Only process 1 may report from here on, and only the command may print.
            let Wires {
                stdin,
                stdout,
                stderr,
                report,
                control,
                signals,
                terminal,
                null,
                group,
                group_events,
                work,
                observer,
                loopback,
            } = wires;
            drop((stdin, stdout, stderr, report, null, signals, terminal));
            drop((group, group_events, work, observer, loopback));
            end_with(init, control)
        }
        Err(Failure(layer, errno)) => {
            Record::SetUpFailed(layer, errno.raw_os_error()).send(wires.report.as_fd());
            1
        }
    }
}

fn try_supervise(plan: &Plan, wires: &Wires) -> Result<Pid, Failure> {
    sys::close_all_but(&wires.all()).at(Layer::Process)?;
    sys::reset_signals();
    rustix::process::setsid().at(Layer::Process)?;
    rustix::stdio::dup2_stdin(&wires.null).at(Layer::Process)?;
    rustix::stdio::dup2_stdout(&wires.null).at(Layer::Process)?;
    rustix::stdio::dup2_stderr(&wires.null).at(Layer::Process)?;

    let mut maps = IdMaps(Vec::new());
    if let Some(drop_to) = plan.drop_to {
        rustix::thread::set_thread_groups(&[]).at(Layer::Privileges)?;
        // Where it cannot be made, what needs it is refused or shown as it is.
        let owners = plan.mounts.owners().into_iter();
        let made = owners.filter_map(|owner| {
            let map = ownership::make_id_map(owner, drop_to).ok()?;
            Some((owner, map))
        });
        maps = IdMaps(made.collect());
    } else {
        sys::unshare(UnshareFlags::NEWUSER).at(Layer::UserNamespace)?;
        let (uid, gid) = plan.own_ids;
        write_id_map("self", plan.inside.user, (uid, gid)).at(Layer::IdMap)?;
    }
    sys::unshare(NAMESPACES).at(Layer::Namespaces)?;
    // After all changes of identity, which would clear it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Layer::Process)?;

    if let Some(GroupEntrance::StartIn(group)) = &wires.group
        && let Ok(init) = sys::spawn_child_in(group.as_fd(), || init(plan, wires, &maps, true))
    {
        return Ok(init);
    }
    let child = sys::spawn_child(|| init(plan, wires, &maps, false));
    child
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
        .at(Layer::Process)
}

/// Maps the one inside id to the one host id. "self" or a process id of this /proc.
fn write_id_map(process: &str, inside: (u32, u32), host: (u32, u32)) -> Result<(), Errno> {
    write_text(&format!("/proc/{process}/setgroups"), "deny")?;
    for (file, inside, host) in [("uid_map", inside.0, host.0), ("gid_map", inside.1, host.1)] {
        let line = format!("{inside} {host} 1\n");
        write_text(&format!("/proc/{process}/{file}"), &line)?;
    }
    Ok(())
}

pub(super) fn write_text(path: &str, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(|_| ())
}

/// Waits until process 1 is gone, and with it its whole namespace; ends it when the caller closes
/// the control pipe, on purpose or by dying.
fn end_with(init: Pid, control: OwnedFd) -> i32 {
    let Ok(handle) = rustix::process::pidfd_open(init, rustix::process::PidfdFlags::empty()) else {
        let _ = rustix::process::kill_process(init, Signal::KILL);
        return wait_until_gone(init);
    };
    loop {
        let mut events = [
            PollFd::new(&handle, PollFlags::IN),
            PollFd::new(&control, PollFlags::IN),
        ];
        match rustix::event::poll(&mut events, None) {
            Ok(_) => {
                let [ended, closed] = &events;
                if closed.revents().is_empty() && ended.revents().is_empty() {
                    continue;
                }
                if ended.revents().is_empty() {
                    let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
                }
                return wait_until_gone(init);
            }
            Err(Errno::INTR) => {}
            Err(_) => {
                let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
                return wait_until_gone(init);
            }
        }
    }
}

fn wait_until_gone(init: Pid) -> i32 {
    loop {
        match rustix::process::waitpid(Some(init), WaitOptions::empty()) {
            Ok(Some(_)) => return 0,
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return 1,
        }
    }
}

/// Process 1. `is_in_group` says whether it was started in the control group.
fn init(plan: &Plan, wires: &Wires, maps: &IdMaps, is_in_group: bool) -> i32 {
    let outcome = match try_init(plan, wires, maps, is_in_group) {
        Ok(record) => record,
        Err(Failure(layer, errno)) => Record::SetUpFailed(layer, errno.raw_os_error()),
    };
    super::report::tell_peak_memory(wires.report.as_fd());
    outcome.send(wires.report.as_fd());
    0
}

fn try_init(
    plan: &Plan,
    wires: &Wires,
    maps: &IdMaps,
    is_in_group: bool,
) -> Result<Record, Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Layer::Process)?;
    // Without this the command could look into this process, a copy of the caller.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Layer::Process)?;
    // The command's user must get into the folders that are made here, whatever the caller's umask.
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let has_joined = match &wires.group {
        Some(GroupEntrance::Join(members)) => rustix::io::write(members, b"0").is_ok(),
        _ => is_in_group,
    };
    if has_joined {
        Record::InGroup.send(wires.report.as_fd());
    }
    // Only now, so that its root is the command's own group.
    sys::unshare(UnshareFlags::NEWCGROUP).at(Layer::Namespaces)?;
    rustix::system::sethostname(plan.inside.hostname.as_bytes()).at(Layer::Namespaces)?;
    rustix::system::setdomainname(b"(none)").at(Layer::Namespaces)?;
    if let Some(loopback) = &wires.loopback {
        loopback.hand_over_listener().at(Layer::Loopback)?;
    }
    if plan.inside.has_loopback {
        super::loopback::raise().at(Layer::Loopback)?;
    }
    let Built {
        folder,
        uppers,
        has_partial_proc,
    } = mounts::build(&plan.mounts, maps)?;
    if has_partial_proc {
        Record::PartialProc.send(wires.report.as_fd());
    }
    if let Some(work) = &wires.work
        && let Some(limit) = fill_work_folder(plan, work, &folder, &uppers)?
    {
        return Ok(Record::Stopped(limit));
    }
    let elsewhere = match plan.watched.is_ordinary {
        true => mounts::open_elsewhere(uppers).at(Layer::WorkFolder)?,
        // Before their descriptors are closed beneath them.
        false => Elsewhere::default(),
    };

    let terminal = wires.terminal.as_ref().map(TerminalWire::take_side);
    let terminal = terminal.transpose().at(Layer::Terminal)?;
    let (ready, is_ready) = pipe()?;
    let (mapped, is_mapped) = pipe()?;
    let child = sys::spawn_child(|| {
        let enter = || enter(plan, &is_ready, &mapped);
        command::become_command(&plan.command, wires, terminal.as_ref(), enter)
    });
    let child = child
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
        .at(Layer::Process)?;
    drop(is_ready);
    if let Some((uid, gid)) = plan.drop_to {
        // The command is in its user namespace once it says so (or ends, which watching shows).
        if read_byte(&ready) {
            let child = child.as_raw_nonzero().to_string();
            write_id_map(&child, plan.inside.user, (uid, gid)).at(Layer::IdMap)?;
            rustix::io::write(&is_mapped, b"m").at(Layer::IdMap)?;
        }
    }
    drop((ready, mapped, is_mapped, terminal));
    let mut kept = vec![wires.report.as_fd(), wires.signals.as_fd(), folder.as_fd()];
    kept.extend(wires.group_events.as_ref().map(AsFd::as_fd));
    kept.extend(elsewhere.folders.iter().map(AsFd::as_fd));
    kept.extend(elsewhere.shared_memory.as_ref().map(AsFd::as_fd));
    sys::close_all_but(&kept).at(Layer::Process)?;
    let pipes = (wires.report.as_fd(), wires.signals.as_fd());
    let places = Places {
        folder: &folder,
        elsewhere: &elsewhere,
        group_events: wires.group_events.as_ref(),
    };
    watch::watch(child, &plan.watched, places, pipes).at(Layer::Process)
}

/// Hands the work folder in memory (or the layer) over to the caller and puts in it what the
/// caller's holds; the answer is the limit that that alone exceeds.
fn fill_work_folder(
    plan: &Plan,
    work: &WorkWires,
    inside: &OwnedFd,
    uppers: &[OwnedFd],
) -> Result<Option<Limit>, Failure> {
    handover::send(&work.hand_over, inside.as_fd()).at(Layer::WorkFolder)?;
    for upper in uppers {
        handover::send(&work.hand_over, upper.as_fd()).at(Layer::WorkFolder)?;
    }
    let Some(host) = &work.host else {
        return Ok(None);
    };
    match transfer::replicate(host, inside, plan.drop_to) {
        Err(Errno::NOSPC) => Ok(Some(
            storage::find_full(inside.as_fd()).unwrap_or(Limit::WorkBytes),
        )),
        other => other.at(Layer::WorkFolder).map(|()| None),
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Failure> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Layer::Process)
}

pub(super) fn read_byte(pipe: &OwnedFd) -> bool {
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(pipe, &mut byte) {
            Ok(count) => return count == 1,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Takes on the command's user, in a user namespace of its own where the caller is root.
fn enter(plan: &Plan, is_ready: &OwnedFd, mapped: &OwnedFd) -> Result<(), Failure> {
    if plan.drop_to.is_none() {
        return Ok(());
    }
    sys::unshare(UnshareFlags::NEWUSER).at(Layer::UserNamespace)?;
    rustix::io::write(is_ready, b"r").at(Layer::IdMap)?;
    if !read_byte(mapped) {
        return Err(Failure(Layer::IdMap, Errno::IO));
    }
    let (uid, gid) = plan.inside.user;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid).at(Layer::Privileges)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).at(Layer::Privileges)
}
