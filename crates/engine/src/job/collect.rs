//! Collects the facts of a job bundle's folder.
//!
//! Every folder is listed once, every artifact opened once: from the handle of its folder,
//! without following links and without waiting on pipes. Only regular files with an artifact's
//! name, in the real `artifacts` folder, are opened. Facts come back sorted, whatever the
//! number of threads.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use runseal_core::formats::job_bundle::facts::{
    ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact,
};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, fstat, openat, statat};
use rustix::io::Errno;

use super::content::read_content;
use crate::stream::BUFFER;

/// Folders inside folders that are still looked into; a job bundle has one.
const MAX_DEPTH: usize = 64;

/// Artifacts a thread takes at a time: few, so that threads end together.
const SHARE: usize = 16;

/// The manifest as it was found.
#[derive(Debug)]
pub enum ManifestText {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// Nothing there, or not to be read: why.
    Absent(String),
}

/// An open bundle folder.
#[derive(Debug)]
pub struct BundleFolder {
    folder: OwnedFd,
    manifest_name: String,
}

const READ: OFlags = OFlags::RDONLY
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

    /// Reads the manifest, up to `limit` bytes.
    pub fn read_manifest(&self, limit: u64) -> ManifestText {
        match self.try_read_manifest(limit) {
            Ok(text) => text,
            Err(error) => ManifestText::Absent(error.to_string()),
        }
    }

    fn try_read_manifest(&self, limit: u64) -> io::Result<ManifestText> {
        let handle = match openat(&self.folder, &self.manifest_name, READ, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(ManifestText::Absent("there is none".to_owned())),
            Err(Errno::LOOP) => {
                return Ok(ManifestText::Absent("it is a symbolic link".to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&handle)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(ManifestText::Absent("it is no regular file".to_owned()));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let too_long =
            || ManifestText::Absent(format!("it is longer than {limit} bytes, the most allowed"));
        if size > limit {
            return Ok(too_long());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        File::from(handle).take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Ok(too_long());
        }
        Ok(ManifestText::Bytes(bytes))
    }

    /// Lists the folder and all below it. No file is opened.
    pub fn list(&self) -> Listing {
        let mut listing = Listing {
            artifacts: Vec::new(),
            folder: FolderFact::Missing,
            handle: None,
            others: Vec::new(),
        };
        let top = list_folder(&self.folder, |name, kind| match (name, kind) {
            (b"bundle.json", EntryFact::File | EntryFact::Folder | EntryFact::Special) => {}
            (b"artifacts", EntryFact::Folder) => listing.folder = FolderFact::Listed,
            (b"artifacts", kind) => {
                listing.folder = FolderFact::NotFolder(kind);
                listing.others.push(("artifacts".to_owned(), kind));
            }
            (name, kind) => listing.others.push((text_of(name), kind)),
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
    artifacts: Vec<(ArtifactKey, EntryFact)>,
    folder: FolderFact,
    handle: Option<OwnedFd>,
    others: Vec<(String, EntryFact)>,
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

    /// How many files with an artifact's name there are.
    pub fn artifact_count(&self) -> usize {
        self.artifacts.len()
    }

    /// The facts without any artifact's content, for a bundle that is lost anyway.
    pub fn without_contents(self) -> BundleFacts {
        let artifacts = self.unread();
        BundleFacts {
            folder: self.folder,
            artifacts,
            others: self.others,
        }
    }

    /// Reads every artifact on up to `threads` threads, the calling one included, which first
    /// does `meanwhile`; that may call the reading off.
    pub fn collect<T>(
        self,
        threads: usize,
        meanwhile: impl FnOnce() -> (T, Go),
    ) -> (T, BundleFacts) {
        let mut artifacts = self.unread();
        let threads = threads.min(artifacts.len().div_ceil(SHARE));
        let result = match &self.handle {
            None => meanwhile().0,
            Some(folder) => {
                let shares = Mutex::new(artifacts.chunks_mut(SHARE));
                thread::scope(|scope| {
                    for _ in 1..threads {
                        scope.spawn(|| read_shares(folder, &shares));
                    }
                    let (result, go) = meanwhile();
                    if go == Go::Stop
                        && let Ok(mut shares) = shares.lock()
                    {
                        *shares = [].chunks_mut(SHARE);
                    }
                    read_shares(folder, &shares);
                    result
                })
            }
        };
        (
            result,
            BundleFacts {
                folder: self.folder,
                artifacts,
                others: self.others,
            },
        )
    }

    fn unread(&self) -> Vec<(ArtifactKey, ArtifactFact)> {
        let unread = |&(key, kind)| (key, ArtifactFact::NotRegular(kind));
        self.artifacts.iter().map(unread).collect()
    }
}

/// Whether reading goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// It does.
    On,
    /// What is left is not worth reading.
    Stop,
}

type Shares<'a> = Mutex<std::slice::ChunksMut<'a, (ArtifactKey, ArtifactFact)>>;

fn read_shares(folder: &OwnedFd, shares: &Shares<'_>) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let share = match shares.lock() {
            Ok(mut shares) => shares.next(),
            Err(_) => None,
        };
        let Some(share) = share else { return };
        for (key, fact) in share {
            if matches!(fact, ArtifactFact::NotRegular(EntryFact::File)) {
                *fact = read_artifact(folder, *key, &mut buffer);
            }
        }
    }
}

fn read_artifact(folder: &OwnedFd, key: ArtifactKey, buffer: &mut [u8]) -> ArtifactFact {
    match try_read_artifact(folder, key, buffer) {
        Ok(fact) => fact,
        Err(error) => ArtifactFact::Unreadable(error.to_string()),
    }
}

fn try_read_artifact(
    folder: &OwnedFd,
    key: ArtifactKey,
    buffer: &mut [u8],
) -> io::Result<ArtifactFact> {
    let name = key.c_file_name();
    let name = CStr::from_bytes_with_nul(&name).map_err(io::Error::other)?;
    let handle = match openat(folder, name, READ, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::LOOP) => return Ok(ArtifactFact::NotRegular(EntryFact::Link)),
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&handle)?;
    match entry_of(FileType::from_raw_mode(stat.st_mode)) {
        EntryFact::File => {}
        other => return Ok(ArtifactFact::NotRegular(other)),
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    read_content(&mut File::from(handle), size, buffer).map(ArtifactFact::Content)
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
    use std::os::unix::fs::symlink;

    use super::*;

    fn facts_of(path: &Path, threads: usize) -> BundleFacts {
        let folder = BundleFolder::open(path).unwrap();
        folder.list().collect(threads, || ((), Go::On)).1
    }

    #[test]
    fn facts_are_the_same_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = folder.path().join("artifacts");
        fs::create_dir(&artifacts).unwrap();
        for n in 0..700u64 {
            let name = format!("{:016x}.txt", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            fs::write(artifacts.join(name), format!("line {n}\n")).unwrap();
        }
        let one = facts_of(folder.path(), 1);
        assert_eq!(one.artifacts.len(), 700);
        assert!(one.artifacts.is_sorted_by_key(|(key, _)| *key));
        assert_eq!(one, facts_of(folder.path(), 4));
    }

    #[test]
    fn links_pipes_and_folders_are_named_and_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("artifacts/00000000000000aa.txt/deep")).unwrap();
        fs::write(at("secret.txt"), "secret\n").unwrap();
        symlink("../secret.txt", at("artifacts/00000000000000bb.txt")).unwrap();
        symlink("/", at("artifacts/00000000000000aa.txt/deep/root")).unwrap();
        rustix::fs::mknodat(
            CWD,
            at("artifacts/00000000000000cc.txt"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let facts = facts_of(folder.path(), 2);
        let kinds: Vec<_> = facts
            .artifacts
            .iter()
            .map(|(_, fact)| fact.clone())
            .collect();
        let not_regular = ArtifactFact::NotRegular;
        assert_eq!(
            kinds,
            [EntryFact::Folder, EntryFact::Link, EntryFact::Special].map(not_regular)
        );
        let others: Vec<_> = facts.others.iter().map(|(p, k)| (p.as_str(), *k)).collect();
        assert_eq!(
            others,
            [
                ("artifacts/00000000000000aa.txt", EntryFact::Folder),
                ("artifacts/00000000000000aa.txt/deep", EntryFact::Folder),
                ("artifacts/00000000000000aa.txt/deep/root", EntryFact::Link),
                ("artifacts/00000000000000bb.txt", EntryFact::Link),
                ("secret.txt", EntryFact::File),
            ]
        );
    }

    #[test]
    fn manifest_too_long_is_refused_by_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let open = BundleFolder::open(folder.path()).unwrap();
        match open.read_manifest(512 << 20) {
            ManifestText::Absent(why) => assert!(why.contains("536870912"), "{why}"),
            ManifestText::Bytes(_) => panic!("read a manifest beyond the limit"),
        }
    }

    #[test]
    fn folder_named_by_its_manifest_is_the_same_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        fs::write(&path, "{}").unwrap();
        let open = BundleFolder::open(&path).unwrap();
        assert!(matches!(open.read_manifest(10), ManifestText::Bytes(bytes) if bytes == b"{}"));
        assert!(BundleFolder::open(&folder.path().join("none")).is_err());
    }
}
