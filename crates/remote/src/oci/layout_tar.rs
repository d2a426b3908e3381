//! An OCI layout in a single tar file.
//!
//! For reading, the blobs are located first and then read in place. Writing is a single pass, blobs
//! first and the index last; the file gets its name when it is complete, and an existing file is
//! never changed. The same artifact gives the same bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use runseal_core::digest::Digest;
use runseal_core::limits::MAX_ENTRIES;
use runseal_core::source::SourceError;
use runseal_fs::atomic::WriteError;
use runseal_fs::input::open_regular;
use runseal_fs::staging::{Place, StagingError, check_place};
use runseal_fs::unfinished::UnfinishedFile;

use super::OciError;
use super::layout::{
    CopyError, INDEX_FILE, MARKER, MARKER_CONTENT, add_to_index, blob_name, copy, read_from_index,
    read_small, referrers_in_index,
};
use super::manifest::{Descriptor, Index};
use super::repository::{
    CheckedBlob, Content, Failure, ManifestName, Referrers, Repository, SubjectListing,
};
use super::tarball::{END, Kind, header, padding};

/// A layout in a tar, for reading.
#[derive(Debug)]
pub struct TarLayout {
    path: PathBuf,
    /// The offset and size of each file's content.
    files: BTreeMap<String, (u64, u64)>,
}

impl TarLayout {
    /// Opens the layout in the tar at `path`; returns `None` if the file is not a layout in a tar.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, OciError> {
        let (file, _) = open_regular(path)?;
        let mut archive = tar::Archive::new(file);
        let mut files = BTreeMap::new();
        for (count, entry) in archive.entries_with_seek()?.enumerate() {
            let Ok(entry) = entry else {
                return Ok(None);
            };
            if count as u64 >= MAX_ENTRIES {
                return Ok(None);
            }
            if entry.header().entry_type() != tar::EntryType::Regular {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
            let place = (entry.raw_file_position(), entry.size());
            if files.insert(name, place).is_some() {
                return Err(OciError::Malformed {
                    what: path.display().to_string(),
                    why: "it has a duplicate name".to_owned(),
                });
            }
        }
        let is_layout = files.contains_key(MARKER) && files.contains_key(INDEX_FILE);
        Ok(is_layout.then(|| Self {
            path: path.to_owned(),
            files,
        }))
    }

    fn open_file(&self, name: &str) -> Result<Option<io::Take<File>>, OciError> {
        let Some((offset, size)) = self.files.get(name) else {
            return Ok(None);
        };
        let (mut file, _) = open_regular(&self.path)?;
        file.seek(SeekFrom::Start(*offset))?;
        Ok(Some(file.take(*size)))
    }

    fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>, OciError> {
        let file = self.open_file(name)?;
        file.map(|file| read_small(file, name)).transpose()
    }

    fn index(&self) -> Result<Index, OciError> {
        let bytes = self.read_file(INDEX_FILE)?.unwrap_or_default();
        Index::parse(&bytes, INDEX_FILE)
    }

    fn read_only(&self) -> OciError {
        StagingError::Exists(self.path.clone()).into()
    }
}

impl Repository for TarLayout {
    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    fn has_blob(&self, blob: &Descriptor) -> Result<bool, OciError> {
        let found = self.files.get(&blob_name(blob.digest));
        Ok(found.is_some_and(|(_, size)| *size == blob.size))
    }

    fn put_blob(&self, _: &Descriptor, _: &dyn Content) -> Result<(), OciError> {
        Err(self.read_only())
    }

    fn open_blob(&self, blob: &Descriptor) -> Result<Box<dyn Read + Send + '_>, OciError> {
        let name = blob_name(blob.digest);
        match self.open_file(&name)? {
            Some(file) => Ok(Box::new(file)),
            None => Err(SourceError::NotFound { path: name }.into()),
        }
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
        _: &Descriptor,
        _: &[u8],
        _: Option<&str>,
    ) -> Result<SubjectListing, OciError> {
        Err(self.read_only())
    }

    fn list_referrers(&self, subject: Digest) -> Result<Referrers, OciError> {
        let read = |digest: Digest| self.read_file(&blob_name(digest));
        referrers_in_index(&self.index()?, subject, &read).map(Referrers::Listed)
    }
}

/// A layout in a tar that is being written.
#[derive(Debug)]
pub struct TarLayoutWriter {
    target: PathBuf,
    state: Mutex<Writing>,
}

#[derive(Debug)]
struct Writing {
    file: UnfinishedFile,
    written: BTreeMap<Digest, u64>,
    index: Index,
}

impl TarLayoutWriter {
    /// Begins a tar that will be named `target`, which must not exist.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub fn begin(target: &Path) -> Result<Self, OciError> {
        check_place(target, Place::Free)?;
        let failed = |source| WriteError {
            path: target.to_owned(),
            source,
        };
        let mut file = UnfinishedFile::create_beside(target).map_err(failed)?;
        write_entry(file.as_file_mut(), MARKER, MARKER_CONTENT).map_err(failed)?;
        Ok(Self {
            target: target.to_owned(),
            state: Mutex::new(Writing {
                file,
                written: BTreeMap::new(),
                index: Index::default(),
            }),
        })
    }
}

fn write_entry(file: &mut dyn Write, name: &str, bytes: &[u8]) -> io::Result<()> {
    let size = bytes.len() as u64;
    file.write_all(&header(name, Kind::File(size)))?;
    file.write_all(bytes)?;
    file.write_all(&vec![0; padding(size)])
}

impl Repository for TarLayoutWriter {
    fn shown(&self) -> String {
        self.target.display().to_string()
    }

    fn has_blob(&self, blob: &Descriptor) -> Result<bool, OciError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state.written.contains_key(&blob.digest))
    }

    fn put_blob(&self, blob: &Descriptor, content: &dyn Content) -> Result<(), OciError> {
        let failed = |source| WriteError {
            path: self.target.clone(),
            source,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.written.insert(blob.digest, blob.size).is_some() {
            return Ok(());
        }
        let failure = Failure::default();
        let mut reader = CheckedBlob::new(content.open_at(0)?, blob, failure.clone());
        let head = header(&blob_name(blob.digest), Kind::File(blob.size));
        state.file.as_file_mut().write_all(&head).map_err(failed)?;
        let copied = copy(&mut reader, state.file.as_file_mut()).map_err(|error| match error {
            CopyError::Read(error) => OciError::from(error),
            CopyError::Write(source) => failed(source).into(),
        });
        failure.or(copied)?;
        let rest = vec![0; padding(blob.size)];
        state.file.as_file_mut().write_all(&rest).map_err(failed)?;
        Ok(())
    }

    fn open_blob(&self, blob: &Descriptor) -> Result<Box<dyn Read + Send + '_>, OciError> {
        let path = blob_name(blob.digest);
        Err(SourceError::NotFound { path }.into())
    }

    fn get_manifest(&self, _: &ManifestName) -> Result<Option<Vec<u8>>, OciError> {
        Ok(None)
    }

    fn put_manifest(
        &self,
        manifest: &Descriptor,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<SubjectListing, OciError> {
        self.put_blob(manifest, &bytes)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        add_to_index(&mut state.index, manifest, tag);
        Ok(SubjectListing::ByThePlace)
    }

    fn list_referrers(&self, _: Digest) -> Result<Referrers, OciError> {
        Ok(Referrers::Listed(Index::default()))
    }

    /// Writes the index and gives the tar its name.
    fn finish(self: Box<Self>) -> Result<(), OciError> {
        let Self { target, state } = *self;
        let failed = |source| WriteError {
            path: target.clone(),
            source,
        };
        let state = state.into_inner();
        let Writing {
            mut file, index, ..
        } = state.unwrap_or_else(PoisonError::into_inner);
        write_entry(file.as_file_mut(), INDEX_FILE, &index.to_bytes()?).map_err(failed)?;
        file.as_file_mut().write_all(&END).map_err(failed)?;
        file.finish().map_err(failed)?;
        match file.persist_new(target.file_name().unwrap_or_default()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StagingError::Exists(target.clone()).into())
            }
            Err(error) => Err(failed(error).into()),
        }
    }
}
