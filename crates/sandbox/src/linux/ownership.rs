//! Root runs commands under another uid of the host: which one, and giving it the work folder.
//!
//! Root itself is exempt from the limit on processes and owns whatever it touches, so a command
//! must not keep its uid even inside a user namespace.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::{stage, sys};
use crate::error::{Layer, Missing};
use crate::level::Isolation;

/// An id that no distribution hands out, so that no other program runs under it; then the one
/// for nobody, for containers that have few ids.
const CANDIDATES: [u32; 2] = [2_000_000_000, 65_534];

const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::CHOWN);

/// The ids to run commands under: none for an ordinary user, who has only the own ones.
/// At the weaker levels root needs only the power to become them.
pub(super) fn find_unprivileged_ids(level: Isolation) -> Result<Option<(u32, u32)>, Missing> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let held = rustix::thread::capabilities(None)
        .map_err(|errno| missing(io::Error::from(errno).to_string()))?;
    let needed = match level {
        Isolation::Full => NEEDED,
        Isolation::Landlock | Isolation::None => NEEDED.difference(CapabilitySet::SYS_ADMIN),
    };
    if !held.effective.contains(needed) {
        return Err(missing(
            "this root lacks some of those the sandbox needs".to_owned(),
        ));
    }
    let is_mapped = |file: &str, id: u32| {
        fs::read_to_string(file).is_ok_and(|map| map.lines().any(|line| line_covers(line, id)))
    };
    CANDIDATES
        .into_iter()
        .find(|id| is_mapped("/proc/self/uid_map", *id) && is_mapped("/proc/self/gid_map", *id))
        .map(|id| Some((id, id)))
        .ok_or_else(|| missing("no unprivileged uid is mapped here".to_owned()))
}

fn missing(reason: String) -> Missing {
    Missing {
        layer: Layer::RootCapabilities,
        reason,
    }
}

/// Lines are "inside outside count".
fn line_covers(line: &str, id: u32) -> bool {
    let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
    let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        return false;
    };
    (first..first.saturating_add(count)).contains(&u64::from(id))
}

/// A user namespace in whose mapping what `owner` owns belongs to `user`. All other ids stay
/// themselves where this namespace allows that, else nobody's. Called while this process sees
/// its children in /proc.
pub(super) fn make_id_map(owner: (u32, u32), user: (u32, u32)) -> Result<OwnedFd, Errno> {
    let (is_ready, ready) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (done, is_done) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let child = sys::spawn_child(|| {
        if sys::unshare(UnshareFlags::NEWUSER).is_err() || rustix::io::write(&ready, b"r").is_err()
        {
            return 1;
        }
        // Only the parent's copy counts: it is closed when the namespace is held by a descriptor.
        sys::close_all_but(&[std::os::fd::AsFd::as_fd(&done)]).map_or(1, |()| {
            stage::read_byte(&done);
            0
        })
    })
    .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
    drop((ready, done));
    let result = if stage::read_byte(&is_ready) {
        map_and_open(child, owner, user)
    } else {
        Err(Errno::PERM)
    };
    drop(is_done);
    let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
    result
}

fn map_and_open(child: Pid, owner: (u32, u32), user: (u32, u32)) -> Result<OwnedFd, Errno> {
    let folder = format!("/proc/{}", child.as_raw_nonzero());
    for (file, from, to) in [("uid_map", owner.0, user.0), ("gid_map", owner.1, user.1)] {
        let path = format!("{folder}/{file}");
        if stage::write_text(&path, &id_map_text(from, to)).is_err() {
            stage::write_text(&path, &format!("{from} {to} 1\n"))?;
        }
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(format!("{folder}/ns/user"), flags, Mode::empty())
}

/// Lines that map one id to another and every further one to itself.
fn id_map_text(from: u32, to: u32) -> String {
    let mut text = format!("{from} {to} 1\n");
    let mut taken = [from, to];
    taken.sort_unstable();
    let mut first = 0;
    for id in taken {
        if id > first {
            text.push_str(&format!("{first} {first} {}\n", id - first));
        }
        first = first.max(id.saturating_add(1));
    }
    // The last number stands for no id.
    if first < u32::MAX {
        text.push_str(&format!("{first} {first} {}\n", u32::MAX - first));
    }
    text
}

/// Gives a folder and all in it to the command's user. Links are changed themselves, never what
/// they point to. Nothing else runs in the folder at this time.
pub(super) fn give_folder(path: &Path, ids: (u32, u32)) -> io::Result<()> {
    let folder = rustix::fs::open(path, FOLDER, Mode::empty())?;
    give_file(std::os::fd::AsFd::as_fd(&folder), ids)?;
    let mut pending = vec![folder];
    while let Some(folder) = pending.pop() {
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if (stat.st_uid, stat.st_gid) != ids {
                let (uid, gid) = (Uid::from_raw(ids.0), Gid::from_raw(ids.1));
                let nofollow = AtFlags::SYMLINK_NOFOLLOW;
                rustix::fs::chownat(&folder, name, Some(uid), Some(gid), nofollow)?;
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                pending.push(rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?);
            }
        }
    }
    Ok(())
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// Gives one open file away.
pub(super) fn give_file(file: BorrowedFd<'_>, (uid, gid): (u32, u32)) -> Result<(), Errno> {
    rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
}

#[cfg(test)]
mod tests {
    use super::{id_map_text, line_covers};

    #[test]
    fn id_map_covers_every_id_once() {
        assert_eq!(
            id_map_text(0, 2_000_000_000),
            "0 2000000000 1\n1 1 1999999999\n2000000001 2000000001 2294967294\n"
        );
        assert_eq!(
            id_map_text(1000, 65_534),
            "1000 65534 1\n0 0 1000\n1001 1001 64533\n65535 65535 4294901760\n"
        );
    }

    #[test]
    fn id_map_line_covers_its_range_only() {
        assert!(line_covers(
            "         0          0 4294967295",
            2_000_000_000
        ));
        assert!(line_covers("0 100000 65536", 65_534));
        assert!(!line_covers("0 100000 65536", 2_000_000_000));
        assert!(!line_covers("1000 1000 1", 65_534));
        assert!(!line_covers("nonsense", 0));
    }
}
