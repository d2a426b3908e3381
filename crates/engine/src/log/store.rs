//! The files of a log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_trust::encoding::{decode_base64, encode_base64};
use runseal_trust::log::tree::{Frontier, Nodes, empty_root, leaf_hash};
use runseal_trust::log::{Checkpoint, SignedNote};
use rustix::fs::FlockOperation;
use thiserror::Error;

use crate::atomic::{WriteError, write_bytes};
use crate::input::read_file;
use crate::staging::{Place, Rights, Staging, StagingError};

pub(super) const ENTRIES: &str = "entries";
pub(super) const LEAVES: &str = "leaves";
pub(super) const NODES: &str = "nodes";
const HEAD: &str = "head";
const CHECKPOINT: &str = "checkpoint";
const FIRST_LINE: &str = "runseal-log@v1";
/// Bytes of an entry in `leaves`: its hash and its end.
pub(super) const LEAF: u64 = 40;
pub(super) const NODE: u64 = 32;
/// The longest `head` and the longest checkpoint.
const MAX_SMALL: u64 = 1 << 20;
/// Bytes of one look at `leaves`.
const SCAN: usize = 40 << 12;

/// Why a log cannot be used.
#[derive(Debug, Error)]
pub enum LogError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It could not be made.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// A file of it could not be read or written.
    #[error("`{file}` of the log could not be used")]
    File {
        /// Which.
        file: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It is no log of ours.
    #[error("it is no log: {0}")]
    NoLog(&'static str),
    /// A file is shorter than the log says.
    #[error("`{file}` of the log is cut off: it has {actual} bytes, and {expected} count")]
    Cut {
        /// Which.
        file: &'static str,
        /// How many bytes count.
        expected: u64,
        /// How many there are.
        actual: u64,
    },
    /// Somebody else appends.
    #[error("another process is appending to the log")]
    Busy,
    /// An entry that cannot be stored.
    #[error("an entry is one line of at most 4096 bytes")]
    Entry,
    /// More entries were asked for than there are.
    #[error("the log has {size} entries; {asked} was asked for")]
    Beyond {
        /// How many it has.
        size: u64,
        /// Which one was asked for.
        asked: u64,
    },
    /// The checkpoint that was signed last is not of this tree.
    #[error(
        "the checkpoint signed last, of {0} entries, is not of this log: it was rolled back or changed"
    )]
    Forked(u64),
    /// The name of a log is one line without white space.
    #[error("a log's name has no white space and no `+`")]
    Name,
}

fn file_error(file: &'static str) -> impl Fn(io::Error) -> LogError + Copy {
    move |source| LogError::File { file, source }
}

/// What counts of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    checkpoint: Checkpoint,
    entry_bytes: u64,
}

impl Head {
    fn to_text(&self) -> String {
        let Checkpoint { origin, size, root } = &self.checkpoint;
        let root = encode_base64(root.as_bytes());
        format!(
            "{FIRST_LINE}\n{origin}\n{size}\n{root}\n{}\n",
            self.entry_bytes
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let origin = lines.next()?.to_owned();
        let size = lines.next()?.parse().ok()?;
        let root: [u8; 32] = decode_base64(lines.next()?)?.try_into().ok()?;
        let entry_bytes = lines.next()?.parse().ok()?;
        let checkpoint = Checkpoint {
            origin,
            size,
            root: Digest::from_bytes(root),
        };
        lines.next().is_none().then_some(Self {
            checkpoint,
            entry_bytes,
        })
    }
}

/// How many complete subtrees of two entries or more there are.
pub(super) fn node_count(size: u64) -> u64 {
    size - u64::from(size.count_ones())
}

/// Where the complete subtree at `level` (1 or more) and `index` stands in `nodes`: it is
/// completed by the last entry below it, after those that are smaller.
fn node_place(level: u32, index: u64) -> u64 {
    let last = ((index + 1) << level) - 1;
    node_count(last) + u64::from(level) - 1
}

/// A log as it was when it was opened.
#[derive(Debug)]
pub struct LogStore {
    folder: PathBuf,
    head: Head,
    entries: File,
    leaves: File,
    nodes: File,
}

impl LogStore {
    /// Makes a new log, without entries.
    ///
    /// # Errors
    /// When something is there already, or the name is none.
    pub fn init(folder: &Path, origin: &str) -> Result<(), LogError> {
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if origin.is_empty() || origin.contains(is_bad) {
            return Err(LogError::Name);
        }
        let head = Head {
            checkpoint: Checkpoint {
                origin: origin.to_owned(),
                size: 0,
                root: empty_root(),
            },
            entry_bytes: 0,
        };
        let mut staging = Staging::begin_beside(folder)?;
        for name in [ENTRIES, LEAVES, NODES] {
            staging.put(name, b"")?;
        }
        staging.put(HEAD, head.to_text().as_bytes())?;
        let how = (Place::FreeOrEmptyFolder, Rights::AsUmask);
        staging.publish(folder, how, |_| Ok::<_, StagingError>(()))?;
        Ok(())
    }

    /// Opens a log for reading.
    ///
    /// # Errors
    /// When it is none, or is cut off.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        Self::open_with(folder, OpenOptions::new().read(true))
    }

    fn open_with(folder: &Path, options: &OpenOptions) -> Result<Self, LogError> {
        let head = Self::read_head(folder)?;
        let open = |file: &'static str| options.open(folder.join(file)).map_err(file_error(file));
        let log = Self {
            folder: folder.to_owned(),
            entries: open(ENTRIES)?,
            leaves: open(LEAVES)?,
            nodes: open(NODES)?,
            head,
        };
        for (file, handle, expected) in log.lengths() {
            let actual = handle.metadata().map_err(file_error(file))?.len();
            if actual < expected {
                return Err(LogError::Cut {
                    file,
                    expected,
                    actual,
                });
            }
        }
        Ok(log)
    }

    fn read_head(folder: &Path) -> Result<Head, LogError> {
        if !folder.is_dir() {
            return Err(LogError::NoLog("a log is a folder"));
        }
        let bytes = read_file(&folder.join(HEAD), MAX_SMALL).map_err(|error| match error {
            SourceError::NotFound { .. } => LogError::NoLog("it has no file `head`"),
            other => other.into(),
        })?;
        let text = String::from_utf8(bytes).ok();
        text.and_then(|text| Head::parse(&text))
            .ok_or(LogError::NoLog("its file `head` is malformed"))
    }

    /// Each file with the bytes of it that count.
    fn lengths(&self) -> [(&'static str, &File, u64); 3] {
        let size = self.size();
        [
            (ENTRIES, &self.entries, self.head.entry_bytes),
            (LEAVES, &self.leaves, size * LEAF),
            (NODES, &self.nodes, node_count(size) * NODE),
        ]
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the log is now.
    pub fn state(&self) -> &Checkpoint {
        &self.head.checkpoint
    }

    /// How many entries count.
    pub fn size(&self) -> u64 {
        self.head.checkpoint.size
    }

    pub(super) fn entry_bytes(&self) -> u64 {
        self.head.entry_bytes
    }

    /// Where the entry stands in `entries`, with its newline.
    fn entry_range(&self, index: u64) -> Result<Range<u64>, LogError> {
        if index >= self.size() {
            return Err(LogError::Beyond {
                size: self.size(),
                asked: index,
            });
        }
        let end = |index: u64| {
            let mut bytes = [0; 8];
            let at = index * LEAF + 32;
            let read = self.leaves.read_exact_at(&mut bytes, at);
            read.map_err(file_error(LEAVES))?;
            Ok::<_, LogError>(u64::from_be_bytes(bytes))
        };
        let start = match index {
            0 => 0,
            _ => end(index - 1)?,
        };
        Ok(start..end(index)?)
    }

    /// The entry at `index`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn entry(&self, index: u64) -> Result<Vec<u8>, LogError> {
        let Range { start, end } = self.entry_range(index)?;
        let length = end.checked_sub(start + 1).filter(|length| *length <= 4096);
        let length = length.ok_or(LogError::NoLog("an entry's end is malformed"))?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let read = self.entries.read_exact_at(&mut bytes, start);
        read.map_err(file_error(ENTRIES))?;
        Ok(bytes)
    }

    /// Where entries with these hashes stand first; those that are not there are left out.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn find(&self, wanted: &BTreeSet<Digest>) -> Result<BTreeMap<Digest, u64>, LogError> {
        let mut found = BTreeMap::new();
        let end = self.size() * LEAF;
        let mut buffer = vec![0; SCAN];
        let (mut at, mut index) = (0, 0);
        while at < end && found.len() < wanted.len() {
            let count = usize::try_from(end - at).map_or(SCAN, |left| left.min(SCAN));
            let piece = &mut buffer[..count];
            let read = self.leaves.read_exact_at(piece, at);
            read.map_err(file_error(LEAVES))?;
            for record in piece.chunks_exact(LEAF as usize) {
                if let Some(hash) = record.first_chunk::<32>() {
                    let hash = Digest::from_bytes(*hash);
                    if wanted.contains(&hash) {
                        found.entry(hash).or_insert(index);
                    }
                }
                index += 1;
            }
            at += count as u64;
        }
        Ok(found)
    }

    /// The checkpoint that was signed last.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn signed_checkpoint(&self) -> Result<Option<SignedNote>, LogError> {
        let bytes = match read_file(&self.folder.join(CHECKPOINT), MAX_SMALL) {
            Ok(bytes) => bytes,
            Err(SourceError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8(bytes).ok();
        let note = text.and_then(|text| SignedNote::parse(&text).ok());
        note.map(Some)
            .ok_or(LogError::NoLog("its file `checkpoint` is no signed note"))
    }

    /// Whether a checkpoint is of this tree: not longer, and of the same root at its size.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn agrees_with(&self, checkpoint: &Checkpoint) -> Result<bool, LogError> {
        Ok(checkpoint.size <= self.size()
            && checkpoint.origin == self.state().origin
            && runseal_trust::log::tree::compute_root(self, checkpoint.size)? == checkpoint.root)
    }
}

impl Nodes for LogStore {
    type Error = LogError;

    fn hash(&self, level: u32, index: u64) -> Result<Digest, LogError> {
        let mut bytes = [0; 32];
        let (file, name, at) = match level {
            0 => (&self.leaves, LEAVES, index * LEAF),
            _ => (&self.nodes, NODES, node_place(level, index) * NODE),
        };
        file.read_exact_at(&mut bytes, at)
            .map_err(file_error(name))?;
        Ok(Digest::from_bytes(bytes))
    }
}

/// The one process that appends to a log.
#[derive(Debug)]
pub struct Appender {
    log: LogStore,
    frontier: Frontier,
}

impl Appender {
    /// Opens a log for appending and cuts off what does not count.
    ///
    /// # Errors
    /// When it is none, is cut off, or somebody else appends.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        let options = OpenOptions::new().read(true).write(true).clone();
        // The lock comes before the head is read, so that what is read is the newest.
        let entries = folder.join(ENTRIES);
        LogStore::read_head(folder)?;
        let lock = options.open(&entries).map_err(file_error(ENTRIES))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| LogError::Busy)?;
        let mut log = LogStore::open_with(folder, &options)?;
        log.entries = lock;
        for (file, handle, length) in log.lengths() {
            handle.set_len(length).map_err(file_error(file))?;
        }
        let frontier = Frontier::read(&log, log.size())?;
        // Hashes that do not give the root are no basis to build on.
        match frontier.root() == log.state().root {
            true => Ok(Self { log, frontier }),
            false => Err(LogError::NoLog("its hashes do not give its root")),
        }
    }

    /// The log.
    pub fn log(&self) -> &LogStore {
        &self.log
    }

    /// Appends entries and gives their places: all of them are on disk, or none counts.
    ///
    /// # Errors
    /// When one cannot be stored; then none is.
    pub fn append(&mut self, batch: &[Vec<u8>]) -> Result<Range<u64>, LogError> {
        let start = self.log.size();
        if batch.is_empty() {
            return Ok(start..start);
        }
        if batch
            .iter()
            .any(|entry| entry.len() > 4096 || entry.contains(&b'\n'))
        {
            return Err(LogError::Entry);
        }
        let mut frontier = self.frontier.clone();
        let mut entry_bytes = self.log.head.entry_bytes;
        let lengths = self.log.lengths().map(|(_, _, length)| length);
        let files = [&self.log.entries, &self.log.leaves, &self.log.nodes];
        let names = [ENTRIES, LEAVES, NODES];
        let mut writers = Vec::new();
        for ((mut file, name), length) in files.into_iter().zip(names).zip(lengths) {
            file.seek(SeekFrom::Start(length))
                .map_err(file_error(name))?;
            writers.push(BufWriter::with_capacity(1 << 16, file));
        }
        let mut write = |file: usize, bytes: &[u8]| {
            writers[file]
                .write_all(bytes)
                .map_err(file_error(names[file]))
        };
        for entry in batch {
            write(0, entry)?;
            write(0, b"\n")?;
            entry_bytes += entry.len() as u64 + 1;
            let leaf = leaf_hash(entry);
            write(1, leaf.as_bytes())?;
            write(1, &entry_bytes.to_be_bytes())?;
            for node in frontier.push(leaf) {
                write(2, node.as_bytes())?;
            }
        }
        for (writer, name) in writers.into_iter().zip(names) {
            let file = writer.into_inner();
            let file = file.map_err(|error| file_error(name)(error.into_error()))?;
            file.sync_data().map_err(file_error(name))?;
        }
        let head = Head {
            checkpoint: Checkpoint {
                origin: self.log.state().origin.clone(),
                size: frontier.size(),
                root: frontier.root(),
            },
            entry_bytes,
        };
        write_bytes(&self.log.folder.join(HEAD), head.to_text().as_bytes())?;
        self.log.head = head;
        self.frontier = frontier;
        Ok(start..self.log.size())
    }

    /// Keeps a signed checkpoint of the log as it is now. Whoever signs two checkpoints that no
    /// tree has both of has forked the log, so the one before is looked at first.
    ///
    /// # Errors
    /// When the checkpoint signed last is not of this tree.
    pub fn keep_checkpoint(&mut self, note: &SignedNote) -> Result<(), LogError> {
        self.check_last()?;
        let path = self.log.folder.join(CHECKPOINT);
        Ok(write_bytes(&path, note.to_text().as_bytes())?)
    }

    /// Fails where the checkpoint signed last is not of this tree.
    ///
    /// # Errors
    /// Then, and when the log cannot be read.
    pub fn check_last(&self) -> Result<(), LogError> {
        let Some(last) = self.log.signed_checkpoint()? else {
            return Ok(());
        };
        let last = Checkpoint::parse(&last.text)
            .map_err(|_| LogError::NoLog("its file `checkpoint` is no checkpoint"))?;
        match self.log.agrees_with(&last)? {
            true => Ok(()),
            false => Err(LogError::Forked(last.size)),
        }
    }
}

/// Reads exactly as many bytes as `buffer` has, or says that the file is too short.
pub(super) fn read_next(
    file: &mut impl Read,
    name: &'static str,
    buffer: &mut [u8],
) -> Result<(), LogError> {
    file.read_exact(buffer).map_err(file_error(name))
}

#[cfg(test)]
mod tests {
    use runseal_trust::log::tree::{
        MemoryTree, prove_consistency, prove_inclusion, verify_consistency, verify_inclusion,
    };

    use super::*;

    fn entry(at: u64) -> Vec<u8> {
        format!("entry {at}").into_bytes()
    }

    fn new_log() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        LogStore::init(&path, "example.com/log").unwrap();
        (folder, path)
    }

    #[test]
    fn log_appended_in_batches_is_the_tree_of_its_entries() {
        let (_folder, path) = new_log();
        let mut tree = MemoryTree::default();
        let mut next = 0;
        for count in [1, 1, 2, 5, 0, 64, 1, 31] {
            let batch: Vec<_> = (next..next + count).map(entry).collect();
            let mut appender = Appender::open(&path).unwrap();
            assert_eq!(appender.append(&batch).unwrap(), next..next + count);
            for entry in &batch {
                tree.push(leaf_hash(entry));
            }
            next += count;
            assert_eq!(appender.log().state().root, tree.root());
        }
        let log = LogStore::open(&path).unwrap();
        assert_eq!((log.size(), log.state().root), (next, tree.root()));
        for index in 0..next {
            assert_eq!(log.entry(index).unwrap(), entry(index));
            let leaf = leaf_hash(&entry(index));
            let proof = prove_inclusion(&log, index, next).unwrap();
            assert!(verify_inclusion(&leaf, index, next, &proof, &tree.root()));
            let old = runseal_trust::log::tree::compute_root(&log, index).unwrap();
            let proof = prove_consistency(&log, index, next).unwrap();
            assert!(verify_consistency(
                (index, &old),
                (next, &tree.root()),
                &proof
            ));
        }
        let wanted = [leaf_hash(&entry(7)), leaf_hash(b"none")].into();
        assert_eq!(
            log.find(&wanted).unwrap(),
            [(leaf_hash(&entry(7)), 7)].into()
        );
    }

    #[test]
    fn log_with_bytes_behind_its_head_goes_on_from_its_head() {
        let (_folder, path) = new_log();
        Appender::open(&path).unwrap().append(&[entry(0)]).unwrap();
        let before = LogStore::open(&path).unwrap().state().clone();
        // What a process leaves that is killed before the head is replaced.
        for name in [ENTRIES, LEAVES, NODES] {
            let mut file = OpenOptions::new()
                .append(true)
                .open(path.join(name))
                .unwrap();
            file.write_all(&[7; 100]).unwrap();
        }
        assert_eq!(*LogStore::open(&path).unwrap().state(), before);
        let mut appender = Appender::open(&path).unwrap();
        appender.append(&[entry(1), entry(2)]).unwrap();
        let tree = MemoryTree::new((0..3).map(|at| leaf_hash(&entry(at))));
        assert_eq!(appender.log().state().root, tree.root());
        assert_eq!(appender.log().entry(1).unwrap(), entry(1));
    }

    #[test]
    fn log_cut_off_is_refused_by_readers_and_writers() {
        let (_folder, path) = new_log();
        let batch: Vec<_> = (0..5).map(entry).collect();
        Appender::open(&path).unwrap().append(&batch).unwrap();
        for name in [ENTRIES, LEAVES, NODES] {
            let file = OpenOptions::new()
                .write(true)
                .open(path.join(name))
                .unwrap();
            let length = file.metadata().unwrap().len();
            let whole = std::fs::read(path.join(name)).unwrap();
            file.set_len(length - 1).unwrap();
            assert!(matches!(LogStore::open(&path), Err(LogError::Cut { .. })));
            assert!(matches!(Appender::open(&path), Err(LogError::Cut { .. })));
            std::fs::write(path.join(name), whole).unwrap();
        }
        assert!(Appender::open(&path).is_ok());
    }

    #[test]
    fn log_has_one_appender_at_a_time() {
        let (_folder, path) = new_log();
        let first = Appender::open(&path).unwrap();
        assert!(matches!(Appender::open(&path), Err(LogError::Busy)));
        drop(first);
        assert!(Appender::open(&path).is_ok());
    }

    #[test]
    fn entry_of_two_lines_is_refused_and_nothing_counts() {
        let (_folder, path) = new_log();
        let mut appender = Appender::open(&path).unwrap();
        let refused = appender.append(&[entry(0), b"a\nb".to_vec()]);
        assert!(matches!(refused, Err(LogError::Entry)));
        assert_eq!(LogStore::open(&path).unwrap().size(), 0);
    }
}
