//! What the processes of a command use together: how many they are, and their memory, read from /proc.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::watch::Watched;
use crate::outcome::Limit;

impl Watched {
    /// The limit that these processes have reached, if any.
    pub(super) fn find_processes(
        &self,
        pids: &[i32],
        shared_memory: Option<&OwnedFd>,
    ) -> Option<Limit> {
        let most = self.limits.memory_bytes;
        if self.has_too_many(pids) {
            return Some(Limit::Processes);
        }
        if most == u64::MAX {
            return None;
        }
        let processes: Vec<Process> = pids.iter().copied().filter_map(Process::read).collect();
        let sockets = match self.has_own_network {
            true => open_sockets(),
            false => open_count(&processes, b"socket:", self.socket_bytes, most),
        };
        let sockets = sockets.saturating_mul(self.socket_bytes);
        let buffers = sockets.saturating_add(pipe_bytes(&processes, most));
        let sum = |of_process: fn(&Process) -> u64| {
            let processes = processes.iter().map(of_process);
            processes.fold(0, u64::saturating_add)
        };
        let resident = sum(Process::bytes).saturating_add(buffers);
        // No command's files in memory are more than the machine's.
        let files = match self.is_ordinary {
            true => machine_files_in_memory(),
            false => 0,
        };
        if resident.saturating_add(files) <= most {
            return None;
        }
        let files = match self.is_ordinary {
            true => files_in_memory(pids, shared_memory).saturating_add(self.attachable_memory()),
            false => 0,
        };
        if resident.saturating_add(files) <= most {
            return None;
        }
        // Pages shared after a fork are counted in each process, and those of files in memory that are mapped with
        // the files; before stopping anything, count every page once.
        let shares: Vec<Shares> = processes.iter().map(Process::shares).collect();
        let total = |of: fn(&Shares) -> u64| shares.iter().map(of).fold(0, u64::saturating_add);
        let mapped = total(|it| it.of_files_in_memory);
        let own = total(|it| it.bytes).saturating_sub(mapped);
        let used = own
            .saturating_add(mapped.max(files))
            .saturating_add(buffers);
        (used > most).then_some(Limit::Memory)
    }

    /// What System V has of shared memory, where all of it is the command's own.
    fn attachable_memory(&self) -> u64 {
        if !self.has_own_network {
            return 0;
        }
        let listed = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
        shared_segments(&listed)
    }

    /// Whether an ordinary command has more processes and threads than it may. The kernel holds others to that.
    fn has_too_many(&self, processes: &[i32]) -> bool {
        if !self.is_ordinary || self.limits.processes == u32::MAX {
            return false;
        }
        let most = u64::from(self.limits.processes);
        // Each has one thread at least: a command that has far too many is not looked at one by one.
        let mut threads = u64::try_from(processes.len()).unwrap_or(u64::MAX);
        if threads > most {
            return true;
        }
        for pid in processes {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let own = value(&status, "Threads:").and_then(|it| it.parse().ok());
            threads = threads.saturating_add(own.unwrap_or(1_u64).saturating_sub(1));
            if threads > most {
                return true;
            }
        }
        false
    }
}

/// What one process has of the memory, each shared page divided among those who share it.
struct Shares {
    bytes: u64,
    /// How much of it belongs to files in memory.
    of_files_in_memory: u64,
}

/// The resident bytes of all segments in the kernel's list.
fn shared_segments(listed: &str) -> u64 {
    let mut lines = listed.lines();
    let names = lines.next().unwrap_or_default();
    let Some(at) = names.split_whitespace().position(|name| name == "rss") else {
        return 0;
    };
    let resident = lines.filter_map(|line| line.split_whitespace().nth(at)?.parse::<u64>().ok());
    resident.fold(0, u64::saturating_add)
}

/// What all files in memory of this machine take; more than there can be where the kernel does not tell.
fn machine_files_in_memory() -> u64 {
    let known = fs::read_to_string("/proc/meminfo").ok();
    known
        .and_then(|text| kilobytes(&text, "Shmem:"))
        .unwrap_or(u64::MAX)
}

/// What these processes' files in memory take: /dev/shm, and those without a name that are open.
fn files_in_memory(processes: &[i32], shared_memory: Option<&OwnedFd>) -> u64 {
    let found = shared_memory.and_then(|it| rustix::fs::fstatvfs(it).ok());
    let named = found.map_or(0, |it| {
        it.f_blocks
            .saturating_sub(it.f_bfree)
            .saturating_mul(it.f_frsize)
    });
    let mut seen = BTreeSet::new();
    let mut total = named;
    for path in processes.iter().copied().flat_map(open_files) {
        let is_nameless = |target: PathBuf| target.as_os_str().as_bytes().starts_with(b"/memfd:");
        if !fs::read_link(&path).is_ok_and(is_nameless) {
            continue;
        }
        if let Ok(file) = fs::metadata(&path)
            && seen.insert((file.dev(), file.ino()))
        {
            total = total.saturating_add(file.blocks().saturating_mul(512));
        }
    }
    total
}

/// What one process uses.
struct Process {
    pid: i32,
    resident_bytes: u64,
    page_table_bytes: u64,
    /// No fewer than the descriptors that are open.
    descriptors: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Process> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(Process {
            pid,
            // Absent once a process has ended and waits to be reaped.
            resident_bytes: kilobytes(&status, "VmRSS:").unwrap_or(0),
            page_table_bytes: kilobytes(&status, "VmPTE:").unwrap_or(0),
            descriptors: value(&status, "FDSize:")?.parse().ok()?,
        })
    }

    fn bytes(&self) -> u64 {
        self.resident_bytes.saturating_add(self.page_table_bytes)
    }

    /// What it has of pages that are shared.
    fn shares(&self) -> Shares {
        let pages = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid));
        let pages = pages.unwrap_or_default();
        let bytes = kilobytes(&pages, "Pss:").unwrap_or(self.resident_bytes);
        Shares {
            bytes: bytes.saturating_add(self.page_table_bytes),
            of_files_in_memory: kilobytes(&pages, "Pss_Shmem:").unwrap_or(0),
        }
    }
}

/// What the buffers of all pipes may hold. They are only counted where there could be enough of
/// them to matter beside `most`.
fn pipe_bytes(processes: &[Process], most: u64) -> u64 {
    // A pipe has 16 pages (seccomp keeps it so) until those of one user are 64 MiB together, the
    // kernel's soft limit; then two.
    const USUAL: u64 = 64 << 10;
    const SOFT_LIMIT: u64 = 64 << 20;
    const LEAST: u64 = 8 << 10;
    let count = open_count(processes, b"pipe:", USUAL, most);
    let limited = SOFT_LIMIT.saturating_add(count.saturating_mul(LEAST));
    count.saturating_mul(USUAL).min(limited)
}

/// How many things of a kind these processes have open. They are only counted where there could be enough of
/// them, each of so many bytes, to matter beside `most`.
fn open_count(processes: &[Process], kind: &[u8], bytes: u64, most: u64) -> u64 {
    let room: u64 = processes.iter().map(|process| process.descriptors).sum();
    if room.saturating_mul(bytes) < most / 4 {
        return 0;
    }
    let mut found = BTreeSet::new();
    for process in processes {
        for target in open_files(process.pid).filter_map(|path| fs::read_link(path).ok()) {
            if target.as_os_str().as_bytes().starts_with(kind) {
                found.insert(target);
            }
        }
    }
    u64::try_from(found.len()).unwrap_or(u64::MAX)
}

/// The entries of a process's open files in /proc.
pub(super) fn open_files(pid: i32) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

/// The value of a line such as `FDSize:   64`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

/// The value of a line such as `VmRSS:   12 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let count: u64 = value(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(count.saturating_mul(1024))
}

/// Sockets of this network namespace, those that no process holds open any more included.
fn open_sockets() -> u64 {
    fs::read_to_string("/proc/self/net/sockstat")
        .ok()
        .and_then(|text| {
            let line = text.lines().next()?;
            line.strip_prefix("sockets: used ")?.trim().parse().ok()
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_are_read_from_the_named_line() {
        let status = "Name:\tsh\nVmPTE:\t      48 kB\nVmRSS:\t    1024 kB\nFDSize:\t64\n";
        assert_eq!(kilobytes(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(kilobytes(status, "VmPTE:"), Some(48 << 10));
        assert_eq!(kilobytes(status, "FDSize:"), None);
        assert_eq!(kilobytes(status, "VmSwap:"), None);
    }

    #[test]
    fn segments_count_with_what_is_resident_of_them() {
        let listed = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n         0          0   600               1048576   100   101      1     0     0     0     0          1          1          1                 20480                     0\n";
        assert_eq!(shared_segments(listed), 20480);
        assert_eq!(shared_segments(""), 0);
    }
}
