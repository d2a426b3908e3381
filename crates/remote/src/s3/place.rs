//! Puts a run into object storage and looks it up there.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use runseal_core::digest::{ContentHash, Digest};
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_engine::directory::{DirectorySource, RootLink};

use super::address::{Pin, S3Address, join};
use super::client::{Bucket, Written};
use super::upload::{BlobWriter, BytesBody, blob_key};
use crate::blobs::BlobStore;
use crate::error::RemoteError;
use crate::http::Http;
use crate::manifest::{Blob, MAX_MANIFEST_BYTES, RunManifest};
use crate::parallel;
use crate::place::{Pushed, PutOptions, RemoteRun, RunPlace};

/// How many files are sent in parallel.
const FILES_AT_ONCE: usize = 16;
/// The folder of manifests, below a prefix.
pub(super) const RUNS: &str = "runs";
/// The folder of contents, below a prefix.
pub(super) const BLOBS: &str = "sha256";
/// The ending of a manifest's name.
pub(super) const MANIFEST: &str = ".manifest.json";

/// The address of one run, and the bucket that it is in.
#[derive(Debug)]
pub struct S3Place {
    bucket: Arc<Bucket>,
    address: S3Address,
}

impl S3Place {
    /// The place at an address such as `s3://bucket/prefix/run_1`.
    ///
    /// # Errors
    /// When this is not the address of a run, or the settings in the environment are not usable.
    pub fn open(address: &str) -> Result<Self, RemoteError> {
        let address = S3Address::parse(address)?;
        if address.key.is_empty() {
            return Err(RemoteError::Address {
                address: address.to_string(),
                problem: "it names a bucket and no run in it",
            });
        }
        let bucket = Bucket::open(&Http::new(), &address.bucket)?;
        Ok(Self {
            bucket: Arc::new(bucket),
            address,
        })
    }

    /// The last part of the run's name.
    pub fn run_name(&self) -> &str {
        let key = &self.address.key;
        key.rsplit_once('/').map_or(key, |(_, name)| name)
    }

    /// The address, pinned to a digest.
    pub fn pinned(&self, digest: Digest) -> String {
        let pin = Pin::of(&self.address.key, ContentHash::from(digest));
        let address = S3Address {
            pin: Some(pin),
            ..self.address.clone()
        };
        address.to_string()
    }

    fn prefix(&self) -> &str {
        self.address
            .key
            .rsplit_once('/')
            .map_or("", |(prefix, _)| prefix)
    }

    /// Writes the manifest, which makes the run visible.
    fn publish(&self, manifest: &RunManifest, options: &PutOptions) -> Result<Digest, RemoteError> {
        let bytes = manifest.to_bytes().map_err(|error| RemoteError::Corrupt {
            place: self.address.to_string(),
            problem: error.to_string(),
        })?;
        let digest = Digest::of(&bytes);
        let key = manifest_key(&self.address.key);
        let body = BytesBody(&bytes);
        let retention = options.retention.as_ref();
        let written = self.bucket.put_new(&key, (&body, digest), retention)?;
        if written == Written::Before {
            let before = read_manifest(&self.bucket, &self.address.key)?;
            if before.is_none_or(|(_, before)| before != digest) {
                return Err(RemoteError::Taken {
                    place: self.address.to_string(),
                });
            }
            if let Some(retention) = retention {
                self.bucket.extend_retention(&key, retention)?;
            }
        }
        Ok(digest)
    }
}

/// The key of the manifest of the run at `key`.
pub(super) fn manifest_key(key: &str) -> String {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    join(prefix, &format!("{RUNS}/{name}{MANIFEST}"))
}

/// The manifest of the run at `key`, with its digest; `None` if there is none.
pub(super) fn read_manifest(
    bucket: &Bucket,
    key: &str,
) -> Result<Option<(RunManifest, Digest)>, RemoteError> {
    let manifest = manifest_key(key);
    let Some(response) = bucket.get(&manifest, 0)? else {
        return Ok(None);
    };
    let bytes = response.into_bytes(MAX_MANIFEST_BYTES)?;
    let parsed = RunManifest::parse(&bytes).map_err(|error| RemoteError::Corrupt {
        place: bucket.shown(&manifest),
        problem: error.to_string(),
    })?;
    Ok(Some((parsed, Digest::of(&bytes))))
}

/// Fails if the run is not the one that the address pins.
pub(super) fn check_pin(address: &S3Address, digest: Digest) -> Result<(), RemoteError> {
    match &address.pin {
        Some(Pin { hash, .. }) if hash.digest() != digest => Err(RemoteError::Corrupt {
            place: address.to_string(),
            problem: format!("its manifest has the digest sha256:{digest}"),
        }),
        _ => Ok(()),
    }
}

impl RunPlace for S3Place {
    fn put_run(&self, folder: &Path, options: &PutOptions) -> Result<Pushed, RemoteError> {
        let shown = || folder.display().to_string();
        let source = DirectorySource::open(folder, RootLink::Follow);
        let source = source.map_err(|error| unread(&shown(), error))?;
        let (files, empty_folders) = list_run(&source).map_err(|error| match error {
            Refused::Unread(error) => unread(&shown(), error),
            Refused::Entry(problem) => RemoteError::Unfit {
                path: shown(),
                problem,
            },
        })?;
        let writer = BlobWriter {
            bucket: &self.bucket,
            prefix: self.prefix(),
            retention: options.retention.as_ref(),
            sent: AtomicU64::new(0),
        };
        let blobs: Mutex<Vec<(SafePath, Blob)>> = Mutex::new(Vec::with_capacity(files.len()));
        parallel::for_each(&files, FILES_AT_ONCE, |path| {
            let blob = writer.put_file(&folder.join(path.as_str()))?;
            let mut blobs = blobs.lock().unwrap_or_else(PoisonError::into_inner);
            blobs.push((path.clone(), blob));
            Ok::<(), RemoteError>(())
        })?;
        let blobs = blobs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let manifest = RunManifest {
            files: blobs.into_iter().collect(),
            empty_folders: empty_folders.into_iter().collect(),
        };
        let digest = self.publish(&manifest, options)?;
        Ok(Pushed {
            digest,
            reference: self.pinned(digest),
            files: manifest.files.len() as u64,
            bytes: manifest.total_bytes(),
            sent: writer.sent.load(Ordering::Relaxed),
        })
    }

    fn get_run(&self) -> Result<RemoteRun, RemoteError> {
        let found = read_manifest(&self.bucket, &self.address.key)?;
        let (manifest, digest) = found.ok_or_else(|| RemoteError::NotFound {
            place: self.address.to_string(),
        })?;
        check_pin(&self.address, digest)?;
        Ok(RemoteRun {
            manifest: Arc::new(manifest),
            digest,
            blobs: Arc::new(S3Blobs {
                bucket: self.bucket.clone(),
                prefix: self.prefix().to_owned(),
            }),
        })
    }
}

enum Refused {
    Unread(SourceError),
    Entry(String),
}

/// The files of a run, and its empty folders.
fn list_run(source: &DirectorySource) -> Result<(Vec<SafePath>, Vec<SafePath>), Refused> {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in source.entries().map_err(Refused::Unread)? {
        let shown = entry.name.shown().to_owned();
        match (entry.name, entry.kind) {
            (EntryName::Safe(path), EntryKind::File) => files.push(path),
            (EntryName::Safe(path), EntryKind::Directory) => folders.push(path),
            (EntryName::Safe(_), kind) => {
                return Err(Refused::Entry(format!(
                    "`{shown}` is {}, and only files are kept",
                    kind.with_article()
                )));
            }
            (EntryName::Unsafe { .. }, _) => {
                return Err(Refused::Entry(format!("the name `{shown}` is refused")));
            }
        }
    }
    let is_above = |folder: &SafePath, path: &SafePath| {
        let rest = path.as_str().strip_prefix(folder.as_str());
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    // In the order of names, the content of a folder follows the folder directly, except for names
    // such as `a-b` between `a` and `a/b`.
    files.sort_unstable();
    folders.sort_unstable();
    let empty = folders.iter().filter(|folder| {
        let start = format!("{folder}/");
        let has = |paths: &[SafePath]| {
            let at = paths.partition_point(|path| path.as_str() < start.as_str());
            paths.get(at).is_some_and(|path| is_above(folder, path))
        };
        !has(&files) && !has(&folders)
    });
    let empty = empty.cloned().collect();
    Ok((files, empty))
}

fn unread(path: &str, error: SourceError) -> RemoteError {
    let source = match error {
        SourceError::Io { source, .. } => source,
        SourceError::NotFound { .. } => io::ErrorKind::NotFound.into(),
        other => io::Error::other(other),
    };
    RemoteError::Local {
        path: path.to_owned(),
        source,
    }
}

/// The contents below a prefix.
pub(super) struct S3Blobs {
    pub bucket: Arc<Bucket>,
    pub prefix: String,
}

impl BlobStore for S3Blobs {
    fn open_blob(&self, blob: Blob, from: u64) -> Result<Box<dyn Read + Send>, RemoteError> {
        let key = blob_key(&self.prefix, blob.sha256);
        let response = self.bucket.get(&key, from)?;
        let response = response.ok_or_else(|| RemoteError::Corrupt {
            place: self.bucket.shown(&key),
            problem: "it is missing".to_owned(),
        })?;
        match response.declared_length() {
            Some(length) if length != blob.bytes - from => Err(RemoteError::Corrupt {
                place: self.bucket.shown(&key),
                problem: format!("it has {} bytes, not {}", length + from, blob.bytes),
            }),
            _ => Ok(Box::new(response.into_reader())),
        }
    }

    fn blob_name(&self, blob: Blob) -> String {
        self.bucket.shown(&blob_key(&self.prefix, blob.sha256))
    }
}
