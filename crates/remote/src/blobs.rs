//! Reads the content of files from an untrusted server: the bytes are hashed and bounded by the
//! declared size, and an interrupted transfer is resumed.

use std::io::{self, Read};
use std::sync::Arc;

use runseal_core::digest::{Digest, Hasher};
use runseal_core::path::SafePath;
use runseal_core::source::{
    Entry, EntryKind, EntryName, Seen, Source, SourceError, Want, look, read_bounded,
};

use crate::error::RemoteError;
use crate::manifest::{Blob, RunManifest};
use crate::parallel;

/// How often in a row an interrupted read is resumed without receiving a single byte.
const RESUMPTIONS: u32 = 4;

/// A store that keeps contents by their digests.
pub trait BlobStore: Send + Sync {
    /// Opens a blob at an offset. Its bytes are not yet checked.
    ///
    /// # Errors
    /// If they cannot be read, or the server declares a size other than that of `blob`.
    fn open_blob(&self, blob: Blob, from: u64) -> Result<Box<dyn Read + Send>, RemoteError>;

    /// Returns the name of a blob for messages.
    fn blob_name(&self, blob: Blob) -> String;
}

/// A blob as it arrives. It yields at most the declared number of bytes, and reports its end only
/// if they have the declared digest: reading to the end returns the right bytes or an error.
pub(crate) struct BlobReader {
    store: Arc<dyn BlobStore>,
    blob: Blob,
    hasher: Option<Hasher>,
    arriving: Option<Box<dyn Read + Send>>,
    at: u64,
    losses: u32,
}

impl BlobReader {
    /// Starts reading at the beginning.
    pub(crate) fn open(store: &Arc<dyn BlobStore>, blob: Blob) -> Result<Self, RemoteError> {
        Self::resume_at(store, blob, 0, Hasher::new())
    }

    /// Continues after the first `from` bytes, which `hasher` has already seen.
    pub(crate) fn resume_at(
        store: &Arc<dyn BlobStore>,
        blob: Blob,
        from: u64,
        hasher: Hasher,
    ) -> Result<Self, RemoteError> {
        let arriving = if blob.bytes > from {
            Some(store.open_blob(blob, from)?)
        } else {
            None
        };
        Ok(Self {
            store: store.clone(),
            blob,
            hasher: Some(hasher),
            arriving,
            at: from,
            losses: 0,
        })
    }

    fn corrupt(&self, problem: String) -> io::Error {
        corrupt(RemoteError::Corrupt {
            place: self.store.blob_name(self.blob),
            problem,
        })
    }

    /// Checks the digest once all declared bytes have arrived.
    fn finish(&mut self) -> io::Result<usize> {
        let Some(hasher) = self.hasher.take() else {
            return Ok(0);
        };
        // Also read the end of the response, so that the connection can be reused.
        let is_longer = self.arriving.take().is_some_and(|mut arriving| {
            let after = arriving.read(&mut [0]);
            after.is_ok_and(|count| count > 0)
        });
        if is_longer {
            return Err(self.corrupt(format!("it has more than {} bytes", self.blob.bytes)));
        }
        let found = hasher.finish();
        if found == self.blob.sha256 {
            Ok(0)
        } else {
            Err(self.corrupt(format!("its bytes have the digest {found}")))
        }
    }

    /// Requests the rest after the connection broke off.
    fn resume(&mut self, error: io::Error) -> io::Result<()> {
        self.losses += 1;
        if self.losses > RESUMPTIONS {
            return Err(error);
        }
        let rest = self.store.open_blob(self.blob, self.at);
        self.arriving = Some(rest.map_err(into_io)?);
        Ok(())
    }
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.blob.bytes - self.at;
            if left == 0 {
                return self.finish();
            }
            let Some(arriving) = &mut self.arriving else {
                return Ok(0);
            };
            let most = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            match arriving.read(&mut buffer[..most]) {
                Ok(0) if most == 0 => return Ok(0),
                Ok(0) => {
                    let ended = io::Error::from(io::ErrorKind::UnexpectedEof);
                    match self.resume(ended) {
                        Ok(()) => {}
                        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                            let problem =
                                format!("it ends after {} of {} bytes", self.at, self.blob.bytes);
                            return Err(self.corrupt(problem));
                        }
                        Err(error) => return Err(error),
                    }
                }
                Ok(count) => {
                    if let Some(hasher) = &mut self.hasher {
                        hasher.update(&buffer[..count]);
                    }
                    self.at += count as u64;
                    self.losses = 0;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.resume(error)?,
            }
        }
    }
}

fn corrupt(error: RemoteError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Wraps a remote error as an I/O error; its message is kept.
pub(crate) fn into_io(error: RemoteError) -> io::Error {
    let kind = match &error {
        RemoteError::NotFound { .. } => io::ErrorKind::NotFound,
        RemoteError::Corrupt { .. } => io::ErrorKind::InvalidData,
        RemoteError::Unauthorized { .. }
        | RemoteError::Expired { .. }
        | RemoteError::Forbidden { .. }
        | RemoteError::NoCredentials { .. } => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// A run whose files are read from a server on demand; nothing is written to disk.
pub struct RunSource {
    manifest: Arc<RunManifest>,
    store: Arc<dyn BlobStore>,
    /// The folder of the run that this source is rooted at; empty for the run itself.
    folder: String,
    connections: usize,
}

impl RunSource {
    /// Creates a source for a run; files are read over up to `connections` connections.
    pub fn new(manifest: Arc<RunManifest>, store: Arc<dyn BlobStore>, connections: usize) -> Self {
        Self {
            manifest,
            store,
            folder: String::new(),
            connections,
        }
    }

    /// Roots the source at a folder of the run.
    #[must_use]
    pub fn below(mut self, folder: &SafePath) -> Self {
        self.folder = format!("{folder}/");
        self
    }

    fn blob(&self, path: &SafePath) -> Result<Blob, SourceError> {
        let name = SafePath::parse(&format!("{}{path}", self.folder));
        let found = name.ok().and_then(|name| self.manifest.files.get(&name));
        if let Some(blob) = found {
            return Ok(*blob);
        }
        let shown = path.to_string();
        let name = format!("{}{path}", self.folder);
        if self.manifest.folders().contains(name.as_str()) {
            Err(SourceError::NotAFile {
                path: shown,
                kind: EntryKind::Directory,
            })
        } else {
            Err(SourceError::NotFound { path: shown })
        }
    }

    fn reader(&self, path: &SafePath) -> Result<(BlobReader, Blob), SourceError> {
        let blob = self.blob(path)?;
        let reader = BlobReader::open(&self.store, blob).map_err(|error| SourceError::Io {
            path: path.to_string(),
            source: into_io(error),
        })?;
        Ok((reader, blob))
    }
}

impl Source for RunSource {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let folders = self.manifest.folders();
        let folders = folders.into_iter().map(|name| (name, EntryKind::Directory));
        let files = self.manifest.files.keys();
        let files = files.map(|path| (path.as_str(), EntryKind::File));
        let below = files
            .chain(folders)
            .filter_map(|(name, kind)| Some((name.strip_prefix(&self.folder)?, kind)));
        let mut entries: Vec<_> = below
            .map(|(name, kind)| Entry {
                name: EntryName::from_bytes(name.as_bytes()),
                kind,
            })
            .collect();
        entries.sort_unstable_by(|a, b| a.name.shown().cmp(b.name.shown()));
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        Ok(Box::new(self.reader(path)?.0))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let (reader, blob) = self.reader(path)?;
        if blob.bytes > limit {
            return Err(SourceError::TooLarge {
                path: path.to_string(),
                limit,
            });
        }
        read_bounded(reader, path.as_str(), blob.bytes, limit)
    }

    fn visit(&self, files: &[(SafePath, Want)], see: &(dyn Fn(usize, Seen) + Sync)) {
        let numbered: Vec<_> = files.iter().enumerate().collect();
        let all: Result<(), std::convert::Infallible> =
            parallel::for_each(&numbered, self.connections, |(at, (path, want))| {
                see(*at, look(self, path, *want));
                Ok(())
            });
        match all {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }
}

/// Reads to the end; returns the digest and the number of bytes.
pub(crate) fn digest_all(mut reader: impl Read) -> io::Result<(Digest, u64)> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    let mut bytes = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finish(), bytes)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
