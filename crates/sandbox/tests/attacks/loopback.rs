//! Reaching anyone but who listens at the one address that was given.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use runseal_sandbox::{Ending, Isolation, Loopback, Sandbox, SandboxError, Spec};
use runseal_testkit::skip::{need_program, skip_even_in_ci};

use crate::arena::{Arena, arena, assert_refused, assert_works, attack_outside, text};

const PORT: u16 = 4100;

/// A specification with the port, and what was said to whoever listens there.
fn given(arena: &Arena, arguments: &[&str]) -> (Spec, Receiver<String>) {
    let (sender, said) = channel();
    let mut spec = arena.attack_spec(arguments);
    spec.loopback = Some(Loopback::inside(PORT, move |listener: TcpListener| {
        let sender = sender.clone();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let mut word = String::new();
                let _ = stream.read_to_string(&mut word);
                if sender.send(word).is_err() {
                    return;
                }
            }
        });
    }));
    (spec, said)
}

#[test]
fn loopback_reaches_the_one_who_listens_and_no_other_address() {
    let Some(arena) = arena() else { return };
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port().to_string();
    assert_works(&attack_outside(&["reach", "127.0.0.1", &port]));
    host.accept().unwrap();
    host.set_nonblocking(true).unwrap();

    let own = PORT.to_string();
    let (spec, said) = given(&arena, &["reach", "127.0.0.1", &own]);
    let outcome = arena.run(&spec);
    assert!(outcome.success(), "{}", text(&outcome));
    assert_eq!(said.recv_timeout(Duration::from_secs(5)).unwrap(), "reach");

    for (address, port) in [
        // The host's port is not that of this loopback.
        ("127.0.0.1", port.as_str()),
        ("127.0.0.1", "22"),
        // All of 127.0.0.0/8 is this loopback's; elsewhere there is no way.
        ("127.0.0.2", &port),
        ("1.1.1.1", "443"),
        ("169.254.169.254", "80"),
        ("10.0.0.1", &own),
        ("::1", &own),
        ("::ffff:127.0.0.1", &own),
    ] {
        let (spec, _said) = given(&arena, &["reach", address, port]);
        let outcome = arena.run(&spec);
        assert_eq!(
            outcome.exit_code(),
            Some(1),
            "{address}:{port} {}",
            text(&outcome)
        );
    }
    assert!(host.accept().is_err(), "somebody reached the host");
}

#[test]
fn loopback_gives_no_socket_but_tcp_over_ipv4() {
    let Some(arena) = arena() else { return };
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = udp.local_addr().unwrap().port().to_string();
    for attack in [
        vec!["udp", &port, "hello"],
        vec!["netlink"],
        // Datagrams, raw, sequenced packets; MPTCP, SCTP.
        vec!["inet-socket", "2", "0"],
        vec!["inet-socket", "2", "17"],
        vec!["inet-socket", "3", "1"],
        vec!["inet-socket", "5", "0"],
        vec!["inet-socket", "1", "262"],
        vec!["inet-socket", "1", "132"],
    ] {
        let (spec, _said) = given(&arena, &attack);
        let outcome = arena.run(&spec);
        assert_eq!(
            outcome.exit_code(),
            Some(1),
            "{attack:?} {}",
            text(&outcome)
        );
        let printed = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
        assert!(
            printed.starts_with("socket: Operation not permitted"),
            "{attack:?} {printed}"
        );
    }
    let (spec, _said) = given(&arena, &["inet-socket", "1", "6"]);
    let outcome = arena.run(&spec);
    assert!(outcome.success(), "{}", text(&outcome));
}

#[test]
fn loopback_opens_no_unix_socket_of_the_host() {
    let Some(arena) = arena() else { return };
    let name = format!("runseal-loopback-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    assert_works(&attack_outside(&["abstract", &name]));
    for unix_sockets in [false, true] {
        let (mut spec, _said) = given(&arena, &["abstract", &name]);
        spec.unix_sockets = unix_sockets;
        assert_refused(&arena.run(&spec));
    }
}

#[test]
fn loopback_lets_the_command_listen_nowhere() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["listen", "0"]));
    for port in ["0", "4101", "4100"] {
        let (spec, _said) = given(&arena, &["listen", port]);
        assert_refused(&arena.run(&spec));
    }
}

#[test]
fn loopback_leaves_no_descriptor_with_the_command() {
    let Some(arena) = arena() else { return };
    let without = arena.attack(&["descriptors"]);
    let (spec, _said) = given(&arena, &["descriptors"]);
    let with = arena.run(&spec);
    assert_eq!(with.stdout.bytes, without.stdout.bytes, "{}", text(&with));
    assert_eq!(with.exit_code(), Some(0), "{}", text(&with));
}

#[test]
fn loopback_connections_are_bounded_by_the_command_s_own_limit() {
    let Some(arena) = arena() else { return };
    let (mut spec, _said) = given(&arena, &["connections", "4100", "100000"]);
    spec.limits.open_files = 64;
    let outcome = arena.run(&spec);
    let printed = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
    let count: usize = printed.split(' ').next().unwrap().parse().unwrap();
    assert!((1..64).contains(&count), "{printed}");
}

#[test]
fn loopback_command_that_dies_ends_its_connections_and_the_next_one_starts_anew() {
    let Some(arena) = arena() else { return };
    for _ in 0..3 {
        let (spec, said) = given(&arena, &["reach", "127.0.0.1", "4100"]);
        let mut spec = spec;
        // Killed in the middle: what it sent before is still there, then the connection ends.
        let script = "/attack/attacker reach 127.0.0.1 4100; kill -9 $$";
        spec.command = ["sh", "-c", script].map(Into::into).to_vec();
        let outcome = arena.run(&spec);
        assert!(!outcome.success());
        assert_eq!(said.recv_timeout(Duration::from_secs(5)).unwrap(), "reach");
    }
}

#[test]
fn loopback_whose_listener_nobody_serves_does_not_hold_the_run_up() {
    let Some(arena) = arena() else { return };
    let mut spec = arena.attack_spec(&["reach", "127.0.0.1", "4100"]);
    // Dropped at once: nobody listens any more, or nobody answers who was quick enough to get in line.
    spec.loopback = Some(Loopback::inside(PORT, drop));
    let begun = Instant::now();
    let outcome = arena.run(&spec);
    assert!(
        matches!(outcome.ending, Ending::Exited(_)),
        "{}",
        text(&outcome)
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn loopback_answers_come_back() {
    let Some(arena) = arena() else { return };
    let mut spec = arena.spec(&["sh", "-c", "exec 3<>/dev/tcp/127.0.0.1/4100; cat <&3"]);
    if !need_program("/bin/bash") {
        return;
    }
    spec.command = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4100; cat <&3"]
        .map(Into::into)
        .to_vec();
    spec.loopback = Some(Loopback::inside(PORT, |listener: TcpListener| {
        thread::spawn(move || {
            let (mut stream, from) = listener.accept().unwrap();
            assert!(from.ip().is_loopback());
            stream.write_all(b"an answer").unwrap();
        });
    }));
    let outcome = arena.run(&spec);
    assert_eq!(outcome.stdout.bytes, b"an answer", "{}", text(&outcome));
}

#[test]
fn loopback_of_the_host_is_one_port_where_there_are_only_landlock_and_filters() {
    let Some(arena) = arena() else { return };
    let Ok(sandbox) = Sandbox::probe_at(Isolation::Landlock) else {
        skip_even_in_ci("no Landlock here");
        return;
    };
    let (listener, other) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    let port = listener.local_addr().unwrap().port();
    let attack = |arguments: &[&str]| {
        let mut spec = arena.attack_spec(arguments);
        // Nothing is mounted at this level.
        let program = crate::arena::attacker().as_os_str().to_owned();
        spec.command[0] = program;
        spec.loopback = Some(Loopback::on_host(port));
        sandbox.run(&spec)
    };
    let reached = attack(&["reach", "127.0.0.1", &port.to_string()]);
    let reached = match reached {
        Err(SandboxError::Missing(missing)) => {
            skip_even_in_ci(&missing.to_string());
            return;
        }
        reached => reached.unwrap(),
    };
    assert!(reached.success(), "{}", text(&reached));
    let elsewhere = other.local_addr().unwrap().port().to_string();
    for arguments in [
        vec!["reach", "127.0.0.1", &elsewhere],
        vec!["reach", "1.1.1.1", "443"],
        vec!["reach", "::1", &elsewhere],
        vec!["listen", "0"],
        vec!["inet-socket", "2", "0"],
    ] {
        assert_refused(&attack(&arguments).unwrap());
    }
    // Each level has its own kind of loopback.
    let mut spec = arena.attack_spec(&["descriptors"]);
    spec.loopback = Some(Loopback::inside(PORT, drop));
    assert!(matches!(sandbox.run(&spec), Err(SandboxError::Spec(_))));
}
