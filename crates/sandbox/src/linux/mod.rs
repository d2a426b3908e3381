//! The sandbox on Linux, seen from the caller's side: plan, fork, read, wait.
//!
//! All that can be prepared is prepared before the first fork ([`plan`]); [`stage`] has the
//! processes of a run in namespaces, [`host`] those of a run without; [`launch`] starts and
//! follows either; [`work`] and [`layered`] bring back what the command left. Why not an existing
//! sandbox crate: none of those kept lets a seccomp filter
//! and a current Landlock version be installed without a C library or a helper program, bounds
//! captured output, and stops a command after milliseconds (see docs/sandbox.md).

mod cgroup;
mod changes;
mod command;
mod fence;
mod foreign;
mod handover;
mod host;
mod interrupts;
mod launch;
mod layered;
mod left_running;
mod looks;
mod loopback;
mod metadata;
mod mounts;
mod moved_folders;
mod notify;
mod observer;
mod opening;
mod other_names;
mod overlays;
mod ownership;
mod plan;
mod processes;
mod readable;
mod report;
mod resolve;
mod screen;
mod seccomp;
mod seen;
mod stage;
mod storage;
mod sys;
mod terminal;
mod top_layer;
mod transfer;
mod usage;
mod view_plan;
mod watch;
mod watched_calls;
mod work;
mod written;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use crate::Capabilities;
use crate::error::{Layer, Missing, SandboxError, SpecError};
use crate::layer::FolderLayer;
use crate::level::Isolation;
use crate::observation::Gap;
use crate::outcome::{Ending, Enforcement, Enforcer, Limit, Outcome, Recorded};
use crate::spec::Spec;
use cgroup::Group;
pub(crate) use interrupts::{catch_interrupts, caught_interrupt, count_interrupts};
use launch::{Launch, RunEnd};
pub(crate) use layered::Stored;
use layered::{LayeredFolder, Thrown};
use mounts::Outside;
use observer::Assignment;
use plan::Purpose;
use report::Record;
pub(crate) use screen::{Screen, Typed};
use storage::Storage;
use view_plan::Seeing;
use work::WorkFolder;

/// How long putting up empty layers may take. Far more than any machine needs, however loaded:
/// reaching it means that the system hangs, not that a layer is missing.
const PROBE_TIME: Duration = Duration::from_secs(300);

/// What can be found out without starting a process.
pub(crate) fn find_capabilities(level: Isolation) -> Result<Capabilities, Missing> {
    let landlock = fence::find_version()?;
    let drop_to = ownership::find_unprivileged_ids(level)?;
    Ok(Capabilities {
        landlock_abi: u32::try_from(landlock as i32).unwrap_or(0),
        drops_root: drop_to.is_some(),
    })
}

/// Puts every layer up for a command that does nothing, over an empty work folder of its own.
pub(crate) fn probe(level: Isolation) -> Result<Capabilities, Missing> {
    let capabilities = find_capabilities(level)?;
    let drop_to = ownership::find_unprivileged_ids(level)?;
    // The folder is never looked at: a probe's work folder is in memory and starts empty.
    let mut spec = Spec::new(["/"], "/");
    spec.limits.wall_time = PROBE_TIME;
    let result = match level {
        Isolation::Full => in_namespaces(&spec, drop_to, Purpose::Probe, None, Seeing::Overlays),
        Isolation::Landlock | Isolation::None => host::run(&spec, level, drop_to, Purpose::Probe),
    };
    match result.map(|recorded| recorded.outcome.ending) {
        Ok(Ending::Exited(0)) => Ok(capabilities),
        Ok(ending) => Err(Missing {
            layer: Layer::Process,
            reason: format!("an empty command ended as {ending:?}"),
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
        return host::run(spec, Isolation::None, None, Purpose::Run);
    };
    if let Some(loopback) = &spec.loopback
        && loopback.is_inside() != (level == Isolation::Full)
    {
        return Err(SpecError::Loopback.into());
    }
    let drop_to = ownership::find_unprivileged_ids(level)?;
    if drop_to.is_some() != capabilities.drops_root {
        return Err(SandboxError::System {
            what: "run as another user than the one that was probed",
            source: io::Error::from(io::ErrorKind::PermissionDenied),
        });
    }
    if level == Isolation::Landlock {
        return host::run(spec, level, drop_to, Purpose::Run);
    }
    match with_view(spec, drop_to, Seeing::Overlays) {
        // There can be no overlays here; the command has not run.
        Err(SandboxError::Missing(Missing {
            layer: Layer::View,
            reason,
        })) => {
            let mut recorded = with_view(spec, drop_to, Seeing::Binds)?;
            if let Some(observation) = &mut recorded.observation {
                observation.gaps.push(Gap::NoOverlay { reason });
                observation.gaps.sort();
            }
            Ok(recorded)
        }
        other => other,
    }
}

fn with_view(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    seeing: Seeing,
) -> Result<Recorded, SandboxError> {
    let Some(layered) = &spec.layered else {
        return in_namespaces(spec, drop_to, Purpose::Run, None, seeing);
    };
    if drop_to.is_none() && foreign::is_in(&layered.folder) {
        let folder = LayeredFolder::with_copy(layered, &spec.limits, drop_to)?;
        return in_namespaces(spec, drop_to, Purpose::Run, Some(folder), seeing);
    }
    let folder =
        LayeredFolder::with_layer(layered, &spec.limits, drop_to, spec.ordinary.is_some())?;
    match in_namespaces(spec, drop_to, Purpose::Run, Some(folder), seeing) {
        // There can be no layer here; the command has not run.
        Err(SandboxError::Missing(Missing {
            layer: Layer::LayeredFolder,
            ..
        })) => {
            let folder = LayeredFolder::with_copy(layered, &spec.limits, drop_to)?;
            in_namespaces(spec, drop_to, Purpose::Run, Some(folder), seeing)
        }
        other => other,
    }
}

fn in_namespaces(
    spec: &Spec,
    drop_to: Option<(u32, u32)>,
    purpose: Purpose,
    folder: Option<LayeredFolder>,
    seeing: Seeing,
) -> Result<Recorded, SandboxError> {
    let began = Instant::now();
    let is_ordinary = |_: &&crate::spec::Layered| spec.ordinary.is_some();
    let store = spec.layered.as_ref().filter(is_ordinary);
    let store = store.map(|layered| Thrown::new(&layered.store, drop_to));
    let outside = Outside {
        seeing,
        store: store.as_ref(),
    };
    let plan = plan::make_plan(spec, drop_to, purpose, folder.as_ref(), &outside)?;
    let layered_places = plan.mounts.layered_places();
    let storage = plan.watched.storage;
    let work = match &folder {
        None => WorkFolder::prepare(spec, drop_to, storage, purpose)?,
        Some(folder) => WorkFolder::of_layer(folder, !layered_places.is_empty()),
    };
    let folders = mounts::memory_bytes(&spec.limits, storage, spec.ordinary.is_some());
    let most = folders.saturating_add(spec.limits.memory_bytes);
    let (group, entrance) = match purpose {
        Purpose::Probe => None,
        // Without a bound there is nothing to keep.
        Purpose::Run if spec.limits.memory_bytes == u64::MAX => None,
        Purpose::Run => Group::make(most),
    }
    .unzip();
    let (work, work_wires) = work.split()?;
    let observation = spec.observe.clone().map(|bounds| {
        let assignment = Assignment {
            bounds,
            is_apart: true,
            looks_below: spec.layered.as_ref().map(|layered| layered.inside.clone()),
            layered: spec.layered.clone(),
            moved: None,
            starts_in: starting_folder(spec),
            has_own_network: spec.ordinary.is_some(),
            only_port: spec.loopback.as_ref().map(crate::loopback::Loopback::port),
            on_file: spec.on_file.clone(),
            metadata: None,
        };
        let gaps = folder.as_ref().map(LayeredFolder::gaps);
        (assignment, gaps.unwrap_or_default())
    });
    let launch = Launch {
        spec,
        began,
        drop_to,
        group: entrance,
        group_events: group.as_ref().and_then(Group::open_events),
        terminal: None,
        work: work_wires,
        observation,
    };
    let ended = launch.go(|wires| stage::supervise(&plan, wires))?;
    // Whoever was ended for want of memory may have been the one that reports.
    let is_out_of_memory = group.as_ref().is_some_and(Group::has_killed);
    // What came of that, such as waiting without end, is not what stopped it.
    let limit = match is_out_of_memory {
        true => Some(Limit::Memory),
        false => ended.limit,
    };
    let mut ending = launch::judge(spec, limit, &ended.records)?;
    let mut layer = None;
    let mut written = Vec::new();
    let is_stopped = matches!(ending, Ending::Stopped(_));
    // What an ordinary command had written when it was stopped is there for whoever wants it.
    if !is_stopped || spec.ordinary.is_some() {
        let collected = match (folder, &spec.layered) {
            (Some(folder), Some(layered)) => {
                let bounds = is_stopped.then_some(usage::Bounds::NONE);
                let found = folder.collect(work.socket(), layered.inside.clone(), bounds)?;
                found.map(Some)
            }
            _ => work.collect(&spec.limits)?.map_or(Ok(None), Err),
        };
        match collected {
            Ok(found) => layer = found,
            Err(limit) => ending = Ending::Stopped(limit),
        }
        for place in &layered_places {
            let upper = work.socket().map(handover::take).transpose();
            if let Some(upper) = upper.map_err(at("take a layer over"))?.flatten() {
                written::list(&upper, place, &mut written).map_err(at("look at a layer"))?;
            }
        }
        written.sort();
    }
    let program = plan.command.executed(&ended.records);
    let is_in_group = ended.records.contains(&Record::InGroup);
    let enforcement = Enforcement {
        memory: Enforcer::kernel_if(is_in_group),
        work_folder: Enforcer::kernel_if(storage == Storage::Memory),
    };
    let mut recorded = put_together(ended, ending, layer, enforcement, program);
    recorded.written = written;
    let of_group = group.as_ref().filter(|_| is_in_group);
    recorded.memory_bytes = of_group.and_then(Group::peak).or(recorded.memory_bytes);
    Ok(recorded)
}

/// The folder that a command starts in, where it is a mount: nobody can move or remove it then.
fn starting_folder(spec: &Spec) -> Option<PathBuf> {
    let layered = spec.layered.as_ref().map(|layered| &layered.inside);
    let mounted = spec.mounts.iter().map(|mount| &mount.inside);
    let mut places = layered.into_iter().chain(mounted);
    places.find(|place| **place == spec.current_dir).cloned()
}

fn put_together(
    ended: RunEnd,
    ending: Ending,
    layer: Option<FolderLayer>,
    enforcement: Enforcement,
    program: Option<PathBuf>,
) -> Recorded {
    let peaks = ended.records.iter().filter_map(|record| match record {
        Record::PeakMemory(kib) => u64::try_from(*kib).ok(),
        _ => None,
    });
    let memory_bytes = peaks.max().map(|kib| kib << 10);
    Recorded {
        outcome: Outcome {
            ending,
            stdout: ended.streams.stdout,
            stderr: ended.streams.stderr,
            duration: ended.duration,
            enforcement,
            input: ended.streams.input,
            terminal: ended.streams.terminal,
            interrupted: ended.streams.interrupted,
        },
        layer,
        written: Vec::new(),
        observation: ended.observation,
        program,
        memory_bytes,
    }
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
