//! The operations of a place that keeps artifacts: a repository on a registry, or a local layout.
//!
//! Nothing that such a place returns is trusted: [`read_manifest`] and [`CheckedBlob`] check digest
//! and size against what was requested.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use runseal_core::digest::{ContentHash, Digest, Hasher};

use super::OciError;
use super::manifest::{Descriptor, Index, MAX_MANIFEST};

/// Bytes that can be read again from any offset, so that an interrupted transfer can be resumed.
pub trait Content: Sync {
    /// Opens the bytes from `offset` on.
    ///
    /// # Errors
    /// If they can no longer be read.
    fn open_at(&self, offset: u64) -> io::Result<Box<dyn Read + Send + '_>>;
}

impl Content for &[u8] {
    fn open_at(&self, offset: u64) -> io::Result<Box<dyn Read + Send + '_>> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(Box::new(self.get(from..).unwrap_or_default()))
    }
}

/// How a manifest is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestName {
    /// By a tag.
    Tag(String),
    /// By its digest.
    Digest(Digest),
    /// As the only artifact of a layout.
    Only,
}

impl fmt::Display for ManifestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => write!(f, "{}", ContentHash::from(*digest)),
            Self::Only => f.write_str("the only artifact"),
        }
    }
}

/// The attachments of a manifest, as a place reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Referrers {
    /// Everything that is attached.
    Listed(Index),
    /// The place keeps no such list; clients keep one under a tag.
    Unsupported,
}

/// Who lists a new manifest among those attached to its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectListing {
    /// The place.
    ByThePlace,
    /// The client that pushed it.
    ByTheClient,
}

/// A place that keeps artifacts under one name.
pub trait Repository: Send + Sync {
    /// Returns the place's name for messages.
    fn shown(&self) -> String;

    /// Whether a blob exists.
    ///
    /// # Errors
    /// If this cannot be determined.
    fn has_blob(&self, blob: &Descriptor) -> Result<bool, OciError>;

    /// Stores a blob.
    ///
    /// # Errors
    /// If it cannot be stored, or `content` differs from what `blob` says.
    fn put_blob(&self, blob: &Descriptor, content: &dyn Content) -> Result<(), OciError>;

    /// Opens a blob as the place returns it, unchecked.
    ///
    /// # Errors
    /// If it does not exist or cannot be read.
    fn open_blob(&self, blob: &Descriptor) -> Result<Box<dyn Read + Send + '_>, OciError>;

    /// Returns a manifest or index, unchecked; `None` if it does not exist.
    ///
    /// # Errors
    /// If this cannot be determined, or it has more than [`MAX_MANIFEST`] bytes.
    fn get_manifest(&self, name: &ManifestName) -> Result<Option<Vec<u8>>, OciError>;

    /// Stores a manifest or index, under a tag if one is given.
    ///
    /// # Errors
    /// If it cannot be stored.
    fn put_manifest(
        &self,
        manifest: &Descriptor,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<SubjectListing, OciError>;

    /// Lists the attachments of a manifest.
    ///
    /// # Errors
    /// If this cannot be determined.
    fn list_referrers(&self, subject: Digest) -> Result<Referrers, OciError>;

    /// Completes writing. Most places have nothing left to do.
    ///
    /// # Errors
    /// If what was written cannot be made visible.
    fn finish(self: Box<Self>) -> Result<(), OciError> {
        Ok(())
    }
}

/// Reads a manifest, and checks its digest if it is named by digest.
///
/// # Errors
/// If it does not exist, or has another digest.
pub fn read_manifest(
    repository: &dyn Repository,
    name: &ManifestName,
) -> Result<(Digest, Vec<u8>), OciError> {
    let place = || format!("{} {name}", repository.shown());
    let bytes = repository.get_manifest(name)?;
    let bytes = bytes.ok_or_else(|| OciError::NotFound(place()))?;
    let digest = Digest::of(&bytes);
    match name {
        ManifestName::Digest(wanted) if *wanted != digest => Err(OciError::OtherContent {
            what: format!("the manifest at `{}`", repository.shown()),
            expected: *wanted,
            actual: digest,
        }),
        _ => Ok((digest, bytes)),
    }
}

/// Reads a whole small blob and checks it.
///
/// # Errors
/// If its descriptor declares more than `limit` bytes, or the blob differs from the descriptor.
pub fn read_blob(
    repository: &dyn Repository,
    blob: &Descriptor,
    limit: u64,
) -> Result<Vec<u8>, OciError> {
    if blob.size > limit.min(u64::from(u32::MAX)) {
        return Err(OciError::Malformed {
            what: ContentHash::from(blob.digest).to_string(),
            why: format!("it has {} bytes; at most {limit} are read", blob.size),
        });
    }
    let failure = Failure::default();
    let reader = repository.open_blob(blob)?;
    let mut bytes = Vec::new();
    let mut checked = CheckedBlob::new(reader, blob, failure.clone());
    let read = checked.read_to_end(&mut bytes);
    failure.or(read.map_err(OciError::from))?;
    Ok(bytes)
}

/// Keeps the typed error of a reader, which the standard library's I/O error would hide.
#[derive(Debug, Clone, Default)]
pub struct Failure(Arc<Mutex<Option<OciError>>>);

impl Failure {
    /// Keeps the error if it is the first; returns an I/O error to report instead.
    pub fn note(&self, error: OciError) -> io::Error {
        let message = error.to_string();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
        io::Error::other(message)
    }

    /// Returns the noted error, if any; else `result`.
    ///
    /// # Errors
    /// The noted error, or that of `result`.
    pub fn or<T>(&self, result: Result<T, OciError>) -> Result<T, OciError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.take() {
            Some(error) => Err(error),
            None => result,
        }
    }
}

/// A blob as it arrives, bounded by its size; reading its end fails if it differs from its
/// descriptor.
pub struct CheckedBlob<R> {
    inner: R,
    /// `None` once the end was reached.
    hasher: Option<Hasher>,
    expected: Digest,
    left: u64,
    size: u64,
    failure: Failure,
}

impl<R: Read> CheckedBlob<R> {
    /// Checks `inner` against `blob`.
    pub fn new(inner: R, blob: &Descriptor, failure: Failure) -> Self {
        Self {
            inner,
            hasher: Some(Hasher::new()),
            expected: blob.digest,
            left: blob.size,
            size: blob.size,
            failure,
        }
    }

    fn finish(&mut self) -> Result<(), OciError> {
        let Some(hasher) = self.hasher.take() else {
            return Ok(());
        };
        let what = || ContentHash::from(self.expected).to_string();
        if self.left > 0 {
            return Err(OciError::OtherSize {
                what: what(),
                expected: self.size,
                actual: format!("{} bytes", self.size - self.left),
            });
        }
        // There is more than the descriptor declares.
        if self.inner.read(&mut [0])? > 0 {
            return Err(OciError::OtherSize {
                what: what(),
                expected: self.size,
                actual: "more".to_owned(),
            });
        }
        match hasher.finish() {
            actual if actual == self.expected => Ok(()),
            actual => Err(OciError::OtherContent {
                what: "a blob".to_owned(),
                expected: self.expected,
                actual,
            }),
        }
    }
}

impl<R: Read> Read for CheckedBlob<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let count = match most {
            0 => 0,
            most => match self.inner.read(&mut buffer[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => return Err(self.failure.note(OciError::from(error))),
                Ok(count) => count,
            },
        };
        if let (Some(hasher), 1..) = (&mut self.hasher, count) {
            hasher.update(&buffer[..count]);
        }
        self.left -= count as u64;
        // Return the last bytes only after the digest was checked.
        if count == 0 || self.left == 0 {
            self.finish().map_err(|error| self.failure.note(error))?;
        }
        Ok(count)
    }
}

/// The limit of [`read_blob`] for documents.
pub const SMALL_BLOB: u64 = MAX_MANIFEST;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::manifest::FILE;

    fn read(bytes: &[u8], blob: &Descriptor) -> Result<Vec<u8>, OciError> {
        let failure = Failure::default();
        let mut found = Vec::new();
        let mut reader = CheckedBlob::new(bytes, blob, failure.clone());
        let read = reader.read_to_end(&mut found);
        failure.or(read.map_err(OciError::from))?;
        Ok(found)
    }

    #[test]
    fn blob_with_other_size_or_digest_than_described_is_refused() {
        let blob = Descriptor::of(FILE, b"hello");
        assert_eq!(read(b"hello", &blob).unwrap(), b"hello");
        let short = read(b"hell", &blob).unwrap_err();
        assert!(matches!(short, OciError::OtherSize { .. }), "{short}");
        let long = read(b"hello!", &blob).unwrap_err();
        assert!(matches!(long, OciError::OtherSize { .. }), "{long}");
        let other = read(b"hellO", &blob).unwrap_err();
        assert!(matches!(other, OciError::OtherContent { .. }), "{other}");
        let lying = Descriptor {
            size: 4,
            ..blob.clone()
        };
        assert!(read(b"hello", &lying).is_err());
        let empty = Descriptor::of(FILE, b"");
        assert_eq!(read(b"", &empty).unwrap(), b"");
        assert!(read(b"x", &empty).is_err());
    }
}
