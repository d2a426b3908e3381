//! The command's process from its fork until it becomes the program: gives up what is left of
//! privileges, in the order in which no step undoes another.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};
use seccompiler::BpfProgram;

use super::fence::{self, Fence};
use super::report::{At, Failure, Record};
use super::stage::{self, Wires};
use super::sys::{self, StringList};
use super::{handover, notify};
use crate::error::Layer;

/// Everything the command's process needs, made before the first fork.
pub(super) struct CommandPlan {
    /// Places where the program may be, in order; none for a probe, which runs nothing.
    pub(super) programs: Vec<std::ffi::CString>,
    pub(super) arguments: StringList,
    pub(super) environment: StringList,
    pub(super) current_dir: std::ffi::CString,
    pub(super) resource_limits: Vec<(Resource, Rlimit)>,
    /// The Landlock rules; absent without isolation.
    pub(super) fence: Option<Fence>,
    /// The seccomp filters; absent without isolation.
    pub(super) filters: Option<Filters>,
    /// The filter that tells the observer, where there is one.
    pub(super) watched_calls: Option<Vec<libc::sock_filter>>,
    /// Whether the command may pass and read what its user could not. Only behind a fence, which
    /// then alone says what it may read: for programs that root keeps in its own home.
    pub(super) may_search: bool,
    /// Rights that new files do not get.
    pub(super) umask: u32,
}

impl CommandPlan {
    /// The place that the program was executed from, by what was reported on the way there.
    pub(super) fn executed(&self, records: &[Record]) -> Option<PathBuf> {
        let number = records.iter().rev().find_map(|record| match record {
            Record::Executing(number) => usize::try_from(*number).ok(),
            _ => None,
        })?;
        let place = Path::new(OsStr::from_bytes(self.programs.get(number)?.as_bytes()));
        let folder = Path::new(OsStr::from_bytes(self.current_dir.as_bytes()));
        Some(folder.join(place))
    }
}

/// The filters that keep system calls away.
pub(super) struct Filters {
    pub(super) allow: BpfProgram,
    pub(super) refuse: BpfProgram,
    /// In place of `refuse` where the observer hears of sockets and refuses them.
    pub(super) refuse_when_observed: Option<BpfProgram>,
}

/// Prepares this process and becomes the program; the answer is the exit code where that failed.
/// `terminal` is the command's side of its terminal; `enter` takes on the command's user.
pub(super) fn become_command(
    plan: &CommandPlan,
    wires: &Wires,
    terminal: Option<&OwnedFd>,
    enter: impl FnOnce() -> Result<(), Failure>,
) -> i32 {
    if let Err(Failure(layer, errno)) = prepare(plan, wires, terminal, enter) {
        Record::SetUpFailed(layer, errno.raw_os_error()).send(wires.report.as_fd());
        return 1;
    }
    if plan.programs.is_empty() {
        return 0;
    }
    let mut worst = Errno::NOENT;
    for (number, program) in (0..).zip(&plan.programs) {
        Record::Executing(number).send(wires.report.as_fd());
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

fn prepare(
    plan: &CommandPlan,
    wires: &Wires,
    terminal: Option<&OwnedFd>,
    enter: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    rustix::process::setsid().at(Layer::Process)?;
    // When memory runs out the command goes first, not the processes that report on it. Where
    // this fails they are still far smaller.
    let _ = stage::write_text("/proc/self/oom_score_adj", "1000");
    let is_on = wires.terminal.as_ref().map_or([false; 3], |it| it.is_on);
    let streams = [&wires.stdin, &wires.stdout, &wires.stderr];
    let [stdin, stdout, stderr] = [0, 1, 2].map(|at: usize| match terminal {
        Some(terminal) if is_on[at] => terminal,
        _ => streams[at],
    });
    if let Some(terminal) = terminal {
        rustix::process::ioctl_tiocsctty(terminal).at(Layer::Terminal)?;
    }
    rustix::stdio::dup2_stdin(stdin).at(Layer::StandardStreams)?;
    rustix::stdio::dup2_stdout(stdout).at(Layer::StandardStreams)?;
    rustix::stdio::dup2_stderr(stderr).at(Layer::StandardStreams)?;
    enter()?;
    let mut kept = vec![wires.report.as_fd()];
    kept.extend(wires.observer.as_ref().map(AsFd::as_fd));
    sys::close_all_but(&kept).at(Layer::Process)?;
    rustix::process::umask(Mode::from_raw_mode(plan.umask));
    rustix::process::chdir(&plan.current_dir).at(Layer::WorkingDirectory)?;
    for (resource, limit) in &plan.resource_limits {
        rustix::process::setrlimit(*resource, *limit).at(Layer::ResourceLimits)?;
    }
    if plan.filters.is_some() {
        drop_capabilities(plan.may_search && plan.fence.is_some())?;
    }
    if plan.filters.is_some() || plan.watched_calls.is_some() {
        rustix::thread::set_no_new_privs(true).at(Layer::Privileges)?;
    }
    if let Some(fence) = &plan.fence {
        fence::restrict(fence)?;
    }
    let is_observed = match (&plan.watched_calls, &wires.observer) {
        (Some(program), Some(observer)) => start_observation(program, observer, wires)?,
        _ => false,
    };
    if let Some(filters) = &plan.filters {
        let refuse = match &filters.refuse_when_observed {
            Some(refuse) if is_observed => refuse,
            _ => &filters.refuse,
        };
        for filter in [&filters.allow, refuse] {
            seccompiler::apply_filter(filter).map_err(|_| Failure(Layer::Seccomp, Errno::INVAL))?;
        }
    }
    Ok(())
}

/// Installs the observer's filter and sends it the means to listen. Where that is not possible
/// the command runs unobserved, and the record says so.
fn start_observation(
    program: &[libc::sock_filter],
    observer: &OwnedFd,
    wires: &Wires,
) -> Result<bool, Failure> {
    // The observer is another process and looks into this one, which holds nothing of the
    // caller's any more that the program would not have itself.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).at(Layer::Process)?;
    match notify::install(program) {
        Ok(listener) => {
            handover::send(observer, listener.as_fd()).at(Layer::Observation)?;
            Ok(true)
        }
        Err(errno) => {
            Record::NotObserved(errno.raw_os_error()).send(wires.report.as_fd());
            Ok(false)
        }
    }
}

/// Leaves no capability in any set but the one to search and read, where that is kept, nor a way
/// to get one back. Until here the process has all of
/// its user namespace's: the change of uid takes none, since no id inside is root's.
fn drop_capabilities(may_search: bool) -> Result<(), Failure> {
    let kept = match may_search {
        true => CapabilitySet::DAC_READ_SEARCH,
        false => CapabilitySet::empty(),
    };
    let left = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    let held = rustix::thread::capabilities(None).at(Layer::Privileges)?;
    // An ordinary user outside a user namespace holds none, and may not even lock them away;
    // no_new_privs keeps them away.
    if held.permitted.is_empty() {
        let none = CapabilitySet::empty();
        let nothing = CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        };
        return rustix::thread::set_capabilities(None, nothing).at(Layer::Privileges);
    }
    if may_search {
        // The change of uid has put them all to sleep; what is inherited has to be awake.
        let awake = CapabilitySets {
            effective: held.permitted,
            permitted: held.permitted,
            inheritable: kept,
        };
        rustix::thread::set_capabilities(None, awake).at(Layer::Privileges)?;
        rustix::thread::configure_capability_in_ambient_set(kept, true).at(Layer::Privileges)?;
    }
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
    rustix::thread::set_capabilities(None, left).at(Layer::Privileges)
}
