//! What appears inside at the path it has on the host: the layered folder, and files and folders
//! that are shown read-only. They are put in place last, outer ones first.
//!
//! The layer is an overlayfs in the command's own namespaces. Its upper part is a file system in
//! memory of bounded size, or a folder of the caller's where more is allowed; the lower part is a
//! read-only view of the real folder. Neither has a name that the command could use.
//!
//! For a caller who is root the command has another uid, so both views are id-mapped: what the
//! folder's owner owns looks like the command's own.

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, OpenTreeFlags, UnmountFlags};

use super::mounts::{
    READ_ONLY, WRITABLE, attach, c_string, look_error, make_parents, make_target, memory_flags,
    new_filesystem, relative,
};
use super::report::{At, Failure};
use super::storage::{self, Storage};
use super::sys;
use crate::error::{Layer, SandboxError, SpecError};
use crate::spec::Spec;

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

/// One thing at its own path.
struct OwnPlace {
    inside: PathBuf,
    host: CString,
    is_folder: bool,
    is_layered: bool,
}

/// Everything at its own path, outer things first.
pub(super) struct OwnPlaces {
    places: Vec<OwnPlace>,
    /// Names over links under which shown things were asked for, and what they lead to.
    links: Vec<(PathBuf, CString)>,
    showing: Option<LayerPlan>,
}

struct LayerPlan {
    showing: Showing,
    /// The layer's folder or the copy, where there is one.
    host: Option<CString>,
    /// Rights of the real folder.
    mode: u32,
    size: Vec<(&'static str, String)>,
    owner: Option<(u32, u32)>,
}

impl OwnPlaces {
    /// Looks at the host and decides what goes where.
    pub(super) fn plan(
        spec: &Spec,
        owner: Option<(u32, u32)>,
        showing: Option<&Showing>,
    ) -> Result<OwnPlaces, SandboxError> {
        let mut planned = OwnPlaces {
            places: Vec::new(),
            links: Vec::new(),
            showing: None,
        };
        if let (Some(layered), Some(showing)) = (&spec.layered, showing) {
            let folder = fs::canonicalize(&layered.folder).map_err(look_error)?;
            if folder != layered.folder {
                return Err(SpecError::Place {
                    path: layered.folder.clone(),
                    reason: "there is a link on the way to it",
                }
                .into());
            }
            let metadata = fs::metadata(&folder).map_err(look_error)?;
            if !metadata.is_dir() {
                let kind = std::io::ErrorKind::NotADirectory;
                return Err(look_error(std::io::Error::from(kind)));
            }
            planned.add(&folder, &layered.inside, (true, true))?;
            let host = match showing {
                Showing::MemoryLayer => None,
                Showing::DiskLayer(path) | Showing::Copy(path) => Some(c_string(path.as_os_str())?),
            };
            planned.showing = Some(LayerPlan {
                showing: showing.clone(),
                host,
                mode: metadata.mode() & 0o777,
                size: storage::tmpfs_size(&spec.limits, storage::FURTHER_LAYER_ENTRIES),
                owner,
            });
        }
        for path in &spec.show {
            planned.show(spec, path)?;
        }
        for mount in &spec.show_at {
            let host = fs::canonicalize(&mount.host).map_err(look_error)?;
            let is_folder = fs::metadata(&host).map_err(look_error)?.is_dir();
            planned.add(&host, &mount.inside, (is_folder, false))?;
        }
        // An outer folder has fewer segments than what is in it.
        planned
            .places
            .sort_by(|one, other| one.inside.cmp(&other.inside));
        planned.drop_inner();
        Ok(planned)
    }

    fn show(&mut self, spec: &Spec, asked: &Path) -> Result<(), SandboxError> {
        let host = fs::canonicalize(asked).map_err(look_error)?;
        if host != asked {
            self.links
                .push((asked.to_owned(), c_string(host.as_os_str())?));
        }
        let is_there = crate::places::is_system_place(&host)
            || spec
                .layered
                .as_ref()
                .is_some_and(|layered| host.starts_with(&layered.inside));
        if is_there {
            return Ok(());
        }
        crate::places::check_shown(&host)?;
        let is_folder = fs::metadata(&host).map_err(look_error)?.is_dir();
        self.add(&host, &host, (is_folder, false))
    }

    fn add(
        &mut self,
        host: &Path,
        inside: &Path,
        (is_folder, is_layered): (bool, bool),
    ) -> Result<(), SandboxError> {
        self.places.push(OwnPlace {
            inside: inside.to_owned(),
            host: c_string(host.as_os_str())?,
            is_folder,
            is_layered,
        });
        Ok(())
    }

    /// What is shown twice, or lies in something that is shown, needs no mount of its own. Anything else that lies there
    /// is mounted over what is there, or the run fails: it never gives way to a file of the host.
    fn drop_inner(&mut self) {
        // The places are in order, so whatever holds the next one is on top of this stack.
        let mut above: Vec<(PathBuf, PathBuf)> = Vec::new();
        self.places.retain(|place| {
            while above
                .last()
                .is_some_and(|(outer, _)| !place.inside.starts_with(outer))
            {
                above.pop();
            }
            let host = Path::new(OsStr::from_bytes(place.host.to_bytes()));
            let is_there = above.last().is_some_and(|(outer, outer_host)| {
                let below = place.inside.strip_prefix(outer).unwrap_or(&place.inside);
                fs::canonicalize(outer_host.join(below)).is_ok_and(|real| real == host)
            });
            if is_there && !place.is_layered {
                return false;
            }
            above.push((place.inside.clone(), host.to_owned()));
            true
        });
    }

    /// Whether nothing is to be put in place.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes the views of the host, before anything is covered.
    pub(super) fn take_sources(&self, id_map: Option<BorrowedFd<'_>>) -> Result<Sources, Failure> {
        let mut views = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let view = if place.is_layered {
                self.layered_view(place, id_map).at(Layer::LayeredFolder)?
            } else {
                let mapped =
                    id_map.and_then(|map| view(&place.host, READ_ONLY, true, Some(map)).ok());
                match mapped {
                    Some(mapped) => mapped,
                    None => view(&place.host, READ_ONLY, true, None).at(Layer::ExtraMount)?,
                }
            };
            views.push(view);
        }
        let store = match &self.showing {
            Some(LayerPlan {
                showing: Showing::DiskLayer(_),
                host: Some(host),
                ..
            }) => Some(view(host, WRITABLE, false, None).at(Layer::LayeredFolder)?),
            _ => None,
        };
        Ok(Sources { views, store })
    }

    fn layered_view(
        &self,
        place: &OwnPlace,
        id_map: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        match &self.showing {
            Some(LayerPlan {
                showing: Showing::Copy(_),
                host: Some(copy),
                ..
            }) => view(copy, WRITABLE, false, None),
            // Root's view must be mapped: without, the command could not write.
            Some(LayerPlan { owner: Some(_), .. }) => {
                let map = id_map.ok_or(Errno::OPNOTSUPP)?;
                view(&place.host, READ_ONLY, false, Some(map))
            }
            _ => view(&place.host, READ_ONLY, false, None),
        }
    }

    /// Puts everything in place below the new root, which the path `root_path` names. The answer
    /// is the folder that holds what the command changes, where there is a layered one.
    pub(super) fn put(
        &self,
        root: BorrowedFd<'_>,
        root_path: &str,
        sources: &Sources,
    ) -> Result<Option<OwnedFd>, Failure> {
        let mut changes = None;
        for (place, source) in self.places.iter().zip(&sources.views) {
            let layer = if place.is_layered {
                Layer::LayeredFolder
            } else {
                Layer::ExtraMount
            };
            make_target(root, &place.inside, place.is_folder)
                .or_else(ignore_existing)
                .at(layer)?;
            let mount = match &self.showing {
                Some(plan) if place.is_layered && !matches!(plan.showing, Showing::Copy(_)) => {
                    let (mount, upper) =
                        make_overlay(plan, root, root_path, source, sources.store.as_ref())
                            .at(layer)?;
                    changes = Some(upper);
                    mount
                }
                _ => source
                    .try_clone()
                    .map_err(|_| Failure(layer, Errno::MFILE))?,
            };
            attach(mount.as_fd(), root, relative(&place.inside)).at(layer)?;
            if place.is_layered && changes.is_none() {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let copy = rustix::fs::openat(root, relative(&place.inside), flags, Mode::empty());
                changes = Some(copy.at(layer)?);
            }
        }
        for (path, target) in &self.links {
            // Where something is already, it is what the host has there.
            let _ = make_parents(root, path)
                .and_then(|()| rustix::fs::symlinkat(target, root, relative(path)));
        }
        Ok(changes)
    }
}

/// Detached views of the host's files.
pub(super) struct Sources {
    views: Vec<OwnedFd>,
    store: Option<OwnedFd>,
}

fn ignore_existing(errno: Errno) -> Result<(), Errno> {
    // A file below a shown folder, or a place in one that is read-only: the host has it.
    match errno {
        Errno::EXIST | Errno::ROFS => Ok(()),
        other => Err(other),
    }
}

fn view(
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

/// Whether the layer of a command that runs as `owner` keeps its marks in attributes of users: the others
/// take root. The kernel keeps the ones that it uses from the command, and not those that it does not use.
fn has_user_attributes(owner: Option<(u32, u32)>) -> bool {
    owner.is_none()
}

/// The attribute of a folder in such a layer that was removed and made anew.
pub(super) fn opaque_attribute(owner: Option<(u32, u32)>) -> &'static str {
    if has_user_attributes(owner) {
        "user.overlay.opaque"
    } else {
        "trusted.overlay.opaque"
    }
}

const STORE: &str = ".layer";
const LOWER: &str = ".lower";

/// Makes the overlay; the answer is its mount and its upper folder. The places that it needs a
/// name for exist only while it is made.
fn make_overlay(
    plan: &LayerPlan,
    root: BorrowedFd<'_>,
    root_path: &str,
    lower: &OwnedFd,
    store: Option<&OwnedFd>,
) -> Result<(OwnedFd, OwnedFd), Errno> {
    let memory;
    let store = match store {
        Some(store) => store,
        None => {
            memory = new_filesystem("tmpfs", &plan.size, memory_flags())?;
            &memory
        }
    };
    for name in [STORE, LOWER] {
        rustix::fs::mkdirat(root, name, Mode::RWXU)?;
    }
    attach(store.as_fd(), root, STORE)?;
    attach(lower.as_fd(), root, LOWER)?;
    rustix::fs::mkdirat(store, "work", Mode::RWXU)?;
    rustix::fs::mkdirat(store, "upper", Mode::RWXU)?;
    if let Some((uid, gid)) = plan.owner {
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        rustix::fs::chownat(store, "upper", uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    rustix::fs::chmodat(
        store,
        "upper",
        Mode::from_raw_mode(plan.mode),
        AtFlags::empty(),
    )?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let upper = rustix::fs::openat(store, "upper", flags, Mode::empty())?;
    if has_user_attributes(plan.owner) {
        // Without such attributes a folder that is removed could not be made anew.
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::fsetxattr(&upper, "user.runseal", b"y", flags)?;
        rustix::fs::fremovexattr(&upper, "user.runseal")?;
    }

    let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &str, value: String| rustix::mount::fsconfig_set_string(&context, key, value);
    set("lowerdir", format!("{root_path}/{LOWER}"))?;
    set("upperdir", format!("{root_path}/{STORE}/upper"))?;
    set("workdir", format!("{root_path}/{STORE}/work"))?;
    // Whole files and plain folders in the upper part, whatever this kernel's defaults.
    set("metacopy", "off".to_owned())?;
    set("redirect_dir", "nofollow".to_owned())?;
    set("index", "off".to_owned())?;
    if has_user_attributes(plan.owner) {
        rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, memory_flags())?;
    for name in [STORE, LOWER] {
        rustix::mount::unmount(format!("{root_path}/{name}"), UnmountFlags::DETACH)?;
        rustix::fs::unlinkat(root, name, AtFlags::REMOVEDIR)?;
    }
    Ok((mount, upper))
}

/// What a layered folder's changes live in, with these limits.
pub(super) fn storage_of(showing: &Showing) -> Storage {
    match showing {
        Showing::MemoryLayer => Storage::Memory,
        Showing::DiskLayer(_) | Showing::Copy(_) => Storage::Disk,
    }
}
