//! Passes one open folder from process 1 to the caller. It waits in the socket until the caller
//! takes it, which is after the sender's end: the folder outlives its mount namespace that way.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// The caller's end and the sender's.
pub(super) fn make() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Sends the folder; never waits for its taker.
pub(super) fn send(socket: &OwnedFd, folder: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let folders = [folder];
    if !control.push(SendAncillaryMessage::ScmRights(&folders)) {
        return Err(Errno::NOBUFS);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(b"w")], &mut control, flags).map(|_| ())
}

/// Takes the folder that was sent, if one was.
pub(super) fn take(socket: &OwnedFd) -> Result<Option<OwnedFd>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut parts = [IoSliceMut::new(&mut byte)];
    match rustix::net::recvmsg(socket, &mut parts, &mut control, flags) {
        Err(Errno::AGAIN) => return Ok(None),
        other => other?,
    };
    let folder = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut folders) => folders.next(),
        _ => None,
    });
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn folder_sent_is_taken_after_its_sender_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "x").unwrap();
        let (taker, sender) = make().unwrap();
        assert!(take(&taker).unwrap().is_none());
        let opened = std::fs::File::open(folder.path()).unwrap();
        send(&sender, opened.as_fd()).unwrap();
        drop((opened, sender));
        let taken = take(&taker).unwrap().unwrap();
        let stat = rustix::fs::statat(&taken, "file", rustix::fs::AtFlags::empty()).unwrap();
        assert_eq!(stat.st_size, 1);
        assert!(take(&taker).unwrap().is_none());
    }
}
