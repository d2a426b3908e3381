//! The listener on the command's own loopback: made by process 1, taken by the caller.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};

use super::{handover, sys};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// What process 1 needs.
pub(super) struct LoopbackWire {
    pub(super) port: u16,
    /// Where the listener is sent.
    pub(super) hand_over: OwnedFd,
}

/// Brings the loopback of this network namespace up.
pub(super) fn raise() -> Result<(), Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sys::raise_loopback(socket.as_fd())
}

impl LoopbackWire {
    /// Brings the loopback of this network namespace up, listens on it, and sends the listener to the
    /// caller. Nothing of it stays here.
    pub(super) fn hand_over_listener(&self) -> Result<(), Errno> {
        let socket = rustix::net::socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            Some(ipproto::TCP),
        )?;
        sys::raise_loopback(socket.as_fd())?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port))?;
        rustix::net::listen(&socket, BACKLOG)?;
        handover::send(&self.hand_over, socket.as_fd())
    }
}

/// Waits for the listener. None where the processes ended before they made it; their report says why.
pub(super) fn take_listener(socket: &OwnedFd) -> Result<Option<TcpListener>, Errno> {
    loop {
        let mut events = [PollFd::new(socket, PollFlags::IN)];
        match rustix::event::poll(&mut events, None) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
            // The other end is closed, with or without something sent before.
            Ok(_) => return Ok(handover::take(socket)?.map(TcpListener::from)),
        }
    }
}
