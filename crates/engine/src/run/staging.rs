//! The files of a run bundle in the making: JSON stored as JCS, everything hashed as it is
//! written, listed at the end. How the folder gets into its place is [`crate::staging`]'s.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use runseal_core::canon::{CanonError, Dialect, NoCanonicalForm, Value, canonical_bytes};
use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::redacted::commit::Seed;
use runseal_core::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use runseal_core::formats::run_bundle::index::write_index;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACT_INDEX, EXACT_FOLDER, RunId, SUMS, exact_path, is_json,
};
use runseal_core::formats::run_bundle::outputs::find_changed_integers;
use runseal_core::formats::run_bundle::redactable::REDACTABLE;
use runseal_core::formats::run_bundle::sums::write_sums;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};

use crate::atomic::WriteError;
use crate::redact::{Committing, RedactError};
use crate::staging::{Place, Rights, Staging, StagingError, check_place, set_rights};
use crate::stream::{BUFFER, digest_through};
use runseal_core::formats::run_bundle::collect::parse_canonical;

/// Why a file did not get into the bundle.
#[derive(Debug, thiserror::Error)]
pub enum RunFilesError {
    /// The bundle could not be written or did not get into its place.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// A JSON file that cannot be sealed.
    #[error("`{path}` {fault}")]
    Json {
        /// Its path in the bundle.
        path: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A file that is no longer what was verified.
    #[error("`{path}` changed after it was verified: expected sha256 {expected}, actual {actual}")]
    Changed {
        /// Its path where it was read.
        path: String,
        /// What was verified.
        expected: Digest,
        /// What was read.
        actual: Digest,
    },
    /// A value that JCS has no form for.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The index could not be written.
    #[error(transparent)]
    Canon(#[from] CanonError),
}

impl From<WriteError> for RunFilesError {
    fn from(error: WriteError) -> Self {
        Self::Staging(error.into())
    }
}

/// JSON files of a user that have more bytes than this are stored as they are only.
const LARGEST_CANONICAL: u64 = 16 << 20;

/// A file of a user's, with the digest and number of its very bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The digest.
    pub sha256: Digest,
    /// How many there are.
    pub bytes: u64,
    /// Where in the bundle they are; nothing where they were only hashed.
    pub place: Option<String>,
}

/// The files of a run bundle in the making.
#[derive(Debug)]
pub struct RunFiles {
    staging: Staging,
    out: PathBuf,
    /// Every file so far, in the order they came in.
    files: Vec<(Box<str>, Digest)>,
    buffer: Vec<u8>,
}

impl RunFiles {
    /// Begins a bundle below the folder `out`, which is made where it is missing.
    pub fn begin(out: &Path) -> Result<Self, RunFilesError> {
        Ok(Self {
            staging: Staging::begin(out)?,
            out: out.to_owned(),
            files: Vec::new(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Where the files are for now.
    pub fn path(&self) -> &Path {
        self.staging.path()
    }

    /// Fails where `run_id` is taken.
    pub fn check_free(out: &Path, run_id: &RunId) -> Result<(), RunFilesError> {
        Ok(check_place(&out.join(run_id.as_str()), Place::Free)?)
    }

    /// Stores a value as its JCS bytes.
    pub fn put_json(&mut self, path: &str, value: &Value) -> Result<(), RunFilesError> {
        let bytes = canonical_bytes(value, Dialect::Jcs)?;
        self.put_bytes(path, &bytes)
    }

    /// Stores bytes as they are.
    pub fn put_bytes(&mut self, path: &str, bytes: &[u8]) -> Result<(), RunFilesError> {
        self.staging.put(path, bytes)?;
        self.files.push((path.into(), Digest::of(bytes)));
        Ok(())
    }

    /// Copies a file out of `source`: JSON as its JCS bytes, anything else as it streams by.
    pub fn copy(
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

    /// Copies a file that was verified to have the digest `expected`. What has another one by now
    /// is refused: it is not what was verified.
    pub fn copy_verified(
        &mut self,
        source: &dyn Source,
        from: &SafePath,
        to: &str,
        expected: Digest,
    ) -> Result<(), RunFilesError> {
        let actual = self.copy(source, from, to)?;
        if actual == expected {
            Ok(())
        } else {
            Err(RunFilesError::Changed {
                path: from.to_string(),
                expected,
                actual,
            })
        }
    }

    fn put_json_text(&mut self, to: &str, bytes: &[u8]) -> Result<Digest, RunFilesError> {
        let refuse = |fault: String| RunFilesError::Json {
            path: to.to_owned(),
            fault,
        };
        let (document, digest, _) = parse_canonical(bytes)
            .map_err(|fault| refuse(format!("is no JSON that can be sealed: {fault}")))?;
        let value = document.root().to_value();
        if let Some(pointer) = find_changed_integers(&value).first() {
            return Err(refuse(format!(
                "holds an integer that JCS would change: {pointer}"
            )));
        }
        self.put_json(to, &value)?;
        Ok(digest)
    }

    /// Stores a file of a user's below `to`, whose very bytes count: a JSON file as its JCS there,
    /// and as it is in `exact/`; one without a JCS that keeps its value, or a large one, only so.
    pub fn put_user_file(
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
            Ok((document, _, false))
                if find_changed_integers(&document.root().to_value()).is_empty() =>
            {
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

    /// Hashes a file of a user's without storing it.
    pub fn digest_user_file(
        &mut self,
        mut file: &File,
        size: u64,
        shown: &str,
    ) -> Result<Stored, RunFilesError> {
        let digest = digest_through(&mut file, size, &mut self.buffer, |_| Ok(()));
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
        let copied = digest_through(reader, size, &mut self.buffer, |piece| {
            copy.write_all(piece)
        });
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
        let copied = digest_through(&mut *reader, 0, &mut self.buffer, |piece| {
            file.write_all(piece)
        });
        let (digest, _) = copied.map_err(WriteError::at(&place))?;
        self.files.push((to.into(), digest));
        Ok(digest)
    }

    /// Makes everything readable for the user that engines run as.
    pub fn open_up(&self, path: &Path) -> Result<(), RunFilesError> {
        Ok(set_rights(path, 0o755, 0o444)?)
    }

    /// Adds the commitment over everything stored so far, so that parts of it can be withheld
    /// later. Comes last before the lists: what is added afterwards is not committed to.
    pub fn put_commitment(&mut self, seed: &Seed) -> Result<(), RunFilesError> {
        let mut committing = Committing::begin(&REDACTABLE, seed);
        for (path, digest) in &self.files {
            let place = self.staging.path().join(&**path);
            let size = fs::metadata(&place).map_err(|source| io_error(path, source))?;
            let open = || File::open(&place).map_err(|source| io_error(path, source));
            let added = committing.add(path, (*digest, size.len()), || {
                open().map_err(|error| RedactError::NoCommitment(error.to_string()))
            });
            added.map_err(|error| RunFilesError::Json {
                path: path.to_string(),
                fault: format!("cannot be committed to: {error}"),
            })?;
        }
        let (redaction, salt) = committing.end();
        self.put_json(REDACTION, &redaction.to_value())?;
        self.put_json(REDACTION_SALT, &Value::object([("salt", salt)]))
    }

    /// Adds the index and the sums over everything stored so far.
    pub fn put_lists(&mut self) -> Result<(), RunFilesError> {
        self.files.sort_unstable();
        self.put_index()?;
        self.files.sort_unstable();
        let sums = write_sums(&self.files);
        self.put_bytes(SUMS, sums.as_bytes())
    }

    /// Writes the index entry by entry: it is as long as there are files.
    fn put_index(&mut self) -> Result<(), RunFilesError> {
        let (file, place) = self.staging.create(ARTIFACT_INDEX)?;
        let mut sink = HashedFile {
            file: io::BufWriter::new(file),
            hasher: Hasher::new(),
        };
        write_index(&self.files, &mut sink)?;
        sink.flush().map_err(WriteError::at(&place))?;
        self.files
            .push((ARTIFACT_INDEX.into(), sink.hasher.finish()));
        Ok(())
    }

    /// Where the bundle is to stand.
    pub fn target(&self, run_id: &RunId) -> PathBuf {
        self.out.join(run_id.as_str())
    }

    /// Puts the bundle into its place, read-only, if `verify` accepts it and nothing is there.
    pub fn seal<E: From<RunFilesError>>(
        self,
        run_id: &RunId,
        verify: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        struct Failed<E>(E);
        impl<E: From<RunFilesError>> From<StagingError> for Failed<E> {
            fn from(error: StagingError) -> Self {
                Self(RunFilesError::from(error).into())
            }
        }
        let target = self.out.join(run_id.as_str());
        // What is not needed to publish is not held while the bundle is verified.
        drop((self.files, self.buffer));
        let sealed = self
            .staging
            .publish(&target, (Place::Free, Rights::ReadOnly), |staged| {
                verify(staged).map_err(Failed)
            });
        match sealed {
            Ok(()) => Ok(target),
            Err(Failed(error)) => Err(error),
        }
    }
}

/// A file that is hashed as it is written.
struct HashedFile {
    file: io::BufWriter<File>,
    hasher: Hasher,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn io_error(path: &str, source: io::Error) -> RunFilesError {
    let path = path.to_owned();
    RunFilesError::Read(SourceError::Io { path, source })
}

#[cfg(test)]
mod tests {
    use runseal_core::source::MemorySource;

    use super::*;

    #[test]
    fn copy_of_a_file_that_changed_after_it_was_verified_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = RunFiles::begin(folder.path()).unwrap();
        let path = SafePath::parse("artifacts/data.json").unwrap();
        let verified = Digest::of(b"{}");
        let sound = MemorySource::new([(path.clone(), b"{}".to_vec())]);
        let swapped = MemorySource::new([(path.clone(), b"[]".to_vec())]);
        files
            .copy_verified(&sound, &path, "upstream/a.json", verified)
            .unwrap();
        let refused = files.copy_verified(&swapped, &path, "upstream/b.json", verified);
        assert!(matches!(refused, Err(RunFilesError::Changed { .. })));
    }
}
