//! Unpacks an archive into a private folder, so that a bundle in it can be run.
//!
//! The archive is read once, by the reader that verification uses. Each file's bytes are stored
//! under their digest as they pass by, and get their names only after the whole archive was read
//! and found valid.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::room::Room;
use runseal_archive::ContentDigester;
use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::archive::{ArchiveFault, FaultKind, verify_archive};
use runseal_core::formats::detect::Detected;
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_core::verify::Finding;

use runseal_survey::load::ContainingArchive;
use runseal_survey::signing::{SignatureForm, files_beside_entry};
use runseal_survey::{InsidePath, detect_in_archive};

use runseal_fs::archive::{Record, read_archive_with};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::private::PrivateFolder;
use runseal_fs::stream::{BUFFER, digest_through};
use runseal_fs::survey::{LocalFiles, find_in_archive};

/// An unpacked bundle; deleted when dropped.
#[derive(Debug)]
pub struct Unpacked {
    folder: PathBuf,
    wrapping: Option<ContainingArchive>,
    signatures: Result<Vec<(SignatureForm, Vec<u8>)>, SourceError>,
    _private: PrivateFolder,
}

impl Unpacked {
    /// The bundle's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The archive that it was in, for what is shown of it; `None` if it was a folder, or was asked for
    /// before.
    pub fn take_wrapping(&mut self) -> Option<ContainingArchive> {
        self.wrapping.take()
    }

    /// Takes the files with signatures that lie beside the bundle in the archive.
    ///
    /// # Errors
    /// When one of them could not be read.
    pub fn take_signatures(&mut self) -> Result<Vec<(SignatureForm, Vec<u8>)>, SourceError> {
        std::mem::replace(&mut self.signatures, Ok(Vec::new()))
    }
}

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It could not be read, or the private folder could not be written.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The archive has faults.
    #[error("the archive can be read in more than one way")]
    Faults(Vec<Finding>),
    /// There is no run bundle in it.
    #[error("there is no run bundle in it")]
    NoBundle,
}

impl Diagnose for UnpackError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Faults(_) => Diagnosis::invalid(self, "ARCHIVE")
                .located(Location::Named)
                .hint("unpack it yourself and replay the folder, if you trust it; `runseal verify` says more"),
            Self::NoBundle => Diagnosis::unreadable(self, "UNKNOWN_FORMAT")
                .located(Location::Named)
                .hint("of archives, only those with a run bundle can be replayed; unpack others first"),
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Faults(findings) => findings,
            _ => &[],
        }
    }
}

/// Unpacks the run bundle in the archive at `path`, or the one that `archive!/name` names; `None`
/// if the file is not an archive.
///
/// # Errors
/// [`UnpackError`]; nothing is left behind.
#[expect(clippy::disallowed_methods, reason = "only within a private folder")]
pub fn unpack_bundle(path: &Path) -> Result<Option<Unpacked>, UnpackError> {
    let inside = InsidePath::of(&LocalFiles, path);
    let path = inside.as_ref().map_or(path, |inside| &inside.archive);
    let fail = |source: io::Error| SourceError::Io {
        path: "the private folder".to_owned(),
        source,
    };
    let private = PrivateFolder::create("unpack").map_err(fail)?;
    let aside = private.path().join("content");
    fs::create_dir(&aside).map_err(fail)?;
    let mut keeper = ContentKeeper {
        folder: aside.clone(),
        count: 0,
        buffer: vec![0; BUFFER],
        room: Room::on_disk_of(private.path()),
    };
    let Some(archive) = read_archive_with(path, &mut keeper)? else {
        return Ok(None);
    };
    let is_top = inside.is_none();
    let (top, detected) = match inside {
        Some(inside) => {
            let detected = detect_in_archive(&archive, &inside.name);
            (inside.name, detected)
        }
        None => {
            let (top, detected, _) = find_in_archive(&archive);
            (top, detected)
        }
    };
    // What may be unpacked otherwise elsewhere does not count here: names that differ only by letter case, and names
    // that are not marked as UTF-8, which is how `zip` writes them. The bundle's own digests tell whether all arrived.
    let is_fault =
        |fault: &&ArchiveFault| !matches!(fault.kind, FaultKind::Alike | FaultKind::Unmarked);
    let faults: Vec<ArchiveFault> = archive.faults().iter().filter(is_fault).cloned().collect();
    let report = verify_archive(&faults);
    let format = match detected {
        Detected::Is(format @ (Format::RunBundle | Format::Redacted)) => format,
        // What was not read to its end may have one.
        _ if !report.is_valid() => return Err(UnpackError::Faults(report.findings().to_vec())),
        _ => return Err(UnpackError::NoBundle),
    };
    if !report.is_valid() {
        return Err(UnpackError::Faults(report.findings().to_vec()));
    }
    let folder = private.path().join("bundle");
    fs::create_dir(&folder).map_err(fail)?;
    let mut room = Room::on_disk_of(private.path());
    for (name, record) in archive.below(&top) {
        // What has no safe name or no content is reported by the bundle's rules.
        let name = str::from_utf8(name)
            .ok()
            .and_then(|name| SafePath::parse(name).ok());
        let Some(name) = name else {
            continue;
        };
        let place = folder.join(name.as_str());
        room.take_entry().map_err(fail)?;
        match record {
            Record::File(file) => {
                if let Some(parent) = place.parent() {
                    fs::create_dir_all(parent).map_err(fail)?;
                }
                let kept = aside.join(file.content.sha256.to_string());
                // Many names may share one content.
                let bytes = fs::symlink_metadata(&kept).map_or(0, |it| it.len());
                room.take(bytes).map_err(fail)?;
                fs::copy(&kept, &place).map_err(fail)?;
            }
            Record::Folder => fs::create_dir_all(&place).map_err(fail)?,
            // A placeholder for a link or pipe, so that the rules detect that it does not belong.
            Record::Other(_) => std::os::unix::fs::symlink("nowhere", &place).map_err(fail)?,
        }
    }
    fs::remove_dir_all(&aside).map_err(fail)?;
    Ok(Some(Unpacked {
        folder,
        wrapping: Some(ContainingArchive::of(&archive, &top, format, is_top)),
        signatures: files_beside_entry(&archive, &top),
        _private: private,
    }))
}

/// Copies the redacted copy at `path` into a private folder: its files are not bound to a list of
/// digests that would reveal a change during use.
///
/// # Errors
/// When it cannot be read, or the private folder cannot be written; nothing is left behind.
#[expect(clippy::disallowed_methods, reason = "only within a private folder")]
pub fn copy_privately(path: &Path) -> Result<Unpacked, SourceError> {
    let fail = |source: io::Error| SourceError::Io {
        path: "the private folder".to_owned(),
        source,
    };
    let private = PrivateFolder::create("copy").map_err(fail)?;
    let folder = private.path().join("bundle");
    fs::create_dir(&folder).map_err(fail)?;
    let source = DirectorySource::open(path, RootLink::Follow)?;
    let mut room = Room::on_disk_of(private.path());
    for entry in source.entries()? {
        let EntryName::Safe(name) = &entry.name else {
            let source = io::Error::other("it has a name that no copy has");
            let path = entry.name.shown().to_owned();
            return Err(SourceError::Io { path, source });
        };
        let place = folder.join(name.as_str());
        room.take_entry().map_err(fail)?;
        match entry.kind {
            EntryKind::Directory => fs::create_dir_all(&place).map_err(fail)?,
            EntryKind::File => {
                if let Some(parent) = place.parent() {
                    fs::create_dir_all(parent).map_err(fail)?;
                }
                let mut copy = File::create_new(&place).map_err(fail)?;
                room.copy(&mut source.open(name)?, &mut copy)
                    .map_err(fail)?;
            }
            // A placeholder, so that the rules detect that it does not belong.
            _ => std::os::unix::fs::symlink("nowhere", &place).map_err(fail)?,
        }
    }
    Ok(Unpacked {
        folder,
        wrapping: None,
        signatures: Ok(Vec::new()),
        _private: private,
    })
}

/// Stores the content of every file under its digest.
struct ContentKeeper {
    folder: PathBuf,
    count: u64,
    buffer: Vec<u8>,
    room: Room,
}

impl ContentDigester for ContentKeeper {
    #[expect(clippy::disallowed_methods, reason = "only within a private folder")]
    fn digest(
        &mut self,
        reader: &mut dyn Read,
        expected: u64,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(Digest, u64)> {
        self.count += 1;
        self.room.take_entry()?;
        let unnamed = self.folder.join(format!("unnamed-{}", self.count));
        let mut copy = File::create_new(&unnamed)?;
        let (digest, bytes) = digest_through(reader, expected, &mut self.buffer, |piece| {
            see(piece);
            self.room.take(piece.len() as u64)?;
            copy.write_all(piece)
        })?;
        fs::rename(&unnamed, self.folder.join(digest.to_string()))?;
        Ok((digest, bytes))
    }
}
