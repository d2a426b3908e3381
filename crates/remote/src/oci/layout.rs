//! A local OCI layout: a folder with `oci-layout`, `index.json` and `blobs/sha256/`.
//!
//! A blob gets its name once it is complete and its digest matches, and the index is replaced
//! atomically, so a killed process leaves nothing half-written visible. Several processes may write at
//! once: the index is changed under a lock. Attached manifests are in the index without a tag, as
//! other tools write them. No socket is opened.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use runseal_core::digest::{ContentHash, Digest};
use runseal_core::source::{SourceError, read_bounded};
use runseal_fs::atomic::{Readers, WriteError, write_derived, write_file};
use rustix::fs::{FlockOperation, flock};

use super::OciError;
use super::manifest::{Descriptor, Index, MANIFEST, MAX_MANIFEST, Manifest, REF_NAME};
use super::repository::{
    CheckedBlob, Content, Failure, ManifestName, Referrers, Repository, SubjectListing,
};

/// The file that marks a folder as a layout.
pub const MARKER: &str = "oci-layout";
/// Its content.
pub const MARKER_CONTENT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
/// The list of manifests.
pub const INDEX_FILE: &str = "index.json";

/// The most manifests that are opened to find their subjects. Stops huge layouts.
const MAX_LOOKED_AT: usize = 10_000;

/// Returns the path of a blob below a layout.
pub fn blob_name(digest: Digest) -> String {
    format!("blobs/sha256/{digest}")
}

/// Whether a folder is a layout.
pub fn is_layout(path: &Path) -> bool {
    path.join(MARKER).is_file() && path.join(INDEX_FILE).is_file()
}

/// A layout in a folder.
#[derive(Debug)]
pub struct FolderLayout {
    folder: PathBuf,
}

impl FolderLayout {
    /// Opens the layout at `folder`.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn open(folder: &Path) -> Result<Self, OciError> {
        if !is_layout(folder) {
            return Err(OciError::NoLayout(folder.display().to_string()));
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Opens the layout at `folder`; creates it if nothing or an empty folder is there.
    ///
    /// # Errors
    /// If something else is there, or it cannot be created.
    pub fn open_or_create(folder: &Path) -> Result<Self, OciError> {
        if is_layout(folder) {
            return Self::open(folder);
        }
        let failed = |source| WriteError {
            path: folder.to_owned(),
            source,
        };
        fs::create_dir_all(folder.join("blobs/sha256")).map_err(failed)?;
        for entry in fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let is_ours = ["blobs", MARKER, INDEX_FILE].iter().any(|own| name == *own)
                || runseal_survey::is_unfinished(name.as_encoded_bytes());
            if !is_ours {
                return Err(OciError::Refused {
                    what: folder.display().to_string(),
                    why: "it is a folder with other files and not an OCI layout".to_owned(),
                });
            }
        }
        let layout = Self {
            folder: folder.to_owned(),
        };
        write_derived(&folder.join(MARKER), MARKER_CONTENT, Readers::AsUmask)?;
        let _lock = layout.lock()?;
        if !folder.join(INDEX_FILE).exists() {
            let index = Index::default().to_bytes()?;
            write_derived(&folder.join(INDEX_FILE), &index, Readers::AsUmask)?;
        }
        Ok(layout)
    }

    /// Keeps other processes from changing the index until the returned file is dropped.
    fn lock(&self) -> Result<File, OciError> {
        let path = self.folder.join(MARKER);
        let failed = |source: io::Error| WriteError {
            path: path.clone(),
            source,
        };
        let file = File::open(&path).map_err(failed)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|errno| failed(errno.into()))?;
        Ok(file)
    }

    fn index(&self) -> Result<Index, OciError> {
        let bytes = self.read_file(INDEX_FILE)?;
        let bytes = bytes.ok_or_else(|| OciError::NotFound(self.shown()))?;
        Index::parse(&bytes, INDEX_FILE)
    }

    /// Returns the path of a file of the layout. A link is refused, because its target is not part of the
    /// layout.
    fn place_of(&self, name: &str) -> Result<PathBuf, OciError> {
        let place = self.folder.join(name);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_symlink() => Err(OciError::Malformed {
                what: name.to_owned(),
                why: "it is a symbolic link, which is not followed".to_owned(),
            }),
            _ => Ok(place),
        }
    }

    /// Reads a small file of the layout; returns `None` if it does not exist.
    fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>, OciError> {
        match runseal_fs::input::read_file(&self.place_of(name)?, MAX_MANIFEST) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(SourceError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Repository for FolderLayout {
    fn shown(&self) -> String {
        self.folder.display().to_string()
    }

    fn has_blob(&self, blob: &Descriptor) -> Result<bool, OciError> {
        let found = fs::symlink_metadata(self.folder.join(blob_name(blob.digest)));
        Ok(found.is_ok_and(|found| found.is_file() && found.len() == blob.size))
    }

    fn put_blob(&self, blob: &Descriptor, content: &dyn Content) -> Result<(), OciError> {
        let place = self.folder.join(blob_name(blob.digest));
        let failure = Failure::default();
        let mut reader = CheckedBlob::new(content.open_at(0)?, blob, failure.clone());
        let written = write_file(&place, |file| {
            let copied = copy(&mut reader, file).map_err(|error| match error {
                CopyError::Read(error) => OciError::from(error),
                CopyError::Write(source) => WriteError {
                    path: place.clone(),
                    source,
                }
                .into(),
            });
            copied.map(|_| ())
        });
        failure.or(written)
    }

    fn open_blob(&self, blob: &Descriptor) -> Result<Box<dyn Read + Send + '_>, OciError> {
        let path = self.place_of(&blob_name(blob.digest))?;
        let (file, _) = runseal_fs::input::open_regular(&path)?;
        Ok(Box::new(file))
    }

    fn get_manifest(&self, name: &ManifestName) -> Result<Option<Vec<u8>>, OciError> {
        let read = |digest: Digest| self.read_file(&blob_name(digest));
        match name {
            ManifestName::Digest(digest) => read(*digest),
            other => read_from_index(&self.index()?, other, &read),
        }
    }

    fn put_manifest(
        &self,
        manifest: &Descriptor,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<SubjectListing, OciError> {
        if !self.has_blob(manifest)? {
            self.put_blob(manifest, &bytes)?;
        }
        let _lock = self.lock()?;
        let mut index = self.index()?;
        add_to_index(&mut index, manifest, tag);
        let place = self.folder.join(INDEX_FILE);
        write_derived(&place, &index.to_bytes()?, Readers::AsUmask)?;
        Ok(SubjectListing::ByThePlace)
    }

    fn list_referrers(&self, subject: Digest) -> Result<Referrers, OciError> {
        let read = |digest: Digest| self.read_file(&blob_name(digest));
        referrers_in_index(&self.index()?, subject, &read).map(Referrers::Listed)
    }
}

/// Which side of a copy failed.
pub(super) enum CopyError {
    /// Reading from the source.
    Read(io::Error),
    /// Writing to the destination.
    Write(io::Error),
}

/// Copies in large blocks; the error says which side failed.
pub(super) fn copy(reader: &mut dyn Read, writer: &mut dyn Write) -> Result<u64, CopyError> {
    let mut buffer = vec![0; runseal_fs::stream::BUFFER];
    let mut total = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        writer
            .write_all(&buffer[..count])
            .map_err(CopyError::Write)?;
        total += count as u64;
    }
}

/// Reads a manifest of a layout by its digest.
pub(super) type ReadManifest<'a> = &'a dyn Fn(Digest) -> Result<Option<Vec<u8>>, OciError>;

/// Finds the entry that a name refers to.
pub(super) fn find_in_index(
    index: &Index,
    name: &ManifestName,
    read: ReadManifest<'_>,
) -> Result<Option<Descriptor>, OciError> {
    let manifests = index.manifests.iter();
    match name {
        ManifestName::Digest(digest) => {
            let mut manifests = manifests;
            Ok(manifests.find(|found| found.digest == *digest).cloned())
        }
        ManifestName::Tag(tag) => {
            let is_tagged = |found: &&Descriptor| found.annotations.get(REF_NAME) == Some(tag);
            Ok(manifests.clone().find(is_tagged).cloned())
        }
        ManifestName::Only => {
            let mut found: Vec<&Descriptor> = Vec::new();
            for manifest in manifests.take(MAX_LOOKED_AT) {
                let is_known = found.iter().any(|known| known.digest == manifest.digest);
                if !is_known && subject_of(manifest, read)?.is_none() {
                    found.push(manifest);
                }
            }
            match found.as_slice() {
                [only] => Ok(Some((*only).clone())),
                [] => Ok(None),
                several => Err(OciError::Malformed {
                    what: INDEX_FILE.to_owned(),
                    why: format!("it lists {} artifacts; name one by its tag", several.len()),
                }),
            }
        }
    }
}

/// Reads the manifest that a name of the index refers to, and checks its size.
pub(super) fn read_from_index(
    index: &Index,
    name: &ManifestName,
    read: ReadManifest<'_>,
) -> Result<Option<Vec<u8>>, OciError> {
    let Some(found) = find_in_index(index, name, read)? else {
        return Ok(None);
    };
    match read(found.digest)? {
        Some(bytes) if bytes.len() as u64 != found.size => Err(OciError::OtherSize {
            what: ContentHash::from(found.digest).to_string(),
            expected: found.size,
            actual: bytes.len().to_string(),
        }),
        other => Ok(other),
    }
}

/// Returns the subject of a listed manifest. A manifest that is listed but missing is an error: it may
/// be the signature that is wanted.
fn subject_of(
    manifest: &Descriptor,
    read: ReadManifest<'_>,
) -> Result<Option<Descriptor>, OciError> {
    if manifest.media_type != MANIFEST {
        return Ok(None);
    }
    let shown = ContentHash::from(manifest.digest).to_string();
    let Some(bytes) = read(manifest.digest)? else {
        return Err(OciError::Malformed {
            what: INDEX_FILE.to_owned(),
            why: format!("it lists `{shown}`, which is missing"),
        });
    };
    Ok(Manifest::parse(&bytes, &shown)?.subject)
}

/// Returns everything in the index that is attached to `subject`, ordered by digest.
pub(super) fn referrers_in_index(
    index: &Index,
    subject: Digest,
    read: ReadManifest<'_>,
) -> Result<Index, OciError> {
    let mut found = Index::default();
    if index.manifests.len() > MAX_LOOKED_AT {
        return Err(OciError::Malformed {
            what: INDEX_FILE.to_owned(),
            why: format!("it lists more than {MAX_LOOKED_AT} manifests"),
        });
    }
    for manifest in &index.manifests {
        let attached_to = subject_of(manifest, read)?;
        if attached_to.is_some_and(|attached_to| attached_to.digest == subject) {
            found.manifests.push(manifest.clone());
        }
    }
    found.manifests.sort_by_key(|manifest| manifest.digest);
    found.manifests.dedup_by_key(|manifest| manifest.digest);
    Ok(found)
}

/// Adds a manifest to the index. A tag is taken from the manifest that had it before.
pub(super) fn add_to_index(index: &mut Index, manifest: &Descriptor, tag: Option<&str>) {
    let name_of = |found: &Descriptor| found.annotations.get(REF_NAME).cloned();
    let is_known = |found: &Descriptor| found.digest == manifest.digest;
    if tag.is_none() && index.manifests.iter().any(is_known) {
        return;
    }
    // A manifest with a tagged entry needs no untagged one.
    index.manifests.retain(|found| match name_of(found) {
        Some(name) => Some(name.as_str()) != tag,
        None => !is_known(found),
    });
    let mut entry = manifest.clone();
    if let Some(tag) = tag {
        entry
            .annotations
            .insert(REF_NAME.to_owned(), tag.to_owned());
    }
    index.manifests.push(entry);
    index
        .manifests
        .sort_by_key(|found| (name_of(found), found.digest));
}

/// Reads a whole file, bounded by the size of a manifest.
pub(super) fn read_small(reader: impl Read, name: &str) -> Result<Vec<u8>, OciError> {
    Ok(read_bounded(reader, name, 0, MAX_MANIFEST)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referrers_in_index_with_missing_manifest_is_an_error() {
        let index = Index {
            manifests: vec![Descriptor::of(MANIFEST, b"{}")],
        };
        let found = referrers_in_index(&index, Digest::of(b"subject"), &|_| Ok(None));
        let message = found.err().map(|error| error.to_string());
        assert!(message.is_some_and(|text| text.contains("which is missing")));
    }
}
