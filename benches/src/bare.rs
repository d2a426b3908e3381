//! What there is to beat on a network: bare HTTP/1.1 over plain sockets. It hashes nothing, looks at
//! nothing and flushes nothing.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The buffer between a file and a connection.
const BUFFER: usize = 256 << 10;

/// The head of an answer.
struct Head {
    status: u16,
    length: u64,
    location: Option<String>,
}

/// Host and target of a URL.
fn split(url: &str) -> (&str, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    (host, format!("/{target}"))
}

fn read_head(connection: &mut impl BufRead) -> Head {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    let mut head = Head {
        status,
        length: 0,
        location: None,
    };
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else {
            return head;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => head.length = value.trim().parse().unwrap(),
            "location" => head.location = Some(value.trim().to_owned()),
            _ => {}
        }
    }
}

/// Gets every URL of one host, on this many connections that stay open.
pub fn get_all(urls: &[&str], connections: usize) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let (host, _) = split(urls[0]);
                let mut connection = BufReader::new(TcpStream::connect(host).unwrap());
                while let Some(url) = urls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    get(&mut connection, url, &mut io::sink());
                }
            });
        }
    });
}

/// Gets what is at a URL into a new file.
pub fn get_file(url: &str, path: &Path) {
    let (host, _) = split(url);
    let mut connection = BufReader::with_capacity(BUFFER, TcpStream::connect(host).unwrap());
    let mut file = File::create(path).unwrap();
    get(&mut connection, url, &mut file);
}

fn get(connection: &mut BufReader<TcpStream>, url: &str, to: &mut impl Write) {
    let (host, target) = split(url);
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes()).unwrap();
    let head = read_head(connection);
    assert_eq!(head.status, 200, "{url}");
    let arrived = io::copy(&mut connection.take(head.length), to).unwrap();
    assert_eq!(arrived, head.length);
}

/// Sends a file as it is.
pub fn put_file(url: &str, file: &Path) {
    let (host, target) = split(url);
    let mut connection = TcpStream::connect(host).unwrap();
    let mut file = File::open(file).unwrap();
    let length = file.metadata().unwrap().len();
    let head = format!("PUT {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = file.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        connection.write_all(&buffer[..count]).unwrap();
    }
    let head = read_head(&mut BufReader::new(connection));
    assert!(matches!(head.status, 200 | 201), "{}", head.status);
}

/// Sends a file to a registry as one blob of this digest.
pub fn put_blob(host: &str, repository: &str, digest: &str, file: &Path) {
    let mut connection = TcpStream::connect(host).unwrap();
    let begin = format!(
        "POST /v2/{repository}/blobs/uploads/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
    );
    connection.write_all(begin.as_bytes()).unwrap();
    let head = read_head(&mut BufReader::new(connection));
    let location = head.location.unwrap();
    let between = if location.contains('?') { '&' } else { '?' };
    put_file(&format!("{location}{between}digest={digest}"), file);
}
