//! A command in the host's own view of files and processes: with Landlock, seccomp and resource
//! limits where namespaces are refused, or with nothing at all. Only for those who ask by name.
//!
//! One process is between: it adopts whatever the command leaves behind (a child subreaper)
//! and ends it all, when the command ends, when the caller says so, and when the caller is gone.
//! A layered folder is a copy under another path, since nothing can be mounted.

mod supervisor;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::{Resource, Rlimit};

use self::supervisor::supervise;
use super::command::CommandPlan;
use super::fence::{self, Fence, FencedNetwork};
use super::launch::{self, Launch};
use super::layered::{LayeredFolder, Stored};
use super::metadata::MetadataKeeper;
use super::mounts;
use super::observer::Assignment;
use super::plan::{self, Purpose};
use super::seccomp::{self, FilterOptions, SharedView};
use super::seen::CopiedFolder;
use super::storage::Storage;
use super::terminal::{self, Shape, Sides};
use super::usage::Bounds;
use super::watch::Watched;
use super::watched_calls::{self, Network};
use super::{at, ownership, put_together, readable, system};
use crate::error::{Layer, Missing, SandboxError};
use crate::level::Isolation;
use crate::loopback::Loopback;
use crate::observation::{Gap, Observe};
use crate::outcome::{Ending, Enforcement, Enforcer, Recorded};
use crate::spec::{INSIDE_HOME, INSIDE_TMP, Spec};

/// Small files of the system that programs look at everywhere.
const SYSTEM_FILES: [&str; 8] = [
    "/etc/alternatives",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
];

/// Everything the two processes need, made before the first fork.
struct HostPlan {
    command: CommandPlan,
    drop_to: Option<(u32, u32)>,
    /// None without isolation, where only time and output are bounded.
    watched: Option<Watched>,
    /// The folder whose size is watched.
    folder: PathBuf,
    /// The private folder for temporary files, and how much it may hold.
    tmp: Option<(PathBuf, Bounds)>,
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
    let terminal = spec
        .terminal
        .as_ref()
        .map(|it| terminal::open(&Shape::of(it)));
    let terminal = terminal.transpose().map_err(at("open a terminal"))?;
    let plan = make_plan(
        spec,
        level,
        drop_to,
        purpose,
        (&surroundings, terminal.as_ref()),
    )?;
    let keeps_metadata = level == Isolation::Landlock && purpose == Purpose::Run;
    let bounds = match &spec.observe {
        None if keeps_metadata => Some(Observe::default()),
        bounds => bounds.clone(),
    };
    let observation = bounds.map(|bounds| {
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
            layered: None,
            looks_below: moved.as_ref().map(|moved| moved.copy.clone()),
            moved,
            // Others may move it there.
            starts_in: None,
            has_own_network: false,
            only_port: match level {
                Isolation::None => None,
                Isolation::Landlock | Isolation::Full => spec.loopback.as_ref().map(Loopback::port),
            },
            on_file: spec.on_file.clone(),
            metadata: keeps_metadata
                .then(|| MetadataKeeper::new(&writable(&surroundings), drop_to)),
        };
        (assignment, gaps)
    });
    let launch = Launch {
        spec,
        began,
        drop_to,
        group: None,
        group_events: None,
        terminal,
        work: None,
        observation,
    };
    let mut ended = launch.go(|wires| supervise(&plan, &wires))?;
    if spec.observe.is_none() {
        ended.observation = None;
    }
    let mut ending = launch::judge(spec, ended.limit, &ended.records)?;
    let program = plan.command.executed(&ended.records);
    let program = program.map(|place| match surroundings.moved(spec) {
        Some(moved) => moved.to_real(&place),
        None => place,
    });
    let mut layer = None;
    let is_stopped = matches!(ending, Ending::Stopped(_));
    if let Some(folder) = surroundings.layered
        && (!is_stopped || spec.ordinary.is_some())
    {
        let bounds = is_stopped.then_some(Bounds::NONE);
        match folder.collect(None, surroundings.work, bounds)? {
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
    Ok(put_together(ended, ending, layer, enforcement, program))
}

impl Surroundings {
    /// The copy and what it stands for.
    fn moved(&self, spec: &Spec) -> Option<CopiedFolder> {
        let layered = spec.layered.as_ref()?;
        let folder = self.layered.as_ref()?;
        Some(CopiedFolder {
            copy: folder.copy_path()?.to_owned(),
            real: layered.inside.clone(),
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "the store is private")]
fn prepare(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
) -> Result<Surroundings, SandboxError> {
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
    if let Some((_, gid)) = drop_to {
        // The command's user must get through to the copy, and nobody else.
        std::os::unix::fs::chown(&layered.store, None, Some(gid))
            .and_then(|()| fs::set_permissions(&layered.store, fs::Permissions::from_mode(0o710)))
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
    (surroundings, terminal): (&Surroundings, Option<&Sides>),
) -> Result<HostPlan, SandboxError> {
    let environment = environment(spec, surroundings);
    let current_dir = match purpose {
        Purpose::Probe => PathBuf::from("/"),
        Purpose::Run => on_host(spec, surroundings, &spec.current_dir),
    };
    let mut command = plan::plan_command(spec, &environment, &current_dir, purpose)?;
    if let Some(ordinary) = &spec.ordinary {
        command.umask = ordinary.umask;
    }
    let mut watched = None;
    if level == Isolation::Landlock {
        command.resource_limits = match &spec.ordinary {
            Some(_) => plan::own_resource_limits(&spec.limits, drop_to),
            None => resource_limits(spec, drop_to.is_some()),
        };
        let mut fence = make_fence(spec, surroundings, purpose)?;
        let name = terminal.map(terminal::name_of).transpose();
        fence.terminals.extend(name.map_err(at("name a terminal"))?);
        let abi = fence.abi;
        command.fence = Some(fence);
        let own = spec.view.places.iter().filter(|place| place.is_own);
        let own = own.flat_map(|place| &place.sources);
        let mut shown = own.chain(spec.mounts.iter().map(|it| &it.host));
        command.may_search = drop_to.is_some() && shown.any(|path| is_closed(path));
        command.filters = Some(seccomp::compile_filters(FilterOptions {
            unix_sockets: spec.unix_sockets,
            tcp_sockets: spec.has_loopback(),
            nameless_files: false,
            is_ordinary: false,
            is_observed: spec.observe.is_some(),
            shared_view: Some(SharedView {
                truncate: fence::holds_truncation(abi),
            }),
        })?);
        let bounds = match &surroundings.layered {
            Some(folder) => folder.bounds,
            None => Bounds::of(&spec.limits),
        };
        watched = (purpose == Purpose::Run).then_some(Watched {
            limits: spec.limits.clone(),
            bounds,
            storage: Storage::Disk,
            socket_bytes: plan::socket_bytes(),
            is_ordinary: spec.ordinary.is_some(),
            has_own_network: false,
        });
    }
    command.watched_calls = spec.observe.as_ref().map(|_| {
        let network = match level {
            Isolation::None => Network::Connections,
            Isolation::Landlock | Isolation::Full => Network::Sockets {
                but_unix: spec.unix_sockets,
                but_tcp: spec.has_loopback(),
            },
        };
        watched_calls::program(network, spec.layered.is_some())
    });
    if level == Isolation::Landlock {
        let watched = command.watched_calls.take();
        command.watched_calls = Some(watched_calls::with_metadata(watched));
    }
    Ok(HostPlan {
        command,
        drop_to,
        watched,
        folder: surroundings.work.clone(),
        tmp: surroundings.private.as_ref().map(|private| {
            let bounds = match &spec.ordinary {
                Some(_) => Bounds::NONE,
                None => mounts::tmp_bounds(&spec.limits),
            };
            (private.path().to_owned(), bounds)
        }),
    })
}

/// The environment, with folders that exist only inside replaced.
fn environment(spec: &Spec, surroundings: &Surroundings) -> BTreeMap<String, OsString> {
    let (home, tmp) = match &surroundings.private {
        Some(private) => (private.path().join("home"), private.path().to_owned()),
        None => (surroundings.work.clone(), surroundings.work.clone()),
    };
    let mut given = spec.environment();
    if spec.ordinary.is_some() {
        // Its own temporary folder, as in a sandbox where it has the usual name.
        given.insert("TMPDIR".to_owned(), INSIDE_TMP.to_owned());
    }
    given
        .into_iter()
        .map(|(name, value)| {
            let value = match (name.as_str(), value.as_str()) {
                ("HOME", INSIDE_HOME) => home.clone().into_os_string(),
                ("TMPDIR", INSIDE_TMP) => tmp.clone().into_os_string(),
                // Programs of the folder are those of its copy.
                ("PATH", path) if spec.layered.is_some() => {
                    let entries = std::env::split_paths(path);
                    let entries = entries.map(|entry| on_host(spec, surroundings, &entry));
                    std::env::join_paths(entries).unwrap_or_else(|_| OsString::from(path))
                }
                (name, path) if spec.path_variables.contains(name) => {
                    on_host(spec, surroundings, Path::new(path)).into_os_string()
                }
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

/// The folders that the command may write to.
fn writable(surroundings: &Surroundings) -> Vec<PathBuf> {
    let private = surroundings.private.iter().map(Stored::path);
    let work = std::iter::once(surroundings.work.as_path());
    work.chain(private).map(Path::to_owned).collect()
}

fn make_fence(
    spec: &Spec,
    surroundings: &Surroundings,
    purpose: Purpose,
) -> Result<Fence, SandboxError> {
    let mut readable = readable::list(&spec.view);
    if spec.view.has_own_etc {
        let files = SYSTEM_FILES.iter().map(PathBuf::from);
        readable.extend(files.filter(|place| place.exists()));
    }
    readable.push("/proc".into());
    readable.extend(spec.mounts.iter().map(|mount| mount.host.clone()));
    readable.extend(spec.layered.iter().map(|layered| layered.folder.clone()));
    let mut writable = writable(surroundings);
    if purpose == Purpose::Probe {
        writable.retain(|folder| *folder != surroundings.work);
    }
    let abi = fence::find_version()?;
    if spec.has_loopback() && !fence::holds_ports(abi) {
        // Without namespaces nothing else keeps the command from the whole network.
        return Err(SandboxError::Missing(Missing {
            layer: Layer::Landlock,
            reason: "this kernel's version of it does not restrict ports".to_owned(),
        }));
    }
    Ok(Fence {
        abi,
        unix_sockets: spec.unix_sockets,
        network: match &spec.loopback {
            Some(loopback) => FencedNetwork::Port(loopback.port()),
            None => FencedNetwork::None,
        },
        readable,
        writable,
        terminals: vec![fence::OWN_TERMINAL.into()],
        devices: spec.devices.clone(),
    })
}

/// Whether only its owner gets through to a path: a folder on the way is closed to others.
fn is_closed(path: &Path) -> bool {
    let is_closed = |folder: &Path| {
        let found = fs::metadata(folder);
        found.is_ok_and(|it| it.is_dir() && it.permissions().mode() & 0o001 == 0)
    };
    path.ancestors().any(is_closed)
}

/// As in namespaces, but the processes that the caller's user has already count too where the
/// command runs as that user.
fn resource_limits(spec: &Spec, is_root: bool) -> Vec<(Resource, Rlimit)> {
    let mut limits = spec.limits.clone();
    if !is_root {
        let own = rustix::process::geteuid().as_raw();
        let others = u32::try_from(plan::count_tasks(own)).unwrap_or(u32::MAX);
        limits.processes = limits.processes.saturating_add(others);
    }
    plan::resource_limits(&limits, is_root)
}
