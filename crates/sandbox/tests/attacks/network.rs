//! Reaching anyone.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::thread;
use std::time::Duration;

use runseal_sandbox::{Isolation, Sandbox};

use crate::arena::{arena, assert_refused, assert_works, attack_outside, text};

#[test]
fn tcp_connection_to_the_host_fails() {
    let Some(arena) = arena() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    assert_works(&attack_outside(&["tcp", &port]));
    let mut greeting = String::new();
    listener
        .accept()
        .unwrap()
        .0
        .read_to_string(&mut greeting)
        .unwrap();
    assert_eq!(greeting, "tcp");

    assert_refused(&arena.attack(&["tcp", &port]));
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

/// Answers one datagram, or none within a while; tells what it got.
fn answering(socket: UdpSocket) -> thread::JoinHandle<Option<Vec<u8>>> {
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 512];
        let (count, from) = socket.recv_from(&mut buffer).ok()?;
        socket.send_to(b"answer", from).unwrap();
        Some(buffer[..count].to_vec())
    })
}

#[test]
fn udp_datagram_to_the_host_fails() {
    let Some(arena) = arena() else { return };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let seen = answering(socket.try_clone().unwrap());
    assert_works(&attack_outside(&["udp", &port, "hello"]));
    assert_eq!(seen.join().unwrap(), Some(b"hello".to_vec()));

    let seen = answering(socket);
    assert_refused(&arena.attack(&["udp", &port, "hello"]));
    assert_eq!(seen.join().unwrap(), None);
}

#[test]
fn dns_query_to_a_resolver_fails() {
    let Some(arena) = arena() else { return };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    // The question of a query for the name "leak"; enough for a resolver to learn it.
    let query = "\x01\x01\x01\x01\x04leak";
    let seen = answering(socket.try_clone().unwrap());
    assert_works(&attack_outside(&["udp", &port, query]));
    assert_eq!(seen.join().unwrap(), Some(query.as_bytes().to_vec()));

    let seen = answering(socket);
    assert_refused(&arena.attack(&["udp", &port, query]));
    assert_eq!(seen.join().unwrap(), None);
    // The libc has no resolver to ask either.
    let lookup = arena.shell("getent hosts example.com || exit 1; cat /etc/resolv.conf");
    assert!(!lookup.success(), "{}", text(&lookup));
}

#[test]
fn abstract_unix_socket_of_the_host_is_out_of_reach() {
    let Some(arena) = arena() else { return };
    let name = format!("runseal-attack-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    assert_works(&attack_outside(&["abstract", &name]));
    assert_refused(&arena.attack(&["abstract", &name]));
    // Not only because sockets are refused altogether.
    let mut with_sockets = arena.attack_spec(&["abstract", &name]);
    with_sockets.unix_sockets = true;
    let outcome = arena.run(&with_sockets);
    assert_refused(&outcome);
    assert!(String::from_utf8_lossy(&outcome.stdout.bytes).starts_with("connect: "));
}

#[test]
fn unix_socket_file_of_the_host_is_out_of_reach() {
    let Some(arena) = arena() else { return };
    let path = arena.outside("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    crate::arena::open_up(&path, 0o777);
    let path = path.to_str().unwrap();
    assert_works(&attack_outside(&["unix", path]));
    let mut spec = arena.attack_spec(&["unix", path]);
    spec.unix_sockets = true;
    assert_refused(&arena.run(&spec));
}

#[test]
fn unix_socket_in_a_read_only_mount_needs_permission() {
    let Some(arena) = arena() else { return };
    let folder = arena.outside("given");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    crate::arena::open_up(&path, 0o777);
    assert_works(&attack_outside(&["unix", path.to_str().unwrap()]));
    let mut spec = arena.attack_spec(&["unix", "/given/socket"]);
    let mount = runseal_sandbox::Mount {
        host: folder,
        inside: "/given".into(),
    };
    spec.mounts.push(mount);
    assert_refused(&arena.run(&spec));
    // And with it, the one that was mounted can be reached: that is how a model is called.
    spec.unix_sockets = true;
    let outcome = arena.run(&spec);
    assert!(outcome.success(), "{}", text(&outcome));
}

#[test]
fn netlink_socket_fails() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["netlink"]));
    assert_refused(&arena.attack(&["netlink"]));
    let mut spec = arena.attack_spec(&["netlink"]);
    spec.unix_sockets = true;
    assert_refused(&arena.run(&spec));
}

#[test]
fn datagram_of_a_socket_pair_reaches_no_socket_of_the_host() {
    let Some(arena) = arena() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listening = UnixDatagram::bind(&path).unwrap();
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(folder.path(), 0o755);
    open(&path, 0o777);
    // Both kinds are sockets of datagrams to the kernel.
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let attack = [
            "datagram-of-a-pair",
            path.to_str().unwrap(),
            &kind.to_string(),
        ];
        assert_works(&attack_outside(&attack));
        let mut spec = arena.attack_spec(&attack);
        spec.view.show(folder.path().to_owned());
        assert_refused(&arena.run(&spec));
        let Ok(weaker) = Sandbox::probe_at(Isolation::Landlock) else {
            continue;
        };
        let mut spec = arena.attack_spec_on_host(&attack);
        spec.view.show(folder.path().to_owned());
        for unix_sockets in [false, true] {
            spec.unix_sockets = unix_sockets;
            assert_refused(&weaker.run(&spec).unwrap());
        }
    }
}
