//! Fetches a run from a server into a local folder.
//!
//! Contents arrive in a folder next to the target, each named by its digest. After an interruption,
//! downloads continue there from the byte where they stopped. Once every content is complete and has
//! its digest, the run is laid out, judged, and renamed to the target. Until then nothing has the
//! target's name, and verifying the folder around it ignores the downloads.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use runseal_core::digest::{Digest, Hasher};
use runseal_fs::atomic::folder_of;
use runseal_fs::private::PrivateFolder;
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::blobs::{BlobReader, BlobStore, digest_all};
use crate::error::RemoteError;
use crate::manifest::Blob;
use crate::parallel;
use crate::place::RemoteRun;

/// How many contents are fetched in parallel.
const CONNECTIONS: usize = 8;
/// Bytes per read.
const BUFFER: usize = 64 << 10;

/// Fetches `run` to `target`, which must not exist. `judge` sees the run before it gets that name.
///
/// # Errors
/// If `target` exists, any part of the run is missing or differs from what was declared, or `judge`
/// refuses it. Downloads are kept for the next attempt, unless that would fail in the same way.
pub fn land(
    run: &RemoteRun,
    target: &Path,
    judge: impl FnOnce(&Path) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    check_place(target, Place::FreeOrEmptyFolder)?;
    let arrivals = Arrivals::open(target, run.digest)?;
    let landed = fetch_run(run, target, &arrivals, judge);
    match &landed {
        // The downloads are no longer needed.
        Ok(()) | Err(RemoteError::Corrupt { .. } | RemoteError::NotValid { .. }) => drop(arrivals),
        Err(_) => {
            arrivals.folder.keep();
        }
    }
    landed
}

fn fetch_run(
    run: &RemoteRun,
    target: &Path,
    arrivals: &Arrivals,
    judge: impl FnOnce(&Path) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    let blobs = run.manifest.blobs();
    let blobs = blobs.map_err(|error| RemoteError::Corrupt {
        place: "the run's manifest".to_owned(),
        problem: error.to_string(),
    })?;
    let blobs: Vec<_> = blobs
        .into_iter()
        .map(|(sha256, bytes)| Blob { sha256, bytes })
        .collect();
    parallel::for_each(&blobs, CONNECTIONS, |blob| {
        arrivals.fetch(&run.blobs, *blob)
    })?;
    let staging = Staging::begin_beside(target).map_err(StagingError::from)?;
    let mut used = BTreeSet::new();
    for (path, blob) in &run.manifest.files {
        // The first file with a content takes over the download; the others are copies.
        let laid = if used.insert(blob.sha256) {
            staging.adopt(
                (arrivals.folder.as_fd(), &blob.sha256.to_string()),
                path.as_str(),
            )
        } else {
            staging.copy(&mut arrivals.open_whole(blob.sha256)?, path.as_str())
        };
        laid.map_err(StagingError::from)?;
    }
    for folder in &run.manifest.empty_folders {
        let made = staging.make_folder(folder.as_str());
        made.map_err(StagingError::from)?;
    }
    let how = (Place::FreeOrEmptyFolder, Rights::ReadOnly);
    staging.publish(target, how, judge)
}

fn local(path: &Path) -> impl Fn(io::Error) -> RemoteError {
    move |source| RemoteError::Local {
        path: path.display().to_string(),
        source,
    }
}

/// The folder that contents are downloaded into, locked by one process at a time.
struct Arrivals {
    folder: PrivateFolder,
}

impl Arrivals {
    /// Opens the download folder for `target`, with whatever an earlier attempt left in it.
    fn open(target: &Path, run: Digest) -> Result<Self, RemoteError> {
        let name = format!(".runseal-pull-{}", run.hex_prefix(16));
        let above = folder_of(target);
        fs::create_dir_all(above).map_err(local(above))?;
        let path = above.join(name);
        let folder = PrivateFolder::resume(&path).map_err(local(&path))?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                folder.keep();
                Err(RemoteError::Busy {
                    path: path.display().to_string(),
                })
            }
            // Not every file system supports locks.
            _ => Ok(Self { folder }),
        }
    }

    /// Makes an error about a file of the folder.
    fn local(&self, name: &str) -> impl Fn(io::Error) -> RemoteError + use<> {
        let path = self.folder.path().join(name);
        move |source| local(&path)(source)
    }

    /// Opens a content that has arrived.
    fn open_whole(&self, sha256: Digest) -> Result<File, RemoteError> {
        let name = sha256.to_string();
        let opened = self.folder.open_file(&name, false);
        let opened = opened.and_then(|file| file.ok_or_else(|| io::ErrorKind::NotFound.into()));
        opened.map_err(self.local(&name))
    }

    /// Downloads one content, unless it is already complete.
    fn fetch(&self, store: &Arc<dyn BlobStore>, blob: Blob) -> Result<(), RemoteError> {
        let whole = blob.sha256.to_string();
        if let Ok(Some(file)) = self.folder.open_file(&whole, false) {
            // It was complete once, but a full disk or a power failure may have damaged it since.
            let found = digest_all(file).map_err(self.local(&whole))?;
            if found == (blob.sha256, blob.bytes) {
                return Ok(());
            }
            let removed = self.folder.remove_file(&whole);
            removed.map_err(self.local(&whole))?;
        }
        let part = format!("{whole}.part");
        let opened = self.folder.open_file(&part, true);
        let opened = opened.and_then(|file| file.ok_or_else(|| io::ErrorKind::NotFound.into()));
        let mut file = opened.map_err(self.local(&part))?;
        let mut hasher = Hasher::new();
        let limit = blob.bytes.saturating_add(1);
        let copied = io::copy(&mut (&file).take(limit), &mut hasher);
        let mut from = copied.map_err(self.local(&part))?;
        if from > blob.bytes {
            (from, hasher) = (0, Hasher::new());
            file.set_len(0).map_err(self.local(&part))?;
            file.rewind().map_err(self.local(&part))?;
        }
        match self.append(store, blob, &mut file, (from, hasher)) {
            // The part from an earlier attempt may be damaged: start over.
            Err(RemoteError::Corrupt { .. }) if from > 0 => {
                file.set_len(0).map_err(self.local(&part))?;
                file.rewind().map_err(self.local(&part))?;
                self.append(store, blob, &mut file, (0, Hasher::new()))?;
            }
            other => other?,
        }
        let renamed = self.folder.rename(&part, &whole);
        renamed.map_err(self.local(&part))
    }

    fn append(
        &self,
        store: &Arc<dyn BlobStore>,
        blob: Blob,
        file: &mut File,
        (from, hasher): (u64, Hasher),
    ) -> Result<(), RemoteError> {
        let mut reader = BlobReader::resume_at(store, blob, from, hasher)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    let written = file.write_all(&buffer[..count]);
                    written.map_err(local(self.folder.path()))?;
                }
                Err(error) => return Err(RemoteError::from_io(error, &store.blob_name(blob))),
            }
        }
    }
}
