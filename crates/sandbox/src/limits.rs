//! Bounds on what one command may use.

use std::time::Duration;

use crate::error::SpecError;
use crate::outcome::Limit;

/// The largest [`Limits::work_bytes`] for which the work folder is in memory while the command
/// runs, so that the kernel keeps the limit. With more it stays on disk and is watched.
pub const MOST_IN_MEMORY: u64 = 1 << 30;

/// The memory that this machine has, in bytes; a GiB where it does not say.
pub fn machine_memory() -> u64 {
    let known = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = known
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.map_or(1 << 30, |count| count << 10)
}

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
    /// Files for which that disk has to have room left, if it has a number of files that it can hold.
    pub reserve_files: u64,
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
            reserve_files: 0,
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

    /// What a command did that a limit stopped: a verb, and the limit's own number if it has one.
    pub fn describe(&self, reached: Limit) -> String {
        match reached {
            Limit::WallTime => format!("ran longer than {} s", self.wall_time.as_secs_f64()),
            Limit::Stdin => "read more of standard input than is kept".to_owned(),
            Limit::Stdout => format!(
                "printed more than {} bytes on standard output",
                self.stdout_bytes
            ),
            Limit::Stderr => format!(
                "printed more than {} bytes on standard error",
                self.stderr_bytes
            ),
            Limit::Memory => match self.memory_bytes {
                u64::MAX => "used more memory than there is".to_owned(),
                most => format!("used more than {most} bytes of memory"),
            },
            Limit::WorkBytes => match self.work_bytes {
                u64::MAX => "wrote more bytes than there is room for".to_owned(),
                most => format!("wrote more than {most} bytes"),
            },
            Limit::WorkFiles => match self.work_files {
                u64::MAX => "nested folders too deeply".to_owned(),
                most => format!("wrote more than {most} files, or nested folders too deeply"),
            },
            Limit::Temporary => match self.tmp_bytes {
                u64::MAX => "wrote too much to TMPDIR".to_owned(),
                most => format!("wrote more than {most} bytes, or too many files, to TMPDIR"),
            },
            Limit::FreeSpace => match self.reserve_bytes >> 20 {
                0 => "filled the disk".to_owned(),
                left => format!("left less than {left} MiB free on the disk"),
            },
            Limit::FreeFiles => format!(
                "left room for less than {} files on the disk",
                self.reserve_files
            ),
            Limit::SharedMemory => "filled the shared memory in /dev/shm".to_owned(),
            Limit::Processes => format!("had more than {} processes and threads", self.processes),
        }
    }

    /// What /dev/shm of an ordinary command may hold.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory_files(&self) -> u64 {
        self.memory_bytes.min(machine_memory())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_of_a_limit_never_has_a_number_that_says_there_is_none() {
        let all = [
            Limit::WallTime,
            Limit::Stdin,
            Limit::Stdout,
            Limit::Stderr,
            Limit::Memory,
            Limit::WorkBytes,
            Limit::WorkFiles,
            Limit::Temporary,
            Limit::FreeSpace,
            Limit::FreeFiles,
            Limit::SharedMemory,
        ];
        let machine = Limits::of_the_machine();
        for limit in all {
            let told = machine.describe(limit);
            assert!(!told.contains(&u64::MAX.to_string()), "{told}");
        }
        let bounded = Limits {
            work_bytes: 5,
            ..machine
        };
        assert_eq!(
            bounded.describe(Limit::WorkBytes),
            "wrote more than 5 bytes"
        );
    }
}
