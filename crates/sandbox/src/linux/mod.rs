//! The sandbox on Linux, seen from the caller's side: plan, fork, read, wait.
//!
//! All that can be prepared is prepared before the first fork ([`plan`]); [`stage`] has the
//! processes that are forked; [`work`] brings back what the command left. Why not an existing sandbox crate: none of those kept lets a seccomp filter
//! and a current Landlock version be installed without a C library or a helper program, bounds
//! captured output, and stops a command after milliseconds (see docs/sandbox.md).

mod cgroup;
mod changes;
mod fence;
mod handover;
mod interrupts;
mod mounts;
mod ownership;
mod plan;
mod report;
mod seccomp;
mod stage;
mod storage;
mod sys;
mod transfer;
mod watch;
mod work;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, WaitOptions};

use crate::Capabilities;
use crate::error::{Layer, Missing, SandboxError};
use crate::level::Isolation;
use crate::observation::Observation;
use crate::outcome::{Ending, Enforcement, Enforcer, Limit, Outcome, Recorded};
use crate::pump::Pump;
use crate::spec::Spec;
use cgroup::Group;
pub(crate) use interrupts::{catch_interrupts, caught_interrupt};
use plan::Purpose;
use report::{RECORD_BYTES, Record};
use stage::Wires;
use storage::Storage;
use work::WorkFolder;

/// How long putting up empty layers may take. Far more than any machine needs, however loaded:
/// reaching it means that the system hangs, not that a layer is missing.
const PROBE_TIME: Duration = Duration::from_secs(300);

/// What can be found out without starting a process.
pub(crate) fn find_capabilities(_level: Isolation) -> Result<Capabilities, Missing> {
    let landlock = fence::find_version()?;
    let drop_to = ownership::find_unprivileged_ids()?;
    Ok(Capabilities {
        landlock_abi: u32::try_from(landlock as i32).unwrap_or(0),
        drops_root: drop_to.is_some(),
    })
}

/// Puts every layer up for a command that does nothing, over an empty work folder of its own.
pub(crate) fn probe(level: Isolation) -> Result<Capabilities, Missing> {
    let capabilities = find_capabilities(level)?;
    let drop_to = ownership::find_unprivileged_ids()?;
    // The folder is never looked at: a probe's work folder is in memory and starts empty.
    let mut spec = Spec::new(["/"], "/");
    spec.limits.wall_time = PROBE_TIME;
    match launch(&spec, drop_to, Purpose::Probe) {
        Ok(Outcome {
            ending: Ending::Exited(0),
            ..
        }) => Ok(capabilities),
        Ok(outcome) => Err(Missing {
            layer: Layer::Process,
            reason: format!("an empty command ended as {:?}", outcome.ending),
        }),
        Err(SandboxError::Missing(missing)) => Err(missing),
        Err(error) => Err(Missing {
            layer: Layer::Process,
            reason: describe(&error),
        }),
    }
}

fn describe(error: &SandboxError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Runs the command of a checked specification.
pub(crate) fn run(
    spec: &Spec,
    level: Isolation,
    capabilities: Option<&Capabilities>,
) -> Result<Recorded, SandboxError> {
    let Some(capabilities) = capabilities else {
        return crate::plain::run(spec);
    };
    if spec.layered.is_some() || level != Isolation::Full {
        return Err(Missing {
            layer: Layer::LayeredFolder,
            reason: "not built yet".to_owned(),
        }
        .into());
    }
    let drop_to = ownership::find_unprivileged_ids()?;
    if drop_to.is_some() != capabilities.drops_root {
        return Err(SandboxError::System {
            what: "run as another user than the one that was probed",
            source: io::Error::from(io::ErrorKind::PermissionDenied),
        });
    }
    let outcome = launch(spec, drop_to, Purpose::Run)?;
    Ok(Recorded {
        outcome,
        layer: None,
        observation: spec.observe.as_ref().map(|_| Observation::default()),
    })
}

fn launch(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
) -> Result<Outcome, SandboxError> {
    let began = Instant::now();
    let plan = plan::make_plan(spec, drop_to, purpose)?;
    let work = WorkFolder::prepare(spec, drop_to, plan.watched.storage, purpose)?;
    let most = mounts::memory_bytes(&spec.limits, plan.watched.storage)
        .saturating_add(spec.limits.memory_bytes);
    let (group, entrance) = match purpose {
        Purpose::Probe => None,
        Purpose::Run => Group::make(most),
    }
    .unzip();

    let (stdout, stdout_end) = pipe()?;
    let (stderr, stderr_end) = pipe()?;
    let (report, report_end) = pipe()?;
    let (control_end, control) = pipe()?;
    if let Some(ids) = drop_to {
        // So that the command may open /dev/stdout and /dev/stderr by name.
        for end in [&stdout_end, &stderr_end] {
            ownership::give_file(end.as_fd(), ids).map_err(at("give the pipes away"))?;
        }
    }
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(at("open /dev/null"))?;
    let (work, work_wires) = work.split()?;
    let wires = Wires {
        stdin: sealed_input(&spec.stdin).map_err(at("prepare standard input"))?,
        stdout: stdout_end,
        stderr: stderr_end,
        report: report_end,
        control: control_end,
        null,
        group: entrance,
        work: work_wires,
    };
    let supervisor =
        sys::spawn_child(|| stage::supervise(&plan, wires)).map_err(system("start a process"))?;
    let running = Running {
        supervisor,
        control: Some(control),
        is_gone: false,
    };

    let limits = &spec.limits;
    let handle = rustix::process::pidfd_open(supervisor, PidfdFlags::empty())
        .map_err(at("watch a process"))?;
    let mut pump = Pump::new(
        (stdout, limits.stdout_bytes),
        (stderr, limits.stderr_bytes),
        began + limits.wall_time,
    )
    .map_err(system("read the command's output"))?;
    let limit = pump
        .run(Some(handle.as_fd()), || has_ended(handle.as_fd()))
        .map_err(system("read the command's output"))?;
    running.end()?;
    let (stdout, stderr) = pump.finish();
    let duration = began.elapsed();
    let records = read_records(&report)?;
    // Whoever was ended for want of memory may have been the one that reports.
    let is_out_of_memory = group.as_ref().is_some_and(Group::has_killed);
    let limit = limit.or(is_out_of_memory.then_some(Limit::Memory));
    let ending = match judge(spec, limit, &records)? {
        Ending::Stopped(limit) => Ending::Stopped(limit),
        ended => work.collect(limits)?.map_or(ended, Ending::Stopped),
    };
    Ok(Outcome {
        ending,
        stdout,
        stderr,
        duration,
        enforcement: Enforcement {
            memory: Enforcer::kernel_if(records.contains(&Record::InGroup)),
            work_folder: Enforcer::kernel_if(plan.watched.storage == Storage::Memory),
        },
    })
}

/// The supervisor and the means to end it. Dropping it ends and reaps everything too, so that no
/// early return leaves a process behind.
struct Running {
    supervisor: Pid,
    control: Option<OwnedFd>,
    is_gone: bool,
}

impl Running {
    fn end(mut self) -> Result<(), SandboxError> {
        self.end_now().map_err(at("wait for the sandbox"))
    }

    fn end_now(&mut self) -> Result<(), Errno> {
        drop(self.control.take());
        if self.is_gone {
            return Ok(());
        }
        self.is_gone = true;
        loop {
            match rustix::process::waitpid(Some(self.supervisor), WaitOptions::empty()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end_now();
    }
}

fn has_ended(handle: std::os::fd::BorrowedFd<'_>) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn read_records(pipe: &OwnedFd) -> Result<Vec<Record>, SandboxError> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 64 * RECORD_BYTES];
    loop {
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(at("read the sandbox's report")(errno)),
        }
    }
    Ok(bytes
        .chunks(RECORD_BYTES)
        .filter_map(Record::parse)
        .collect())
}

/// What happened, from what we saw ourselves and what the processes reported. A step that failed
/// counts before everything else: then the command never ran.
fn judge(spec: &Spec, seen: Option<Limit>, records: &[Record]) -> Result<Ending, SandboxError> {
    for record in records {
        match *record {
            // The machine is not to blame for what the caller's folder holds.
            Record::SetUpFailed(Layer::WorkFolder, errno) => {
                return Err(SandboxError::System {
                    what: "fill the work folder",
                    source: io::Error::from_raw_os_error(errno),
                });
            }
            Record::SetUpFailed(layer, errno) => {
                let reason = io::Error::from_raw_os_error(errno).to_string();
                return Err(Missing { layer, reason }.into());
            }
            Record::ExecuteFailed(errno) => {
                let program = spec
                    .command
                    .first()
                    .map(|program| program.to_string_lossy());
                return Err(SandboxError::Execute {
                    program: program.unwrap_or_default().into_owned(),
                    source: io::Error::from_raw_os_error(errno),
                });
            }
            Record::Exited(_) | Record::Signaled(_) | Record::Stopped(_) | Record::InGroup => {}
        }
    }
    if let Some(limit) = seen {
        return Ok(Ending::Stopped(limit));
    }
    let ending = records.iter().find_map(|record| match *record {
        Record::Exited(code) => Some(Ending::Exited(code)),
        Record::Signaled(signal) => Some(Ending::Signaled(signal)),
        Record::Stopped(limit) => Some(Ending::Stopped(limit)),
        Record::SetUpFailed(..) | Record::ExecuteFailed(_) | Record::InGroup => None,
    });
    ending.ok_or(SandboxError::NoReport)
}

/// Standard input as a file in memory that nobody can change any more: unlike a pipe it needs no
/// one to feed it.
fn sealed_input(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("stdin", flags)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(at("make a pipe"))
}

fn at(what: &'static str) -> impl Fn(Errno) -> SandboxError {
    move |errno| SandboxError::System {
        what,
        source: errno.into(),
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> SandboxError {
    move |source| SandboxError::System { what, source }
}
