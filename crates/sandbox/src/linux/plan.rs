//! What the processes of a run need to know, worked out before the first of them is forked.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Resource, Rlimit};

use super::seccomp::FilterOptions;
use super::stage::Plan;
use super::storage::Storage;
use super::sys::StringList;
use super::watch::Watched;
use super::{fence, mounts, seccomp};
use crate::error::{SandboxError, SpecError};
use crate::spec::{Limits, Spec};

/// What the layers are put up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To see whether they can be: nothing is executed.
    Probe,
    /// To run a command.
    Run,
}

/// Prepares all that the processes of a run need.
pub(super) fn make_plan(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
) -> Result<Plan, SandboxError> {
    let storage = Storage::choose(&spec.limits);
    let environment = spec.environment();
    let path = environment
        .get("PATH")
        .map(String::as_str)
        .unwrap_or_default();
    let programs = match purpose {
        Purpose::Probe => Vec::new(),
        Purpose::Run => candidates(spec, path)?,
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
        mounts: mounts::plan_mounts(spec, drop_to, storage)?,
        watched: Watched {
            limits: spec.limits.clone(),
            storage,
            socket_bytes: socket_bytes(),
        },
        resource_limits: resource_limits(&spec.limits, drop_to.is_some()),
        landlock: fence::find_version()?,
        unix_sockets: spec.unix_sockets,
        filters: seccomp::compile_filters(FilterOptions {
            unix_sockets: spec.unix_sockets,
            nameless_files: storage == Storage::Memory,
        })?,
    })
}

/// What one socket can hold: the buffer that the kernel gives it, and the message that may still
/// be added when there is hardly any room.
fn socket_bytes() -> u64 {
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
