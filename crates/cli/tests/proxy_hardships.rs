//! The recording proxy where things go wrong: models that must not be asked, addresses that are taken,
//! upstreams that do not answer, disks that are full.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code"
)]

mod proxy_support;

use proxy_support::{Seen, Service, Upstream, ask, folder, json_of, post, recording, whole};
use serde_json::{Value, json};

fn answer(_: &Seen) -> Vec<Vec<u8>> {
    let body = r#"{"model":"small","choices":[{"index":0,"message":{"role":"assistant","content":"yes"}}]}"#;
    whole("200 OK", "content-type: application/json\r\n", body)
}

fn status_of(answer: &[u8]) -> &str {
    std::str::from_utf8(&answer[9..12]).unwrap()
}

#[test]
fn proxy_refuses_models_that_are_not_allowed_and_never_asks_for_them() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let arguments = [
        "proxy",
        "record",
        "--recording",
        "r.json",
        "--allow-model",
        "small",
        "--allow-model",
        "tiny",
        "--upstream",
        &upstream.url,
    ];
    let proxy = Service::runseal(folder.path(), &arguments);
    let chat = "/v1/chat/completions";
    let allowed = post(proxy.address(), chat, r#"{"model":"small","messages":[]}"#);
    assert_eq!(status_of(&allowed), "200");
    // As OpenAI's API says it.
    let refused = post(proxy.address(), chat, r#"{"model":"large","messages":[]}"#);
    assert_eq!(status_of(&refused), "403");
    let error = json_of(&refused)["error"].clone();
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(error["param"], "model");
    assert_eq!(error["code"], "model_not_allowed");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("`large`") && message.contains("small, tiny"),
        "{message}"
    );
    // As Anthropic's does.
    let messages = ask(
        proxy.address(),
        "POST",
        "/v1/messages",
        "Content-Type: application/json\r\nanthropic-version: 2023-06-01\r\n",
        r#"{"model":"large","max_tokens":1,"messages":[]}"#,
    );
    assert_eq!(status_of(&messages), "403");
    let told = json_of(&messages);
    assert_eq!(told["type"], "error");
    assert_eq!(told["error"]["type"], "permission_error");
    // Whoever does not say which, or says it twice, could mean any.
    for (path, body) in [
        ("/v1/batches", r#"{"input_file_id":"f"}"#),
        (chat, r#"{"model":"small","model":"large","messages":[]}"#),
        (chat, r#"{"model":["small"],"messages":[]}"#),
        ("/v1/files", "purpose=batch"),
    ] {
        assert_eq!(
            status_of(&post(proxy.address(), path, body)),
            "403",
            "{path} {body}"
        );
    }
    let listed = ask(proxy.address(), "GET", "/v1/models", "", "");
    assert_eq!(status_of(&listed), "200");
    assert_eq!(
        upstream.seen.lock().unwrap().len(),
        2,
        "the allowed one and the list"
    );
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("was refused"), "{told}");
    let made = recording(&bench.path("r.json"));
    let ends: Vec<&Value> = made["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interaction| &interaction["response"]["end"])
        .collect();
    assert_eq!(json!(ends)[1], "refused");
    assert_eq!(ends.iter().filter(|end| **end == "refused").count(), 6);
    assert_eq!(made["interactions"][1]["response"]["status"], 403);
    assert_eq!(made["interactions"][1]["request"]["body"]["model"], "large");
    let verified = bench.run(&["verify", "r.json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let schema: Value = serde_json::from_str(&bench.run(&["schema", "recording"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&made));
    // A replay refuses as it was refused.
    let proxy = Service::replay(folder.path(), "r.json");
    let again = post(proxy.address(), chat, r#"{"model":"large","messages":[]}"#);
    assert_eq!(again, refused);
    let (code, _) = proxy.stop();
    assert_eq!(code, Some(0));
}

#[test]
fn proxy_on_a_full_disk_stops_asking_and_what_was_answered_can_be_finished() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(|_: &Seen| {
        let body = json!({"text": "word ".repeat(20_000)}).to_string();
        whole("200 OK", "content-type: application/json\r\n", &body)
    });
    let arguments = [
        "proxy",
        "record",
        "--recording",
        "r.json",
        "--upstream",
        &upstream.url,
    ];
    // Room for two answers and a half.
    let proxy = Service::runseal_within(folder.path(), 500, &arguments);
    let ask = || post(proxy.address(), "/v1/chat/completions", r#"{"model":"m"}"#);
    let answers: Vec<_> = (0..4).map(|_| ask()).collect();
    assert!(answers[0].len() > 100_000 && answers[1].len() > 100_000);
    assert!(
        answers[2].len() < answers[0].len(),
        "it was not written, so it is not whole"
    );
    assert_eq!(status_of(&answers[3]), "507");
    assert_eq!(json_of(&answers[3])["error"]["code"], "WRITE");
    assert_eq!(upstream.seen.lock().unwrap().len(), 3);
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("WRITE: "), "{told}");
    assert!(told.contains("runseal proxy finish --recording"), "{told}");
    assert!(!bench.path("r.json").exists());
    let finished = bench.run(&["proxy", "finish", "--recording", "r.json"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let made = recording(&bench.path("r.json"));
    let ends: Vec<&Value> = made["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interaction| &interaction["response"]["end"])
        .collect();
    assert_eq!(ends[..2], [&json!("complete"), &json!("complete")]);
    assert!(!ends[2..].contains(&&json!("complete")), "{ends:?}");
    let verified = bench.run(&["verify", "r.json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn proxy_says_what_is_wrong_with_addresses_and_recordings() {
    let (_folder, bench) = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    bench.write("cut.json", r#"{"adapter_id":"http-proxy","interactions":["#);
    bench.write("empty.json", "");
    for (arguments, code, told) in [
        (
            vec!["record", "--recording", "a.json", "--listen", &address],
            1,
            "Address already in use",
        ),
        (
            vec!["record", "--recording", "a.json", "--listen", "127.0.0.1"],
            1,
            "invalid socket address",
        ),
        (
            vec![
                "record",
                "--recording",
                "a.json",
                "--upstream",
                "localhost:8000",
            ],
            64,
            "it has no scheme",
        ),
        (
            vec!["record", "--recording", "a.json", "--allow-model", ""],
            64,
            "--allow-model",
        ),
        (
            vec!["replay", "--recording", "cut.json"],
            1,
            "expected, line 1 column 44",
        ),
        (
            vec!["replay", "--recording", "empty.json"],
            1,
            "the text is empty",
        ),
        (
            vec!["replay", "--recording", "cut.json", "--fork-at", "1"],
            64,
            "--out",
        ),
        (
            vec!["finish", "--recording", "a.json"],
            1,
            "there is no journal",
        ),
    ] {
        let ran = bench.run(&[&["proxy"], &arguments[..]].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("\nhint: "), "{arguments:?}: {ran:?}");
        assert!(!bench.path("a.json.journal").exists(), "{arguments:?}");
    }
}
