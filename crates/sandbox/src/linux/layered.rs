//! The caller's side of a layered folder: the copy where there can be no layer, and the changes
//! when the command's last process is gone.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};

use super::changes::{self, Comparison};
use super::mounts::{self, Showing};
use super::usage::{self, Bounds};
use super::view_plan::{UpperStorage, mount_points};
use super::{at, handover, opening, overlays, storage, system, transfer};
use crate::error::{SandboxError, SpecError};
use crate::layer::{FolderLayer, LayerKind};
use crate::limits::{Limits, MOST_IN_MEMORY};
use crate::observation::Gap;
use crate::outcome::Limit;
use crate::spec::Layered;

/// A folder in the caller's store; removed with all that is in it.
#[derive(Debug)]
pub(crate) struct Stored(PathBuf);

impl Stored {
    /// Makes it. `owner` gets it, where that is another user.
    pub(super) fn make(
        store: &Path,
        name: &str,
        owner: Option<(u32, u32)>,
    ) -> Result<Stored, SandboxError> {
        let made = Stored(store.join(name));
        let failed = system("make a folder in the store");
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&made.0)
            .map_err(&failed)?;
        if let Some((uid, gid)) = owner {
            std::os::unix::fs::chown(&made.0, Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(made)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn open(&self) -> Result<OwnedFd, SandboxError> {
        open_folder(&self.0)
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        // Folders that their maker closed to everyone, the owner included, are opened first.
        if fs::remove_dir_all(&self.0).is_err() {
            open_all(&self.0, 0);
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the store is private, and nothing runs in it any more"
)]
fn open_all(folder: &Path, depth: usize) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth < opening::DEEPEST && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_all(&entry.path(), depth + 1);
        }
    }
}

/// A layered folder while its command runs.
pub(super) struct LayeredFolder {
    real: OwnedFd,
    real_path: PathBuf,
    /// Where the layer's files or the copy are, where that is on disk.
    stored: Option<Stored>,
    pub(super) showing: Showing,
    /// How much it may hold; a copy, what was copied besides.
    pub(super) bounds: Bounds,
    started_ns: i128,
    /// What a copy began with.
    copied: Option<BTreeSet<Vec<u8>>>,
    /// By which attribute a layer marks folders that were made anew.
    opaque: &'static str,
}

impl LayeredFolder {
    /// Prepares a layer. `owner` is the user that the command runs as, where that is another.
    pub(super) fn with_layer(
        layered: &Layered,
        limits: &Limits,
        owner: Option<(u32, u32)>,
        is_ordinary: bool,
    ) -> Result<LayeredFolder, SandboxError> {
        let mut folder = LayeredFolder::open(layered, limits)?;
        folder.opaque = overlays::opaque_attribute(owner);
        let is_large = is_ordinary || limits.work_bytes > MOST_IN_MEMORY;
        if is_large && storage::can_hold_layers(&layered.store) {
            let stored = Stored::make(&layered.store, "layer", owner)?;
            folder.showing = Showing::DiskLayer(stored.path().to_owned());
            folder.stored = Some(stored);
        }
        Ok(folder)
    }

    /// Makes a copy of the folder; what cannot be read is left out of it.
    pub(super) fn with_copy(
        layered: &Layered,
        limits: &Limits,
        owner: Option<(u32, u32)>,
    ) -> Result<LayeredFolder, SandboxError> {
        let mut folder = LayeredFolder::open(layered, limits)?;
        let stored = Stored::make(&layered.store, "copy", owner)?;
        let copy = stored.open()?;
        let copied = transfer::copy_out(&folder.real, &copy, owner);
        copied.map_err(at("copy the folder"))?;
        let mode = fs::metadata(&layered.folder)
            .map_err(system("look at the folder"))?
            .mode();
        // Whoever copies it may always enter it.
        let mode = Mode::from_raw_mode(mode & 0o777) | Mode::RWXU;
        rustix::fs::fchmod(&copy, mode).map_err(at("copy the folder"))?;
        let usage = usage::measure(&copy, Bounds::NONE).map_err(at("copy the folder"))?;
        folder.bounds = folder.bounds.on_top_of(usage);
        folder.copied = Some(changes::list_paths(&copy).map_err(at("copy the folder"))?);
        folder.showing = Showing::Copy(stored.path().to_owned());
        folder.stored = Some(stored);
        folder.started_ns = now_ns();
        Ok(folder)
    }

    fn open(layered: &Layered, limits: &Limits) -> Result<LayeredFolder, SandboxError> {
        check_store(layered)?;
        let real = open_folder(&layered.folder)?;
        Ok(LayeredFolder {
            real,
            real_path: layered.folder.clone(),
            stored: None,
            showing: Showing::MemoryLayer,
            bounds: Bounds::of(limits),
            started_ns: now_ns(),
            copied: None,
            opaque: "",
        })
    }

    /// Where the copy is, where it is one.
    pub(super) fn copy_path(&self) -> Option<&Path> {
        match &self.showing {
            Showing::Copy(path) => Some(path),
            Showing::MemoryLayer | Showing::DiskLayer(_) => None,
        }
    }

    /// Names the copy by a path without links, as the command's own calls will show it.
    pub(super) fn resolve_store(&mut self) -> Result<(), SandboxError> {
        if let Showing::Copy(path) = &mut self.showing {
            *path = fs::canonicalize(&*path).map_err(system("look at the copy"))?;
        }
        Ok(())
    }

    /// File systems that are mounted below the real folder: neither a layer nor a copy has them.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        mount_points(&mounts)
            .into_iter()
            .filter(|point| *point != self.real_path && point.starts_with(&self.real_path))
            .map(|path| Gap::MountBelow { path })
            .collect()
    }

    /// What the command changed, or the limit that it exceeds. `socket` is where the layer's
    /// folder arrived; `shown_at` is the path that the command saw; `bounds` hold in place of its own.
    pub(super) fn collect(
        self,
        socket: Option<&OwnedFd>,
        shown_at: PathBuf,
        bounds: Option<Bounds>,
    ) -> Result<Result<FolderLayer, Limit>, SandboxError> {
        let (files, kind) = match (&self.showing, &self.stored, socket) {
            (Showing::Copy(_), Some(stored), _) => {
                // What arrives is the copy's mount; those of other places are behind it.
                let _ = socket.map(handover::take);
                (stored.open()?, LayerKind::Copy)
            }
            (_, _, Some(socket)) => {
                let taken = handover::take(socket).map_err(at("take the layer over"))?;
                (taken.ok_or(SandboxError::NoReport)?, LayerKind::Overlay)
            }
            _ => return Err(SandboxError::NoReport),
        };
        let bounds = bounds.unwrap_or(self.bounds).without_space();
        let usage =
            usage::measure(&files, bounds).map_err(at("look at what the command changed"))?;
        if let Some(limit) = bounds.breach(&usage) {
            return Ok(Err(limit));
        }
        let comparison = Comparison {
            kind,
            started_ns: self.started_ns,
            copied: self.copied,
            opaque: self.opaque,
        };
        let changes = changes::find(&files, &self.real, &comparison)
            .map_err(at("look at what the command changed"))?;
        Ok(Ok(FolderLayer {
            kind,
            shown_at,
            changes,
            files,
            _stored: self.stored,
        }))
    }
}

fn check_store(layered: &Layered) -> Result<(), SandboxError> {
    let refuse = |reason| {
        Err(SpecError::Place {
            path: layered.store.clone(),
            reason,
        }
        .into())
    };
    if layered.store.starts_with(&layered.folder) {
        return refuse("the store lies in the layered folder");
    }
    let mut entries = fs::read_dir(&layered.store).map_err(system("open the store"))?;
    if entries.next().is_some() {
        return refuse("the store is not empty");
    }
    Ok(())
}

fn open_folder(path: &Path) -> Result<OwnedFd, SandboxError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty())
        .map_err(io::Error::from)
        .map_err(system("open the folder"))
}

fn now_ns() -> i128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i128::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Where an ordinary command's changes outside of its folder go: temporary folders, and layers over what its view
/// shows as layered. All of it is thrown away.
pub(super) struct Thrown {
    store: PathBuf,
    owner: Option<(u32, u32)>,
    stored: RefCell<Vec<Stored>>,
}

impl Thrown {
    /// In the caller's store, for commands that run as `owner`, where that is another user.
    pub(super) fn new(store: &Path, owner: Option<(u32, u32)>) -> Thrown {
        Thrown {
            store: store.to_owned(),
            owner,
            stored: RefCell::new(Vec::new()),
        }
    }

    fn make(&self, name: &str, owner: Option<(u32, u32)>) -> Result<PathBuf, SandboxError> {
        let made = Stored::make(&self.store, name, owner)?;
        let path = made.path().to_owned();
        self.stored.borrow_mut().push(made);
        Ok(path)
    }

    /// The storage for changes of a layered place.
    pub(super) fn make_upper(&self) -> Result<UpperStorage, SandboxError> {
        if !storage::can_hold_layers(&self.store) {
            return Ok(UpperStorage::Memory(storage::machine_sized()));
        }
        let number = self.stored.borrow().len();
        let path = self.make(&format!("view-{number}"), self.owner)?;
        mounts::c_string(path.as_os_str()).map(UpperStorage::Disk)
    }

    /// A temporary folder that everybody inside may write to.
    #[expect(clippy::disallowed_methods, reason = "the store is private")]
    pub(super) fn temporary(&self, inside: &str) -> Result<PathBuf, SandboxError> {
        let name = inside.replace('/', "-");
        let path = self.make(name.trim_start_matches('-'), None)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))
            .map_err(system("make a temporary folder"))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_blanks() {
        let mounts = "\
1 0 8:1 / / rw - ext4 a rw
3 2 8:3 / /home/me/my\\040disk rw - ext4 c rw";
        let found = mount_points(mounts);
        assert_eq!(found, [PathBuf::from("/"), "/home/me/my disk".into()]);
    }

    #[test]
    fn store_in_the_folder_or_with_something_in_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("store");
        fs::create_dir(&inner).unwrap();
        let layered = |store: &Path| Layered {
            folder: folder.path().to_owned(),
            inside: folder.path().to_owned(),
            store: store.to_owned(),
        };
        assert!(check_store(&layered(&inner)).is_err());
        let other = tempfile::tempdir().unwrap();
        assert!(check_store(&layered(other.path())).is_ok());
        fs::write(other.path().join("x"), "").unwrap();
        assert!(check_store(&layered(other.path())).is_err());
    }
}
