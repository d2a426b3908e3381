//! Finds the user at the other end of a connection on the host's loopback.

use std::net::{IpAddr, SocketAddr};

/// The kernel's list of TCP sockets over IPv4.
const SOCKETS: &str = "/proc/net/tcp";

/// Whether the process that connected from `peer` to `local` belongs to another user. False if that is
/// unknown: the client has to show its credentials anyway.
pub(super) fn is_foreign(peer: SocketAddr, local: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let Ok(sockets) = std::fs::read_to_string(SOCKETS) else {
        return false;
    };
    find_owner(&sockets, peer, local).is_some_and(|owner| owner != own)
}

/// Finds the user of the socket at `peer` that is connected to `local`.
fn find_owner(sockets: &str, peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let (peer, local) = (listed(peer)?, listed(local)?);
    sockets.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_match = columns.next() == Some(&peer) && columns.next() == Some(&local);
        is_match.then(|| columns.nth(4)?.parse().ok()).flatten()
    })
}

/// Formats an address as in the list of sockets.
fn listed(address: SocketAddr) -> Option<String> {
    let IpAddr::V4(host) = address.ip() else {
        return None;
    };
    let host = u32::from_ne_bytes(host.octets());
    Some(format!("{host:08X}:{:04X}", address.port()))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn owner_of_connection_is_read_from_list_of_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).unwrap();
        let peer = client.local_addr().unwrap();
        let sockets = std::fs::read_to_string(SOCKETS).unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(find_owner(&sockets, peer, local), Some(own));
        assert!(!is_foreign(peer, local));
        let line = format!(
            "   1: {} {} 01 00000000:00000000 00:00000000 00000000 {} 0 1",
            listed(peer).unwrap(),
            listed(local).unwrap(),
            own + 1
        );
        assert_eq!(find_owner(&line, peer, local), Some(own + 1));
        assert_eq!(find_owner(&line, local, peer), None);
    }
}
