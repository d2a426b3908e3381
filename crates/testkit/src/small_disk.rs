//! A file system of a few megabytes, to test what happens when a server's disk is full.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::skip::{need_root, skip};

/// A separate disk in memory; it is unmounted when it is dropped.
pub struct SmallDisk {
    folder: TempDir,
}

/// Whether this is the superuser.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

impl SmallDisk {
    /// Mounts a disk that every user may write to. Mounting needs root: `None`, with a message, for
    /// other users. With CI=true, root must be able to mount it.
    pub fn mount(megabytes: u32) -> Option<Self> {
        if !need_root() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let disk = folder.path().join("disk");
        fs::create_dir(&disk).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={megabytes}m,mode=1777"))
            .arg("tmpfs")
            .arg(&disk)
            .output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            skip("a small disk cannot be mounted here");
            return None;
        }
        Some(Self { folder })
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Fills it until only `free` bytes are free.
    pub fn fill(&self, free: u64) {
        let mut file = fs::File::options()
            .create(true)
            .append(true)
            .open(self.ballast())
            .unwrap();
        let block = [0; 64 << 10];
        // Also writes as much of the last block as fits.
        while file.write(&block).is_ok_and(|count| count > 0) {}
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(free)).unwrap();
    }

    /// Removes what [`SmallDisk::fill`] wrote.
    pub fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server that is being stopped may still have files open there.
        let disk: &Path = &self.path();
        let _ = Command::new("umount").arg("-l").arg(disk).status();
    }
}
