//! What the recording proxy holds in memory does not grow with what it records.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use crate::proxy_support::{Service, Upstream, chunked, folder, post, whole};

/// Streams at once.
const STREAMS: usize = 4;
/// Kilobytes that the longer streams may take more than the shorter ones. They are 28 MB longer.
const MARGIN: u64 = 12_000;

/// Megabytes of events: a text that stops in the middle of a word, and the arguments of a tool after
/// it. Whoever waits for the end of that word holds all of them.
fn events(megabytes: usize) -> Vec<u8> {
    let event = |index: usize, delta: serde_json::Value| {
        let data =
            serde_json::json!({"type": "content_block_delta", "index": index, "delta": delta});
        format!("event: content_block_delta\ndata: {data}\n\n")
    };
    let mut body = event(
        0,
        serde_json::json!({"type": "text_delta", "text": "let me loo"}),
    );
    let arguments = "several words of a file ".repeat(20);
    let delta = serde_json::json!({"type": "input_json_delta", "partial_json": arguments});
    let next = event(1, delta);
    while body.len() < megabytes << 20 {
        body.push_str(&next);
    }
    body.into_bytes()
}

#[test]
fn proxy_memory_does_not_grow_with_the_length_of_streams() {
    let bodies = [events(3), events(10)];
    let lengths = bodies.each_ref().map(Vec::len);
    let upstream = Upstream::start_with(Duration::ZERO, move |request| {
        let body = &bodies[usize::from(request.path == "/long/v1/messages")];
        let pieces: Vec<&[u8]> = body.chunks(16 << 10).collect();
        chunked("content-type: text/event-stream\r\n", &pieces, true)
    });
    let (folder, _) = folder();
    let proxy = Service::record(folder.path(), "r.json", &upstream.url);
    let ask_all = |path: &str, length: usize| {
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..STREAMS)
                .map(|_| scope.spawn(|| post(proxy.address(), path, "{}").len()))
                .collect();
            for asked in asked {
                assert!(asked.join().unwrap() > length);
            }
        });
        proxy.most_memory()
    };
    let short = ask_all("/v1/messages", lengths[0]);
    let long = ask_all("/long/v1/messages", lengths[1]);
    assert!(
        long < short + MARGIN,
        "{STREAMS} streams of 3 MB: {short} KB; of 10 MB: {long} KB"
    );
    println!("{short} KB and {long} KB");
    // How it ends is for other tests: all of it would be read and written again.
    proxy.kill();
}

/// Kilobytes that the proxy may take, whatever its clients send at once.
const MOST: u64 = 256_000;
/// Clients that send at once.
const CLIENTS: usize = 24;

/// Sends the head of a request and then as many megabytes as the proxy takes; gives the connection back, which
/// is still open.
fn send_without_end(address: &str, framing: &str, megabyte: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let timeout = Some(Duration::from_millis(500));
    stream.set_write_timeout(timeout).unwrap();
    let head = format!("POST /v1/x HTTP/1.1\r\nHost: {address}\r\n{framing}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..40 {
        // It reads no further where there is no room.
        if stream.write_all(megabyte).is_err() {
            break;
        }
    }
    stream
}

#[test]
fn proxy_memory_is_bounded_for_requests_of_all_connections_together() {
    let upstream = Upstream::start(|_| whole("200 OK", "", "ok"));
    let (folder, _) = folder();
    let proxy = Service::record(folder.path(), "r.json", &upstream.url);
    let plain = vec![b'a'; 1 << 20];
    let chunk = [b"100000\r\n", plain.as_slice(), b"\r\n"].concat();
    let length = format!("Content-Length: {}", 50 << 20);
    let (plain, chunk, length) = (plain.as_slice(), chunk.as_slice(), length.as_str());
    for (framing, megabyte) in [(length, plain), ("Transfer-Encoding: chunked", chunk)] {
        let address = proxy.address();
        let open: Vec<TcpStream> = std::thread::scope(|scope| {
            let sending: Vec<_> = (0..CLIENTS)
                .map(|_| scope.spawn(|| send_without_end(address, framing, megabyte)))
                .collect();
            sending
                .into_iter()
                .map(|sent| sent.join().unwrap())
                .collect()
        });
        let taken = proxy.most_memory();
        assert!(taken < MOST, "{framing}: {taken} KB");
        println!("{framing}: {taken} KB");
        drop(open);
    }
    // Those who went have left their room to others.
    let large = "x".repeat(40 << 20);
    let answer = post(proxy.address(), "/v1/x", &large);
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    proxy.kill();
}

#[test]
fn request_of_nothing_but_brackets_is_refused_before_it_takes_many_times_its_size() {
    let upstream = Upstream::start(|_| whole("200 OK", "", "ok"));
    let (folder, _) = folder();
    let proxy = Service::record(folder.path(), "r.json", &upstream.url);
    let values = format!("[{}1]", "1,".repeat(8 << 20));
    let answer = post(proxy.address(), "/v1/x", &values);
    assert!(answer.starts_with(b"HTTP/1.1 413"));
    assert!(upstream.seen.lock().unwrap().is_empty());
    assert!(proxy.most_memory() < MOST);
    // Control characters take six bytes each in JSON; the recording holds them all the same.
    let controls = "\u{1}".repeat(6 << 20);
    assert!(post(proxy.address(), "/v1/x", &controls).starts_with(b"HTTP/1.1 200"));
    proxy.finish();
    let made = crate::proxy_support::recording(&folder.path().join("r.json"));
    assert_eq!(made["interactions"].as_array().unwrap().len(), 1);
}
