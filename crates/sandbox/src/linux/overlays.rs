//! Makes the overlays of a view. What they need a name for has one only in a file system in memory that covers
//! a folder of the old root, and goes away with it.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::mounts::{
    IdMaps, READ_ONLY, WRITABLE, attach, clone_view, memory_flags, new_filesystem,
};
use super::report::{At, Failure};
use super::top_layer;
use super::view_plan::{Overlay, Step, Steps, Upper, UpperStorage};

/// Detached views of the host's files that one step needs.
#[derive(Default)]
pub(super) struct Source {
    pub(super) views: Vec<OwnedFd>,
    /// The folder of the caller's that holds an upper layer.
    upper: Option<OwnedFd>,
}

/// Takes the views of the host, before anything is covered; one for each step, in order.
pub(super) fn take_sources(steps: &Steps, maps: &IdMaps) -> Result<Vec<Source>, Failure> {
    steps.values().map(|step| take_source(step, maps)).collect()
}

fn take_source(step: &Step, maps: &IdMaps) -> Result<Source, Failure> {
    let mut source = Source::default();
    match step {
        Step::Bind(bind) => {
            let view = |map| clone_view(&bind.host, bind.attributes, bind.with_inner, map);
            let mapped = bind.owner.and_then(|owner| maps.of(owner));
            // A file system that knows no mappings is shown as it is.
            let mapped = mapped.and_then(|map| view(Some(map)).ok());
            let shown = mapped.map_or_else(|| view(None), Ok);
            source.views.push(shown.at(bind.layer)?);
        }
        Step::Overlay(overlay) => {
            for (host, owner) in &overlay.lowers {
                let map = owner.and_then(|owner| maps.of(owner));
                let view = |map| clone_view(host, READ_ONLY, false, map);
                let is_recorded = overlay.upper.as_ref().is_some_and(|it| it.is_recorded);
                let shown = match (owner, map) {
                    // Without, the command could not write.
                    (Some(_), None) if is_recorded => Err(Errno::OPNOTSUPP),
                    (_, Some(map)) if is_recorded => view(Some(map)),
                    (_, Some(map)) => view(Some(map)).or_else(|_| view(None)),
                    (_, None) => view(None),
                };
                source.views.push(shown.at(overlay.layer)?);
            }
            if let Some(Upper {
                storage: UpperStorage::Disk(host),
                ..
            }) = &overlay.upper
            {
                let view = clone_view(host, WRITABLE, false, None);
                source.upper = Some(view.at(overlay.layer)?);
            }
        }
        _ => {}
    }
    Ok(source)
}

/// Where names are given to what overlays are made of.
pub(super) struct Scratch {
    folder: OwnedFd,
    count: Cell<usize>,
}

/// The old root has it, and nothing looks at it any more once all sources are taken.
const PLACE: &str = "/proc";

/// The attribute of a folder in such a layer that was removed and made anew.
pub(super) fn opaque_attribute(owner: Option<(u32, u32)>) -> &'static str {
    if has_user_attributes(owner) {
        "user.overlay.opaque"
    } else {
        "trusted.overlay.opaque"
    }
}

/// Whether the layer of a command that runs as `owner` keeps its marks in attributes of users: the others
/// take root. The kernel keeps the ones that it uses from the command, and not those that it does not use.
fn has_user_attributes(owner: Option<(u32, u32)>) -> bool {
    owner.is_none()
}

impl Scratch {
    pub(super) fn attach() -> Result<Scratch, Errno> {
        let options = [("mode", "755".to_owned()), ("size", "16m".to_owned())];
        let folder = new_filesystem("tmpfs", &options, memory_flags())?;
        attach(folder.as_fd(), CWD, PLACE)?;
        Ok(Scratch {
            folder,
            count: Cell::new(0),
        })
    }

    /// A new folder here: its name.
    fn make_folder(&self) -> Result<String, Errno> {
        let number = self.count.get();
        self.count.set(number + 1);
        let name = number.to_string();
        rustix::fs::mkdirat(&self.folder, &name, Mode::from_raw_mode(0o755))?;
        Ok(name)
    }

    /// Makes an overlay: its mount, and its upper folder if it has one.
    pub(super) fn make_overlay(
        &self,
        overlay: &Overlay,
        source: &Source,
        is_root: bool,
    ) -> Result<(OwnedFd, Option<OwnedFd>), Errno> {
        let mut lowers = Vec::new();
        // Without an upper layer an overlay takes two lower ones; with one, an empty top adds nothing.
        if overlay.upper.is_none() || overlay.top.len() > 1 {
            let name = self.make_folder()?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let top = rustix::fs::openat(&self.folder, &name, flags, Mode::empty())?;
            top_layer::make(&overlay.top, top.as_fd(), is_root)?;
            lowers.push(format!("{PLACE}/{name}"));
        }
        for view in &source.views {
            let name = self.make_folder()?;
            attach(view.as_fd(), self.folder.as_fd(), &name)?;
            lowers.push(format!("{PLACE}/{name}"));
        }
        let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let set = |key: &str, value: &str| rustix::mount::fsconfig_set_string(&context, key, value);
        set("lowerdir", &lowers.join(":"))?;
        let mut upper = None;
        if let Some(planned) = &overlay.upper {
            let name = self.make_folder()?;
            upper = Some(self.make_upper(planned, source, &name)?);
            set("upperdir", &format!("{PLACE}/{name}/upper"))?;
            set("workdir", &format!("{PLACE}/{name}/work"))?;
            set("index", "off")?;
        }
        // Whole files and plain folders in the upper part, whatever this kernel's defaults.
        set("metacopy", "off")?;
        set("redirect_dir", "nofollow")?;
        if !is_root {
            rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
        }
        rustix::mount::fsconfig_create(&context)?;
        let flags = match overlay.upper {
            Some(_) => memory_flags(),
            None => memory_flags() | MountAttrFlags::MOUNT_ATTR_RDONLY,
        };
        let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        Ok((mount, upper))
    }

    fn make_upper(&self, planned: &Upper, source: &Source, name: &str) -> Result<OwnedFd, Errno> {
        let memory;
        let store = match (&planned.storage, &source.upper) {
            (UpperStorage::Memory(options), _) => {
                memory = new_filesystem("tmpfs", options, memory_flags())?;
                &memory
            }
            (UpperStorage::Disk(_), Some(store)) => store,
            (UpperStorage::Disk(_), None) => return Err(Errno::NOENT),
        };
        attach(store.as_fd(), self.folder.as_fd(), name)?;
        rustix::fs::mkdirat(store, "work", Mode::RWXU)?;
        rustix::fs::mkdirat(store, "upper", Mode::RWXU)?;
        if let Some((uid, gid)) = planned.user {
            let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            rustix::fs::chownat(store, "upper", uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        let mode = Mode::from_raw_mode(planned.mode);
        rustix::fs::chmodat(store, "upper", mode, AtFlags::empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let upper = rustix::fs::openat(store, "upper", flags, Mode::empty())?;
        if has_user_attributes(planned.user) {
            // Without such attributes a folder that is removed could not be made anew.
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::fsetxattr(&upper, "user.runseal", b"y", flags)?;
            rustix::fs::fremovexattr(&upper, "user.runseal")?;
        }
        Ok(upper)
    }
}
