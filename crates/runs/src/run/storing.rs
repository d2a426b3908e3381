//! Adds single files to a run bundle: JSON in its JCS form, everything hashed as it is written.
//! Several threads can do this in parallel, each with its own [`Storing`].

use std::fs::File;
use std::io::{self, Read, Write};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::collect::parse_canonical;
use runseal_core::formats::run_bundle::layout::{EXACT_FOLDER, exact_path, is_json};
use runseal_core::formats::run_bundle::outputs::find_changed_integer;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};

use super::staging::RunFilesError;
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::Staging;
use runseal_fs::stream::digest_through;

/// A user's JSON files that are larger than this are stored unchanged only.
const LARGEST_CANONICAL: u64 = 16 << 20;

/// A user's file, with the digest and length of its exact bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// SHA-256 of the bytes as they were read.
    pub sha256: Digest,
    /// Their number.
    pub bytes: u64,
    /// Their path in the bundle; `None` if they were only hashed.
    pub place: Option<String>,
}

/// Stores files in a bundle, and records each with its digest.
pub(crate) struct Storing<'a> {
    pub(super) staging: &'a Staging,
    pub(super) files: &'a mut Vec<(Box<str>, Digest)>,
    pub(super) buffer: &'a mut [u8],
}

impl Storing<'_> {
    /// Stores a value as its JCS bytes.
    pub(crate) fn put_json(&mut self, path: &str, value: &Value) -> Result<(), RunFilesError> {
        let bytes = canonical_bytes(value, Dialect::Jcs)?;
        self.put_bytes(path, &bytes)
    }

    /// Stores bytes unchanged.
    pub(crate) fn put_bytes(&mut self, path: &str, bytes: &[u8]) -> Result<(), RunFilesError> {
        self.staging.put(path, bytes)?;
        self.files.push((path.into(), Digest::of(bytes)));
        Ok(())
    }

    /// Stores bytes with a known digest unchanged.
    pub(crate) fn put_known(
        &mut self,
        path: &str,
        bytes: &[u8],
        sha256: Digest,
    ) -> Result<Stored, RunFilesError> {
        self.staging.put(path, bytes)?;
        self.files.push((path.into(), sha256));
        Ok(Stored {
            sha256,
            bytes: bytes.len() as u64,
            place: Some(path.to_owned()),
        })
    }

    /// Copies a file from `source`: JSON as its JCS bytes, anything else unchanged.
    pub(crate) fn copy(
        &mut self,
        source: &dyn Source,
        from: &SafePath,
        to: &str,
    ) -> Result<Digest, RunFilesError> {
        if is_json(to) {
            let bytes = source.read(from, JsonLimits::LARGEST_DOCUMENT)?;
            return self.put_json_text(to, &bytes);
        }
        self.copy_bytes(source, from, to)
    }

    fn put_json_text(&mut self, to: &str, bytes: &[u8]) -> Result<Digest, RunFilesError> {
        let refuse = |fault: String| RunFilesError::Json {
            path: to.to_owned(),
            fault,
        };
        let (document, digest, _) = parse_canonical(bytes)
            .map_err(|fault| refuse(format!("is not JSON that can be sealed: {fault}")))?;
        let value = document.root().to_value();
        if let Some(pointer) = find_changed_integer(document.root()) {
            return Err(refuse(format!(
                "holds an integer that JCS would change: {pointer}"
            )));
        }
        self.put_json(to, &value)?;
        Ok(digest)
    }

    /// Stores a user's file, whose exact bytes matter, below `to`. JSON is stored there in its JCS
    /// form and unchanged in `exact/`; JSON that is large, or whose JCS form would change its
    /// value, only unchanged.
    pub(crate) fn put_user_file(
        &mut self,
        mut file: &File,
        size: u64,
        to: &str,
    ) -> Result<Stored, RunFilesError> {
        if !is_json(to) {
            return self.put_stream(&mut file, size, to);
        }
        let raw = format!("{EXACT_FOLDER}/{to}.raw");
        if size > LARGEST_CANONICAL {
            return self.put_stream(&mut file, size, &raw);
        }
        let mut bytes = Vec::new();
        let read = file.take(LARGEST_CANONICAL + 1).read_to_end(&mut bytes);
        read.map_err(|source| io_error(to, source))?;
        let place = match parse_canonical(&bytes) {
            Ok((_, _, true)) => to.to_owned(),
            Ok((document, _, false)) if find_changed_integer(document.root()).is_none() => {
                self.put_json(to, &document.root().to_value())?;
                exact_path(to)
            }
            _ => raw,
        };
        self.put_bytes(&place, &bytes)?;
        Ok(Stored {
            sha256: Digest::of(&bytes),
            bytes: bytes.len() as u64,
            place: Some(place),
        })
    }

    /// Hashes a user's file without storing it.
    pub(crate) fn digest_user_file(
        &mut self,
        mut file: &File,
        size: u64,
        shown: &str,
    ) -> Result<Stored, RunFilesError> {
        let digest = digest_through(&mut file, size, self.buffer, |_| Ok(()));
        let (sha256, bytes) = digest.map_err(|source| io_error(shown, source))?;
        Ok(Stored {
            sha256,
            bytes,
            place: None,
        })
    }

    fn put_stream(
        &mut self,
        reader: &mut dyn Read,
        size: u64,
        to: &str,
    ) -> Result<Stored, RunFilesError> {
        let (mut copy, place) = self.staging.create(to)?;
        let copied = digest_through(reader, size, self.buffer, |piece| copy.write_all(piece));
        let (sha256, bytes) = copied.map_err(WriteError::at(&place))?;
        self.files.push((to.into(), sha256));
        Ok(Stored {
            sha256,
            bytes,
            place: Some(to.to_owned()),
        })
    }

    fn copy_bytes(
        &mut self,
        source: &dyn Source,
        from: &SafePath,
        to: &str,
    ) -> Result<Digest, RunFilesError> {
        let mut reader = source.open(from)?;
        let (mut file, place) = self.staging.create(to)?;
        let copied = digest_through(&mut *reader, 0, self.buffer, |piece| file.write_all(piece));
        let (digest, _) = copied.map_err(WriteError::at(&place))?;
        self.files.push((to.into(), digest));
        Ok(digest)
    }
}

pub(super) fn io_error(path: &str, source: io::Error) -> RunFilesError {
    let path = path.to_owned();
    RunFilesError::Read(SourceError::Io { path, source })
}
