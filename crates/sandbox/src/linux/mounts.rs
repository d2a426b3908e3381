//! The file system a command sees, built from nothing: an empty root in memory, the system's
//! program folders read-only, a private /proc, five devices, and in memory /tmp, /dev/shm and
//! (see [`super::storage`]) the work folder.
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

use super::fence::DEVICES;
use super::own_places::{OwnPlaces, Showing};
use super::report::{At, Failure};
use super::storage::{self, Storage};
use super::sys;
use super::usage::Bounds;
use crate::error::{Layer, SandboxError};
use crate::limits::Limits;
use crate::places::SYSTEM;
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

pub(super) const READ_ONLY: u64 =
    libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
pub(super) const WRITABLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const DEVICE: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// A file or folder of the host that appears inside.
struct Bind {
    layer: Layer,
    host: CString,
    inside: PathBuf,
    is_folder: bool,
    attributes: u64,
}

/// A folder in memory of bounded size and with bounded entries.
struct MemoryFolder {
    inside: &'static str,
    options: Vec<(&'static str, String)>,
}

/// Everything [`build`] needs, made ahead.
pub(super) struct MountPlan {
    binds: Vec<Bind>,
    links: Vec<(PathBuf, CString)>,
    /// Folders in memory that the command may write to.
    memory_folders: Vec<MemoryFolder>,
    /// Owner of the private folders, where we are root.
    owner: Option<(u32, u32)>,
    /// What appears at its own path.
    pub(super) own_places: OwnPlaces,
}

/// Looks at the host and decides what goes where.
pub(super) fn plan_mounts(
    spec: &Spec,
    owner: Option<(u32, u32)>,
    storage: Storage,
    showing: Option<&Showing>,
) -> Result<MountPlan, SandboxError> {
    let mut plan = MountPlan {
        own_places: OwnPlaces::plan(spec, owner, showing)?,
        binds: Vec::new(),
        links: Vec::new(),
        memory_folders: vec![
            shared_folder("/dev/shm", shm_bytes(&spec.limits)),
            shared_folder(INSIDE_TMP, tmp_bytes(&spec.limits)),
        ],
        owner,
    };
    for path in SYSTEM {
        plan.add_system(Path::new(path))?;
    }
    for path in DEVICES {
        plan.add_bind(Layer::Root, Path::new(path), Path::new(path), DEVICE)?;
    }
    for mount in &spec.mounts {
        plan.add_bind(Layer::ExtraMount, &mount.host, &mount.inside, READ_ONLY)?;
    }
    if showing.is_some() {
        return Ok(plan);
    }
    match storage {
        Storage::Memory => plan
            .memory_folders
            .push(work_folder(&spec.limits, plan.owner)),
        Storage::Disk => plan.add_bind(
            Layer::WorkFolder,
            &spec.work_folder,
            Path::new(INSIDE_WORK),
            WRITABLE,
        )?,
    }
    Ok(plan)
}

/// Size of /tmp. Some room is needed for the home folder in it.
fn tmp_bytes(limits: &Limits) -> u64 {
    limits.tmp_bytes.max(1 << 16)
}

fn shm_bytes(limits: &Limits) -> u64 {
    tmp_bytes(limits).min(64 << 20)
}

/// What all folders in memory may hold together.
pub(super) fn memory_bytes(limits: &Limits, storage: Storage) -> u64 {
    storage
        .memory_bytes(limits)
        .saturating_add(tmp_bytes(limits))
        .saturating_add(shm_bytes(limits))
}

fn shared_folder(inside: &'static str, bytes: u64) -> MemoryFolder {
    MemoryFolder {
        inside,
        options: vec![
            ("mode", "1777".to_owned()),
            ("size", bytes.to_string()),
            ("nr_inodes", most_entries(bytes).to_string()),
        ],
    }
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

fn work_folder(limits: &Limits, owner: Option<(u32, u32)>) -> MemoryFolder {
    let mut options = storage::tmpfs_size(limits, storage::FURTHER_ENTRIES);
    // Without root it belongs to the one user there is.
    if let Some((uid, gid)) = owner {
        options.extend([("uid", uid.to_string()), ("gid", gid.to_string())]);
    }
    MemoryFolder {
        inside: INSIDE_WORK,
        options,
    }
}

impl MountPlan {
    fn add_system(&mut self, path: &Path) -> Result<(), SandboxError> {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return Ok(());
        };
        if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(look_error)?;
            self.links
                .push((path.to_owned(), c_string(target.as_os_str())?));
            return Ok(());
        }
        self.add_bind(Layer::Root, path, path, READ_ONLY)
    }

    fn add_bind(
        &mut self,
        layer: Layer,
        host: &Path,
        inside: &Path,
        attributes: u64,
    ) -> Result<(), SandboxError> {
        let host = fs::canonicalize(host).map_err(look_error)?;
        let is_folder = fs::metadata(&host).map_err(look_error)?.is_dir();
        if layer == Layer::WorkFolder && !is_folder {
            return Err(look_error(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        self.binds.push(Bind {
            layer,
            host: c_string(host.as_os_str())?,
            inside: inside.to_owned(),
            is_folder,
            attributes,
        });
        Ok(())
    }
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

/// Builds the file system and enters it. Afterwards nothing of the host can be reached by path.
/// The answer is the folder whose size is bounded: the work folder, or the layer of a layered
/// one. `id_map` makes files of the caller's the command's own.
pub(super) fn build(plan: &MountPlan, id_map: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Failure> {
    // Nothing done here may travel to the host's mounts.
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .at(Layer::Namespaces)?;

    let proc = new_filesystem(
        "proc",
        &[
            ("hidepid", "invisible".to_owned()),
            ("subset", "pid".to_owned()),
        ],
        READ_PROC,
    )
    .at(Layer::Proc)?;
    let mut sources = Vec::with_capacity(plan.binds.len());
    for bind in &plan.binds {
        sources.push(clone_source(bind).at(bind.layer)?);
    }
    let own_sources = plan.own_places.take_sources(id_map)?;

    // Attached over a folder whose contents are cloned by now; the old tree goes away as a whole.
    let place = root_place();
    let options = [("mode", "755".to_owned()), ("size", "1m".to_owned())];
    let root = new_filesystem("tmpfs", &options, memory_flags()).at(Layer::Root)?;
    attach(root.as_fd(), CWD, place).at(Layer::Root)?;
    for (path, target) in &plan.links {
        make_parents(root.as_fd(), path).at(Layer::Root)?;
        rustix::fs::symlinkat(target, &root, relative(path)).at(Layer::Root)?;
    }
    for (bind, source) in plan.binds.iter().zip(&sources) {
        make_target(root.as_fd(), &bind.inside, bind.is_folder).at(bind.layer)?;
        attach(source.as_fd(), root.as_fd(), relative(&bind.inside)).at(bind.layer)?;
    }
    for (path, content) in FILES {
        write_file(root.as_fd(), Path::new(path), content.as_bytes()).at(Layer::Root)?;
    }
    for (path, target) in [
        ("/dev/fd", c"/proc/self/fd"),
        ("/dev/stdin", c"/proc/self/fd/0"),
        ("/dev/stdout", c"/proc/self/fd/1"),
        ("/dev/stderr", c"/proc/self/fd/2"),
    ] {
        rustix::fs::symlinkat(target, &root, relative(Path::new(path))).at(Layer::Root)?;
    }
    make_target(root.as_fd(), Path::new("/proc"), true).at(Layer::Proc)?;
    attach(proc.as_fd(), root.as_fd(), "proc").at(Layer::Proc)?;
    for folder in &plan.memory_folders {
        add_memory_folder(root.as_fd(), folder).at(Layer::Root)?;
    }
    make_target(root.as_fd(), Path::new(INSIDE_HOME), true).at(Layer::Root)?;
    if let Some((uid, gid)) = plan.owner {
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        let home = relative(Path::new(INSIDE_HOME));
        rustix::fs::chownat(&root, home, uid, gid, AtFlags::SYMLINK_NOFOLLOW).at(Layer::Root)?;
    }
    let changes = plan.own_places.put(root.as_fd(), place, &own_sources)?;

    rustix::process::fchdir(&root).at(Layer::Pivot)?;
    rustix::process::pivot_root(".", ".").at(Layer::Pivot)?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).at(Layer::Pivot)?;
    rustix::process::chdir("/").at(Layer::Pivot)?;
    sys::set_mount_attributes(root.as_fd(), READ_ONLY, false, None).at(Layer::Root)?;
    match changes {
        Some(changes) => Ok(changes),
        None => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(INSIDE_WORK, flags, Mode::empty()).at(Layer::WorkFolder)
        }
    }
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

fn clone_source(bind: &Bind) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = rustix::mount::open_tree(CWD, &bind.host, flags)?;
    sys::set_mount_attributes(tree.as_fd(), bind.attributes, true, None)?;
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

fn add_memory_folder(root: BorrowedFd<'_>, folder: &MemoryFolder) -> Result<(), Errno> {
    let mount = new_filesystem("tmpfs", &folder.options, memory_flags())?;
    let path = Path::new(folder.inside);
    make_target(root, path, true)?;
    attach(mount.as_fd(), root, relative(path))
}

/// Inside paths are absolute; everything here works below the new root's descriptor.
pub(super) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

pub(super) fn make_parents(root: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
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

pub(super) fn make_target(root: BorrowedFd<'_>, path: &Path, is_folder: bool) -> Result<(), Errno> {
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
