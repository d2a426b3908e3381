//! Artifacts as the files of a survey: each is an archive that is read as it arrives, with its
//! signatures next to it.
//!
//! Nothing is written to disk. An artifact is looked up once; everything later concerns the same
//! manifest. Attached signatures appear next to it under the names that `runseal sign` uses. If the
//! attachments cannot be determined, reading a signature fails, rather than reporting that there is
//! none.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use runseal_archive::{
    Archive, BagDigester, Container, HEAD, PieceDigester, fill, read_stream, sniff,
};
use runseal_core::digest::Digest;
use runseal_core::source::{EntryKind, Source, SourceError, read_bounded};
use runseal_fs::archive::{judge_archive_stream, read_archive_stream};
use runseal_survey::Files;
use runseal_survey::signing::{SIGNATURE_FORMS, SignatureForm};

use super::OciError;
use super::artifact::{Artifact, ArtifactContent};
use super::attached::{AttachedKind, join_attachments};
use super::layout::is_layout;
use super::layout_tar::TarLayout;
use super::reference::{LAYOUT_SCHEME, Reference, SCHEME};
use super::registry::Access;
use super::repository::Failure;

/// Artifacts, by references given as paths.
#[derive(Default)]
pub struct OciFiles {
    access: Access,
    /// Layouts that were given as plain paths.
    named: Mutex<BTreeSet<PathBuf>>,
    opened: Mutex<BTreeMap<PathBuf, Arc<Artifact>>>,
}

/// Whether a path names an artifact: `oci://…`, `oci-layout:…`, or a folder or tar that is a
/// layout. Opens no socket.
pub fn is_artifact(path: &Path) -> bool {
    has_scheme(path) || is_layout(path) || is_tar_layout(path)
}

/// Whether a path is written as a reference: `oci://…` or `oci-layout:…`.
pub fn has_scheme(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    text.starts_with(SCHEME.as_bytes()) || text.starts_with(LAYOUT_SCHEME.as_bytes())
}

/// Whether a file is a layout in a tar. It is opened as one only if its first entry fits a layout.
fn is_tar_layout(path: &Path) -> bool {
    let has_tar_name = path.extension().is_some_and(|ending| ending == "tar");
    let begins_as_layout = || {
        let mut head = [0; HEAD];
        let mut file = std::fs::File::open(path).ok()?;
        let filled = fill(&mut file, &mut head).ok()?;
        let name = head[..filled].get(..100)?;
        let name = name.strip_prefix(b"./").unwrap_or(name);
        let starts: [&[u8]; 4] = [b"oci-layout\0", b"index.json\0", b"blobs/", b"\0"];
        starts
            .iter()
            .any(|start| name.starts_with(start))
            .then_some(())
    };
    has_tar_name
        && path.is_file()
        && begins_as_layout().is_some()
        && matches!(TarLayout::open(path), Ok(Some(_)))
}

impl OciFiles {
    /// Creates files for artifacts that are accessed with `access`.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            named: Mutex::default(),
            opened: Mutex::default(),
        }
    }

    /// Declares that a path names an artifact, whatever it looks like.
    pub fn name(&self, path: &Path) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.insert(path.to_owned());
    }

    /// Whether a path belongs to these files: an artifact with a scheme or declared by
    /// [`OciFiles::name`], or a signature next to one.
    pub fn holds(&self, path: &Path) -> bool {
        let text = path.as_os_str().as_encoded_bytes();
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        has_scheme(path)
            || named.contains(path)
            || SIGNATURE_FORMS.into_iter().any(|form| {
                let base = text.strip_suffix(form.ending().as_bytes());
                base.is_some_and(|base| named.contains(Path::new(OsStr::from_bytes(base))))
            })
    }

    /// Opens the artifact at a path, once.
    ///
    /// # Errors
    /// If it cannot be looked up.
    pub fn artifact(&self, path: &Path) -> Result<Arc<Artifact>, OciError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(artifact) = opened.get(path) {
            return Ok(Arc::clone(artifact));
        }
        let text = path.to_str().unwrap_or_default();
        let reference = if text.starts_with(SCHEME) || text.starts_with(LAYOUT_SCHEME) {
            Reference::parse(text)?
        } else {
            Reference::of_layout(path)
        };
        let artifact = Arc::new(Artifact::open(&reference, &self.access)?);
        opened.insert(path.to_owned(), Arc::clone(&artifact));
        Ok(artifact)
    }

    /// Returns the artifact of a signature's path, and the signature's form. Considers only artifacts
    /// that were opened before, because such an ending may also be part of a tag.
    fn beside(&self, path: &Path) -> Option<(Arc<Artifact>, SignatureForm)> {
        let text = path.as_os_str().as_encoded_bytes();
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        SIGNATURE_FORMS.into_iter().find_map(|form| {
            let base = text.strip_suffix(form.ending().as_bytes())?;
            let artifact = opened.get(Path::new(OsStr::from_bytes(base)))?;
            Some((Arc::clone(artifact), form))
        })
    }

    fn read_beside(
        &self,
        path: &Path,
        artifact: &Artifact,
        form: SignatureForm,
    ) -> Result<Vec<u8>, SourceError> {
        let shown = || path.display().to_string();
        let not_found = || SourceError::NotFound { path: shown() };
        let attached = match artifact.attached() {
            Ok(attached) => attached,
            // Report this only once, for the form that is requested first.
            Err(why) if form == SIGNATURE_FORMS[0] => {
                return Err(SourceError::Io {
                    path: shown(),
                    source: io::Error::other(why),
                });
            }
            Err(_) => return Err(not_found()),
        };
        let kind = AttachedKind::Signature(form);
        join_attachments(attached, &kind).ok_or_else(not_found)
    }

    fn found(&self, path: &Path) -> Result<Arc<Artifact>, SourceError> {
        self.artifact(path)
            .map_err(|error| source_error(path, error))
    }

    /// Reads the artifact as an archive, and again if redacted copies in it withhold pieces of files or
    /// bags need further digests.
    fn scan(&self, path: &Path, read: &mut ReadStream<'_>) -> Result<Option<Archive>, SourceError> {
        let artifact = self.found(path)?;
        let Some(mut archive) = scan_once(&artifact, path, read)? else {
            return Ok(None);
        };
        if let Some(mut pieces) = PieceDigester::for_archive(&archive) {
            scan_once(&artifact, path, &mut |container, reader, shown| {
                read_stream(container, reader, shown, &mut pieces)
            })?;
            archive.add_pieces(pieces.into_found());
        }
        if let Some(mut digests) = BagDigester::for_archive(&archive) {
            scan_once(&artifact, path, &mut |container, reader, shown| {
                read_stream(container, reader, shown, &mut digests)
            })?;
            archive.add_digests(digests.into_found());
        }
        Ok(Some(archive))
    }
}

type ReadStream<'a> =
    dyn FnMut(Container, &mut dyn Read, &str) -> Result<Archive, SourceError> + 'a;

fn scan_once(
    artifact: &Artifact,
    path: &Path,
    read: &mut ReadStream<'_>,
) -> Result<Option<Archive>, SourceError> {
    let shown = path.display().to_string();
    let failure = Failure::default();
    let mut stream = artifact.stream(&failure);
    let mut head = [0; HEAD];
    let filled = fill(&mut stream, &mut head).map_err(OciError::from);
    let filled = failure.or(filled);
    let filled = filled.map_err(|error| source_error(path, error))?;
    let container = match &artifact.held {
        ArtifactContent::Folder => Some(Container::Tar),
        ArtifactContent::File(_) => sniff(&head[..filled]),
    };
    let Some(container) = container else {
        return Ok(None);
    };
    let mut whole = head[..filled].chain(stream);
    let archive = read(container, &mut whole, &shown);
    // If reading stopped early at a fault, continue: only the digest at the end shows whether these
    // were the right bytes.
    let rest = io::copy(&mut whole, &mut io::sink());
    let archive = match rest {
        Ok(_) => archive,
        Err(source) => archive.and(Err(SourceError::Io {
            path: shown,
            source,
        })),
    };
    settle(path, &failure, archive).map(Some)
}

/// Prefers an error of the transfer to an error of the archive, which may follow from it.
fn settle<T>(
    path: &Path,
    failure: &Failure,
    read: Result<T, SourceError>,
) -> Result<T, SourceError> {
    failure
        .or(read.map_err(OciError::from))
        .map_err(|error| source_error(path, error))
}

/// Converts an error for readers of files.
fn source_error(path: &Path, error: OciError) -> SourceError {
    let shown = path.display().to_string();
    match error {
        OciError::Source(error) => error,
        OciError::NotFound(_) | OciError::NoLayout(_) => SourceError::NotFound { path: shown },
        error => SourceError::Io {
            path: shown,
            source: io::Error::other(error),
        },
    }
}

fn not_a_folder(path: &Path) -> SourceError {
    SourceError::NotAFolder {
        path: path.display().to_string(),
        kind: EntryKind::File,
    }
}

impl Files for OciFiles {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        match self.artifact(path) {
            Ok(_) => Ok(EntryKind::File),
            Err(OciError::NotFound(_) | OciError::NoLayout(_)) => {
                Err(io::ErrorKind::NotFound.into())
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn is_there(&self, path: &Path) -> bool {
        match self.beside(path) {
            Some((artifact, form)) => !matches!(
                self.read_beside(path, &artifact, form),
                Err(SourceError::NotFound { .. })
            ),
            None => self.artifact(path).is_ok(),
        }
    }

    fn list(&self, _: &Path, _: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        Err(io::ErrorKind::NotADirectory.into())
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        Some(PathBuf::from(OsStr::from_bytes(bytes)))
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        if let Some((artifact, form)) = self.beside(path) {
            return self.read_beside(path, &artifact, form);
        }
        let artifact = self.found(path)?;
        let shown = path.display().to_string();
        if artifact.held == ArtifactContent::Folder {
            return Err(SourceError::NotAFile {
                path: shown,
                kind: EntryKind::Directory,
            });
        }
        let failure = Failure::default();
        let stream = artifact.stream(&failure);
        let read = read_bounded(stream, &shown, artifact.size(), limit);
        settle(path, &failure, read)
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        Ok(self.found(path)?.content_digest())
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        self.scan(path, &mut |container, reader, shown| {
            read_archive_stream(container, reader, shown)
        })
    }

    fn judge_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        self.scan(path, &mut |container, reader, shown| {
            judge_archive_stream(container, reader, shown)
        })
    }

    fn open_folder(
        &self,
        path: &Path,
        _: bool,
        _: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        Err(not_a_folder(path))
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        Box::new(io::empty())
    }
}
