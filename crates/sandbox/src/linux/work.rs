//! The caller's side of the work folder: what the command finds in it, and what comes back.
//!
//! A work folder in memory comes back as a whole or not at all. The command's processes are gone
//! when it is collected, so what is counted is what is copied.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::layered::LayeredFolder;
use super::plan::Purpose;
use super::stage::WorkWires;
use super::storage::Storage;
use super::usage::{self, Bounds};
use super::{handover, ownership, transfer};
use crate::error::SandboxError;
use crate::limits::Limits;
use crate::outcome::Limit;
use crate::spec::Spec;

/// The work folder before the processes are started.
pub(super) struct WorkFolder {
    /// The caller's folder; none for a probe.
    host: Option<OwnedFd>,
    storage: Storage,
}

/// The work folder while they run.
pub(super) struct SharedWorkFolder {
    host: Option<OwnedFd>,
    /// Where the folder in memory arrives.
    inside: Option<OwnedFd>,
}

impl WorkFolder {
    /// Opens the caller's folder. On disk and for root, gives it to the command's user.
    pub(super) fn prepare(
        spec: &Spec,
        drop_to: Option<(u32, u32)>,
        storage: Storage,
        purpose: Purpose,
    ) -> Result<WorkFolder, SandboxError> {
        if purpose == Purpose::Probe {
            return Ok(WorkFolder {
                host: None,
                storage,
            });
        }
        if let (Storage::Disk, Some(ids)) = (storage, drop_to) {
            ownership::give_folder(&spec.work_folder, ids)
                .map_err(system("give the work folder away"))?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let host = rustix::fs::open(&spec.work_folder, flags, Mode::empty())
            .map_err(failed("open the work folder"))?;
        Ok(WorkFolder {
            host: Some(host),
            storage,
        })
    }

    /// What a layered folder needs: a way for its layer to arrive, where it has one.
    pub(super) fn of_layer(folder: &LayeredFolder, has_layered_places: bool) -> WorkFolder {
        let storage = match folder.copy_path() {
            Some(_) if !has_layered_places => Storage::Disk,
            _ => Storage::Memory,
        };
        WorkFolder {
            host: None,
            storage,
        }
    }

    /// The part that the caller keeps and the part that process 1 gets.
    pub(super) fn split(self) -> Result<(SharedWorkFolder, Option<WorkWires>), SandboxError> {
        if self.storage == Storage::Disk {
            let kept = SharedWorkFolder {
                host: self.host,
                inside: None,
            };
            return Ok((kept, None));
        }
        let (inside, hand_over) = handover::make().map_err(failed("make a socket"))?;
        let host = match &self.host {
            Some(folder) => Some(folder.try_clone().map_err(system("open the work folder"))?),
            None => None,
        };
        let kept = SharedWorkFolder {
            host: self.host,
            inside: Some(inside),
        };
        Ok((kept, Some(WorkWires { host, hand_over })))
    }
}

impl SharedWorkFolder {
    /// Where a layer's folder arrives.
    pub(super) fn socket(&self) -> Option<&OwnedFd> {
        self.inside.as_ref()
    }

    /// Makes the caller's folder hold what the command left. The answer is the limit that that
    /// exceeds; the caller's folder is then as it was, unless it is the one the command had.
    pub(super) fn collect(&self, limits: &Limits) -> Result<Option<Limit>, SandboxError> {
        let Some(host) = &self.host else {
            return Ok(None);
        };
        let inside = match &self.inside {
            Some(socket) => {
                let taken = handover::take(socket).map_err(failed("take the work folder over"))?;
                Some(taken.ok_or(SandboxError::NoReport)?)
            }
            None => None,
        };
        let left = inside.as_ref().unwrap_or(host);
        let bounds = Bounds::of(limits).without_space();
        let usage = usage::measure(left, bounds).map_err(failed("look at the work folder"))?;
        if let Some(limit) = bounds.breach(&usage) {
            return Ok(Some(limit));
        }
        if let Some(inside) = &inside {
            transfer::replicate(inside, host, None).map_err(failed("collect the work folder"))?;
        }
        Ok(None)
    }
}

fn failed(what: &'static str) -> impl Fn(Errno) -> SandboxError {
    move |errno| SandboxError::System {
        what,
        source: errno.into(),
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> SandboxError {
    move |source| SandboxError::System { what, source }
}
