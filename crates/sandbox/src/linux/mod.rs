//! The sandbox on Linux, seen from the caller's side: plan, fork, read, wait.
//!
//! All that can be prepared is prepared here, before the first fork; [`stage`] has the processes
//! that are forked. Why not an existing sandbox crate: none of those kept lets a seccomp filter
//! and a current Landlock version be installed without a C library or a helper program, bounds
//! captured output, and stops a command after milliseconds (see docs/sandbox.md).

mod fence;
mod mounts;
mod ownership;
mod report;
mod seccomp;
mod stage;
mod sys;
mod watch;

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, WaitOptions};

use crate::error::{Layer, Missing, SandboxError, SpecError};
use crate::outcome::{Ending, Limit, Outcome};
use crate::pump::Pump;
use crate::spec::{Limits, Spec};
use crate::{Capabilities, INSIDE_TMP};
use report::{RECORD_BYTES, Record};
use stage::{Plan, Wires};
use sys::StringList;

/// Puts every layer up for a command that does nothing.
pub(crate) fn probe() -> Result<Capabilities, Missing> {
    let landlock = fence::find_version()?;
    let drop_to = ownership::find_unprivileged_ids()?;
    let mut spec = Spec::new(["/"], INSIDE_TMP);
    spec.limits.wall_time = Duration::from_secs(20);
    spec.work_folder = std::env::temp_dir();
    match launch(&spec, drop_to, true) {
        Ok(Outcome {
            ending: Ending::Exited(0),
            ..
        }) => Ok(Capabilities {
            landlock_abi: u32::try_from(landlock as i32).unwrap_or(0),
            drops_root: drop_to.is_some(),
        }),
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
pub(crate) fn run(spec: &Spec, capabilities: &Capabilities) -> Result<Outcome, SandboxError> {
    let drop_to = ownership::find_unprivileged_ids()?;
    if drop_to.is_some() != capabilities.drops_root {
        return Err(SandboxError::System {
            what: "run as another user than the one that was probed",
            source: io::Error::from(io::ErrorKind::PermissionDenied),
        });
    }
    if let Some(ids) = drop_to {
        ownership::give_folder(&spec.work_folder, ids).map_err(|source| SandboxError::System {
            what: "give the work folder away",
            source,
        })?;
    }
    launch(spec, drop_to, false)
}

fn launch(spec: &Spec, drop_to: Option<(u32, u32)>, probe: bool) -> Result<Outcome, SandboxError> {
    let began = Instant::now();
    let plan = make_plan(spec, drop_to, probe)?;
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
    let wires = Wires {
        stdin: sealed_input(&spec.stdin).map_err(at("prepare standard input"))?,
        stdout: stdout_end,
        stderr: stderr_end,
        report: report_end,
        control: control_end,
        null,
    };
    let supervisor = sys::spawn_child(|| stage::supervise(&plan, wires)).map_err(|source| {
        SandboxError::System {
            what: "start a process",
            source,
        }
    })?;
    let running = Running {
        supervisor,
        control: Some(control),
        is_gone: false,
    };

    let limits = &spec.limits;
    let handle = rustix::process::pidfd_open(supervisor, PidfdFlags::empty())
        .map_err(at("watch a process"))?;
    let deadline = began + limits.wall_time;
    let mut pump = Pump::new(
        (stdout, limits.stdout_bytes),
        (stderr, limits.stderr_bytes),
        deadline,
    )
    .map_err(system("read the command's output"))?;
    let limit = pump
        .run(Some(handle.as_fd()), || has_ended(handle.as_fd()))
        .map_err(system("read the command's output"))?;
    running.end()?;
    let (stdout, stderr) = pump.finish();
    let duration = began.elapsed();
    let ending = judge(spec, limit, &read_records(&report)?)?;
    Ok(Outcome {
        ending,
        stdout,
        stderr,
        duration,
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
            Record::Exited(_) | Record::Signaled(_) | Record::Stopped(_) => {}
        }
    }
    if let Some(limit) = seen {
        return Ok(Ending::Stopped(limit));
    }
    let ending = records.iter().find_map(|record| match *record {
        Record::Exited(code) => Some(Ending::Exited(code)),
        Record::Signaled(signal) => Some(Ending::Signaled(signal)),
        Record::Stopped(limit) => Some(Ending::Stopped(limit)),
        Record::SetUpFailed(..) | Record::ExecuteFailed(_) => None,
    });
    ending.ok_or(SandboxError::NoReport)
}

fn make_plan(spec: &Spec, drop_to: Option<(u32, u32)>, probe: bool) -> Result<Plan, SandboxError> {
    let environment = spec.environment();
    let path = environment
        .get("PATH")
        .map(String::as_str)
        .unwrap_or_default();
    let programs = if probe {
        Vec::new()
    } else {
        candidates(spec, path)?
    };
    let arguments: Result<Vec<CString>, SpecError> =
        spec.command.iter().map(|part| c_string(part)).collect();
    let variables: Result<Vec<CString>, SpecError> = environment
        .iter()
        .map(|(name, value)| c_string(OsStr::new(&format!("{name}={value}"))))
        .collect();
    Ok(Plan {
        drop_to,
        own_ids: (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        ),
        programs,
        arguments: StringList::new(arguments?),
        environment: StringList::new(variables?),
        current_dir: c_string(spec.current_dir.as_os_str())?,
        mounts: mounts::plan_mounts(spec, drop_to)?,
        limits: spec.limits.clone(),
        resource_limits: resource_limits(&spec.limits, drop_to.is_some()),
        landlock: fence::find_version()?,
        unix_sockets: spec.unix_sockets,
        filters: seccomp::compile_filters(spec.unix_sockets)?,
    })
}

/// Where the program may be, as a shell would look: by path when it has a slash, else in each
/// folder of the inside PATH.
fn candidates(spec: &Spec, path: &str) -> Result<Vec<CString>, SpecError> {
    let Some(program) = spec.command.first() else {
        return Err(SpecError::EmptyCommand);
    };
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(program)?]);
    }
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| c_string(Path::new(folder).join(program).as_os_str()))
        .collect()
}

fn c_string(text: &OsStr) -> Result<CString, SpecError> {
    CString::new(text.as_bytes()).map_err(|_| SpecError::Nul {
        what: "the command",
    })
}

/// Limits that the kernel keeps for each process. None is ever raised.
fn resource_limits(limits: &Limits, is_root: bool) -> Vec<(Resource, Rlimit)> {
    // An ordinary user's supervisor and process 1 are counted with the command.
    let processes = u64::from(limits.processes) + if is_root { 0 } else { 2 };
    let wanted = [
        (Resource::Core, 0),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, u64::from(limits.open_files)),
        (Resource::Nproc, processes),
        // Not the address space: interpreters reserve far more of it than they ever use.
        (Resource::Data, limits.memory_bytes),
        (Resource::Memlock, 1 << 16),
        (Resource::Msgqueue, 0),
        (Resource::Rtprio, 0),
    ];
    let lower = |(resource, most): (Resource, u64)| {
        let most = rustix::process::getrlimit(resource)
            .maximum
            .map_or(most, |max| max.min(most));
        (
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        )
    };
    wanted.into_iter().map(lower).collect()
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
