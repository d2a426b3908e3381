//! A control group for one command, where the caller may make one: root on most machines, an
//! ordinary user below a delegated group (`systemd-run --user --scope -p Delegate=yes`).
//!
//! The kernel then bounds all memory of the command together, with what no process owns: files
//! in memory, socket and pipe buffers, page tables. Where no group can be made the command runs
//! without one: the other bounds hold everywhere, and the outcome says which ones held.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

/// Groups are named after the process that made them, so that those of a caller that was killed
/// can be distinguished from those in use.
const PREFIX: &str = "runseal-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// Controllers on hierarchies of their own.
    One,
    /// The unified hierarchy, version two.
    Two,
}

/// How the first process of the command gets into the group.
pub(super) enum GroupEntrance {
    /// It is started there: the group's folder.
    StartIn(OwnedFd),
    /// It moves itself: the group's `tasks`. Unlike `cgroup.procs` that takes a single thread,
    /// which is all it has, and the kernel need not wait for every processor first.
    Join(OwnedFd),
}

/// A group of its own for one command; removed when dropped.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    version: Version,
}

/// Where the memory controller lets groups be made: folder and version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    folder: PathBuf,
    version: Version,
}

impl Group {
    /// Makes a group that may use `most` bytes; nothing where the caller may not.
    pub(super) fn make(most: u64) -> Option<(Group, GroupEntrance)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let place = find_place()?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        if number == 0 {
            remove_abandoned(&place.folder);
        }
        let path = place.folder.join(name);
        fs::create_dir(&path).ok()?;
        let group = Group {
            path,
            version: place.version,
        };
        let entrance = group.set_up(most).ok()?;
        Some((group, entrance))
    }

    #[expect(clippy::disallowed_methods, reason = "files of the kernel")]
    fn set_up(&self, most: u64) -> io::Result<GroupEntrance> {
        let set = |file: &str, value: &str| fs::write(self.path.join(file), value);
        let most = most.to_string();
        match self.version {
            Version::Two => {
                set("memory.max", &most)?;
                // Absent where the kernel has no swap.
                ignore_absence(set("memory.swap.max", "0"))?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let folder = rustix::fs::open(&self.path, flags, Mode::empty())?;
                Ok(GroupEntrance::StartIn(folder))
            }
            Version::One => {
                set("memory.limit_in_bytes", &most)?;
                ignore_absence(set("memory.memsw.limit_in_bytes", &most))?;
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                let file = rustix::fs::open(self.path.join("tasks"), flags, Mode::empty())?;
                Ok(GroupEntrance::Join(file))
            }
        }
    }

    /// Whether the kernel ended a process of the group because memory ran out.
    pub(super) fn has_killed(&self) -> bool {
        fs::read_to_string(self.path.join(self.events()))
            .is_ok_and(|text| count_of(&text, "oom_kill") > 0)
    }

    /// Where the kernel tells that, for somebody who has no path that leads there.
    pub(super) fn open_events(&self) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::open(self.path.join(self.events()), flags, Mode::empty()).ok()
    }

    fn events(&self) -> &'static str {
        match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        }
    }

    /// The most bytes that all of the group had at once; nothing where the kernel does not keep it.
    pub(super) fn peak(&self) -> Option<u64> {
        let file = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.trim().parse().ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes are gone; where one is not quite, the next caller removes the group.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Whether the kernel has ended a process of the group whose events these are.
pub(super) fn has_killed(events: &OwnedFd) -> bool {
    let mut text = [0; 4096];
    let count = rustix::io::pread(events, &mut text, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(text.get(..count).unwrap_or_default());
    count_of(&text, "oom_kill") > 0
}

fn ignore_absence(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The number behind `name` in lines of `name number`.
fn count_of(text: &str, name: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

/// Removes groups of callers that are gone. A group with a process in it cannot be removed.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok())
            .and_then(Pid::from_raw);
        if maker.is_some_and(|pid| {
            rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
        }) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn find_place() -> Option<Place> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    candidates(&own, &mounts).into_iter().find(|place| {
        place.version == Version::One
            || fs::read_to_string(place.folder.join("cgroup.subtree_control"))
                .is_ok_and(|text| text.split_ascii_whitespace().any(|name| name == "memory"))
    })
}

/// Folders in which a group could be made, the best first. On the unified hierarchy a group that
/// has processes hands out no controllers, so ours is beside the caller's own.
fn candidates(own: &str, mounts: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let version = match controllers {
            "" => Version::Two,
            _ if controllers.split(',').any(|name| name == "memory") => Version::One,
            _ => continue,
        };
        let Some(folder) = folder_of(version, path, mounts) else {
            continue;
        };
        if version == Version::Two && path != "/" {
            places.extend(folder.parent().map(|parent| Place {
                folder: parent.to_owned(),
                version,
            }));
        }
        places.push(Place { folder, version });
    }
    places
}

/// Where the group `path` of a hierarchy is in this process's file system.
fn folder_of(version: Version, path: &str, mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut kind = after.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let is_it = match version {
            Version::Two => name == "cgroup2",
            Version::One => name == "cgroup" && options.split(',').any(|o| o == "memory"),
        };
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // A container may show a part of the hierarchy only.
        let below = Path::new(path).strip_prefix(root).ok()?;
        is_it.then(|| Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 25 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw";

    #[test]
    fn candidates_are_beside_the_own_group_or_below_it() {
        let own = "4:memory:/jobs/7\n1:cpu:/\n0::/user/me.scope\n";
        let places = candidates(own, MOUNTS);
        let expected = [
            ("/sys/fs/cgroup/memory/jobs/7", Version::One),
            ("/sys/fs/cgroup/unified/user", Version::Two),
            ("/sys/fs/cgroup/unified/user/me.scope", Version::Two),
        ];
        let expected = expected.map(|(folder, version)| Place {
            folder: folder.into(),
            version,
        });
        assert_eq!(places, expected);
    }

    #[test]
    fn candidates_of_a_part_of_the_hierarchy_lie_in_that_part() {
        let mounts = "9 1 0:5 /pod /sys/fs/cgroup ro - cgroup2 cgroup rw";
        let places = candidates("0::/pod/a", mounts);
        assert_eq!(places[0].folder, Path::new("/sys/fs/cgroup"));
        assert_eq!(candidates("0::/elsewhere", mounts), []);
    }

    #[test]
    fn count_is_the_number_behind_the_whole_name() {
        let events = "low 0\noom 3\noom_kill 2\noom_group_kill 9\n";
        assert_eq!(count_of(events, "oom_kill"), 2);
        assert_eq!(count_of("", "oom_kill"), 0);
    }
}
