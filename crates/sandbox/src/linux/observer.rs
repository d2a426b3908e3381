//! The thread that hears of the command's calls, notes them and lets them go on.
//!
//! It runs in the caller, outside the sandbox, for as long as the command has processes. A call
//! waits while it is looked at, so paths are resolved in the state in which the call will find
//! them. Everything read of a process counts only if the call still waits afterwards: otherwise
//! the process may be another one with the same number.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::handover;
use super::metadata::{self, MetadataKeeper};
use super::moved_folders;
use super::notify::{self, Answer, Call};
use super::other_names::OtherNames;
use super::resolve::{self, Root, Target};
use super::seen::{CopiedFolder, Seen, Use};
use crate::error::SandboxError;
use crate::observation::{Gap, Observation, Observe, ObservedKind};
use crate::places::SYSTEM_PLACES;
use crate::spec::{Layered, OnFile};
use crate::view::PROGRAM_FOLDERS;

/// What the observer needs to know beforehand.
pub(super) struct Assignment {
    pub(super) bounds: Observe,
    /// Whether the command has a file system of its own, whose system folders never change.
    pub(super) is_apart: bool,
    /// Where the command works in a copy under another path.
    pub(super) moved: Option<CopiedFolder>,
    /// The folder that the command starts in, where nobody can move it.
    pub(super) starts_in: Option<PathBuf>,
    /// The folder below which looking at names is noted.
    pub(super) looks_below: Option<PathBuf>,
    /// The folder that the command sees with a layer over it, if it does.
    pub(super) layered: Option<Layered>,
    /// The one port of the loopback that can be connected to, where the sandbox refuses all else.
    pub(super) only_port: Option<u16>,
    /// Whether it has a network of its own, in which everything goes on and beyond which nothing leads.
    pub(super) has_own_network: bool,
    pub(super) on_file: Option<OnFile>,
    /// Who changes rights, owners and times for the command, where it may not by itself.
    pub(super) metadata: Option<MetadataKeeper>,
}

/// The thread that answers the kernel's notifications, and what it has seen.
pub(super) struct Observer {
    thread: JoinHandle<Watch>,
    /// Closed to end it.
    stop: OwnedFd,
}

impl Observer {
    /// Starts to wait for the descriptor that the command's process will send.
    pub(super) fn start(socket: OwnedFd, assignment: Assignment) -> Result<Observer, SandboxError> {
        let (stopped, stop) = super::pipe()?;
        let thread = std::thread::Builder::new()
            .name("observer".to_owned())
            .spawn(move || {
                let mut watch = Watch::new(assignment);
                watch.run(&socket, &stopped);
                watch
            })
            .map_err(super::system("start a thread"))?;
        Ok(Observer { thread, stop })
    }

    /// What was seen, once no process of the command is left. `reason` says why nothing could
    /// be, where that is so.
    pub(super) fn finish(self, mut gaps: Vec<Gap>, reason: Option<String>) -> Observation {
        drop(self.stop);
        let watch = self.thread.join();
        let reason = match &watch {
            Ok(watch) => reason.or_else(|| watch.failure.clone()),
            Err(_) => Some("the observing thread ended by itself".to_owned()),
        };
        gaps.extend(reason.map(|reason| Gap::NotObserved { reason }));
        match watch {
            Ok(watch) => {
                let split = watch.split.into_iter();
                gaps.extend(split.map(|path| Gap::SplitNames { path }));
                watch.seen.finish(gaps)
            }
            Err(_) => Observation {
                gaps,
                ..Observation::default()
            },
        }
    }
}

struct Watch {
    seen: Seen,
    is_apart: bool,
    root: Option<Root>,
    /// What paths of system folders lead to; nothing for those that lead nowhere.
    known: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The folder that every process of the command is in; nothing once one of them may have left.
    folder: Option<Vec<u8>>,
    looks_below: Option<Vec<u8>>,
    looks_at_programs: bool,
    /// Processes whose program has taken random bytes for its allocator.
    allocators: BTreeSet<u32>,
    only_port: Option<u16>,
    has_own_network: bool,
    on_file: Option<OnFile>,
    metadata: Option<MetadataKeeper>,
    /// The names of files of the layered folder, where there is a layer.
    other_names: Option<OtherNames>,
    /// Files that were written to and keep what they held under another name.
    split: BTreeSet<PathBuf>,
    failure: Option<String>,
}

/// The loopback's one port, as targets are named.
fn loopback_name(port: u16) -> String {
    format!("{} 127.0.0.1:{port}", resolve::family_name(libc::AF_INET))
}

/// Paths that are remembered. A command that asks for more is only watched more slowly.
const MOST_KNOWN: usize = 50_000;
/// Where looks are not kept, besides folders of programs: what is there is the kernel's or the sandbox's own.
const NOT_LOOKED_AT: [&str; 6] = ["/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp"];
/// Files that are told for having kept what they held under another name.
const MOST_SPLIT: usize = 100;
/// Longer ones are not.
const LONGEST_KNOWN: usize = 512;

/// What glibc takes for its allocator, once in every program that allocates.
const FOR_ALLOCATOR: (u64, u64) = (8, libc::GRND_NONBLOCK as u64);

impl Watch {
    fn new(assignment: Assignment) -> Watch {
        Watch {
            looks_at_programs: assignment.bounds.looks_at_programs,
            seen: Seen::new(assignment.bounds, assignment.moved),
            is_apart: assignment.is_apart,
            other_names: assignment.layered.map(OtherNames::of),
            split: BTreeSet::new(),
            root: None,
            known: BTreeMap::new(),
            folder: assignment
                .starts_in
                .map(|folder| folder.into_os_string().into_vec()),
            looks_below: assignment
                .looks_below
                .map(|folder| folder.into_os_string().into_vec()),
            allocators: BTreeSet::new(),
            only_port: assignment.only_port,
            has_own_network: assignment.has_own_network,
            on_file: assignment.on_file,
            metadata: assignment.metadata,
            failure: None,
        }
    }

    fn run(&mut self, socket: &OwnedFd, stop: &OwnedFd) {
        let listener = match wait(socket.as_fd(), stop.as_fd()) {
            Ok(true) => handover::take(socket),
            Ok(false) => Ok(None),
            Err(errno) => Err(errno),
        };
        let result = match listener {
            Ok(Some(listener)) => {
                notify::take_turns(listener.as_fd());
                self.listen(listener.as_fd(), stop.as_fd())
            }
            // The command never came so far.
            Ok(None) => Ok(()),
            Err(errno) => Err(errno),
        };
        if let Err(errno) = result {
            self.failure = Some(std::io::Error::from(errno).to_string());
        }
    }

    fn listen(&mut self, listener: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<(), Errno> {
        while wait(listener, stop)? {
            let Some(call) = notify::receive(listener)? else {
                continue;
            };
            self.seen.notifications += 1;
            let answer = self.look_at(listener, &call);
            notify::answer(listener, call.id, answer);
        }
        Ok(())
    }

    fn look_at(&mut self, listener: BorrowedFd<'_>, call: &Call) -> Answer {
        let kept = self.metadata.as_ref();
        if let Some(answer) = kept.and_then(|metadata| metadata.answer(listener, call)) {
            return answer;
        }
        let [first, second, third, fourth, fifth, sixth] = call.arguments;
        let here = libc::AT_FDCWD;
        let folder = first as i32;
        match call.number {
            libc::SYS_openat => {
                self.opened(listener, call, (folder, second), third as i32);
            }
            libc::SYS_openat2 => {
                let mut flags = [0_u8; 8];
                match notify::read_memory(call.pid, third, &mut flags) {
                    Ok(8) => {
                        let flags = u64::from_ne_bytes(flags) as i32;
                        self.opened(listener, call, (folder, second), flags);
                    }
                    _ => self.seen.note_unresolved(),
                }
            }
            libc::SYS_execve => self.executed(listener, call, (here, first), 0),
            libc::SYS_execveat => self.executed(listener, call, (folder, second), fifth as i32),
            libc::SYS_linkat => {
                self.linked(listener, call, (folder, second), fifth as i32);
                self.named(listener, call, (third as i32, fourth));
            }
            libc::SYS_renameat => {
                self.renamed(listener, call, (folder, second), (third as i32, fourth), 0);
            }
            libc::SYS_renameat2 => {
                let new = (third as i32, fourth);
                self.renamed(listener, call, (folder, second), new, fifth as u32);
            }
            libc::SYS_truncate => {
                self.opened(listener, call, (here, first), libc::O_WRONLY);
            }
            // All start in one folder, and from now on they may be in different ones.
            libc::SYS_chdir => {
                self.looked(listener, call, (here, first));
                self.folder = None;
            }
            libc::SYS_fchdir => self.folder = None,
            libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlinkat
            | libc::SYS_mkdirat
            | libc::SYS_fchmodat
            | metadata::FCHMODAT2
            | libc::SYS_fchownat => self.looked(listener, call, (folder, second)),
            // Without a name it means an open file.
            libc::SYS_utimensat if second != 0 => self.looked(listener, call, (folder, second)),
            libc::SYS_setxattr
            | libc::SYS_lsetxattr
            | libc::SYS_getxattr
            | libc::SYS_lgetxattr
            | libc::SYS_listxattr
            | libc::SYS_llistxattr
            | libc::SYS_removexattr
            | libc::SYS_lremovexattr => self.looked(listener, call, (here, first)),
            libc::SYS_clone => self.seen.note_thread(resolve::program_of(call.pid)),
            libc::SYS_clone3 => {
                let mut flags = [0_u8; 8];
                if let Ok(8) = notify::read_memory(call.pid, first, &mut flags)
                    && u64::from_ne_bytes(flags) & libc::CLONE_THREAD as u64 != 0
                {
                    self.seen.note_thread(resolve::program_of(call.pid));
                }
            }
            libc::SYS_getrandom => {
                let is_for_allocator =
                    (second, third) == FOR_ALLOCATOR && self.allocators.insert(call.pid);
                if !is_for_allocator {
                    self.seen.note_random(resolve::program_of(call.pid));
                }
            }
            libc::SYS_connect if self.has_own_network => self.sent(call, second, third),
            libc::SYS_sendto => self.sent(call, fifth, sixth),
            libc::SYS_connect => {
                let target = resolve::address_of(call.pid, second, third);
                let program = resolve::program_of(call.pid);
                match self.only_port {
                    None => self.seen.note_network(program, target, false),
                    // Sockets of the machine's own do not lead out.
                    Some(port) if target == loopback_name(port) || target.starts_with("Unix") => {}
                    Some(_) => self.seen.note_network(program, target, true),
                }
            }
            // The filter tells of sockets only to have them refused.
            libc::SYS_socket => {
                let target = resolve::family_name(folder);
                let program = resolve::program_of(call.pid);
                self.seen.note_network(program, target, true);
                return Answer::Refuse(libc::EPERM);
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => {
                self.opened(listener, call, (here, first), second as i32);
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => {
                self.linked(listener, call, (here, first), 0);
                self.named(listener, call, (here, second));
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => self.renamed(listener, call, (here, first), (here, second), 0),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_access
            | libc::SYS_readlink
            | libc::SYS_mkdir
            | libc::SYS_chmod
            | libc::SYS_chown
            | libc::SYS_lchown
            | libc::SYS_utime
            | libc::SYS_utimes => self.looked(listener, call, (here, first)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                self.opened(listener, call, (here, first), flags);
            }
            _ => {}
        }
        Answer::Continue
    }

    /// Notes what goes to an address beyond the command's own network.
    fn sent(&mut self, call: &Call, address: u64, length: u64) {
        if let Some(target) = resolve::address_beyond(call.pid, address, length) {
            let program = resolve::program_of(call.pid);
            self.seen.note_network(program, target, true);
        }
    }

    /// Notes an open; gives what it leads to, if that is there or will be.
    fn opened(
        &mut self,
        listener: BorrowedFd<'_>,
        call: &Call,
        place: (i32, u64),
        flags: i32,
    ) -> Option<Vec<u8>> {
        if flags & libc::O_PATH != 0 {
            return None;
        }
        let access = flags & libc::O_ACCMODE;
        let how = Use {
            // Truncating it first leaves nothing of what it held.
            reads: access == libc::O_RDONLY || access == libc::O_RDWR && flags & libc::O_TRUNC == 0,
            writes: access != libc::O_RDONLY || flags & libc::O_TRUNC != 0,
            executes: false,
            empties: flags & libc::O_TRUNC != 0,
        };
        let asked = self.path_of(listener, call, place, false)?;
        if let Some(known) = self.known.get(&asked) {
            let path = known.clone()?;
            let asked = resolve::plain(&asked);
            self.seen
                .note_file(path.clone(), asked.as_deref(), how, || None);
            return Some(path);
        }
        let mut names = self.other_names.take();
        let resolved = self.find_root(call.pid).map(|root| {
            let resolved = root.resolve(&asked, flags);
            let stat = resolved
                .as_ref()
                .ok()
                .and_then(|it| Some((it, it.stat.as_ref()?)));
            let is_whole = match (&mut names, stat) {
                (Some(names), Some((it, stat))) if how.writes => {
                    names.keep_together(root, &it.path, stat)
                }
                _ => true,
            };
            (resolved, is_whole)
        });
        self.other_names = names;
        let Some((resolved, is_whole)) = resolved else {
            self.seen.note_unresolved();
            return None;
        };
        match resolved {
            Ok(target) => {
                let path = target.path.clone();
                if !is_whole && self.split.len() < MOST_SPLIT {
                    self.split
                        .insert(PathBuf::from(OsString::from_vec(path.clone())));
                }
                self.remember(&asked, Some(&path));
                self.note(&asked, target, how);
                return Some(path);
            }
            Err(Errno::NOENT) => {
                let mut programs = PROGRAM_FOLDERS.iter();
                if resolve::is_plain(&asked)
                    && !programs.any(|folder| resolve::is_below(&asked, folder.as_bytes()))
                {
                    self.seen.note_missing(asked.clone());
                }
                self.remember(&asked, None);
            }
            // Then the command's own call fails as well.
            Err(Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => {}
            Err(_) => self.seen.note_unresolved(),
        }
        None
    }

    /// A hard link gives what the file holds to another name.
    fn linked(&mut self, listener: BorrowedFd<'_>, call: &Call, place: (i32, u64), flags: i32) {
        let how = match flags & libc::AT_SYMLINK_FOLLOW {
            0 => libc::O_RDONLY | libc::O_NOFOLLOW,
            _ => libc::O_RDONLY,
        };
        self.opened(listener, call, place, how);
    }

    /// Another name for a file or folder, with what it holds: that is read under the new name, if at all.
    fn renamed(
        &mut self,
        listener: BorrowedFd<'_>,
        call: &Call,
        old: (i32, u64),
        new: (i32, u64),
        flags: u32,
    ) {
        self.moved_away(listener, call, old);
        if flags & libc::RENAME_EXCHANGE != 0 {
            self.moved_away(listener, call, new);
            self.named(listener, call, old);
        }
        self.named(listener, call, new);
    }

    fn moved_away(&mut self, listener: BorrowedFd<'_>, call: &Call, place: (i32, u64)) {
        // A link that is moved leads where it led.
        self.looked(listener, call, place);
        let how = libc::O_RDONLY | libc::O_NOFOLLOW;
        if let Some(path) = self.opened(listener, call, place, how) {
            self.seen.note_renamed(&path);
            if let Some(names) = self.other_names.take() {
                if let Some(root) = self.find_root(call.pid) {
                    moved_folders::prepare(root, names.folder(), &path);
                }
                self.other_names = Some(names);
            }
        }
    }

    /// Something gets a name. That it was free, or what stood there, may count too.
    fn named(&mut self, listener: BorrowedFd<'_>, call: &Call, place: (i32, u64)) {
        self.looked(listener, call, place);
        if let Some(name) = self.path_of(listener, call, place, false) {
            self.seen.note_given_name(name);
        }
    }

    /// Somebody looks whether something is there, or what it is. Only the name is kept: what the
    /// command sees behind it, the caller finds there too. Folders of programs are the same everywhere.
    fn looked(&mut self, listener: BorrowedFd<'_>, call: &Call, place: (i32, u64)) {
        if self.looks_below.is_none() {
            return;
        }
        let Some(asked) = self.path_of(listener, call, place, false) else {
            return;
        };
        let is_below = |folder: &Vec<u8>| resolve::is_below(&asked, folder);
        let is_elsewhere = || {
            let programs = PROGRAM_FOLDERS.iter().filter(|_| !self.looks_at_programs);
            let mut own = NOT_LOOKED_AT.iter().chain(programs);
            !own.any(|folder| resolve::is_below(&asked, folder.as_bytes()))
        };
        if self.looks_below.as_ref().is_some_and(is_below) || is_elsewhere() {
            self.seen.note_look(asked);
        }
    }

    fn note(&mut self, asked: &[u8], target: Target, how: Use) {
        let asked = resolve::plain(asked);
        let Target { path, stat, .. } = target;
        let new = self.seen.note_file(path, asked.as_deref(), how, || stat);
        if let (Some(file), Some(on_file)) = (new, &self.on_file)
            && file.kind == ObservedKind::File
            && (how.reads || how.executes)
        {
            on_file.call(&file.path);
        }
    }

    fn executed(&mut self, listener: BorrowedFd<'_>, call: &Call, place: (i32, u64), flags: i32) {
        // What runs next has an allocator of its own.
        self.allocators.remove(&call.pid);
        let may_be_empty = flags & libc::AT_EMPTY_PATH != 0;
        let Some(mut asked) = self.path_of(listener, call, place, may_be_empty) else {
            return;
        };
        // A script's program may be a script, up to the kernel's own bound.
        for _ in 0..5 {
            let Some(root) = self.find_root(call.pid) else {
                self.seen.note_unresolved();
                return;
            };
            let Ok(target) = root.resolve(&asked, libc::O_RDONLY) else {
                return;
            };
            if !target.is_executable_by(call.pid) {
                return;
            }
            let next = if self.is_stable(&target.path) && self.seen.was_executed(&target.path) {
                None
            } else {
                target.interpreter()
            };
            let how = Use {
                reads: false,
                writes: false,
                executes: true,
                empties: false,
            };
            // The loader of shared libraries is part of whatever it loads.
            if !is_loader(&target.path) {
                self.seen.note_program(call.pid, &target.path);
            }
            self.note(&asked, target, how);
            match next {
                Some(next) if next.starts_with(b"/") => asked = next,
                _ => return,
            }
        }
    }

    /// The absolute path that a call names, links unresolved.
    fn path_of(
        &mut self,
        listener: BorrowedFd<'_>,
        call: &Call,
        (folder, address): (i32, u64),
        may_be_empty: bool,
    ) -> Option<Vec<u8>> {
        let path = resolve::read_path(call.pid, address).and_then(|path| {
            if path.starts_with(b"/") {
                // Only few lead through a process, and only those need the root.
                return match resolve::ProcessLink::parse(&path) {
                    Some(link) => {
                        let root = self.find_root(call.pid);
                        Some(link.follow(call.pid, root).unwrap_or(path))
                    }
                    None => Some(path),
                };
            }
            if path.is_empty() && !may_be_empty {
                return Some(path);
            }
            let mut whole = match &self.folder {
                Some(known) if folder == libc::AT_FDCWD => known.clone(),
                _ => resolve::folder_of(call.pid, folder)?,
            };
            if !path.is_empty() {
                whole.push(b'/');
                whole.extend_from_slice(&path);
            }
            Some(whole)
        });
        match path {
            // The call fails by itself.
            Some(path) if path.is_empty() => None,
            Some(path) if notify::is_waiting(listener, call.id) => Some(path),
            _ => {
                self.seen.note_unresolved();
                None
            }
        }
    }

    fn find_root(&mut self, pid: u32) -> Option<&Root> {
        if self.root.is_none() {
            self.root = if self.is_apart {
                Root::of(pid)
            } else {
                Root::own()
            };
        }
        self.root.as_ref()
    }

    /// Whether a path lies where the command cannot change anything.
    fn is_stable(&self, path: &[u8]) -> bool {
        self.is_apart
            && SYSTEM_PLACES
                .iter()
                .any(|place| resolve::is_below(path, place.as_bytes()))
    }

    fn remember(&mut self, asked: &[u8], path: Option<&Vec<u8>>) {
        if self.known.len() < MOST_KNOWN
            && asked.len() <= LONGEST_KNOWN
            && resolve::is_plain(asked)
            && self.is_stable(asked)
            && path.is_none_or(|path| self.is_stable(path))
        {
            self.known.insert(asked.to_vec(), path.cloned());
        }
    }
}

fn is_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| name.starts_with(b"ld-"))
}

/// Waits until there is something to read (true) or it is time to stop (false).
fn wait(from: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<bool, Errno> {
    loop {
        let mut events = [
            PollFd::new(&from, PollFlags::IN),
            PollFd::new(&stop, PollFlags::IN),
        ];
        match rustix::event::poll(&mut events, None) {
            Ok(_) => {
                let [from, stop] = &events;
                if from.revents().contains(PollFlags::IN) {
                    return Ok(true);
                }
                // Its other end is gone: no process is left that could tell anything.
                if !from.revents().is_empty() || !stop.revents().is_empty() {
                    return Ok(false);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Where the program of a process could not be found.
pub(super) fn unknown_program() -> PathBuf {
    PathBuf::from("unknown")
}
