//! Keeps what a bundle unpacks to from filling a disk: whoever made the bundle does not decide that.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use runseal_fs::stream::BUFFER;

/// What is left free for everybody else.
const RESERVE: u64 = 256 << 20;
/// How many files the disk has to have room for besides, if it has a number of files that it can hold.
const RESERVE_FILES: u64 = 1000;
/// What a file takes at least.
const OF_FILE: u64 = 4 << 10;
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
        if disk.f_files > 0 && disk.f_favail < RESERVE_FILES {
            let text = "it would leave hardly room for another file on the disk";
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        self.written = 0;
        Ok(())
    }

    /// The same for one more file or folder.
    pub(crate) fn take_entry(&mut self) -> io::Result<()> {
        self.take(OF_FILE)
    }

    /// Copies all that there is to read, as long as there is room.
    pub(crate) fn copy(&mut self, from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.take(count as u64)?;
            to.write_all(buffer.get(..count).unwrap_or_default())?;
        }
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
        let mut room = Room::with_reserve(folder.path(), 1 << 60);
        let mut written = Vec::new();
        assert!(room.copy(&mut io::repeat(0), &mut written).is_err());
        assert_eq!(written, []);
        let mut room = Room::with_reserve(folder.path(), 0);
        room.copy(&mut &b"some"[..], &mut written).unwrap();
        assert_eq!(written, b"some");
    }
}
