//! What tests of object storage share: the binary with a server's variables, runs with given
//! artifacts, a network that breaks.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::folders::files_of;
use runseal_testkit::object_storage::Server;

use crate::redaction_support::{INPUT, OUTPUT, open_engine};
use crate::signing_support::ok;

/// The binary, in a folder, with the variables of a server.
pub struct Remote<'a> {
    bench: &'a Bench,
    variables: Vec<(&'static str, String)>,
    /// The bucket that the test has for itself.
    pub bucket: String,
}

impl<'a> Remote<'a> {
    pub fn new(bench: &'a Bench, server: &Server) -> Self {
        Self {
            bench,
            variables: server.variables(),
            bucket: server.new_bucket(),
        }
    }

    /// The same with some other server.
    pub fn at_endpoint(bench: &'a Bench, endpoint: &str) -> Self {
        use runseal_testkit::object_storage::{KEY, SECRET};
        Self {
            bench,
            variables: vec![
                ("AWS_ENDPOINT_URL", endpoint.to_owned()),
                ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
                ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ],
            bucket: "bucket".to_owned(),
        }
    }

    /// The same server by another way.
    pub fn through(other: &Remote<'a>, endpoint: &str) -> Self {
        let mut variables = other.variables.clone();
        variables.retain(|(name, _)| *name != "AWS_ENDPOINT_URL");
        variables.push(("AWS_ENDPOINT_URL", endpoint.to_owned()));
        Self {
            bench: other.bench,
            variables,
            bucket: other.bucket.clone(),
        }
    }

    /// An address in the bucket.
    pub fn at(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.bucket)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench.command(arguments);
        command
            .envs(self.variables.iter().map(|(name, value)| (*name, value)))
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// The same with variables that differ.
    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        command.output().unwrap().into()
    }

    /// Pushes the run at `out/<id>` to `p/<id>` in the bucket, which has to work; what that prints.
    pub fn push(&self, id: &str) -> String {
        let address = self.at(&format!("p/{id}"));
        ok(self.run(&["push", &format!("out/{id}"), &address]))
    }

    /// Seals a run with these artifacts at `out/<id>`.
    pub fn seal(&self, id: &str, artifacts: &[(&str, &[u8])]) {
        let bench = self.bench;
        if !bench.path("engine").exists() {
            open_engine(bench);
        }
        bench.write("input.json", INPUT);
        bench.write("output.json", OUTPUT);
        let _ = fs::remove_dir_all(bench.path("files"));
        fs::create_dir(bench.path("files")).unwrap();
        for (name, bytes) in artifacts {
            bench.write(&format!("files/{name}"), bytes);
        }
        let sealed = self.run(&[
            "seal",
            "engine",
            "input.json",
            "output.json",
            "--out",
            "out",
            "--run-id",
            id,
            "--artifacts",
            "files",
        ]);
        ok(sealed);
    }
}

/// The text of a member of the JSON that a command printed.
pub fn member(printed: &str, name: &str) -> String {
    let document = parse_document(printed.as_bytes(), &ReadOptions::default()).unwrap();
    document
        .root()
        .get(name)
        .unwrap()
        .as_str()
        .unwrap()
        .into_owned()
}

/// Every file below a folder by its name there.
pub fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let name = |path: &Path| {
        path.strip_prefix(folder)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let files = files_of(folder).into_iter();
    files.map(|(path, bytes)| (name(&path), bytes)).collect()
}

/// Bytes that no two places of are alike, the same every time.
pub fn random_file(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut content = Vec::with_capacity(bytes + 8);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content.truncate(bytes);
    content
}

/// A way to a server that breaks every connection after so many bytes of answer.
pub fn cutting_proxy(endpoint: &str, bytes: usize) -> String {
    let upstream = endpoint.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut server = TcpStream::connect(&upstream).unwrap();
            let (mut from_client, mut to_server) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut from_client, &mut to_server);
                let _ = to_server.shutdown(Shutdown::Write);
            });
            thread::spawn(move || {
                let mut left = bytes;
                let mut buffer = vec![0; 16 << 10];
                while left > 0 {
                    match server.read(&mut buffer) {
                        Ok(0) | Err(_) => break,
                        Ok(count) => {
                            let count = count.min(left);
                            left -= count;
                            if client.write_all(&buffer[..count]).is_err() {
                                break;
                            }
                        }
                    }
                }
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// Bytes that passed through a [`counting_proxy`] so far.
#[derive(Default)]
pub struct Passed {
    /// From clients to the server.
    pub sent: AtomicU64,
    /// From the server to clients.
    pub received: AtomicU64,
}

/// A way to a server that counts what passes.
pub fn counting_proxy(endpoint: &str) -> (String, Arc<Passed>) {
    let upstream = endpoint.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let passed = Arc::new(Passed::default());
    let noted = passed.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(&upstream).unwrap();
            for (from, to, is_sent) in [(&client, &server, true), (&server, &client, false)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let noted = noted.clone();
                thread::spawn(move || {
                    let count = if is_sent {
                        &noted.sent
                    } else {
                        &noted.received
                    };
                    let mut buffer = vec![0; 64 << 10];
                    while let Ok(arrived) = from.read(&mut buffer)
                        && arrived > 0
                        && to.write_all(&buffer[..arrived]).is_ok()
                    {
                        count.fetch_add(arrived as u64, Ordering::SeqCst);
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    (address, passed)
}

/// A server that gives every request the same answer, and notes their heads.
pub fn answering(answer: String) -> (String, Arc<Mutex<Vec<String>>>) {
    answering_each(move |_| answer.clone())
}

/// A server that answers every request by its head, and notes their heads.
pub fn answering_each(
    answer: impl Fn(&str) -> String + Send + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut head).is_ok_and(|count| count > 2) {}
            let answer = answer(&head);
            noted.lock().unwrap().push(head);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (endpoint, seen)
}
