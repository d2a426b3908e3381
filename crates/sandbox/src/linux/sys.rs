//! The system calls that have no safe wrapper in the crates we use: fork, clone3, execve,
//! close_range, mount_setattr, unshare, raising an interface, used memory, signal dispositions, and what is done to a terminal
//! in a signal's handler.
//!
//! Invariant of [`spawn_child`]: the closure runs in a process with one thread, and that process
//! never returns into the caller's code, not even by a panic.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_uint};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Exit code of a child that ended by a bug of ours.
const CHILD_PANICKED: i32 = 125;

/// Ends the process at once, without running anything of the program it was forked from.
fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes no memory and does not return.
    unsafe { libc::_exit(code) }
}

/// Turns unwinding into the end of the process: a child must not run its parent's code.
struct ExitGuard;

impl Drop for ExitGuard {
    fn drop(&mut self) {
        exit_now(CHILD_PANICKED)
    }
}

/// How much more memory than this process a command's process must have had for it to count, in KiB: until it
/// executes its program, it is a copy of this one, which may grow a little.
const OF_A_COPY: i64 = 1 << 10;

/// The most resident memory that one of the processes had that this one waited for, with those that they waited for, in
/// KiB; nothing if that may be what they had as copies of this one.
pub(super) fn peak_memory_of_ended() -> Option<i32> {
    let ended = peak_memory(libc::RUSAGE_CHILDREN)?;
    let own = peak_memory(libc::RUSAGE_SELF)?;
    (ended > own + OF_A_COPY).then(|| i32::try_from(ended).unwrap_or(i32::MAX))
}

fn peak_memory(who: libc::c_int) -> Option<i64> {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes a whole structure to where the reference says.
    let answer = unsafe { libc::getrusage(who, &mut usage) };
    (answer == 0).then_some(usage.ru_maxrss)
}

/// Forks; the child runs `work` and ends with the code it returns.
///
/// `work` may allocate: libc's `fork` makes its allocator usable in the child of a process with
/// several threads (glibc always, musl since 1.2.2). It must not take locks of this program,
/// start threads or print.
pub(super) fn spawn_child(work: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: the child has one thread and only runs `work`, which keeps to the rules above, then
    // ends by `_exit`; the guard covers unwinding.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let _guard = ExitGuard;
            let code = work();
            exit_now(code)
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork answered no process id")),
    }
}

/// As [`spawn_child`], but the child starts in the control group whose folder is given. Only for
/// a process with one thread: libc does not see this fork and prepares no lock for it.
pub(super) fn spawn_child_in(group: BorrowedFd<'_>, work: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: the structure is plain numbers, for which zero is valid.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.flags = CLONE_INTO_CGROUP;
    how.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
    how.cgroup = u64::from(group.as_raw_fd().unsigned_abs());
    // SAFETY: without CLONE_VM and a stack of its own the child continues here as after fork, in
    // a copy of this process, which has one thread. It only runs `work` and ends by `_exit`.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            ptr::from_mut(&mut how),
            size_of::<libc::clone_args>(),
        )
    };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let _guard = ExitGuard;
            let code = work();
            exit_now(code)
        }
        pid => i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("clone3 answered no process id")),
    }
}

/// libc has it as a signed number that is too small for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Closes every file descriptor from 3 up but those in `keep`. Only for a fresh child: values
/// that own other descriptors are stale afterwards and must not be used.
pub(super) fn close_all_but(keep: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut sorted: Vec<RawFd> = keep
        .iter()
        .map(AsRawFd::as_raw_fd)
        .filter(|fd| *fd > 2)
        .collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut first: c_uint = 3;
    for fd in sorted {
        let fd = fd.unsigned_abs();
        if fd > first {
            close_range(first, fd - 1)?;
        }
        first = fd + 1;
    }
    close_range(first, c_uint::MAX)
}

fn close_range(first: c_uint, last: c_uint) -> Result<(), Errno> {
    // SAFETY: numbers only; the caller's contract covers what becomes stale.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0 as c_uint) };
    if answer == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Adds attributes to a mount, and to all mounts below it where `recursive`. `id_map` is a user
/// namespace by whose mapping the owners of files are to be seen.
pub(super) fn set_mount_attributes(
    mount: BorrowedFd<'_>,
    attributes: u64,
    recursive: bool,
    id_map: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    // SAFETY: the structure is plain numbers, for which zero is valid.
    let mut change: libc::mount_attr = unsafe { std::mem::zeroed() };
    change.attr_set = attributes;
    if let Some(id_map) = id_map {
        change.attr_set |= libc::MOUNT_ATTR_IDMAP;
        change.userns_fd = u64::from(id_map.as_raw_fd().unsigned_abs());
    }
    let mut flags = libc::AT_EMPTY_PATH;
    if recursive {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path is an empty C string, the structure lives through the call and its size
    // is the one given.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            ptr::from_mut(&mut change),
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Puts the loopback interface of this network namespace into service. `socket` is any socket of it.
pub(super) fn raise_loopback(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the structure is plain data for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(*b"lo") {
        *place = letter as c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request wants a pointer to this structure, which lives through the call.
    let answer = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS,
            ptr::from_mut(&mut request),
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Leaves the namespaces named by `flags` for new ones. Never with the file table's flag.
pub(super) fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: without FILES no descriptor changes its meaning.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Gives every signal its default action and unblocks all of them: both are inherited through
/// execve, and the program this was forked from ignores SIGPIPE.
pub(super) fn reset_signals() {
    // SAFETY: default actions run no code of ours; numbers that cannot be set are refused by the
    // system without effect. The set is initialized before it is used.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Ignores a signal from now on; programs that are executed get it again ([`reset_signals`]).
pub(super) fn ignore(signal: i32) {
    // SAFETY: ignoring runs no code of ours.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}

/// Calls `handler` for every such signal. The handler may only store to atomics and call what is allowed in
/// handlers. A signal that the caller ignores stays ignored (`nohup`).
pub(super) fn catch(signal: i32, handler: extern "C" fn(i32)) -> io::Result<()> {
    // SAFETY: both structures are plain data for which zero is valid, and live through the calls;
    // the handler is a function of the type that sigaction wants without SA_SIGINFO, and keeps to
    // what is allowed in handlers.
    let answer = unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut before);
        if before.sa_sigaction == libc::SIG_IGN {
            return Ok(());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, ptr::null_mut())
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Ends this process by a signal as if it had never been caught. Allowed in a handler.
pub(super) fn end_by(signal: i32) {
    // SAFETY: both calls are allowed in handlers and take numbers only.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// A terminal and how it was set. What is pointed at is never freed or changed, because a handler may be reading
/// it: a few bytes for each command that is run on a terminal.
static TERMINAL: AtomicPtr<RememberedTerminal> = AtomicPtr::new(ptr::null_mut());

struct RememberedTerminal {
    terminal: RawFd,
    settings: libc::termios,
}

/// Remembers how a terminal is set, for [`restore_terminal`]. It must stay open until it is forgotten. None if it
/// is no terminal.
pub(super) fn remember_terminal(terminal: BorrowedFd<'_>) -> Option<()> {
    let terminal = terminal.as_raw_fd();
    // SAFETY: the structure is plain data for which zero is valid, and lives through the call.
    let settings = unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(terminal, &raw mut settings) != 0 {
            return None;
        }
        settings
    };
    let remembered = Box::new(RememberedTerminal { terminal, settings });
    TERMINAL.store(Box::into_raw(remembered), Ordering::SeqCst);
    Some(())
}

/// Nothing is restored from here on.
pub(super) fn forget_terminal() {
    TERMINAL.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Sets the remembered terminal as it was, unless this process is in its background. Allowed in a handler.
pub(super) fn restore_terminal() {
    let remembered = TERMINAL.load(Ordering::SeqCst);
    // SAFETY: the pointer is null or points at a value that is never freed; the calls are allowed in handlers.
    unsafe {
        if let Some(remembered) = remembered.as_ref()
            && libc::tcgetpgrp(remembered.terminal) == libc::getpgrp()
        {
            libc::tcsetattr(
                remembered.terminal,
                libc::TCSANOW,
                &raw const remembered.settings,
            );
        }
    }
}

/// Sends SIGINT to the foreground of a terminal; this is its side that shows.
pub(super) fn interrupt_terminal(terminal: BorrowedFd<'_>) {
    const TIOCSIG: libc::c_ulong = 0x4004_5436;
    // SAFETY: the request takes a number.
    unsafe {
        libc::ioctl(terminal.as_raw_fd(), TIOCSIG as _, libc::SIGINT);
    }
}

/// A list of C strings with the closing null pointer that execve wants.
pub(super) struct StringList {
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl StringList {
    /// Keeps the strings and points at them.
    pub(super) fn new(strings: Vec<CString>) -> StringList {
        let mut pointers: Vec<*const c_char> = strings.iter().map(|text| text.as_ptr()).collect();
        pointers.push(ptr::null());
        StringList {
            _strings: strings,
            pointers,
        }
    }
}

/// Replaces the process; answers only when that failed.
pub(super) fn execute(program: &CStr, arguments: &StringList, environment: &StringList) -> Errno {
    // SAFETY: both lists end in null and point into strings that they own.
    unsafe {
        libc::execve(
            program.as_ptr(),
            arguments.pointers.as_ptr(),
            environment.pointers.as_ptr(),
        );
    }
    last_errno()
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
