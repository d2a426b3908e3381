//! A command in the host's own view of files and processes: with Landlock, seccomp and resource
//! limits where namespaces are refused, or with nothing at all. Only for those who ask by name.
//!
//! One process stands between: it adopts whatever the command leaves behind (a child subreaper)
//! and ends it all, when the command ends, when the caller says so, and when the caller is gone.
//! A layered folder is a copy under another path, since nothing can be mounted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions};

use super::command::{self, CommandPlan};
use super::fence::{self, Fence};
use super::launch::{self, Launch};
use super::layered::{LayeredFolder, Stored};
use super::mounts::SYSTEM;
use super::observer::Assignment;
use super::plan::{self, Purpose};
use super::report::{At, Failure, Record};
use super::seccomp::{self, FilterOptions};
use super::seen::Moved;
use super::stage::Wires;
use super::storage::Storage;
use super::watch::{self, Watched};
use super::watched_calls::{self, Network};
use super::{ownership, put_together, sys, system};
use crate::error::{Layer, SandboxError};
use crate::level::Isolation;
use crate::observation::Gap;
use crate::outcome::{Ending, Enforcement, Enforcer, Recorded};
use crate::spec::{INSIDE_HOME, INSIDE_TMP, Spec};

/// Small files of the system that programs look at everywhere.
const SYSTEM_FILES: [&str; 7] = [
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/proc",
];

/// Everything the two processes need, made before the first fork.
struct HostPlan {
    command: CommandPlan,
    drop_to: Option<(u32, u32)>,
    /// None without isolation, where only time and output are bounded.
    watched: Option<Watched>,
    /// The folder whose size is watched.
    folder: PathBuf,
}

/// Where the command works.
struct Surroundings {
    layered: Option<LayeredFolder>,
    /// Its only writable folder: a copy, or the work folder itself.
    work: PathBuf,
    /// A private folder for temporary files, where the work folder is not to serve as one.
    private: Option<Stored>,
}

/// Runs the command of a checked specification.
pub(super) fn run(
    spec: &Spec,
    level: Isolation,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
) -> Result<Recorded, SandboxError> {
    let began = Instant::now();
    let surroundings = prepare(spec, drop_to, purpose)?;
    let plan = make_plan(spec, level, drop_to, purpose, &surroundings)?;
    let observation = spec.observe.clone().map(|bounds| {
        let mut gaps = Vec::new();
        let moved = surroundings.moved(spec);
        if let (Some(folder), Some(moved)) = (&surroundings.layered, &moved) {
            gaps.extend(folder.gaps());
            gaps.push(Gap::CopiedFolder {
                path: moved.copy.clone(),
            });
        }
        let assignment = Assignment {
            bounds,
            is_apart: false,
            moved,
        };
        (assignment, gaps)
    });
    let launch = Launch {
        spec,
        began,
        drop_to,
        group: None,
        work: None,
        observation,
    };
    let ended = launch.go(|wires| supervise(&plan, &wires))?;
    let mut ending = launch::judge(spec, ended.limit, &ended.records)?;
    let mut layer = None;
    if let Some(folder) = surroundings.layered
        && !matches!(ending, Ending::Stopped(_))
    {
        match folder.collect(None, surroundings.work)? {
            Ok(found) => layer = Some(found),
            Err(limit) => ending = Ending::Stopped(limit),
        }
    }
    let enforcer = match level {
        Isolation::None => Enforcer::Nobody,
        Isolation::Landlock | Isolation::Full => Enforcer::Watcher,
    };
    let enforcement = Enforcement {
        memory: enforcer,
        work_folder: enforcer,
    };
    Ok(put_together(ended, ending, layer, enforcement))
}

impl Surroundings {
    /// The copy and what it stands for.
    fn moved(&self, spec: &Spec) -> Option<Moved> {
        let layered = spec.layered.as_ref()?;
        let folder = self.layered.as_ref()?;
        Some(Moved {
            copy: folder.copy_path()?.to_owned(),
            real: layered.inside.clone(),
        })
    }
}

fn prepare(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
) -> Result<Surroundings, SandboxError> {
    for path in &spec.show {
        fs::metadata(path).map_err(system("look at a path that is to be shown"))?;
    }
    let Some(layered) = &spec.layered else {
        if let (Some(ids), Purpose::Run) = (drop_to, purpose) {
            ownership::give_folder(&spec.work_folder, ids)
                .map_err(system("give the work folder away"))?;
        }
        return Ok(Surroundings {
            layered: None,
            work: spec.work_folder.clone(),
            private: None,
        });
    };
    let mut folder = LayeredFolder::with_copy(layered, &spec.limits, drop_to)?;
    if drop_to.is_some() {
        // The command's user must get through to the copy; other names in it stay unknown.
        fs::set_permissions(&layered.store, fs::Permissions::from_mode(0o711))
            .map_err(system("open the store to the command"))?;
    }
    let private = Stored::make(&layered.store, "tmp", drop_to)?;
    fs::create_dir(private.path().join("home")).map_err(system("make a home"))?;
    if let Some(ids) = drop_to {
        ownership::give_folder(private.path(), ids).map_err(system("make a home"))?;
    }
    folder.resolve_store()?;
    let work = folder.copy_path().map(Path::to_owned).unwrap_or_default();
    Ok(Surroundings {
        layered: Some(folder),
        work,
        private: Some(private),
    })
}

fn make_plan(
    spec: &Spec,
    level: Isolation,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
    surroundings: &Surroundings,
) -> Result<HostPlan, SandboxError> {
    let environment = environment(spec, surroundings);
    let current_dir = match purpose {
        Purpose::Probe => PathBuf::from("/"),
        Purpose::Run => on_host(spec, surroundings, &spec.current_dir),
    };
    let mut command = plan::plan_command(spec, &environment, &current_dir, purpose)?;
    let mut watched = None;
    if level == Isolation::Landlock {
        command.resource_limits = resource_limits(spec, drop_to.is_some());
        command.fence = Some(make_fence(spec, surroundings, purpose)?);
        command.filters = Some(seccomp::compile_filters(FilterOptions {
            unix_sockets: spec.unix_sockets,
            nameless_files: false,
            is_observed: spec.observe.is_some(),
        })?);
        let limits = match &surroundings.layered {
            Some(folder) => folder.limits.clone(),
            None => spec.limits.clone(),
        };
        watched = (purpose == Purpose::Run).then_some(Watched {
            limits,
            storage: Storage::Disk,
            // The host's sockets are not the command's; it may make none but pairs.
            socket_bytes: 0,
        });
    }
    command.watched_calls = spec.observe.as_ref().map(|_| {
        watched_calls::program(match level {
            Isolation::None => Network::Connections,
            Isolation::Landlock | Isolation::Full => Network::Sockets {
                but_unix: spec.unix_sockets,
            },
        })
    });
    Ok(HostPlan {
        command,
        drop_to,
        watched,
        folder: surroundings.work.clone(),
    })
}

/// The environment, with folders that exist only inside replaced.
fn environment(spec: &Spec, surroundings: &Surroundings) -> BTreeMap<String, OsString> {
    let (home, tmp) = match &surroundings.private {
        Some(private) => (private.path().join("home"), private.path().to_owned()),
        None => (surroundings.work.clone(), surroundings.work.clone()),
    };
    spec.environment()
        .into_iter()
        .map(|(name, value)| {
            let value = match (name.as_str(), value.as_str()) {
                ("HOME", INSIDE_HOME) => home.clone().into_os_string(),
                ("TMPDIR", INSIDE_TMP) => tmp.clone().into_os_string(),
                _ => OsString::from(value),
            };
            (name, value)
        })
        .collect()
}

/// What an inside path is on the host, where nothing is mounted anywhere.
fn on_host(spec: &Spec, surroundings: &Surroundings, inside: &Path) -> PathBuf {
    if let Some(layered) = &spec.layered {
        return match inside.strip_prefix(&layered.inside) {
            Ok(below) => surroundings.work.join(below),
            Err(_) => inside.to_owned(),
        };
    }
    spec.on_host(inside)
}

fn make_fence(
    spec: &Spec,
    surroundings: &Surroundings,
    purpose: Purpose,
) -> Result<Fence, SandboxError> {
    let mut readable: Vec<PathBuf> = SYSTEM
        .iter()
        .chain(&SYSTEM_FILES)
        .map(PathBuf::from)
        .filter(|place| place.exists())
        .collect();
    readable.extend(spec.mounts.iter().map(|mount| mount.host.clone()));
    readable.extend(spec.show.iter().cloned());
    readable.extend(spec.layered.iter().map(|layered| layered.folder.clone()));
    let mut writable = Vec::new();
    if purpose == Purpose::Run {
        writable.push(surroundings.work.clone());
    }
    writable.extend(
        surroundings
            .private
            .iter()
            .map(|folder| folder.path().to_owned()),
    );
    Ok(Fence {
        abi: fence::find_version()?,
        unix_sockets: spec.unix_sockets,
        readable,
        writable,
    })
}

/// As in namespaces, but the processes that the caller's user has already count too where the
/// command runs as that user.
fn resource_limits(spec: &Spec, is_root: bool) -> Vec<(Resource, Rlimit)> {
    let mut limits = spec.limits.clone();
    if !is_root {
        let others = u32::try_from(tasks_of_own_user()).unwrap_or(u32::MAX);
        limits.processes = limits.processes.saturating_add(others);
    }
    plan::resource_limits(&limits, is_root)
}

fn tasks_of_own_user() -> usize {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    watch::process_ids()
        .into_iter()
        .map(|pid| format!("/proc/{pid}/task"))
        .filter(|path| fs::metadata(path).is_ok_and(|found| found.uid() == own))
        .map(|path| fs::read_dir(path).map_or(0, Iterator::count))
        .sum()
}

/// The process between caller and command.
fn supervise(plan: &HostPlan, wires: &Wires) -> i32 {
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
