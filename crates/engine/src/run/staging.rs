//! A bundle in the making: a hidden folder beside its place, which takes the place only once it
//! is complete, on disk and read-only. Whatever goes wrong before, nothing stays.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, NoCanonicalForm, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::index::write_index;
use runseal_core::formats::run_bundle::layout::{ARTIFACT_INDEX, RunId, SUMS, is_json};
use runseal_core::formats::run_bundle::outputs::find_changed_integers;
use runseal_core::formats::run_bundle::sums::write_sums;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};

use crate::atomic::WriteError;
use crate::stream::{BUFFER, digest_through};
use runseal_core::formats::run_bundle::collect::parse_canonical;

/// Why a file did not get into the bundle, or the bundle not into its place.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The target is there already, and is never overwritten.
    #[error("`{}` exists already and is never overwritten", .0.display())]
    Exists(PathBuf),
    /// Something could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// A JSON file that cannot be sealed.
    #[error("`{path}` {why}")]
    Json {
        /// Which one.
        path: String,
        /// Why.
        why: String,
    },
    /// A value that JCS has no form for.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
}

/// Takes the folder of bundles away again, if this made it and nothing is in it.
#[derive(Debug)]
struct MadeFolder(Option<PathBuf>);

impl Drop for MadeFolder {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Fails, as it should, where a bundle is in it.
            let _ = fs::remove_dir(path);
        }
    }
}

/// A bundle in the making.
#[derive(Debug)]
pub struct Staging {
    // Dropped in this order: first what is inside.
    folder: tempfile::TempDir,
    _made: MadeFolder,
    out: PathBuf,
    files: BTreeMap<String, Digest>,
    buffer: Vec<u8>,
}

impl Staging {
    /// Begins a bundle below the folder `out`, which is made where it is missing.
    pub fn begin(out: &Path) -> Result<Self, StagingError> {
        let fail = |source| WriteError {
            path: out.to_owned(),
            source,
        };
        let is_new = !out.exists();
        fs::create_dir_all(out).map_err(fail)?;
        let made = MadeFolder(is_new.then(|| out.to_owned()));
        let folder = tempfile::Builder::new()
            .prefix(".runseal-")
            .tempdir_in(out)
            .map_err(fail)?;
        Ok(Self {
            folder,
            _made: made,
            out: out.to_owned(),
            files: BTreeMap::new(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Where the files are for now.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fails where `run_id` is taken.
    pub fn check_free(out: &Path, run_id: &RunId) -> Result<PathBuf, StagingError> {
        let target = out.join(run_id.as_str());
        match fs::symlink_metadata(&target) {
            Ok(_) => Err(StagingError::Exists(target)),
            Err(_) => Ok(target),
        }
    }

    /// Stores a value as its JCS bytes.
    pub fn put_json(&mut self, path: &str, value: &Value) -> Result<(), StagingError> {
        let bytes = canonical_bytes(value, Dialect::Jcs)?;
        self.put_bytes(path, &bytes)
    }

    /// Stores bytes as they are.
    pub fn put_bytes(&mut self, path: &str, bytes: &[u8]) -> Result<(), StagingError> {
        let (mut file, place) = self.create(path)?;
        let fail = |source| WriteError {
            path: place.clone(),
            source,
        };
        file.write_all(bytes).map_err(fail)?;
        self.files.insert(path.to_owned(), Digest::of(bytes));
        Ok(())
    }

    /// Copies a file out of `source`: JSON as its JCS bytes, anything else as it streams by.
    pub fn copy(
        &mut self,
        source: &dyn Source,
        from: &SafePath,
        to: &str,
    ) -> Result<Digest, StagingError> {
        if is_json(to) {
            let bytes = source.read(from, JsonLimits::LARGEST_DOCUMENT)?;
            let fault = |why: String| StagingError::Json {
                path: to.to_owned(),
                why,
            };
            let (document, digest, _) = parse_canonical(&bytes)
                .map_err(|why| fault(format!("is no JSON that can be sealed: {why}")))?;
            let value = document.root().to_value();
            if let Some(pointer) = find_changed_integers(&value).first() {
                return Err(fault(format!(
                    "holds an integer that JCS would change: {pointer}"
                )));
            }
            self.put_json(to, &value)?;
            return Ok(digest);
        }
        let mut reader = source.open(from)?;
        let (mut file, place) = self.create(to)?;
        let copied = digest_through(&mut *reader, 0, &mut self.buffer, |piece| {
            file.write_all(piece)
        });
        let (digest, _) = copied.map_err(|source| WriteError {
            path: place,
            source,
        })?;
        self.files.insert(to.to_owned(), digest);
        Ok(digest)
    }

    fn create(&self, path: &str) -> Result<(File, PathBuf), StagingError> {
        let place = self.path().join(path);
        let fail = |source| WriteError {
            path: place.clone(),
            source,
        };
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&place)
            .map_err(fail)?;
        Ok((file, place))
    }

    /// Makes everything readable for the user that engines run as.
    pub fn open_up(&self, path: &Path) -> Result<(), StagingError> {
        set_modes(path, 0o755, 0o444).map_err(StagingError::from)
    }

    /// Adds the index and the sums over everything stored so far.
    pub fn put_lists(&mut self) -> Result<(), StagingError> {
        self.put_json(ARTIFACT_INDEX, &write_index(&self.files))?;
        let sums = write_sums(&self.files);
        self.put_bytes(SUMS, sums.as_bytes())
    }

    /// Puts the bundle into its place: flushed, read-only, and only if nothing is there.
    pub fn seal(self, run_id: &RunId) -> Result<PathBuf, StagingError> {
        let target = Self::check_free(&self.out, run_id)?;
        let from = self.path().to_owned();
        let fail = |source| WriteError {
            path: target.clone(),
            source,
        };
        flush(&from).map_err(fail)?;
        set_modes(&from, 0o555, 0o444)?;
        if let Err(error) = rename_if_free(&from, &target) {
            // So that it can be taken away again.
            let _ = set_modes(&from, 0o755, 0o644);
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists => StagingError::Exists(target),
                _ => fail(error).into(),
            });
        }
        let _ = self.folder.keep();
        File::open(&self.out)
            .and_then(|folder| folder.sync_all())
            .map_err(fail)?;
        Ok(target)
    }
}

/// Puts every file below `path` on disk, with one call where the system has one.
fn flush(path: &Path) -> io::Result<()> {
    let folder = File::open(path)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&folder)?;
    folder.sync_all()
}

fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system that does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            other => return other.map_err(io::Error::from),
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Gives every folder and every file below `path` its mode. Everything there is ours.
fn set_modes(path: &Path, folder_mode: u32, file_mode: u32) -> Result<(), WriteError> {
    let fail = |source| WriteError {
        path: path.to_owned(),
        source,
    };
    let metadata = fs::symlink_metadata(path).map_err(fail)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path).map_err(fail)? {
            set_modes(&entry.map_err(fail)?.path(), folder_mode, file_mode)?;
        }
    }
    let mode = if metadata.is_dir() {
        folder_mode
    } else {
        file_mode
    };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_dropped_leaves_nothing_and_not_even_the_folder_it_made() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a");
        let mut staging = Staging::begin(&out).unwrap();
        staging.put_bytes("x/y", b"1").unwrap();
        drop(staging);
        assert!(!out.exists());
    }

    #[test]
    fn staging_sealed_is_read_only_and_never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        let run_id = RunId::parse("r1").unwrap();
        let mut staging = Staging::begin(folder.path()).unwrap();
        staging.put_bytes("x/y", b"1").unwrap();
        let path = staging.seal(&run_id).unwrap();
        let mode = |name: &str| fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(""), mode("x"), mode("x/y")), (0o555, 0o555, 0o444));
        let second = Staging::begin(folder.path()).unwrap();
        assert!(matches!(second.seal(&run_id), Err(StagingError::Exists(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // An empty folder is there too.
        fs::create_dir(folder.path().join("r2")).unwrap();
        let third = Staging::begin(folder.path()).unwrap();
        assert!(third.seal(&RunId::parse("r2").unwrap()).is_err());
    }

    #[test]
    fn rename_if_free_refuses_even_an_empty_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::create_dir(at("b")).unwrap();
        let refused = rename_if_free(&at("a"), &at("b")).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        rename_if_free(&at("a"), &at("c")).unwrap();
    }
}
