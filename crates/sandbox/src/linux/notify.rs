//! The system calls of seccomp notifications, which have no safe wrapper in the crates we use,
//! and the filter that asks for them. Besides `sys.rs` the only place with `unsafe`.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::io::Errno;

/// One call that a process waits in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// Names this very call; no other one ever has it.
    pub(super) id: u64,
    /// The thread, as this process's PID namespace numbers it; 0 where it is not in it.
    pub(super) pid: u32,
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// What a waiting call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It goes on as if nobody had looked.
    Continue,
    /// It fails with this error.
    Refuse(i32),
    /// It was done for the process, and succeeds with 0.
    Done,
}

const SYNC_WAKE_UP: u64 = 1;
const CONTINUE: u32 = 1;
const NEW_LISTENER: u64 = 1 << 3;
const WAIT_KILLABLE: u64 = 1 << 5;

/// Installs a filter for this process and all it will start; the descriptor hears of its calls.
/// Needs no_new_privs. From Linux 5.19 signals do not interrupt a call that is being looked at.
pub(super) fn install(program: &[libc::sock_filter]) -> Result<OwnedFd, Errno> {
    match install_with(program, NEW_LISTENER | WAIT_KILLABLE) {
        Err(Errno::INVAL) => install_with(program, NEW_LISTENER),
        other => other,
    }
}

fn install_with(program: &[libc::sock_filter], flags: u64) -> Result<OwnedFd, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::TOOBIG)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the program lives through the call, which only reads it; its length is the one
    // given.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            ptr::from_ref(&program),
        )
    };
    let fd = RawFd::try_from(answer).map_err(|_| Errno::BADF)?;
    if fd < 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Asks that both sides take turns on one processor, which is much cheaper. Linux 6.6; without
/// it everything works, slower.
pub(super) fn take_turns(listener: BorrowedFd<'_>) {
    // SAFETY: the argument is a number, not memory.
    let _ = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
            SYNC_WAKE_UP,
        )
    };
}

/// The next call; nothing when its process has ended meanwhile.
pub(super) fn receive(listener: BorrowedFd<'_>) -> Result<Option<Call>, Errno> {
    // SAFETY: plain numbers, for which zero is valid; the kernel demands zeros.
    let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the request's size is that of the structure, which lives through the call.
    let answer = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            ptr::from_mut(&mut notice).cast::<c_void>(),
        )
    };
    if answer != 0 {
        return match last_errno() {
            Errno::NOENT | Errno::INTR | Errno::AGAIN => Ok(None),
            errno => Err(errno),
        };
    }
    Ok(Some(Call {
        id: notice.id,
        pid: notice.pid,
        number: i64::from(notice.data.nr),
        arguments: notice.data.args,
    }))
}

/// Lets the call go on or fail. A call whose process has ended needs no answer.
pub(super) fn answer(listener: BorrowedFd<'_>, id: u64, answer: Answer) {
    let (error, flags) = match answer {
        Answer::Continue => (0, CONTINUE),
        Answer::Refuse(errno) => (-errno, 0),
        Answer::Done => (0, 0),
    };
    let mut response = libc::seccomp_notif_resp {
        id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the request's size is that of the structure, which lives through the call.
    let _ = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            ptr::from_mut(&mut response).cast::<c_void>(),
        )
    };
}

/// Whether the call still waits: only then is what was read of its process its own.
pub(super) fn is_waiting(listener: BorrowedFd<'_>, mut id: u64) -> bool {
    // SAFETY: the kernel reads the number, which lives through the call.
    let answer = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            ptr::from_mut(&mut id).cast::<c_void>(),
        )
    };
    answer == 0
}

/// Reads memory of another process; the answer is how much there was.
pub(super) fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let pid = i32::try_from(pid).map_err(|_| Errno::SRCH)?;
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast::<c_void>(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0)),
        iov_len: buffer.len(),
    };
    // SAFETY: the kernel writes at most `iov_len` bytes into the buffer, which lives through the
    // call; the other address is the other process's matter and is checked by the kernel.
    let count = unsafe {
        libc::process_vm_readv(pid, ptr::from_ref(&local), 1, ptr::from_ref(&remote), 1, 0)
    };
    usize::try_from(count).map_err(|_| last_errno())
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_this_process_is_read() {
        let text = *b"some text";
        let mut buffer = [0_u8; 9];
        let address = text.as_ptr().addr() as u64;
        let count = read_memory(std::process::id(), address, &mut buffer).unwrap();
        assert_eq!((count, &buffer), (9, &text));
        assert!(read_memory(std::process::id(), 1, &mut buffer).is_err());
    }
}
