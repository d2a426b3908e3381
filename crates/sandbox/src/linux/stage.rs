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

use std::os::fd::{AsFd, OwnedFd};

use landlock::ABI;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets, UnshareFlags};
use seccompiler::BpfProgram;

use super::mounts::{self, MountPlan};
use super::report::{At, Failure, Record};
use super::sys::{self, StringList};
use super::{fence, watch};
use crate::error::Layer;
use crate::spec::Limits;

/// User and group id inside.
pub(super) const INSIDE_ID: u32 = 1000;

/// Everything the processes need, made before the first fork.
pub(super) struct Plan {
    /// Host ids to run the command under, where we are root; else the caller's own.
    pub(super) drop_to: Option<(u32, u32)>,
    /// The caller's ids.
    pub(super) own_ids: (u32, u32),
    /// Places where the program may be, in order; none for a probe, which runs nothing.
    pub(super) programs: Vec<std::ffi::CString>,
    pub(super) arguments: StringList,
    pub(super) environment: StringList,
    pub(super) current_dir: std::ffi::CString,
    pub(super) mounts: MountPlan,
    pub(super) limits: Limits,
    pub(super) resource_limits: Vec<(Resource, Rlimit)>,
    pub(super) landlock: ABI,
    pub(super) unix_sockets: bool,
    pub(super) filters: [BpfProgram; 2],
}

/// The descriptors that the processes use. The caller holds the other ends.
pub(super) struct Wires {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// Where records go.
    pub(super) report: OwnedFd,
    /// Closed by the caller to end everything.
    pub(super) control: OwnedFd,
    /// /dev/null, opened on the host.
    pub(super) null: OwnedFd,
}

const NAMESPACES: UnshareFlags = UnshareFlags::NEWNS
    .union(UnshareFlags::NEWPID)
    .union(UnshareFlags::NEWNET)
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS)
    .union(UnshareFlags::NEWCGROUP);

/// First process.
pub(super) fn supervise(plan: &Plan, wires: Wires) -> i32 {
    match try_supervise(plan, &wires) {
        Ok(init) => {
            // Only process 1 may report from here on, and only the command may print.
            drop((wires.stdin, wires.stdout, wires.stderr, wires.report));
            end_with(init, wires.control)
        }
        Err(Failure(layer, errno)) => {
            Record::SetUpFailed(layer, errno.raw_os_error()).send(wires.report.as_fd());
            1
        }
    }
}

fn try_supervise(plan: &Plan, wires: &Wires) -> Result<Pid, Failure> {
    let keep = [
        wires.stdin.as_fd(),
        wires.stdout.as_fd(),
        wires.stderr.as_fd(),
        wires.report.as_fd(),
        wires.control.as_fd(),
        wires.null.as_fd(),
    ];
    sys::close_all_but(&keep).at(Layer::Process)?;
    sys::reset_signals();
    rustix::process::setsid().at(Layer::Process)?;
    rustix::stdio::dup2_stdin(&wires.null).at(Layer::Process)?;
    rustix::stdio::dup2_stdout(&wires.null).at(Layer::Process)?;
    rustix::stdio::dup2_stderr(&wires.null).at(Layer::Process)?;

    if plan.drop_to.is_some() {
        rustix::thread::set_thread_groups(&[]).at(Layer::Privileges)?;
    } else {
        sys::unshare(UnshareFlags::NEWUSER).at(Layer::UserNamespace)?;
        let (uid, gid) = plan.own_ids;
        write_id_map("self", uid, gid).at(Layer::IdMap)?;
    }
    sys::unshare(NAMESPACES).at(Layer::Namespaces)?;
    // After all changes of identity, which would clear it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Layer::Process)?;

    let child = sys::spawn_child(|| init(plan, wires));
    child
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
        .at(Layer::Process)
}

/// Maps the one inside id to the one host id. "self" or a process id of this /proc.
fn write_id_map(process: &str, uid: u32, gid: u32) -> Result<(), Errno> {
    write_text(&format!("/proc/{process}/setgroups"), "deny")?;
    write_text(
        &format!("/proc/{process}/uid_map"),
        &format!("{INSIDE_ID} {uid} 1\n"),
    )?;
    write_text(
        &format!("/proc/{process}/gid_map"),
        &format!("{INSIDE_ID} {gid} 1\n"),
    )
}

fn write_text(path: &str, text: &str) -> Result<(), Errno> {
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
                let [ended, told] = &events;
                if told.revents().is_empty() && ended.revents().is_empty() {
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

/// Process 1.
fn init(plan: &Plan, wires: &Wires) -> i32 {
    let outcome = match try_init(plan, wires) {
        Ok(record) => record,
        Err(Failure(layer, errno)) => Record::SetUpFailed(layer, errno.raw_os_error()),
    };
    outcome.send(wires.report.as_fd());
    0
}

fn try_init(plan: &Plan, wires: &Wires) -> Result<Record, Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Layer::Process)?;
    // Without this the command could look into this process, a copy of the caller.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Layer::Process)?;
    rustix::system::sethostname(b"sandbox").at(Layer::Namespaces)?;
    rustix::system::setdomainname(b"(none)").at(Layer::Namespaces)?;
    mounts::build(&plan.mounts)?;

    let (ready, is_ready) = pipe()?;
    let (mapped, is_mapped) = pipe()?;
    let child = sys::spawn_child(|| command(plan, wires, &is_ready, &mapped));
    let child = child
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
        .at(Layer::Process)?;
    drop(is_ready);
    if let Some((uid, gid)) = plan.drop_to {
        // The command is in its user namespace once it says so (or ends, which watching shows).
        if read_byte(&ready) {
            write_id_map(&child.as_raw_nonzero().to_string(), uid, gid).at(Layer::IdMap)?;
            rustix::io::write(&is_mapped, b"m").at(Layer::IdMap)?;
        }
    }
    drop((ready, mapped, is_mapped));
    sys::close_all_but(&[wires.report.as_fd()]).at(Layer::Process)?;
    watch::watch(child, &plan.limits).at(Layer::Process)
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Failure> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Layer::Process)
}

fn read_byte(pipe: &OwnedFd) -> bool {
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(pipe, &mut byte) {
            Ok(count) => return count == 1,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The command's process, until it becomes the program.
fn command(plan: &Plan, wires: &Wires, is_ready: &OwnedFd, mapped: &OwnedFd) -> i32 {
    if let Err(Failure(layer, errno)) = prepare_command(plan, wires, is_ready, mapped) {
        Record::SetUpFailed(layer, errno.raw_os_error()).send(wires.report.as_fd());
        return 1;
    }
    if plan.programs.is_empty() {
        return 0;
    }
    let mut worst = Errno::NOENT;
    for program in &plan.programs {
        let errno = sys::execute(program, &plan.arguments, &plan.environment);
        if errno != Errno::NOENT && errno != Errno::NOTDIR {
            worst = errno;
            if errno != Errno::ACCESS {
                break;
            }
        }
    }
    Record::ExecuteFailed(worst.raw_os_error()).send(wires.report.as_fd());
    127
}

fn prepare_command(
    plan: &Plan,
    wires: &Wires,
    is_ready: &OwnedFd,
    mapped: &OwnedFd,
) -> Result<(), Failure> {
    rustix::process::setsid().at(Layer::Process)?;
    rustix::stdio::dup2_stdin(&wires.stdin).at(Layer::StandardStreams)?;
    rustix::stdio::dup2_stdout(&wires.stdout).at(Layer::StandardStreams)?;
    rustix::stdio::dup2_stderr(&wires.stderr).at(Layer::StandardStreams)?;

    if plan.drop_to.is_some() {
        sys::unshare(UnshareFlags::NEWUSER).at(Layer::UserNamespace)?;
        rustix::io::write(is_ready, b"r").at(Layer::IdMap)?;
        if !read_byte(mapped) {
            return Err(Failure(Layer::IdMap, Errno::IO));
        }
        let (uid, gid) = (Uid::from_raw(INSIDE_ID), Gid::from_raw(INSIDE_ID));
        rustix::thread::set_thread_res_gid(gid, gid, gid).at(Layer::Privileges)?;
        rustix::thread::set_thread_res_uid(uid, uid, uid).at(Layer::Privileges)?;
    }
    sys::close_all_but(&[wires.report.as_fd()]).at(Layer::Process)?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    rustix::process::chdir(&plan.current_dir).at(Layer::WorkingDirectory)?;
    for (resource, limit) in &plan.resource_limits {
        rustix::process::setrlimit(*resource, *limit).at(Layer::ResourceLimits)?;
    }
    drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).at(Layer::Privileges)?;
    fence::restrict(plan.landlock, plan.unix_sockets)?;
    for filter in &plan.filters {
        seccompiler::apply_filter(filter).map_err(|_| Failure(Layer::Seccomp, Errno::INVAL))?;
    }
    Ok(())
}

/// Leaves no capability in any set, nor a way to get one back. Until here the process has all of
/// its user namespace's: the change of uid takes none, since no id inside is root's.
fn drop_capabilities() -> Result<(), Failure> {
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked).at(Layer::Privileges)?;
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::remove_capability_from_bounding_set(one) {
            // The first number the kernel does not know: all are gone.
            Err(Errno::INVAL) => break,
            other => other.at(Layer::Privileges)?,
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).at(Layer::Privileges)
}
