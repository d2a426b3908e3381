//! Appends to a log in a folder: one process at a time, whole batches or nothing.

use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use runseal_trust::log::tree::{Frontier, leaf_hash};
use runseal_trust::log::{Checkpoint, SignedNote};
use rustix::fs::FlockOperation;

use super::contract::{Appended, Appender, Log, Tree, check_entries, place_entries};
use super::files::{CHECKPOINT, ENTRIES, HEAD, Head, LEAVES, LogError, NODES, file_error};
use super::folder::FolderLog;
use super::index::HashIndex;
use runseal_fs::atomic::{Readers, open_existing, write_derived};

/// The only process that appends to a log in a folder.
#[derive(Debug)]
pub struct FolderAppender {
    log: FolderLog,
    frontier: Frontier,
}

impl FolderAppender {
    /// Opens a log for appending, and truncates what does not count.
    ///
    /// # Errors
    /// When it is not a log, is truncated, or another process is appending.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        // Lock before reading the head, so that it is the newest.
        let entries = folder.join(ENTRIES);
        FolderLog::read_head(folder)?;
        let lock = open_existing(&entries).map_err(file_error(ENTRIES))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| LogError::Busy)?;
        let mut log = FolderLog::open_with(folder, open_existing)?;
        log.entries = lock;
        for (file, handle, length) in log.lengths() {
            handle.set_len(length).map_err(file_error(file))?;
        }
        let frontier = Frontier::read(&Tree(&log), log.size())?;
        // Do not build on hashes that do not match the root.
        if frontier.root() == log.state().root {
            Ok(Self { log, frontier })
        } else {
            Err(LogError::Damaged(NODES))
        }
    }

    /// Appends entries without checking for existing ones. Afterwards all of them are on disk, or
    /// none counts.
    ///
    /// # Errors
    /// When one cannot be stored. Then none is.
    pub fn append_all(&mut self, batch: &[&[u8]]) -> Result<(), LogError> {
        check_entries(batch)?;
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
        write_derived(
            &self.log.folder.join(HEAD),
            head.to_text().as_bytes(),
            Readers::AsUmask,
        )?;
        self.log.head = head;
        self.log.index = HashIndex::default();
        self.frontier = frontier;
        Ok(())
    }
}

impl Appender for FolderAppender {
    fn log(&self) -> &dyn Log {
        &self.log
    }

    fn append(&mut self, entries: &[Vec<u8>]) -> Result<Appended, LogError> {
        let leaves = entries.iter().map(|entry| leaf_hash(entry)).collect();
        let known = self.log.find(&leaves)?;
        let (missing, places) = place_entries(entries, self.log.size(), known);
        if !missing.is_empty() {
            self.append_all(&missing)?;
        }
        Ok(Appended {
            places,
            added: missing.len(),
        })
    }

    fn keep_checkpoint(&mut self, note: &SignedNote) -> Result<(), LogError> {
        self.check_last()?;
        let path = self.log.folder.join(CHECKPOINT);
        Ok(write_derived(
            &path,
            note.to_text().as_bytes(),
            Readers::AsUmask,
        )?)
    }
}
