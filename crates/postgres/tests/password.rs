//! A server that asks for the password on a connection without encryption does not get it.

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

/// Answers every connection with `request` and returns all that it was told.
fn listen(request: &'static [u8], connections: usize) -> (u16, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = thread::spawn(move || {
        let mut heard = Vec::new();
        for stream in listener.incoming().take(connections) {
            heard.extend(ask(stream.unwrap(), request));
        }
        heard
    });
    (port, heard)
}

fn ask(mut stream: TcpStream, request: &[u8]) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        let rest = u32::from_be_bytes(length) as usize - 4;
        let mut message = vec![0; rest];
        stream.read_exact(&mut message).unwrap();
        // A request for TLS, which is denied.
        if message == 80_877_103_u32.to_be_bytes() {
            stream.write_all(b"N").unwrap();
            continue;
        }
        heard.extend(message);
        stream.write_all(request).unwrap();
        stream.read_to_end(&mut heard).unwrap();
        break;
    }
    heard
}

fn assert_kept(error: &StoreError, heard: &[u8]) {
    let StoreError::Server { fault, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(*fault, ServerFault::Insecure, "{error:?}");
    let told = String::from_utf8_lossy(heard);
    assert!(!told.contains(PASSWORD) && !told.contains("md5"), "{told}");
}

#[test]
fn password_asked_for_without_encryption_is_not_told() {
    for request in REQUESTS {
        for (query, connections) in [("", 2), ("?sslmode=disable", 1)] {
            let (port, heard) = listen(request, connections);
            let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/jobs{query}");
            let error = PostgresStore::open(&url).unwrap_err();
            assert_kept(&error, &heard.join().unwrap());
        }
    }
}

#[test]
fn server_that_offers_no_encryption_is_told_nothing_if_it_is_demanded() {
    let (port, heard) = listen(REQUESTS[0], 1);
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/jobs?sslmode=require");
    let error = PostgresStore::open(&url).unwrap_err();
    assert_kept(&error, &heard.join().unwrap());
}
