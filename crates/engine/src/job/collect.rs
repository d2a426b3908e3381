//! A job bundle's folder: its manifest's bytes, and what stands below it.
//!
//! Every folder is listed once, from the handle of the one above it, without following links.
//! The artifacts themselves are read in [`reading`](super::reading).

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use runseal_core::formats::job_bundle::facts::{ArtifactKey, EntryFact, FolderFact};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, fstat, openat, seek, statat,
};
use rustix::io::Errno;

/// Folders inside folders that are still looked into; a job bundle has one.
const MAX_DEPTH: usize = 64;

/// A manifest that was opened and not yet read.
#[derive(Debug)]
pub struct ManifestFile {
    file: File,
    size: u64,
    limit: u64,
}

impl ManifestFile {
    /// How many bytes it had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its bytes; where it cannot be read, or has grown beyond the limit, why.
    pub fn read(self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or(0) + 1);
        let read = self.file.take(self.limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        if bytes.len() as u64 > self.limit {
            return Err(too_long(self.limit));
        }
        Ok(bytes)
    }
}

fn too_long(limit: u64) -> String {
    format!("it is longer than {limit} bytes, the most allowed")
}

/// An open bundle folder.
#[derive(Debug)]
pub struct BundleFolder {
    folder: OwnedFd,
    manifest_name: String,
}

/// What every file is opened with. A link is refused, a pipe does not block.
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

impl BundleFolder {
    /// Opens the folder, or the folder of the manifest that was named. The folder itself may be
    /// reached by a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(folder) => Ok(Self {
                folder,
                manifest_name: "bundle.json".to_owned(),
            }),
            Err(Errno::NOTDIR) => {
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                let parent = match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    _ => Path::new("."),
                };
                let folder = openat(CWD, parent, flags, Mode::empty())?;
                Ok(Self {
                    folder,
                    manifest_name: name.to_owned(),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The name the manifest was looked for under.
    pub fn manifest_name(&self) -> &str {
        &self.manifest_name
    }

    /// Opens the manifest if it is a regular file of up to `limit` bytes; else says why not.
    pub fn open_manifest(&self, limit: u64) -> Result<ManifestFile, String> {
        let handle = match openat(&self.folder, &self.manifest_name, READ, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Err("there is none".to_owned()),
            Err(Errno::LOOP) => return Err("it is a symbolic link".to_owned()),
            Err(error) => return Err(io::Error::from(error).to_string()),
        };
        let stat = fstat(&handle).map_err(|error| io::Error::from(error).to_string())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err("it is no regular file".to_owned());
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > limit {
            return Err(too_long(limit));
        }
        Ok(ManifestFile {
            file: File::from(handle),
            size,
            limit,
        })
    }

    /// Lists the folder and all below it. No file is opened.
    pub fn list(&self) -> Listing {
        let mut listing = Listing {
            artifacts: Vec::new(),
            folder: FolderFact::Missing,
            handle: None,
            others: Vec::new(),
        };
        // A handle remembers how far it was listed.
        let begun = seek(&self.folder, SeekFrom::Start(0));
        let top = begun.and_then(|_| {
            list_folder(&self.folder, |name, kind| match (name, kind) {
                (b"bundle.json", EntryFact::File | EntryFact::Folder | EntryFact::Special) => {}
                (b"artifacts", EntryFact::Folder) => listing.folder = FolderFact::Listed,
                (b"artifacts", kind) => {
                    listing.folder = FolderFact::NotFolder(kind);
                    listing.others.push(("artifacts".to_owned(), kind));
                }
                (name, kind) => listing.others.push((text_of(name), kind)),
            })
        });
        if let Err(error) = top {
            listing.folder = FolderFact::Unreadable(error.to_string());
            listing.others.push((".".to_owned(), EntryFact::Unknown));
            return listing;
        }
        if listing.folder == FolderFact::Listed {
            listing.list_artifacts(&self.folder);
        }
        let known = listing.others.len();
        for at in 0..known {
            let (path, kind) = listing.others[at].clone();
            if kind == EntryFact::Folder {
                let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
                let parent = match (path.starts_with("artifacts/"), &listing.handle) {
                    (true, Some(artifacts)) => artifacts.try_clone(),
                    _ => self.folder.try_clone(),
                };
                match parent {
                    Ok(parent) => walk(&parent, &name, &path, 1, &mut listing.others),
                    Err(_) => listing.others.push((path, EntryFact::Unknown)),
                }
            }
        }
        listing.others.sort();
        listing
    }
}

/// What stands below the folder, before any artifact is opened.
#[derive(Debug)]
pub struct Listing {
    /// What has an artifact's name, sorted.
    pub artifacts: Vec<(ArtifactKey, EntryFact)>,
    /// What stands at `artifacts`.
    pub folder: FolderFact,
    /// The `artifacts` folder, where it could be listed.
    pub handle: Option<OwnedFd>,
    /// Everything else below the folder, sorted.
    pub others: Vec<(String, EntryFact)>,
}

impl Listing {
    fn list_artifacts(&mut self, parent: &OwnedFd) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let listed = openat(parent, "artifacts", flags, Mode::empty()).and_then(|handle| {
            list_folder(&handle, |name, kind| {
                match ArtifactKey::parse_file_name(name) {
                    Some(key) => {
                        self.artifacts.push((key, kind));
                        // A folder may hide a link, and a link is a finding of its own.
                        if matches!(kind, EntryFact::Link | EntryFact::Folder) {
                            self.others
                                .push((format!("artifacts/{}", text_of(name)), kind));
                        }
                    }
                    None => self
                        .others
                        .push((format!("artifacts/{}", text_of(name)), kind)),
                }
            })?;
            Ok(handle)
        });
        match listed {
            Ok(handle) => self.handle = Some(handle),
            Err(error) => self.folder = FolderFact::Unreadable(error.to_string()),
        }
        self.artifacts.sort_unstable();
    }
}

/// Calls `each` with the name and kind of every entry of a folder.
fn list_folder(
    folder: &impl AsFd,
    mut each: impl FnMut(&[u8], EntryFact),
) -> rustix::io::Result<()> {
    let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say; then the entry itself is asked.
            FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(EntryFact::Unknown, |stat| {
                    entry_of(FileType::from_raw_mode(stat.st_mode))
                }),
            known => entry_of(known),
        };
        each(name.to_bytes(), kind);
    }
    Ok(())
}

/// Adds everything below a folder that has no business in a bundle.
fn walk(
    parent: &OwnedFd,
    name: &str,
    path: &str,
    depth: usize,
    others: &mut Vec<(String, EntryFact)>,
) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut found = Vec::new();
    let listed = openat(parent, name, flags, Mode::empty()).and_then(|handle| {
        list_folder(&handle, |name, kind| found.push((text_of(name), kind)))?;
        Ok(handle)
    });
    match listed {
        Ok(handle) if depth < MAX_DEPTH => {
            for (name, kind) in found {
                let path = format!("{path}/{name}");
                others.push((path.clone(), kind));
                if kind == EntryFact::Folder {
                    walk(&handle, &name, &path, depth + 1, others);
                }
            }
        }
        _ => others.push((path.to_owned(), EntryFact::Unknown)),
    }
}

fn entry_of(kind: FileType) -> EntryFact {
    match kind {
        FileType::RegularFile => EntryFact::File,
        FileType::Directory => EntryFact::Folder,
        FileType::Symlink => EntryFact::Link,
        _ => EntryFact::Special,
    }
}

/// A name as reports show it.
fn text_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn manifest_too_long_is_refused_by_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let open = BundleFolder::open(folder.path()).unwrap();
        let why = open.open_manifest(512 << 20).unwrap_err();
        assert!(why.contains("536870912"), "{why}");
    }

    #[test]
    fn manifest_that_grows_beyond_the_limit_after_opening_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        fs::write(&path, "{}").unwrap();
        let opened = BundleFolder::open(folder.path()).unwrap();
        let manifest = opened.open_manifest(10).unwrap();
        fs::write(&path, " ".repeat(11)).unwrap();
        let why = manifest.read().unwrap_err();
        assert!(why.contains("longer than 10 bytes"), "{why}");
    }

    #[test]
    fn folder_named_by_its_manifest_is_the_same_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        fs::write(&path, "{}").unwrap();
        let open = BundleFolder::open(&path).unwrap();
        assert_eq!(open.open_manifest(10).unwrap().read().unwrap(), b"{}");
        assert!(BundleFolder::open(&folder.path().join("none")).is_err());
    }
}
