//! The recording proxy against upstreams that do what upstreams do: answer, stream, refuse, break off.

use crate::proxy_support::{
    Answer, Seen, Service, Upstream, ask, chunked, folder, json_of, post, record_arguments,
    recording, whole,
};
use crate::schema_support::check_recording;
use runseal_testkit::cli::Bench;
use runseal_testkit::skip::skip;

const JSON: &str = "content-type: application/json\r\nx-request-id: req_1\r\n";
const EVENTS: &str = "content-type: text/event-stream\r\n";

/// Answers by path, each in its own way.
fn answer(request: &Seen) -> Answer {
    match request.path.as_str() {
        "/v1/chat/completions" => {
            let body = r#"{"id":"c1","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Grüße"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
            whole("200 OK", JSON, body)
        }
        "/stream" => {
            let text = "data: {\"say\":\"世界\"}\n\ndata: [DONE]\n\n".as_bytes();
            // One border lies within a character, one within the blank line.
            chunked(EVENTS, &[&text[..15], &text[15..24], &text[24..]], true)
        }
        "/busy" => whole(
            "429 Too Many Requests",
            "retry-after: 1\r\ncontent-type: application/json\r\n",
            r#"{"error":{"message":"slow down"}}"#,
        ),
        "/broken" => chunked(EVENTS, &[b"data: 1\n\n", b"data: 2"], false),
        "/short" => {
            let mut answer = whole("200 OK", JSON, r#"{"half":"this is longer"}"#);
            answer[1].truncate(9);
            answer
        }
        "/bytes" => chunked(
            "content-type: image/x\r\n",
            &[&[0, 255, 7], &[254, 10, 13]],
            true,
        ),
        "/nothing" => {
            vec![b"HTTP/1.1 204 No Content\r\nconnection: close\r\ndate: x\r\n\r\n".to_vec()]
        }
        "/gone" => Vec::new(),
        _ => whole("404 Not Found", "", "nothing here"),
    }
}

/// The same recording gives the same spans, one an interaction, with what the conventions name.
fn check_spans(bench: &Bench) {
    let spans = bench.run(&["export", "otel", "model_io.json"]);
    assert_eq!(spans.code, Some(0), "{}", spans.stderr);
    assert_eq!(bench.run(&["export", "otel", "."]).stdout, spans.stdout);
    let printed = bench.run(&["export", "otel", ".", "-o", "-"]);
    assert_eq!((printed.code, &printed.stdout), (Some(0), &spans.stdout));
    assert!(!bench.path("-").exists());
    let spans: serde_json::Value = serde_json::from_str(&spans.stdout).unwrap();
    let spans = spans["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    assert_eq!(spans.len(), 9);
    assert_eq!(spans[0]["name"], "chat m-1");
    let has = |key: &str, value: serde_json::Value| {
        let attributes = spans[0]["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|attribute| attribute["key"] == key);
        assert_eq!(found.unwrap()["value"], value, "{key}");
    };
    has(
        "gen_ai.provider.name",
        serde_json::json!({"stringValue": "openai"}),
    );
    has(
        "gen_ai.usage.input_tokens",
        serde_json::json!({"intValue": "3"}),
    );
    let said = r#"[{"finish_reason":"stop","parts":[{"content":"Grüße","type":"text"}],"role":"assistant"}]"#;
    has(
        "gen_ai.output.messages",
        serde_json::json!({"stringValue": said}),
    );
    assert_eq!(spans[2]["status"]["message"], "slow down");
    assert_eq!(bench.run(&["export", "otel", "nowhere"]).code, Some(2));
}

#[test]
fn proxy_replay_gives_byte_for_byte_what_the_client_saw() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let paths = [
        "/v1/chat/completions",
        "/stream",
        "/busy",
        "/broken",
        "/short",
        "/bytes",
        "/nothing",
        "/gone",
        "/elsewhere?q=1",
    ];
    let ask_all = |address: &str| -> Vec<Vec<u8>> {
        let body = r#"{"model":"m-1","messages":[{"role":"user","content":"hi"}]}"#;
        paths.iter().map(|path| post(address, path, body)).collect()
    };
    let proxy = Service::record(folder.path(), "model_io.json", &upstream.url);
    let seen = ask_all(proxy.address());
    proxy.finish();
    assert!(!bench.path("model_io.json.journal").exists());
    for head in upstream.seen.lock().unwrap().iter() {
        assert!(head.contains("accept-encoding: identity"), "{head}");
    }

    let verdict = bench.run(&["model-io", "verify", "model_io.json", "--strict"]);
    assert_eq!(verdict.code, Some(0), "{}", verdict.stdout);
    let made = recording(&bench.path("model_io.json"));
    check_recording(&made);
    let first = &made["interactions"][0];
    assert_eq!(first["reading"]["text"], "Grüße");
    assert_eq!(first["reading"]["model"], "m-1");
    assert_eq!(first["tokens_output"], 2);
    assert_eq!(first["request"]["body"]["messages"][0]["content"], "hi");
    assert_eq!(
        made["interactions"][1]["response"]["chunks"],
        serde_json::json!([15, 9, 14])
    );
    let ends: Vec<&str> = made["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interaction| interaction["response"]["end"].as_str().unwrap())
        .collect();
    assert_eq!(
        ends,
        [
            "complete",
            "complete",
            "complete",
            "broken-off",
            "broken-off",
            "complete",
            "complete",
            "unreachable",
            "complete"
        ]
    );
    assert_eq!(made["capture"]["gaps"].as_array().unwrap().len(), 3);

    check_spans(&bench);
    let proxy = Service::replay(folder.path(), "model_io.json");
    let again = ask_all(proxy.address());
    proxy.finish();
    for (path, (seen, again)) in paths.iter().zip(seen.iter().zip(&again)) {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(!seen.is_empty(), "{path}");
        assert_eq!(show(seen), show(again), "{path}");
        assert_eq!(seen, again, "{path}");
    }
}

#[test]
fn proxy_replay_miss_names_the_nearest_recording_and_the_first_difference() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let volatile = ["--volatile", "/trace/*/id"];
    let proxy = Service::record_with(folder.path(), "r.json", &upstream.url, &volatile);
    let body = |word: &str, id: u32| {
        format!(
            r#"{{"trace":[{{"id":{id}}}],"messages":[{{"content":"first"}},{{"content":"{word}"}}],"n":1.0}}"#
        )
    };
    for word in ["alpha", "beta"] {
        post(proxy.address(), "/v1/chat/completions", &body(word, 1));
    }
    proxy.finish();

    let proxy = Service::replay(folder.path(), "r.json");
    // Spelled otherwise, and with another value where the recording declared it volatile.
    let found = post(
        proxy.address(),
        "/v1/chat/completions",
        &body("beta", 2).replace("1.0", " 1 "),
    );
    assert!(
        found.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&found)
    );
    let missed = post(proxy.address(), "/v1/chat/completions", &body("gamma", 3));
    assert!(
        missed.starts_with(b"HTTP/1.1 422"),
        "{}",
        String::from_utf8_lossy(&missed)
    );
    let error = &json_of(&missed)["error"];
    assert_eq!(error["code"], "RECORDING_MISS");
    assert_eq!(error["nearest_interaction"], 0);
    assert_eq!(error["difference"]["pointer"], "/body/messages/1/content");
    assert_eq!(error["difference"]["recorded"], "\"alpha\"");
    assert_eq!(error["difference"]["asked"], "\"gamma\"");
    let often = post(proxy.address(), "/v1/chat/completions", &body("beta", 1));
    let message = json_of(&often)["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains("asked more often than recorded"),
        "{message}"
    );
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(1));
    assert!(
        told.contains("MISS: POST /v1/chat/completions was not recorded"),
        "{told}"
    );
    drop(bench);
}

#[test]
fn proxy_replay_answers_the_same_request_in_order_and_strict_order_refuses_others() {
    let (folder, _bench) = folder();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |request| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let status = if number == 0 {
            "429 Too Many Requests"
        } else {
            "200 OK"
        };
        whole(
            status,
            JSON,
            &format!(r#"{{"path":"{}","number":{number}}}"#, request.path),
        )
    });
    let proxy = Service::record(folder.path(), "r.json", &upstream.url);
    for path in ["/a", "/a", "/b", "/a"] {
        post(proxy.address(), path, "{}");
    }
    proxy.finish();

    let proxy = Service::replay(folder.path(), "r.json");
    let numbers: Vec<i64> = ["/b", "/a", "/a", "/a"]
        .iter()
        .map(|path| {
            json_of(&post(proxy.address(), path, "{}"))["number"]
                .as_i64()
                .unwrap()
        })
        .collect();
    assert_eq!(numbers, [2, 0, 1, 3]);
    proxy.finish();

    let strict = ["proxy", "replay", "--recording", "r.json", "--strict-order"];
    let proxy = Service::runseal(folder.path(), &strict);
    let early = json_of(&post(proxy.address(), "/b", "{}"));
    let message = early["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("recorded, but not as the next"),
        "{message}"
    );
    assert_eq!(early["error"]["difference"]["pointer"], "/path");
    assert_eq!(json_of(&post(proxy.address(), "/a", "{}"))["number"], 0);
    assert_eq!(proxy.stop().0, Some(1));
}

#[test]
fn proxy_refuses_what_it_cannot_do() {
    let (_folder, bench) = folder();
    bench.write("there.json", "{}");
    bench.write("bad.txt", "oops\n");
    for (arguments, code, says) in [
        (
            vec!["proxy", "record", "--recording", "there.json"],
            1,
            "EXISTS: ",
        ),
        (
            vec!["proxy", "replay", "--recording", "nowhere.json"],
            1,
            "READ: ",
        ),
        (
            vec!["proxy", "replay", "--recording", "there.json"],
            1,
            "RECORDING: ",
        ),
        (
            vec![
                "proxy",
                "record",
                "--recording",
                "a.json",
                "--upstream",
                "ftp://x",
            ],
            64,
            "UPSTREAM: ",
        ),
        (
            vec![
                "proxy",
                "record",
                "--recording",
                "a.json",
                "--listen",
                "256.0.0.1:1",
            ],
            1,
            "LISTEN: ",
        ),
        (
            vec![
                "proxy",
                "record",
                "--recording",
                "a.json",
                "--redact",
                "bad.txt",
            ],
            1,
            "REDACT: ",
        ),
        (
            vec![
                "proxy",
                "record",
                "--recording",
                "a.json",
                "--volatile",
                "x",
            ],
            64,
            "USAGE: ",
        ),
        (
            vec!["proxy", "record", "--recording", "no/folder/a.json"],
            1,
            "WRITE: ",
        ),
        (
            vec!["mcp", "record", "--recording", "a.json"],
            64,
            "USAGE: ",
        ),
        (
            vec![
                "mcp",
                "record",
                "--recording",
                "a.json",
                "--",
                "/no/such/server",
            ],
            1,
            "SERVER: ",
        ),
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with(says),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("\nhint: "),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert!(!bench.path("a.json.journal").exists());
    let vector = runseal_testkit::project_root().join("vectors/model-io/ok-record/input.json");
    let foreign = bench.run(&["proxy", "replay", "--recording", vector.to_str().unwrap()]);
    assert!(
        foreign.stderr.contains("not made by the proxy"),
        "{}",
        foreign.stderr
    );
}

#[test]
fn proxy_without_a_body_and_with_a_query_is_matched_too() {
    let (folder, _bench) = folder();
    let upstream = Upstream::start(|request| {
        whole("200 OK", JSON, &format!(r#"{{"path":"{}"}}"#, request.path))
    });
    let based = format!("{}/base/", upstream.url);
    let proxy = Service::record(folder.path(), "r.json", &based);
    let seen = ask(
        proxy.address(),
        "GET",
        "/v1/models?limit=2&key=abcdefgh12345678",
        "",
        "",
    );
    assert_eq!(
        json_of(&seen)["path"],
        "/base/v1/models?limit=2&key=abcdefgh12345678"
    );
    proxy.finish();
    let proxy = Service::replay(folder.path(), "r.json");
    let again = ask(
        proxy.address(),
        "GET",
        "/v1/models?limit=2&key=another-key-0000",
        "",
        "",
    );
    assert!(
        again.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&again)
    );
    proxy.finish();
}

#[test]
fn proxy_asks_its_upstream_whatever_address_a_client_names() {
    let (folder, _bench) = folder();
    let (own, other) = (Upstream::start(answer), Upstream::start(answer));
    let proxy = Service::record(folder.path(), "r.json", &own.url);
    let elsewhere = format!("{}/v1/models", other.url);
    let host = format!("Host: {}\r\n", other.url.replace("http://", ""));
    // The absolute form, another host, a tunnel, and a change of protocol.
    ask(proxy.address(), "GET", &elsewhere, "", "");
    ask(proxy.address(), "GET", "/v1/models", &host, "");
    ask(
        proxy.address(),
        "CONNECT",
        &other.url.replace("http://", ""),
        "",
        "",
    );
    ask(
        proxy.address(),
        "GET",
        "/v1/models",
        "Upgrade: h2c\r\nConnection: upgrade\r\n",
        "",
    );
    assert!(proxy.stop().0.is_some());
    assert_eq!(other.seen.lock().unwrap().len(), 0);
    let heads = own.seen.lock().unwrap().join("\n").to_lowercase();
    let port = own.url.rsplit(':').next().unwrap().to_owned();
    for line in heads.lines().filter(|line| line.starts_with("host:")) {
        assert!(line.ends_with(&port), "{heads}");
    }
    assert!(!heads.contains("upgrade"), "{heads}");
}

#[test]
fn proxy_asks_over_tls_and_only_whom_this_machine_trusts() {
    let (folder, bench) = folder();
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ])
        .args([
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ])
        .current_dir(folder.path())
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        skip("openssl is missing");
        return;
    }
    let port = crate::proxy_support::free_port();
    let mut server = std::process::Command::new("openssl")
        .args([
            "s_server", "-quiet", "-www", "-cert", "cert.pem", "-key", "key.pem", "-accept",
        ])
        .arg(format!("127.0.0.1:{port}"))
        .current_dir(folder.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    crate::proxy_support::wait_for_port(port);
    let certificate = bench.path("cert.pem").display().to_string();
    let upstream = format!("https://localhost:{port}");
    let ask_as = |name: &str, variables: &[(&str, &str)]| {
        let arguments = record_arguments(name, &upstream);
        let proxy = Service::runseal_with(folder.path(), &arguments, variables);
        let answered = ask(proxy.address(), "GET", "/", "", "");
        proxy.finish();
        String::from_utf8_lossy(&answered).into_owned()
    };
    let trusted = ask_as("a.json", &[("SSL_CERT_FILE", &certificate)]);
    let untrusted = ask_as("b.json", &[]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(trusted.starts_with("HTTP/1.1 200"), "{trusted}");
    assert!(
        untrusted.starts_with("HTTP/1.1 502") && untrusted.contains("certificate"),
        "{untrusted}"
    );
}
