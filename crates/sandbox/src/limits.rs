//! Bounds on what one command may use.

use std::time::Duration;

use crate::error::SpecError;

/// The largest [`Limits::work_bytes`] for which the work folder is in memory while the command
/// runs, so that the kernel keeps the limit. With more it stays on disk and is watched.
pub const MOST_IN_MEMORY: u64 = 1 << 30;

/// Bounds on what one command may use. Each stops one way of hurting the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time from start to end; stops sleepers and endless loops.
    pub wall_time: Duration,
    /// Memory of all processes together, and of each one; stops memory bombs. Every socket
    /// and pipe counts with a full buffer. Folders in memory (`work_bytes`, `tmp_bytes`) come on top.
    pub memory_bytes: u64,
    /// Processes and threads at one time; stops fork bombs.
    pub processes: u32,
    /// Size of one file; stops one huge (or hugely sparse) file.
    pub file_bytes: u64,
    /// Space of the work folder, with files that have no name (any more); stops disk fillers.
    /// Also the lengths of all files that it holds at the end, holes included; stops files that
    /// are small until somebody reads them. Up to [`MOST_IN_MEMORY`] it lives in memory.
    pub work_bytes: u64,
    /// Files and folders in the work folder; stops inode fillers.
    pub work_files: u64,
    /// Size of the private temporary folder, which lives in memory; /dev/shm has as much, but at
    /// most 64 MiB.
    pub tmp_bytes: u64,
    /// Bytes kept of standard output; more stops the command.
    pub stdout_bytes: usize,
    /// Bytes kept of standard error; more stops the command.
    pub stderr_bytes: usize,
    /// Open files of one process.
    pub open_files: u32,
    /// Space that has to be left on the disk that holds what an ordinary command writes; with less it is stopped.
    pub reserve_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Limits {
            wall_time: Duration::from_secs(60),
            memory_bytes: 2048 * MIB,
            processes: 256,
            file_bytes: 256 * MIB,
            work_bytes: 512 * MIB,
            work_files: 20_000,
            tmp_bytes: 256 * MIB,
            stdout_bytes: 16 << 20,
            stderr_bytes: 4 << 20,
            open_files: 1024,
            reserve_bytes: 0,
        }
    }
}

impl Limits {
    /// No bound but the machine's own, for an ordinary command ([`crate::Spec::ordinary`]), which `processes`,
    /// `memory_bytes` and `work_bytes` then stop and never refuse anything: what it does fails only where it would
    /// without a sandbox.
    pub fn of_the_machine() -> Limits {
        Limits {
            wall_time: Duration::from_secs(u64::from(u32::MAX)),
            memory_bytes: u64::MAX,
            processes: u32::MAX,
            file_bytes: u64::MAX,
            work_bytes: u64::MAX,
            work_files: u64::MAX,
            tmp_bytes: u64::MAX,
            open_files: u32::MAX,
            ..Limits::default()
        }
    }

    /// What /dev/shm of an ordinary command may hold.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory_files(&self) -> u64 {
        self.memory_bytes.min(crate::linux::machine_memory())
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let zero = [
            ("wall_time", self.wall_time.is_zero()),
            ("memory_bytes", self.memory_bytes == 0),
            ("processes", self.processes == 0),
            ("work_files", self.work_files == 0),
            ("open_files", self.open_files == 0),
        ];
        match zero.iter().find(|(_, is_zero)| *is_zero) {
            Some((name, _)) => Err(SpecError::ZeroLimit { name }),
            None => Ok(()),
        }
    }
}
