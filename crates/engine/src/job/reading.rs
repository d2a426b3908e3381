//! Reads the artifacts of a job bundle while its manifest is read: the manifest on the calling
//! thread, the folder and its files on others.
//!
//! Only regular files with an artifact's name, in the real `artifacts` folder, are opened, each
//! once, without following links and without waiting on pipes. Facts come back sorted, whatever
//! the number of threads.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use runseal_core::formats::job_bundle::facts::{ArtifactFact, ArtifactKey, BundleFacts, EntryFact};
use rustix::fs::{Mode, openat};
use rustix::io::Errno;

use super::collect::{BundleFolder, Listing, READ};
use super::content::{SMALL, read_content};

/// Artifacts a thread takes at a time: few, so that threads end together.
const SHARE: usize = 16;

/// Whether the artifacts are worth reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// They are.
    On,
    /// The bundle is lost anyway: none of their contents is to show.
    Stop,
}

/// Lists `folder` and reads every artifact on up to `threads` threads, the calling one included,
/// which first does `meanwhile`; that may call the reading off.
pub fn read_beside<T>(
    folder: &BundleFolder,
    threads: usize,
    meanwhile: impl FnOnce() -> (T, Go),
) -> (T, BundleFacts) {
    let reading = Reading::of(folder);
    let (result, go) = thread::scope(|scope| {
        let reading = &reading;
        if threads > 1 {
            scope.spawn(move || {
                let shares = reading.found().facts.len().div_ceil(SHARE);
                for _ in 2..threads.min(shares) {
                    scope.spawn(|| reading.read_shares());
                }
                reading.read_shares();
            });
        }
        let (result, go) = meanwhile();
        match go {
            Go::On => reading.read_shares(),
            Go::Stop => reading.stop(),
        }
        (result, go)
    });
    (result, reading.finish(go))
}

/// Lists `folder` and reads no artifact.
pub fn list_only(folder: &BundleFolder) -> BundleFacts {
    Reading::of(folder).finish(Go::Stop)
}

/// What the threads share.
#[derive(Debug)]
struct Reading<'a> {
    folder: &'a BundleFolder,
    found: OnceLock<Found>,
    /// The first artifact that nobody has taken yet.
    next: AtomicUsize,
}

/// The listing, and a place for the fact of each artifact.
#[derive(Debug)]
struct Found {
    listing: Listing,
    facts: Vec<OnceLock<ArtifactFact>>,
}

impl<'a> Reading<'a> {
    fn of(folder: &'a BundleFolder) -> Self {
        Self {
            folder,
            found: OnceLock::new(),
            next: AtomicUsize::new(0),
        }
    }

    /// What is there. The first to ask lists the folder, the others wait for that.
    fn found(&self) -> &Found {
        self.found.get_or_init(|| Found::in_folder(self.folder))
    }

    /// Lets every thread end with the share it has.
    fn stop(&self) {
        // Half of the range: no thread can count on from here to where it begins again.
        self.next.store(usize::MAX / 2, Ordering::Relaxed);
    }

    /// Reads artifacts until none is left.
    fn read_shares(&self) {
        let found = self.found();
        let Some(folder) = &found.listing.handle else {
            return;
        };
        let mut buffer = vec![0; SMALL];
        loop {
            let from = self.next.fetch_add(SHARE, Ordering::Relaxed);
            let left = found.facts.iter().zip(&found.listing.artifacts).skip(from);
            if left.len() == 0 {
                return;
            }
            for (fact, &(key, kind)) in left.take(SHARE) {
                if kind == EntryFact::File {
                    fact.get_or_init(|| read_artifact(folder, key, &mut buffer));
                }
            }
        }
    }

    fn finish(self, go: Go) -> BundleFacts {
        let found = self.found.into_inner();
        let Found { listing, facts } = found.unwrap_or_else(|| Found::in_folder(self.folder));
        let facts = facts.into_iter().map(|fact| match go {
            Go::On => fact.into_inner(),
            Go::Stop => None,
        });
        let keys = listing.artifacts.into_iter();
        BundleFacts {
            folder: listing.folder,
            artifacts: keys
                .zip(facts)
                .map(|((key, kind), fact)| (key, fact.unwrap_or(ArtifactFact::NotRegular(kind))))
                .collect(),
            others: listing.others,
        }
    }
}

impl Found {
    fn in_folder(folder: &BundleFolder) -> Self {
        let listing = folder.list();
        let mut facts = Vec::new();
        facts.resize_with(listing.artifacts.len(), OnceLock::new);
        Self { listing, facts }
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
    read_content(&File::from(handle), buffer).map(ArtifactFact::Content)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::{CWD, FileType};

    use super::*;

    fn facts_of(path: &Path, threads: usize) -> BundleFacts {
        let folder = BundleFolder::open(path).unwrap();
        read_beside(&folder, threads, || ((), Go::On)).1
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
    fn reading_that_is_called_off_shows_no_content_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("artifacts")).unwrap();
        for n in 0..100u64 {
            let name = folder.path().join(format!("artifacts/{n:016x}.txt"));
            fs::write(name, "line\n").unwrap();
        }
        let folder = BundleFolder::open(folder.path()).unwrap();
        let listed = list_only(&folder);
        assert_eq!(listed.artifacts.len(), 100);
        let unread = ArtifactFact::NotRegular(EntryFact::File);
        assert!(listed.artifacts.iter().all(|(_, fact)| *fact == unread));
        for threads in [1, 2, 5] {
            let (said, facts) = read_beside(&folder, threads, || ("lost", Go::Stop));
            assert_eq!((said, facts), ("lost", listed.clone()));
        }
    }
}
