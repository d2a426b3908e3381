//! Reads a log in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_trust::log::tree::empty_root;
use runseal_trust::log::{Checkpoint, SignedNote};
use rustix::fs::OFlags;

use super::contract::{KeptEntry, Log, check_name};
use super::files::{
    CHECKPOINT, ENTRIES, HEAD, Head, LEAF, LEAVES, LogError, MAX_SMALL, NODE, NODES, file_error,
    node_count, node_place, read_next,
};
use super::index::HashIndex;
use runseal_fs::input::read_file;
use runseal_fs::staging::{Place, Rights, Staging, StagingError};

/// Bytes of `leaves` per read.
const SCAN: usize = 40 << 12;

/// A log in a folder, in the state in which it was opened.
#[derive(Debug)]
pub struct FolderLog {
    pub(super) folder: PathBuf,
    pub(super) head: Head,
    pub(super) entries: File,
    pub(super) leaves: File,
    pub(super) nodes: File,
    pub(super) index: HashIndex,
}

impl FolderLog {
    /// Creates a new, empty log.
    ///
    /// # Errors
    /// When something exists there, or the name is invalid.
    pub fn init(folder: &Path, origin: &str) -> Result<(), LogError> {
        check_name(origin)?;
        let head = Head {
            checkpoint: Checkpoint {
                origin: origin.to_owned(),
                size: 0,
                root: empty_root(),
            },
            entry_bytes: 0,
        };
        let staging = Staging::begin_beside(folder)?;
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
    /// When it is not a log, or is truncated.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        Self::open_with(folder, |path| {
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            OpenOptions::new()
                .read(true)
                .custom_flags(flags.bits().cast_signed())
                .open(path)
        })
    }

    pub(super) fn open_with(
        folder: &Path,
        open: impl Fn(&Path) -> io::Result<File>,
    ) -> Result<Self, LogError> {
        let head = Self::read_head(folder)?;
        let open = |file: &'static str| open(&folder.join(file)).map_err(file_error(file));
        let log = Self {
            folder: folder.to_owned(),
            entries: open(ENTRIES)?,
            leaves: open(LEAVES)?,
            nodes: open(NODES)?,
            head,
            index: HashIndex::default(),
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

    pub(super) fn read_head(folder: &Path) -> Result<Head, LogError> {
        if !folder.is_dir() {
            return Err(LogError::NoLog("expected a folder"));
        }
        let bytes = read_file(&folder.join(HEAD), MAX_SMALL).map_err(|error| match error {
            SourceError::NotFound { .. } if folder.join(ENTRIES).exists() => {
                LogError::Damaged(HEAD)
            }
            SourceError::NotFound { .. } => LogError::NoLog("it has no file `head`"),
            other => other.into(),
        })?;
        let text = String::from_utf8(bytes).ok();
        text.and_then(|text| Head::parse(&text))
            .ok_or(LogError::Damaged(HEAD))
    }

    /// Returns each file with the number of its bytes that count.
    pub(super) fn lengths(&self) -> [(&'static str, &File, u64); 3] {
        let size = self.size();
        [
            (ENTRIES, &self.entries, self.head.entry_bytes),
            (LEAVES, &self.leaves, size * LEAF),
            (NODES, &self.nodes, node_count(size) * NODE),
        ]
    }

    /// Returns the range of an entry in `entries`, including its newline.
    fn entry_range(&self, index: u64) -> Result<Range<u64>, LogError> {
        self.check_place(index)?;
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

    /// Calls `see` with the hash of every entry, in order, until it returns false.
    fn scan(&self, see: &mut dyn FnMut(u64, Digest) -> bool) -> Result<(), LogError> {
        let end = self.size() * LEAF;
        let mut buffer = vec![0; SCAN];
        let (mut at, mut index) = (0, 0);
        while at < end {
            let count = usize::try_from(end - at).map_or(SCAN, |left| left.min(SCAN));
            let piece = &mut buffer[..count];
            let read = self.leaves.read_exact_at(piece, at);
            read.map_err(file_error(LEAVES))?;
            for record in piece.chunks_exact(LEAF as usize) {
                if let Some(hash) = record.first_chunk::<32>()
                    && !see(index, Digest::from_bytes(*hash))
                {
                    return Ok(());
                }
                index += 1;
            }
            at += count as u64;
        }
        Ok(())
    }
}

impl Log for FolderLog {
    fn state(&self) -> &Checkpoint {
        &self.head.checkpoint
    }

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
    fn entry(&self, index: u64) -> Result<Vec<u8>, LogError> {
        let Range { start, end } = self.entry_range(index)?;
        let length = end.checked_sub(start + 1).filter(|length| *length <= 4096);
        let length = length.ok_or(LogError::Damaged(LEAVES))?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let read = self.entries.read_exact_at(&mut bytes, start);
        read.map_err(file_error(ENTRIES))?;
        Ok(bytes)
    }

    fn find(&self, wanted: &BTreeSet<Digest>) -> Result<BTreeMap<Digest, u64>, LogError> {
        let read = |index| self.hash(0, index);
        self.index
            .find(wanted, self.size(), |see| self.scan(see), read)
    }

    fn signed_checkpoint(&self) -> Result<Option<SignedNote>, LogError> {
        let bytes = match read_file(&self.folder.join(CHECKPOINT), MAX_SMALL) {
            Ok(bytes) => bytes,
            Err(SourceError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8(bytes).ok();
        let note = text.and_then(|text| SignedNote::parse(&text).ok());
        note.map(Some).ok_or(LogError::Damaged(CHECKPOINT))
    }

    fn visit(&self, see: &mut dyn FnMut(&KeptEntry<'_>)) -> Result<(), LogError> {
        let open = |name| {
            let file = File::open(self.folder.join(name)).map_err(file_error(name))?;
            Ok::<_, LogError>(BufReader::with_capacity(1 << 18, file))
        };
        let (mut entries, mut leaves) = (open(ENTRIES)?, open(LEAVES)?);
        let mut nodes_file = open(NODES)?;
        let (mut line, mut nodes) = (Vec::new(), Vec::new());
        let mut offset = 0;
        for index in 0..self.size() {
            line.clear();
            let read = entries.read_until(b'\n', &mut line);
            offset += read.map_err(file_error(ENTRIES))? as u64;
            let mut record = [0; LEAF as usize];
            read_next(&mut leaves, LEAVES, &mut record)?;
            let (hash, end) = record.split_at(32);
            let is_last = index + 1 == self.size();
            let is_in_place =
                *end == offset.to_be_bytes() && (!is_last || offset == self.head.entry_bytes);
            nodes.clear();
            for _ in 0..(index + 1).trailing_zeros() {
                let mut stored = [0; NODE as usize];
                read_next(&mut nodes_file, NODES, &mut stored)?;
                nodes.push(Digest::from_bytes(stored));
            }
            see(&KeptEntry {
                index,
                entry: line.strip_suffix(b"\n").unwrap_or(&line),
                leaf: hash
                    .try_into()
                    .ok()
                    .filter(|_| is_in_place)
                    .map(Digest::from_bytes),
                nodes: &nodes,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use runseal_trust::log::tree::{
        MemoryTree, compute_root, leaf_hash, verify_consistency, verify_inclusion,
    };

    use super::super::{Appended, Appender, FolderAppender, Tree};
    use super::*;

    fn entry(at: u64) -> Vec<u8> {
        format!("entry {at}").into_bytes()
    }

    fn new_log() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        FolderLog::init(&path, "example.com/log").unwrap();
        (folder, path)
    }

    #[test]
    fn log_appended_in_batches_has_the_tree_of_its_entries() {
        let (_folder, path) = new_log();
        let mut tree = MemoryTree::default();
        let mut next = 0;
        for count in [1, 1, 2, 5, 0, 64, 1, 31] {
            let batch: Vec<_> = (next..next + count).map(entry).collect();
            let mut appender = FolderAppender::open(&path).unwrap();
            let appended = Appended {
                places: (next..next + count).collect(),
                added: batch.len(),
            };
            assert_eq!(appender.append(&batch).unwrap(), appended);
            // Existing entries are not appended again.
            let appended = Appended {
                added: 0,
                ..appended
            };
            assert_eq!(appender.append(&batch).unwrap(), appended);
            for entry in &batch {
                tree.push(leaf_hash(entry));
            }
            next += count;
            assert_eq!(appender.log().state().root, tree.root());
        }
        let log = FolderLog::open(&path).unwrap();
        assert_eq!((log.size(), log.state().root), (next, tree.root()));
        for index in 0..next {
            assert_eq!(log.entry(index).unwrap(), entry(index));
            let leaf = leaf_hash(&entry(index));
            let proof = log.prove_inclusion(index, next).unwrap();
            assert!(verify_inclusion(&leaf, index, next, &proof, &tree.root()));
            let old = compute_root(&Tree(&log), index).unwrap();
            let proof = log.prove_consistency(index, next).unwrap();
            assert!(verify_consistency(
                (index, &old),
                (next, &tree.root()),
                &proof
            ));
        }
        let wanted = [leaf_hash(&entry(7)), leaf_hash(b"none")].into();
        // The first query scans the entries; later ones use the index.
        for _ in 0..3 {
            assert_eq!(
                log.find(&wanted).unwrap(),
                [(leaf_hash(&entry(7)), 7)].into()
            );
        }
    }

    #[test]
    fn log_with_bytes_beyond_its_head_continues_from_its_head() {
        let (_folder, path) = new_log();
        FolderAppender::open(&path)
            .unwrap()
            .append(&[entry(0)])
            .unwrap();
        let before = FolderLog::open(&path).unwrap().state().clone();
        // What a process leaves if it is killed before the head is replaced.
        for name in [ENTRIES, LEAVES, NODES] {
            let mut file = OpenOptions::new()
                .append(true)
                .open(path.join(name))
                .unwrap();
            file.write_all(&[7; 100]).unwrap();
        }
        assert_eq!(*FolderLog::open(&path).unwrap().state(), before);
        let mut appender = FolderAppender::open(&path).unwrap();
        appender.append(&[entry(1), entry(2)]).unwrap();
        let tree = MemoryTree::new((0..3).map(|at| leaf_hash(&entry(at))));
        assert_eq!(appender.log().state().root, tree.root());
        assert_eq!(appender.log().entry(1).unwrap(), entry(1));
    }

    #[test]
    fn log_with_linked_files_is_not_opened_and_targets_stay() {
        let (folder, path) = new_log();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "secret").unwrap();
        for name in [ENTRIES, LEAVES, NODES] {
            let place = path.join(name);
            let whole = std::fs::read(&place).unwrap();
            std::fs::remove_file(&place).unwrap();
            std::os::unix::fs::symlink(&victim, &place).unwrap();
            assert!(FolderLog::open(&path).is_err(), "{name}");
            assert!(FolderAppender::open(&path).is_err(), "{name}");
            std::fs::remove_file(&place).unwrap();
            std::fs::write(&place, whole).unwrap();
        }
        assert_eq!(std::fs::read(&victim).unwrap(), b"secret");
        assert!(FolderAppender::open(&path).is_ok());
    }

    #[test]
    fn truncated_log_is_refused_by_readers_and_writers() {
        let (_folder, path) = new_log();
        let batch: Vec<_> = (0..5).map(entry).collect();
        FolderAppender::open(&path).unwrap().append(&batch).unwrap();
        for name in [ENTRIES, LEAVES, NODES] {
            let file = OpenOptions::new()
                .write(true)
                .open(path.join(name))
                .unwrap();
            let length = file.metadata().unwrap().len();
            let whole = std::fs::read(path.join(name)).unwrap();
            file.set_len(length - 1).unwrap();
            assert!(matches!(FolderLog::open(&path), Err(LogError::Cut { .. })));
            assert!(matches!(
                FolderAppender::open(&path),
                Err(LogError::Cut { .. })
            ));
            std::fs::write(path.join(name), whole).unwrap();
        }
        assert!(FolderAppender::open(&path).is_ok());
    }

    #[test]
    fn log_has_one_appender_at_a_time() {
        let (_folder, path) = new_log();
        let first = FolderAppender::open(&path).unwrap();
        assert!(matches!(FolderAppender::open(&path), Err(LogError::Busy)));
        drop(first);
        assert!(FolderAppender::open(&path).is_ok());
    }

    #[test]
    fn entry_of_two_lines_is_refused_and_nothing_is_appended() {
        let (_folder, path) = new_log();
        let mut appender = FolderAppender::open(&path).unwrap();
        let refused = appender.append(&[entry(0), b"a\nb".to_vec()]);
        assert!(matches!(refused, Err(LogError::Entry)));
        assert_eq!(FolderLog::open(&path).unwrap().size(), 0);
    }
}
