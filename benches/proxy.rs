//! The recording proxy beside talking to the server directly, in the same run.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench -p runseal-benches --bench proxy [request] [stream]
//! [firehose] [many] [replay]`. The server is one of ours that answers at once: a model's takes a thousand
//! times as long, which would hide what is measured.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use runseal_benches::process::{binary, parts};

/// An event as a model's stream has them.
const EVENT: &str = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";

/// A running `runseal proxy`.
struct Proxy {
    child: Child,
    address: String,
}

impl Proxy {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .arg("proxy")
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = said["listening"].as_str().unwrap().replace("http://", "");
        Self { child, address }
    }

    /// Kilobytes of memory: now, and the most there ever were.
    fn memory(&self) -> (u64, u64) {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let read = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        (read("VmRSS:"), read("VmHWM:"))
    }

    fn stop(mut self) {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// A server that keeps connections: `/json` answers at once, `/stream/N/MICROSECONDS` with N events and
/// a pause after each.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::Builder::new()
                .stack_size(128 << 10)
                .spawn(move || converse(&stream.unwrap()))
                .unwrap();
        }
    });
    address
}

fn converse(stream: &TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    let mut out = stream;
    while let Some((path, _)) = read_head(&mut reader) {
        let mut parts = path.split('/').skip(1);
        let answered = match parts.next() {
            Some("stream") => {
                let count: usize = parts.next().unwrap().parse().unwrap();
                let pause = Duration::from_micros(parts.next().unwrap().parse().unwrap());
                send_stream(&mut out, count, pause)
            }
            _ => {
                let body = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"A short answer."}}]}"#;
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
        };
        if answered.is_err() {
            return;
        }
    }
}

fn send_stream(out: &mut impl Write, count: usize, pause: Duration) -> std::io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let chunk = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
    for _ in 0..count {
        out.write_all(chunk.as_bytes())?;
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    out.write_all(b"0\r\n\r\n")
}

/// Reads a request or an answer up to its body: the second word of the first line, and the length.
fn read_head(reader: &mut impl BufRead) -> Option<(String, Option<usize>)> {
    let (mut line, mut second, mut length) = (String::new(), None, None);
    let mut is_request = false;
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if second.is_none() {
            is_request = !line.starts_with("HTTP/");
            second = line.split(' ').nth(1).map(str::to_owned);
        } else if line == "\r\n" {
            break;
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    if is_request {
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
    }
    Some((second?, length))
}

/// A client that keeps its connection.
struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            reader: BufReader::with_capacity(64 << 10, stream),
        }
    }

    /// Asks; gives how many bytes of body came.
    fn ask(&mut self, path: &str, body: &str) -> usize {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.reader.get_mut().write_all(request.as_bytes()).unwrap();
        let (status, length) = read_head(&mut self.reader).unwrap();
        assert_eq!(status, "200");
        if let Some(length) = length {
            let mut body = vec![0; length];
            self.reader.read_exact(&mut body).unwrap();
            return length;
        }
        let mut total = 0;
        let mut line = String::new();
        let mut body = Vec::new();
        loop {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
            let size = usize::from_str_radix(line.trim(), 16).unwrap();
            body.resize(size + 2, 0);
            self.reader.read_exact(&mut body).unwrap();
            if size == 0 {
                return total;
            }
            total += size;
        }
    }
}

const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"Say something."}]}"#;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Directly and through the proxy, turn by turn.
fn side_by_side(
    direct: &str,
    proxied: &str,
    rounds: usize,
    mut work: impl FnMut(&mut Client),
) -> (Duration, Duration) {
    let (mut one, mut other) = (Client::connect(direct), Client::connect(proxied));
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (client, times) in [(&mut one, &mut direct), (&mut other, &mut through)] {
            let begun = Instant::now();
            work(client);
            times.push(begun.elapsed());
        }
    }
    (median(direct), median(through))
}

fn main() {
    let is_asked = parts();
    let server = serve();
    let upstream = format!("http://{server}");
    let record = |folder: &Path| {
        Proxy::start(
            folder,
            &["record", "--recording", "r.json", "--upstream", &upstream],
        )
    };
    if is_asked("request") {
        let folder = tempfile::tempdir().unwrap();
        let proxy = record(folder.path());
        let (direct, through) = side_by_side(&server, &proxy.address, 2000, |client| {
            client.ask("/json", BODY);
        });
        let added = through.saturating_sub(direct);
        println!(
            "request: direct {direct:?}, through the proxy {through:?}: {added:?} more (bound: 1 ms)"
        );
        proxy.stop();
    }
    if is_asked("stream") {
        // A fast model: 500 events a second.
        let folder = tempfile::tempdir().unwrap();
        let proxy = record(folder.path());
        let (direct, through) = side_by_side(&server, &proxy.address, 5, |client| {
            assert_eq!(client.ask("/stream/1000/2000", BODY), 1000 * EVENT.len());
        });
        let ratio = direct.as_secs_f64() / through.as_secs_f64();
        println!(
            "stream, 1000 events 2 ms apart: direct {direct:?}, through the proxy {through:?}: {:.1} % of the throughput (bound: 95 %)",
            100.0 * ratio
        );
        proxy.stop();
    }
    if is_asked("firehose") {
        let folder = tempfile::tempdir().unwrap();
        let proxy = record(folder.path());
        let (direct, through) = side_by_side(&server, &proxy.address, 5, |client| {
            client.ask("/stream/50000/0", BODY);
        });
        let rate = |time: Duration| 50_000.0 / time.as_secs_f64();
        println!(
            "firehose, 50,000 events without a pause: direct {:.0} events/s, through the proxy {:.0} events/s: {:.2} of it",
            rate(direct),
            rate(through),
            rate(through) / rate(direct)
        );
        proxy.stop();
    }
    if is_asked("many") {
        many(&record);
    }
    if is_asked("replay") {
        replay(&record);
    }
}

/// 500 streams at once for a minute.
fn many(record: &dyn Fn(&Path) -> Proxy) {
    let folder = tempfile::tempdir().unwrap();
    let proxy = record(folder.path());
    let clients: Vec<_> = (0..500)
        .map(|_| {
            let address = proxy.address.clone();
            thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || Client::connect(&address).ask("/stream/600/100000", BODY))
                .unwrap()
        })
        .collect();
    let mut seen = Vec::new();
    for _ in 0..6 {
        thread::sleep(Duration::from_secs(10));
        seen.push(proxy.memory().0);
    }
    for client in clients {
        assert_eq!(client.join().unwrap(), 600 * EVENT.len());
    }
    println!(
        "many: 500 streams, 10 events a second each, for a minute: resident KB every 10 s {seen:?}, most {}",
        proxy.memory().1
    );
    proxy.stop();
}

/// Requests a second from a recording.
fn replay(record: &dyn Fn(&Path) -> Proxy) {
    const EACH: usize = 2200;
    let folder = tempfile::tempdir().unwrap();
    let proxy = record(folder.path());
    let body =
        |thread: usize, number: usize| BODY.replace("something", &format!("{thread} {number}"));
    let ask_all = |address: &str| {
        let begun = Instant::now();
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut client = Client::connect(address);
                    for number in 0..EACH {
                        client.ask("/json", &body(thread, number));
                    }
                });
            }
        });
        (4 * EACH) as f64 / begun.elapsed().as_secs_f64()
    };
    let recorded = ask_all(&proxy.address);
    proxy.stop();
    let proxy = Proxy::start(folder.path(), &["replay", "--recording", "r.json"]);
    let replayed = ask_all(&proxy.address);
    println!(
        "replay: {replayed:.0} requests/s from a recording of {} interactions (bound: 5,000); recorded at {recorded:.0}/s; most memory {} KB",
        4 * EACH,
        proxy.memory().1
    );
    proxy.stop();
}
