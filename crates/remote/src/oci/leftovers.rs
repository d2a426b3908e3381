//! Reuses what a killed pull left behind, instead of downloading it again.
//!
//! Large files arrive in pieces of known digests. Unfinished files next to the target that no
//! process has locked are split into such pieces and hashed, and pieces that the artifact needs are
//! read from there. Only the digest of a piece counts, which is checked again on use. The files stay
//! open, so it does not matter when their names are deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runseal_core::digest::{Digest, Hasher};
use runseal_fs::stream::BUFFER;
use runseal_fs::unfinished::PREFIX;
use rustix::fs::{FlockOperation, flock};

use super::layers::PIECE;
use super::manifest::Descriptor;

/// Reusable pieces, by digest.
#[derive(Debug, Clone, Default)]
pub struct Leftovers {
    pieces: BTreeMap<Digest, Piece>,
}

#[derive(Debug, Clone)]
struct Piece {
    file: Arc<File>,
    offset: u64,
    size: u64,
}

impl Leftovers {
    /// Searches for pieces of `wanted` in abandoned staging folders below `folder`. Unreadable files are
    /// skipped, and their pieces downloaded.
    pub fn find(folder: &Path, wanted: &[Descriptor]) -> Self {
        // Downloading smaller ones is faster than searching for them.
        let full = wanted.iter().filter(|layer| layer.size == PIECE);
        let wanted: BTreeSet<Digest> = full.map(|layer| layer.digest).collect();
        let mut found = Self::default();
        if wanted.is_empty() {
            return found;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_unfinished = entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(PREFIX.as_bytes());
            // Another user's folder may be a trap that takes long to read.
            let own = rustix::process::geteuid().as_raw();
            let is_ours = |found: fs::Metadata| found.is_dir() && found.uid() == own;
            if is_unfinished && entry.metadata().is_ok_and(is_ours) {
                found.search(&entry.path(), &wanted);
            }
        }
        found
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn search(&mut self, folder: &Path, wanted: &BTreeSet<Digest>) {
        let Ok(held) = File::open(folder) else {
            return;
        };
        // Another process is using this folder.
        if flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let mut waiting: Vec<PathBuf> = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        // An unreadable file has no usable pieces.
                        let _ = self.split(&entry.path(), wanted);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Hashes the full pieces of a file and keeps the wanted ones.
    fn split(&mut self, path: &Path, wanted: &BTreeSet<Digest>) -> io::Result<()> {
        let size = fs::symlink_metadata(path)?.len();
        if size < PIECE {
            return Ok(());
        }
        let file = Arc::new(File::open(path)?);
        let mut buffer = vec![0; BUFFER];
        for at in 0..size / PIECE {
            let mut reader = PieceReader {
                piece: Piece {
                    file: Arc::clone(&file),
                    offset: at * PIECE,
                    size: PIECE,
                },
                at: 0,
            };
            let mut hasher = Hasher::new();
            loop {
                let count = reader.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                hasher.update(&buffer[..count]);
            }
            let digest = hasher.finish();
            if wanted.contains(&digest) {
                self.pieces.insert(digest, reader.piece);
            }
        }
        Ok(())
    }

    /// Opens the piece for a layer, if it was found.
    pub fn open(&self, layer: &Descriptor) -> Option<Box<dyn Read + Send>> {
        let piece = self.pieces.get(&layer.digest)?;
        let is_same_size = piece.size == layer.size;
        is_same_size.then(|| {
            Box::new(PieceReader {
                piece: piece.clone(),
                at: 0,
            }) as Box<dyn Read + Send>
        })
    }
}

struct PieceReader {
    piece: Piece,
    at: u64,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.piece.size - self.at).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let place = self.piece.offset + self.at;
        let count = self.piece.file.read_at(&mut buffer[..most], place)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::manifest::TAR_PART;

    #[test]
    fn pieces_of_killed_pull_are_found_by_digest_and_outlive_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{PREFIX}dead/artifacts"));
        fs::create_dir_all(&left).unwrap();
        let file = File::create(left.join("large")).unwrap();
        file.set_len(PIECE + 5).unwrap();
        file.write_all_at(b"x", 0).unwrap();
        let mut first = vec![0; PIECE as usize];
        first[0] = b'x';
        let wanted = [
            Descriptor::of(TAR_PART, &first),
            Descriptor::of(TAR_PART, b"other"),
        ];
        let found = Leftovers::find(folder.path(), &wanted);
        fs::remove_dir_all(folder.path().join(format!("{PREFIX}dead"))).unwrap();
        let mut read = Vec::new();
        let mut reader = found.open(&wanted[0]).unwrap();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == first);
        assert!(found.open(&wanted[1]).is_none());
        assert!(Leftovers::find(folder.path(), &wanted).is_empty());
    }
}
