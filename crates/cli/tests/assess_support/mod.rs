//! A local server that plays the APIs of models, with answers in the form of those APIs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runseal_testkit::cli::{Bench, Ran};
use serde_json::{Value, json};

use crate::proxy_support::{Answer, Seen, Upstream, whole};

pub const KEY: &str = "test-key-4f1c9b7e02d85a63";
pub const INTENT: &str = r#"{"goal":"Run the archive","constraints":["Scans are thrown away after a month","Every reader can open any scan for ten years","Rates are cached for one hour","Rates are never cached"],"context":{"profile":"none"}}"#;

/// What a model says about [`INTENT`]: a pair that rules cannot find, one that they find too, and one that it made up.
pub fn words() -> String {
    json!({"findings": [
        {"kind": "contradiction", "pair": [1, 2], "message": "For how long are scans kept?",
         "quotes": ["thrown away after a month", "Every reader can open any scan for ten years"]},
        {"kind": "contradiction", "pair": [3, 4], "message": "Are rates cached?",
         "quotes": ["Rates are cached for one hour", "Rates are never cached"]},
        {"kind": "contradiction", "pair": [1, 4], "message": "Which?", "quotes": ["scans are free", "Rates"]},
    ]})
    .to_string()
}

pub fn chat(text: &str, reason: &str) -> String {
    json!({
        "id": "chatcmpl-DxQ2bJm6GJ1yQfXk1vYI3mS0Zr7wq", "object": "chat.completion", "created": 1794821412,
        "model": "gpt-5-2025-08-07", "service_tier": "default", "system_fingerprint": null,
        "choices": [{"index": 0, "finish_reason": reason, "logprobs": null,
            "message": {"role": "assistant", "content": text, "refusal": null, "annotations": []}}],
        "usage": {"prompt_tokens": 912, "completion_tokens": 148, "total_tokens": 1060}
    })
    .to_string()
}

pub fn message(text: &str, reason: &str) -> String {
    json!({
        "id": "msg_01JmYc3Vb5d2Wf5p7mPj9kTq", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": text}], "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 1004, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 151}
    })
    .to_string()
}

pub const JSON: &str = "content-type: application/json\r\n";

pub fn ok(body: &str) -> Answer {
    whole("200 OK", JSON, body)
}

/// A server that gives one answer after the other, the last one again and again; and the requests that it got.
pub fn scripted(answers: Vec<Answer>) -> (Upstream, Arc<Mutex<Vec<Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let (kept, next) = (Arc::clone(&bodies), AtomicUsize::new(0));
    let server = Upstream::start_with(Duration::ZERO, move |seen: &Seen| {
        kept.lock()
            .unwrap()
            .push(serde_json::from_slice(&seen.body).unwrap());
        let at = next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        answers[at].clone()
    });
    (server, bodies)
}

pub fn run_with(bench: &Bench, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = bench.command(arguments);
    command
        .env("TMPDIR", bench.path("tmp"))
        .envs(variables.iter().copied());
    std::fs::create_dir_all(bench.path("tmp")).unwrap();
    command
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap()
        .into()
}

/// `assess` with OpenAI's API at `server`.
pub fn assess(bench: &Bench, server: &Upstream, more: &[&str]) -> Ran {
    let url = format!("{}/v1", server.url);
    let fixed = [
        "assess",
        "intent.json",
        "--provider",
        "openai",
        "--base-url",
        &url,
    ];
    run_with(bench, &[&fixed, more].concat(), &[("OPENAI_API_KEY", KEY)])
}
