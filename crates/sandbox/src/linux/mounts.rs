//! The file system a command sees, built from nothing: an empty root in memory, what its view shows, a private
//! /proc, devices, private temporary folders, and the folder that it works in.
//!
//! Sources are cloned as detached mounts before anything is covered, and put in place by
//! descriptor, so no path of the host is looked up twice. The plan is made before the first
//! fork; [`build`] runs as process 1 of the new namespaces.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};

use super::fence::{DEVICES, OWN_TERMINAL, TERMINALS};
use super::overlays::{self, Scratch};
use super::report::{At, Failure};
use super::storage::{self, Storage};
use super::sys;
use super::usage::Bounds;
use super::view_plan::{
    Bind, KernelFiles, Planner, Seeing, Step, Steps, Upper, UpperStorage, check_without_links,
};
use super::watch::Elsewhere;
use crate::error::{Layer, SandboxError};
use crate::limits::Limits;
use crate::spec::{INSIDE_HOME, INSIDE_TMP, INSIDE_WORK, Spec};

/// Files of our own making, the same on every machine.
const FILES: [(&str, &str); 4] = [
    ("/etc/group", "sandbox:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
    (
        "/etc/passwd",
        "sandbox:x:1000:1000:sandbox:/tmp/home:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
];

/// What an /etc of our own takes from the host: programs of /usr do not start without.
const OWN_ETC: [&str; 2] = ["/etc/alternatives", "/etc/ld.so.cache"];

/// What an ordinary command sees of the kernel's /sys.
const KERNEL_FOLDERS: [&str; 2] = ["/sys/devices/system", "/sys/kernel/mm/transparent_hugepage"];
/// What it says besides where a command may use a device: its driver library finds out there what the device is.
const DEVICE_FOLDERS: [&str; 6] = [
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/module",
];

pub(super) const READ_ONLY: u64 =
    libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
pub(super) const WRITABLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const DEVICE: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// How the layered folder is to be shown.
#[derive(Debug, Clone)]
pub(super) enum Showing {
    /// With a layer in memory over it.
    MemoryLayer,
    /// With a layer over it that lies in this folder of the caller's.
    DiskLayer(PathBuf),
    /// As this copy of it.
    Copy(PathBuf),
}

/// What a layered folder's changes live in.
pub(super) fn storage_of(showing: &Showing) -> Storage {
    match showing {
        Showing::MemoryLayer => Storage::Memory,
        Showing::DiskLayer(_) | Showing::Copy(_) => Storage::Disk,
    }
}

/// How the command sees what is outside of the folder that it works in.
pub(super) struct Outside<'a> {
    pub(super) seeing: Seeing,
    /// The folder of the caller's for what an ordinary command writes elsewhere.
    pub(super) store: Option<&'a super::layered::Thrown>,
}

/// Everything [`build`] needs, made ahead.
pub(super) struct MountPlan {
    pub(super) steps: Steps,
    /// Owner of the private folders, where we are root.
    owner: Option<(u32, u32)>,
    /// Where the folder that the command works in appears, unless that is a layered one.
    work: Option<PathBuf>,
    /// Whether the command gets all of /proc where that is allowed.
    has_whole_proc: bool,
}

/// Looks at the host and decides what goes where.
pub(super) fn plan_mounts(
    spec: &Spec,
    owner: Option<(u32, u32)>,
    storage: Storage,
    showing: Option<&Showing>,
    outside: &Outside<'_>,
) -> Result<MountPlan, SandboxError> {
    let mut own = Steps::new();
    add_own(&mut own, spec, outside)?;
    for mount in &spec.mounts {
        let bind = plan_bind(Layer::ExtraMount, &mount.host, READ_ONLY)?;
        own.insert(mount.inside.clone(), Step::Bind(bind));
    }
    match (showing, storage) {
        (Some(_), _) => {}
        (None, Storage::Memory) => {
            let options = work_folder(&spec.limits, owner);
            own.insert(INSIDE_WORK.into(), Step::Memory { options });
        }
        (None, Storage::Disk) => {
            let mut bind = plan_bind(Layer::WorkFolder, &spec.work_folder, WRITABLE)?;
            bind.with_inner = false;
            own.insert(INSIDE_WORK.into(), Step::Bind(bind));
        }
    }
    let recorded = spec.layered.iter().map(|layered| layered.inside.clone());
    let others = own.keys().cloned().chain(recorded);
    let make_upper = || match outside.store {
        Some(store) => store.make_upper(),
        None => Ok(UpperStorage::Memory(layer_size(spec))),
    };
    let planner = Planner::new(&spec.view, outside.seeing, owner, others, &make_upper);
    if let (Some(layered), Some(showing)) = (&spec.layered, showing) {
        let step = plan_layered(spec, layered, owner, showing, &planner)?;
        own.insert(layered.inside.clone(), step);
    }
    let mut steps = planner.plan()?;
    // What the sandbox brings itself always counts.
    steps.extend(own);
    Ok(MountPlan {
        steps,
        owner,
        work: showing.is_none().then(|| INSIDE_WORK.into()),
        has_whole_proc: spec.ordinary.is_some(),
    })
}

/// Options of a layer in memory.
fn layer_size(spec: &Spec) -> Vec<(&'static str, String)> {
    match &spec.ordinary {
        Some(_) => storage::machine_sized(),
        None => storage::tmpfs_size(&spec.limits, storage::FURTHER_LAYER_ENTRIES),
    }
}

fn plan_layered(
    spec: &Spec,
    layered: &crate::spec::Layered,
    owner: Option<(u32, u32)>,
    showing: &Showing,
    planner: &Planner<'_>,
) -> Result<Step, SandboxError> {
    use std::os::unix::fs::MetadataExt;
    let metadata = check_without_links(&layered.folder)?;
    let storage = match showing {
        Showing::MemoryLayer => UpperStorage::Memory(layer_size(spec)),
        Showing::DiskLayer(path) => UpperStorage::Disk(c_string(path.as_os_str())?),
        Showing::Copy(path) => {
            return Ok(Step::Bind(Bind {
                layer: Layer::LayeredFolder,
                host: c_string(path.as_os_str())?,
                is_folder: true,
                attributes: WRITABLE,
                owner: None,
                with_inner: false,
            }));
        }
    };
    let upper = Upper {
        storage,
        mode: metadata.mode() & 0o777,
        user: owner,
        is_recorded: true,
    };
    let mapped = owner.map(|_| (metadata.uid(), metadata.gid()));
    let overlay = planner.recorded(&layered.inside, &layered.folder, mapped, upper)?;
    Ok(Step::Overlay(overlay))
}

/// What every command finds, whatever its view.
fn add_own(own: &mut Steps, spec: &Spec, outside: &Outside<'_>) -> Result<(), SandboxError> {
    for path in DEVICES {
        let bind = plan_bind(Layer::Root, Path::new(path), DEVICE)?;
        own.insert(path.into(), Step::Bind(bind));
    }
    for path in &spec.devices {
        own.insert(
            path.clone(),
            Step::Bind(plan_bind(Layer::Root, path, DEVICE)?),
        );
    }
    for (path, target) in [
        ("/dev/fd", c"/proc/self/fd"),
        ("/dev/stdin", c"/proc/self/fd/0"),
        ("/dev/stdout", c"/proc/self/fd/1"),
        ("/dev/stderr", c"/proc/self/fd/2"),
        ("/dev/ptmx", c"pts/ptmx"),
    ] {
        let target = target.to_owned();
        own.insert(path.into(), Step::Link { target });
    }
    let kernel = |kind| Step::Kernel { kind };
    own.insert("/proc".into(), kernel(KernelFiles::Proc));
    own.insert(TERMINALS.into(), kernel(KernelFiles::Terminals));
    // Whoever has a terminal finds it under this name; it leads to no other.
    if Path::new(OWN_TERMINAL).exists() {
        let bind = plan_bind(Layer::Root, Path::new(OWN_TERMINAL), DEVICE)?;
        own.insert(OWN_TERMINAL.into(), Step::Bind(bind));
    }
    if spec.view.has_own_etc {
        for (path, content) in FILES {
            own.insert(path.into(), Step::File { content });
        }
        for path in OWN_ETC.iter().map(Path::new).filter(|it| it.exists()) {
            let bind = plan_bind(Layer::Root, path, READ_ONLY)?;
            own.insert(path.into(), Step::Bind(bind));
        }
    }
    if spec.ordinary.is_none() {
        for (path, bytes) in [
            ("/dev/shm", shm_bytes(&spec.limits)),
            (INSIDE_TMP, tmp_bytes(&spec.limits)),
        ] {
            let options = shared_folder(bytes);
            own.insert(path.into(), Step::Memory { options });
        }
        return Ok(());
    }
    let options = shared_folder(spec.limits.memory_files());
    own.insert("/dev/shm".into(), Step::Memory { options });
    let shown: &[&str] = match spec.devices.is_empty() {
        true => &KERNEL_FOLDERS,
        false => &DEVICE_FOLDERS,
    };
    for path in shown.iter().map(Path::new).filter(|it| it.is_dir()) {
        let bind = plan_bind(Layer::Root, path, READ_ONLY)?;
        own.insert(path.into(), Step::Bind(bind));
    }
    for inside in ["/tmp", "/var/tmp"] {
        let step = match outside.store {
            Some(store) => {
                let mut bind = plan_bind(Layer::Root, &store.temporary(inside)?, WRITABLE)?;
                bind.with_inner = false;
                Step::Bind(bind)
            }
            None => Step::Memory {
                options: shared_folder(tmp_bytes(&spec.limits)),
            },
        };
        own.insert(inside.into(), step);
    }
    Ok(())
}

/// Size of /tmp. Some room is needed for the home folder in it.
fn tmp_bytes(limits: &Limits) -> u64 {
    limits.tmp_bytes.max(1 << 16)
}

fn shm_bytes(limits: &Limits) -> u64 {
    tmp_bytes(limits).min(64 << 20)
}

/// What all folders in memory may hold together, where that does not count as the command's memory.
pub(super) fn memory_bytes(limits: &Limits, storage: Storage, is_ordinary: bool) -> u64 {
    let layers = storage.memory_bytes(limits);
    match is_ordinary {
        // /dev/shm is what any program takes memory by, and temporary files are on the disk.
        true => layers,
        false => layers
            .saturating_add(tmp_bytes(limits))
            .saturating_add(shm_bytes(limits)),
    }
}

fn shared_folder(bytes: u64) -> Vec<(&'static str, String)> {
    vec![
        ("mode", "1777".to_owned()),
        ("size", bytes.to_string()),
        ("nr_inodes", most_entries(bytes).to_string()),
    ]
}

/// Entries of a private folder of this size: an empty file takes about a kilobyte of the kernel's memory.
fn most_entries(bytes: u64) -> u64 {
    (bytes >> 10).clamp(64, 65_536)
}

/// What a private temporary folder may hold that is watched and not a file system of its own.
pub(super) fn tmp_bounds(limits: &Limits) -> Bounds {
    let bytes = tmp_bytes(limits);
    Bounds {
        entries: most_entries(bytes),
        // Nobody collects what is in it.
        apparent_bytes: u64::MAX,
        disk_bytes: bytes,
    }
}

fn work_folder(limits: &Limits, owner: Option<(u32, u32)>) -> Vec<(&'static str, String)> {
    let mut options = storage::tmpfs_size(limits, storage::FURTHER_ENTRIES);
    // Without root it belongs to the one user there is.
    if let Some((uid, gid)) = owner {
        options.extend([("uid", uid.to_string()), ("gid", gid.to_string())]);
    }
    options
}

fn plan_bind(layer: Layer, host: &Path, attributes: u64) -> Result<Bind, SandboxError> {
    let host = fs::canonicalize(host).map_err(look_error)?;
    let is_folder = fs::metadata(&host).map_err(look_error)?.is_dir();
    if layer == Layer::WorkFolder && !is_folder {
        return Err(look_error(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(Bind {
        layer,
        host: c_string(host.as_os_str())?,
        is_folder,
        attributes,
        owner: None,
        with_inner: true,
    })
}

pub(super) fn look_error(source: io::Error) -> SandboxError {
    SandboxError::System {
        what: "look at a folder that the sandbox is to show",
        source,
    }
}

pub(super) fn c_string(text: &OsStr) -> Result<CString, SandboxError> {
    CString::new(text.as_bytes()).map_err(|error| look_error(io::Error::from(error)))
}

impl MountPlan {
    /// The owners whose files are to look like the command's own, each once.
    pub(super) fn owners(&self) -> Vec<(u32, u32)> {
        let mut owners: Vec<(u32, u32)> = Vec::new();
        for step in self.steps.values() {
            match step {
                Step::Bind(bind) => owners.extend(bind.owner),
                Step::Overlay(overlay) => {
                    owners.extend(overlay.lowers.iter().filter_map(|(_, owner)| *owner));
                }
                _ => {}
            }
        }
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// The layered places of the view, in the order in which [`build`] gives their changes.
    pub(super) fn layered_places(&self) -> Vec<PathBuf> {
        let upper_of = |step: &Step| match step {
            Step::Overlay(overlay) => overlay.upper.as_ref().is_some_and(|it| !it.is_recorded),
            _ => false,
        };
        let layered = self.steps.iter().filter(|(_, step)| upper_of(step));
        layered.map(|(inside, _)| inside.clone()).collect()
    }
}

/// The mappings of owners, for as many as could be made.
pub(super) struct IdMaps(pub(super) Vec<((u32, u32), OwnedFd)>);

impl IdMaps {
    pub(super) fn of(&self, owner: (u32, u32)) -> Option<BorrowedFd<'_>> {
        let found = self.0.iter().find(|(known, _)| *known == owner);
        found.map(|(_, map)| map.as_fd())
    }
}

/// What [`build`] made.
pub(super) struct Built {
    /// The folder whose size is bounded: the work folder, or the layer of a layered one.
    pub(super) folder: OwnedFd,
    /// The upper folders of the view's layered places.
    pub(super) uppers: Vec<OwnedFd>,
    /// Whether only the processes in /proc are shown.
    pub(super) has_partial_proc: bool,
}

/// Builds the file system and enters it. Afterwards nothing of the host can be reached by path.
pub(super) fn build(plan: &MountPlan, maps: &IdMaps) -> Result<Built, Failure> {
    // Nothing done here may travel to the host's mounts.
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .at(Layer::Namespaces)?;

    let (proc, has_partial_proc) = new_proc(plan.has_whole_proc).at(Layer::Proc)?;
    let sources = overlays::take_sources(&plan.steps, maps)?;

    // Attached over folders whose contents are cloned by now; the old tree goes away as a whole.
    let scratch = Scratch::attach().at(Layer::Root)?;
    let options = [("mode", "755".to_owned()), ("size", "16m".to_owned())];
    let root = new_filesystem("tmpfs", &options, memory_flags()).at(Layer::Root)?;
    attach(root.as_fd(), CWD, root_place()).at(Layer::Root)?;

    let mut folder = None;
    let mut uppers = Vec::new();
    let mut closed = Vec::new();
    for ((inside, step), source) in plan.steps.iter().zip(sources) {
        let layer = layer_of(step);
        match step {
            Step::Folder { mode, owner } => {
                make_target(root.as_fd(), inside, true).at(layer)?;
                closed.push((inside, *mode, *owner));
            }
            Step::Link { target } => {
                make_parents(root.as_fd(), inside).at(layer)?;
                match rustix::fs::symlinkat(target, &root, relative(inside)) {
                    // Where something is already, it is what the host has there.
                    Ok(()) | Err(Errno::EXIST | Errno::ROFS) => {}
                    Err(errno) => return Err(Failure(layer, errno)),
                }
            }
            Step::File { content } => {
                write_file(root.as_fd(), inside, content.as_bytes()).at(layer)?;
            }
            Step::Bind(bind) => {
                let [view] = source.views.as_slice() else {
                    return Err(Failure(layer, Errno::INVAL));
                };
                put(root.as_fd(), inside, bind.is_folder, view.as_fd()).at(layer)?;
            }
            Step::Overlay(overlay) => {
                let made = scratch.make_overlay(overlay, &source, plan.owner.is_some());
                let (mount, upper) = made.at(layer)?;
                put(root.as_fd(), inside, true, mount.as_fd()).at(layer)?;
                match (upper, &overlay.upper) {
                    (Some(made), Some(planned)) if planned.is_recorded => folder = Some(made),
                    (Some(made), _) => uppers.push(made),
                    (None, _) => {}
                }
            }
            Step::Memory { options } => {
                let mount = new_filesystem("tmpfs", options, memory_flags()).at(layer)?;
                put(root.as_fd(), inside, true, mount.as_fd()).at(layer)?;
            }
            Step::Empty => {
                let options = [("mode", "755".to_owned()), ("size", "64k".to_owned())];
                let mount = new_filesystem("tmpfs", &options, memory_flags()).at(layer)?;
                put(root.as_fd(), inside, true, mount.as_fd()).at(layer)?;
            }
            Step::Kernel { kind } => {
                let terminals;
                let mount = match kind {
                    KernelFiles::Proc => &proc,
                    KernelFiles::Terminals => {
                        terminals = new_terminals(plan.owner).at(layer)?;
                        &terminals
                    }
                };
                put(root.as_fd(), inside, true, mount.as_fd()).at(layer)?;
            }
        }
    }
    if plan.work.is_some() {
        make_target(root.as_fd(), Path::new(INSIDE_HOME), true).at(Layer::Root)?;
        give(root.as_fd(), Path::new(INSIDE_HOME), plan.owner).at(Layer::Root)?;
    }
    for (inside, mode, owner) in closed.into_iter().rev() {
        let place = relative(inside);
        if plan.owner.is_some() {
            let _ = give(root.as_fd(), inside, Some(owner));
        }
        rustix::fs::chmodat(&root, place, Mode::from_raw_mode(mode), AtFlags::empty())
            .at(Layer::Root)?;
    }

    rustix::process::fchdir(&root).at(Layer::Pivot)?;
    rustix::process::pivot_root(".", ".").at(Layer::Pivot)?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).at(Layer::Pivot)?;
    rustix::process::chdir("/").at(Layer::Pivot)?;
    sys::set_mount_attributes(root.as_fd(), READ_ONLY, false, None).at(Layer::Root)?;
    for (inside, step) in &plan.steps {
        if matches!(step, Step::Empty) {
            let mount = open_folder(inside).at(Layer::View)?;
            sys::set_mount_attributes(mount.as_fd(), READ_ONLY, false, None).at(Layer::View)?;
        }
    }
    let folder = match folder {
        Some(folder) => folder,
        None => open_folder(recorded_place(plan)).at(Layer::WorkFolder)?,
    };
    Ok(Built {
        folder,
        uppers,
        has_partial_proc,
    })
}

/// Where an ordinary command writes beside its folder. Inside the new root only.
pub(super) fn open_elsewhere(uppers: Vec<OwnedFd>) -> Result<Elsewhere, Errno> {
    let mut folders = uppers;
    for path in ["/tmp", "/var/tmp"] {
        folders.push(open_folder(Path::new(path))?);
    }
    Ok(Elsewhere {
        folders,
        shared_memory: Some(open_folder(Path::new("/dev/shm"))?),
        bounded: None,
    })
}

/// Where the folder is whose size is bounded, if no layer over it says so.
fn recorded_place(plan: &MountPlan) -> &Path {
    let is_copy =
        |step: &Step| matches!(step, Step::Bind(bind) if bind.layer == Layer::LayeredFolder);
    let copy = plan.steps.iter().find(|(_, step)| is_copy(step));
    match copy {
        Some((inside, _)) => inside,
        None => Path::new(INSIDE_WORK),
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn layer_of(step: &Step) -> Layer {
    match step {
        Step::Bind(bind) => bind.layer,
        Step::Overlay(overlay) => overlay.layer,
        Step::Kernel {
            kind: KernelFiles::Proc,
        } => Layer::Proc,
        Step::Empty => Layer::View,
        _ => Layer::Root,
    }
}

/// Puts a mount at a path below the new root, which is made where it is not there.
fn put(
    root: BorrowedFd<'_>,
    inside: &Path,
    is_folder: bool,
    mount: BorrowedFd<'_>,
) -> Result<(), Errno> {
    match make_target(root, inside, is_folder) {
        // A file that is there, or a place in something that is read-only.
        Ok(()) | Err(Errno::EXIST | Errno::ROFS) => {}
        Err(errno) => return Err(errno),
    }
    attach(mount, root, relative(inside))
}

fn give(root: BorrowedFd<'_>, inside: &Path, owner: Option<(u32, u32)>) -> Result<(), Errno> {
    let Some((uid, gid)) = owner else {
        return Ok(());
    };
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    rustix::fs::chownat(root, relative(inside), uid, gid, AtFlags::SYMLINK_NOFOLLOW)
}

/// A /proc of the PID namespace, and whether it has only the processes in it: a container that covers parts of
/// its own /proc allows no other.
fn new_proc(whole: bool) -> Result<(OwnedFd, bool), Errno> {
    let hidden = ("hidepid", "invisible".to_owned());
    if whole && let Ok(proc) = new_filesystem("proc", std::slice::from_ref(&hidden), READ_PROC) {
        return Ok((proc, false));
    }
    let processes = ("subset", "pid".to_owned());
    Ok((
        new_filesystem("proc", &[hidden, processes], READ_PROC)?,
        whole,
    ))
}

/// Terminals of the command's own. One belongs to its user, however it is opened.
fn new_terminals(owner: Option<(u32, u32)>) -> Result<OwnedFd, Errno> {
    let mut options = vec![("mode", "620".to_owned()), ("ptmxmode", "666".to_owned())];
    if let Some((uid, gid)) = owner {
        options.extend([("uid", uid.to_string()), ("gid", gid.to_string())]);
    }
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    new_filesystem("devpts", &options, flags)
}

/// Where the new root is while it is built: any folder that exists will do, and without `/dev` there is no sandbox.
fn root_place() -> &'static str {
    match rustix::fs::access("/usr", Access::EXISTS) {
        Ok(()) => "/usr",
        Err(_) => "/dev",
    }
}

const READ_PROC: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID
    .union(MountAttrFlags::MOUNT_ATTR_NODEV)
    .union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

pub(super) fn memory_flags() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
}

pub(super) fn new_filesystem(
    kind: &str,
    options: &[(&str, String)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        rustix::mount::fsconfig_set_string(&context, *key, value)?;
    }
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A detached view of something of the host.
pub(super) fn clone_view(
    host: &CString,
    attributes: u64,
    with_inner: bool,
    id_map: Option<BorrowedFd<'_>>,
) -> Result<OwnedFd, Errno> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    if with_inner {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    let tree = rustix::mount::open_tree(CWD, host, flags)?;
    sys::set_mount_attributes(tree.as_fd(), attributes, with_inner, id_map)?;
    Ok(tree)
}

pub(super) fn attach<P: rustix::path::Arg>(
    mount: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: P,
) -> Result<(), Errno> {
    rustix::mount::move_mount(
        mount,
        "",
        folder,
        path,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
}

/// Inside paths are absolute; everything here works below the new root's descriptor.
pub(super) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn make_parents(root: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
    let Some(parent) = relative(path).parent() else {
        return Ok(());
    };
    let mut so_far = PathBuf::new();
    for part in parent.components() {
        so_far.push(part);
        make_folder(root, &so_far)?;
    }
    Ok(())
}

fn make_folder(root: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
    match rustix::fs::mkdirat(root, path, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => {
            let stat = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                Ok(())
            } else {
                Err(Errno::NOTDIR)
            }
        }
        other => other,
    }
}

fn make_target(root: BorrowedFd<'_>, path: &Path, is_folder: bool) -> Result<(), Errno> {
    make_parents(root, path)?;
    if is_folder {
        make_folder(root, relative(path))
    } else {
        write_file(root, path, b"")
    }
}

fn write_file(root: BorrowedFd<'_>, path: &Path, content: &[u8]) -> Result<(), Errno> {
    make_parents(root, path)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, relative(path), flags, Mode::from_raw_mode(0o644))?;
    let mut rest = content;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}
