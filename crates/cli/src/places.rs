//! Where a typed path leads: to this machine or elsewhere. Both are behind one set of files, so
//! commands need not tell them apart.
//!
//! A path leads elsewhere only by its scheme. Nothing else opens a socket.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use runseal_core::source::SourceError;
use runseal_fs::private::PrivateFolder;
use runseal_fs::survey::LocalFiles;
use runseal_survey::Files;

use crate::error::CliError;

/// The files for these paths; without the `remote` feature always local ones.
#[cfg(not(feature = "remote"))]
pub fn files_for<'a>(_: impl IntoIterator<Item = &'a Path>) -> &'static dyn Files {
    &LocalFiles
}

/// The files for one path, without any cache: for long-running programs, which must not judge an
/// artifact or run as it was an hour ago.
#[cfg(not(feature = "remote"))]
pub fn uncached_files(_: &Path) -> Box<dyn Files> {
    Box::new(LocalFiles)
}

/// Fetches what a path names if it is elsewhere; without the `remote` feature nothing is.
#[cfg(not(feature = "remote"))]
pub fn bring_here(_: &Path) -> Result<Option<(PrivateFolder, PathBuf)>, CliError> {
    Ok(None)
}

/// Fails if an address cannot be read now; without the `remote` feature there are none.
#[cfg(not(feature = "remote"))]
pub fn check_readable(_: &Path) -> Result<(), CliError> {
    Ok(())
}

/// Refuses a name inside an archive, for commands that need a folder.
///
/// # Errors
/// If nothing has this name outside archives.
pub fn check_outside_archive(path: &Path) -> Result<(), CliError> {
    let shown = path.display().to_string();
    if shown.contains("!/") && !path.exists() {
        Err(SourceError::NotFound { path: shown }.into())
    } else {
        Ok(())
    }
}

#[cfg(feature = "remote")]
pub use remote::{bring_here, check_readable, files_for, uncached_files};

/// A bundle under construction. If its target is elsewhere, it is built in a temporary folder and
/// put there once it is complete.
pub struct Outgoing {
    target: PathBuf,
    here: Option<PathBuf>,
    /// Deletes the folder at the end, unless it has the only copy.
    cleaning: Cell<Option<PrivateFolder>>,
}

impl Outgoing {
    /// Begins a bundle that is to be at or below `target`.
    ///
    /// # Errors
    /// If `target` is elsewhere and is not an address that answers, or there is no room here.
    pub fn begin(target: &Path) -> Result<Self, CliError> {
        let folder = if is_elsewhere(target) {
            check_target(target)?;
            let folder = PrivateFolder::create("outgoing");
            Some(folder.map_err(|error| {
                CliError::new(
                    runseal_core::verify::Outcome::Unreadable,
                    "WRITE",
                    error.to_string(),
                )
                .at("the folder for temporary files")
                .hint("TMPDIR names another one")
            })?)
        } else {
            None
        };
        Ok(Self {
            target: target.to_owned(),
            here: folder.as_ref().map(|folder| folder.path().to_owned()),
            cleaning: Cell::new(folder),
        })
    }

    /// The folder in which to build the bundle, under its own name.
    pub fn folder(&self) -> &Path {
        self.here.as_deref().unwrap_or(&self.target)
    }

    /// The path to build the bundle at, when `target` is the bundle itself.
    pub fn place(&self) -> PathBuf {
        match &self.here {
            None => self.target.clone(),
            Some(folder) => folder.join(self.target.file_name().unwrap_or_default()),
        }
    }

    /// Puts the bundle at `made` into its final place, which is returned.
    ///
    /// # Errors
    /// If it cannot be put there. Then nothing is visible there, and what was made stays here: a
    /// recording cannot be made again.
    pub fn finish(&self, made: &Path) -> Result<PathBuf, CliError> {
        if self.here.is_none() {
            return Ok(made.to_owned());
        }
        let target = if made == self.place() {
            self.target.clone()
        } else {
            self.target.join(made.file_name().unwrap_or_default())
        };
        put(made, &target).map_err(|error| {
            let kept = self.cleaning.take().map(PrivateFolder::keep);
            match kept {
                Some(_) => error.hint(format!(
                    "it is kept: `runseal push {} {}` puts it there, or under another name",
                    made.display(),
                    target.display()
                )),
                None => error,
            }
        })?;
        Ok(target)
    }

    /// Lets what was made here stay, though it goes nowhere.
    pub fn keep(&self) {
        if let Some(folder) = self.cleaning.take() {
            folder.keep();
        }
    }

    /// Whether the target is elsewhere.
    pub fn is_elsewhere(&self) -> bool {
        self.here.is_some()
    }
}

/// Whether a path names a place that is not on this machine.
#[cfg(not(feature = "remote"))]
pub fn is_elsewhere(_: &Path) -> bool {
    false
}

#[cfg(not(feature = "remote"))]
fn check_target(_: &Path) -> Result<(), CliError> {
    Ok(())
}

#[cfg(not(feature = "remote"))]
fn put(_: &Path, _: &Path) -> Result<(), CliError> {
    Ok(())
}

/// Writes a file next to something that a command read, here or elsewhere. `earlier` is the file's
/// content when it was read.
///
/// # Errors
/// If it cannot be written, or has been changed since.
pub fn write_beside(path: &Path, bytes: &[u8], earlier: Option<&[u8]>) -> Result<(), CliError> {
    #[cfg(feature = "remote")]
    if remote::is_object(path) {
        return remote::replace(path, bytes, earlier);
    }
    #[cfg(feature = "remote")]
    if runseal_remote::oci::files::has_scheme(path) {
        return Err(CliError::usage(
            "nothing is written next to an artifact",
            "sign it where it is made, and push it again: the signature is attached",
        ));
    }
    let _ = earlier;
    Ok(runseal_fs::atomic::write_bytes(path, bytes)?)
}

#[cfg(feature = "remote")]
pub use remote::is_object as is_elsewhere;
#[cfg(feature = "remote")]
use remote::{check_target, put};

#[cfg(feature = "remote")]
mod remote {
    use std::borrow::Cow;
    use std::sync::OnceLock;

    use runseal_core::source::EntryKind;
    use runseal_core::verify::{Level, Outcome};
    use runseal_remote::RemoteError;
    use runseal_remote::error::shown_address;
    use runseal_remote::landing::land;
    use runseal_remote::oci::OciError;
    use runseal_remote::oci::artifact::ArtifactContent;
    use runseal_remote::oci::files::{OciFiles, is_artifact};
    use runseal_remote::oci::pull::pull;
    use runseal_remote::oci::reference::SCHEME;
    use runseal_remote::oci::registry::Access;
    use runseal_remote::place::{PutOptions, RunPlace};
    use runseal_remote::s3::{S3Files, S3Place, replace_object};
    use runseal_survey::ForwardedFiles;

    use super::{CliError, Files, LocalFiles, Path, PathBuf, PrivateFolder};
    use crate::error::Named;

    /// The scheme of addresses in object storage.
    const OBJECTS: &[u8] = b"s3://";

    /// Whether a path names something in object storage.
    pub fn is_object(path: &Path) -> bool {
        path.as_os_str().as_encoded_bytes().starts_with(OBJECTS)
    }

    /// Whether a path leads to something other than plain files of this machine.
    fn needs_places(path: &Path) -> bool {
        is_artifact(path) || is_object(path)
    }

    /// The files for these paths, local or elsewhere. An artifact is looked up once per process, so
    /// that showing it, judging it and reading its signatures all concern the same one.
    pub fn files_for<'a>(paths: impl IntoIterator<Item = &'a Path>) -> &'static dyn Files {
        let mut files: &'static dyn Files = &LocalFiles;
        for path in paths.into_iter().filter(|path| needs_places(path)) {
            let places = shared_places();
            places.note(path);
            files = places;
        }
        files
    }

    fn shared_places() -> &'static Places {
        static PLACES: OnceLock<Places> = OnceLock::new();
        PLACES.get_or_init(Places::default)
    }

    /// Fails if an address cannot be read now: no answer, access refused, or nothing there. Paths on
    /// this machine, including layouts of artifacts, are not checked.
    pub fn check_readable(path: &Path) -> Result<(), CliError> {
        let shown = path.display().to_string();
        if path
            .as_os_str()
            .as_encoded_bytes()
            .starts_with(SCHEME.as_bytes())
        {
            let artifact = shared_places().artifacts.artifact(path);
            return artifact.map(drop).named(shown_address(&shown));
        }
        if !is_object(path) {
            return Ok(());
        }
        let objects = &shared_places().objects;
        let looked = objects.kind(path).and_then(|kind| match kind {
            // Only listing a whole bucket shows whether it is there.
            EntryKind::Directory => objects.list(path, &mut |_, _| {}),
            _ => Ok(()),
        });
        looked.map_err(|error| {
            let error = match error.get_ref() {
                Some(_) => RemoteError::from_io(error, &shown),
                // There is a run, but nothing in it has this name.
                None => RemoteError::NotFound {
                    place: shown.clone(),
                },
            };
            CliError::within(error, shown_address(&shown))
        })
    }

    /// The files for one path, without any cache: for long-running programs, which must not judge
    /// an artifact or run as it was an hour ago.
    pub fn uncached_files(path: &Path) -> Box<dyn Files> {
        if !needs_places(path) {
            return Box::new(LocalFiles);
        }
        let places = Places::default();
        places.note(path);
        Box::new(places)
    }

    /// Fetches what a path names to this machine, for commands that need a folder; `None` if it is
    /// local. The copy is deleted when the returned folder is dropped.
    pub fn bring_here(path: &Path) -> Result<Option<(PrivateFolder, PathBuf)>, CliError> {
        if is_artifact(path) {
            return bring_artifact(path).map(Some);
        }
        if !is_object(path) {
            return Ok(None);
        }
        let shown = path.display().to_string();
        let fail = |error: RemoteError| CliError::within(error, shown_address(&shown));
        let place = S3Place::open(&shown).map_err(fail)?;
        let run = place.get_run().map_err(fail)?;
        let folder = temporary_folder()?;
        let target = folder.path().join(place.run_name());
        land(&run, &target, |_| Ok(())).map_err(fail)?;
        Ok(Some((folder, target)))
    }

    fn temporary_folder() -> Result<PrivateFolder, CliError> {
        PrivateFolder::create("pull").map_err(|error| {
            CliError::new(Outcome::Unreadable, "WRITE", error.to_string())
                .at("the folder for temporary files")
        })
    }

    /// Fetches an artifact to this machine.
    fn bring_artifact(path: &Path) -> Result<(PrivateFolder, PathBuf), CliError> {
        let shown = path.display().to_string();
        let fail = |error: OciError| CliError::within(error, shown_address(&shown));
        let artifacts = OciFiles::new(Access::from_environment());
        let artifact = artifacts.artifact(path).map_err(fail)?;
        let folder = temporary_folder()?;
        let target = folder.path().join("run");
        let access = Access::from_environment();
        pull(
            &artifact.reference,
            Some(&target),
            Level::Integrity,
            &access,
        )
        .map_err(fail)?;
        let place = match &artifact.held {
            ArtifactContent::Folder => target,
            ArtifactContent::File(name) => target.join(name.as_str()),
        };
        Ok((folder, place))
    }

    /// Fails if `target` is not an address for a run, or does not answer, before anything is made.
    pub(super) fn check_target(target: &Path) -> Result<(), CliError> {
        let shown = target.display().to_string();
        S3Place::ask(&shown).named(shown_address(&shown))
    }

    /// Puts a run into object storage.
    pub(super) fn put(folder: &Path, target: &Path) -> Result<(), CliError> {
        let shown = target.display().to_string();
        let pushed =
            S3Place::open(&shown).and_then(|place| place.put_run(folder, &PutOptions::default()));
        pushed.map(drop).named(shown_address(&shown))
    }

    /// Writes an object if it still has the content that was read earlier.
    pub(super) fn replace(
        path: &Path,
        bytes: &[u8],
        earlier: Option<&[u8]>,
    ) -> Result<(), CliError> {
        let shown = path.display().to_string();
        let replaced = replace_object(&shown, bytes, earlier);
        replaced.named(shown_address(&shown))
    }

    /// Files on this machine, in object storage and in registries.
    struct Places {
        objects: S3Files,
        artifacts: OciFiles,
    }

    impl Default for Places {
        fn default() -> Self {
            Self {
                objects: S3Files::default(),
                artifacts: OciFiles::new(Access::from_environment()),
            }
        }
    }

    impl Places {
        /// Notes a path that needs places: a layout has no scheme by which to know it later.
        fn note(&self, path: &Path) {
            if !is_object(path) {
                self.artifacts.name(path);
            }
        }
    }

    impl ForwardedFiles for Places {
        fn forward<'p>(&self, path: &'p Path) -> (&dyn Files, Cow<'p, Path>) {
            let files: &dyn Files = match (is_object(path), self.artifacts.holds(path)) {
                (true, _) => &self.objects,
                (false, true) => &self.artifacts,
                (false, false) => &LocalFiles,
            };
            (files, path.into())
        }

        fn without_path(&self) -> &dyn Files {
            &LocalFiles
        }
    }
}
