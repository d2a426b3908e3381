//! What the processes of a run need to know, worked out before the first of them is forked.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit};

use super::command::CommandPlan;
use super::fence::{Fence, FencedNetwork};
use super::layered::LayeredFolder;
use super::mounts::Outside;
use super::seccomp::FilterOptions;
use super::stage::{Inside, Plan};
use super::storage::Storage;
use super::sys::StringList;
use super::usage::Bounds;
use super::view_plan::Seeing;
use super::watch::Watched;
use super::watched_calls::Network;
use super::{fence, mounts, seccomp, watched_calls};
use crate::error::{SandboxError, SpecError};
use crate::limits::Limits;
use crate::spec::{INSIDE_TMP, INSIDE_WORK, Spec};

/// What the layers are put up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To see whether they can be: nothing is executed.
    Probe,
    /// To run a command.
    Run,
}

/// Prepares all that the processes of a run in namespaces need. `folder` is the layered one.
pub(super) fn make_plan(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
    folder: Option<&LayeredFolder>,
    outside: &Outside<'_>,
) -> Result<Plan, SandboxError> {
    let showing = folder.map(|folder| &folder.showing);
    let storage = match showing {
        Some(showing) => mounts::storage_of(showing),
        None => Storage::choose(&spec.limits),
    };
    let mounts = mounts::plan_mounts(spec, drop_to, storage, showing, outside)?;
    let work = match &spec.layered {
        Some(layered) => layered.inside.clone(),
        None => PathBuf::from(INSIDE_WORK),
    };
    // Through an overlay sockets are the command's own; without, they may be the host's.
    let unix_sockets = match &spec.ordinary {
        Some(_) => outside.seeing == Seeing::Overlays,
        None => spec.unix_sockets,
    };
    let mut writable = vec![work, INSIDE_TMP.into(), "/dev/shm".into()];
    if spec.ordinary.is_some() {
        writable.push("/var/tmp".into());
        writable.extend(mounts.layered_places());
    }
    let fence = Fence {
        abi: fence::find_version()?,
        unix_sockets,
        network: match (&spec.ordinary, &spec.loopback) {
            (Some(_), _) => FencedNetwork::Own,
            (None, Some(loopback)) => FencedNetwork::Port(loopback.port()),
            (None, None) => FencedNetwork::None,
        },
        readable: vec![PathBuf::from("/")],
        writable,
        terminals: vec![fence::OWN_TERMINAL.into(), fence::TERMINALS.into()],
        devices: spec.devices.clone(),
    };
    let environment = spec
        .environment()
        .into_iter()
        .map(|(name, value)| (name, OsString::from(value)))
        .collect();
    let mut command = plan_command(spec, &environment, &spec.current_dir, purpose)?;
    if let Some(ordinary) = &spec.ordinary {
        command.umask = ordinary.umask;
        command.resource_limits = own_resource_limits(&spec.limits, drop_to);
    } else {
        command.resource_limits = resource_limits(&spec.limits, drop_to.is_some());
    }
    command.fence = Some(fence);
    command.filters = Some(seccomp::compile_filters(FilterOptions {
        unix_sockets,
        tcp_sockets: spec.has_loopback(),
        nameless_files: storage == Storage::Memory || spec.ordinary.is_some(),
        is_ordinary: spec.ordinary.is_some(),
        is_observed: spec.observe.is_some(),
        shared_view: None,
    })?);
    command.watched_calls = spec.observe.as_ref().map(|_| {
        let network = match &spec.ordinary {
            Some(_) => Network::Beyond,
            None => Network::Sockets {
                but_unix: spec.unix_sockets,
                but_tcp: spec.has_loopback(),
            },
        };
        watched_calls::program(network, spec.layered.is_some())
    });
    let bounds = folder.map_or_else(|| Bounds::of(&spec.limits), |folder| folder.bounds);
    Ok(Plan {
        drop_to,
        own_ids: (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        ),
        inside: Inside::of(spec),
        command,
        mounts,
        watched: Watched {
            limits: spec.limits.clone(),
            bounds,
            storage,
            socket_bytes: socket_bytes(),
            is_ordinary: spec.ordinary.is_some(),
            has_own_network: true,
        },
    })
}

/// What becomes the program, with nothing to hold it back yet.
pub(super) fn plan_command(
    spec: &Spec,
    environment: &BTreeMap<String, OsString>,
    current_dir: &Path,
    purpose: Purpose,
) -> Result<CommandPlan, SandboxError> {
    let path = environment.get("PATH").cloned().unwrap_or_default();
    let programs = match purpose {
        Purpose::Probe => Vec::new(),
        Purpose::Run => candidates(spec, &path)?,
    };
    let arguments: Result<Vec<CString>, SpecError> =
        spec.command.iter().map(|part| c_string(part)).collect();
    let variables: Result<Vec<CString>, SpecError> = environment
        .iter()
        .map(|(name, value)| {
            let mut variable = OsString::from(name);
            variable.push("=");
            variable.push(value);
            c_string(&variable)
        })
        .collect();
    Ok(CommandPlan {
        programs,
        arguments: StringList::new(arguments?),
        environment: StringList::new(variables?),
        current_dir: c_string(current_dir.as_os_str())?,
        resource_limits: Vec::new(),
        fence: None,
        filters: None,
        watched_calls: None,
        may_search: false,
        umask: 0o022,
    })
}

/// What one socket can hold: the buffer that the kernel gives it, and the message that may still
/// be added when there is hardly any room.
pub(super) fn socket_bytes() -> u64 {
    const USUAL: u64 = 212_992;
    const ONE_MESSAGE: u64 = 1 << 16;
    std::fs::read_to_string("/proc/sys/net/core/wmem_default")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(USUAL)
        .saturating_add(ONE_MESSAGE)
}

/// Where the program may be, as a shell would look: by path when it has a slash, else in each
/// folder of the inside PATH.
fn candidates(spec: &Spec, path: &OsStr) -> Result<Vec<CString>, SpecError> {
    let Some(program) = spec.command.first() else {
        return Err(SpecError::EmptyCommand);
    };
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(program)?]);
    }
    path.as_bytes()
        .split(|byte| *byte == b':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| {
            c_string(
                Path::new(OsStr::from_bytes(folder))
                    .join(program)
                    .as_os_str(),
            )
        })
        .collect()
}

fn c_string(text: &OsStr) -> Result<CString, SpecError> {
    CString::new(text.as_bytes()).map_err(|_| SpecError::Nul {
        what: "the command",
    })
}

/// The stack that a program finds as its limit, which it may raise itself: what Linux gives by default.
const STACK_BYTES: u64 = 8 << 20;

/// What a command finds as in its user's shell; only that no core is dumped into its folder, and that it cannot have
/// far more processes than it may have: those are counted, and a command that makes them faster than anybody
/// can count would leave nobody the time to.
pub(super) fn own_resource_limits(
    limits: &Limits,
    drop_to: Option<(u32, u32)>,
) -> Vec<(Resource, Rlimit)> {
    /// So many that reaching them takes more than a moment in which nobody looks.
    const AT_LEAST: u64 = 8192;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let mut own = vec![(Resource::Core, none)];
    if limits.processes != u32::MAX {
        let user = match drop_to {
            Some((uid, _)) => uid,
            None => rustix::process::geteuid().as_raw(),
        };
        let most = u64::from(limits.processes).saturating_mul(2).max(AT_LEAST);
        let most = most.saturating_add(count_tasks(user));
        own.push(lowered(Resource::Nproc, most));
    }
    own
}

/// The processes and threads that a user has on this machine.
pub(super) fn count_tasks(user: u32) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let of_user = super::watch::process_ids()
        .into_iter()
        .map(|pid| format!("/proc/{pid}/task"))
        .filter(|path| std::fs::metadata(path).is_ok_and(|found| found.uid() == user));
    let threads = of_user.map(|path| std::fs::read_dir(path).map_or(0, Iterator::count));
    u64::try_from(threads.sum::<usize>()).unwrap_or(u64::MAX)
}

/// A limit of the kernel's, never raised beyond what the caller may raise it to.
fn lowered(resource: Resource, most: u64) -> (Resource, Rlimit) {
    let most = rustix::process::getrlimit(resource)
        .maximum
        .map_or(most, |max| max.min(most));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    (resource, limit)
}

/// Limits that the kernel keeps for each process. None is ever raised beyond what the caller may
/// raise it to.
pub(super) fn resource_limits(limits: &Limits, is_root: bool) -> Vec<(Resource, Rlimit)> {
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
    // Programs can see it, and it is the caller's otherwise. Compilers raise it for themselves.
    let most = rustix::process::getrlimit(Resource::Stack).maximum;
    let stack = Rlimit {
        current: Some(most.map_or(STACK_BYTES, |most| most.min(STACK_BYTES))),
        maximum: most,
    };
    let wanted = wanted
        .into_iter()
        .map(|(resource, most)| lowered(resource, most));
    wanted.chain([(Resource::Stack, stack)]).collect()
}
