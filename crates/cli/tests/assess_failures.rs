//! `assess` with a model where something fails: each failure has its code, and what was answered is kept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::assess_support::{INTENT, JSON, KEY, assess, chat, ok, run_with, scripted, words};
use crate::proxy_support::{Answer, Upstream, chunked, folder, recording, whole};

#[test]
fn assess_that_fails_says_why_and_keeps_what_was_answered() {
    let error = |kind: &str, code: Value, text: &str| {
        json!({"error": {"message": text, "type": kind, "param": null, "code": code}}).to_string()
    };
    let long = "z".repeat(5000);
    let quota = error(
        "insufficient_quota",
        json!("insufficient_quota"),
        "You exceeded your current quota",
    );
    let cases: Vec<(&str, Answer, &str)> = vec![
        (
            "refused key",
            whole(
                "401 Unauthorized",
                JSON,
                &error(
                    "invalid_request_error",
                    json!("invalid_api_key"),
                    "Incorrect API key provided",
                ),
            ),
            "MODEL_KEY: openai does not accept the key (status 401): Incorrect API key provided",
        ),
        (
            "unknown model",
            whole(
                "404 Not Found",
                JSON,
                &error(
                    "invalid_request_error",
                    json!("model_not_found"),
                    "The model does not exist",
                ),
            ),
            "MODEL_NOT_FOUND: there is no such address or model (status 404): The model does not exist",
        ),
        (
            "refused request",
            whole(
                "400 Bad Request",
                JSON,
                &error("invalid_request_error", Value::Null, "too many tokens"),
            ),
            "MODEL_REFUSED: the server refused the request (status 400): too many tokens",
        ),
        (
            "no quota",
            whole("429 Too Many Requests", JSON, &quota),
            "MODEL_REFUSED: the server refused the request (status 429): You exceeded",
        ),
        (
            "longer wait than is of use",
            whole(
                "429 Too Many Requests",
                &format!("retry-after: 3600\r\n{JSON}"),
                "{}",
            ),
            "MODEL_BUSY: the server cannot answer now (status 429, asked 1 times)",
        ),
        (
            "truncated",
            ok(&chat(&words()[..100], "length")),
            "MODEL_TRUNCATED: ",
        ),
        (
            "prose",
            ok(&chat("I see no contradictions here.", "stop")),
            "MODEL_ANSWER: the model's answer cannot be read: it is not JSON",
        ),
        (
            "another form",
            ok(&chat("{\"answer\":[]}", "stop")),
            "MODEL_ANSWER: the model's answer cannot be read: the answer has no member `findings`",
        ),
        (
            "no text",
            ok(&chat("", "content_filter")),
            "MODEL_ANSWER: the model's answer cannot be read: it has no text, and the model stopped because of `content_filter`",
        ),
        (
            "no API",
            whole(
                "200 OK",
                "content-type: text/html\r\n",
                "<html>welcome</html>",
            ),
            "MODEL_ANSWER: the model's answer cannot be read: it is not an answer of this API",
        ),
        (
            "everything made up",
            ok(&chat(
                r#"{"findings":[{"kind":"gap","quotes":["nobody"],"message":"m"}]}"#,
                "stop",
            )),
            "ASSESSOR_QUOTE: ",
        ),
        (
            "broken off",
            chunked(JSON, &[b"{\"choices\":[{\"message\":"], false),
            "MODEL_BROKEN_OFF: the answer broke off",
        ),
        (
            "larger than is read",
            whole("200 OK", JSON, &" ".repeat((32 << 20) + 1)),
            "MODEL_TOO_LONG: the answer is longer than 33554432 bytes",
        ),
        (
            "a long error",
            whole("418 Teapot", JSON, &error("x", Value::Null, &long)),
            "MODEL_REFUSED: the server refused the request (status 418): zzz",
        ),
    ];
    for (name, answer, message) in cases {
        let (_folder, bench) = folder();
        bench.write("intent.json", INTENT);
        let (server, bodies) = scripted(vec![answer]);
        let ran = assess(
            &bench,
            &server,
            &["--model-io", "io.json", "-o", "out.json"],
        );
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{name}: {ran:?}"
        );
        assert!(ran.stderr.contains(message), "{name}: {ran:?}");
        assert!(ran.stderr.len() < 2000, "{name}: {}", ran.stderr.len());
        assert!(!bench.path("out.json").exists(), "{name}");
        assert_eq!(bodies.lock().unwrap().len(), 1, "{name}");
        // What arrived is in the recording, which says the same again.
        assert_eq!(
            recording(&bench.path("io.json"))["interactions"]
                .as_array()
                .unwrap()
                .len(),
            1,
            "{name}"
        );
        let verified = run_with(&bench, &["model-io", "verify", "io.json", "--strict"], &[]);
        assert_eq!(verified.code, Some(0), "{name}: {verified:?}");
        let again = run_with(
            &bench,
            &["assess", "intent.json", "--replay", "io.json"],
            &[],
        );
        assert_eq!(again.code, Some(1), "{name}: {again:?}");
        let code = message.split(':').next().unwrap();
        assert!(again.stderr.contains(code), "{name}: {again:?}");
    }
}

#[test]
fn assess_asks_a_busy_server_again_a_few_times() {
    let busy = |status: &str| {
        whole(
            status,
            &format!("retry-after: 0\r\n{JSON}"),
            r#"{"error":{"message":"Slow down"}}"#,
        )
    };
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let answers = vec![
        busy("429 Too Many Requests"),
        busy("529 Overloaded"),
        ok(&chat(&words(), "stop")),
    ];
    let (server, bodies) = scripted(answers);
    let ran = assess(&bench, &server, &["--model-io", "io.json"]);
    assert_eq!(
        (ran.code, bodies.lock().unwrap().len()),
        (Some(0), 3),
        "{ran:?}"
    );
    let again = run_with(
        &bench,
        &["assess", "intent.json", "--replay", "io.json"],
        &[],
    );
    assert_eq!(
        (again.code, &again.stdout),
        (Some(0), &ran.stdout),
        "{again:?}"
    );
    let (server, bodies) = scripted(vec![busy("503 Service Unavailable")]);
    let ran = assess(&bench, &server, &[]);
    assert_eq!(
        (ran.code, bodies.lock().unwrap().len()),
        (Some(1), 4),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains(
            "MODEL_BUSY: the server cannot answer now (status 503, asked 4 times): Slow down"
        ),
        "{ran:?}"
    );
}

#[test]
fn assess_needs_a_key_a_server_and_an_answer_in_time() {
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let line = ["assess", "intent.json", "--provider", "openai"];
    let ran = run_with(&bench, &line, &[]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("NO_KEY: openai needs a key, and OPENAI_API_KEY is not set"),
        "{ran:?}"
    );
    let ran = run_with(
        &bench,
        &line,
        &[
            ("OPENAI_API_KEY", "a\u{1}b"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.starts_with("MODEL_KEY: "), "{ran:?}");
    // Nobody listens there any more. A server of one's own needs no key.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}/v1");
    let ran = run_with(&bench, &[&line[..], &["--base-url", &url]].concat(), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("MODEL_UNREACHABLE: the upstream cannot be reached"),
        "{ran:?}"
    );
    for bad in ["ftp://x", "nonsense", "http://a@b/v1"] {
        let ran = run_with(
            &bench,
            &[&line[..], &["--base-url", bad]].concat(),
            &[("OPENAI_API_KEY", KEY)],
        );
        assert_eq!(ran.code, Some(64), "{bad}: {ran:?}");
    }
    let slow = Upstream::start(|_| {
        std::thread::sleep(Duration::from_secs(20));
        Vec::new()
    });
    let begun = Instant::now();
    let ran = assess(&bench, &slow, &["--timeout", "1", "--model-io", "io.json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("MODEL_TIMEOUT: the model did not answer within 1 seconds"),
        "{ran:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(bench.path("io.json").exists());
    for wrong in [
        vec!["--with", "true"],
        vec!["--model-io", "-"],
        vec!["--requests", "0"],
    ] {
        let ran = run_with(
            &bench,
            &[&line[..], &wrong].concat(),
            &[("OPENAI_API_KEY", KEY)],
        );
        assert_eq!(ran.code, Some(64), "{wrong:?} {ran:?}");
    }
    let ran = run_with(
        &bench,
        &["assess", "intent.json", "--model", "m", "--with", "true"],
        &[],
    );
    assert_eq!(ran.code, Some(64), "{ran:?}");
}
