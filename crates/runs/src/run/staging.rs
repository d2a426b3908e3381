//! The files of a run bundle under construction: each is hashed as it is written, and all are
//! listed at the end. [`runseal_fs::staging`] publishes the folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use runseal_core::canon::{CanonError, NoCanonicalForm, Value};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::redacted::commit::Seed;
use runseal_core::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use runseal_core::formats::run_bundle::index::write_index;
use runseal_core::formats::run_bundle::layout::{ARTIFACT_INDEX, RunId, SUMS};
use runseal_core::formats::run_bundle::redactable::REDACTABLE;
use runseal_core::formats::run_bundle::sums::write_sums;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};

pub use super::storing::Stored;
pub(crate) use super::storing::Storing;
use super::storing::io_error;
use runseal_fs::atomic::WriteError;
use runseal_fs::handles::{open_folder, set_mode};
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place, set_rights};
use runseal_fs::stream::BUFFER;
use runseal_fs::threads::{Task, processors};
use runseal_fs::unfinished::{ClaimedName, UnfinishedFile};
use runseal_redact::{Committing, RedactError};

/// Why a file could not be added to the bundle.
#[derive(Debug, thiserror::Error)]
pub enum RunFilesError {
    /// The bundle could not be written or published.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// A JSON file cannot be sealed.
    #[error("`{path}` {fault}")]
    Json {
        /// Its path in the bundle.
        path: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A value that has no JCS form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The index could not be written.
    #[error(transparent)]
    Canon(#[from] CanonError),
}

impl Diagnose for RunFilesError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Staging(StagingError::Write(error)) => error.diagnosis(),
            Self::Staging(StagingError::Exists(_)) => Diagnosis::unreadable(self, "EXISTS")
                .hint("choose another `--run-id` or another `--out`"),
            Self::Json { .. } | Self::NoForm(_) | Self::Canon(_) => {
                Diagnosis::invalid(self, "JSON").message(self.to_string())
            }
        }
    }
}

impl From<WriteError> for RunFilesError {
    fn from(error: WriteError) -> Self {
        Self::Staging(error.into())
    }
}

/// The most threads that store files in parallel: they mostly wait for the lock of one folder.
const MOST_STORING: usize = 4;
/// Fewer files than this are not worth another thread.
const FEW: usize = 32;

/// The most ids that are tried by adding a number to one.
const MOST_OF_ONE_ID: u32 = 10_000;

/// The files of a run bundle under construction.
#[derive(Debug)]
pub struct RunFiles {
    staging: Staging,
    out: PathBuf,
    /// Every file so far, in the order in which they were added.
    files: Vec<(Box<str>, Digest)>,
    buffer: Vec<u8>,
    /// The chosen id, reserved against other processes until the bundle has it.
    claim: Option<ClaimedName>,
}

impl RunFiles {
    /// Begins a bundle below the folder `out`, which is created if it does not exist.
    pub fn begin(out: &Path) -> Result<Self, RunFilesError> {
        Ok(Self {
            staging: Staging::begin_with(out, Rights::ReadOnly)?,
            out: out.to_owned(),
            files: Vec::new(),
            buffer: vec![0; BUFFER],
            claim: None,
        })
    }

    /// The current path of the files.
    pub fn path(&self) -> &Path {
        self.staging.path()
    }

    /// A path to read by what was stored, whatever has the folder's name by now.
    pub(crate) fn reading_path(&self) -> PathBuf {
        self.staging.reading_path()
    }

    /// The paths of what was stored so far.
    pub(crate) fn stored(&self) -> impl Iterator<Item = String> + '_ {
        self.files.iter().map(|(path, _)| path.to_string())
    }

    /// Fails if `run_id` is taken.
    pub fn check_free(out: &Path, run_id: &RunId) -> Result<(), RunFilesError> {
        Ok(check_place(&out.join(run_id.as_str()), Place::Free)?)
    }

    /// Fails if no bundle can be written below `out`, which is not created.
    pub fn check_writable(out: &Path) -> Result<(), RunFilesError> {
        let folder = out.ancestors().find(|folder| folder.exists());
        let folder = folder.unwrap_or(out);
        // Gone again at once.
        let probe = UnfinishedFile::create_beside(&folder.join("probe"));
        probe.map(drop).map_err(WriteError::at(out))?;
        Ok(())
    }

    /// Chooses the first of `base`, `base_2`, `base_3`, … that is free and not reserved: otherwise
    /// two runs with the same input within one second would have the same id.
    pub fn choose_id(&mut self, base: &RunId) -> Result<RunId, RunFilesError> {
        let taken = || StagingError::Exists(self.out.join(base.as_str()));
        for number in 1..=MOST_OF_ONE_ID {
            let id = match number {
                1 => base.clone(),
                _ => RunId::parse(&format!("{base}_{number}")).map_err(|_| taken())?,
            };
            let claim = ClaimedName::claim(&self.out, id.as_str());
            let claim = claim.map_err(WriteError::at(&self.out))?;
            if claim.is_some() && Self::check_free(&self.out, &id).is_ok() {
                self.claim = claim;
                return Ok(id);
            }
        }
        Err(taken().into())
    }

    fn storing(&mut self) -> Storing<'_> {
        Storing {
            staging: &self.staging,
            files: &mut self.files,
            buffer: &mut self.buffer,
        }
    }

    /// Calls `store` for every item, on up to as many threads as there are processors; returns the
    /// results in order. Of several errors, that of the first item is returned.
    pub(crate) fn store_all<T: Sync, R: Send, E: Send>(
        &mut self,
        items: &[T],
        store: impl Fn(&mut Storing<'_>, &T) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let threads = processors().min(MOST_STORING).min(items.len() / FEW);
        if threads <= 1 {
            let mut storing = self.storing();
            return items.iter().map(|item| store(&mut storing, item)).collect();
        }
        let staging = &self.staging;
        let work = |items: &[T]| {
            let (mut files, mut buffer) = (Vec::with_capacity(items.len()), vec![0; BUFFER]);
            let mut storing = Storing {
                staging,
                files: &mut files,
                buffer: &mut buffer,
            };
            let given: Result<Vec<R>, E> =
                items.iter().map(|item| store(&mut storing, item)).collect();
            given.map(|given| (files, given))
        };
        let parts = thread::scope(|scope| {
            let parts = items.chunks(items.len().div_ceil(threads));
            let work = &work;
            let begin = |items| Task::begin(scope, move || work(items));
            let parts: Vec<_> = parts.map(begin).collect();
            let parts = parts.into_iter().map(|part| match part.finish() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            parts.collect::<Vec<_>>()
        });
        let mut all = Vec::with_capacity(items.len());
        for part in parts {
            let (files, given) = part?;
            self.files.extend(files);
            all.extend(given);
        }
        Ok(all)
    }

    /// Stores a value as its JCS bytes.
    pub fn put_json(&mut self, path: &str, value: &Value) -> Result<(), RunFilesError> {
        self.storing().put_json(path, value)
    }

    /// Stores bytes unchanged.
    pub fn put_bytes(&mut self, path: &str, bytes: &[u8]) -> Result<(), RunFilesError> {
        self.storing().put_bytes(path, bytes)
    }

    /// Copies a file from `source`: JSON as its JCS bytes, anything else unchanged.
    pub fn copy(
        &mut self,
        source: &dyn Source,
        from: &SafePath,
        to: &str,
    ) -> Result<Digest, RunFilesError> {
        self.storing().copy(source, from, to)
    }

    /// Stores a user's file; see [`Storing::put_user_file`].
    pub(crate) fn put_user_file(
        &mut self,
        file: &File,
        size: u64,
        to: &str,
    ) -> Result<Stored, RunFilesError> {
        self.storing().put_user_file(file, size, to)
    }

    /// Makes everything readable for the user that engines run as.
    pub fn open_up(&self, path: &Path) -> Result<(), RunFilesError> {
        let opened = match fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()) {
            true => open_folder(path).and_then(|folder| set_rights(&folder, 0o755, 0o444)),
            false => set_mode(path, 0o444),
        };
        Ok(opened.map_err(WriteError::at(path))?)
    }

    /// Adds the commitment over everything stored so far, so that parts of it can be withheld
    /// later. Must come last before the lists: later files are not committed to.
    pub fn put_commitment(&mut self, seed: &Seed) -> Result<(), RunFilesError> {
        let mut committing = Committing::begin(&REDACTABLE, seed);
        let stored = self.staging.reading_path();
        for (path, digest) in &self.files {
            let place = stored.join(&**path);
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
        self.put_json(REDACTION, &redaction.to_value()?)?;
        self.put_json(REDACTION_SALT, &Value::object([("salt", salt)]))
    }

    /// Adds the index and the sums over everything stored so far. The digest of the sums stands for all of it.
    pub fn put_lists(&mut self) -> Result<Digest, RunFilesError> {
        self.files.sort_unstable();
        self.put_index()?;
        self.files.sort_unstable();
        let sums = write_sums(&self.files);
        self.put_bytes(SUMS, sums.as_bytes())?;
        Ok(Digest::of(sums.as_bytes()))
    }

    /// Writes the index one entry at a time, because it grows with the number of files.
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

    /// The path at which the bundle will be published.
    pub fn target(&self, run_id: &RunId) -> PathBuf {
        self.out.join(run_id.as_str())
    }

    /// Publishes the bundle, read-only, if `verify` accepts it and the target is free.
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
        // Free what publishing does not need while the bundle is verified.
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
