//! A place for runs beyond this machine, whatever kind of server keeps it.

use std::path::Path;
use std::sync::Arc;

use runseal_core::digest::Digest;

use crate::blobs::BlobStore;
use crate::error::RemoteError;
use crate::manifest::RunManifest;

/// How hard a locked object is to remove before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionMode {
    /// Those with a special permission may still remove it.
    Governance,
    /// Nobody may.
    Compliance,
}

/// Until when what is put may not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// How strictly.
    pub mode: RetentionMode,
    /// The end, as `2027-12-31T00:00:00Z`.
    pub until: String,
}

/// How a run is put.
#[derive(Debug, Clone, Default)]
pub struct PutOptions {
    /// Lock everything that belongs to the run.
    pub retention: Option<Retention>,
}

/// A run that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of the manifest: the same run has the same one, wherever it is kept.
    pub digest: Digest,
    /// The address under which it can be read, with its digest.
    pub reference: String,
    /// Files of the run.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Bytes that had to be sent; the others were there already.
    pub sent: u64,
    /// The endings of the signatures that went along.
    pub attached: Vec<&'static str>,
}

/// A run on a server, found and not yet read.
pub struct RemoteRun {
    /// Its files.
    pub manifest: Arc<RunManifest>,
    /// The digest of the manifest.
    pub digest: Digest,
    /// Where its contents are.
    pub blobs: Arc<dyn BlobStore>,
}

/// One address that a run is put at or got from.
pub trait RunPlace: Sync {
    /// Puts the run in a folder here, with the signatures beside it; a single file as a folder that
    /// holds it. It can be read once everything of it has arrived, and not before. A run that is here
    /// already is left as it is.
    ///
    /// # Errors
    /// When it cannot be read or put, or another run has this name.
    fn put_run(&self, folder: &Path, options: &PutOptions) -> Result<Pushed, RemoteError>;

    /// Finds the run that is here.
    ///
    /// # Errors
    /// When there is none, or it is not the one that the address pins.
    fn get_run(&self) -> Result<RemoteRun, RemoteError>;
}
