//! Rights, owners, times and extended attributes at level `landlock`, which Landlock itself does not
//! look at: without this a command could change those of every file of its user.
//!
//! A filter cannot see which file a call means. So the calls are reported to the caller, which finds the
//! file, makes sure that it lies in a folder the command may write to, and makes the change itself
//! on the open file. The command's call never goes on: what its memory says afterwards does not count.
//! Where nobody can be told, the filter refuses these calls.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libc::{c_int, c_long};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, Uid,
    XattrFlags,
};
use rustix::io::Errno;

use super::notify::{self, Answer, Call};
use super::resolve;

/// The same number on every architecture; libc does not name it on all of them.
pub(super) const FCHMODAT2: c_long = 452;

/// The calls that are reported.
pub(super) const CALLS: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// The kernel's bounds.
const LONGEST_VALUE: u64 = 64 << 10;
const LONGEST_NAME: usize = 255;
/// An owner or group that stays.
const STAYS: u32 = u32::MAX;

/// Makes the changes that the command may make.
#[derive(Debug)]
pub(super) struct MetadataKeeper {
    /// The folders that the command may write to, links resolved.
    folders: Vec<Vec<u8>>,
    /// Whom the command runs as, where that is not the caller.
    user: Option<(u32, u32)>,
}

/// The file that a call means.
enum Place {
    /// An open one.
    Opened(c_int),
    /// One by its path, from a folder on; whether a link at its end is followed.
    Named {
        folder: c_int,
        path: u64,
        follow: bool,
    },
}

/// What a call changes.
enum Change {
    Mode(u32),
    Owner(u32, u32),
    Times(Timestamps),
    SetAttribute(Vec<u8>, Vec<u8>, u32),
    RemoveAttribute(Vec<u8>),
}

impl MetadataKeeper {
    /// Prepares for a command that may write to `folders`.
    pub(super) fn new(folders: &[PathBuf], user: Option<(u32, u32)>) -> MetadataKeeper {
        let folders = folders
            .iter()
            .filter_map(|folder| folder.canonicalize().ok());
        MetadataKeeper {
            folders: folders.map(|it| it.into_os_string().into_vec()).collect(),
            user,
        }
    }

    /// The answer to a call of [`CALLS`]; nothing for others.
    pub(super) fn answer(&self, listener: BorrowedFd<'_>, call: &Call) -> Option<Answer> {
        if !CALLS.contains(&call.number) {
            return None;
        }
        Some(match self.make_change(listener, call) {
            Ok(()) => Answer::Done,
            Err(errno) => Answer::Refuse(errno.raw_os_error()),
        })
    }

    fn make_change(&self, listener: BorrowedFd<'_>, call: &Call) -> Result<(), Errno> {
        let (place, change) = read_call(call)?;
        let file = open(call.pid, &place)?;
        // Otherwise what was read may be another process's.
        if !notify::is_waiting(listener, call.id) {
            return Err(Errno::INTR);
        }
        let name = resolve::name_of(&file)?;
        if !self
            .folders
            .iter()
            .any(|folder| resolve::is_below(&name, folder))
        {
            return Err(Errno::PERM);
        }
        let stat = rustix::fs::fstat(&file)?;
        if let Some(user) = self.user {
            check_as(user, &stat, &change)?;
        }
        apply(&file, &stat, change)
    }
}

/// What the kernel would refuse to this user, but not to the caller, who is root.
fn check_as((uid, gid): (u32, u32), stat: &Stat, change: &Change) -> Result<(), Errno> {
    let is_allowed = stat.st_uid == uid
        && match change {
            Change::Mode(mode) => mode & libc::S_ISGID == 0 || stat.st_gid == gid,
            Change::Owner(owner, group) => {
                [STAYS, uid].contains(owner) && [STAYS, gid].contains(group)
            }
            Change::Times(_) => true,
            Change::SetAttribute(name, ..) | Change::RemoveAttribute(name) => {
                name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_")
            }
        };
    if is_allowed { Ok(()) } else { Err(Errno::PERM) }
}

/// Makes the change on the open file, which has no other name for it than its descriptor's.
fn apply(file: &OwnedFd, stat: &Stat, change: Change) -> Result<(), Errno> {
    let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = Path::new(&opened);
    match change {
        Change::Owner(owner, group) => {
            let owner = (owner != STAYS).then(|| Uid::from_raw(owner));
            let group = (group != STAYS).then(|| Gid::from_raw(group));
            rustix::fs::chownat(file, "", owner, group, AtFlags::EMPTY_PATH)
        }
        Change::Times(times) if is_link => {
            rustix::fs::utimensat(file, "", &times, AtFlags::EMPTY_PATH)
        }
        Change::Times(times) => rustix::fs::utimensat(CWD, opened, &times, AtFlags::empty()),
        // A link has neither.
        Change::Mode(_) if is_link => Err(Errno::OPNOTSUPP),
        Change::SetAttribute(..) | Change::RemoveAttribute(_) if is_link => Err(Errno::PERM),
        Change::Mode(mode) => rustix::fs::chmod(opened, Mode::from_raw_mode(mode & 0o7777)),
        Change::SetAttribute(name, value, flags) => {
            let flags = XattrFlags::from_bits_retain(flags);
            rustix::fs::setxattr(opened, OsStr::from_bytes(&name), &value, flags)
        }
        Change::RemoveAttribute(name) => rustix::fs::removexattr(opened, OsStr::from_bytes(&name)),
    }
}

fn open(pid: u32, place: &Place) -> Result<OwnedFd, Errno> {
    let handle = OFlags::PATH | OFlags::CLOEXEC;
    let of_process = |name: &str, more: OFlags| {
        let link = format!("/proc/{pid}/{name}");
        rustix::fs::open(link, handle | more, Mode::empty()).map_err(|errno| match errno {
            Errno::NOENT => Errno::BADF,
            other => other,
        })
    };
    let opened = |descriptor: c_int| of_process(&format!("fd/{descriptor}"), OFlags::empty());
    let (folder, path, follow) = match *place {
        Place::Opened(descriptor) => return opened(descriptor),
        Place::Named {
            folder,
            path,
            follow,
        } => (folder, path, follow),
    };
    let path = resolve::read_path(pid, path).ok_or(Errno::FAULT)?;
    if let Some(descriptor) = own_descriptor(pid, &path).filter(|_| follow) {
        return opened(descriptor);
    }
    let base = match folder {
        _ if path.starts_with(b"/") => rustix::fs::open("/", handle, Mode::empty())?,
        libc::AT_FDCWD => of_process("cwd", OFlags::DIRECTORY)?,
        descriptor => of_process(&format!("fd/{descriptor}"), OFlags::DIRECTORY)?,
    };
    let mut how = handle;
    how.set(OFlags::NOFOLLOW, !follow);
    loop {
        let within = ResolveFlags::NO_MAGICLINKS;
        let path = OsStr::from_bytes(&path);
        match rustix::fs::openat2(&base, path, how, Mode::empty(), within) {
            // Something was renamed meanwhile.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}

/// The descriptor that a path below /proc or /dev means to the process that names it.
fn own_descriptor(pid: u32, path: &[u8]) -> Option<c_int> {
    let path = std::str::from_utf8(path).ok()?;
    let number = path
        .strip_prefix("/proc/self/fd/")
        .or_else(|| path.strip_prefix("/proc/thread-self/fd/"))
        .or_else(|| path.strip_prefix("/dev/fd/"))
        .or_else(|| path.strip_prefix(&format!("/proc/{pid}/fd/")))?;
    number.parse().ok()
}

fn read_call(call: &Call) -> Result<(Place, Change), Errno> {
    let [first, second, third, fourth, fifth, _] = call.arguments;
    let number = |argument: u64| argument as u32;
    let opened = Place::Opened(first as c_int);
    let here = |follow| Place::Named {
        folder: libc::AT_FDCWD,
        path: first,
        follow,
    };
    let below = Place::Named {
        folder: first as c_int,
        path: second,
        follow: true,
    };
    let at = |flags: u64| place_at(call.pid, (first as c_int, second), flags as c_int);
    let owner = |uid, gid| Change::Owner(number(uid), number(gid));
    let set = || read_attribute(call.pid, second, third, fourth, number(fifth));
    let remove = || Ok(Change::RemoveAttribute(read_name(call.pid, second)?));
    Ok(match call.number {
        libc::SYS_fchmod => (opened, Change::Mode(number(second))),
        libc::SYS_fchmodat => (below, Change::Mode(number(third))),
        FCHMODAT2 => (at(fourth)?, Change::Mode(number(third))),
        libc::SYS_fchown => (opened, owner(second, third)),
        libc::SYS_fchownat => (at(fifth)?, owner(third, fourth)),
        libc::SYS_utimensat => {
            let place = if second == 0 { opened } else { at(fourth)? };
            (place, read_times(call.pid, third, Unit::Nanoseconds)?)
        }
        libc::SYS_setxattr => (here(true), set()?),
        libc::SYS_lsetxattr => (here(false), set()?),
        libc::SYS_fsetxattr => (opened, set()?),
        libc::SYS_removexattr => (here(true), remove()?),
        libc::SYS_lremovexattr => (here(false), remove()?),
        libc::SYS_fremovexattr => (opened, remove()?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => (here(true), Change::Mode(number(second))),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown => (here(true), owner(second, third)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown => (here(false), owner(second, third)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime => (here(true), read_times(call.pid, second, Unit::Seconds)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes => (
            here(true),
            read_times(call.pid, second, Unit::Microseconds)?,
        ),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => {
            let place = if second == 0 { opened } else { below };
            (place, read_times(call.pid, third, Unit::Microseconds)?)
        }
        _ => return Err(Errno::NOSYS),
    })
}

/// What a call with flags means.
fn place_at(pid: u32, (folder, path): (c_int, u64), flags: c_int) -> Result<Place, Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let is_empty = || resolve::read_path(pid, path).is_some_and(|path| path.is_empty());
    if flags & libc::AT_EMPTY_PATH != 0 && is_empty() {
        return Ok(Place::Opened(folder));
    }
    Ok(Place::Named {
        folder,
        path,
        follow: flags & libc::AT_SYMLINK_NOFOLLOW == 0,
    })
}

/// What the second number of a time counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// There is none.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "an older call")
    )]
    Seconds,
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "an older call")
    )]
    Microseconds,
    Nanoseconds,
}

/// The two times at an address; now, where there is none.
fn read_times(pid: u32, address: u64, unit: Unit) -> Result<Change, Errno> {
    let time = |seconds: i64, rest: i64| Timespec {
        tv_sec: seconds,
        tv_nsec: rest,
    };
    let now = time(0, rustix::fs::UTIME_NOW);
    let [access, modification] = if address == 0 {
        [now, now]
    } else {
        let mut bytes = [0_u8; 32];
        let count = if unit == Unit::Seconds { 16 } else { 32 };
        let room = bytes.get_mut(..count).ok_or(Errno::FAULT)?;
        if notify::read_memory(pid, address, room)? != count {
            return Err(Errno::FAULT);
        }
        let mut numbers = [0_i64; 4];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
            *number = i64::from_ne_bytes(*bytes);
        }
        let [first, second, third, fourth] = numbers;
        match unit {
            Unit::Seconds => [time(first, 0), time(second, 0)],
            Unit::Nanoseconds => [time(first, second), time(third, fourth)],
            Unit::Microseconds => {
                let within = 0..1_000_000;
                if !within.contains(&second) || !within.contains(&fourth) {
                    return Err(Errno::INVAL);
                }
                [time(first, second * 1000), time(third, fourth * 1000)]
            }
        }
    };
    Ok(Change::Times(Timestamps {
        last_access: access,
        last_modification: modification,
    }))
}

fn read_name(pid: u32, address: u64) -> Result<Vec<u8>, Errno> {
    let name = resolve::read_path(pid, address).ok_or(Errno::FAULT)?;
    match name.len() {
        1..=LONGEST_NAME => Ok(name),
        _ => Err(Errno::RANGE),
    }
}

fn read_attribute(pid: u32, name: u64, value: u64, size: u64, flags: u32) -> Result<Change, Errno> {
    let name = read_name(pid, name)?;
    if size > LONGEST_VALUE {
        return Err(Errno::TOOBIG);
    }
    let mut content = vec![0; usize::try_from(size).map_err(|_| Errno::TOOBIG)?];
    if !content.is_empty() && notify::read_memory(pid, value, &mut content)? != content.len() {
        return Err(Errno::FAULT);
    }
    Ok(Change::SetAttribute(name, content, flags))
}
