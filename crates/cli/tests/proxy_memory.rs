//! What the recording proxy holds in memory does not grow with what it records.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code"
)]

mod proxy_support;

use std::time::Duration;

use proxy_support::{Service, Upstream, chunked, folder, post};

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
