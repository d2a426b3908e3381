//! Puts a run into object storage and looks it up there.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use runseal_core::digest::{ContentHash, Digest};
use runseal_core::path::SafePath;
use runseal_fs::atomic::folder_of;
use runseal_fs::input::open_regular;
use runseal_survey::signing::{SIGNATURE_FORMS, SignatureForm};

use super::address::{Pin, S3Address, join};
use super::client::{Bucket, PutOutcome};
use super::contents::{
    Listed, MAX_SIGNATURE_FILE_BYTES, Refused, list_any, signatures_beside, unread,
};
use super::object::replace_object;
use super::upload::{BlobWriter, BytesBody, blob_key};
use crate::blobs::{BlobStore, digest_all};
use crate::error::RemoteError;
use crate::http::Http;
use crate::manifest::{Blob, MAX_MANIFEST_BYTES, RunManifest};
use crate::parallel;
use crate::place::{Pushed, PutOptions, RemoteRun, RunPlace};

/// The number of files sent in parallel.
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
    /// Opens the place at an address such as `s3://bucket/prefix/run_1`.
    ///
    /// # Errors
    /// If this is not the address of a run, or the settings in the environment are not usable.
    pub fn open(address: &str) -> Result<Self, RemoteError> {
        let address = S3Address::parse(address)?;
        if address.key.is_empty() {
            return Err(RemoteError::Address {
                address: address.to_string(),
                problem: "it names a bucket but no run",
            });
        }
        let bucket = Bucket::open(&Http::new(), &address.bucket)?;
        Ok(Self {
            bucket: Arc::new(bucket),
            address,
        })
    }

    /// Returns the last part of the run's name.
    pub fn run_name(&self) -> &str {
        let key = &self.address.key;
        key.rsplit_once('/').map_or(key, |(_, name)| name)
    }

    /// Returns the address, pinned to a digest.
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

    /// Sends a request, to learn whether the server can be used.
    ///
    /// # Errors
    /// If it cannot be reached, does not accept the credentials, or has no such bucket.
    pub fn ask(address: &str) -> Result<(), RemoteError> {
        let address = S3Address::parse(address)?;
        let bucket = Bucket::open(&Http::new(), &address.bucket)?;
        unless_forbidden(read_manifest(&bucket, &address.key)).map(drop)
    }

    /// Returns the address of the run's signatures of this form.
    fn signature_address(&self, form: SignatureForm) -> S3Address {
        S3Address {
            bucket: self.address.bucket.clone(),
            key: format!("{}{}", self.address.key, form.ending()),
            pin: None,
        }
    }

    /// Reads the signatures of the run.
    ///
    /// # Errors
    /// If they cannot be determined.
    pub(super) fn read_signatures(&self) -> Result<Vec<(SignatureForm, Vec<u8>)>, RemoteError> {
        let mut found = Vec::new();
        for form in SIGNATURE_FORMS {
            if let Some(response) = self.bucket.get(&self.signature_address(form).key, 0)? {
                found.push((form, response.into_bytes(MAX_SIGNATURE_FILE_BYTES)?));
            }
        }
        Ok(found)
    }

    /// Stores the signatures next to a folder with its run. Stored signatures are never lost: what is
    /// written begins with them.
    fn write_signatures(&self, folder: &Path) -> Result<Vec<&'static str>, RemoteError> {
        let mut written = Vec::new();
        for (form, bytes) in signatures_beside(folder)? {
            let address = self.signature_address(form);
            let stored = match unless_forbidden(self.bucket.get(&address.key, 0))? {
                Some(response) => Some(response.into_bytes(MAX_SIGNATURE_FILE_BYTES)?),
                None => None,
            };
            match stored.as_deref() {
                Some(stored) if stored == bytes => {}
                Some(stored) if !bytes.starts_with(stored) => {
                    return Err(RemoteError::Taken {
                        place: address.to_string(),
                    });
                }
                stored => replace_object(&address.to_string(), &bytes, stored)?,
            }
            written.push(form.ending());
        }
        Ok(written)
    }

    /// Fails if another run has this name, before anything of this one is sent.
    fn check_free(&self, folder: &Path, listed: &Listed) -> Result<(), RemoteError> {
        let found = unless_forbidden(read_manifest(&self.bucket, &self.address.key))?;
        let Some((stored, _)) = found else {
            return Ok(());
        };
        let taken = || RemoteError::Taken {
            place: self.address.to_string(),
        };
        let has_same_names = stored.files.len() == listed.files.len()
            && stored.empty_folders.iter().eq(&listed.empty_folders);
        if !has_same_names {
            return Err(taken());
        }
        parallel::for_each(&listed.files, FILES_AT_ONCE, |path| {
            let place = folder.join(path.as_str());
            let local = |source| RemoteError::Local {
                path: place.display().to_string(),
                source,
            };
            let blob = stored.files.get(path).ok_or_else(taken)?;
            let (file, bytes) = open_regular(&place)
                .map_err(|error| unread(&place.display().to_string(), error))?;
            if bytes != blob.bytes || digest_all(file).map_err(local)?.0 != blob.sha256 {
                return Err(taken());
            }
            Ok(())
        })
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
        if written == PutOutcome::Existed {
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

/// Returns the key of the manifest of the run at `key`.
pub(super) fn manifest_key(key: &str) -> String {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    join(prefix, &format!("{RUNS}/{name}{MANIFEST}"))
}

/// Reads the manifest of the run at `key`, with its digest; returns `None` if there is none.
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
        let path = folder;
        let listed = list_any(path).map_err(|error| match error {
            Refused::Unread(error) => unread(&path.display().to_string(), error),
            Refused::Entry(problem) => RemoteError::Unfit {
                path: path.display().to_string(),
                problem,
            },
        })?;
        let is_folder = path.is_dir();
        let folder = if is_folder { path } else { folder_of(path) };
        self.check_free(folder, &listed)?;
        let Listed {
            files,
            empty_folders,
        } = listed;
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
        // Before the manifest: whoever finds the run finds its signatures.
        let attached = if is_folder {
            self.write_signatures(path)?
        } else {
            Vec::new()
        };
        let digest = self.publish(&manifest, options)?;
        Ok(Pushed {
            digest,
            reference: self.pinned(digest),
            files: manifest.files.len() as u64,
            bytes: manifest.total_bytes(),
            sent: writer.sent.load(Ordering::Relaxed),
            attached,
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

/// Treats what may not be read as absent: someone who may write but not read learns of conflicts when
/// writing.
fn unless_forbidden<T>(found: Result<Option<T>, RemoteError>) -> Result<Option<T>, RemoteError> {
    match found {
        Err(RemoteError::Forbidden { .. }) => Ok(None),
        other => other,
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
