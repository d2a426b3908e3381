//! Root runs commands under another uid of the host: which one, and giving it the work folder.
//!
//! Root itself is exempt from the limit on processes and owns whatever it touches, so a command
//! must not keep its uid even inside a user namespace.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use crate::error::{Layer, Missing};

/// An id that no distribution hands out, so that no other program runs under it; then the one
/// for nobody, for containers that have few ids.
const CANDIDATES: [u32; 2] = [2_000_000_000, 65_534];

const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::CHOWN);

/// The ids to run commands under: none for an ordinary user, who has only the own ones.
pub(super) fn find_unprivileged_ids() -> Result<Option<(u32, u32)>, Missing> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let held = rustix::thread::capabilities(None)
        .map_err(|errno| missing(io::Error::from(errno).to_string()))?;
    if !held.effective.contains(NEEDED) {
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
    use super::line_covers;

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
