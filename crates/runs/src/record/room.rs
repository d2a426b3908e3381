//! Keeps what a bundle unpacks to from filling a disk: whoever made the bundle does not decide that.

use std::io;
use std::path::{Path, PathBuf};

/// What is left free for everybody else.
const RESERVE: u64 = 256 << 20;
/// How much is written between two looks.
const STEP: u64 = 8 << 20;

/// The room on the disk of a folder.
#[derive(Debug)]
pub(crate) struct Room {
    folder: PathBuf,
    reserve: u64,
    /// What was written since the last look.
    written: u64,
}

impl Room {
    pub(crate) fn on_disk_of(folder: &Path) -> Self {
        Self::with_reserve(folder, RESERVE)
    }

    fn with_reserve(folder: &Path, reserve: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            reserve,
            // The first write looks.
            written: STEP,
        }
    }

    /// Fails if `bytes` more would leave too little.
    pub(crate) fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.written = self.written.saturating_add(bytes);
        if self.written < STEP {
            return Ok(());
        }
        let disk = rustix::fs::statvfs(&self.folder)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < self.reserve.saturating_add(bytes) {
            let left = self.reserve >> 20;
            let text = format!("it would leave less than {left} MiB free on the disk");
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        self.written = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_is_never_filled_beyond_the_reserve() {
        let folder = tempfile::tempdir().unwrap();
        let mut room = Room::with_reserve(folder.path(), 1 << 60);
        let error = room.take(1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let mut room = Room::with_reserve(folder.path(), 0);
        assert!(room.take(STEP).is_ok());
        assert!(room.take(1 << 62).is_err());
    }
}
