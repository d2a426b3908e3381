//! Finds the user at the other end of a connection on the host's loopback.

use std::net::{IpAddr, SocketAddr};

/// The kernel's list of TCP sockets over IPv4.
const SOCKETS: &str = "/proc/net/tcp";
/// The one over IPv6. A socket of that kind can be connected to an address of IPv4, too, and stands here then.
const SOCKETS_6: &str = "/proc/net/tcp6";

/// Whether the process that connected from `peer` to `local` belongs to another user than this one, and not to root, who may
/// see everything of this user anyway. What the system does not tell, such as the owner of a connection from
/// another network namespace or machine, is not held against a client.
pub(super) fn is_foreign(peer: SocketAddr, local: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let owner = [
        (SOCKETS, listed(peer).zip(listed(local))),
        (SOCKETS_6, Some((listed_6(peer), listed_6(local)))),
    ]
    .into_iter()
    .find_map(|(list, ends)| {
        let (peer, local) = ends?;
        find_owner(&std::fs::read_to_string(list).ok()?, &peer, &local)
    });
    owner.is_some_and(|owner| owner != own && owner != 0)
}

/// The user of the socket at `peer` that is connected to `local`, both as the list has them.
fn find_owner(sockets: &str, peer: &str, local: &str) -> Option<u32> {
    sockets.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_it = columns.next() == Some(peer) && columns.next() == Some(local);
        is_it.then(|| columns.nth(4)?.parse().ok()).flatten()
    })
}

/// An address as the list over IPv6 has it: in four words of the machine's order.
fn listed_6(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(host) => host.to_ipv6_mapped(),
        IpAddr::V6(host) => host,
    };
    let words = host.octets();
    let words = words
        .chunks_exact(4)
        .filter_map(|word| Some(u32::from_ne_bytes(word.try_into().ok()?)));
    let words: String = words.map(|word| format!("{word:08X}")).collect();
    format!("{words}:{:04X}", address.port())
}

/// An address as the list has it.
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
        let (shown, shown_local) = (listed(peer).unwrap(), listed(local).unwrap());
        assert_eq!(find_owner(&sockets, &shown, &shown_local), Some(own));
        assert!(!is_foreign(peer, local));
        let line = format!(
            "   1: {} {} 01 00000000:00000000 00:00000000 00000000 {} 0 1",
            listed(peer).unwrap(),
            listed(local).unwrap(),
            own + 1
        );
        assert_eq!(find_owner(&line, &shown, &shown_local), Some(own + 1));
        assert_eq!(find_owner(&line, &shown_local, &shown), None);
    }

    #[test]
    fn owner_of_a_connection_over_ipv6_is_read_from_its_list() {
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:80".parse().unwrap();
        let plain: SocketAddr = "127.0.0.1:80".parse().unwrap();
        assert_eq!(listed_6(mapped), listed_6(plain));
        // Not every machine has IPv6.
        let Ok(listener) = TcpListener::bind("[::1]:0") else {
            return;
        };
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).unwrap();
        let (peer, local) = (listed_6(client.local_addr().unwrap()), listed_6(local));
        let sockets = std::fs::read_to_string(SOCKETS_6).unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(find_owner(&sockets, &peer, &local), Some(own));
    }
}
