//! Fetches a run from a server into a local folder.
//!
//! Contents arrive in a folder beside the target, each under its digest; what was killed goes on
//! there, from the byte where it stopped. Once every content is whole and has its digest, the run
//! is laid out, may be judged, and takes its place at once. Until then nothing has the target's name, and verifying
//! the folder around it does not take the rest for evidence.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runseal_core::digest::{Digest, Hasher};
use runseal_engine::atomic::folder_of;
use runseal_engine::staging::{Place, Rights, Staging, StagingError, check_place};

use crate::blobs::{BlobReader, BlobStore, digest_all};
use crate::error::RemoteError;
use crate::manifest::Blob;
use crate::parallel;
use crate::place::RemoteRun;

/// How many contents are fetched in parallel.
const CONNECTIONS: usize = 8;
/// Bytes per read.
const BUFFER: usize = 64 << 10;

/// Brings `run` to `target`, where nothing may be yet. What is laid out beside it is shown to `judge`
/// before it gets its name.
///
/// # Errors
/// When something is at `target`, anything of the run cannot be had as it was declared, or `judge`
/// refuses it. What has arrived stays for the next attempt, unless another one would end the same.
pub fn land(
    run: &RemoteRun,
    target: &Path,
    judge: impl FnOnce(&Path) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    check_place(target, Place::FreeOrEmptyFolder)?;
    let arrivals = Arrivals::open(target, run.digest)?;
    let landed = bring(run, target, &arrivals, judge);
    match &landed {
        Ok(()) | Err(RemoteError::Corrupt { .. } | RemoteError::NotValid { .. }) => {
            arrivals.remove();
        }
        Err(_) => {}
    }
    landed
}

fn bring(
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
        let arrived = arrivals.whole(blob.sha256);
        // Only the first file may take the download over; others with the same content need copies.
        let laid = match used.insert(blob.sha256) {
            true => staging.adopt(&arrived, path.as_str()),
            false => staging.copy(&arrived, path.as_str()),
        };
        laid.map_err(StagingError::from)?;
    }
    for folder in &run.manifest.empty_folders {
        let folder = staging.path().join(folder.as_str());
        fs::create_dir_all(&folder).map_err(local(&folder))?;
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
    folder: PathBuf,
    _held: File,
}

impl Arrivals {
    /// Opens the download folder for `target`, with whatever an earlier attempt left in it.
    fn open(target: &Path, run: Digest) -> Result<Self, RemoteError> {
        // A search for evidence skips names of this form.
        let name = format!(".runseal-pull-{}", run.hex_prefix(16));
        let folder = folder_of(target).join(name);
        fs::create_dir_all(&folder).map_err(local(&folder))?;
        let held = File::open(&folder).map_err(local(&folder))?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RemoteError::Busy {
                    path: folder.display().to_string(),
                });
            }
            // This file system does not support locks.
            Err(TryLockError::Error(_)) => {}
        }
        Ok(Self {
            folder,
            _held: held,
        })
    }

    fn whole(&self, sha256: Digest) -> PathBuf {
        self.folder.join(sha256.to_string())
    }

    /// Downloads one content, unless it is complete already.
    fn fetch(&self, store: &Arc<dyn BlobStore>, blob: Blob) -> Result<(), RemoteError> {
        let whole = self.whole(blob.sha256);
        if let Ok(file) = File::open(&whole) {
            // It was complete once, but a full disk or a power failure may have damaged it since.
            let found = digest_all(file).map_err(local(&whole))?;
            if found == (blob.sha256, blob.bytes) {
                return Ok(());
            }
            fs::remove_file(&whole).map_err(local(&whole))?;
        }
        let part = self.folder.join(format!("{}.part", blob.sha256));
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&part);
        let mut file = file.map_err(local(&part))?;
        let mut hasher = Hasher::new();
        let limit = blob.bytes.saturating_add(1);
        let copied = io::copy(&mut (&file).take(limit), &mut hasher);
        let mut from = copied.map_err(local(&part))?;
        if from > blob.bytes {
            (from, hasher) = (0, Hasher::new());
            file.set_len(0).map_err(local(&part))?;
            file.rewind().map_err(local(&part))?;
        }
        match self.append(store, blob, &mut file, (from, hasher)) {
            // The part from an earlier attempt may be damaged: start over.
            Err(RemoteError::Corrupt { .. }) if from > 0 => {
                file.set_len(0).map_err(local(&part))?;
                file.rewind().map_err(local(&part))?;
                self.append(store, blob, &mut file, (0, Hasher::new()))?;
            }
            other => other?,
        }
        fs::rename(&part, &whole).map_err(local(&part))
    }

    fn append(
        &self,
        store: &Arc<dyn BlobStore>,
        blob: Blob,
        file: &mut File,
        (from, hasher): (u64, Hasher),
    ) -> Result<(), RemoteError> {
        let mut reader = BlobReader::go_on(store, blob, from, hasher)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    let written = file.write_all(&buffer[..count]);
                    written.map_err(local(&self.folder))?;
                }
                Err(error) => return Err(RemoteError::from_io(error, &store.blob_name(blob))),
            }
        }
    }

    /// Nothing in it is needed any more: takes the folder away.
    fn remove(self) {
        // If this fails, the folder stays but does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
