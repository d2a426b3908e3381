//! Reads files while the command is still running: each is hashed, and a small one kept, as soon as
//! the command first opens it.
//!
//! What was read ahead counts only if the file is still the same afterwards, by its size and by its
//! modification and change times: a program can set only the first. Anything else is read
//! and judged again later: nothing is decided here, and no error is reported.

use std::collections::{BTreeMap, VecDeque};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use runseal_core::digest::Digest;
use runseal_sandbox::OnFile;

use super::beneath::RealFiles;
use runseal_fs::input::open_regular;
use runseal_fs::stream::{BUFFER, digest_through};
use runseal_fs::threads::processors;

/// Larger files are left for later, so that interrupting a recording does not have to wait for one.
const LARGEST_HASHED: u64 = 64 << 20;
/// The largest file whose content is kept, as long as there is room.
const LARGEST_KEPT: u64 = 64 << 10;
/// The most bytes of all kept contents together.
const MOST_KEPT: u64 = 64 << 20;
/// The most files in the queue; further ones are not read ahead.
const MOST_WAITING: usize = 100_000;

/// How long the reader sleeps before it looks for new files.
const PAUSE: Duration = Duration::from_millis(1);

/// Identifies a version of a file: device, inode number, size and times of last change.
type Version = (u64, u64, u64, [i64; 4]);

fn version_of(metadata: &Metadata) -> Version {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        [
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        ],
    )
}

/// A file that was read ahead.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    version: Version,
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
    /// Its content, if it was kept.
    pub(crate) content: Option<Vec<u8>>,
}

/// Everything that was read, by path.
#[derive(Debug, Default)]
pub(crate) struct FilesAhead(BTreeMap<PathBuf, ReadAhead>);

impl FilesAhead {
    /// What was read of `path`, if `now`, its current metadata, shows that it is unchanged.
    pub(crate) fn get(&self, path: &Path, now: &Metadata) -> Option<&ReadAhead> {
        let found = self.0.get(path)?;
        (found.version == version_of(now)).then_some(found)
    }
}

/// Reads files while the command runs.
#[derive(Debug)]
pub(crate) struct Reader {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Files below these are opened through them, all others by path.
    real: Arc<RealFiles>,
    /// Signalled at the end.
    is_over: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<PathBuf>,
    is_over: bool,
    done: FilesAhead,
    kept: u64,
}

impl Reader {
    /// Starts a thread for it; none if the command has the only processor, or where there can be
    /// no thread: files are then read later.
    pub(crate) fn start(real: Arc<RealFiles>) -> Self {
        let shared = Arc::new(Shared {
            real,
            ..Shared::default()
        });
        let has_room = processors() > 1;
        let start = || {
            let shared = Arc::clone(&shared);
            thread::Builder::new().spawn(move || shared.work()).ok()
        };
        let thread = has_room.then(start).flatten();
        Self { shared, thread }
    }

    /// A listener for opened files: reads those that `wants` accepts, and calls `begin` for each of
    /// them.
    pub(crate) fn listener(
        &self,
        begin: impl Fn() + Send + Sync + 'static,
        wants: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Option<OnFile> {
        self.thread.as_ref()?;
        let shared = Arc::clone(&self.shared);
        Some(OnFile::new(move |path| {
            begin();
            if wants(path) {
                shared.add(path);
            }
        }))
    }

    /// Returns what was read. Files still in the queue are not read any more.
    pub(crate) fn finish(mut self) -> FilesAhead {
        self.end();
        std::mem::take(&mut self.shared.lock().done)
    }

    fn end(&mut self) {
        let mut queue = self.shared.lock();
        queue.is_over = true;
        queue.waiting.clear();
        drop(queue);
        self.shared.is_over.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has read nothing.
            let _ = thread.join();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, path: &Path) {
        let mut queue = self.lock();
        // Do not wake the reader: the command is waiting for this, and the reader polls.
        if queue.waiting.len() < MOST_WAITING {
            queue.waiting.push_back(path.to_owned());
        }
    }

    fn work(&self) {
        let mut buffer = vec![0; BUFFER];
        let mut queue = self.lock();
        while !queue.is_over {
            let Some(path) = queue.waiting.pop_front() else {
                let news = self.is_over.wait_timeout(queue, PAUSE);
                queue = news.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            let may_keep = queue.kept < MOST_KEPT;
            drop(queue);
            let read = read_ahead(&self.real, &path, may_keep, &mut buffer);
            queue = self.lock();
            if let Some(read) = read {
                let kept = read
                    .content
                    .as_ref()
                    .map_or(0, |content| content.len() as u64);
                queue.kept += kept;
                queue.done.0.insert(path, read);
            }
        }
    }
}

/// Reads one file; `None` if it does not exist, is too large or changes meanwhile.
fn read_ahead(
    real: &RealFiles,
    path: &Path,
    may_keep: bool,
    buffer: &mut [u8],
) -> Option<ReadAhead> {
    let mut file = match real.covers(path) {
        true => real.open(path).ok()?.0,
        false => open_regular(path).ok()?.0,
    };
    let size = file.metadata().ok()?.len();
    if size > LARGEST_HASHED {
        return None;
    }
    let version = version_of(&file.metadata().ok()?);
    let keeps = may_keep && size <= LARGEST_KEPT;
    let mut content = keeps.then(|| Vec::with_capacity(usize::try_from(size).unwrap_or(0)));
    let read = digest_through(&mut file, size, buffer, |piece| {
        if let Some(content) = &mut content {
            content.extend_from_slice(piece);
        }
        Ok(())
    });
    let (sha256, bytes) = read.ok()?;
    let is_same = bytes == size && version_of(&file.metadata().ok()?) == version;
    is_same.then_some(ReadAhead {
        version,
        sha256,
        bytes,
        content,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(paths: &[&Path]) -> FilesAhead {
        let reader = Reader::start(Arc::default());
        let Some(_) = reader.listener(|| (), |_| true) else {
            return FilesAhead::default();
        };
        for path in paths {
            reader.shared.add(path);
        }
        while !reader.shared.lock().waiting.is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        // The last file is taken from the queue before it is read; finishing waits for it.
        reader.finish()
    }

    #[test]
    fn file_read_ahead_counts_only_as_long_as_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("small"), "one").unwrap();
        fs::write(at("large"), vec![7; 100_000]).unwrap();
        fs::write(at("changed"), "two").unwrap();
        fs::write(at("replaced"), "two").unwrap();
        let (small, large, gone) = (at("small"), at("large"), at("gone"));
        let (changed, replaced) = (at("changed"), at("replaced"));
        let ahead = read(&[&small, &large, &gone, &changed, &replaced, folder.path()]);
        if processors() == 1 {
            return;
        }
        let now = |path: &Path| fs::metadata(path).unwrap();
        let found = ahead.get(&small, &now(&small)).unwrap();
        assert_eq!(
            (found.sha256, found.content.as_deref()),
            (Digest::of(b"one"), Some(&b"one"[..]))
        );
        let found = ahead.get(&large, &now(&large)).unwrap();
        assert_eq!((found.bytes, &found.content), (100_000, &None));
        assert!(ahead.get(&gone, &now(&small)).is_none());
        assert!(ahead.get(folder.path(), &now(folder.path())).is_none());
        // Same size, and the modification time reset: only the change time reveals it.
        let before = now(&changed);
        thread::sleep(Duration::from_millis(20));
        let file = fs::File::options().write(true).open(&changed).unwrap();
        fs::write(&changed, "new").unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        assert_eq!(
            now(&changed).modified().unwrap(),
            before.modified().unwrap()
        );
        assert!(ahead.get(&changed, &now(&changed)).is_none());
        fs::rename(&small, &replaced).unwrap();
        assert!(ahead.get(&replaced, &now(&replaced)).is_none());
    }

    #[test]
    fn reader_that_is_dropped_ends_without_reading_the_rest() {
        let reader = Reader::start(Arc::default());
        for number in 0..1000 {
            reader.shared.add(Path::new(&format!("/nowhere/{number}")));
        }
        drop(reader);
    }
}
