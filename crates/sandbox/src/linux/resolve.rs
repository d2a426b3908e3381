//! From what a call says to the file it means, seen from outside the sandbox: memory of the
//! process, its folders by way of /proc, and path lookup below its root.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::notify;
use super::observer::unknown_program;

/// The longest path that the kernel takes.
const LONGEST_PATH: usize = 4096;
/// Memory is read up to the end of a page: what comes behind it may not be there.
const PAGE: u64 = 4096;
/// Most paths are shorter.
const FIRST_LOOK: usize = 256;

/// The path at an address of a process.
pub(super) fn read_path(pid: u32, address: u64) -> Option<Vec<u8>> {
    let mut path = Vec::new();
    let mut at = address;
    while path.len() < LONGEST_PATH {
        let to_page_end = PAGE - at % PAGE;
        let mut few = [0_u8; FIRST_LOOK];
        let mut many = Vec::new();
        let room = if path.is_empty() {
            few.as_mut_slice()
        } else {
            many.resize(LONGEST_PATH, 0);
            many.as_mut_slice()
        };
        let wanted = usize::try_from(to_page_end).ok()?.min(room.len());
        let room = room.get_mut(..wanted)?;
        let count = notify::read_memory(pid, at, room).ok()?;
        let read = room.get(..count)?;
        if let Some(end) = read.iter().position(|byte| *byte == 0) {
            path.extend_from_slice(read.get(..end)?);
            return Some(path);
        }
        if count == 0 {
            return None;
        }
        path.extend_from_slice(read);
        at = at.checked_add(u64::try_from(count).ok()?)?;
    }
    None
}

/// The folder that a relative path starts in: an open descriptor of the process, or its working
/// directory.
pub(super) fn folder_of(pid: u32, descriptor: i32) -> Option<Vec<u8>> {
    let link = if descriptor == libc::AT_FDCWD {
        format!("/proc/{pid}/cwd")
    } else {
        format!("/proc/{pid}/fd/{descriptor}")
    };
    readlinkat(CWD, &link).filter(|path| is_named(path))
}

/// A link below /proc that leads to what a process has: the folder that it works in, its root, its program,
/// or a file that it has open. What only the kernel has, such as /proc/self/stat, does not count.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProcessLink<'a> {
    /// The process, by its number as the command sees it; nothing for the one that asks.
    process: Option<&'a [u8]>,
    /// `cwd`, `root`, `exe`, or a descriptor's number.
    name: &'a [u8],
    /// What follows: nothing, or a path from there on.
    rest: &'a [u8],
}

impl<'a> ProcessLink<'a> {
    /// Whether an absolute path begins with such a link.
    pub(super) fn parse(path: &'a [u8]) -> Option<ProcessLink<'a>> {
        let link = |process, name, rest| {
            Some(ProcessLink {
                process,
                name,
                rest,
            })
        };
        let (first, rest) = next_segment(path)?;
        match first {
            b"dev" => match next_segment(rest)? {
                (b"stdin", rest) => link(None, b"0", rest),
                (b"stdout", rest) => link(None, b"1", rest),
                (b"stderr", rest) => link(None, b"2", rest),
                (b"fd", rest) => match next_segment(rest)? {
                    (number, rest) if is_number(number) => link(None, number, rest),
                    _ => None,
                },
                _ => None,
            },
            b"proc" => {
                let (process, mut rest) = next_segment(rest)?;
                let process = match process {
                    b"self" | b"thread-self" => None,
                    number if is_number(number) => Some(number),
                    _ => return None,
                };
                // A thread has its process's folders and files.
                if let (b"task", below) = next_segment(rest)? {
                    (_, rest) = next_segment(below)?;
                }
                match next_segment(rest)? {
                    (name @ (b"cwd" | b"root" | b"exe"), rest) => link(process, name, rest),
                    (b"fd", rest) => match next_segment(rest)? {
                        (number, rest) if is_number(number) => link(process, number, rest),
                        _ => None,
                    },
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The path without the link, for a call of the process `pid`; nothing where it leads to something
    /// that has no name, such as a pipe.
    pub(super) fn follow(&self, pid: u32, root: Option<&Root>) -> Option<Vec<u8>> {
        let mut path = match self.name {
            // All processes of the command have the same.
            b"root" => Vec::new(),
            name => {
                let below = match is_number(name) {
                    true => "fd/",
                    false => "",
                };
                let name = std::str::from_utf8(name).ok()?;
                let link = match self.process {
                    None => readlinkat(CWD, &format!("/proc/{pid}/{below}{name}")),
                    Some(number) => {
                        let number = std::str::from_utf8(number).ok()?;
                        readlinkat(&root?.0, &format!("proc/{number}/{below}{name}"))
                    }
                };
                link.filter(|path| is_named(path))?
            }
        };
        if path == b"/" {
            path.clear();
        }
        path.extend_from_slice(self.rest);
        if path.is_empty() {
            path.push(b'/');
        }
        Some(path)
    }
}

fn readlinkat(folder: impl AsFd, link: &str) -> Option<Vec<u8>> {
    let path = rustix::fs::readlinkat(folder, link, Vec::new()).ok()?;
    Some(path.into_bytes())
}

/// "pipe:[7]" and its like have no name, nor has what was removed.
fn is_named(path: &[u8]) -> bool {
    path.starts_with(b"/") && !path.ends_with(b" (deleted)")
}

fn is_number(segment: &[u8]) -> bool {
    !segment.is_empty() && segment.iter().all(u8::is_ascii_digit)
}

/// The first segment that counts, and what follows it, with its slash.
fn next_segment(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = path;
    loop {
        let start = rest.iter().position(|byte| *byte != b'/')?;
        let from = rest.get(start..)?;
        let end = from.iter().position(|byte| *byte == b'/');
        let (segment, below) = from.split_at(end.unwrap_or(from.len()));
        if segment != b"." {
            return Some((segment, below));
        }
        rest = below;
    }
}

/// The program that a process runs.
pub(super) fn program_of(pid: u32) -> PathBuf {
    std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_else(|_| unknown_program())
}

/// Whether a path holds no `..`, empty or `.` segment, so that it can be compared as written.
pub(super) fn is_plain(path: &[u8]) -> bool {
    let mut segments = path.split(|byte| *byte == b'/');
    segments.next() == Some(b"")
        && segments.all(|segment| !segment.is_empty() && segment != b"." && segment != b"..")
}

/// An absolute path without empty and `.` segments, such as `/usr/lib/R/etc//Renviron` has; nothing for one with `..`,
/// which means something else where a link comes before it.
pub(super) fn plain(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    if is_plain(path) && !path.is_empty() {
        return Some(Cow::Borrowed(path));
    }
    let segments = || path.split(|byte| *byte == b'/');
    if !path.starts_with(b"/") || segments().any(|segment| segment == b"..") {
        return None;
    }
    let mut plain = Vec::with_capacity(path.len());
    for segment in segments().filter(|segment| !segment.is_empty() && *segment != b".") {
        plain.push(b'/');
        plain.extend_from_slice(segment);
    }
    (!plain.is_empty()).then_some(Cow::Owned(plain))
}

/// Whether a plain path is `place` or lies below it.
pub(super) fn is_below(path: &[u8], place: &[u8]) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Within the root, over no link.
const NO_LINKS: ResolveFlags = ResolveFlags::IN_ROOT.union(ResolveFlags::NO_SYMLINKS);

/// The root of the command's file system.
pub(super) struct Root(OwnedFd);

/// What a path led to.
pub(super) struct Target {
    /// Absolute below the root, links resolved.
    pub(super) path: Vec<u8>,
    /// Nothing for what does not exist yet, or lies in /proc.
    pub(super) stat: Option<Stat>,
    /// The thing itself, not opened.
    file: Option<OwnedFd>,
}

impl Root {
    /// The root of a process of the command. All of them have the same: none may change it.
    pub(super) fn of(pid: u32) -> Option<Root> {
        open_root(&format!("/proc/{pid}/root"))
    }

    /// Our own, for a command that has no other.
    pub(super) fn own() -> Option<Root> {
        open_root("/")
    }

    /// Follows an absolute path as the command's own call will.
    pub(super) fn resolve(&self, path: &[u8], flags: i32) -> Result<Target, Errno> {
        if is_virtual(path) {
            // What is left of /proc belongs to the kernel, or has no name: it keeps the one it was asked by.
            return Ok(Target {
                path: path.to_vec(),
                stat: None,
                file: None,
            });
        }
        // Without links on the way the path is the file's own, and nobody has to be asked for it.
        if is_plain(path)
            && let Ok(file) = self.open_with(path, NO_LINKS, OFlags::PATH | OFlags::CLOEXEC)
        {
            let stat = rustix::fs::fstat(&file)?;
            return Ok(Target {
                path: path.to_vec(),
                stat: Some(stat),
                file: Some(file),
            });
        }
        let mut how = OFlags::PATH | OFlags::CLOEXEC;
        if flags & libc::O_NOFOLLOW != 0 {
            how |= OFlags::NOFOLLOW;
        }
        match self.open(path, how) {
            Ok(file) => {
                let path = name_of(&file)?;
                let stat = rustix::fs::fstat(&file)?;
                if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                    return Err(Errno::LOOP);
                }
                Ok(Target {
                    path,
                    stat: Some(stat),
                    file: Some(file),
                })
            }
            Err(Errno::NOENT) if flags & libc::O_CREAT != 0 => {
                let end = path.iter().rposition(|byte| *byte == b'/');
                let (above, name) = path.split_at(end.ok_or(Errno::NOENT)?);
                let above = if above.is_empty() { b"/" } else { above };
                let folder = self.open(above, OFlags::PATH | OFlags::CLOEXEC)?;
                let mut path = name_of(&folder)?;
                if path == b"/" {
                    path.clear();
                }
                path.extend_from_slice(name);
                Ok(Target {
                    path,
                    stat: None,
                    file: None,
                })
            }
            Err(errno) => Err(errno),
        }
    }

    /// Opens a path that leads over no link.
    pub(super) fn open_plainly(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        self.open_with(path, NO_LINKS, flags)
    }

    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        self.open_with(path, within, flags)
    }

    fn open_with(
        &self,
        path: &[u8],
        within: ResolveFlags,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let path = OsStr::from_bytes(path);
        loop {
            match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), within) {
                // Something was renamed meanwhile.
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
    }
}

fn open_root(path: &str) -> Option<Root> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok().map(Root)
}

fn is_virtual(path: &[u8]) -> bool {
    let starts = |place: &[u8]| path.starts_with(place);
    path == b"/proc"
        || starts(b"/proc/")
        || starts(b"/dev/fd/")
        || [
            &b"/dev/fd"[..],
            b"/dev/stdin",
            b"/dev/stdout",
            b"/dev/stderr",
        ]
        .contains(&path)
}

/// Where an open file is, in the mount namespace that it belongs to.
pub(super) fn name_of(file: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    Ok(path.into_bytes())
}

impl Target {
    /// Whether a process may execute it, by the rights of the file: one that it may not is passed
    /// over where programs are looked for on PATH.
    pub(super) fn is_executable_by(&self, pid: u32) -> bool {
        let file = |stat: &&Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        match self.stat.as_ref().filter(file) {
            None => false,
            Some(stat) => match stat.st_mode & 0o111 {
                0 => false,
                0o111 => true,
                // Where its ids are not known, it counts: rather a program too many than a gap.
                _ => Ids::of(pid).is_none_or(|ids| ids.may_execute(stat)),
            },
        }
    }

    /// The program that the kernel loads to execute this one: that of a `#!` line, or the loader
    /// of shared libraries.
    pub(super) fn interpreter(&self) -> Option<Vec<u8>> {
        let file = self.file.as_ref()?;
        let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = rustix::fs::open(link, flags, Mode::empty()).ok()?;
        let mut head = [0_u8; 4096];
        let count = rustix::io::pread(&opened, &mut head[..], 0).ok()?;
        interpreter_in(head.get(..count)?)
    }
}

/// Who a process is, for the rights of files.
struct Ids {
    user: u32,
    groups: Vec<u32>,
}

impl Ids {
    fn of(pid: u32) -> Option<Ids> {
        Ids::parse(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    fn parse(status: &str) -> Option<Ids> {
        let numbers = |name: &str| -> Option<Vec<u32>> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let words = line.split_ascii_whitespace();
            words.map(|word| word.parse().ok()).collect()
        };
        // Real, effective, saved, and the one that file systems look at.
        let mut groups = numbers("Groups:")?;
        groups.push(*numbers("Gid:")?.get(3)?);
        let user = *numbers("Uid:")?.get(3)?;
        Some(Ids { user, groups })
    }

    /// Whether the file's mode lets them execute it, which has at least one execute bit.
    fn may_execute(&self, stat: &Stat) -> bool {
        let bit = if self.user == 0 {
            return true;
        } else if self.user == stat.st_uid {
            0o100
        } else if self.groups.contains(&stat.st_gid) {
            0o010
        } else {
            0o001
        };
        stat.st_mode & bit != 0
    }
}

/// The interpreter that the first bytes of a program name.
fn interpreter_in(head: &[u8]) -> Option<Vec<u8>> {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let name = line
            .split(|byte| *byte == b' ' || *byte == b'\t')
            .find(|word| !word.is_empty())?;
        return Some(name.to_vec());
    }
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| {
        let value = u64::from_le_bytes(head.get(at..at.checked_add(8)?)?.try_into().ok()?);
        usize::try_from(value).ok()
    };
    const LOADER: u32 = 3;
    let (table, size, count) = (long(32)?, usize::from(half(54)?), usize::from(half(56)?));
    for index in 0..count {
        let entry = table.checked_add(index.checked_mul(size)?)?;
        if word(entry)? == LOADER {
            let (start, length) = (long(entry.checked_add(8)?)?, long(entry.checked_add(32)?)?);
            let name = head.get(start..start.checked_add(length)?)?;
            let end = name.iter().position(|byte| *byte == 0)?;
            return Some(name.get(..end)?.to_vec());
        }
    }
    None
}

/// A name for a family of sockets.
pub(super) fn family_name(family: i32) -> String {
    match family {
        libc::AF_UNIX => "a Unix socket".to_owned(),
        libc::AF_INET => "IPv4".to_owned(),
        libc::AF_INET6 => "IPv6".to_owned(),
        libc::AF_NETLINK => "netlink".to_owned(),
        other => format!("family {other}"),
    }
}

/// The address that a connection goes to, as written in the process's memory.
pub(super) fn address_of(pid: u32, address: u64, length: u64) -> String {
    with_address(pid, address, length, describe_address)
}

/// The same for an address beyond the command's own network; nothing for one within.
pub(super) fn address_beyond(pid: u32, address: u64, length: u64) -> Option<String> {
    with_address(pid, address, length, describe_beyond)
}

fn describe_beyond(bytes: &[u8]) -> Option<String> {
    let family = bytes.get(..2).and_then(|it| it.try_into().ok());
    let family = i32::from(u16::from_ne_bytes(family?));
    let is_own = match family {
        libc::AF_INET => {
            let ip = Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?);
            ip.is_loopback() || ip.is_unspecified()
        }
        libc::AF_INET6 => {
            let ip = Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?);
            let mapped = ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback());
            ip.is_loopback() || ip.is_unspecified() || mapped
        }
        // Unix sockets, netlink, and whatever cannot be made.
        _ => return None,
    };
    // Nobody in there may listen on such a port, and it is where names are asked for.
    const NAMES: [u8; 2] = 53_u16.to_be_bytes();
    match (bytes.get(2..4)? == NAMES, is_own) {
        (true, _) => Some(format!("a name lookup at {}", describe_address(bytes))),
        (false, false) => Some(describe_address(bytes)),
        (false, true) => None,
    }
}

fn with_address<T>(pid: u32, address: u64, length: u64, describe: impl Fn(&[u8]) -> T) -> T {
    let mut buffer = [0_u8; 128];
    let length = usize::try_from(length).unwrap_or(0).min(buffer.len());
    let room = buffer.get_mut(..length).unwrap_or_default();
    let count = notify::read_memory(pid, address, room).unwrap_or(0);
    describe(buffer.get(..count).unwrap_or_default())
}

fn describe_address(bytes: &[u8]) -> String {
    let Some(Ok(family)) = bytes.get(..2).map(TryInto::try_into) else {
        return "an unknown address".to_owned();
    };
    let family = i32::from(u16::from_ne_bytes(family));
    let name = family_name(family);
    let port = |bytes: &[u8]| match bytes.get(2..4) {
        Some([high, low]) => u16::from_be_bytes([*high, *low]),
        _ => 0,
    };
    match family {
        libc::AF_INET => match bytes.get(4..8).map(<[u8; 4]>::try_from) {
            Some(Ok(ip)) => format!("{name} {}:{}", Ipv4Addr::from(ip), port(bytes)),
            _ => name,
        },
        libc::AF_INET6 => match bytes.get(8..24).map(<[u8; 16]>::try_from) {
            Some(Ok(ip)) => format!("{name} [{}]:{}", Ipv6Addr::from(ip), port(bytes)),
            _ => name,
        },
        libc::AF_UNIX => {
            let path = bytes.get(2..).unwrap_or_default();
            let end = path.iter().skip(1).position(|byte| *byte == 0);
            let path = path.get(..end.map_or(path.len(), |end| end + 1));
            let path = std::ffi::OsString::from_vec(path.unwrap_or_default().to_vec());
            format!("{name} {}", path.to_string_lossy().replace('\0', "@"))
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreter_is_that_of_the_first_line_or_the_loader() {
        let script = interpreter_in(b"#! /usr/bin/env python3\nrest");
        assert_eq!(script.as_deref(), Some(&b"/usr/bin/env"[..]));
        assert_eq!(interpreter_in(b"#!\n"), None);
        assert_eq!(interpreter_in(b"\x7fELF\x02\x01"), None);
        let mut own = std::fs::read("/proc/self/exe").unwrap();
        own.truncate(4096);
        let loader = String::from_utf8(interpreter_in(&own).unwrap()).unwrap();
        assert!(loader.contains("ld-"), "{loader}");
    }

    #[test]
    fn rights_of_a_program_are_those_of_its_owner_group_or_others() {
        let status = "Name:\tx\nUid:\t5\t5\t5\t6\nGid:\t7\t7\t7\t8\nGroups:\t9 10\n";
        let ids = Ids::parse(status).unwrap();
        let mut stat = rustix::fs::stat("/proc/self/exe").unwrap();
        for (user, group, mode, may) in [
            (6, 1, 0o744, true),
            (6, 1, 0o677, false),
            (1, 10, 0o654, true),
            (1, 8, 0o754, true),
            (1, 8, 0o745, false),
            (1, 7, 0o774, false),
            (1, 7, 0o641, true),
        ] {
            (stat.st_uid, stat.st_gid, stat.st_mode) = (user, group, mode);
            assert_eq!(ids.may_execute(&stat), may, "{user} {group} {mode:o}");
        }
        assert!(Ids::parse("Uid:\t5\n").is_none());
        assert!(Ids::of(std::process::id()).is_some());
    }

    #[test]
    fn links_of_a_process_lead_to_what_it_has() {
        let follow = |path: &str| {
            let link = ProcessLink::parse(path.as_bytes())?;
            let path = link.follow(std::process::id(), Root::own().as_ref())?;
            Some(PathBuf::from(OsStr::from_bytes(&path)))
        };
        let own = std::env::current_dir().unwrap();
        let number = std::process::id();
        for process in ["self", "thread-self", &number.to_string()] {
            let at = |name: &str| follow(&format!("/proc/{process}/{name}"));
            assert_eq!(at("cwd"), Some(own.clone()));
            assert_eq!(at("cwd/../x"), Some(own.join("../x")));
            assert_eq!(at("root"), Some("/".into()));
            assert_eq!(at("root/etc/x"), Some("/etc/x".into()));
            assert_eq!(at("exe"), std::env::current_exe().ok());
            assert_eq!(at("fd"), None);
            assert_eq!(at("stat"), None);
        }
        let named = tempfile::NamedTempFile::new().unwrap();
        let path = named.path().canonicalize().unwrap();
        let descriptor = named.as_file().as_raw_fd();
        assert_eq!(follow(&format!("/dev/fd/{descriptor}")), Some(path.clone()));
        assert_eq!(
            follow(&format!("//proc/./self/task/{number}/fd/{descriptor}")),
            Some(path)
        );
        let (pipe, _other) = rustix::pipe::pipe().unwrap();
        assert_eq!(follow(&format!("/dev/fd/{}", pipe.as_raw_fd())), None);
        for path in ["/dev", "/dev/null", "/proc", "/proc/stat", "/usr/cwd"] {
            assert_eq!(ProcessLink::parse(path.as_bytes()), None, "{path}");
        }
        let stdin = ProcessLink::parse(b"/dev/stdin").unwrap();
        assert_eq!((stdin.process, stdin.name), (None, &b"0"[..]));
    }

    #[test]
    fn path_is_plain_without_dots_and_double_slashes() {
        assert!(is_plain(b"/usr/lib"));
        for path in [&b"usr"[..], b"/usr//lib", b"/usr/../lib", b"/usr/./x", b"/"] {
            assert!(!is_plain(path), "{path:?}");
        }
        let tidied = |path: &'static str| plain(path.as_bytes()).map(Cow::into_owned);
        for path in ["/usr/lib/R", "/usr/lib//R", "//usr/./lib/R/"] {
            assert_eq!(tidied(path).as_deref(), Some(&b"/usr/lib/R"[..]), "{path}");
        }
        for path in ["/usr/../lib", "usr/lib", "/", ""] {
            assert_eq!(tidied(path), None, "{path}");
        }
    }

    #[test]
    fn address_is_described_with_its_port() {
        let mut address = vec![2, 0, 0, 80, 127, 0, 0, 1];
        assert_eq!(describe_address(&address), "IPv4 127.0.0.1:80");
        address.truncate(5);
        assert_eq!(describe_address(&address), "IPv4");
        let unix = b"\x01\x00/run/x\0\0";
        assert_eq!(describe_address(unix), "a Unix socket /run/x");
        assert_eq!(describe_address(b"\x01\x00\0name"), "a Unix socket @name");
        assert_eq!(describe_address(b""), "an unknown address");
    }

    #[test]
    fn address_beyond_is_told_from_one_of_the_own_network() {
        let v4 = |ip: [u8; 4], port: u16| {
            let [high, low] = port.to_be_bytes();
            describe_beyond(&[2, 0, high, low, ip[0], ip[1], ip[2], ip[3]])
        };
        assert_eq!(v4([127, 0, 0, 1], 80), None);
        assert_eq!(v4([0, 0, 0, 0], 80), None);
        assert_eq!(v4([9, 9, 9, 9], 80).as_deref(), Some("IPv4 9.9.9.9:80"));
        let lookup = v4([127, 0, 0, 53], 53);
        assert_eq!(
            lookup.as_deref(),
            Some("a name lookup at IPv4 127.0.0.53:53")
        );
        let mut v6 = [0_u8; 28];
        (v6[0], v6[3], v6[23]) = (10, 80, 1);
        assert_eq!(describe_beyond(&v6), None);
        v6[8] = 0x20;
        assert!(describe_beyond(&v6).is_some());
        assert_eq!(describe_beyond(b"\x01\x00/run/x\0"), None);
        assert_eq!(describe_beyond(b""), None);
    }

    #[test]
    fn path_is_resolved_below_the_root_and_new_files_by_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::write(top.join("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", top.join("link")).unwrap();
        let root = Root::own().unwrap();
        let bytes = |name: &str| top.join(name).into_os_string().into_vec();
        let found = root.resolve(&bytes("link"), 0).unwrap();
        assert_eq!(found.path, bytes("file"));
        let new = root.resolve(&bytes("new"), libc::O_CREAT).unwrap();
        assert_eq!((new.path, new.stat.is_none()), (bytes("new"), true));
        assert_eq!(root.resolve(&bytes("new"), 0).err(), Some(Errno::NOENT));
        let nofollow = root.resolve(&bytes("link"), libc::O_NOFOLLOW);
        assert_eq!(nofollow.err(), Some(Errno::LOOP));
    }
}
