//! A server that requests the password on a connection without encryption does not get it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use runseal_postgres::PostgresStore;
use runseal_store::store::{ServerFault, StoreError};

const PASSWORD: &str = "correct-horse";

/// A request for a password in the clear, one for its MD5 sum, and one for a SCRAM proof of a single round.
const REQUESTS: [&[u8]; 3] = [
    b"R\0\0\0\x08\0\0\0\x03",
    b"R\0\0\0\x0c\0\0\0\x05salt",
    b"R\0\0\0\x13\0\0\0\x0br=x,s=y,i=1",
];

/// Answers every connection with `request`; returns everything that it received.
fn listen(request: &'static [u8], connections: usize) -> (u16, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = thread::spawn(move || {
        let mut received = Vec::new();
        for stream in listener.incoming().take(connections) {
            received.extend(ask(stream.unwrap(), request));
        }
        received
    });
    (port, received)
}

fn ask(mut stream: TcpStream, request: &[u8]) -> Vec<u8> {
    let mut received = Vec::new();
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        let rest = u32::from_be_bytes(length) as usize - 4;
        let mut message = vec![0; rest];
        stream.read_exact(&mut message).unwrap();
        // A request for TLS, which is refused.
        if message == 80_877_103_u32.to_be_bytes() {
            stream.write_all(b"N").unwrap();
            continue;
        }
        received.extend(message);
        stream.write_all(request).unwrap();
        stream.read_to_end(&mut received).unwrap();
        break;
    }
    received
}

fn assert_not_sent(error: &StoreError, received: &[u8]) {
    let StoreError::Server { fault, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(*fault, ServerFault::Insecure, "{error:?}");
    let text = String::from_utf8_lossy(received);
    assert!(!text.contains(PASSWORD) && !text.contains("md5"), "{text}");
}

#[test]
fn password_requested_without_encryption_is_not_sent() {
    for request in REQUESTS {
        for (query, connections) in [("", 2), ("?sslmode=disable", 1)] {
            let (port, received) = listen(request, connections);
            let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/jobs{query}");
            let error = PostgresStore::open(&url).unwrap_err();
            assert_not_sent(&error, &received.join().unwrap());
        }
    }
}

#[test]
fn server_without_demanded_encryption_gets_no_password() {
    let (port, received) = listen(REQUESTS[0], 1);
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/jobs?sslmode=require");
    let error = PostgresStore::open(&url).unwrap_err();
    assert_not_sent(&error, &received.join().unwrap());
}
