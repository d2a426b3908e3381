//! Proxies, upstreams and clients for the tests of the recording proxy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use runseal_testkit::skip::skip;

/// The binary under test.
pub const RUNSEAL: &str = env!("CARGO_BIN_EXE_runseal");

/// What starts a proxy that records what goes to `upstream`.
pub fn record_arguments<'a>(recording: &'a str, upstream: &'a str) -> [&'a str; 6] {
    [
        "proxy",
        "record",
        "--recording",
        recording,
        "--upstream",
        upstream,
    ]
}

/// A program that serves until it is stopped.
pub struct Service {
    child: Child,
    pub url: String,
}

impl Service {
    /// Starts `runseal` in `folder` and waits for its address.
    pub fn runseal(folder: &Path, arguments: &[&str]) -> Self {
        Self::runseal_with(folder, arguments, &[])
    }

    /// The same with variables of its environment.
    pub fn runseal_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(RUNSEAL);
        command.args(arguments).envs(variables.iter().copied());
        Self::start(folder, command)
    }

    /// The same where no file may have more than `blocks` of 512 bytes: what is written beyond fails, as
    /// on a disk that is full.
    pub fn runseal_within(folder: &Path, blocks: u32, arguments: &[&str]) -> Self {
        let mut command = Command::new("/bin/sh");
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited, RUNSEAL]).args(arguments);
        Self::start(folder, command)
    }

    fn start(folder: &Path, mut command: Command) -> Self {
        let variables: Vec<_> = command
            .get_envs()
            .map(|(name, value)| (name.to_owned(), value.unwrap_or_default().to_owned()))
            .collect();
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut told = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut told);
            panic!("{error}: `{line}` {told}")
        });
        let url = said["listening"].as_str().unwrap().to_owned();
        Self { child, url }
    }

    /// A proxy that records what goes to `upstream`.
    pub fn record(folder: &Path, recording: &str, upstream: &str) -> Self {
        Self::record_with(folder, recording, upstream, &[])
    }

    /// The same with further arguments.
    pub fn record_with(folder: &Path, recording: &str, upstream: &str, more: &[&str]) -> Self {
        let arguments = record_arguments(recording, upstream);
        Self::runseal(folder, &[&arguments[..], more].concat())
    }

    /// A proxy that answers from a recording.
    pub fn replay(folder: &Path, recording: &str) -> Self {
        Self::runseal(folder, &["proxy", "replay", "--recording", recording])
    }

    /// Ends it, which must go well.
    pub fn finish(self) {
        let (code, told) = self.stop();
        assert_eq!(code, Some(0), "{told}");
    }

    /// The address without the scheme.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// The most kilobytes of memory that it ever had.
    pub fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.unwrap().split_whitespace().next().unwrap();
        number.parse().unwrap()
    }

    /// Ends it as Ctrl-C does; its exit code and what it told.
    pub fn stop(mut self) -> (Option<i32>, String) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let mut told = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        (self.child.wait().unwrap().code(), told)
    }

    /// Ends it without a word.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // A test that failed leaves nothing running; one that ended it has nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request as an upstream got it.
pub struct Seen {
    pub path: String,
    pub head: String,
    pub body: Vec<u8>,
}

/// What an upstream does to answer: bytes in pieces, each sent by itself.
pub type Answer = Vec<Vec<u8>>;

/// An upstream that answers with whatever bytes a function gives; ends with the test.
pub struct Upstream {
    pub url: String,
    pub seen: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    /// Sends the pieces so that they arrive one by one.
    pub fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(Duration::from_millis(3), answer)
    }

    /// Sends the pieces with a pause after each.
    pub fn start_with(
        pause: Duration,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(answer);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, heads) = (Arc::clone(&answer), Arc::clone(&heads));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let Some(request) = read_request(&mut stream) else {
                        return;
                    };
                    heads.lock().unwrap().push(request.head.clone());
                    for piece in answer(&request) {
                        if stream.write_all(&piece).is_err() {
                            return;
                        }
                        std::thread::sleep(pause);
                    }
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        Self { url, seen }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let before = head.len();
        reader.read_line(&mut head).ok()?;
        if head.len() == before {
            return None;
        }
        if head.ends_with("\r\n\r\n") {
            break;
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Seen { path, head, body })
}

/// An answer in one piece with a length.
pub fn whole(status: &str, headers: &str, body: &str) -> Answer {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\ndate: Mon, 16 Nov 2026 12:00:00 GMT\r\n{headers}\r\n",
        body.len()
    );
    vec![head.into_bytes(), body.as_bytes().to_vec()]
}

/// A chunked answer, a piece a chunk; without its last chunk where it is to break off.
pub fn chunked(headers: &str, pieces: &[&[u8]], is_whole: bool) -> Answer {
    let head = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\ndate: Mon, 16 Nov 2026 12:00:00 GMT\r\n{headers}\r\n"
    );
    let mut answer = vec![head.into_bytes()];
    for piece in pieces {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        answer.push(chunk);
    }
    if is_whole {
        answer.push(b"0\r\n\r\n".to_vec());
    }
    answer
}

/// Asks and gives every byte that came back.
pub fn ask(address: &str, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut has still brought what came before.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Asks with JSON.
pub fn post(address: &str, path: &str, body: &str) -> Vec<u8> {
    ask(
        address,
        "POST",
        path,
        "Content-Type: application/json\r\n",
        body,
    )
}

/// The body of an answer that has a length, as JSON.
pub fn json_of(answer: &[u8]) -> serde_json::Value {
    let text = String::from_utf8_lossy(answer);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A folder of its own, and `runseal` in it.
pub fn folder() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(RUNSEAL, folder.path());
    (folder, bench)
}

/// Reads a recording.
pub fn recording(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Where `.ci/agent-tools` puts things; none if they are not installed, which CI does not allow.
pub fn tools() -> Option<PathBuf> {
    let tools = match std::env::var_os("RUNSEAL_AGENT_TOOLS") {
        Some(path) => PathBuf::from(path),
        None => project_root().join("target/agent-tools"),
    };
    if tools.join("node_modules/.bin/aimock").exists() && tools.join("venv/bin/python").exists() {
        return Some(tools);
    }
    skip("the SDKs are missing; .ci/agent-tools installs them");
    None
}

/// A script of the tests.
pub fn script(name: &str) -> PathBuf {
    project_root().join("crates/cli/tests/agents").join(name)
}

/// aimock on a port of its own.
pub struct Aimock {
    child: Child,
    pub url: String,
}

impl Aimock {
    pub fn start(tools: &Path, folder: &Path, fixtures: &Path) -> Self {
        let port = free_port();
        let config = folder.join(format!("aimock-{port}.json"));
        std::fs::write(
            &config,
            serde_json::json!({"port": port, "llm": {"fixtures": fixtures}}).to_string(),
        )
        .unwrap();
        let child = Command::new(tools.join("node_modules/.bin/aimock"))
            .arg("-c")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_port(port);
        Self {
            child,
            url: format!("http://127.0.0.1:{port}"),
        }
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Waits until somebody listens.
pub fn wait_for_port(port: u16) {
    for _ in 0..600 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nobody listens on port {port}");
}

fn replace(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at..].starts_with(old) {
            true => out.extend_from_slice(new),
            false => out.push(bytes[at]),
        }
        at += if bytes[at..].starts_with(old) {
            old.len()
        } else {
            1
        };
    }
    out
}

/// Passes connections on to `target`, with its address for its own, and keeps every byte that comes back, in the order of its coming:
/// a client that asks one thing after the other may use any of its connections.
pub struct Tap {
    pub url: String,
    pub answers: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    pub fn start(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = target.to_owned();
        let own = url.strip_prefix("http://").unwrap().to_owned();
        let answers: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let server = TcpStream::connect(&target).unwrap();
                let (mut client_in, mut server_out) =
                    (stream.try_clone().unwrap(), server.try_clone().unwrap());
                let (own, target) = (own.clone(), target.clone());
                std::thread::spawn(move || {
                    let mut buffer = [0; 65536];
                    while let Ok(count @ 1..) = client_in.read(&mut buffer) {
                        // A proxy answers whoever asks for its own address.
                        let passed = replace(&buffer[..count], own.as_bytes(), target.as_bytes());
                        if server_out.write_all(&passed).is_err() {
                            break;
                        }
                    }
                    let _ = server_out.shutdown(Shutdown::Write);
                });
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    let (mut server, mut stream) = (server, stream);
                    let mut buffer = [0; 65536];
                    while let Ok(count @ 1..) = server.read(&mut buffer) {
                        kept.lock().unwrap().extend_from_slice(&buffer[..count]);
                        if stream.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        Self { url, answers }
    }
}
