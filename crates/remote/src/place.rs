//! A remote place for runs, on any kind of server.

use std::path::Path;
use std::sync::Arc;

use runseal_core::digest::Digest;

use crate::blobs::BlobStore;
use crate::error::RemoteError;
use crate::manifest::RunManifest;

/// Who may delete a locked object before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionMode {
    /// Users with a special permission.
    Governance,
    /// Nobody.
    Compliance,
}

/// A lock that keeps stored objects from being deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Who may still delete them.
    pub mode: RetentionMode,
    /// The end of the lock, such as `2027-12-31T00:00:00Z`.
    pub until: String,
}

/// Options for putting a run.
#[derive(Debug, Clone, Default)]
pub struct PutOptions {
    /// A lock on everything that belongs to the run.
    pub retention: Option<Retention>,
}

/// The result of putting a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of the manifest; the same for the same run, wherever it is stored.
    pub digest: Digest,
    /// The address of the run, pinned to its digest.
    pub reference: String,
    /// The number of files.
    pub files: u64,
    /// The total size of the files in bytes.
    pub bytes: u64,
    /// The bytes sent; the rest was already stored.
    pub sent: u64,
    /// The file endings of the signatures stored with it.
    pub attached: Vec<&'static str>,
}

/// A run on a server that was looked up but not yet read.
pub struct RemoteRun {
    /// Its files.
    pub manifest: Arc<RunManifest>,
    /// The digest of the manifest.
    pub digest: Digest,
    /// The store of its contents.
    pub blobs: Arc<dyn BlobStore>,
}

/// An address at which a run can be put or read.
pub trait RunPlace: Sync {
    /// Stores the run in `folder` here, with the signatures next to it; a single file is stored as a
    /// folder with that file. The run becomes visible only once all of it has arrived. A run that is
    /// already here is not changed.
    ///
    /// # Errors
    /// If it cannot be read or stored, or another run has this name.
    fn put_run(&self, folder: &Path, options: &PutOptions) -> Result<Pushed, RemoteError>;

    /// Looks up the run at this address.
    ///
    /// # Errors
    /// If there is none, or it is not the one that the address pins.
    fn get_run(&self) -> Result<RemoteRun, RemoteError>;
}
